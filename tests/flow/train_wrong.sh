#!/usr/bin/env bash
# Wrong use of dstrain: each mistake gets a sentence that names it and the exit code of design section 6, and what was
# there is left alone.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"

cd "$scratch"

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
    expect_exit 2 "$dstrain" plan
    expect_words "--shards"
    expect_exit 2 "$dstrain" plan --shards "$data" --eval-every 5
    expect_exit 2 "$dstrain" export nowhere --out e
    expect_exit 2 "$dstrain" export
    expect_absent 'runs' "$scratch"

    case_begin "not built yet"
    for option in --timings "--optimizer onebit_adam" "--device cuda" "--gpus 2"; do
        # shellcheck disable=SC2086  # an option and its value
        expect_exit 2 "${train[@]}" $option
        expect_words "not built yet"
    done
    for verb in bench squad glue fill-mask report; do
        expect_exit 2 "$dstrain" $verb x
        expect_words "not built yet"
    done
    "$dstrain" train --help >help.txt
    if grep -qE -e '--(timings|gpus)|onebit|cuda' help.txt; then complain "--help offers it"; fi

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

    case_begin "launchers"
    for variable in OMPI_COMM_WORLD_SIZE PMI_SIZE WORLD_SIZE; do
        expect_exit 2 env $variable=2 "${train[@]}"
        expect_words $variable
    done
    expect_exit 2 env SLURM_NTASKS=4 SLURM_STEP_ID=0 "${train[@]}"
    expect_exit 75 env SLURM_NTASKS=4 SLURM_STEP_ID=4294967290x WORLD_SIZE=1 SLURM_STEP_ID= "${train[@]}" --out slurm \
        --stop-after 1
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

    case_begin "a directory of something else"
    mkdir letters
    echo "Dear Anna" >letters/anna.txt
    expect_exit 2 "${train[@]}" --out letters
    expect_exit 2 "${train[@]}" --out letters --fresh
    expect_words anna.txt
    expect_equal "the letter" "$(cat letters/anna.txt)" "Dear Anna"

    case_begin "another vocabulary"
    expect_exit 0 "$dstrain" export run --out model
    sed -i 's/^river$/brook/' model/vocab.txt
    expect_exit 5 "$dstrain" --shards "$data" --init model --steps 1
    expect_words "piece"
    rm model/vocab.txt
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
    expect_words "save_pretrained"
    echo "garbage, garbage" >pickled/model.safetensors
    expect_exit 6 "$dstrain" --shards "$data" --init pickled --steps 1 --out never
    expect_absent never "$scratch"
    expect_exit 6 "$dstrain" export pickled --out never
    expect_absent never "$scratch"

    case_begin "numbers that are none"
    expect_exit 0 "$dstrain" export run --out broken
    python3 - broken/model.safetensors <<'PYTHON'
import struct, sys

data = bytearray(open(sys.argv[1], "rb").read())
data[-4:] = struct.pack("<f", float("nan"))
open(sys.argv[1], "wb").write(data)
PYTHON
    expect_exit 8 "$dstrain" --shards "$data" --init broken --steps 5 --threads 1 --out broken-run
    expect_words "step 1" "not a number"
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
mismatches
unsafe
damage
no_validation
flow_end
