#!/usr/bin/env bash
# Your own task: a model that names the class of a text, applied to new texts, and vectors of texts. Replaces tickets,
# answered.csv and sentences.npy here.
#
#     samples/own_task.sh [MODEL [TABLE [NEW]]]      MODEL: a run, an export or a published BERT
#
# By default MODEL is that of samples/wikipedia.sh, and TABLE the 60 messages beside this script, which are too few for
# more than a look. TABLE has a column of texts and one of labels, NEW at least the texts.
set -euo pipefail
here=$(dirname "$0")
model=${1:-wiki-bert}
table=${2:-$here/tickets.csv}
new=${3:-$table}
rm -rf tickets answered.csv sentences.npy
cut -d, -f1 "$new" | tail -n +2 >sentences.txt

dstrain classify --init "$model" --train "$table" --out tickets
dstrain predict tickets "$new" --out answered.csv
dstrain embed "$model" sentences.txt --out sentences.npy
