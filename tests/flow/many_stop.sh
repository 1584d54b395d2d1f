#!/usr/bin/env bash
# A stop in the middle of a long step of several processes: none has begun its sums, so all discard the step and exit.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"
needs_faults

[ -e "$build/dstrain_gloo.so" ] || { echo "gloo is not built: skipped"; exit 77; }

cd "$scratch"
# A step of 300 passes takes a second, most of it asleep: a stop comes in the middle, whatever the machine does.
batch=300
export DS_SLOW=0.003,0.003,0.003
long=("$dstrain" --shards "$data" --model "$model" --steps 2 --batch "$batch" --micro-batch 1 --lr 1e-3 --log-every 1
    --eval-samples 0 --threads 1 --same-bits)

# begun RUN LINES: waits until its metrics have this many lines.
begun() {
    for _ in $(seq 3000); do
        [ -e "$1/metrics.jsonl" ] && [ "$(wc -l <"$1/metrics.jsonl")" -ge "$2" ] && return
        sleep 0.02
    done
    complain "no step $2 of $1"
}

# steps RUN
steps() {
    cut -c 6- "$1/latest" | sed 's/^0*//'
}

case_begin "one process, undisturbed"
expect_exit 0 "${long[@]}" --out whole

for who in 0 1; do
    case_begin "a stop asked of rank $who in step 2"
    by_hand=("${long[@]}" --world-size 2 --rendezvous "$scratch/meeting-$who" --out "stopped-$who")
    "${by_hand[@]}" --rank 0 >"$scratch/stdout" 2>"$scratch/stderr" </dev/null &
    pids=($!)
    "${by_hand[@]}" --rank 1 >other 2>&1 </dev/null &
    pids+=($!)
    begun stopped-$who 1
    kill -TERM "${pids[$who]}"
    for pid in "${pids[@]}"; do
        got=0
        wait "$pid" || got=$?
        expect_equal "exit code" $got 75
    done
    expect_words "stopped on request, at step 1 of 2"
    expect_equal "the step that is saved" "$(steps stopped-$who)" 1
    [ ! -s other ] || complain "rank 1 speaks: $(cat other)"
    expect_exit 0 "${long[@]}" --out stopped-$who --processes 3
    diff -r whole/checkpoints/step-00000002 stopped-$who/checkpoints/step-00000002 >"$scratch/stdout" ||
        complain "other bytes than without a stop"
done

case_begin "a stop that comes when one has begun"
# Rank 1 has one sample of a step, so it begins the sums at once; rank 0 has all others and finishes them.
by_hand=("${long[@]}" --world-size 2 --rendezvous "$scratch/meeting" --out finished)
"${by_hand[@]}" --rank 0 --share $((batch - 1)) >"$scratch/stdout" 2>"$scratch/stderr" </dev/null &
first=$!
"${by_hand[@]}" --rank 1 --share 1 >other 2>&1 </dev/null &
second=$!
begun finished 1
sleep 0.2
kill -TERM $first
for pid in $first $second; do
    got=0
    wait "$pid" || got=$?
done
expect_equal "the step that is saved" "$(steps finished)" 2
diff -r whole/checkpoints/step-00000002 finished/checkpoints/step-00000002 >"$scratch/stdout" ||
    complain "other bytes than without a stop"

case_begin "--zero 2: a step's sums begin with its first pass, so a stop in the middle lets it be finished"
# The stop comes in the middle of step 2, the last but one.
fewer=("${long[@]}" --steps 3)
expect_exit 0 "${fewer[@]}" --out fewer
by_hand=("${fewer[@]}" --zero 2 --world-size 2 --rendezvous "$scratch/meeting-zero" --out divided)
"${by_hand[@]}" --rank 0 >"$scratch/stdout" 2>"$scratch/stderr" </dev/null &
pids=($!)
"${by_hand[@]}" --rank 1 >other 2>&1 </dev/null &
pids+=($!)
begun divided 1
kill -TERM "${pids[1]}"
for pid in "${pids[@]}"; do
    got=0
    wait "$pid" || got=$?
    expect_equal "exit code" $got 75
done
expect_words "stopped on request"
expect_exit 0 "${fewer[@]}" --out divided --zero 2 --processes 3
diff -r fewer/checkpoints/step-00000003 divided/checkpoints/step-00000003 >"$scratch/stdout" ||
    complain "other bytes than without a stop"

flow_end
