#!/usr/bin/env bash
# A training with its loader thread is asked to stop by each signal, also twice, and during an evaluation; the same
# command continues. It computes on one thread, so that the thread sanitizer sees only threads of our own.
# labels: threads
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"

cd "$scratch"
endless=("$dstrain" --shards "$data" --model "$model" --batch 8 --threads 1 --log-every 1 --steps 1000000 --out run)

lines_there() {
    if [ -e run/metrics.jsonl ]; then wc -l <run/metrics.jsonl; else echo 0; fi
}

# signalled CODE SIGNAL…: sends the signals once metrics show progress; the training must end with that code.
signalled() {
    local expected=$1 code=0 lines child signal
    shift
    lines=$(lines_there)
    "${endless[@]}" --save-every 5 --eval-every 3 >stdout 2>stderr &
    child=$!
    for ((i = 0; i < 1000; i++)); do
        [ "$(lines_there)" -gt $((lines + 20)) ] && break
        sleep 0.02
    done
    for signal in "$@"; do kill -"$signal" $child; done
    wait $child || code=$?
    expect_equal "exit code of $*" "$code" "$expected"
    if grep -qE 'Assertion|Sanitizer|runtime error:' stderr; then complain "a bug showed up"; fi
    expect_exit 0 "$dstrain" verify run
}

for name in TERM INT HUP USR1 USR2 XCPU; do
    case_begin "$name"
    signalled 75 $name
    expect_equal "the last step is saved" \
        "$(printf 'step-%08d' "$(tail -1 run/metrics.jsonl | json /dev/stdin 'o["step"]')")" \
        "$(cat run/latest)"
done
case_begin "twice: at once, and what was saved is whole"
signalled 75 TERM TERM
signalled 75 INT INT

case_begin "saves and evaluations in between"
expect_exit 0 "${train[@]}" --save-every 3 --eval-every 4 --out whole
expect_exit 75 "${train[@]}" --save-every 3 --eval-every 4 --out parts --stop-after 7
expect_exit 0 "${train[@]}" --save-every 3 --eval-every 4 --out parts
expect_same_checkpoint "in parts" whole parts
flow_end
