#!/usr/bin/env bash
# Inputs compressed with gzip, Zstandard or xz: the dataset of the plain file, from files and from a pipe, for any
# number of threads and after any interruption; damage and truncation are reported.
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"
needs_faults

for tool in gzip zstd xz; do
    command -v $tool >/dev/null || { echo "$tool is not installed: skipped"; exit 77; }
done

bzip2 -dc "$samples" >"$scratch/wiki.xml"
"$dsdata" extract "$samples" 2>/dev/null >"$scratch/lines.jsonl"
half=$(($(wc -c <"$scratch/wiki.xml") / 2))

# pack TOOL FILE: writes FILE.EXTENSION, of two units.
pack() {
    local extension=$1
    case $1 in gzip) extension=gz ;; zstd) extension=zst ;; esac
    packed=$2.$extension
    { head -c $half "$2" | "$1" -qc; tail -c +$((half + 1)) "$2" | "$1" -qc; } >"$packed"
}

options=(--vocab-size 500 --seq 64 --valid 0.1)
for file in wiki.xml lines.jsonl; do
    case_begin "$file, plain"
    expect_exit 0 "$dsdata" build "$scratch/$file" "${options[@]}" --out "$scratch/plain"
    cp "$scratch/plain/vocab.txt" "$scratch/vocab.txt"
    for tool in gzip zstd xz; do
        case_begin "$file, $tool"
        pack $tool "$scratch/$file"
        expect_exit 0 "$dsdata" build "$packed" "${options[@]}" --threads 3 --out "$scratch/learned"
        diff -rq -x build.json "$scratch/plain" "$scratch/learned" >"$scratch/stdout" || complain "other bytes"
        rm -rf "$scratch/learned"
    done
    case_begin "$file, from a pipe"
    # shellcheck disable=SC2016  # expanded by the inner shell
    expect_exit 0 bash -c 'cat "$1" | "$2" build - --vocab "$3" --seq 64 --valid 0.1 --out "$4"' - "$packed" \
        "$dsdata" "$scratch/vocab.txt" "$scratch/piped"
    expect_exit 0 "$dsdata" build "$scratch/$file" --vocab "$scratch/vocab.txt" --seq 64 --valid 0.1 \
        --out "$scratch/given"
    cmp "$scratch"/piped/seq64/train-*.dss "$scratch"/given/seq64/train-*.dss || complain "other samples from a pipe"
    rm -rf "$scratch/plain" "$scratch/piped" "$scratch/given"
done

case_begin "the same vocabulary"
pack gzip "$scratch/lines.jsonl"
expect_exit 0 "$dsdata" vocab "$packed" --vocab-size 400
cp "$scratch/stdout" "$scratch/vocab-packed"
expect_exit 0 "$dsdata" vocab "$scratch/lines.jsonl" --vocab-size 400
cmp "$scratch/stdout" "$scratch/vocab-packed" || complain "another vocabulary"

case_begin "the name without its extensions"
cp "$packed" "$scratch/named.jsonl.gz"
(cd "$scratch" && expect_exit 0 "$dsdata" build named.jsonl.gz "${options[@]}")
[ -f "$scratch/named/manifest.json" ] || complain "no dataset under the input's stem"

case_begin "cut off"
head -c $(($(wc -c <"$packed") - 1000)) "$packed" >"$scratch/short.jsonl.gz"
expect_exit 3 "$dsdata" build "$scratch/short.jsonl.gz" "${options[@]}" --out "$scratch/short"
expect_words short.jsonl.gz truncated byte --salvage
expect_exit 0 "$dsdata" build "$scratch/short.jsonl.gz" "${options[@]}" --salvage --out "$scratch/short-salvaged"
expect_words "damage     1 place"

case_begin "killed in the second window: it is decoded again up to there, and that is said"
for copy in 1 2 3 4 5 6 7 8 9; do
    sed "s/\"id\": *[0-9]*/&$copy/" "$scratch/lines.jsonl"
done | tee "$scratch/nine" "$scratch/nine.2" "$scratch/nine.3" >/dev/null
for _ in 1 2 3 4; do cat "$scratch/nine" "$scratch/nine.2" "$scratch/nine.3"; done | gzip -c1 \
    >"$scratch/long.jsonl.gz" # four windows of 4 MiB
export DS_JOURNAL_EVERY=window
command_line=(build "$scratch/long.jsonl.gz" --vocab "$scratch/vocab.txt" --seq 64 --valid 0.1)
expect_exit 0 "$dsdata" "${command_line[@]}" --threads 1 --out "$scratch/whole"
said=no
for n in 60 90 120 150; do
    rm -rf "$scratch/killed"
    DS_FAIL_FILE=$n:kill "$dsdata" "${command_line[@]}" --out "$scratch/killed" >/dev/null 2>&1 || true
    expect_exit 0 "$dsdata" "${command_line[@]}" --out "$scratch/killed"
    diff -rq -x build.json "$scratch/whole" "$scratch/killed" >"$scratch/stdout" || complain "other bytes, killed at $n"
    grep -q "is decoded again" "$scratch/stderr" && { said=yes; break; }
done
expect_equal "said" $said yes

flow_end
