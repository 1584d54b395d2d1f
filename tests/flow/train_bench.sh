#!/usr/bin/env bash
# `dstrain bench`: the table of operations on synthetic batches, its limits, and the facts of --json.
# labels: long
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"

bench=("$dstrain" bench --model "$model" --seq 16 --micro-batch 2 --threads 1)

case_begin "a table"
expect_exit 0 "${bench[@]}" --precision fp32
expect_table adam embed attention attention_backward loss "linear_gelu 64x32" all
expect_words "limits" "pass" "update" "step × 1" "step × 16"

case_begin "facts"
expect_exit 0 "${bench[@]}" --precision bf16 --json
for key in pass_seconds update_seconds step_seconds sequences_per_second products_flops_per_second bytes_per_second; do
    expect_equal "$key" "$(json "$scratch/stdout" "o['$key'] > 0")" True
done

case_begin "what cannot be measured"
expect_exit 2 "$dstrain" bench --model nowhere.json
expect_exit 5 "$dstrain" bench --model "$model" --seq 4096
flow_end
