#!/usr/bin/env bash
# dsdata export --format tfrecord, read by an independent reader (tfrecord_reader.py) and compared with the JSON lines.
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"

reader=$project/tests/flow/reference/tfrecord_reader.py
set_up() {
    case_begin "a dataset"
    expect_exit 0 "$dsdata" vocab --wiki "$samples" --vocab-size 1500 --out "$scratch/vocab.txt"
    expect_exit 0 "$dsdata" build --wiki "$samples" --vocab "$scratch/vocab.txt" --valid 0.1 --seq 32,128 \
        --out "$scratch/set"
}

equal_to_jsonl() {
    local seq split
    for seq in 32 128; do
        for split in train valid; do
            case_begin "$split of length $seq"
            expect_exit 0 "$dsdata" export "$scratch/set" --seq $seq --split $split --out "$scratch/a.jsonl"
            expect_exit 0 "$dsdata" export "$scratch/set" --seq $seq --split $split --format tfrecord \
                --out "$scratch/a.tfrecord"
            expect_exit 0 python3 "$reader" "$scratch/a.tfrecord" "$scratch/a.jsonl"
        done
    done

    case_begin "standard output"
    expect_exit 0 "$dsdata" export "$scratch/set" --seq 128 --split valid --format tfrecord
    cmp -s "$scratch/stdout" "$scratch/a.tfrecord" || complain "other bytes than in a file"
}

# The reader must detect damage.
damaged() {
    local at
    for at in 0 9 100 1500; do
        case_begin "byte $at flipped"
        python3 - "$scratch/a.tfrecord" "$scratch/bad.tfrecord" $at <<'PYTHON'
import sys

data = bytearray(open(sys.argv[1], "rb").read())
data[int(sys.argv[3])] ^= 4
open(sys.argv[2], "wb").write(data)
PYTHON
        expect_exit 1 python3 "$reader" "$scratch/bad.tfrecord" "$scratch/a.jsonl"
    done
}

set_up
equal_to_jsonl
damaged
flow_end
