#!/usr/bin/env bash
# Fine-tunes one model with the settings of published tutorials, and prints its scores next to theirs.
#
#     scripts/finetune_seeds.sh CKPT DATA OUT [OPTION…]
#
# CKPT: a run, a checkpoint or a Hugging Face directory. DATA: train-v1.1.json and dev-v1.1.json of SQuAD, there or in
# squad/, and GLUE's folders (CoLA …), there or in glue/; missing ones are skipped. OUT: a folder for the runs; the same
# command continues where it stopped. Options are passed to every dstrain (e.g. --device cuda). DSTRAIN names the
# program.
#
# The published scores: SQuAD 1.1 of BERT-large (batch 24), and of whole-word BERT-large (batch 96, no decay, 1-bit Adam
# from update 400 on); GLUE of BERT-base and of one with progressive layer dropping, with a learning rate for each task.
set -euo pipefail
[ $# -ge 3 ] || { sed -n '2,/^set/p' "$0" | sed '$d; s/^# \{0,1\}//' >&2; exit 2; }
ckpt=$1 data=$2 out=$3
shift 3
dstrain=${DSTRAIN:-dstrain}
command -v "$dstrain" >/dev/null ||
    { echo "$dstrain does not exist: set DSTRAIN, e.g. to build/release/dstrain" >&2; exit 2; }
command -v python3 >/dev/null || { echo "python3 is not installed" >&2; exit 2; }
[ -d "$data" ] || { echo "$data: no such folder" >&2; exit 2; }

squad=$data glue=$data done=0
[ ! -d "$data/squad" ] || squad=$data/squad
[ ! -d "$data/glue" ] || glue=$data/glue

# squad_as NAME OPTION…: one fine-tuning on SQuAD 1.1.
squad_as() {
    local name=$1
    shift
    "$dstrain" squad --init "$ckpt" --train "$squad/train-v1.1.json" --dev "$squad/dev-v1.1.json" --seq 384 \
        --doc-stride 128 \
        --lr 3e-5 --epochs 2 --out "$out/$name" "$@"
    done=$((done + 1))
}

# glue_as TASK FOLDER LEARNING_RATE [OPTION…]: batch 32, 5 epochs, length 128, as in their script.
glue_as() {
    local task=$1 folder=$2 rate=$3
    shift 3
    [ -d "$glue/$folder" ] || { echo "$task is left out: $glue holds no folder $folder" >&2; return 0; }
    "$dstrain" glue "$task" --init "$ckpt" --data "$glue" --seq 128 --batch 32 --lr "$rate" --epochs 5 \
        --out "$out/$task" "$@"
    done=$((done + 1))
}

if [ -f "$squad/train-v1.1.json" ] && [ -f "$squad/dev-v1.1.json" ]; then
    squad_as squad-24 --batch 24 "$@"
    squad_as squad-96 --batch 96 --optimizer onebit_adam --set optimizer.params.freeze_step=400 \
        --set optimizer.params.weight_decay=0 "$@"
else
    echo "SQuAD is left out: $squad holds no train-v1.1.json and dev-v1.1.json" >&2
fi
glue_as rte RTE 7e-5 "$@"
glue_as mrpc MRPC 9e-5 "$@"
glue_as sts-b STS-B 7e-5 "$@"
glue_as cola CoLA 5e-5 "$@"
glue_as sst-2 SST-2 7e-5 "$@"
glue_as qnli QNLI 9e-5 "$@"
glue_as qqp QQP 2e-4 "$@"
glue_as mnli MNLI 3e-5 "$@"
[ $done -gt 0 ] || { echo "$data holds neither SQuAD 1.1 nor a task of GLUE" >&2; exit 2; }

python3 - "$out" <<'PYTHON'
import json, pathlib, sys

out = pathlib.Path(sys.argv[1])
# The run, the names of its scores, the published ones: one score, or that of BERT-base and that with layer drop.
rows = [("squad-24", ["f1"], "90.5 (large)"), ("squad-96", ["exact_match", "f1"], "87.26/93.32 (large, whole-word)"),
        ("rte", ["acc"], "67.8, 69.3"), ("mrpc", ["f1", "acc"], "88.0/86.0, 86.6/84.3"),
        ("sts-b", ["pearson", "spearmanr"], "89.5/89.2, 90.0/89.6"), ("cola", ["mcc"], "52.5, 55.8"),
        ("sst-2", ["acc"], "91.2, 91.6"), ("qnli", ["acc"], "87.1, 90.7"),
        ("qqp", ["f1", "acc"], "89.0/90.6, 89.6/91.2"), ("mnli", ["acc", "acc-mm"], "82.5/83.4, 84.1/83.8")]
print(f"{'':12}{'ours':14}theirs")
values = []
for name, keys, theirs in rows:
    path = out / name / "scores.json"
    if not path.exists():
        continue
    scores = json.loads(path.read_text())
    numbers = [scores[key] * (1 if name.startswith("squad") else 100) for key in keys]
    if not name.startswith("squad"):
        values.append(sum(numbers) / len(numbers))
    print(f"{name:12}{'/'.join(f'{number:.2f}' for number in numbers):14}{theirs}")
if len(values) == 8:
    print(f"{'GLUE':12}{sum(values) / 8:<14.2f}82.1, 82.9")
PYTHON
