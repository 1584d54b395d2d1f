#!/usr/bin/env bash
# glue and squad with several processes and micro-batches: the same step, and with --same-bits the same bytes; a run of
# squad that is killed ten times ends like one that was not.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"
needs_faults

cd "$scratch"
many=yes
[ -e "$build/dstrain_gloo.so" ] || { echo "gloo is not built: one process only"; many=no; }
"${train[@]}" -q --steps 2 --out pre
python3 - <<'PYTHON'
import json
import os
import random

random.seed(11)
words = "the a river water stone hill town small large flows stands near under".split()


def text(low, high):
    return [random.choice(words) for _ in range(random.randint(low, high))]


os.makedirs("glue/MRPC")
for name, count in (("train", 90), ("dev", 20)):
    with open(f"glue/MRPC/{name}.tsv", "w") as file:
        file.write("Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n")
        for i in range(count):
            file.write(f"{i % 2}\t1\t2\t{' '.join(text(2, 12))} is\t{' '.join(text(2, 12))} {['was', 'is'][i % 2]}\n")
    paragraphs = []
    for i in range(count):
        context = text(4, 12) if i % 5 else text(70, 70)
        at = random.randrange(1, len(context))
        answer = context[at] = random.choice(["old", "new"])
        answers = [{"text": answer, "answer_start": len(" ".join(context[:at])) + 1}]
        paragraphs.append({"context": " ".join(context),
                           "qas": [{"id": f"{name}-{i}", "question": "was in?", "answers": answers}]})
    json.dump({"version": "1.1", "data": [{"title": "t", "paragraphs": paragraphs}]}, open(f"{name}.json", "w"))
PYTHON

options=(--init pre --batch 24 --lr 1e-3 --threads 1 --log-every 1 --save-every 4 -q)
# shellcheck disable=SC2034 # used by its name below
glue=("$dstrain" glue mrpc --data glue --seq 32 --steps 8 "${options[@]}")
squad=("$dstrain" squad --train train.json --dev dev.json --seq 48 --doc-stride 16 --max-query 8 \
    --steps 8 "${options[@]}")
step=checkpoints/step-00000008

# same_bytes WHAT A B: compares the last checkpoint and all output of the model.
same_bytes() {
    local file
    diff -r "$2/$step" "$3/$step" >"$scratch/stdout" 2>&1 || complain "$1: checkpoints of $2 and $3 differ"
    for file in scores.json eval_results.txt predictions predictions.json nbest_predictions.json; do
        [ ! -e "$2/$file" ] || diff -r "$2/$file" "$3/$file" >"$scratch/stdout" 2>&1 || complain "$1: $file differs"
    done
}

for task in glue squad; do
    declare -n command=$task
    case_begin "$task: micro-batches"
    expect_exit 0 "${command[@]}" --precision fp32 --micro-batch 24 --out $task-24
    expect_exit 0 "${command[@]}" --precision fp32 --micro-batch 4 --out $task-4
    compared "micro-batches 24 and 4" 1e-6 $task-24 $task-4 $step
    [ $many = yes ] || continue
    case_begin "$task: processes"
    expect_exit 0 "${command[@]}" --precision fp32 --processes 3 --out $task-processes
    compared "1 and 3 processes" 1e-6 $task-24 $task-processes $step
    case_begin "$task: the same bytes"
    expect_exit 0 "${command[@]}" --micro-batch 1 --same-bits --out $task-same
    expect_exit 0 "${command[@]}" --micro-batch 1 --same-bits --processes 3 --out $task-same-3
    same_bytes "1 and 3 processes" $task-same $task-same-3
    case_begin "$task: computed again"
    expect_exit 0 "$dstrain" verify --replay --threads 1 $task-same-3
    expect_words "step 8: the same bytes"
    expect_exit 0 "$dstrain" verify --replay --threads 1 --from 0 $task-same --processes 2
    expect_exit 0 "$dstrain" verify --replay --threads 1 --from 4 $task-24
    case_begin "$task: stopped, and resumed by another number of processes, also after one was lost"
    expect_exit 75 "${command[@]}" --micro-batch 1 --same-bits --processes 3 --out $task-cut --stop-after 3
    DS_FAIL_PLACE="1:5:the update:once" DS_RESTART_SECONDS=0.01 expect_exit 75 "${command[@]}" --micro-batch 1 \
        --same-bits --processes 2 --out $task-cut --stop-after 2 --restarts 1
    expect_words "stopped after 2 steps" "at step 5" "restart 1 of 1"
    expect_exit 0 "${command[@]}" --micro-batch 1 --same-bits --out $task-cut
    same_bytes "a run that was stopped" $task-same $task-cut
done

case_begin "computed again: one of several seeds and of all tasks; files that are gone"
expect_exit 0 "$dstrain" glue all --seeds 2 --data glue --seq 32 --steps 4 "${options[@]}" --out all
expect_exit 0 "$dstrain" verify --replay --threads 1 all/mrpc/seed-43
cp -r squad-24 other
sed -i 's/"task": "squad"/"task": "glue mrpc"/' other/run.json
expect_exit 4 "$dstrain" verify --replay --threads 1 other
expect_words "is not a training"
mv train.json gone.json
expect_exit 2 "$dstrain" verify --replay --threads 1 squad-24
expect_words train.json
mv gone.json train.json

case_begin "squad: killed ten times"
killed=("${squad[@]}" --save-every 1)
expect_exit 0 "${killed[@]}" --out whole
for n in 9 25 44 31 52 17 60 38 47 71; do
    expect_exit 137 env DS_FAIL_FILE=$n:kill "${killed[@]}" --out killed
done
expect_exit 0 "${killed[@]}" --out killed
same_bytes "a run that was killed" whole killed

flow_end
