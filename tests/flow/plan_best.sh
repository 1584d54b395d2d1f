#!/usr/bin/env bash
# dstrain plan --best: what it proposes fits the time and follows the rule, its command trains, and options that it
# chooses are refused.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"

cd "$scratch"
"$dsdata" build -q --text text.txt --vocab vocab.txt --seq 32,64 --pairs none --pack --short-seq-prob 0 --valid 0.2 \
    --out packed
plan=("$dstrain" plan --shards packed --threads 1)

case_begin "the proposal"
expect_exit 0 "${plan[@]}" --best 2s --json --price 1/h
expect_words "proposed   modern-" "the best by the rule" "expect     a held-out loss of" "memory" "disk" \
    "cost       about" "next       dstrain --shards packed --threads 1 --seq 64 --model modern-"
cp stdout facts.json
python3 - <<'PYTHON' || complain "the facts do not fit together"
import json

facts = json.load(open("facts.json"))
best = facts["candidates"]
chosen = next(model for model in best if model["model"] == facts["model"])
assert [model["model"] for model in best] == ["modern-micro", "modern-tiny", "modern-mini"][:len(best)]
assert best.index(chosen) >= len(best) - 2 and all(a["mlm_loss"] > b["mlm_loss"] for a, b in zip(best, best[1:-1]))
assert [model["weights"] for model in best] == [208896, 835584, 3342336][:len(best)] # of the rows of docs/RECORDS.md
assert chosen["steps"] == facts["steps"] and chosen["batch"] == facts["batch"] == facts["run"]["batch"]
assert facts["run"]["seq"] == 64
for model in best:
    assert 0 < model["seconds"] and (model["seconds"] <= 2 or model is not chosen) and model["flop"] > 0, model
    assert 0 < model["mlm_loss_low"] < model["mlm_loss"] < model["mlm_loss_high"]
    assert model["limited_by"] in ("time", "epochs") and model["epochs"] <= 40
assert 0.5 * chosen["seconds"] <= facts["seconds"] <= 1.5 * chosen["seconds"], (facts["seconds"], chosen)
assert "--best" not in facts["next"] and "--price" not in facts["next"]
open("command", "w").write(facts["next"])
PYTHON

case_begin "--recipe fast without a model: one of the same models"
expect_exit 0 "${plan[@]}" --recipe fast --seq 64 --time-limit 2s --json
expect_equal "the smallest" "$(json stdout 'o["candidates"][0]["model"], o["batch"], o["run"]["optimizer"]')" \
    "('modern-micro', 16, 'muon')"

case_begin "its command trains"
sed -i "s#^dstrain#$dstrain -q --out run#; s#--steps [0-9]*#--steps 3#" command
expect_exit 0 bash -e command
expect_equal "the run" "$(json run/run.json \
    '[o["identity"].get(k) for k in ("seq", "batch", "schedule", "decay_shape")], o["finished"]')" \
    "([64, $(json facts.json 'o["batch"]'), 'wsd', 'sqrt'], True)"
expect_equal "its rate is that of the rule" "$(json facts.json \
    'abs(o["run"]["lr"] - min(max(0.45 / o["steps"] ** 0.5, 0.004), 0.016)) < 5e-4')" True
expect_equal "it is the one that was planned" "$(json run/run.json 'o["identity"]["lr"], o["identity"]["optimizer"]')" \
    "$(json facts.json 'o["run"]["lr"], o["run"]["optimizer"]')"

case_begin "a long time and few data: forty epochs end it, no large model is proposed, and the rule has no such rows"
expect_exit 0 "${plan[@]}" --best 30d
expect_words "limits: 40 epochs, 30 days" "proposed   modern-micro" "larger     modern-tiny" ", too few for it" \
    "no such training was measured" "take it as a direction"

case_begin "refused"
for time in 0s 5x "" -3s 1h30; do
    expect_exit 2 "${plan[@]}" --best="$time"
    expect_words --best
done
for option in "--model mini" "--steps 5" "--set train_batch_size=4" "--recipe fast" "--seq 64" "--time-limit 1h" \
    "--batch 4" "--lr 1" "--init run"; do
    # shellcheck disable=SC2086 # an option and its value
    expect_exit 2 "${plan[@]}" --best 5s $option
    expect_words "--best chooses how to train" "${option%% *}"
done
"$dsdata" build -q --text text.txt --vocab vocab.txt --seq 32 --valid 0.2 --out short
expect_exit 5 "$dstrain" plan --shards short --best 5s
expect_words "no samples of length 64" "dsdata build --seq"
flow_end
