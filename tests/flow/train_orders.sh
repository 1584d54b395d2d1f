#!/usr/bin/env bash
# Models other than plain BERT: norms before the branches, layer drop, recomputed activations; their runs are stopped,
# resumed, exported and imported.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"

cd "$scratch"
python3 - <<'PYTHON'
import json

config = json.load(open("model.json")) | {"num_hidden_layers": 5}
json.dump(config | {"pre_layer_norm": True}, open("pre.json", "w"))
json.dump(config | {"layer_norm_large_model": True, "initializer": "truncated_normal"}, open("large.json", "w"))
json.dump({"progressive_layer_drop": {"enabled": True, "theta": 0.3, "gamma": 1},
           "optimizer": {"type": "Adam", "params": {"lr": 0.001}},
           "activation_checkpointing": {"number_checkpoints": 3}}, open("drop.json", "w"))
PYTHON
pre=("$dstrain" --shards "$data" --model pre.json --steps 12 --batch 8 --log-every 1 --threads 1)
drops=(--set progressive_layer_drop.enabled=true progressive_layer_drop.theta=0.3 progressive_layer_drop.gamma=1)
three=(--set activation_checkpointing.number_checkpoints=3)

runs() {
    case_begin "layers drop, and a run of them resumes to the bit"
    expect_exit 0 "${pre[@]}" "${drops[@]}" --out whole
    expect_words "layers     dropped at random" "falls to 0.3"
    expect_words preln "12 steps"
    expect_exit 75 "${pre[@]}" "${drops[@]}" --out parts --stop-after 5
    expect_exit 0 "${pre[@]}" "${drops[@]}" "${three[@]}" --out parts --threads 2
    expect_same_checkpoint "stopped, then recomputed by two threads" whole parts
    expect_exit 0 "${pre[@]}" --out all
    expect_exit 0 "${pre[@]}" "${drops[@]}" --pld-compat --out compat
    for other in all compat; do
        cmp -s "whole/$last/model.safetensors" "$other/$last/model.safetensors" && complain "$other is the same run"
    done
    expect_exit 5 "${pre[@]}" --out whole
    expect_words layer_drop_theta

    case_begin "the same through a file"
    expect_exit 75 "${pre[@]}" --config drop.json --out file --stop-after 1
    expect_equal "theta" "$(json file/run.json 'o["identity"]["layer_drop_theta"]')" 0.3

    case_begin "recomputation takes less memory"
    expect_exit 75 "${pre[@]}" --out kept --stop-after 1
    local kept less
    kept=$(grep -o 'memory .*' "$scratch/stderr")
    expect_exit 75 "${pre[@]}" "${three[@]}" --out less --stop-after 1
    less=$(grep -o 'memory .*' "$scratch/stderr")
    [ "$kept" != "$less" ] || complain "both take $kept"
    cmp -s kept/checkpoints/step-00000001/model.safetensors less/checkpoints/step-00000001/model.safetensors ||
        complain "recomputation changed the weights"
}

out_and_in() {
    case_begin "out and in again"
    expect_exit 0 "${pre[@]}" --model large.json --out large
    expect_exit 0 "$dstrain" export large --out out-large
    expect_words "transformers has no model" "--init out-large"
    for order in pre large; do
        local from=$order
        [ $order = pre ] && from=whole
        expect_equal "model_type" "$(json "$from/$last/config.json" 'o["model_type"]')" dstrain-bert
        expect_exit 0 "$dstrain" --shards "$data" --init "$from" --steps 1 --batch 4 --lr 0 --out "again-$order"
        cmp -s "$from/$last/model.safetensors" "again-$order/checkpoints/step-00000001/model.safetensors" ||
            complain "the weights of $order changed"
    done
    expect_equal "initializer" "$(json out-large/config.json 'o["initializer"]')" truncated_normal
    expect_exit 0 "$dstrain" --shards "$data" --init out-large --steps 1 --batch 4 --stop-after 1

    case_begin "norms before the branches go out as transformers' RobertaPreLayerNorm"
    expect_exit 0 "$dstrain" export whole --out out-pre
    expect_words RobertaPreLayerNorm "erf-GELU" pipeline
    expect_equal "config" "$(json out-pre/config.json 'o["model_type"], o["max_position_embeddings"]')" \
        "('roberta-prelayernorm', 65)"
    python3 - out-pre/model.safetensors "whole/$last/model.safetensors" <<'PYTHON' || complain "the tensors are wrong"
import json, struct, sys


def tensors(name):
    data = open(name, "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    return {key: (value["shape"], data[8 + size + value["data_offsets"][0]:8 + size + value["data_offsets"][1]])
            for key, value in header.items() if key != "__metadata__"}


out, run = (tensors(name) for name in sys.argv[1:])
assert all(name.split(".")[0] in ("roberta_prelayernorm", "lm_head") for name in out) and len(out) == len(run) - 4
assert out["lm_head.layer_norm.bias"] == run["cls.predictions.transform.LayerNorm.bias"]
assert out["roberta_prelayernorm.LayerNorm.weight"] == run["bert.encoder.FinalLayerNorm.weight"]
assert (out["roberta_prelayernorm.encoder.layer.1.intermediate.LayerNorm.bias"] ==
        run["bert.encoder.layer.1.PostAttentionLayerNorm.bias"])
positions = "embeddings.position_embeddings.weight"
assert out["roberta_prelayernorm." + positions] == ([65, 32], bytes(32 * 4) + run["bert." + positions][1])
PYTHON

    case_begin "and come in again"
    expect_exit 0 "$dstrain" --shards "$data" --init out-pre --steps 1 --batch 4 --lr 0 --out again-roberta
    expect_words "drawn by seed: bert.pooler.dense.weight"
    python3 - {whole,again-roberta}/checkpoints/*/model.safetensors <<'PYTHON' || complain "the weights changed"
import json, struct, sys


def tensors(name):
    data = open(name, "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    return {key: data[8 + size + value["data_offsets"][0]:8 + size + value["data_offsets"][1]]
            for key, value in json.loads(data[8:8 + size]).items()
            if key != "__metadata__" and "seq_rel" not in key and "pooler" not in key}


whole, again = tensors(sys.argv[-2]), tensors(sys.argv[-1])
assert whole == again, [key for key in whole if whole[key] != again.get(key)]
PYTHON
    cmp -s <(json again-roberta/checkpoints/step-00000001/config.json o) <(json "whole/$last/config.json" o) ||
        complain "the config changed"
    expect_exit 0 "$dstrain" export out-pre --out out-again
    cmp -s out-pre/model.safetensors out-again/model.safetensors || complain "out again: other tensors"
    cmp -s <(json out-pre/config.json o) <(json out-again/config.json o) || complain "out again: another config"
    sed 's/"pad_token_id": 0/"pad_token_id": 64/' out-pre/config.json >narrow.json
    cp narrow.json out-pre/config.json
    expect_exit 6 "$dstrain" --shards "$data" --init out-pre --steps 1
    expect_words pad_token_id
}

# tuned_again HEAD CLASS: the tuned run of that name goes out as that class, and comes in with its head.
tuned_again() {
    expect_exit 0 "$dstrain" export "$1" --out "$1-out"
    grep -q "transformers has no model" "$scratch/stderr" "$1-out/README.md" && complain "it is said not to load"
    expect_equal "class" "$(json "$1-out/config.json" 'o["model_type"], o["architectures"]')" \
        "('roberta-prelayernorm', ['$2'])"
    expect_exit 0 "$dstrain" export "$1-out" --out "$1-out-again"
    cmp -s "$1-out/model.safetensors" "$1-out-again/model.safetensors" || complain "out again: other tensors"
}

tuned() {
    case_begin "tuned models with norms before the branches"
    mkdir -p glue/SST-2
    printf 'sentence\tlabel\nthe hill\t1\nthe old town\t0\n' | tee glue/SST-2/train.tsv >glue/SST-2/dev.tsv
    echo '{"data": [{"paragraphs": [{"context": "the old town stands near the river", "qas": [{"id": "q",
        "question": "what?", "answers": [{"text": "old town", "answer_start": 4}]}]}]}]}' >q.json
    local class=("$dstrain" glue sst-2 --data glue --seq 32 --batch 2 --threads 1)
    local span=("$dstrain" squad --dev q.json --seq 32 --max-query 8 --batch 2 --threads 1)
    expect_exit 0 "${class[@]}" --init whole --steps 3 --lr 1e-2 --out class
    tuned_again class RobertaPreLayerNormForSequenceClassification
    expect_exit 0 "${class[@]}" --init class-out --steps 1 --lr 0 --out class-again
    grep -q "drawn by seed" "$scratch/stderr" && complain "the head is drawn again"
    expect_equal "loss" "$(json class-again/scores.json 'o["eval_loss"]')" "$(json class/scores.json 'o["eval_loss"]')"
    expect_exit 0 "${span[@]}" --init whole --train q.json --steps 3 --lr 1e-2 --out span
    tuned_again span RobertaPreLayerNormForQuestionAnswering
    expect_exit 0 "${span[@]}" --init span-out --out span-again
    cmp -s span/nbest_predictions.json span-again/nbest_predictions.json || complain "other answers"
}

wrong() {
    case_begin "what does not go together"
    expect_exit 2 "${train[@]}" "${drops[@]}"
    expect_words pre_layer_norm
    expect_exit 2 "${pre[@]}" --model large.json "${drops[@]}"
    expect_exit 2 "${pre[@]}" --pld-compat
    expect_words progressive_layer_drop.enabled
    expect_exit 2 "${pre[@]}" --set progressive_layer_drop.enabled=true progressive_layer_drop.theta=1.5
    expect_exit 2 "${pre[@]}" --set progressive_layer_drop.thetta=0.5
    expect_words progressive_layer_drop.theta
    expect_exit 2 "${pre[@]}" --set activation_checkpointing.number_checkpoints=0
    sed 's/"pre_layer_norm": true/"pre_layer_norm": "yes"/' pre.json >bad.json
    expect_exit 6 "${pre[@]}" --model bad.json
    expect_words pre_layer_norm
}

runs
out_and_in
tuned
wrong
flow_end
