#!/usr/bin/env bash
# labels: once
# Files of older versions are read: a dataset and a checkpoint of format 1 (tests/golden/format-1).
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"
[ -x "$dstrain" ] || { echo "$dstrain is not built: skipped"; exit 77; }

old=$project/tests/golden/format-1
cd "$scratch"

case_begin "a dataset"
expect_exit 0 "$dsdata" verify "$old/dataset"
expect_exit 0 "$dsdata" show "$old/dataset" --json
expect_equal "format, text" "$(json stdout 'o["format_version"], o["text_version"]')" "(1, 1)"
expect_equal "root hash" "$(json stdout 'o["root_hash"]')" d9bf9e210e5c1edc
for split in train valid; do
    expect_exit 0 "$dsdata" export "$old/dataset" --format jsonl --seq 16 --split $split --out $split.jsonl
done
expect_equal "samples" "$(cat train.jsonl valid.jsonl | sha256sum | cut -c1-16)" 2d2b11c30ddfd9d2

case_begin "a checkpoint"
expect_exit 0 "$dstrain" verify "$old/checkpoint"
expect_exit 0 "$dstrain" eval "$old/checkpoint" --shards "$old/dataset" --precision fp32 --json
expect_equal "held-out loss" "$(json stdout 'round(o["loss"], 2)')" 5.99
expect_exit 0 "$dstrain" --shards "$old/dataset" --init "$old/checkpoint" --steps 1 --batch 4 --out run
expect_exit 0 "$dstrain" export "$old/checkpoint" --out exported
flow_end
