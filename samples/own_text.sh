#!/usr/bin/env bash
# Your own text: a dataset, a page that says what was kept and why, and a plan. Replaces mine here.
#
#     samples/own_text.sh [FILE|FOLDER…]        by default the text of the small wiki: a second
#
# A folder of books, files with a sentence, paragraph or document per line, JSON lines, tables; also compressed.
set -euo pipefail
if [ $# = 0 ]; then
    dsdata extract "$(dirname "$0")/samplewiki.xml.bz2" --out corpus.jsonl.gz --force
    set -- corpus.jsonl.gz
fi

dsdata build "$@" --vocab-size auto --valid 0.2 --out mine --fresh
dsdata report mine
dstrain plan --shards mine
