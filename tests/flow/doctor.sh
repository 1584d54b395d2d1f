#!/usr/bin/env bash
# dstrain doctor --gpu: what gpu_check.sh is given, and what its exit codes become.
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"
[ -x "$dstrain" ] || { echo "$dstrain is not built: skipped"; exit 77; }
cd "$scratch"
mkdir "a folder"
cp "$dstrain" "a folder/dstrain"

case_begin "nothing to run"
expect_exit 2 "a folder/dstrain" doctor --gpu
expect_words "a folder/gpu_check.sh: is missing" "pip install 'dsdata[cuda]'" "scripts/wheel.sh --cuda" "preset cuda"
expect_exit 2 "a folder/dstrain" doctor there
expect_words "there: doctor takes a folder only with --gpu"
expect_exit 2 "a folder/dstrain" doctor --gpu --json

# A script that says what it was given, and ends as CODE says.
# shellcheck disable=SC2016  # the script expands them
printf 'mkdir -p "$1" && echo "$# $1 $PREBUILT" >"$1/summary.txt"\nexit $CODE\n' >"a folder/gpu_check.sh"

# checked EXIT CODE WORDS…: the exit code of doctor for one of the script.
checked() {
    expect_exit "$1" env CODE="$2" "a folder/dstrain" doctor --gpu out
    expect_words "${@:3}"
    expect_equal "its arguments" "$(cat out/summary.txt)" "1 out $scratch/a folder/."
}

case_begin "its exit codes"
checked 0 0 "send       out/results.tar.zst"
checked 4 1 "some checks failed: out/summary.txt" "send       out/results.tar.zst"
checked 7 77 "no NVIDIA driver or card here: nothing was tested"
checked 75 143 "stopped on request" "send       out/results.tar.zst"
expect_exit 0 env CODE=0 "a folder/dstrain" doctor --gpu
[ -s gpu-check/summary.txt ] || complain "no folder of its own"
flow_end
