#!/usr/bin/env bash
# Wrong use of the whole programs: each mistake gets a sentence that names it, and the exit code of docs/DESIGN.md,
# section 6 (2 usage, 3 input damaged, 4 verification, 5 mismatch, 6 unsupported file), and leaves nothing that looks
# finished.
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"

out=$scratch/out
small=(--wiki "$samples" --vocab "$scratch/vocab.txt" --valid 0.1 --seq 128)

# A vocabulary for all tests: special tokens at the places of published models, and single letters.
make_vocab() {
    python3 - "$1" <<'PYTHON'
import sys

pieces = ["[PAD]"] + [f"[unused{i}]" for i in range(99)] + ["[UNK]", "[CLS]", "[SEP]", "[MASK]"]
letters = [chr(c) for c in range(33, 127) if not chr(c).isupper()]
pieces += letters + ["##" + c for c in letters if c.isalnum()] + ["the", "of", "and", "in", "is", "to", "##ing"]
open(sys.argv[1], "w").write("\n".join(pieces) + "\n")
PYTHON
}

# encoded ENCODING [bz2]: a dump that declares this encoding is refused, and with the option in the hint it builds the
# same dataset as the dump in UTF-8.
encoded() {
    local file=$scratch/encoded.xml${2:+.$2}
    case_begin "a dump in $1${2:+, compressed}"
    python3 - "$samples" "$1" "$file" "$scratch/utf-8.xml" <<'PYTHON'
import bz2, sys

text = bz2.open(sys.argv[1], "rt", encoding="utf-8").read().encode("latin-1", "ignore").decode("latin-1")
declared = f"<?xml version='1.0' encoding = '{sys.argv[2]}' ?>\n" + text
coded = declared.encode(sys.argv[2])
open(sys.argv[3], "wb").write(bz2.compress(coded) if sys.argv[3].endswith("bz2") else coded)
open(sys.argv[4], "w", encoding="utf-8").write(text)
PYTHON
    expect_exit 6 "$dsdata" build "$file" --vocab "$scratch/vocab.txt" --out "$out"
    expect_words "is encoded in $1"
    expect_words "--encoding $1"
    expect_exit 0 "$dsdata" build "$file" --vocab "$scratch/vocab.txt" --seq 128 --encoding "$1" \
        --out "$scratch/converted"
    expect_exit 0 "$dsdata" build "$scratch/utf-8.xml" --vocab "$scratch/vocab.txt" --seq 128 --out "$scratch/plain"
    expect_exit 0 diff -r "$scratch/converted/seq128" "$scratch/plain/seq128"
    rm -rf "$scratch/converted" "$scratch/plain"
}

bad_inputs() {
    case_begin "a missing file"
    expect_exit 2 "$dsdata" build --wiki "$scratch/nowhere.xml.bz2" --out "$out"
    expect_words nowhere.xml.bz2 "no such file"

    case_begin "a missing file among good ones"
    expect_exit 2 "$dsdata" build --wiki "$samples" "$scratch/nowhere.xml.bz2" --out "$out"
    expect_words nowhere.xml.bz2

    case_begin "a directory as input"
    expect_exit 2 "$dsdata" build --wiki "$scratch" --out "$out"
    expect_words directory

    case_begin "a mistake in a file of renderings"
    # shellcheck disable=SC2016  # the dollar is a rendering's
    printf 'good = $1\nbad = $x\n' >"$scratch/renderings.txt"
    expect_exit 2 "$dsdata" build --wiki "$samples" --templates "$scratch/renderings.txt" --out "$out"
    expect_words renderings.txt "line 2"

    case_begin "a file that is not bzip2"
    printf 'This is no dump,\nit is a letter.\n' >"$scratch/letter.xml.bz2"
    expect_exit 3 "$dsdata" build --wiki "$scratch/letter.xml.bz2" --out "$out"
    expect_words letter.xml.bz2

    case_begin "random bytes"
    head -c 4096 /dev/urandom | tr -d '\0' >"$scratch/noise.bin"
    expect_exit 3 "$dsdata" build "$scratch/noise.bin" --out "$out"
    expect_words noise.bin

    case_begin "an empty file"
    : >"$scratch/empty.xml"
    expect_exit 3 "$dsdata" build "$scratch/empty.xml" --out "$out"
    expect_words empty.xml empty

    case_begin "a damaged gzip file"
    printf '\037\213\010\000\000\000\000\000\000\003' >"$scratch/dump.xml.gz"
    head -c 500 "$samples" >>"$scratch/dump.xml.gz"
    expect_exit 3 "$dsdata" build "$scratch/dump.xml.gz" --out "$out"
    expect_words dump.xml.gz gzip damaged byte --salvage

    encoded iso-8859-1
    encoded utf-16
    encoded iso-8859-1 bz2

    case_begin "text of two bytes a letter, without a mark"
    printf 'A text of two bytes for each letter.\n' | iconv -t UTF-16LE >"$scratch/two.txt"
    expect_exit 6 "$dsdata" build --text "$scratch/two.txt" --out "$out"
    expect_words two.txt "not text in UTF-8" "--encoding utf-16le"

    case_begin "a truncated dump"
    head -c 60000 "$samples" >"$scratch/short.xml.bz2"
    expect_exit 3 "$dsdata" build --wiki "$scratch/short.xml.bz2" --vocab "$scratch/vocab.txt" --out "$out"
    expect_words short.xml.bz2 truncated byte
    expect_absent '*.dss' "$out"
    expect_absent manifest.json "$out"

    case_begin "a truncated dump, vocabulary learned"
    rm -rf "$out"
    expect_exit 3 "$dsdata" build --wiki "$scratch/short.xml.bz2" --out "$out"
    expect_words short.xml.bz2 truncated
    expect_absent '*.dss' "$out"

    case_begin "a plain dump without its end"
    bzip2 -dc "$samples" >"$scratch/short.xml"
    truncate -s 100000 "$scratch/short.xml"
    rm -rf "$out"
    expect_exit 3 "$dsdata" build --wiki "$scratch/short.xml" --vocab "$scratch/vocab.txt" --out "$out"
    expect_words short.xml truncated
    expect_absent manifest.json "$out"

    case_begin "a flipped bit in a dump"
    rm -rf "$out"
    flip_byte "$samples" "$scratch/flipped.xml.bz2" 30000
    expect_exit 3 "$dsdata" build --wiki "$scratch/flipped.xml.bz2" --vocab "$scratch/vocab.txt" --out "$out"
    expect_words flipped.xml.bz2 byte
    expect_absent manifest.json "$out"
    rm -rf "$out"

    case_begin "a vocabulary without [UNK]"
    grep -v '^\[UNK\]$' "$scratch/vocab.txt" >"$scratch/no-unk.txt"
    expect_exit 3 "$dsdata" build --wiki "$samples" --vocab "$scratch/no-unk.txt" --out "$out"
    expect_words no-unk.txt '[UNK]'
    expect_absent manifest.json "$out"

    case_begin "a missing vocabulary"
    expect_exit 2 "$dsdata" build --wiki "$samples" --vocab "$scratch/nowhere.txt" --out "$out"
    expect_words nowhere.txt
}

# json_lines LINE: a file of this line 40 times.
json_lines() {
    for _ in {1..40}; do printf '%s\n' "$1"; done >"$scratch/lines.jsonl"
}

odd_inputs() {
    local odd=(build "$scratch/lines.jsonl" --vocab "$scratch/vocab.txt" --seq 64 --out "$out")

    case_begin "JSON lines whose text is something else"
    json_lines '{"id": 1, "text": ["One sentence.", "Another."]}'
    expect_exit 3 "$dsdata" "${odd[@]}"
    expect_words "it is an array" "join("
    json_lines '{"id": 1, "text": null}'
    expect_exit 3 "$dsdata" "${odd[@]}"
    expect_words "it is null"
    json_lines '{"id": 1, "data": {"text": "One sentence."}}'
    expect_exit 3 "$dsdata" "${odd[@]}"
    expect_words "keys id, data" "takes the object that holds it"

    case_begin "a vocabulary is not called small if there is no text"
    expect_exit 3 "$dsdata" build "$scratch/lines.jsonl" --seq 64 --out "$out"
    expect_equal "warnings of size" "$(grep -c "too short" "$scratch/stderr")" 0
    rm -rf "$out"

    case_begin "text in Latin-1"
    for _ in {1..40}; do printf 'Die M\344dchen lesen lange B\374cher.\n\n'; done >"$scratch/latin.txt"
    expect_exit 6 "$dsdata" extract --text "$scratch/latin.txt"
    expect_words "byte 5" "not text in UTF-8" "--encoding windows-1252"

    case_begin "a document over 16 MiB"
    head -c 17000000 /dev/zero | tr '\0' 'a' >"$scratch/long.txt"
    expect_exit 3 "$dsdata" extract "$scratch/long.txt"
    expect_words "over 16 MiB" "at most"
    rm "$scratch/long.txt"

    case_begin "an input twice, and options that nothing uses"
    expect_exit 0 "$dsdata" build "$samples" "$samples" --vocab "$scratch/vocab.txt" --seq 64 --text-key x \
        --text-form lines --vocab-size 300 --out "$out"
    expect_words "is named twice" "--text-key has no effect" "--text-form has no effect" "--vocab-size has no effect"
    expect_equal "[UNK]" "$(grep -c "are \[UNK\]" "$scratch/stderr")" 0
    rm -rf "$out"

    case_begin "a vocabulary that does not fit"
    printf '%s\n' '[PAD]' '[UNK]' '[CLS]' '[SEP]' '[MASK]' a the >"$scratch/few.txt"
    expect_exit 0 "$dsdata" build "$samples" --vocab "$scratch/few.txt" --seq 64 --out "$out"
    expect_words "of the pieces are [UNK]" "another language"
    rm -rf "$out"

    case_begin "English of a country"
    expect_exit 0 "$dsdata" build "$samples" --lang en-GB --dry-run
    expect_words "accents stripped"
}

# flip_byte FROM TO OFFSET: a copy with all bits of one byte inverted.
flip_byte() {
    python3 - "$1" "$2" "$3" <<'PYTHON'
import sys

data = bytearray(open(sys.argv[1], "rb").read())
data[int(sys.argv[3])] ^= 0xFF
open(sys.argv[2], "wb").write(data)
PYTHON
}

bad_options() {
    case_begin "--seq 100000"
    expect_exit 2 "$dsdata" build --wiki "$samples" --seq 100000 --out "$out"
    expect_words --seq 8192

    case_begin "--seq 8"
    expect_exit 2 "$dsdata" build --wiki "$samples" --seq 128,8 --out "$out"
    expect_words --seq 16

    case_begin "a misspelt option"
    expect_exit 2 "$dsdata" build --wiki "$samples" --vocab-sise 1000 --out "$out"
    expect_words --vocab-sise --vocab-size

    case_begin "an abbreviated option"
    expect_exit 2 "$dsdata" build --wiki "$samples" --vocab-s 1000 --out "$out"
    expect_words --vocab-s

    case_begin "a number that is none"
    expect_exit 2 "$dsdata" build --wiki "$samples" --vocab-size many --out "$out"
    expect_words --vocab-size many

    case_begin "a probability above 1"
    expect_exit 2 "$dsdata" build --wiki "$samples" --valid 2 --out "$out"
    expect_words --valid

    case_begin "a verb that does not exist"
    expect_exit 2 "$dsdata" biuld --wiki "$samples"
    expect_words biuld build

    case_begin "no input"
    expect_exit 2 "$dsdata" build --out "$out"
    expect_words input

    case_begin "tokenize without a vocabulary"
    expect_exit 2 "$dsdata" tokenize
    expect_words --vocab

    case_begin "stdin without --out"
    # shellcheck disable=SC2016  # the inner shell expands them
    expect_exit 2 bash -c '"$0" build - <"$1"' "$dsdata" "$samples"
    expect_words "standard input" --out

    case_begin "more shards than a manifest can name"
    { printf '<mediawiki><page><title>A</title></page>\n' && head -c 4096 /dev/zero | tr '\0' ' '; } \
        >"$scratch/large.xml"
    truncate -s 200G "$scratch/large.xml"
    expect_exit 2 "$dsdata" build "$scratch/large.xml" --vocab "$scratch/vocab.txt" --shard-bytes 64K --dry-run \
        --out "$out"
    expect_words "more than a manifest can name" "--shard-bytes 1M"
    rm "$scratch/large.xml"

    case_begin "a directory that cannot be written"
    : >"$scratch/file"
    expect_exit 2 "$dsdata" build "${small[@]}" --out "$scratch/file/below"
    expect_words "$scratch/file"

    case_begin "directories that cannot be one are refused before the dump is read"
    ln -s nowhere "$scratch/dangling"
    expect_exit 2 "$dsdata" build "${small[@]}" --out "$scratch/file"
    expect_words "$scratch/file: is a file, not a directory"
    expect_equal "lines before" "$(grep -c templates "$scratch/stderr")" 0
    expect_exit 2 "$dsdata" build "${small[@]}" --out "$scratch/dangling"
    expect_words "$scratch/dangling: is not a directory"
    expect_exit 2 "$dsdata" build "${small[@]}" --out -
    expect_words "a dataset is a directory"
    [ ! -e - ] || complain "a directory of the name - was made"

    case_begin "contradictions are refused before a directory is made"
    expect_exit 2 "$dsdata" build "$samples" --vocab-size 300 --unused 300 --out "$scratch/never"
    expect_words "no room for 300 unused ones"
    expect_exit 2 "$dsdata" build "${small[@]}" --pack --out "$scratch/never"
    expect_words --pack
    expect_absent never "$scratch"

    case_begin "a foreign directory"
    mkdir -p "$scratch/foreign"
    : >"$scratch/foreign/thesis.tex"
    expect_exit 2 "$dsdata" build "${small[@]}" --out "$scratch/foreign"
    expect_words "$scratch/foreign"
    expect_exit 2 "$dsdata" build "${small[@]}" --dry-run --out "$scratch/foreign"
    [ -f "$scratch/foreign/thesis.tex" ] || complain "the foreign file is gone"

    case_begin "errors as JSON"
    expect_exit 2 "$dsdata" build --json --wiki "$scratch/nowhere.xml.bz2" --out "$out"
    expect_equal "exit in JSON" "$(json "$scratch/stdout" 'o["exit"]')" 2
    expect_equal "keys in JSON" "$(json "$scratch/stdout" 'sorted({"error", "file", "offset", "hint"} - set(o))')" "[]"
}

bad_datasets() {
    case_begin "a build to be compared with"
    expect_exit 0 "$dsdata" build "${small[@]}" --out "$scratch/good"

    case_begin "the same command again"
    expect_exit 0 "$dsdata" build "${small[@]}" --out "$scratch/good"

    case_begin "the same command again, but a shard is gone"
    cp -r "$scratch/good" "$scratch/gone"
    rm "$scratch/gone/seq128/"valid-*
    expect_exit 4 "$dsdata" build "${small[@]}" --out "$scratch/gone"
    expect_words valid-00000 missing --fresh
    rm -r "$scratch/gone"

    case_begin "an output directory of another command line"
    expect_exit 5 "$dsdata" build "${small[@]}" --seed 7 --out "$scratch/good"
    expect_words seed 7 12345

    case_begin "an output directory of other renderings"
    # shellcheck disable=SC2016  # the dollar is a rendering's
    printf 'lang = $2\n' >"$scratch/renderings.txt"
    expect_exit 5 "$dsdata" build "${small[@]}" --templates "$scratch/renderings.txt" --out "$scratch/good"
    expect_words templates

    case_begin "an output directory of other inputs"
    bzip2 -dc "$samples" | sed 's/Saturn/Uranus/' | bzip2 >"$scratch/other.xml.bz2"
    expect_exit 5 "$dsdata" build --wiki "$scratch/other.xml.bz2" --vocab "$scratch/vocab.txt" --valid 0.1 --seq 128 \
        --out "$scratch/good"

    case_begin "an output directory of another vocabulary"
    sed 's/^##ing$/##ed/' "$scratch/vocab.txt" >"$scratch/other.txt"
    expect_exit 5 "$dsdata" build --wiki "$samples" --vocab "$scratch/other.txt" --valid 0.1 --seq 128 \
        --out "$scratch/good"
    expect_words vocab

    case_begin "a dataset that does not exist"
    expect_exit 2 "$dsdata" show "$scratch/nowhere"
    expect_words "$scratch/nowhere"
    expect_exit 2 "$dsdata" verify "$scratch/nowhere"

    case_begin "a sample that does not exist"
    expect_exit 2 "$dsdata" show "$scratch/good" --sample 100000000
    expect_words sample

    case_begin "a shard of a newer version"
    cp -r "$scratch/good" "$scratch/newer"
    shard=$(find "$scratch/newer/seq128" -name 'train-00000*.dss')
    printf '\002' | dd of="$shard" bs=1 seek=8 conv=notrunc status=none # format_version, after the magic
    expect_exit 5 "$dsdata" show "$shard"
    expect_words "$(basename "$shard")" version
    expect_exit 5 "$dsdata" export "$scratch/newer" --out "$scratch/x.jsonl"
    expect_words version

    case_begin "a dataset of a newer version"
    cp -r "$scratch/good" "$scratch/newer2"
    sed -i -E 's/("format_version": *)1/\12/' "$scratch/newer2/manifest.json"
    expect_exit 5 "$dsdata" show "$scratch/newer2"
    expect_words version

    case_begin "a truncated shard"
    cp -r "$scratch/good" "$scratch/cut"
    shard=$(find "$scratch/cut/seq128" -name 'train-00000*.dss')
    truncate -s -100 "$shard"
    expect_exit 4 "$dsdata" verify "$scratch/cut"
    expect_words "$(basename "$shard")"
}

# refused FILE WORD COMMAND…: the command names the file and leaves it as it is.
refused() {
    local file=$1 word=$2
    shift 2
    cp "$file" "$scratch/before"
    expect_exit 2 "$dsdata" "$@"
    expect_words "$file" "$word" --out
    cmp -s "$file" "$scratch/before" || complain "$file was replaced"
}

bad_outputs() {
    local good=$scratch/good shard
    shard=$(find "$good/seq128" -name 'train-00000*.dss')

    case_begin "an output that is a file of a dataset"
    refused "$good/manifest.json" "belongs to a dataset" export "$good" --out "$good/manifest.json"
    refused "$shard" "belongs to a dataset" export "$good" --out "$shard"
    refused "$good/build.json" "belongs to a dataset" report "$good" --out "$good/build.json"
    refused "$good/vocab.txt" "belongs to a dataset" vocab "$samples" --vocab-size 300 --force \
        --out "$good/vocab.txt"

    case_begin "an output that is an input"
    bzip2 -dc "$samples" >"$scratch/input.xml"
    refused "$scratch/input.xml" "is read by this command" vocab "en=$scratch/input.xml" --force \
        --out "$scratch/input.xml"
    refused "$scratch/input.xml" "is read by this command" templates "$scratch/input.xml" --force \
        --out "$scratch/input.xml"

    case_begin "an output that exists, before the dump is read"
    refused "$scratch/vocab.txt" "exists already" templates "$samples" --out "$scratch/vocab.txt"
    expect_words --force

    case_begin "an output in a folder that does not exist"
    expect_exit 2 "$dsdata" export "$good" --files 3 --out "$scratch/nowhere/x.jsonl"
    expect_words "there is no directory $scratch/nowhere"

    case_begin "an output that is a directory"
    expect_exit 2 "$dsdata" report "$good" --out "$scratch"
    expect_words "is a directory"

    case_begin "an export into other numbers of files"
    expect_exit 0 "$dsdata" export "$good" --files 3 --out "$scratch/many.jsonl"
    expect_equal "warnings" "$(grep -c warning "$scratch/stderr")" 0
    expect_exit 0 "$dsdata" export "$good" --files 2 --out "$scratch/many.jsonl"
    expect_words many-00000-of-00003.jsonl "into 3 files"

    case_begin "a folder of the name -"
    mkdir -p "$scratch/dash/-"
    expect_exit 0 bash -c 'cd "$0" && "$1" extract - <"$2"' "$scratch/dash" "$dsdata" "$samples"
}

# Each line: an input for printf, the exit code, and words of the message.
malformed_inputs() {
    case_begin "inputs that break off or are no text"
    local input=$scratch/malformed wet='WARC/1.0\nWARC-Type: conversion\nContent-Length: '
    while IFS='|' read -r text code words; do
        # shellcheck disable=SC2059  # it is a format
        printf "$text" >"$input"
        expect_exit "$code" "$dsdata" extract "$input"
        expect_words "malformed: $words"
    done <<END
id,text\\n1,"abc\\n2,d\\n|3|byte 10: line 2: the quotation mark that opens this field is not closed
[{"text": "a"}, 3]|3|byte 16: an element of the JSON array is neither
[{"text": "a"}] b|3|byte 16: other bytes follow the end of the JSON array
[{"text": "a"},\\n{"text": "b"|3|byte 16: the JSON array is truncated inside the element
${wet}3\\n\\nabc\\n\\nWARX/1.0\\nContent-Length: 3\\n\\nabc\\n\\n|3|byte 55: damaged: a record of the web archive must
${wet}x3\\n\\nabc\\n\\n|3|byte 0: damaged: a record of the web archive must
${wet}30\\n\\nabc\\n\\n|3|byte 56: the web archive is truncated
BZh9 abcdefghi|3|byte 4: damaged
END
    printf 'id,text\n1,abc\n' | gzip >"$input"
    expect_exit 2 "$dsdata" extract "$input" --salvage
    expect_words "--salvage cannot be combined with a table (CSV)"
    printf 'Ein gro\337er Flu\337\n' | gzip >"$input"
    expect_exit 2 "$dsdata" extract --text "$input" --salvage --encoding latin1
    expect_words "--salvage and --encoding iso-8859-1"
    printf 'caf\303\251 au lait\n' >"$input"
    expect_exit 6 "$dsdata" extract --text "$input" --encoding utf-16
    expect_words "is text in UTF-8, not in utf-16" "leave out --encoding"
}

bad_names() {
    local good=$scratch/good
    local shard=$good/seq128/train-00000-of-00001.dss

    case_begin "a name that a shell would read otherwise, in the command of a hint"
    local named="$scratch/it's a \$HOME.txt"
    for ((n = 1; n <= 40; n++)); do printf 'x%d\tThe old mill stands by the river.\n' "$n"; done >"$named"
    expect_exit 6 "$dsdata" extract "$named"
    expect_exit 0 bash -c "$(sed -n 's/^  \(cut .*\) | dsdata .*/\1/p' "$scratch/stderr")"
    expect_equal "lines" "$(grep -c '^The old mill' "$scratch/stdout")" 40

    case_begin "text that is not UTF-8, taken as it is"
    printf 'Die M\374hle steht am Flu\337. Sie ist alt und gut.\n\n%.0s' {1..20} >"$scratch/latin.txt"
    expect_exit 6 "$dsdata" extract "$scratch/latin.txt"
    expect_exit 0 "$dsdata" extract "$scratch/latin.txt" --encoding utf-8-lossy
    expect_words "repaired   "

    case_begin "something else than a dataset or a shard"
    expect_exit 2 "$dsdata" show "$scratch/vocab.txt"
    expect_words "neither a dataset's directory nor a shard"
    expect_exit 2 "$dsdata" verify "$shard"
    expect_words "a dataset is a directory" "part of the dataset $good"
    expect_exit 2 "$dsdata" export "$good/seq128" --out "$scratch/x.jsonl"
    expect_words "not a dataset" "part of the dataset $good"

    case_begin "a report without the vocabulary"
    cp -r "$good" "$scratch/bare"
    rm "$scratch/bare/vocab.txt"
    expect_exit 4 "$dsdata" report "$scratch/bare"
    expect_words vocab.txt missing
    rm -r "$scratch/bare"

    case_begin "sums on standard output"
    expect_exit 2 "$dsdata" verify "$good" --sha256 -
    [ ! -e - ] || complain "a file of the name - was made"

    case_begin "the next sample is of the same split"
    expect_exit 0 "$dsdata" show "$good" --sample 0 --split valid --seq 128
    expect_words "show $good --seq 128 --split valid --sample 1"

    case_begin "compressed lines"
    expect_exit 6 "$dsdata" tokenize --vocab "$scratch/vocab.txt" "$samples"
    expect_words "$samples" "not plain text"

    case_begin "doctor prints its facts"
    expect_exit 0 "$dsdata" doctor
    grep -q '^processor  ' "$scratch/stdout" || complain "nothing on standard output"
}

bad_training() {
    if [ ! -x "$dstrain" ]; then
        echo "$dstrain is not built: its cases are left out"
        return
    fi
    local tiny=(--model tiny --steps 1 --batch 2 --out "$scratch/run")

    case_begin "training without shards"
    expect_exit 2 "$dstrain" --model tiny
    expect_words --shards

    case_begin "training on shards that do not exist"
    expect_exit 2 "$dstrain" --shards "$scratch/nowhere" "${tiny[@]}"
    expect_words "$scratch/nowhere"

    case_begin "training on shards of a newer version"
    expect_exit 5 "$dstrain" --shards "$scratch/newer" "${tiny[@]}"
    expect_words version
    expect_exit 5 "$dstrain" --shards "$scratch/newer2" "${tiny[@]}"
    expect_words version

    case_begin "training on a truncated shard"
    expect_exit 4 "$dstrain" --shards "$scratch/cut" "${tiny[@]}"
    expect_words .dss

    case_begin "a length that the dataset has not"
    expect_exit 5 "$dstrain" --shards "$scratch/good" --seq 512 "${tiny[@]}"
    expect_words 512 128

    case_begin "a model that does not exist"
    expect_exit 2 "$dstrain" --shards "$scratch/good" --model huge --steps 1 --out "$scratch/run"
    expect_words huge tiny

    case_begin "another program's option"
    expect_exit 2 "$dstrain" --shards "$scratch/good" --max_steps 10
    expect_words --max_steps --steps

    case_begin "a learning rate that is none"
    expect_exit 2 "$dstrain" --shards "$scratch/good" --lr fast "${tiny[@]}"
    expect_words --lr

    case_begin "a run directory of a file"
    expect_exit 2 "$dstrain" --shards "$scratch/good" --model tiny --steps 1 --batch 2 --out "$scratch/file/run"
    expect_words "$scratch/file"
}

make_vocab "$scratch/vocab.txt"
bad_inputs
odd_inputs
malformed_inputs
bad_options
bad_datasets
bad_outputs
bad_names
bad_training
flow_end
