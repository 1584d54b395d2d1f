#!/usr/bin/env bash
# dsdata build --compat google against reference/google_instances.py, a reimplementation of Google's
# create_pretraining_data.py: the same instances in the same order. Then interruptions, damage, and refused options.
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"
needs_faults

reference=$project/tests/flow/reference/google_instances.py
vocab=$scratch/vocab.txt
text=$scratch/text.txt
set_up() {
    case_begin "text and a vocabulary"
    expect_exit 0 "$dsdata" extract --wiki "$samples" --format sentences
    mv "$scratch/stdout" "$text"
    expect_exit 0 "$dsdata" vocab --wiki "$samples" --vocab-size 1200 --out "$vocab"

    # Documents that span files, all kinds of blank lines, documents without a piece, one long line, no final LF.
    python3 - "$scratch" <<'PYTHON'
import sys

first = ("A first line.\r\n \u00a0\u3000\nIt goes on in the moon.\n\u200b\nNot a border before.\n\u2028\n\x1c\n"
         "\ufeffThe mark.\n\n\n\n\u00ad\n\nA c\u00e0f\u00e9 of \u03a3\u0391\u03a3, \u4e2d\u6587.\n"
         "A file ends here, its document does not")
second = ("This belongs to it.\n" + "x" * 150 + " " + "y" * 250 + " river.\n" + "the moon and " * 400 + "\n"
          "A\u0085B\u2028C\n\nAnother document.\n")
open(f"{sys.argv[1]}/odd1.txt", "w", encoding="utf-8", newline="").write(first)
open(f"{sys.argv[1]}/odd2.txt", "wb").write(second.encode() + b"Ill-\xff\xc3formed \xe2\x82 bytes.\n")
PYTHON
}

# same NAME OUR-OPTIONS -- THEIR-OPTIONS -- FILES
same() {
    local ours=() theirs=()
    case_begin "$1"
    shift
    while [ "$1" != -- ]; do ours+=("$1"); shift; done
    shift
    while [ "$1" != -- ]; do theirs+=("$1"); shift; done
    shift
    rm -rf "$scratch/set"
    expect_exit 0 "$dsdata" build --compat google --vocab "$vocab" --out "$scratch/set" "${ours[@]}" --text "$@"
    expect_exit 0 "$dsdata" verify "$scratch/set"
    expect_exit 0 "$dsdata" export "$scratch/set" --out "$scratch/ours.jsonl"
    python3 "$reference" --vocab "$vocab" "${theirs[@]}" "$@" >"$scratch/theirs.jsonl"
    [ -s "$scratch/theirs.jsonl" ] || complain "the reference made nothing"
    sed 's/,"page_id":[0-9]*}$/}/' "$scratch/ours.jsonl" | cmp - "$scratch/theirs.jsonl" >"$scratch/stdout" 2>&1 ||
        complain "other instances"
}

like_googles() {
    same "128" --seq 128 -- --seq 128 --predictions 20 -- "$text"
    same "64, another seed, 3 copies" --seq 64 --seed 987654321987 --copies 3 --max-predictions 10 -- \
        --seq 64 --seed 987654321987 --copies 3 --predictions 10 -- "$text"
    same "whole words" --seq 64 --copies 2 --masking whole-word -- \
        --seq 64 --copies 2 --predictions 12 --whole-word -- "$text"
    same "512, few short, many masks, cased" --seq 512 --short-seq-prob 0.02 --mask-prob 0.25 --cased --seed 0 -- \
        --seq 512 --short 0.02 --prob 0.25 --cased --seed 0 --predictions 128 -- "$text"
    same "all short" --seq 16 --short-seq-prob 1 --max-predictions 1 -- --seq 16 --short 1 --predictions 1 -- \
        "$scratch/odd1.txt" "$scratch/odd2.txt" "$text"
    same "odd files" --seq 32 --copies 5 --max-predictions 8 -- --seq 32 --copies 5 --predictions 8 -- \
        "$scratch/odd1.txt" "$scratch/odd2.txt"
    same "odd files, whole words" --seq 32 --copies 5 --max-predictions 8 --masking whole-word -- \
        --seq 32 --copies 5 --predictions 8 --whole-word -- "$scratch/odd2.txt" "$scratch/odd1.txt"
    printf 'One document only.\nIt has two lines of text.\n' >"$scratch/one.txt"
    same "one document" --seq 32 --copies 9 --max-predictions 8 -- --seq 32 --copies 9 --predictions 8 -- \
        "$scratch/one.txt"
    # Random words are drawn from distinct pieces; the id of a repeated piece is its last one.
    cp "$vocab" "$scratch/good.txt"
    sed -n '110,140p' "$vocab" >"$scratch/twice"
    { cat "$scratch/twice"; printf '\n blanks around \n\n\302\205next line\nill\377formed\n\n\n'; } >>"$vocab"
    same "a vocabulary with lines twice and empty ones" --seq 64 --mask-prob 0.9 --max-predictions 60 -- \
        --seq 64 --prob 0.9 --predictions 60 -- "$text"
    mv "$scratch/good.txt" "$vocab"
}

# The order is that of the script for any shards, threads and memory, and after any interruption.
order() {
    local command_line=(build --compat google --text "$text" --vocab "$vocab" --seq 64)
    case_begin "shards"
    expect_exit 0 "$dsdata" "${command_line[@]}" --out "$scratch/whole"
    expect_exit 0 "$dsdata" "${command_line[@]}" --out "$scratch/many" --shard-bytes 64K --threads 3
    [ "$(find "$scratch/many" -name '*.dss' | wc -l)" -gt 2 ] || complain "too few shards"
    local dataset
    for dataset in whole many; do
        expect_exit 0 "$dsdata" export "$scratch/$dataset" --out "$scratch/$dataset.jsonl"
    done
    cmp -s "$scratch/whole.jsonl" "$scratch/many.jsonl" || complain "another order in many shards"
    expect_exit 0 "$dsdata" "${command_line[@]}" --out "$scratch/whole"
    expect_words "finished already"
    expect_exit 5 "$dsdata" build --text "$text" --vocab "$vocab" --seq 64 --out "$scratch/whole"

    killed_at_growing_places "$scratch/whole"
}

refused() {
    local google=(build --compat google --vocab "$vocab" --out "$scratch/refused")
    case_begin "what Google's program cannot do"
    expect_exit 2 "$dsdata" "${google[@]}" --seq 64 --wiki "$samples"
    expect_exit 2 "$dsdata" "${google[@]}" --seq 64 --text "$text" --jsonl "$text"
    expect_exit 2 "$dsdata" "${google[@]}" --seq 64 "$text"
    expect_exit 2 "$dsdata" "${google[@]}" --seq 64
    expect_words --text
    expect_exit 2 "$dsdata" "${google[@]}" --text "$text"
    expect_words "one length" --seq
    expect_exit 2 "$dsdata" "${google[@]}" --text "$text" --seq 64,128
    local option
    for option in --pairs=nsp --pairs=none --valid=0.1 --profile=hf --limit=3; do
        expect_exit 2 "$dsdata" "${google[@]}" --text "$text" --seq 64 $option
        expect_words "${option%=*}" "--compat google"
    done
    expect_exit 2 "$dsdata" "${google[@]}" --text - --seq 64
    gzip -c "$text" >"$scratch/packed.gz"
    expect_exit 2 "$dsdata" "${google[@]}" --text "$scratch/packed.gz" --seq 64
    expect_words "packed.gz: is compressed" "unpack it"
    expect_exit 2 "$dsdata" "${google[@]}" --text "$scratch/packed.gz" --seq 64 --dry-run
    [ ! -e "$scratch/refused" ] || complain "a refused build left files"

    case_begin "no piece"
    printf '\342\200\213\n' >"$scratch/nothing.txt"
    expect_exit 3 "$dsdata" "${google[@]}" --text "$scratch/nothing.txt" --seq 64
    [ ! -e "$scratch/refused/journal" ] || complain "a build without text left files"

    case_begin "more than --memory"
    python3 -c 'print("a b c d e f g h i j k l m n o p q r s t u v w x y z\n" * 800000)' >"$scratch/large.txt"
    rm -rf "$scratch/refused"
    expect_exit 7 "$dsdata" "${google[@]}" --text "$scratch/large.txt" --seq 64 --memory 288M
    expect_words memory corpus about
}

set_up
like_googles
order
refused
flow_end
