#!/usr/bin/env bash
# Unusual environments: closed descriptors, a full disk on standard output, a closed pipe, a lost terminal, a limit on
# files; and unusual files: named pipes, devices, a shard that is truncated while it is read.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"
needs_faults

cd "$scratch"
endless=("$dstrain" --shards "$data" --model "$model" --batch 8 --threads 1 --log-every 1 --steps 1000000)

steps_there() { # RUN
    if [ -e "$1/metrics.jsonl" ]; then wc -l <"$1/metrics.jsonl"; else echo 0; fi
}

until_steps() { # RUN N
    for ((i = 0; i < 1000; i++)); do
        [ "$(steps_there "$1")" -gt "$2" ] && return
        sleep 0.02
    done
    complain "no step $2 of $1"
}

# Like expect_exit, with a timeout.
expect_end() { # CODE COMMAND…
    local expected=$1
    shift
    expect_exit "$expected" timeout -k 1 10 "$@"
}

closed_descriptors() {
    case_begin "descriptors 0 to 2 are closed"
    local code=0
    "${train[@]}" --json --out closed 1>&- 2>&- || code=$?
    expect_equal "exit" "$code" 0
    python3 - closed/metrics.jsonl <<'PYTHON' || complain "lines of the log are in metrics.jsonl"
import json, sys
for line in open(sys.argv[1]):
    assert "step" in json.loads(line), line
PYTHON
    expect_exit 0 "${train[@]}" --out open
    expect_same_checkpoint "with closed descriptors" open closed
    "$dsdata" build -q --text text.txt --vocab vocab.txt --seq 32,64 --valid 0.2 --out closed-data 0<&- 1>&- 2>&-
    expect_equal "root" "$(root_hash closed-data)" "$(root_hash "$data")"
}

full_output() {
    local command
    for command in "$dsdata show $data" "$dsdata show $data --sample 0" "$dsdata show --json $data" \
        "$dsdata verify $data" "$dsdata --help" "$dsdata --version" "$dsdata --man" "$dsdata export $data" \
        "$dsdata vocab --check vocab.txt" "$dstrain show open" "$dstrain show open --json" "$dstrain verify open" \
        "$dstrain plan --shards $data --model $model --json" "$dstrain doctor --json" "$dstrain --help" \
        "$dstrain eval open --json" "$dstrain export open --out exported --json"; do
        case_begin "standard output is full: $command"
        local code=0
        rm -rf exported
        # shellcheck disable=SC2086  # the words of a command
        $command >/dev/full 2>"$scratch/stderr" || code=$?
        expect_equal "exit" "$code" 7
        expect_words "standard output"
    done
}

lost_terminal() {
    case_begin "SIGHUP stops a training, and it goes on"
    local child code=0
    "${endless[@]}" --out hung 2>/dev/null &
    child=$!
    until_steps hung 20
    kill -HUP $child
    wait $child || code=$?
    expect_equal "exit" "$code" 75
    [ -s hung/latest ] || complain "no checkpoint"

    case_begin "under nohup SIGHUP is ignored"
    local before
    before=$(steps_there hung)
    code=0
    nohup "${endless[@]}" --out hung >/dev/null 2>&1 &
    child=$!
    until_steps hung $((before + 5))
    kill -HUP $child
    until_steps hung $((before + 50))
    kill -TERM $child
    wait $child || code=$?
    expect_equal "exit" "$code" 75

    case_begin "the screen goes away, the training goes on"
    code=0
    { DS_PROGRESS_SECONDS=0 "${train[@]}" --steps 400 --save-every 400 --out piped 2>&1 || echo $? >piped.code; } |
        head -1 >/dev/null
    [ -e piped.code ] && complain "exit $(cat piped.code)"
    [ "$(cat piped/latest)" = step-00000400 ] || complain "the run is not finished"

}

# A reader that leaves early, as head does, ends the program by SIGPIPE, and nothing is reported.
lost_reader() {
    local command
    seq 100000 >lines.txt
    for command in "$dsdata export $data" "$dsdata extract lines.txt --text-form sentences -q" \
        "$dsdata tokenize --vocab vocab.txt lines.txt" "$dsdata show $data --json" "$dsdata verify $data --json" \
        "$dsdata vocab --check vocab.txt" "$dstrain show open" "$dstrain eval open --json -q"; do
        case_begin "the reader of standard output leaves: $command"
        mkfifo reader
        exec 3<>reader
        exec 4>reader 3<&- # a pipe without a reader
        local code=0
        # shellcheck disable=SC2086  # the words of a command
        $command >&4 2>"$scratch/stderr" || code=$?
        exec 4>&-
        rm reader
        expect_equal "exit" "$code" 141
        ! grep -qi "broken pipe\|cannot be written" "$scratch/stderr" || complain "it is reported"
    done
}

limited_files() {
    case_begin "a limit on the size of files is exit 7, and go-on goes on"
    expect_exit 7 bash -c 'ulimit -f 40; exec "$@"' bash "${train[@]}" --out limited
    expect_words "file too large"
    expect_exit 0 "${train[@]}" --out limited
    expect_same_checkpoint "after a limit on files" open limited
    expect_exit 7 bash -c 'ulimit -f 8; exec "$@"' bash "$dsdata" build -q --text text.txt --vocab vocab.txt --out small
    expect_words "file too large"
}

pipes_in_place_of_files() {
    local name
    for name in manifest.json build.json vocab.txt seq32/train-00000-of-00001.dss; do
        case_begin "a named pipe in place of $name"
        rm -rf piped-data
        cp -r "$data" piped-data
        rm "piped-data/$name"
        mkfifo "piped-data/$name"
        local expected=6
        [ $name = manifest.json ] || expected=4
        [ $name != build.json ] || expected=0
        expect_end $expected "$dsdata" verify piped-data
        [ $name = build.json ] || expect_end 6 "$dstrain" --shards piped-data --seq 32 --model "$model" --steps 2 \
            --out p
        [ $name != manifest.json ] || expect_end 6 "$dsdata" report piped-data
    done
    case_begin "a device or a pipe as a vocabulary, a configuration, an output"
    expect_end 6 "$dsdata" build --text text.txt --vocab /dev/zero --out d
    expect_words "a device"
    mkfifo pipe
    expect_end 6 "$dstrain" --shards "$data" --model pipe
    expect_words "a named pipe"
    expect_exit 75 "${train[@]}" --stop-after 5 --out half
    rm half/metrics.jsonl
    mkfifo half/metrics.jsonl
    expect_end 6 "${train[@]}" --out half
}

stopped_inputs() {
    case_begin "a stop ends the wait for an input that does not come"
    local child code=0
    mkfifo slow
    timeout -k 1 10 "$dsdata" extract slow >/dev/null 2>"$scratch/stderr" & # forwards the signal
    child=$!
    sleep 0.3
    kill -TERM $child
    wait $child || code=$?
    expect_equal "exit" "$code" 75
    case_begin "an input from a pipe"
    expect_exit 0 "$dsdata" extract --format sentences --text <(cat text.txt)
    grep -q "stone" "$scratch/stdout" || complain "nothing was read"
}

shrinking_shard() {
    case_begin "a shard becomes shorter while it is read"
    rm -rf cut
    cp -r "$data" cut
    "$dstrain" --shards cut --seq 32 --model "$model" --batch 8 --threads 1 --log-every 1 --steps 1000000 --out shrunk \
        2>"$scratch/stderr" &
    local child=$! code=0
    until_steps shrunk 5
    truncate -s 4096 cut/seq32/train-00000-of-00001.dss
    wait $child || code=$?
    expect_equal "exit" "$code" 4
    expect_words "train-00000-of-00001.dss" "became shorter"
}

closed_descriptors
full_output
lost_terminal
lost_reader
limited_files
pipes_in_place_of_files
stopped_inputs
shrinking_shard
flow_end
