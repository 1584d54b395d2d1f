#!/usr/bin/env bash
# dstrain score: sums over masked pieces equal those of a simple BERT in Python; shares by label; wrong use is refused.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"

cd "$scratch"
PYTHONPATH=$project/tests/flow/reference
export PYTHONPATH PYTHONDONTWRITEBYTECODE=1

cat >pairs.jsonl <<'PAIRS'
{"good": "the river flows under a hill .", "bad": "river the under flows a hill .", "paradigm": "order", "phenomenon": "word order"}
{"good": "a town is old .", "bad": "a town is old .", "paradigm": "tie"}
{"bad": "and and", "good": "the stone stands near the small house .", "paradigm": "order", "phenomenon": "word order"}

{"good": "water .", "bad": "water of of of of of of of of of of of"}
{"good": "is was", "bad": "the old hill was large and new .", "paradigm": "length", "phenomenon": "word order"}
PAIRS
sed -i 's/house/town/' pairs.jsonl

case_begin "sums and shares"
expect_exit 0 "${train[@]}" --out run
expect_exit 0 "$dstrain" export run --out hf
expect_exit 0 "$dstrain" score run pairs.jsonl --json --details details
cp "$scratch/stdout" said.json
python3 - <<'PYTHON' >"$scratch/said" 2>&1 || complain "$(cat "$scratch/said")"
import json, math
from bert import Bert

bert, mask = Bert("hf"), Bert("hf").pieces.index("[MASK]")

def score(text):
    ids = bert.ids(text)
    return sum(math.log(bert.probabilities(ids[:i] + [mask] + ids[i + 1:])[i][ids[i]]) for i in range(1, len(ids) - 1))

pairs = [json.loads(line) for line in open("pairs.jsonl") if line.strip()]
details = [json.loads(line) for line in open("details")]
said = json.load(open("said.json"))
groups = {"paradigm": {}, "phenomenon": {}}
for pair, scores in zip(pairs, details, strict=True):
    for key in ("good", "bad"):
        assert abs(score(pair[key]) - scores[key]) < 1e-4, (pair[key], score(pair[key]), scores)
    pair["right"] = scores["good"] > scores["bad"]
    for key, group in groups.items():
        if key in pair:
            group.setdefault(pair[key], []).append(pair["right"])
assert not pairs[1]["right"], "a tie counts as right"
assert said["pairs"] == 5 and abs(said["accuracy"] - sum(pair["right"] for pair in pairs) / 5) < 1e-12, said
for key, group in groups.items():
    shares = {name: sum(right) / len(right) for name, right in group.items()}
    assert said["by_" + key].keys() == shares.keys(), said
    assert all(abs(said["by_" + key][name] - shares[name]) < 1e-12 for name in shares), (said, shares)
PYTHON

case_begin "of an exported model, by standard input, the first pairs alone; other micro-batches"
expect_exit 0 "$dstrain" score hf pairs.jsonl --json --details again --threads 2
cmp -s details again || complain "the exported model scores otherwise"
"$dstrain" score hf - --details some --limit 2 <pairs.jsonl >"$scratch/stdout" 2>"$scratch/stderr" || complain "exit $?"
head -2 details | cmp -s - some || complain "the first two pairs score otherwise"
for _ in {1..40}; do cat pairs.jsonl; done >many.jsonl
expect_exit 0 "$dstrain" score hf many.jsonl --details many
tail -5 many | cmp -s - details || complain "pairs among many score otherwise"
expect_equal "pairs" "$(wc -l <many)" 200
grep -qE '^order +80 ' "$scratch/stdout" || complain "the table lacks a paradigm"
"$dstrain" score hf pairs.jsonl >"$scratch/both" 2>&1 || complain "exit $?"
expect_equal "the end of both streams" "$(tail -2 both | cut -d' ' -f1 | tr '\n' ' ')" "done next "
grep -qE '^all +200 ' "$scratch/stdout" || complain "the table lacks the sum"

case_begin "after a UTF-8 mark"
{ printf '\357\273\277'; cat pairs.jsonl; } >marked.jsonl
expect_exit 0 "$dstrain" score hf marked.jsonl --details again
cmp -s details again || complain "pairs after a mark score otherwise"

case_begin "packed by bzip2"
python3 - <<'PYTHON'
import bz2

text = open("pairs.jsonl", "rb").read()
packed = bz2.compress(text[:300]) + bz2.compress(text[300:], 1)
open("pairs.jsonl.bz2", "wb").write(packed)
open("short.jsonl.bz2", "wb").write(packed[:-20])
open("damaged.jsonl.bz2", "wb").write(packed[:100] + bytes([packed[100] ^ 4]) + packed[101:])
open("bomb.jsonl.bz2", "wb").write(bz2.compress(b" " * 45_000_000) * 50)
blanks = bz2.compress(b" " * 1_000_000 + b"\n")
open("far.jsonl.bz2", "wb").write(bz2.compress(text) + blanks * 50 + b"what no one reads")
PYTHON
expect_exit 0 "$dstrain" score hf pairs.jsonl.bz2 --details unpacked
cmp -s details unpacked || complain "pairs that were packed score otherwise"
"$dstrain" score hf - --details unpacked <pairs.jsonl.bz2 >"$scratch/stdout" 2>"$scratch/stderr" || complain "exit $?"
cmp -s details unpacked || complain "pairs that were packed score otherwise from standard input"
expect_exit 3 "$dstrain" score hf short.jsonl.bz2
expect_words "short.jsonl.bz2" "byte" "truncated"
expect_exit 3 "$dstrain" score hf damaged.jsonl.bz2
expect_words "damaged.jsonl.bz2" "byte" "block" "bzcat"
expect_exit 6 "$dstrain" score hf bomb.jsonl.bz2
expect_words "bomb.jsonl.bz2: byte 0: line 1 is longer than 1048576 bytes"
expect_exit 0 "$dstrain" score hf far.jsonl.bz2 --details some --limit 2 # nothing after the second pair is read
head -2 details | cmp -s - some || complain "the first two pairs of a long file score otherwise"
expect_exit 3 "$dstrain" score hf far.jsonl.bz2
expect_words "far.jsonl.bz2" "neither a bzip2 stream nor the end of the file"

case_begin "what is refused"
refused() { # EXIT LINE WORD…
    local code=$1
    echo "$2" >bad.jsonl
    shift 2
    expect_exit "$code" "$dstrain" score hf bad.jsonl --details nothing
    expect_words "bad.jsonl" "$@"
    expect_absent nothing .
}
refused 3 'the river' "line 1" "JSON"
refused 3 '{"good": "a"}' "line 1" '"bad" is missing'
refused 3 '{"good": "a \ud800", "bad": "b"}' "byte" "line 1 is not JSON" "invalid Unicode"
refused 3 '{"good": "a", "bad": "b", "paradigm": 7}' "line 1" '"paradigm" is not a string'
refused 3 "{\"good\": \"a\", \"bad\": \"b\", \"paradigm\": \"$(printf '%0300d' 0)\"}" "line 1" "longer than 256 bytes"
refused 3 '{"good": "a", "bad": 7}' "line 1" '"bad" is not a string'
refused 3 '{"good": " ", "bad": "a"}' "line 1" '"good" has no words'
refused 3 '' "no pairs"
refused 5 "{\"good\": \"a\", \"bad\": \"$(yes a | head -63 | tr '\n' ' ')\"}" "line 1" "65 pieces" "64 positions"
for i in {1..4097}; do echo "{\"good\": \"a\", \"bad\": \"b\", \"phenomenon\": \"$i\"}"; done >labels.jsonl
expect_exit 6 "$dstrain" score hf labels.jsonl
expect_words "line 4097: more than 4096 different \"phenomenon\""
for tool in gzip zstd xz; do
    command -v $tool >/dev/null || continue
    $tool -c pairs.jsonl >packed
    expect_exit 0 "$dstrain" score hf packed --json --details packed.details
    expect_exit 0 "$dstrain" score hf pairs.jsonl --json --details plain.details
    cmp -s packed.details plain.details || complain "$tool: other scores"
    head -c 60 packed >damaged
    expect_exit 3 "$dstrain" score hf damaged
    expect_words "damaged: is damaged: $tool cannot unpack it"
    expect_exit 6 env PATH=/nowhere "$dstrain" score hf packed
    expect_words "needs the program $tool"
    rm packed.details plain.details
done
# shellcheck disable=SC2016 # the variable is for the inner shell
expect_exit 6 bash -c 'gzip -c pairs.jsonl | "$1" score hf -' sh "$dstrain"
expect_words "zcat"
cp pairs.jsonl kept.jsonl
ln pairs.jsonl linked.jsonl
expect_exit 2 "$dstrain" score hf pairs.jsonl --details linked.jsonl
expect_words "linked.jsonl: is read by this command" "--details"
cmp -s pairs.jsonl kept.jsonl || complain "the pairs are replaced by their scores"
expect_exit 2 "$dstrain" score hf nowhere.jsonl
expect_exit 2 "$dstrain" score hf
expect_exit 2 "$dstrain" score hf pairs.jsonl --top 3

flow_end
