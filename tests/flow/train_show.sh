#!/usr/bin/env bash
# dstrain show: a dozen lines with the same facts as --json, for a run, a checkpoint and a Hugging Face directory.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"

cd "$scratch"
# line NAME: prints what follows this name on the screen.
line() {
    sed -n "s/^$1  *//p" stdout
}

case_begin "a run that was stopped"
expect_exit 75 "${train[@]}" --out run --stop-after 2
expect_exit 0 "$dstrain" show run --json
cp stdout facts.json
expect_exit 0 "$dstrain" show run
next=$(sed -n 's/^next  *//p' stderr)
expect_equal "lines" "$(($(wc -l <stdout) <= 12))" 1
steps=$(json facts.json 'o["identity"]["steps"]')
expect_equal "progress" "$(line progress)" "step 2 of $steps, $((200 / steps)) %"
expect_equal "saved" "$(line saved)" "step-00000002, the last of 1 checkpoint"
expect_equal "loss" "$(line train | cut -d' ' -f2)" "$(json facts.json '"%.3f" % o["train"]["loss"]')"
expect_equal "root" "$(line data | grep -c "$(root_hash "$data")")" 1

case_begin "a finished run, its checkpoint, and an exported model"
expect_exit 0 env PATH="$build:$PATH" bash -c "$next" # the command that continues a run, without --stop-after
expect_words "run  (continues at step 2)" "dstrain report run" "dstrain export run"
expect_exit 0 "$dstrain" show run
expect_equal "progress" "$(line progress)" "step $steps of $steps, 100 %, finished"
line speed | grep -q "in 2 starts" || complain "not two starts"
line valid | grep -q "accuracy mlm" || complain "no held-out accuracy"
largest=$(python3 -c '
import json
lines = [json.loads(line) for line in open("run/metrics.jsonl")]
print(max((line["grad_norm"], line["step"]) for line in lines if line.get("grad_norm"))[1])')
expect_exit 0 "$dstrain" show "run/checkpoints/$(cat run/latest)" --json
expect_equal "step of the largest norm" "$(json stdout 'o["largest_grad_norm_step"]')" "$largest"
expect_equal "tokens are not samples" "$(json stdout '8 * o["samples"] < o["tokens"] <= 32 * o["samples"]')" True
expect_exit 0 "$dstrain" show "run/checkpoints/$(cat run/latest)"
expect_equal "progress of the checkpoint" "$(line progress)" "step $steps of $steps, 100 %"
expect_words "dstrain export run/checkpoints/"
expect_exit 0 "$dstrain" export run --out model
expect_exit 0 "$dstrain" show model
expect_words "dstrain --shards DATASET --init model"
expect_equal "lines about a model" "$(wc -l <stdout)" 3
expect_equal "tokenizer" "$(line tokenizer)" \
    "WordPiece, $(json model/config.json 'o["vocab_size"]') pieces, uncased, accents stripped"

case_begin "several: their differences, those of --json in a table"
expect_exit 0 "${train[@]}" --out other -q --lr 2e-3 --seed 7 --keep-last 2
expect_exit 0 "$dstrain" show run other --json
expect_equal "different" "$(json stdout 'o["same"], [(d["of"], d["name"], d["a"], d["b"]) for d in o["differences"]
    if d["of"] in ("recipe", "model", "option")]')" \
    "(False, [('recipe', 'seed', 42, 7), ('recipe', 'lr', 0.001, 0.002), ('option', 'keep-last', '3', '2')])"
json stdout '"\n".join(d["of"] + " " + d["name"] for d in o["differences"])' | tee rows |
    grep -qx "valid mlm_accuracy" || complain "no results"
expect_exit 0 "$dstrain" show run other
expect_equal "head" "$(head -2 stdout | tr -s ' ' | tr '\n' ' ')" "A run B other "
expect_equal "rows of the table" "$(tail -n +4 stdout | tr -s ' ' | cut -d' ' -f1,2)" "$(cat rows)"
tail -n +4 stdout | tr -s ' ' | grep -qx "recipe lr 0.001 0.002" || complain "no rates"
cp -r run same
expect_exit 0 "$dstrain" show run same "run/checkpoints/$(cat run/latest)" --json
expect_equal "equal" "$(json stdout 'o["same"], o["differences"]')" "(True, [])"
expect_exit 0 "$dstrain" show run same
expect_equal "same" "$(line same)" "data, model and recipe are equal"
expect_exit 0 "$dstrain" show model run
expect_equal "a model and its run" "$(line same)" "shape and tokenizer are equal; weights are not compared"
sed 's/"hidden_act": "[a-z_]*"/"hidden_act": "gelu"/' model/config.json >config.json && mv config.json model/
expect_exit 0 "$dstrain" show model run --json
expect_equal "another model" "$(json stdout 'o["same"], [d["name"] for d in o["differences"]]')" \
    "(False, ['activation'])"
expect_exit 2 "$dstrain" show run nowhere
expect_words nowhere
expect_exit 2 "$dstrain" show run run run run run run run run run

case_begin "a damaged record"
echo '{"identity": 3' >run/run.json
expect_exit 4 "$dstrain" show run
expect_words run.json
flow_end
