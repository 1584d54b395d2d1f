#!/usr/bin/env bash
# A training that is stopped, killed, repeated and moved between machines with other vector widths always ends with the
# same bytes; its model is exported and imported.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"
needs_faults

cd "$scratch"
whole=$scratch/whole

straight() {
    case_begin "a run from beginning to end"
    expect_exit 0 "${train[@]}" --out "$whole"
    expect_words "(new)" model device work "12 steps" valid health next "dstrain export $whole"
    expect_equal "latest" "$(cat "$whole/latest")" "step-00000012"
    for file in run.json vocab.txt tokenizer.json metrics.jsonl $last/{config.json,model.safetensors} \
        $last/{optimizer.safetensors,state.json,vocab.txt,tokenizer.json,tokenizer_config.json}; do
        [ -s "$whole/$file" ] || complain "$file is missing"
    done
    cmp -s "$whole/vocab.txt" "$data/vocab.txt" || complain "vocab.txt is not the dataset's"
    expect_absent '*.tmp' "$whole"

    case_begin "metrics"
    python3 - "$whole/metrics.jsonl" <<'PYTHON' || complain "metrics.jsonl is not as promised"
import json, math, sys

lines = [json.loads(line) for line in open(sys.argv[1])]
train = [line for line in lines if "split" not in line]
valid = [line for line in lines if line.get("split") == "valid"]
keys = """step loss mlm_loss nsp_loss mlm_accuracy nsp_accuracy learning_rate grad_norm samples tokens epoch seconds
          sequences_per_second data_wait_seconds loss_scale skipped""".split()
assert [line["step"] for line in train] == list(range(1, 13)) and [line["step"] for line in valid] == [12]
assert all(key in line for line in lines for key in keys)
assert [line["samples"] for line in train] == [8 * step for step in range(1, 13)]
assert abs(train[0]["mlm_loss"] - math.log(27)) < 0.1 and abs(train[0]["nsp_loss"] - math.log(2)) < 0.05
assert abs(train[0]["loss"] - train[0]["mlm_loss"] - train[0]["nsp_loss"]) < 1e-5
q = 5 / 12
assert abs(train[4]["learning_rate"] - 1e-3 * (1 - q) / 0.9) < 1e-9
assert abs(train[0]["learning_rate"] - 1e-3 * (1 / 12) / 0.1) < 1e-9
assert train[-1]["learning_rate"] == 0 and valid[0]["learning_rate"] is None
assert all(a["seconds"] <= b["seconds"] for a, b in zip(train, train[1:]))
PYTHON

    case_begin "a finished run again"
    cp "$whole/run.json" before.json
    expect_exit 0 "${train[@]}" --out "$whole"
    expect_words "is finished"
    cmp -s before.json "$whole/run.json" || complain "run.json was changed"
}

same_metrics() {
    python3 - "$1/metrics.jsonl" "$2/metrics.jsonl" <<'PYTHON' || complain "the metrics of $1 and $2 differ"
import json, sys

def facts(name):
    return [{k: v for k, v in json.loads(line).items() if "second" not in k} for line in open(name)]


assert facts(sys.argv[1]) == facts(sys.argv[2])
PYTHON
}

stopped() {
    case_begin "stopped after 5 steps, twice"
    expect_exit 75 "${train[@]}" --out stopped --stop-after 5
    expect_words "step 5 of 12" "same command"
    expect_exit 75 "${train[@]}" --out stopped --stop-after 5
    expect_exit 0 "${train[@]}" --out stopped
    expect_words "continues at step 10" "in 3 starts"
    expect_same_checkpoint "stopped and repeated" "$whole" stopped
    same_metrics "$whole" stopped
    expect_exit 0 "${train[@]}" --log-every 5 --out sparse
    expect_exit 75 "${train[@]}" --log-every 5 --out sparse-stopped --stop-after 7
    expect_exit 0 "${train[@]}" --log-every 5 --out sparse-stopped
    same_metrics sparse sparse-stopped # also the means over the steps from 6 to 10

    case_begin "a signal"
    "$dstrain" --shards "$data" --model "$model" --steps 1000000 --batch 8 --log-every 1 --threads 1 --out signal \
        >"$scratch/stdout" 2>"$scratch/stderr" &
    local child=$! code=0
    for ((i = 0; i < 300; i++)); do [ -s signal/metrics.jsonl ] && break; sleep 0.1; done

    expect_exit 10 "$dstrain" --shards "$data" --model "$model" --steps 1000000 --batch 8 --out signal
    expect_words "in use"
    kill -TERM "$child"
    wait "$child" || code=$?
    expect_equal "exit code" "$code" 75
    [ -s signal/latest ] || complain "no checkpoint was left"
    expect_exit 75 "$dstrain" --shards "$data" --model "$model" --steps 1000000 --batch 8 --threads 1 --out signal \
        --stop-after 1
    expect_words "continues at step"
}

killed() {
    case_begin "killed at several calls"
    for call in 2 7 11 16 23 34 49 60; do
        rm -rf killed
        DS_FAIL_FILE=$call:kill expect_exit 137 "${train[@]}" --out killed --save-every 4
        expect_exit 0 "${train[@]}" --out killed --save-every 4
        expect_same_checkpoint "killed at call $call" "$whole" killed
        expect_absent '*.tmp' killed
    done
}

equal_bits() {
    case_begin "threads, and a start anew"
    expect_exit 0 "${train[@]}" --out threads --threads 2
    expect_same_checkpoint "two threads" "$whole" threads
    expect_exit 0 "${train[@]}" --out threads --fresh
    expect_words "threads.1"
    expect_same_checkpoint "anew" threads threads.1

    case_begin "a micro-batch changes rounding only"
    local exact=(--precision fp32 --eval-every 6)
    expect_exit 0 "${train[@]}" "${exact[@]}" --out fours --micro-batch 4
    expect_exit 0 "${train[@]}" "${exact[@]}" --out ones --micro-batch 1
    python3 - fours/metrics.jsonl ones/metrics.jsonl <<'PYTHON' || complain "the losses differ"
import json, sys

a, b = ([json.loads(line) for line in open(name)] for name in sys.argv[1:])
assert len(a) == len(b) == 14
for x, y in zip(a, b):
    assert abs(x["loss"] - y["loss"]) < 2e-5 * x["loss"], (x, y)
PYTHON

    case_begin "another micro-batch half way"
    expect_exit 75 "${train[@]}" "${exact[@]}" --out mixed --micro-batch 4 --stop-after 6
    expect_exit 0 "${train[@]}" "${exact[@]}" --out mixed --micro-batch 2
    expect_words "micro_batch 4 (now 2)"
}

names() {
    case_begin "a run finds its directory"
    expect_exit 75 "${train[@]}" --stop-after 2
    expect_equal "directories" "$(ls runs | wc -l)" 1
    expect_exit 0 "${train[@]}"
    expect_words "continues at step 2"
    expect_equal "directories" "$(ls runs | wc -l)" 1
    expect_exit 75 "${train[@]}" --seed 43 --stop-after 1
    expect_equal "directories" "$(ls runs | wc -l)" 2
    expect_exit 75 "${train[@]}" --seed 44 --stop-after 1
    expect_words "is unfinished" "seed 43 (now 44)"

    case_begin "facts"
    expect_exit 0 "${train[@]}" --json --out facts
    expect_equal "finished" "$(json stdout 'o["finished"], o["steps"], o["valid"]["samples"] > 0')" "(True, 12, True)"
    expect_equal "next" "$(json stdout '[c.split()[1] for c in o["next"]]')" "['--shards', 'report', 'export']"
    "$dsdata" show "$data" --json >show.json
    local count
    count=$(json show.json 'next(l["samples"] for l in o["lengths"] if l["seq"] == 32 and l["split"] == "train")')
    expect_exit 0 "$dstrain" --shards "$data" --model "$model" --epochs 0.5 --batch 8 --threads 1 --json
    expect_equal "steps of half an epoch" "$(json stdout "o['steps'] == round($count / 2 / 8)")" True
    expect_equal "micro-batch" "$(json facts/run.json 'o["settings"]["micro-batch"]')" 8
    expect_equal "in force" "$(json facts/run.json 'o["settings"]["seq"], o["starts"][0]["threads"]')" "('32', 1)"
    expect_equal "no recipe was chosen" "$(json facts/run.json 'o["settings"].get("recipe")')" None
    expect_exit 75 "${train[@]}" --set gradient_clipping=2 optimizer.type=LANS --stop-after 1 --out all
    expect_equal "every --set" "$(json all/run.json 'o["settings"]["set"], o["settings"]["optimizer"]')" \
        "(['gradient_clipping=2', 'optimizer.type=LANS'], 'lans')"
}

out_and_in() {
    case_begin "export"
    expect_exit 0 "$dstrain" export "$whole" --out model
    expect_words next pipeline
    expect_equal "files" "$(ls model | tr '\n' ' ')" \
        "README.md config.json model.safetensors provenance.json tokenizer.json tokenizer_config.json vocab.txt "
    cmp -s model/model.safetensors "$whole/$last/model.safetensors" || complain "the weights changed"
    expect_exit 2 "$dstrain" export "$whole" --out model
    expect_words "not empty"
    expect_exit 0 "$dstrain" export "$whole/$last" --out model2 --json
    expect_equal "step" "$(json stdout 'o["step"]')" 12
    expect_exit 0 "$dstrain" export model --out model3

    case_begin "a longer length goes on from it"
    local longer=("$dstrain" --shards "$data" --seq 64 --steps 3 --batch 4 --threads 1)
    expect_exit 0 "${longer[@]}" --init "$whole" --out long
    expect_exit 0 "${longer[@]}" --init model --out long # the same weights make the same run
    expect_words "is finished"
    expect_exit 5 "${longer[@]}" --init "$whole" --init-moments --out long
    expect_words initial_weights
    expect_exit 0 "${longer[@]}" --init "$whole" --init-moments --out long2
    cmp -s "long/checkpoints/step-00000003/model.safetensors" "long2/checkpoints/step-00000003/model.safetensors" &&
        complain "the moments made no difference"

    case_begin "gradients"
    expect_exit 0 "$dstrain" --shards "$data" --init model --steps 1 --batch 4 --threads 1 \
        --dump-gradients g.safetensors
    [ -s g.safetensors ] || complain "no gradients"
    expect_exit 0 "$dstrain" --shards "$data" --init model --steps 1 --batch 4 --threads 1 --precision fp16 \
        --set fp16.loss_scale=1000 --dump-gradients scaled.safetensors --out scaled
    expect_equal "without the loss scale" "$(python3 - g.safetensors scaled.safetensors <<'PYTHON'
import array
import math
import struct
import sys


def norm(path):
    data = open(path, "rb").read()
    return math.sqrt(sum(x * x for x in array.array("f", data[8 + struct.unpack("<Q", data[:8])[0]:])))


print(abs(norm(sys.argv[2]) / norm(sys.argv[1]) - 1) < 0.02)
PYTHON
    )" True
    expect_equal "all digits of the scale" "$(json <(head -1 scaled/metrics.jsonl) 'o["loss_scale"]')" 1000
}

straight
stopped
killed
equal_bits
names
out_and_in
flow_end
