#!/usr/bin/env bash
# Samples of 8,192 tokens, from dsdata to dstrain, and a training in phases: a model that begins with short samples goes
# on with long ones and another base of its rotary positions.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"
cd "$scratch"

case_begin "samples of up to 8,192 tokens"
python3 - <<'PYTHON'
import json

words = "the a river water stone hill town old new small large flows stands near over under of and in is was".split()
model = {"model_type": "modernbert", "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
         "intermediate_size": 16, "max_position_embeddings": 8192, "global_attn_every_n_layers": 2,
         "local_attention": 16, "rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 10000},
                                                    "sliding_attention": {"rope_type": "default", "rope_theta": 10000}}}
json.dump(model, open("modern.json", "w"))
with open("long.jsonl", "w") as out:
    for number, size in enumerate([20000, 9000, 300, 8190, 8191, 40] + [100] * 20):
        text = " ".join(words[(i * i + 7 * number) % 23 % len(words)] for i in range(size))
        print(json.dumps({"id": number + 1, "text": text}), file=out)
PYTHON
expect_exit 0 "$dsdata" build -q --jsonl long.jsonl --vocab vocab.txt --seq 64,8192 --pairs none --out long.ds
expect_exit 0 "$dsdata" verify long.ds
expect_equal "the layout is the old one" "$(json long.ds/manifest.json 'o["format_version"]')" 1
# Every word is in a sample, and a segment ends with its document: 8,190 tokens fit between [CLS] and [SEP].
lengths=$(for ((i = 0; i < 30; i++)); do
    "$dsdata" show long.ds --seq 8192 --sample $i --json 2>"$scratch/stderr"
done |
    python3 -c 'import json, sys; print(*sorted(len(json.loads(line)["tokens"]) - 2 for line in sys.stdin))')
expect_equal "lengths of segments" "$lengths" \
    "40 $(printf '100 %.0s' {1..20})300 810 3620 3886 4305 8190 8190 8190 8190"
expect_exit 0 "$dsdata" export long.ds --seq 8192 --format tfrecord --out long.tfrecord
expect_exit 2 "$dsdata" build -q --jsonl long.jsonl --vocab vocab.txt --seq 8193 --out longer.ds
expect_words "--seq" 8192

case_begin "a phase with long samples"
first=("$dstrain" --shards long.ds --model modern.json --seq 64 --steps 4 --batch 8 --threads 1 --log-every 1)
expect_exit 0 "${first[@]}" --out short
long=("$dstrain" --shards long.ds --init short --seq 8192 --steps 3 --batch 2 --threads 1 --log-every 1)
long+=(--precision fp32)
expect_exit 0 "${long[@]}" --set rope_theta=160000 --out long
expect_words "batch 2 = 1 × 2" # a micro-batch is one sample, however long it is
thetas='[o["identity"][k] for k in ("global_rope_theta", "local_rope_theta", "seq")]'
expect_equal "recorded" "$(json long/run.json "$thetas")" "[160000.0, 10000.0, 8192]"
expect_equal "of the first phase" "$(json short/run.json "$thetas")" "[10000.0, 10000.0, 64]"
expect_equal "in config.json" "$(json long/checkpoints/step-00000003/config.json \
    '[o["rope_parameters"][k]["rope_theta"] for k in ("full_attention", "sliding_attention")]')" "[160000.0, 10000.0]"
expect_exit 75 "${long[@]}" --set rope_theta=160000 --out long-2 --stop-after 1
expect_exit 5 "${long[@]}" --out long-2
expect_words global_rope_theta
expect_exit 5 "${long[@]}" --set rope_theta=160000 local_rope_theta=160000 --out long-2
expect_words local_rope_theta
expect_exit 0 "${long[@]}" --set rope_theta=160000 --out long-2
last=checkpoints/step-00000003
expect_same_checkpoint "stopped" long long-2
expect_exit 0 "${long[@]}" --out same-theta
cmp -s long/$last/model.safetensors same-theta/$last/model.safetensors && complain "the base changes nothing"
expect_exit 0 "$dstrain" verify long --replay
expect_exit 0 "${long[@]}" --set rope_theta=160000 --out several --processes 2
compared "two processes" 1e-5 long several $last
expect_exit 0 "$dstrain" eval long --json --threads 1 --split train
expect_exit 2 "${train[@]}" --set rope_theta=160000 --out bert
expect_words "rope_theta: the model has no rotary positions"
expect_exit 2 "${first[@]}" --set rope_theta=0 --out zero
expect_words rope_theta
expect_exit 2 "${first[@]}" --set progressive_layer_drop.enabled=true --out drop
expect_words "layer drop would change which layers see whole sequences"
case_begin "a phase with samples longer than the model's: rotary positions need no table"
sed 's/"max_position_embeddings": 8192/"max_position_embeddings": 64/' modern.json >modern-64.json
expect_exit 0 "${first[@]/modern.json/modern-64.json}" --out short-64
expect_exit 5 "${first[@]/modern.json/modern-64.json}" --seq 8192 --out wrong # of a config.json that says 64
expect_words "--seq 8192 is above the model's 64 positions"
expect_exit 0 "$dstrain" export short-64 --out exported-64
expect_equal "the first tokenizer" "$(json exported-64/tokenizer_config.json 'o["model_max_length"]')" 64
longer=("${long[@]/short/exported-64}")
expect_exit 0 "${longer[@]}" --out longer
expect_equal "positions" "$(json longer/run.json 'o["identity"]["positions"], o["identity"]["seq"]')" "(8192, 8192)"
expect_equal "in config.json" "$(json longer/$last/config.json 'o["max_position_embeddings"]')" 8192
expect_exit 75 "${longer[@]}" --out longer-2 --stop-after 1
expect_exit 0 "${longer[@]}" --out longer-2
expect_same_checkpoint "stopped" longer longer-2
expect_exit 0 "$dstrain" verify longer --replay
expect_exit 0 "${longer[@]}" --out longer-3 --processes 2
compared "two processes" 1e-5 longer longer-3 $last
# With as many positions from the start the weights are the same.
sed 's/: 64,/: 8192,/' exported-64/config.json >config.json
cp -r exported-64 exported-8192 && mv config.json exported-8192/config.json
expect_exit 0 "${long[@]/short/exported-8192}" --out as-long
cmp longer/$last/model.safetensors as-long/$last/model.safetensors || complain "other weights"
expect_exit 0 "$dstrain" export longer --out longer-hf
expect_equal "the tokenizer" "$(json longer-hf/tokenizer_config.json 'o["model_max_length"]')" 8192
for ((i = 0; i < 40; i++)); do
    echo "the river flows near the old town and the hill stands over the water,$((i % 2))"
done >rows
(echo text,label && cat rows) >train.csv
tuned=("$dstrain" classify --train train.csv --dev train.csv --steps 2 --threads 1)
expect_exit 0 "${tuned[@]}" --init exported-64 --seq 128 --out classes
expect_equal "of classes" "$(json classes/run.json 'o["identity"]["positions"]')" 128
expect_exit 0 "$dstrain" predict classes train.csv --seq 128 --out answers.csv
expect_exit 0 "${train[@]}" --out bert
expect_exit 5 "${tuned[@]}" --init bert --seq 128 --out wrong
expect_words "--seq 128 is above the model's 64 positions"
expect_exit 5 "$dstrain" --shards "$data" --model modern.json --steps 1 --out pairs
expect_words "knows one segment" "dsdata build --pairs none"
flow_end
