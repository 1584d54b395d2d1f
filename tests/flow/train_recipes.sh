#!/usr/bin/env bash
# Recipes: DeepSpeed's JSON and --set, the resulting settings, refused ones; every optimizer stopped and resumed byte
# for byte.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"

samples=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../samples/configs" && pwd)
cd "$scratch"
plan=("$dstrain" plan --shards "$data" --model "$model" --steps 200 --threads 1)

# identity KEYS OPTION…: these keys of the run's identity in a plan with these options, as "[value, …]".
identity() {
    local keys=$1
    shift
    expect_exit 0 "${plan[@]}" --json "$@"
    json stdout "[o['run'].get(k) for k in '$keys'.split()]"
}

defaults() {
    case_begin "defaults: ours, and DeepSpeed's with a file"
    expect_equal "ours" "$(identity 'optimizer lr weight_decay gradient_clipping schedule warmup batch')" \
        "['adam', 0.0001, 0.01, 1.0, 'linear', 0.01, 256]"
    echo '{"train_batch_size": 8}' >small.json
    expect_equal "theirs" \
        "$(identity 'optimizer lr weight_decay gradient_clipping schedule warmup batch' --config small.json)" \
        "['adam', 0.001, 0.0, 0.0, 'constant', 0.0, 8]"
    expect_equal "theirs with our schedule" "$(identity 'schedule warmup' --config small.json --warmup 0.1)" \
        "['linear', 0.1]"
    expect_words "small.json names no optimizer: trains with adam lr 0.001, warmup 10 %, linear"
    expect_exit 0 "${plan[@]}" --steps 20 --warmup 2000
    expect_words "the learning rate rises to 1e-06 only, not to --lr 0.0001"
    expect_exit 0 "${plan[@]}" --steps 20 --schedule wsd --decay 2000
    expect_words "--decay is too long for 20 steps"
    expect_exit 0 "${plan[@]}" --steps 20 --schedule wsd --warmup 4 --decay 16
    grep -q "the learning rate rises" "$scratch/stderr" && complain "a warning without a reason"
    expect_equal "wsd" "$(identity 'schedule warmup decay' --schedule wsd --decay 0.3)" "['wsd', 0.01, 0.3]"
    expect_equal "wsd by 1 - sqrt" \
        "$(identity 'schedule decay decay_shape' --schedule wsd --decay 0.3 --decay-shape sqrt)" "['wsd', 0.3, 'sqrt']"
    local example
    read -ra example <<<"$("$dstrain" plan --help | tr -s ' \n' '  ' | grep -o 'file: optimizer[^[]*clipping=1')"
    expect_equal "the example of --help" "$(identity 'optimizer lr gradient_clipping' --set "${example[@]:1}")" \
        "['lans', 0.002, 1.0]"
    expect_equal "bing_bert's unused keys" \
        "$(identity 'schedule total_training_steps' --set scheduler.type=warmup_linear \
        scheduler.params.decay_rate=0.9 scheduler.params.decay_step=1000)" "['warmup_linear', 200.0]"
    expect_words "no effect here: scheduler.params.decay_rate, scheduler.params.decay_step"
    expect_equal "bing_bert's 64K LAMB" "$(identity 'optimizer max_coeff' --set optimizer.type=Lamb \
        optimizer.params.max_coeff=0.3 sparse_attention.mode=fixed sparse_attention.block=16)" "['lamb', 0.3]"
    expect_equal "Habana's BERT of 5 B parameters" \
        "$(identity batch --set train_batch_size=12288 timers.throughput.enabled=true)" "[12288]"
    expect_words "no effect here: timers"
    expect_equal "stableadamw" \
        "$(identity 'optimizer beta2 eps weight_decay decouple_lr max_lr' --optimizer stableadamw --lr 8e-4)" \
        "['stableadamw', 0.98, 1e-06, 1e-05, True, 0.0008]"
    expect_equal "nvlamb" "$(identity 'optimizer eps max_grad_norm use_nvlamb weight_decay' --optimizer nvlamb)" \
        "['nvlamb', 1e-06, 1.0, False, 0.01]"
    expect_equal "lamb" "$(identity 'optimizer eps min_coeff max_coeff' --optimizer lamb)" "['lamb', 1e-08, 0.01, 10.0]"

    expect_equal "masks in file order" "$(identity 'order masks' --no-shuffle)" "['file', 'stored']"

    case_begin "option over --set over file"
    cat >full.json <<'JSON'
{"train_batch_size": 16, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 4,
 "gradient_clipping": 0.5, "steps_per_print": 10, "bf16": {"enabled": true}, "wall_clock_breakdown": false,
 "optimizer": {"type": "Lamb", "params": {"lr": 0.002, "max_coeff": 0.3, "min_coeff": 0.01, "betas": [0.9, 0.98]}},
 "scheduler": {"type": "warmup_linear_decay_exp",
               "params": {"warmup_proportion": 0.1, "decay_rate": 0.9, "decay_step": 5, "lr_offset": 1e-4}}}
JSON
    expect_equal "file" "$(identity \
        'batch lr max_coeff beta2 schedule decay_step total_training_steps lr_offset precision' \
        --config full.json)" "[16, 0.002, 0.3, 0.98, 'warmup_linear_decay_exp', 5.0, 200.0, 0.0001, 'bf16']"
    expect_words "no effect here: steps_per_print, wall_clock_breakdown"
    expect_equal "micro-batch" "$(json stdout 'o["micro_batch"]')" 4
    expect_equal "set" "$(identity 'batch lr max_coeff' --config full.json --set optimizer.params.lr=0.5 \
        optimizer.params.max_coeff=1)" "[16, 0.5, 1.0]"
    expect_equal "option" "$(identity 'batch lr precision' --config full.json --set optimizer.params.lr=0.5 \
        --lr 0.25 --batch 32 --precision fp32)" "[32, 0.25, 'fp32']"
    expect_equal "auto" "$(identity 'lr beta2' --config full.json --set 'optimizer.params.lr="auto"' \
        optimizer.params.betas=auto)" "[0.001, 0.999]"
    expect_equal "no quotes" "$(identity 'optimizer tensor_norm' --set optimizer.type=BertAdam)" "['adam', 1.0]"
    expect_equal "a type in other letters" "$(identity 'optimizer' --set optimizer.type=OnebitAdam)" "['onebit_adam']"
    expect_equal "accumulation" "$(identity batch --set train_micro_batch_size_per_gpu=4 \
        gradient_accumulation_steps=3)" "[12]"
    expect_equal "the largest batch" "$(identity batch --set train_batch_size=1048576 \
        train_micro_batch_size_per_gpu=4)" "[1048576]"
    expect_equal "the scaler without ZeRO" "$(identity loss_scale_rule --set fp16.enabled=true)" "['plain']"
    expect_equal "the scaler with ZeRO" \
        "$(identity loss_scale_rule --set fp16.enabled=true zero_optimization.stage=1)" "['patient']"
}

# refused WORD… -- OPTION…: exit 2, and the message names the words.
refused() {
    local words=()
    while [ "$1" != -- ]; do words+=("$1"); shift; done
    shift
    expect_exit 2 "${plan[@]}" "$@"
    expect_words "${words[@]}"
}

wrong() {
    case_begin "wrong files"
    refused nowhere.json -- --config nowhere.json
    echo '{"train_batch_size": 8' >broken.json
    refused broken.json JSON -- --config broken.json
    echo '[]' >array.json
    refused array.json -- --config array.json
    echo '{"train_batch_size": 8, "train_batch_size": 9}' >twice.json
    refused twice.json duplicate -- --config twice.json
    python3 -c 'print("{\"optimizer\":" * 40 + "{}" + "}" * 40)' >deep.json
    refused deep.json deeper -- --config deep.json
    python3 -c 'print("{\"optimizer\":" * 6 + "{}" + "}" * 6)' >deep.json # seven objects
    refused deep.json deeper -- --config deep.json
    python3 -c 'print("{\"optimizer\":" * 5 + "{}" + "}" * 5)' >deep.json
    expect_exit 0 "${plan[@]}" --config deep.json

    case_begin "wrong keys"
    echo '{"train_batch_sise": 8}' >typo.json
    refused typo.json train_batch_sise "nearest key is train_batch_size" -- --config typo.json
    echo '{"optimizer.params.lr": 8}' >dotted.json
    refused dotted.json optimizer.params.lr unknown -- --config dotted.json
    refused "--set optimizer.params.learning_rate" "ours is optimizer.params.lr" -- \
        --set optimizer.params.learning_rate=1
    refused "scheduler.type is missing" -- --set scheduler.params.warmup=0.1
    refused scheduler.params.decay_rate -- --set scheduler.type=warmup_linear_decay_exp scheduler.params.decay_rates=1
    refused "decay_rate: is missing" -- --set scheduler.type=warmup_linear_decay_exp
    refused max_coeff unknown -- --set optimizer.params.max_coeff=1
    refused ZeroOneAdam Adam, NVLAMB, OneBitAdam -- --set optimizer.type=ZeroOneAdam
    refused Cosine WarmupCosineLR -- --set scheduler.type=Cosine
    refused zero_optimization.overlap_com "nearest key is zero_optimization.overlap_comm" -- \
        --set zero_optimization.overlap_com=true
    refused "would change" -- --set zero_optimization.zero_quantized_gradients=true
    refused amp "would change" -- --set amp.enabled=true
    refused fp16 "nearest key is fp16.enabled" -- --set fp16=true
    refused "--set steps: unknown key" -- --set steps=5
    if grep -q nearest "$scratch/stderr"; then complain "a key that is not near is named"; fi
    refused exclude -- --set fp16.enabled=true bf16.enabled=true
    expect_exit 0 "${plan[@]}" --set amp.enabled=false zero_optimization.stage=1 \
        zero_optimization.round_robin_gradients=true
    expect_words "no effect here: zero_optimization.round_robin_gradients"
    expect_exit 0 "${plan[@]}" --set zero_optimization=true zero_allow_untested_optimizer=true
    expect_exit 0 "${plan[@]}" --set zero_optimization.offload_optimizer.device=none zero_optimization.cpu_offload=false
    refused zero_optimization.offload_param "not built" -- --set zero_optimization.offload_param.device=nvme

    case_begin "bing_bert's second file"
    echo '{"name": "bing", "bert_model_config": {"vocab_size_or_config_json_file": 119547}, "data": {}}' >cf.json
    refused cf.json "bing_bert's --cf" "--model" -- --config cf.json

    case_begin "wrong values"
    refused "from 0 to" -- --set gradient_clipping=-1
    refused number -- --set optimizer.params.eps=true
    refused "neither true nor false" -- --set optimizer.params.bias_correction=0
    refused count -- --set fp16.loss_scale_window=1.5
    refused count -- --set train_batch_size=0
    refused count -- --set train_batch_size=8.5
    refused key.path -- --set "a.b.c.d.e.f.g={}"
    refused "nested deeper" -- --set 'optimizer={"params": {"a": {"b": {"c": {"d": {"e": {}}}}}}}'
    refused log linear -- --set scheduler.type=WarmupLR scheduler.params.warmup_type=cubic
    refused max_coeff -- --set optimizer.type=Lamb optimizer.params.min_coeff=2 optimizer.params.max_coeff=1
    refused stage -- --set zero_optimization.stage=4

    case_begin "a batch that does not come out"
    refused train_batch_size -- --set train_batch_size=10 train_micro_batch_size_per_gpu=4
    refused train_batch_size -- --set train_batch_size=8 train_micro_batch_size_per_gpu=4 gradient_accumulation_steps=3
    refused train_batch_size -- --set train_batch_size=8 gradient_accumulation_steps=3
    refused train_batch_size above -- --set train_batch_size=1048577
    refused train_micro_batch_size_per_gpu above -- --set train_micro_batch_size_per_gpu=100000
    refused gradient_accumulation_steps -- --set gradient_accumulation_steps=3

    case_begin "options that the schedule would not look at"
    refused "--warmup" LinearWarmUp -- --warmup 0.1 --set scheduler.type=LinearWarmUp scheduler.params.warmup=0.1
    refused "--schedule" -- --schedule cosine --set scheduler.type=WarmupLR
    refused "--decay" wsd -- --decay 0.1
    refused "--decay" -- --decay 0.1 --set scheduler.type=WarmupLR
    refused "--lr" -- --lr 1 --set scheduler.type=WarmupLR
    expect_absent runs .
}

recipes() {
    case_begin "every sample file loads"
    local count=0
    sed 's/"hidden_size"/"pre_layer_norm": true, "hidden_size"/' "$model" >preln.json
    for file in "$samples"/*.json; do
        local shape=$model
        [[ $file == *-pld-* ]] && shape=preln.json
        expect_exit 0 "$dstrain" plan --shards "$data" --model "$shape" --steps 20000 --config "$file" --json
        count=$((count + 1))
    done
    [ $count -eq 18 ] || complain "$count files in $samples"
    expect_exit 0 "${plan[@]}" --config "$samples/fast-mini.json" --json
    cp stdout by-file.json
    expect_exit 0 "${plan[@]}" --recipe fast-1 --json
    expect_words "is for model mini"
    expect_equal "the recipe that the program carries" "$(json stdout 'o["run"]')" "$(json by-file.json 'o["run"]')"
    expect_equal "it is in the run" \
        "$(json stdout '[o["run"][k] for k in ("optimizer", "batch_begin", "mask_prob", "hidden_dropout")]')" \
        "['muon', 16, 0.3, 0.0]"
    expect_equal "options win" "$(identity 'lr batch_begin batch masks' --recipe fast-1 --lr 0.5 --batch 64)" \
        "[0.5, None, 64, 'fresh']"
    expect_exit 0 "${plan[@]}" --config "$samples/fast.json" --json
    cp stdout by-file.json
    expect_exit 0 "${plan[@]}" --recipe fast --json
    grep -q "is for model" stderr && complain "fast is for any model"
    expect_equal "fast" "$(json stdout 'o["run"]')" "$(json by-file.json 'o["run"]')"
    expect_equal "what fast says" "$(json stdout '[o["run"][k] for k in ("optimizer", "lr", "batch", "schedule",
        "decay", "decay_shape", "mask_prob", "weight_decay", "hidden_dropout")]')" \
        "['muon', 0.004, 16, 'wsd', 0.4, 'sqrt', 0.2, 0.3, 0.0]"
    expect_exit 0 "${plan[@]}" --config "$samples/modern.json" --json
    cp stdout by-file.json
    expect_exit 0 "${plan[@]}" --recipe modern --json
    expect_words "is for model modern-mini"
    grep -q "names no scheduler" stderr && complain "its schedule is wsd"
    expect_equal "the other one" "$(json stdout 'o["run"]')" "$(json by-file.json 'o["run"]')"
    expect_equal "what it says" "$(json stdout '[o["run"][k] for k in ("optimizer", "max_lr", "schedule", "warmup",
        "decay", "decay_shape", "mask_prob", "gradient_clipping")]')" \
        "['stableadamw', 0.0008, 'wsd', 0.02, 0.1, 'sqrt', 0.3, 0.0]"
    expect_equal "an option wins" "$(identity 'schedule optimizer' --recipe modern --schedule cosine)" \
        "['cosine', 'stableadamw']"
    refused "schedule" "scheduler.type" -- --set schedule=wsd scheduler.type=WarmupLR
    refused "--recipe" "--config" -- --recipe fast --config "$samples/laptop.json"
    refused slow fast -- --recipe slow
    for file in "$samples"/models/*.json; do # on a small machine the large one may be refused with 7
        local got=0
        "$dstrain" plan --shards "$data" --model "$file" --micro-batch 1 --batch 1 >stdout 2>stderr || got=$?
        [[ $got == [07] ]] || complain "$file: exit $got"
    done
}

optimizers() {
    case_begin "twelve steps of each, stopped in the middle"
    local names # of --optimizer
    names=$({ "$dstrain" plan --optimizer none 2>&1 || true; } | sed -n 's/.*is none of //p' | tr -d ,)
    [[ " $names " == *" lamb "*" lans "* ]] || complain "the optimizers are: $names"
    for name in $names BertAdam; do
        local with=(--optimizer "$name")
        [ $name = BertAdam ] && with=(--set optimizer.type=BertAdam)
        expect_exit 0 "${train[@]}" "${with[@]}" --out "$name" --threads 2
        expect_exit 75 "${train[@]}" "${with[@]}" --out "$name-2" --stop-after 5
        expect_exit 0 "${train[@]}" "${with[@]}" --out "$name-2"
        expect_same_checkpoint "$name" "$name" "$name-2"
        rm -r "$name-2"
    done
    cmp -s lamb/$last/model.safetensors lans/$last/model.safetensors && complain "lamb and lans are the same"

    case_begin "schedules in metrics"
    expect_exit 0 "$dstrain" --shards "$data" --model "$model" --steps 12 --batch 8 --threads 1 --log-every 1 \
        --out cycle --set scheduler.type=OneCycle scheduler.params.cycle_min_lr=1e-4 \
        scheduler.params.cycle_max_lr=1e-3 scheduler.params.cycle_first_step_size=4
    expect_words OneCycle
    python3 - <<'PYTHON' || complain "the rates are not OneCycle's"
import json

rates = [json.loads(line)["learning_rate"] for line in open("cycle/metrics.jsonl")][:12]
up = [1e-4 + 9e-4 * i / 4 for i in range(5)]
assert all(abs(a - b) < 1e-9 for a, b in zip(rates, up + up[-2::-1] + [1e-4] * 3)), rates
PYTHON
}

defaults
wrong
recipes
optimizers
flow_end
