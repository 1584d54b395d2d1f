#!/usr/bin/env bash
# What a user can look at: the screen output of a run, its TensorBoard events across stops and kills, and verify of
# datasets, runs and checkpoints.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"
needs_faults

cd "$scratch"
reader=$project/tests/flow/reference/events_reader.py
events=events.out.tfevents.dstrain
often=("${train[@]}" --eval-every 4 --save-every 4)

# flipped FILE BYTE: changes one bit; a negative byte counts from the end.
flipped() {
    python3 - "$1" "$2" <<'PYTHON'
import sys

data = bytearray(open(sys.argv[1], "rb").read())
data[int(sys.argv[2])] ^= 4
open(sys.argv[1], "wb").write(data)
PYTHON
}

tensorboard() {
    case_begin "events as metrics.jsonl has them"
    expect_exit 0 "${often[@]}" --out whole
    expect_exit 0 python3 -B "$reader" whole
    cat "$scratch/stdout"

    case_begin "every step once, also after a kill"
    expect_exit 75 "${often[@]}" --out parts --stop-after 5
    expect_exit 0 python3 -B "$reader" parts
    cp parts/$events before
    printf 'half a record' >>parts/$events
    expect_exit 0 "${often[@]}" --out parts
    expect_exit 0 python3 -B "$reader" parts
    cmp -s -n "$(stat -c %s before)" before parts/$events || complain "what stood there was changed"
    local n
    for n in 30 60 90; do
        rm -rf killed
        expect_exit 137 env DS_FAIL_FILE=$n:kill "${often[@]}" --out killed
        expect_exit 0 "${often[@]}" --out killed
        expect_exit 0 python3 -B "$reader" killed
    done

    case_begin "the reader says no"
    local at
    for at in 0 9 40 -1; do
        rm -rf bad
        cp -r whole bad
        flipped bad/$events $at
        expect_exit 1 python3 -B "$reader" bad
    done
}

# damaged DIR FILE: one flipped bit there; verify names the file, with exit code 4.
damaged() {
    rm -rf bad
    cp -r "$1" bad
    flipped "bad/$2" $(($(stat -c %s "bad/$2") / 2))
    expect_exit 4 "$dstrain" verify bad
    expect_words "bad/$2"
    expect_exit 4 "$dstrain" verify bad --json
    expect_equal "json" "$(json stdout "o['ok'], [d['file'] for d in o['damaged']]")" "(False, ['$2'])"
    expect_equal "range" "$(json stdout "o['damaged'][0]['from'] < o['damaged'][0]['to']")" True
}

verify() {
    local step=checkpoints/step-00000004 file
    case_begin "a dataset, as dsdata says it"
    expect_exit 0 "$dstrain" verify "$data"
    cp stdout first
    "$dsdata" verify -q "$data" >second
    cmp -s first second || complain "dsdata says something else"
    damaged "$data" vocab.txt
    damaged "$data" seq32/train-00000-of-00001.dss

    case_begin "a run and a checkpoint"
    expect_exit 0 "$dstrain" verify whole
    expect_exit 0 "$dstrain" verify whole --json
    expect_equal "facts" "$(json stdout "o['ok'], o['files'], o['damaged']")" "(True, 21, [])"
    expect_equal "bytes" "$(json stdout "o['bytes']")" "$(cat whole/checkpoints/*/* | wc -c)"
    expect_exit 0 "$dstrain" verify whole/$step
    for file in model.safetensors optimizer.safetensors vocab.txt config.json state.json; do
        damaged whole "$step/$file"
        damaged "whole/$step" $file
    done

    case_begin "what is missing"
    rm -rf bad && cp -r whole bad && rm bad/$step/tokenizer.json bad/$last/state.json
    expect_exit 4 "$dstrain" verify bad --json
    expect_equal "files" "$(json stdout "[d['file'] for d in o['damaged']]")" \
        "['$step/tokenizer.json', '$last/state.json']"
    rm -rf bad && cp -r whole bad && rm -r bad/$last
    expect_exit 4 "$dstrain" verify bad
    expect_words bad/latest
    echo rubbish >bad/latest
    expect_exit 4 "$dstrain" verify bad
    expect_words bad/latest
    expect_exit 0 "$dstrain" export whole --out model
    expect_exit 2 "$dstrain" verify model
}

screen() {
    case_begin "what the opening and the closing say of time"
    expect_exit 0 "${train[@]}" --json --out facts
    expect_equal "share of peak" \
        "$(json stdout 'o["share_of_peak"] > 0 and o["sequences_per_second"] > 0 and o["loss_spikes"] == 0')" True
    expect_exit 0 "${train[@]}" --out told
    expect_words ", about 0:0" "sequences/s" "GFLOP/s that matrix products alone reach" "no loss spikes"
    expect_exit 75 "${train[@]}" --out half --stop-after 6
    expect_exit 0 "${train[@]}" --out half
    expect_words "from here"

    case_begin "the line on a terminal: whole fields only, whatever its width"
    python3 - "$dstrain" --shards "$data" --model "$model" --steps 1000000 --batch 8 --threads 1 --eval-samples 0 \
        >"$scratch/stdout" <<'PYTHON' || complain "$(tail -3 "$scratch/stdout")"
import fcntl, os, pty, re, struct, sys, termios

FIELDS = [r"step [\d,]+/1,000,000", r" │ loss \d\.\d{3}", r" \(mlm \d\.\d{3}, nsp \d\.\d{3}\)",
          r", this step \d\.\d{3}", r" │ acc \d+\.\d %", r" │ lr \d(\.\d)?e-\d\d", r" │ \|g\| \d+\.\d\d",
          r" │ [\d,.]+ seq/s", r" │ [\d,.]+ tok/s", r" │ MFU \d+ %", r" │ data \d+\.\d %"]
LEFT = r"( │ [\d:]+ left)?"


def lines(width):
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm"
        fcntl.ioctl(2, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
        os.execvp(sys.argv[1], [*sys.argv[1:], "--time-limit", "3s" if width in (80, 250) else "2s", "--out",
                                f"terminal-{width}"])
    seen = b""
    try:
        while chunk := os.read(terminal, 65536):
            seen += chunk
    except OSError:
        pass
    os.waitpid(pid, 0)
    return [line for line in re.split(r"\r\x1b\[K|\r\n", seen.decode()) if re.match(r"step [\d,]+/", line)]


before = 0
for width in 40, 80, 250:  # base_progress has more
    found = lines(width)
    assert found, width
    for line in found:
        print(width, line)
        whole = re.fullmatch("".join(f"({field})?" for field in FIELDS) + LEFT, line)
        assert whole and len(line) < width, (width, line)
    number = max(sum(re.search(field, line) is not None for field in FIELDS) for line in found)
    assert number >= before, (width, number, before)
    before = number
assert before == len(FIELDS), found
PYTHON

    case_begin "a loss spike"
    expect_exit 0 "$dstrain" --shards "$data" --model "$model" --steps 60 --batch 32 --threads 1 --out spike \
        --precision fp32 --set scheduler.type=LRRangeTest scheduler.params.lr_range_test_min_lr=1e-6 \
        scheduler.params.lr_range_test_step_size=50 scheduler.params.lr_range_test_step_rate=1e6 \
        scheduler.params.lr_range_test_staircase=true
    expect_words "step 5" "deviations above that of the steps before it" "loss spike"
}

finished() {
    local lost command=("${train[@]}" --save-every 4 --keep-last 5 --out lost)
    case_begin "a finished run whose last checkpoint is lost"
    expect_exit 0 "${command[@]}"
    cp -r lost saved
    for lost in damaged removed "removed with latest" all; do
        rm -rf lost && cp -r saved lost
        case $lost in
        damaged) flipped lost/$last/model.safetensors -100 ;;
        removed) rm -r lost/$last ;;
        "removed with latest") rm -r lost/$last lost/latest ;;
        all) rm -r lost/checkpoints ;;
        esac
        expect_exit 4 "${command[@]}"
        expect_words lost/
        if [ "$lost" = all ]; then
            expect_words "--fresh"
            expect_exit 4 "${command[@]}" --skip-damaged
            continue
        fi
        expect_words "--skip-damaged"
        expect_exit 0 "${command[@]}" --skip-damaged
        diff -r saved/checkpoints lost/checkpoints >stdout || complain "$lost: other bytes"
        expect_exit 0 "${command[@]}"
        expect_words "is finished"
        expect_exit 0 "$dstrain" verify lost
    done
}

# infinite TENSOR VALUE: the model "whole" with one number that is not finite, in the folder bad.
infinite() {
    rm -rf bad bad-out bad-run
    expect_exit 0 "$dstrain" export whole --out bad
    python3 - "$1" "$2" <<'PYTHON'
import json, struct, sys

data = bytearray(open("bad/model.safetensors", "rb").read())
size = struct.unpack("<Q", data[:8])[0]
at = 8 + size + json.loads(data[8:8 + size])[sys.argv[1]]["data_offsets"][0]
data[at:at + 4] = struct.pack("<f", float(sys.argv[2]))
open("bad/model.safetensors", "wb").write(data)
PYTHON
}

not_finite() {
    local tensor value
    case_begin "weights that are not finite: every verb names the tensor"
    for value in nan inf; do
        for tensor in bert.pooler.dense.bias bert.encoder.layer.1.output.dense.weight; do
            infinite $tensor $value
            expect_exit 8 "$dstrain" eval bad --shards "$data"
            expect_words $tensor
            if grep -q -i "nan\|inf " stdout; then complain "$(cat stdout)"; fi
            expect_exit 8 "$dstrain" export bad --out bad-out
            expect_words $tensor
            expect_absent '*' bad-out
        done
    done
    expect_exit 8 "$dstrain" fill-mask bad "the [MASK]"
    expect_words $tensor
    printf '{"good": "the river", "bad": "river the"}\n' >pairs.jsonl
    expect_exit 8 "$dstrain" score bad pairs.jsonl
    expect_words $tensor

    case_begin "finite weights whose products are not: eval names the samples"
    infinite bert.embeddings.LayerNorm.weight 3e38
    expect_exit 8 "$dstrain" eval bad --shards "$data" --precision fp32
    expect_words "not finite" "sample"
}

screen
tensorboard
verify
finished
not_finite
flow_end
