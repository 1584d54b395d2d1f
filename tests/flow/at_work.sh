#!/usr/bin/env bash
# A directory in which a build or a training is at work, or was interrupted: every verb that reads it says so, names the
# process, how far it is, and what continues it; nothing takes it for damaged or for something else.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"
needs_faults

cd "$scratch"
mkfifo pipe

# Waits until the command succeeds.
await() {
    for _ in $(seq 200); do
        "$@" && return 0
        sleep 0.05
    done
    complain "did not come: $*"
}

# read_by WORD…: every verb that reads datasets says the words about $dataset, and exits with $code.
read_by() {
    for verb in show verify report export "show $data"; do
        # shellcheck disable=SC2086  # a verb and an argument
        expect_exit "$code" "$dsdata" $verb "$dataset"
        expect_words "$dataset" "$@"
    done
    expect_exit "$code" "$dsdata" show "$dataset" --json
    expect_equal "exit" "$(json stdout 'o["exit"]')" "$code"
}

case_begin "a build at work"
exec 3<>pipe
"$dsdata" build -q --text - --vocab vocab.txt --seq 32 --out "my data" <pipe 3<&- 2>/dev/null &
pid=$!
# Two windows of the input. Only writing: cat, which outlives the loop, ends when nothing reads any more.
for _ in {1..250}; do cat text.txt; done >pipe 3<&- &
feeder=$!
await grep -qs '"stage": 2' "my data/journal"
dataset="my data" code=10
read_by "is being built by process $pid on $(hostname), and is not finished" "it reads the inputs" "wait until"
expect_exit 10 "$dstrain" --shards "my data" --model "$model" --steps 1
expect_words "is being built by process $pid"
find "my data" | sort >before

case_begin "interrupted"
kill -9 $pid
kill -9 $feeder 2>/dev/null || true
wait $pid $feeder 2>/dev/null || true
exec 3<&-
code=2
read_by "its build was interrupted" "it reads the inputs" "the same dsdata build command continues it" \
    '"--text","-","--vocab","vocab.txt","--seq","32","--out","my data"]'
find "my data" | sort >after
diff before after >stdout || complain "reading changed the directory"

case_begin "at each stage"
for n in 6 12 20 26 34; do
    rm -rf killed
    DS_FAIL_FILE=$n:kill "$dsdata" build -q --text text.txt --vocab-size 200 --seq 32 --duplicates drop --out killed \
        2>/dev/null || true
    if [ -e killed/journal ] && [ ! -e killed/manifest.json ]; then
        dataset=killed
        read_by "was interrupted" '"killed"]'
    fi
done
[ "$dataset" = killed ] || complain "no build was interrupted"

case_begin "a build with --fresh beside an old dataset, which is read as before"
cp -r "$data" old
DS_FAIL_FILE=20:kill "$dsdata" build -q --text text.txt --vocab vocab.txt --seq 64 --out old --fresh 2>/dev/null || true
[ -e old/.fresh/journal ] || complain "it was not interrupted"
expect_exit 0 "$dsdata" show old
expect_exit 0 "$dsdata" verify old
rm old/manifest.json
dataset=old
read_by "with --fresh was interrupted" "the same dsdata build --fresh command continues it" '"--fresh"]'

case_begin "a training at work"
"$dstrain" -q --shards "$data" --model "$model" --steps 1000000 --batch 8 --threads 1 --save-every 5 --out run \
    2>/dev/null &
pid=$!
await test -e run/latest
expect_exit 0 "$dstrain" show run
grep -q "running    process $pid on $(hostname) trains it" stdout || complain "show does not say that it runs"
expect_exit 0 "$dstrain" show run --json
expect_equal "running" "$(json stdout 'o["running"]')" "process $pid on $(hostname)"
expect_exit 0 "$dstrain" report run
expect_words "run is being trained by process $pid"
expect_exit 0 "$dstrain" eval run
expect_words "run is being trained by process $pid"
kill -9 $pid
wait $pid 2>/dev/null || true
expect_exit 0 "$dstrain" show run
if grep -q running stdout; then complain "it does not run any more"; fi
rm -r run/latest run/checkpoints
expect_exit 2 "$dstrain" eval run
expect_words "has not saved a checkpoint yet" "continues it"

flow_end
