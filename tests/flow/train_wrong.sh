#!/usr/bin/env bash
# Wrong use of dstrain: each mistake gets a sentence that names it and the exit code of docs/DESIGN.md, section 6, and
# existing files do not change.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"
needs_faults

cd "$scratch"

# Each line: options that contradict each other, or lack one that they need, and words of the message.
contradictions() {
    case_begin "options that do not go together"
    "${train[@]}" -q --stop-after 2 --out begun || true
    echo '{"train_batch_size": 8}' >file.json
    while IFS='|' read -r options words; do
        # shellcheck disable=SC2086  # the words are options
        expect_exit 2 "${train[@]}" --out never $options
        expect_words "$words"
    done <<END
--schedule linear --decay 3|--decay belongs to --schedule wsd
--schedule cosine --decay-shape sqrt|--decay-shape belongs to --schedule wsd
--schedule wsd --decay-shape root|linear, sqrt
--batch-warmup 0.2|--batch-warmup belongs to a batch that grows
--batch 8:4 --batch-warmup 0.2|8 is above 4
--mask-prob 0|without a masked piece
--mask-phases 0.3|"0.3" is not P@S
--mask-phases 0.3@0,0.15|"0.15" is not P@S
--mask-phases 0.3@0,|"" is not P@S
--mask-phases 0.3@0.1|"0.3@0.1" does not begin at 0
--mask-phases 0.3@0,0.2@0.5,0.1@0.5|"0.1@0.5" does not begin between
--mask-phases 0.3@0,0.2@1|"0.2@1" does not begin between
--mask-phases 0.3@0,0@0.5|"0@0.5" masks nothing
--mask-phases 1.3@0|"1.3@0" is not P@S
--mask-phases 0.3@0 --mask-prob 0.3|exclude each other
--mask-phases 0.3@0 --masks stored|--mask-phases applies to fresh masks
--mask-phases .9@0,.8@.1,.7@.2,.6@.3,.5@.4,.4@.5,.3@.6,.2@.7,.1@.8|eight are the most
--mask-split 80:10|three whole numbers that add up to 100
--mask-split 80:10:11|three whole numbers that add up to 100
--mask-split 80:10:10:0|three whole numbers that add up to 100
--mask-split 50.5:49.5:0|three whole numbers that add up to 100
--mask-split 4294967376:10:10|three whole numbers that add up to 100
--mask-split 100:0:0 --masks stored|--mask-split applies to fresh masks
--mask-prob 0.2 --masks stored|but this run uses the stored ones
--same-bits --set fp16.enabled=true --set fp16.loss_scale=3|a power of two, not 3
--same-bits --batch 4:8 --batch-warmup 4|--same-bits needs batches of one size
--same-bits --optimizer onebit_adam|what onebit_adam sends
--same-bits --wire bf16|--wire bf16 rounds them
--set optimizer.type=Adum|unknown type: Adum
--set scheduler.type=Wrm|unknown type: Wrm
--set scheduler.type=WarmupLR|--warmup: the configuration's scheduler WarmupLR does not use it
--set train_batch_size={|{ is not a JSON value
--optimizer lamb --set optimizer.params.max_coeff=1 --set optimizer.params.min_coeff=2|is above max_coeff
--recipe fast --config file.json|--recipe and --config both
--pld-compat|needs --set progressive_layer_drop.enabled=true
--grow-vocab|name the model with --init
--grow-vocab --init begun --init-moments|--init-moments finds no moments
--init begun|leave out --model
--optimizer muon --zero 1|--zero divides matrices, but --optimizer muon
--processes 2 --optimizer onebit_adam --zero 1|but --optimizer onebit_adam needs all of them
--processes 2 --zero 1 --norms-every 3|the norms are the same with --zero 0
--processes 2 --zero 1 --dump-gradients x|the gradients are the same with --zero 0
--processes 2 --share auto --batch 4:8 --batch-warmup 3|--share auto needs batches of one size
--processes 2 --same-bits --micro-batch 8|--micro-batch 4 makes enough
--processes 9|9 processes, but a batch of only 8 samples
--gpus 2 --device cpu|use --processes
--patience 3|--eval-every N is missing
END
    expect_exit 2 "$dstrain" --shards "$data" --resume begun --steps 2
    expect_words "that run is at step 2, --steps is 2"
    expect_exit 2 "$dstrain" report begun begun begun begun begun begun begun begun begun
    expect_words "a page holds 8 runs"
    expect_absent never "$scratch"
}

usage() {
    case_begin "usage"
    expect_exit 2 "$dstrain"
    expect_exit 2 "$dstrain" --steps 5
    expect_words "--shards"
    expect_exit 2 "$dstrain" --shards nowhere
    expect_words nowhere
    expect_exit 2 "$dstrain" --shards "$scratch"
    expect_exit 2 "${train[@]}" --batches 4
    expect_words "did you mean" "--batch"
    expect_exit 2 "${train[@]}" --max_steps 4
    expect_words "--steps"
    expect_exit 2 "${train[@]}" --learning_rate 1
    expect_words "--lr"
    expect_exit 2 "${train[@]}" --data "$data" # an option of glue
    expect_words "ours is --shards"
    expect_exit 2 "${train[@]}" --replay
    expect_words "train has no option --replay" "it belongs to: verify"
    expect_exit 2 "$dstrain" squad --n_best_size 5
    expect_words "ours is --n-best"
    expect_exit 2 "$dstrain" glue rte --data_dir glue
    expect_words "glue: --data"
    expect_exit 2 "${train[@]}" --epochs 2
    expect_words "--steps" "--epochs"
    expect_exit 2 "${train[@]}" --batch 0
    expect_exit 2 "${train[@]}" --lr nan
    expect_exit 2 "${train[@]}" --dropout 1
    expect_exit 2 "${train[@]}" --model huge
    expect_words huge tiny
    expect_exit 2 "${train[@]}" --model nowhere.json
    expect_exit 2 "${train[@]}" --init-moments
    expect_exit 2 "${train[@]}" --init nowhere
    expect_exit 2 "$dstrain" --shards "$data" --resume nowhere
    expect_exit 2 "$dstrain" --shards "$data" --resume a --init b
    expect_words "--resume" "--init"
    expect_exit 2 "${train[@]}" --cpu avx1024
    expect_exit 2 "${train[@]}" --time-limit 5
    expect_exit 2 "$dstrain" show nowhere
    expect_exit 2 "$dstrain" verify nowhere
    expect_exit 2 "$dstrain" verify "$scratch"
    expect_exit 2 "$dstrain" verify
    expect_exit 2 "$dstrain" eval nowhere
    expect_words "nowhere: no such directory"
    expect_exit 2 "$dstrain" plan
    expect_words "--shards"
    expect_exit 2 "$dstrain" plan --shards "$data" --eval-every 5
    expect_exit 2 "$dstrain" export nowhere --out e
    expect_exit 2 "$dstrain" export
    expect_exit 2 "$dstrain" infer nowhere
    expect_words "ours is predict"
    expect_exit 2 "${train[@]}" --time-limit 0s
    expect_exit 2 "${train[@]}" --keep-best --eval-samples 0
    expect_words "--keep-best needs evaluations"
    expect_exit 7 "$dstrain" --shards "$data" --model base --seq 64 --batch 65536 --micro-batch 65536 --out never
    expect_words "of memory, this machine gives at most"
    sed 's/"num_attention_heads": 2/"num_attention_heads": 3/' model.json >heads.json
    expect_exit 6 "$dstrain" --shards "$data" --model heads.json
    expect_words "num_attention_heads 3" "these values are in" "heads.json"
    expect_absent 'runs' "$scratch"
    expect_absent never "$scratch"

    case_begin "--help says what is required"
    local verb
    for verb in glue squad; do
        expect_exit 0 "$dstrain" $verb --help
        expect_equal "of $verb" "$(grep -c "(required)" stdout)" 2
        if grep -qE 'default: (random|runs/)' stdout; then complain "a default that there is not"; fi
    done

    case_begin "a dataset in place of a model"
    for verb in "show $data" "export $data --out e" "fill-mask $data" "report $data" "eval $data --shards $data"; do
        # shellcheck disable=SC2086  # a verb and its arguments
        expect_exit 2 "$dstrain" $verb
        expect_words "it is a dataset, the value of --shards"
    done
    expect_exit 2 "$dstrain" fill-mask "the [MASK]"
    expect_words "give a run of dstrain, one of its checkpoints, or a Hugging Face directory"

    case_begin "processes"
    expect_exit 2 "${train[@]}" --rank 1
    expect_words "--rank needs --world-size"
    expect_exit 2 "${train[@]}" --rank 2 --world-size 2 --rendezvous place
    expect_words "ranks count from 0"
    expect_exit 2 "${train[@]}" --rank 1 --world-size 2
    expect_words "--rendezvous"
    expect_exit 2 "${train[@]}" --processes 2 --gpus 2
    expect_exit 2 "${train[@]}" --comm smoke
    for share in 0 -1 half 1x nan; do
        expect_exit 2 "${train[@]}" --share $share
        expect_words "--share is $share"
    done
    expect_exit 2 env OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=1 "${train[@]}" --processes 2
    expect_words OMPI_COMM_WORLD_SIZE
    expect_exit 75 "${train[@]}" --processes 1 --out alone --stop-after 1
    expect_absent place "$scratch"

    case_begin "the key of the processes"
    local two=("${train[@]}" --rank 0 --world-size 2 --rendezvous)
    expect_exit 2 "${two[@]}" 192.0.2.1:2999
    expect_words "192.0.2.1:2999" "needs a key" "openssl rand"
    expect_exit 2 "${two[@]}" 127.0.0.1:2999 --bind '*'
    expect_words "needs a key"
    expect_exit 2 env RANK=0 WORLD_SIZE=2 MASTER_ADDR=192.0.2.1 MASTER_PORT=2999 "${train[@]}"
    expect_words "needs a key"
    expect_exit 2 env SLURM_STEP_ID=0 SLURM_JOB_ID=1 SLURM_NTASKS=2 SLURM_PROCID=0 SLURM_STEP_NODELIST=192.0.2.1 \
        "${train[@]}"
    expect_words "needs a key"
    expect_exit 2 env DS_KEY=00112233445566778899aabbccddeeff "${two[@]}" 192.0.2.1:2999
    expect_words "no address of this machine" "--bind"
    for key in "" 0123 00112233445566778899aabbccddeef 0123456789abcdefghijklmnopqrstuv; do
        expect_exit 2 env DS_KEY="$key" "${two[@]}" 127.0.0.1:2999
        expect_words "DS_KEY: a key" "openssl rand"
        if [ -n "$key" ] && grep -qF "$key" stderr; then complain "it shows the key"; fi
    done
    echo 00112233445566778899aabbccddeeff >key
    for wrong in 5:key 5:empty 6:pipe 2:. 2:absent; do
        case $wrong in
        *:empty) (umask 077 && : >empty) ;;
        *:pipe) mkfifo -m 600 pipe ;;
        esac
        expect_exit "${wrong%%:*}" "${two[@]}" 127.0.0.1:2999 --key "${wrong#*:}"
        expect_words "${wrong#*:}"
    done
    expect_exit 2 "${two[@]}" '*:2999' --key none
    expect_words "names no host" "--bind"
    expect_exit 75 env DS_KEY=none "${train[@]}" --out keyless --stop-after 1 # one process needs none

    case_begin "CUDA where it is not built in" # if it is built in, the driver or the GPU may be missing: exit 7
    if ! "$dstrain" --version | grep -q 'cuda built in'; then
        expect_exit 2 "${train[@]}" --device cuda
        expect_words "built without CUDA" "--device cpu"
        expect_exit 2 "${train[@]}" --gpus 2
        expect_words "built without CUDA"
    fi
    expect_exit 2 "${train[@]}" --device cpu --tune table
    expect_words "--tune"

    case_begin "--set"
    expect_exit 2 "${train[@]}" --set optimizer.params.beta=1
    expect_words "optimizer.params.betas"
    expect_exit 2 "${train[@]}" --set optimizer.params.betas=0.9
    expect_exit 2 "${train[@]}" --set optimizer.params.betas=[0.9,1]
    expect_exit 2 "${train[@]}" --set optimizer.params.eps=x
    expect_exit 2 "${train[@]}" --set optimizer.params.adam_w_mode=1
    expect_exit 2 "${train[@]}" --set gradient_clipping
    expect_exit 2 "${train[@]}" --set gradient_clipping=-1
    expect_exit 75 "${train[@]}" --set optimizer.params.betas=[0.8,0.98] gradient_clipping=0.5 \
        --set optimizer.params.lr=1 --out set --stop-after 1
    expect_equal "in force" "$(json set/run.json '[o["identity"][k] for k in ("beta1", "gradient_clipping", "lr")]')" \
        "[0.8, 0.5, 0.001]"

    case_begin "--config after a UTF-8 mark"
    printf '\357\273\277{"gradient_clipping": 0.5}' >marked.json
    expect_exit 75 "${train[@]}" --config marked.json --out marked --stop-after 1
    printf '\357\273\277{"gradient_clipping": }' >marked.json
    expect_exit 2 "${train[@]}" --config marked.json
    expect_words "marked.json: byte 26"

    case_begin "of a launcher's processes only rank 0 says what is wrong with the command"
    for rank in 0 1; do
        for line in "$dstrain show run" "$dstrain train --optimizer sgd" "$dstrain squad" "$dsdata show run" \
            "$dsdata build --seq x"; do
            # shellcheck disable=SC2086  # the words of a command
            expect_exit 2 env OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=$rank $line --json
            expect_equal "objects of rank $rank" "$(wc -l <stdout)" $((1 - rank))
            [ ! -s stderr ] || complain "rank $rank: it is on stderr"
        done
    done

    case_begin "launchers"
    for variable in OMPI_COMM_WORLD_SIZE PMI_SIZE WORLD_SIZE; do
        expect_exit 2 env $variable=2 "${train[@]}"
        expect_words $variable
        rank=${variable/%SIZE/RANK}
        expect_exit 2 env $variable=2 "${rank/#WORLD_/}=0" MASTER_ADDR=a MASTER_PORT=1 \
            "$dstrain" plan --shards "$data"
        expect_words "started 2 processes ($variable)"
    done
    expect_exit 2 env SLURM_NTASKS=4 SLURM_STEP_ID=0 "${train[@]}"
    for verb in "show run" "plan --shards $data" "verify $data"; do
        # shellcheck disable=SC2086  # a verb and its arguments
        expect_exit 2 env PMI_SIZE=2 PMI_RANK=0 "$dstrain" $verb
        expect_words "started 2 processes (PMI_SIZE)"
    done
    expect_exit 75 env SLURM_NTASKS=4 SLURM_STEP_ID=4294967290x WORLD_SIZE=1 SLURM_STEP_ID= "${train[@]}" --out slurm \
        --stop-after 1
}

# What verbs say of runs and files that lack something. Each line: the exit code, the command, and words of the message.
refusals() {
    case_begin "what a verb cannot read"
    "${train[@]}" -q --keep-best --eval-every 4 --out whole
    "$dstrain" export -q whole --out alone-model
    for name in latest best; do
        cp -r whole no-$name
        echo step-00000099 >no-$name/$name
    done
    cp -r whole lost
    rm -r lost/checkpoints/step-00000012
    sed 's/"max_position_embeddings": 64/"max_position_embeddings": 32/' model.json >short.json
    while IFS='|' read -r code command words; do
        # shellcheck disable=SC2086  # the words are a command line
        expect_exit "$code" "$dstrain" $command
        expect_words "$words"
    done <<END
2|--shards $data --processes 2 --gpus 2|--processes cannot be given too
2|squad --init whole --train - --dev dev.json --restarts 1|save it to a file first
5|--shards $data --model short.json --seq 64|--seq 64 is above the model's 32 positions
2|verify alone-model|it has no hashes
4|verify no-latest|no-latest/latest: byte 0: names no checkpoint
4|verify no-best|no-best/best: byte 0: names no checkpoint
4|verify lost|lost/latest: byte 0: names no checkpoint
2|verify whole --from 4|--from belongs to verify --replay
2|verify --replay whole --from 8 --to 4|--from 8 is not before --to 4
2|verify --replay alone-model|--replay needs its run.json
2|fill-mask whole river|has no [MASK]
5|fill-mask whole $(printf 'the-%.0s' {1..64})[MASK]|the model has 64 positions
2|glue sst-3 --init whole --data glue --out tuned|sst-3 is not a task of GLUE
END
    expect_exit 4 "${train[@]}" --keep-best --eval-every 4 --out lost
    expect_words "is not there: the run is finished" "--skip-damaged computes the steps"

    case_begin "wrong lines"
    while IFS='|' read -r line words; do
        echo "$line" >pairs.jsonl
        expect_exit 3 "$dstrain" score whole pairs.jsonl
        expect_words "pairs.jsonl: $words"
    done <<'END'
|holds no pairs
[1]|byte 0: line 1 is not a JSON object
{"good": "the river"}|byte 0: line 1: "bad" is missing
{"good": "the river", "bad": 1}|byte 0: line 1: "bad" is not a string
{"good": "the river", "bad": " "}|byte 0: line 1: "bad" has no words
{"good": "the river", "bad": "a", "paradigm": 3}|byte 0: line 1: "paradigm" is not a string
{"good": "the river", "bad": "a"|byte 32: line 1 is not JSON
END
    cp whole/metrics.jsonl metrics.jsonl
    local place
    place="byte $(wc -c <metrics.jsonl): line $(($(wc -l <metrics.jsonl) + 1))"
    while IFS='|' read -r line words; do
        { cat metrics.jsonl && echo "$line"; } >whole/metrics.jsonl
        expect_exit 4 "$dstrain" report whole --out -
        expect_words "whole/metrics.jsonl: $place $words"
    done <<'END'
x|is not a JSON object
{"loss": 1}|holds no step
{"step": -1}|holds no step
{"step": 13, "split": 2}|names no split
{"step": 3}|has a step before that of the line above
{"step": 13, "loss": "a"}|has something other than a number
END
}

mismatches() {
    case_begin "lengths"
    expect_exit 5 "${train[@]}" --seq 48
    expect_words "32, 64"
    sed 's/"max_position_embeddings": 64/"max_position_embeddings": 32/' model.json >short.json
    expect_exit 5 "$dstrain" --shards "$data" --model short.json --seq 64
    expect_words positions

    case_begin "another run"
    expect_exit 75 "${train[@]}" --out run --stop-after 2
    expect_exit 5 "${train[@]}" --out run --lr 2e-3
    expect_words "lr 0.001 (now 0.002)"
    expect_exit 5 "${train[@]}" --out run --precision fp32
    expect_words "precision default (now fp32)"

    expect_words "--resume run to go on from that run with these settings (without --model)"
    expect_exit 5 "${train[@]}" --out run --model tiny
    expect_words "hidden 32 (now 128)" "give another --out, or --fresh"
    sed 's/"hidden_size"/"pre_layer_norm": true, "hidden_size"/' "$model" >preln.json
    expect_exit 5 "${train[@]}" --out run --model preln.json
    expect_words "pre_layer_norm" "give another --out, or --fresh"
    expect_exit 2 "$dstrain" show run/checkpoints
    expect_words "it is part of the run run"
    expect_exit 2 "$dstrain" report .
    expect_words "it holds runs: give one of them, such as ./alone"
    expect_exit 2 "$dstrain" eval run --eval-samples 0

    case_begin "a run without a checkpoint, without latest, with a damaged run.json"
    cp -r run parts
    rm parts/latest
    DS_FAIL_FILE=40:kill expect_exit 137 "${train[@]}" --out parts
    expect_equal "latest" "$(cat parts/latest)" step-00000002
    rm parts/latest
    expect_exit 75 "${train[@]}" --out parts --stop-after 1
    expect_words "parts  (continues at step 2)"
    rm -r parts/latest parts/checkpoints
    expect_exit 2 "$dstrain" export parts --out e
    expect_words "it is a run that has not saved a checkpoint yet"
    expect_exit 2 "$dstrain" verify parts
    expect_words "has no checkpoint yet"
    truncate -s 100 parts/run.json
    expect_exit 4 "${train[@]}" --out parts
    expect_words "parts/run.json: byte 100" "--fresh"
    expect_exit 75 "${train[@]}" --out parts --fresh --stop-after 1
    expect_words "is now parts.1"
    echo >parts/latest
    expect_exit 4 "${train[@]}" --out parts
    expect_words "parts/latest: does not name a checkpoint" "without this file the newest"

    case_begin "a directory of something else"
    mkdir letters
    echo "Dear Anna" >letters/anna.txt
    expect_exit 2 "${train[@]}" --out letters
    expect_words "give another --out"
    expect_exit 2 "${train[@]}" --out letters --fresh
    expect_words anna.txt
    expect_exit 2 "$dstrain" export run --out letters/anna.txt
    expect_words "letters/anna.txt: is a file, not a directory"
    expect_exit 2 "${train[@]}" --out letters/anna.txt
    expect_words "letters/anna.txt: is a file, not a directory"
    expect_equal "the letter" "$(cat letters/anna.txt)" "Dear Anna"

    case_begin "another vocabulary"
    expect_exit 0 "$dstrain" export run --out model
    sed -i 's/^river$/brook/' model/vocab.txt
    expect_exit 5 "$dstrain" --shards "$data" --init model --steps 1
    expect_words "vocab.txt" "piece"
    rm model/vocab.txt
    cp model/tokenizer.json whole.json
    python3 - model/tokenizer.json <<'PYTHON'
import json
import sys

tokenizer = json.load(open(sys.argv[1]))
vocab = tokenizer["model"]["vocab"]
vocab["river"], vocab["stone"] = vocab["stone"], vocab["river"]
json.dump(tokenizer, open(sys.argv[1], "w"))
PYTHON
    expect_exit 5 "$dstrain" --shards "$data" --init model --steps 1
    expect_words "tokenizer.json" "piece 8 differs"
    sed 's/"lowercase": *true/"lowercase": false/' whole.json >model/tokenizer.json
    expect_exit 0 "$dstrain" --shards "$data" --init model --steps 1 --dry-run # BertTokenizer reads the other file
    expect_words "model: tokenizer.json says case kept; tokenizer_config.json says lower case"
    cp model/tokenizer_config.json whole_config.json
    sed -i 's/"do_lower_case": *true/"do_lower_case": false/' model/tokenizer_config.json
    expect_exit 5 "$dstrain" --shards "$data" --init model --steps 1
    expect_words "model: is of cased text"
    sed 's/"strip_accents": *[a-z]*/"strip_accents": false/' whole_config.json >model/tokenizer_config.json
    expect_exit 5 "$dstrain" --shards "$data" --init model --steps 1
    expect_words "model: is of text with accents"
    sed -i 's/BertTokenizer/PreTrainedTokenizerFast/' model/tokenizer_config.json # which reads tokenizer.json
    cp whole.json model/tokenizer.json
    expect_exit 0 "$dstrain" --shards "$data" --init model --steps 1 --dry-run
    rm model/tokenizer.json
    expect_exit 0 "$dstrain" --shards "$data" --init model --steps 1 --dry-run
    expect_words "neither vocab.txt nor tokenizer.json"
    sed -i 's/"vocab_size": [0-9]*/"vocab_size": 30522/' model/config.json
    expect_exit 5 "$dstrain" --shards "$data" --init model --steps 1
    expect_words 30522
    expect_exit 2 "$dstrain" --shards "$data" --init model --model tiny --steps 1
    expect_words "--model"
    expect_absent runs "$scratch"
}

unsafe() {
    case_begin "a pickle"
    mkdir pickled
    cp run/checkpoints/step-00000002/config.json pickled
    expect_exit 2 "$dstrain" --shards "$data" --init pickled --steps 1
    echo x >pickled/pytorch_model.bin
    expect_exit 6 "$dstrain" --shards "$data" --init pickled --steps 1
    expect_words "to_safetensors.py"
    mv pickled/pytorch_model.bin pickled/last.ckpt
    expect_exit 6 "$dstrain" export pickled --out never
    expect_words "only last.ckpt, a pickle" "to_safetensors.py pickled/last.ckpt pickled.safetensors"
    echo x >pickled/model.fp16.safetensors
    expect_exit 2 "$dstrain" fill-mask pickled "[MASK]"
    expect_words "only model.fp16.safetensors" "mv pickled/model.fp16.safetensors pickled/model.safetensors"
    printf 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n' >pickled/model.safetensors
    expect_exit 3 "$dstrain" fill-mask pickled "[MASK]"
    expect_words "model.safetensors: is a Git LFS pointer" "git lfs pull"
    echo "garbage, garbage" >pickled/model.safetensors
    expect_exit 6 "$dstrain" --shards "$data" --init pickled --steps 1 --out never
    expect_absent never "$scratch"
    expect_exit 6 "$dstrain" export pickled --out never
    expect_absent never "$scratch"

    case_begin "--fresh would move the run that --init reads"
    expect_exit 2 "$dstrain" --shards "$data" --init run --steps 1 --out ./run --fresh
    expect_words "is in --out ./run, which --fresh would move away" "give another --out"
    expect_absent 'run.1' "$scratch"
    expect_exit 2 "$dstrain" --shards "$data" --resume run/checkpoints/step-00000002 --steps 13 --out run --fresh

    case_begin "files for results: no file of a run, a model or a dataset"
    printf '{"good": "the river .", "bad": "river the ."}\n' >pairs.jsonl
    expect_exit 0 "$dstrain" export run --out exported
    md5sum run/run.json exported/model.safetensors "$data"/seq32/*.dss >before
    expect_exit 2 "$dstrain" report run --out run/run.json
    expect_words "run/run.json: belongs to a dataset, a run or a model, which --out would destroy"
    expect_exit 2 "$dstrain" score exported pairs.jsonl --details exported/model.safetensors
    expect_words "which --details would destroy" "nothing was written"
    expect_exit 2 "${train[@]}" --out never --dump-gradients "$data/seq32/train-00000-of-00001.dss"
    expect_exit 0 md5sum --quiet -c before
    expect_exit 2 "$dstrain" score exported pairs.jsonl --details "$data"
    expect_words "is a directory: --details names a file"
    expect_exit 2 "$dstrain" score exported pairs.jsonl --details -
    expect_exit 2 "$dstrain" report run --out nowhere/page.html
    expect_words "there is no directory nowhere" "mkdir -p"
    expect_exit 2 "$dstrain" report run --out - --json
    expect_exit 2 "${train[@]}" --out never --dump-gradients /dev/null
    expect_words "is not a regular file"
    expect_absent never "$scratch"

    case_begin "a model of another shape than its config.json says, and half a model"
    expect_exit 0 "$dstrain" export run --out half
    cp -r half other
    sed -i 's/"intermediate_size": 64/"intermediate_size": 48/' other/config.json
    expect_exit 5 "$dstrain" --shards "$data" --init other --steps 1 --out never
    expect_words intermediate "is [64, 32], the model's is [48, 32]"
    truncate -s 20000 half/model.safetensors
    expect_exit 4 "$dstrain" --shards "$data" --init half --steps 1 --out never
    expect_absent never "$scratch"

    case_begin "numbers that are none"
    expect_exit 0 "$dstrain" export run --out broken
    poison broken/model.safetensors cls.seq_relationship.weight 0
    expect_exit 8 "$dstrain" --shards "$data" --init broken --steps 5 --threads 1 --out broken-run
    expect_words "cls.seq_relationship.weight holds numbers that are not finite"
    expect_absent broken-run "$scratch"
    rm -r broken
    expect_exit 0 "$dstrain" export run --out broken
    poison broken/model.safetensors bert.embeddings.LayerNorm.weight 0 3e38 32
    expect_exit 8 "$dstrain" --shards "$data" --init broken --steps 5 --threads 1 --precision fp32 --out broken-run
    expect_words "step 1" "not a number" not-finite.json
    expect_equal "all samples" \
        "$(json broken-run/not-finite.json '[s["loss"] for s in o["samples"]] == [None] * 256')" True

    case_begin "the samples that give no number, and only they, are named"
    expect_exit 0 "$dstrain" export run --out far
    poison far/model.safetensors bert.embeddings.position_embeddings.weight $((31 * 32)) 3e38 32
    expect_exit 8 "$dstrain" --shards "$data" --init far --steps 5 --batch 16 --no-shuffle --threads 1 --out far-run
    "$dsdata" export -q "$data" --seq 32 --out all.jsonl
    head -16 all.jsonl >first.jsonl
    local full named
    full=$(python3 -c 'import json, sys
print([i for i, line in enumerate(sys.stdin) if sum(json.loads(line)["input_mask"]) == 32])' <first.jsonl)
    named=$(json far-run/not-finite.json '[s["sample"] for s in o["samples"] if s["loss"] is None]')
    expect_equal "samples of all positions" "$named" "$full"
    [ "$full" != "$(seq -s ', ' 0 15)" ] || complain "every sample is of full length: nothing was tested"
    expect_words "$(sed 's/[][]//g' <<<"$full" | cut -d, -f1-8)"

    case_begin "a step that comes to no number in the middle of a run"
    local wild=("$dstrain" --shards "$data" --model "$model" --steps 30 --batch 8 --threads 1 --precision fp32 \
        --out wild
        --save-every 2 --set scheduler.type=LRRangeTest scheduler.params.lr_range_test_min_lr=1e3
        scheduler.params.lr_range_test_step_size=4 scheduler.params.lr_range_test_step_rate=1e6
        scheduler.params.lr_range_test_staircase=true)
    expect_exit 8 "${wild[@]}"
    local step
    step=$(json wild/not-finite.json 'o["step"]')
    expect_words "step $step" "the checkpoint of step $(((step - 1) / 2 * 2)) is intact" "--resume wild" "samples"
    expect_exit 0 "$dstrain" verify wild
    expect_exit 8 "${wild[@]}"
    expect_words "step $step" "is intact"
}

# poison FILE TENSOR ELEMENT [VALUE COUNT]: changes numbers of a tensor in a safetensors file, one to NaN.
poison() {
    python3 - "$@" <<'PYTHON'
import json, struct, sys

name, tensor, element, value, count = (sys.argv[1:] + ["nan", "1"])[:5]
data = bytearray(open(name, "rb").read())
size = struct.unpack("<Q", data[:8])[0]
at = 8 + size + json.loads(data[8:8 + size])[tensor]["data_offsets"][0] + 4 * int(element)
data[at:at + 4 * int(count)] = struct.pack("<f", float(value)) * int(count)
open(name, "wb").write(data)
PYTHON
}

damage() {
    case_begin "a damaged checkpoint"
    expect_exit 75 "${train[@]}" --out run --stop-after 2
    expect_equal "latest" "$(cat run/latest)" step-00000004
    flip run/checkpoints/step-00000004/optimizer.safetensors 5000
    expect_exit 4 "${train[@]}" --out run
    expect_words optimizer.safetensors step-00000002 --skip-damaged
    expect_exit 4 "$dstrain" export run --out never
    expect_exit 4 "$dstrain" --shards "$data" --init run --steps 1
    expect_exit 4 "$dstrain" --shards "$data" --resume run --steps 13
    expect_exit 0 "${train[@]}" --out run --skip-damaged
    expect_words "step-00000004 is damaged" step-00000002
    expect_exit 0 "${train[@]}" --out straight
    expect_same_checkpoint "from the checkpoint before" straight run

    case_begin "a damaged shard"
    cp -r "$data" copy
    flip copy/seq32/train-00000-of-00001.dss 6000
    expect_exit 4 "$dstrain" --shards copy --model "$model" --steps 2 --batch 8 --out damaged
    expect_words train-00000-of-00001.dss
    rm copy/seq32/train-00000-of-00001.dss
    expect_exit 4 "$dstrain" --shards copy --model "$model" --steps 2 --batch 8 --out damaged
}

full_disk() {
    case_begin "a disk that is full for one checkpoint"
    # The last of three saves is near the end of all changes; the call that fails here is well within the first save.
    local often=("${train[@]}" --save-every 4) full=(env DS_FAIL_FILE=60:28)
    expect_exit 7 "${full[@]}" "${often[@]}" --out stops
    expect_words "no space left" "the same command"
    expect_absent latest stops
    expect_exit 0 "${often[@]}" --out stops
    expect_same_checkpoint "after a full disk" straight stops
    expect_exit 0 "${full[@]}" "${often[@]}" --save-fails go-on --out goes-on
    expect_words "step 4 is not saved" "no space left" "training continues"
    expect_same_checkpoint "through a full disk" straight goes-on
    expect_equal "checkpoints" "$(ls goes-on/checkpoints | tr '\n' ' ')" "step-00000008 step-00000012 "
    expect_absent '*.tmp' goes-on

    case_begin "a disk that is full when the run is stopped"
    expect_exit 7 "${full[@]}" "${train[@]}" --stop-after 4 --save-fails go-on --out stopped
    expect_words "no space left"
    expect_absent latest stopped
    expect_exit 0 "${train[@]}" --out stopped
    expect_same_checkpoint "after a stop that could not save" straight stopped

    case_begin "a checkpoint by the clock"
    expect_exit 75 "$dstrain" --shards "$data" --model "$model" --steps 1000000 --batch 8 --threads 1 --out timed \
        --save-every 1s --keep-last 0 --time-limit 4s
    [ "$(ls timed/checkpoints | wc -l)" -ge 3 ] ||
        complain "$(ls timed/checkpoints | wc -l) checkpoints in four seconds"
}

# flip FILE BYTE
flip() {
    python3 - "$1" "$2" <<'PYTHON'
import sys

with open(sys.argv[1], "r+b") as file:
    file.seek(int(sys.argv[2]))
    byte = file.read(1)
    file.seek(int(sys.argv[2]))
    file.write(bytes([byte[0] ^ 4]))
PYTHON
}

no_validation() {
    case_begin "no held-out samples"
    "$dsdata" build -q --text text.txt --vocab vocab.txt --seq 32 --valid 0 --out none
    expect_exit 0 "$dstrain" --shards none --model "$model" --steps 2 --batch 8 --threads 1 --json
    expect_words "no evaluation"
    expect_equal "valid" "$(json stdout '"valid" in o')" False
    expect_exit 0 "$dstrain" --shards none --model "$model" --steps 2 --batch 8 --threads 1 --out none-run
    expect_exit 5 "$dstrain" eval none-run
    expect_words "valid samples"
    expect_exit 0 "$dstrain" eval none-run --split train
}

usage
contradictions
refusals
mismatches
unsafe
damage
full_disk
no_validation
flow_end
