#!/usr/bin/env bash
# Runs: overflows in fp16, settings that must reach the step, a run that branches off another, the verbs plan, show,
# eval, doctor, time limits, and the checkpoints kept.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"

cd "$scratch"
plan=("$dstrain" plan --shards "$data" --model "$model" --steps 200 --threads 1)
sed 's/"num_hidden_layers": 2/"num_hidden_layers": 100/; s/"hidden_size": 32/"hidden_size": 4096/' "$model" >giant.json

overflows() {
    case_begin "fp16 skips what overflows, and goes on to the byte"
    local half=("${train[@]}" --precision fp16 --set fp16.initial_scale_power=24 fp16.loss_scale_window=3)
    expect_exit 0 "${half[@]}" --out half
    expect_words "steps skipped"
    python3 - <<'PYTHON' || complain "the scale does not move as it should"
import json

lines = [json.loads(line) for line in open("half/metrics.jsonl") if "split" not in line]
skipped = lines[-1]["skipped"]
first = next(i for i, line in enumerate(lines) if line["grad_norm"] is not None)  # the first that was applied
assert 0 < first <= skipped < 12 and lines[first]["loss_scale"] == 2**(24 - first)
assert all(line["learning_rate"] == lines[0]["learning_rate"] for line in lines[:first + 1])
assert lines[first + 1]["learning_rate"] != lines[0]["learning_rate"]
assert lines[first]["skipped"] == first and lines[-1]["grad_norm"] < 100 and lines[-1]["loss"] < lines[0]["loss"]
PYTHON
    expect_equal "updates" "$(json <("$dstrain" show half --json) 'o["updates"] + o["skipped"], o["loss_scale"] > 0')" \
        "(12, True)"
    expect_exit 75 "${half[@]}" --out half-2 --stop-after 4
    expect_exit 75 "${half[@]}" --out half-2 --stop-after 5
    expect_exit 0 "${half[@]}" --out half-2
    expect_same_checkpoint "fp16" half half-2
    expect_exit 8 "${train[@]}" --precision fp16 --out poor \
        --set fp16.initial_scale_power=32 fp16.min_loss_scale=4294967296 \
        zero_optimization.stage=1 fp16.hysteresis=1
}

# Settings of a configuration must reach the step, not only run.json.
handed_on() {
    case_begin "the clip acts"
    expect_exit 0 "${train[@]}" --dropout 0 --set gradient_clipping=1.0 --out clip-1
    expect_exit 0 "${train[@]}" --dropout 0 --set gradient_clipping=0.01 --out clip-2
    compared "two clips" 1 clip-1 clip-2

    case_begin "fp16's rule follows the ZeRO stage: stage 0 halves at once, stage 1 is patient"
    local half=("${train[@]}" --precision fp16 --steps 3 --set fp16.initial_scale_power=32 fp16.hysteresis=3)
    expect_exit 0 "${half[@]}" --out stage-0
    expect_equal "scale of stage 0 after three overflows" \
        "$(json <(tail -1 stage-0/metrics.jsonl) 'o["loss_scale"]')" "$((1 << 29))"
    expect_exit 0 "${half[@]}" zero_optimization.stage=1 --out stage-1
    expect_equal "scale of stage 1 after as many" "$(json <(tail -1 stage-1/metrics.jsonl) 'o["loss_scale"]')" \
        "$((1 << 31))"

    case_begin "an evaluation looks at the stored masks"
    local still=("${train[@]}" --lr 1e-30 --steps 2)
    expect_exit 0 "${still[@]}" --masks stored --out stored
    expect_exit 0 "${still[@]}" --masks fresh --out fresh
    for run in stored fresh; do json <(grep '"split"' $run/metrics.jsonl) 'o["loss"], o["mlm_accuracy"]'; done >losses
    expect_equal "held-out losses, of how many kinds" "$(sort -u losses | wc -l)/$(wc -l <losses)" 1/2
}

branching() {
    case_begin "--resume branches off"
    expect_exit 75 "${train[@]}" --out trunk --stop-after 6
    local branch=("$dstrain" --shards "$data" --steps 12 --batch 4 --lr 5e-4 --warmup 0.1 --log-every 1 --threads 1
        --resume trunk)
    expect_exit 75 "${branch[@]}" --out branch --stop-after 3
    expect_words "goes on from trunk at step 6" "lr 0.001 (now 0.0005)" "batch 8 (now 4)"
    expect_equal "position" "$(json <("$dstrain" show branch --json) 'o["step"], o["samples"]')" "(9, 60)"
    expect_exit 0 "${branch[@]}" --out branch
    expect_words "continues at step 9"
    expect_exit 0 "${branch[@]}" --out branch-2 --json
    expect_equal "samples of its own" "$(json stdout 'round(o["sequences_per_second"] * o["seconds"])')" 24
    expect_same_checkpoint "stopped branch" branch branch-2
    expect_exit 2 "$dstrain" --shards "$data" --resume trunk --steps 6
    expect_words "step 6"
    expect_exit 75 "${branch[@]}" --out rewarmed --set scheduler.params.rewarmup=true --stop-after 1
    expect_equal "rewarmed" "$(json rewarmed/run.json 'o["identity"]["schedule_begins"]')" 6
    expect_equal "its first rate" "$(json <(head -1 rewarmed/metrics.jsonl) 'round(o["learning_rate"] / 5e-4, 6)')" \
        "$(python3 -c 'print(round(1 / 12 / 0.1, 6))')"
    if cmp -s <(head -1 rewarmed/metrics.jsonl) <(head -1 branch/metrics.jsonl); then
        complain "rewarmup changed nothing"
    fi
    sed -i 's/"seconds":[0-9.]*/"seconds":1.000/' branch/metrics.jsonl
    expect_exit 0 "$dstrain" show branch
    grep -q "^speed  *24.0 sequences/s" stdout || complain "show counts the samples of the trunk"
    expect_exit 0 "$dstrain" report branch
    grep -q 'class="figure">24<' branch/report.html || complain "report counts the samples of the trunk"
}

verbs() {
    case_begin "show and eval agree with the run"
    expect_exit 0 "$dstrain" show lamb --json
    expect_equal "facts" \
        "$(json stdout 'o["kind"], o["finished"], o["step"], o["identity"]["optimizer"], o["train"]["step"]')" \
        "('run', True, 12, 'lamb', 12)"
    local valid
    valid=$(json stdout 'round(o["valid"]["loss"], 4), round(o["valid"]["nsp_accuracy"], 4)')
    expect_exit 0 "$dstrain" eval lamb --json
    expect_equal "eval" "$(json stdout 'round(o["loss"], 4), round(o["nsp_accuracy"], 4)')" "$valid"
    expect_exit 0 "$dstrain" eval lamb
    expect_equal "after eval" "$(tail -1 stderr)" "next       dstrain export lamb --out DIR"
    expect_exit 0 "$dstrain" verify lamb
    expect_equal "after verify" "$(cat stderr)" "next       dstrain show lamb"
    expect_exit 0 "$dstrain" verify "$data"
    expect_equal "after verify" "$(cat stderr)" "next       dstrain plan --shards $data"
    mkdir -p elsewhere
    expect_exit 0 bash -c 'cd elsewhere && "$1" eval ../lamb --eval-samples 5' bash "$dstrain"
    cp -r lamb moved
    sed -i "s#\"shards\": *\"[^\"]*\"#\"shards\": \"$scratch/other\"#" moved/run.json
    sed 's/river/stone/' "$scratch/text.txt" >other.txt
    expect_exit 0 "$dsdata" build --text other.txt --vocab "$scratch/vocab.txt" --lang en --seq 32,64 --valid 0.1 \
        --out other -q
    expect_exit 5 "$dstrain" eval moved
    expect_words "root hash" "--shards"
    sed 's/"dataset": *"[0-9a-f]*"/"dataset": "0123456789abcdef"/' lamb/run.json >/dev/null
    expect_exit 0 "$dstrain" eval "lamb/$last" --shards "$data" --eval-samples 5 --json
    expect_equal "samples" "$(json stdout 'o["samples"], o["step"]')" "(5, 12)"
    expect_exit 0 "$dstrain" show "lamb/$last"
    expect_words checkpoint "12"
    expect_exit 0 "$dstrain" export lamb --out exported
    expect_exit 0 "$dstrain" show exported --json
    expect_equal "a model" "$(json stdout 'o["kind"], o["layers"]')" "('model', 2)"
    expect_exit 2 "$dstrain" eval exported
    expect_words "--shards"
    expect_exit 0 "$dstrain" eval exported --shards "$data"
    expect_words "next       dstrain fill-mask exported"

    case_begin "plan refuses what cannot fit"
    expect_exit 7 "$dstrain" plan --shards "$data" --model "$model" --set activation_checkpointing.profile=false \
        --batch 60000 --micro-batch 60000 --set bf16.enabled=false --precision fp32 --seq 64 --model giant.json
    expect_words memory
    sed 's/"num_hidden_layers": 2/"num_hidden_layers": 1024/; s/"hidden_size": 32/"hidden_size": 512/
        s/"intermediate_size": 64/"intermediate_size": 16384/' "$model" >deep.json
    local deep=("$dstrain" plan --shards "$data" --batch 2 --micro-batch 1 --steps 1 --model deep.json --threads 1
        --json)
    expect_exit 0 "${deep[@]}" --processes 2 --zero 1
    if [ "$(json stdout 'o["memory_bytes"] > o["machine_memory_bytes"]')" = True ]; then # 200 GB a process
        expect_words "a process needs" "this machine gives at most"
        expect_exit 7 "${deep[@]}"
    fi
    expect_exit 0 "${train[@]}" --out never --dry-run
    expect_words "about" "s a step, measured on 2 layers" "products alone" "next       dstrain --shards"
    expect_exit 0 "${plan[@]}" --json
    expect_equal "time" "$(json stdout '(abs(o["seconds"] / o["seconds_per_step"] - 200) < 1e-9 and
        o["seconds_per_step"] > 256 * o["flops_per_sequence"] * 0.5 / o["passes_flops_per_second"] > 0)')" True
    expect_absent never .

    case_begin "plan says the money"
    expect_exit 0 "${plan[@]}" --price 2.50/h --json
    expect_words "cost       about " ", at 2.5 an hour"
    expect_equal "cost" "$(json stdout \
        '([abs(o["cost" + low] - 2.5 * o["seconds" + low] / 3600) < 1e-9 for low in ("", "_low")] +
        [0 < o["seconds_low"] <= o["seconds"], "price" in o["next"]])')" "[True, True, True, False]"
    local price
    for price in 2.50 /h 0/h -1/h 1.2.3/h 2/d nan/h; do
        expect_exit 2 "${plan[@]}" --price="$price"
        expect_words "--price $price: not a price per hour"
    done

    case_begin "plan gives a range where another program has the core too"
    if [ -r /proc/self/schedstat ] && command -v taskset >stdout; then
        local core busy
        core=$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')
        taskset -c "$core" sh -c 'while :; do :; done' &
        busy=$!
        expect_exit 0 taskset -c "$core" "${plan[@]}" --json
        kill $busy
        wait $busy || true
        expect_words " to " "waited for other programs"
        expect_equal "range" "$(json stdout '0 < o["seconds_low"] < o["seconds"]')" True
    fi

    case_begin "doctor"
    expect_exit 0 "$dstrain" doctor --json
    expect_equal "rates" "$(json stdout 'o["gflops_per_second"]["fp32"] > 0 and o["memory_bytes"] > 1e8')" True
    expect_equal "beside the object" "$(cat stderr)" ""
    expect_exit 0 "$dstrain" doctor
    for word in processor memory disk products device processes; do
        grep -q "^$word " "$scratch/stdout" || complain "no line $word"
    done
    expect_equal "on stderr" "$(cut -d' ' -f1 stderr)" next
}

leaving() {
    case_begin "a time limit"
    local endless=("$dstrain" --shards "$data" --model "$model" --steps 1000000 --threads 1 --log-every 1)
    expect_exit 75 "${endless[@]}" --batch 8 --out limited --time-limit 5s
    expect_words "time limit" "same command"
    expect_exit 75 env SLURM_JOB_END_TIME=$(($(date +%s) + 5)) "${endless[@]}" --batch 8 --out limited

    # 0.2 s are for products and 0.1 s for passes, but of passes at most ten: those of mini take longer on any machine.
    case_begin "a time limit that leaves no room for a step"
    expect_exit 2 "${endless[@]}" --model mini --batch 200000 --out short --time-limit 2s
    expect_words "--time-limit 2s is too short" "a step takes about" "a checkpoint about"
    expect_equal "the opening has the measurement, of 0.3 s at least" \
        "$(sed -n 's/.*opening took \([0-9.]*\) s.*/\1/p' stderr | awk '{print ($1 >= 0.3)}')" 1
    expect_absent '*' short
    expect_exit 2 env SLURM_JOB_END_TIME=$(($(date +%s) + 2)) "${endless[@]}" --batch 200000 --out short
    expect_words "Slurm job ends too soon" "SLURM_JOB_END_TIME"
    expect_exit 2 env SLURM_JOB_END_TIME=$(($(date +%s) - 86400)) "${train[@]}" --out stale
    expect_words "SLURM_JOB_END_TIME" "which is past" "unset it" "--time-limit"
    expect_exit 0 env SLURM_JOB_END_TIME=$(($(date +%s) - 86400)) "${train[@]}" --out stale --time-limit 1h

    # A run that is stopped until its time is up discards its current step, whichever that is.
    case_begin "the time is up in the middle of a step"
    local child code=0 lines=0
    "${endless[@]}" --batch 256 --micro-batch 4 --out middle --time-limit 8s >stdout 2>stderr &
    child=$!
    until [ -e middle/run.json ] || ! kill -0 $child 2>/dev/null; do sleep 0.02; done
    kill -STOP $child
    [ ! -e middle/metrics.jsonl ] || lines=$(wc -l <middle/metrics.jsonl)
    sleep 8
    kill -CONT $child
    wait $child || code=$?
    expect_equal "exit code, after $lines steps" "$code" $((lines > 0 ? 75 : 2))
    expect_words "time" "limit"
    expect_equal "steps" "$(wc -l <middle/metrics.jsonl)" "$lines"

    case_begin "checkpoints kept"
    expect_exit 0 "${train[@]}" --out kept --keep-last 1 --keep-every 5
    expect_equal "kept" "$(ls kept/checkpoints | tr '\n' ' ')" "step-00000005 step-00000010 step-00000012 "
    expect_exit 0 "${train[@]}" --out more --keep-last 0 --save-every 4
    sed -i 's/"finished": true/"finished": false/' more/run.json # as after a kill that follows the last save
    expect_exit 0 "${train[@]}" --out more --keep-last 2
    expect_equal "kept in the end" "$(ls more/checkpoints | tr '\n' ' ')" "step-00000008 step-00000012 "

    case_begin "a forced level"
    expect_exit 0 "${train[@]}" --out base --cpu base --precision fp32
    expect_words "(base, "
}

overflows
handed_on
branching
expect_exit 0 "${train[@]}" --optimizer lamb --out lamb --threads 2
verbs
leaving
flow_end
