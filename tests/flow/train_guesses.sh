#!/usr/bin/env bash
# dstrain eval --show: samples with the model's guesses. Over all samples they give the accuracy, the most frequent
# piece is the most frequent label, and the pieces are those that dsdata shows.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"

cd "$scratch"
case_begin "every sample of the split"
expect_exit 0 "${train[@]}" --out run --precision fp32
expect_exit 0 "$dstrain" eval run --precision fp32 --show 1000 --json
cp stdout facts.json
for i in 0 7; do
    "$dsdata" show "$data" --seq 32 --split valid --sample $i --json >sample-$i.json
done
python3 - <<'PYTHON' || complain "the guesses are not what they say"
import collections
import json

facts = json.load(open("facts.json"))
shown = facts["shown"]["samples"]
assert [s["sample"] for s in shown] == list(range(facts["samples"])), "not every sample, in order"
labels = collections.Counter(g["label"] for s in shown for g in s["guesses"])
masked = sum(labels.values())
assert masked == sum(s["masked"] for s in shown) and masked > 100
right = sum(s["right"] for s in shown)
assert right == sum(g["id"] == g["label"] for s in shown for g in s["guesses"])
# Computed with other rows, logits may differ in the last bit, so the largest may be another one.
assert abs(right - facts["mlm_accuracy"] * masked) < 1.5, (right, facts["mlm_accuracy"], masked)
commonest = facts["shown"]["commonest"]["id"]
assert labels[commonest] == max(labels.values()) == sum(s["commonest_right"] for s in shown)
assert len({g["id"] for s in shown for g in s["guesses"]}) > 1, "one guess everywhere"
for i in 0, 7:
    told, seen = json.load(open(f"sample-{i}.json"))["tokens"], shown[i]
    assert seen["pieces"] == [t.get("label_piece", t["piece"]) for t in told], i
    assert [(g["position"], g["label"]) for g in seen["guesses"]] == \
        [(t["position"], t["label"]) for t in told if "label" in t], i
PYTHON

case_begin "some of them, for people"
expect_exit 0 "$dstrain" eval run --precision fp32 --show 3
grep -q "accuracy mlm" stdout || complain "no accuracy"
expect_equal "samples" "$(grep -c '^sample ' stdout)" 3
expect_equal "rows" "$(grep -cE '^  (model|always) +[0-9]+ of [0-9]+ ' stdout)" 6
grep -q '\[[a-z]*≠[a-z]*\]' stdout || complain "no wrong guess of an untrained model"
if grep -q "$(printf '\033')" stdout; then complain "colours in a file"; fi
expect_exit 2 "$dstrain" eval run --show 1001
expect_exit 2 "$dstrain" train --show 3
expect_exit 0 "$dstrain" eval run
expect_equal "lines without --show" "$(grep -c '^valid  ' stdout) of $(wc -l <stdout)" "1 of 1"
flow_end
