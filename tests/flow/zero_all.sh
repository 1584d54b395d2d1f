#!/usr/bin/env bash
# labels: long
# --same-bits: the last checkpoint has the same hash for --zero 0, 1 and 2 and 1 to 5 processes, with every optimizer
# that --zero supports, and LAMB in bf16 and fp16.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"

[ -e "$build/dstrain_gloo.so" ] || { echo "gloo is not built: skipped"; exit 77; }
cd "$scratch"
same=("${train[@]}" --steps 4 --micro-batch 1 --same-bits)
last=checkpoints/step-00000004

# divided MOST NAME OPTION…: one process, and 1 to MOST of every stage.
divided() {
    local most=$1 name=$2 zero n
    shift 2
    expect_exit 0 "${same[@]}" "$@" --out "$name"
    for zero in 0 1 2; do
        for ((n = 1; n <= most; n++)); do
            expect_exit 0 "${same[@]}" "$@" --out run --processes $n --zero $zero
            expect_same_checkpoint "$name, --zero $zero, $n processes" "$name" run
            rm -r run
        done
    done
}

for optimizer in adam lamb nvlamb lans stableadamw; do
    case_begin "$optimizer"
    divided 5 $optimizer --optimizer $optimizer
done
for precision in bf16 fp16; do
    case_begin "$precision"
    divided 3 $precision --optimizer lamb --precision $precision
done

flow_end
