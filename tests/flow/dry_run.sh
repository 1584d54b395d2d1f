#!/usr/bin/env bash
# A dry run fails where the build does, and its sizes are near those of the build; nothing is written.
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"

# near FEWEST MOST WORDS…: samples and bytes of the dry run are FEWEST to MOST percent of those of the build.
near() {
    local fewest=$1 most=$2
    shift 2
    case_begin "the sizes of $*"
    rm -rf "$scratch/out"
    expect_exit 0 "$dsdata" build "$@" --out "$scratch/out" --dry-run --json
    expect_absent '*' "$scratch/out"
    cp "$scratch/stdout" "$scratch/plan.json"
    expect_exit 0 "$dsdata" build "$@" --out "$scratch/out" --json
    cp "$scratch/stdout" "$scratch/made.json"
    expect_exit 0 python3 "$scratch/near.py" "$fewest" "$most" "$scratch/plan.json" "$scratch/made.json" \
        "$scratch/out/vocab.txt"
}

cat >"$scratch/near.py" <<'PYTHON'
import json, os, sys

fewest, most = int(sys.argv[1]), int(sys.argv[2])
plan, made = (json.load(open(name)) for name in sys.argv[3:5])
pairs = [("bytes", plan["dataset_bytes"], sum(n["bytes"] for n in made["lengths"]) + os.path.getsize(sys.argv[5]))]
for row in plan["lengths"]:
    pairs.append((row["seq"], row["samples"], sum(n["samples"] for n in made["lengths"] if n["seq"] == row["seq"])))
for name, planned, is_ in pairs:
    assert fewest * is_ <= 100 * planned <= most * is_, f"{name}: {planned} planned, {is_} made"
PYTHON

# as_the_build EXIT WORDS…: the dry run ends with the exit code and the message of the build.
as_the_build() {
    local code=$1
    shift
    case_begin "refused: $*"
    rm -rf "$scratch/out"
    expect_exit "$code" "$dsdata" build "$@" --out "$scratch/out"
    grep '^dsdata:' "$scratch/stderr" >"$scratch/message" || complain "no message"
    rm -rf "$scratch/out"
    expect_exit "$code" "$dsdata" build "$@" --out "$scratch/out" --dry-run
    expect_equal "message" "$(grep '^dsdata:' "$scratch/stderr")" "$(cat "$scratch/message")"
    expect_absent '*' "$scratch/out"
}

small=(--vocab-size 500)
python3 - "$scratch" <<'PYTHON'
import json, sys

nouns = "harbour lamp rope letter soup winter ledger island ferry stone garden clerk window horse bell".split()
sentence = lambda i: (f"The {nouns[i * 7 % 15]} of {i % 977} was a {nouns[i % 13]}, and nobody asked for its "
                      f"{nouns[i % 11]}.")
with open(sys.argv[1] + "/lines.jsonl", "w") as jsonl, open(sys.argv[1] + "/sentences.txt", "w") as text:
    for i in range(1500):
        document = [sentence(i * 31 + k) for k in range(i * i % 60 + 1)]
        jsonl.write(json.dumps({"id": i, "text": " ".join(document), "n": i}) + "\n")
        text.write("\n".join(document) + "\n\n")
with open(sys.argv[1] + "/large.txt", "w") as large: # larger than what a dry run reads whole
    for i in range(20000):
        large.write("\n".join(sentence(i * 31 + k) for k in range(i * i % 60 + 1)) + "\n\n")
PYTHON
gzip -k "$scratch/lines.jsonl"
gzip -k1 "$scratch/large.txt"

near 99 101 "$scratch/lines.jsonl" "${small[@]}"
near 99 101 "$scratch/lines.jsonl.gz" "${small[@]}" --pairs none --pack --copies 2
near 99 101 "$scratch/sentences.txt" "${small[@]}" --text-form file
near 99 101 "$samples" "${small[@]}" --templates none
near 99 101 "$samples" "$scratch/lines.jsonl" --text "$scratch/sentences.txt" "${small[@]}" --templates none
near 80 120 "$scratch/large.txt" "${small[@]}" --seq 128
near 80 120 "$scratch/large.txt.gz" "${small[@]}" --seq 128
near 99 101 "$scratch/large.txt" "${small[@]}" --limit 300
near 80 120 "$scratch/large.txt" "${small[@]}" --limit 19000 --seq 128

as_the_build 3 "$scratch/lines.jsonl" "${small[@]}" --text-key body
as_the_build 3 "$scratch/sentences.txt" "${small[@]}" --min-words 100000
head -c 20000 "$scratch/lines.jsonl.gz" >"$scratch/cut.jsonl.gz"
as_the_build 3 "$scratch/cut.jsonl.gz" "${small[@]}"
as_the_build 2 "$scratch/lines.jsonl" --vocab-size 300 --unused 400
: >"$scratch/empty.txt"
as_the_build 3 "$scratch/empty.txt" "$scratch/empty.txt" "${small[@]}"

case_begin "the screen"
expect_exit 0 "$dsdata" build "$scratch/lines.jsonl" "${small[@]}" --out "$scratch/out" --dry-run
expect_words "seq128" "samples" "nothing is written"
expect_absent '*' "$scratch/out"
flow_end
