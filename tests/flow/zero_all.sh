#!/usr/bin/env bash
# labels: long
# --same-bits: the last checkpoint has the same hash for --zero 0, 1 and 2 and 1 to 5 processes, with every optimizer
# that --zero supports.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"

[ -e "$build/dstrain_gloo.so" ] || { echo "gloo is not built: skipped"; exit 77; }
cd "$scratch"
same=("${train[@]}" --steps 4 --micro-batch 1 --same-bits)
last=checkpoints/step-00000004

for optimizer in adam lamb nvlamb lans; do
    case_begin "$optimizer"
    expect_exit 0 "${same[@]}" --optimizer $optimizer --out $optimizer
    for zero in 0 1 2; do
        for n in 1 2 3 4 5; do
            expect_exit 0 "${same[@]}" --optimizer $optimizer --out run --processes $n --zero $zero
            expect_same_checkpoint "$optimizer, --zero $zero, $n processes" $optimizer run
            rm -r run
        done
    done
done

flow_end
