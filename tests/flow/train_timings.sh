#!/usr/bin/env bash
# --timings: the table of a training's operations, which is no other training for being timed.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"

cd "$scratch"

case_begin "a training that is timed"
expect_exit 0 "${train[@]}" --micro-batch 8 --eval-every 100 --eval-samples 0 --out plain
expect_exit 0 "${train[@]}" --micro-batch 8 --eval-every 100 --eval-samples 0 --timings --out timed
expect_same_checkpoint "timed" plain timed
# 12 steps of one micro-batch, and whatever the estimate before them took: it is not in the table. Two layers.
expect_table adam=12 squares=12 factors=12 embed=12 embed_backward=12 attention=24 attention_backward=24 loss=24 \
    "linear_gelu 64x32=24" "linear 96x32=24" "linear_backward_input 32x64=24" "linear_backward_weight 96x32=24" \
    norm=72 norm_backward=72 gather=24 scatter=24 tanh_rows=12 tanh_backward=12 gelu_backward=12 dropout=24 \
    clear convert "waiting for data" saving "the rest" all

case_begin "every optimizer's operations"
for optimizer in lamb nvlamb lans; do
    expect_exit 0 "${train[@]}" --micro-batch 8 --eval-samples 0 --optimizer $optimizer --timings --out timed-$optimizer
    expect_table moments=12 shares=12 apply=12
done
# Six matrices a layer, five steps of each; Adam's passes lie between them.
expect_exit 0 "${train[@]}" --micro-batch 8 --eval-samples 0 --optimizer muon --timings --out timed-muon
expect_table momentum=144 direction=144 combine=1440 shift=144 adam

flow_end
