#!/usr/bin/env bash
# A Wikipedia: from a dump to a model that transformers loads. Replaces wiki, wiki-run and wiki-bert here.
#
#     samples/wikipedia.sh [DUMP]        by default the small wiki beside this script: one minute
#
# For a real one: get_dump.sh WIKI downloads a dump; the vocabulary then has its usual size, so leave out --vocab-size,
# and --valid with it. dstrain plan proposes a training that ends within a day (--time-limit).
set -euo pipefail
dump=${1:-$(dirname "$0")/samplewiki.xml.bz2}
rm -rf wiki-run wiki-bert

dsdata build "$dump" --vocab-size auto --valid 0.2 --out wiki --fresh
train=$(dstrain plan --shards wiki 2>&1 | tee /dev/stderr | sed -n 's/^next *//p')
eval "$train --out wiki-run" # dstrain --shards wiki --model NAME --steps N --batch N
dstrain report wiki-run
dstrain export wiki-run --out wiki-bert
