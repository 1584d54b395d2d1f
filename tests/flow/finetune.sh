#!/usr/bin/env bash
# The tasks that scripts/make_squad.py makes from a dump, and scripts/finetune_seeds.sh on them.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"

cd "$scratch"
make=(python3 "$project/scripts/make_squad.py" "$samples" --dsdata "$dsdata")

case_begin "questions and pairs of a dump"
expect_exit 0 "${make[@]}" made
expect_exit 0 "${make[@]}" again
diff -r made again >"$scratch/stdout" || complain "the same dump gives other bytes"
python3 - <<'PYTHON' >"$scratch/said" 2>&1 || complain "$(tail -1 "$scratch/said")"
import json

pages, ids = {}, set()
for part in ("train", "dev"):
    data = json.load(open(f"made/squad/{part}-v1.1.json"))["data"]
    pages[part] = {article["title"] for article in data}
    for article in data:
        for paragraph in article["paragraphs"]:
            [qa] = paragraph["qas"]
            [answer] = qa["answers"]
            at, text = answer["answer_start"], answer["text"]
            assert paragraph["context"][at:at + len(text)] == text and paragraph["context"].count(f" {text} ") <= 1, qa
            assert "what" in qa["question"] and qa["question"].endswith("?") and qa["id"] not in ids, qa
            ids.add(qa["id"])
    rows = [line.rstrip("\n").split("\t") for line in open(f"made/glue/MRPC/{part}.tsv")][1:]
    assert all(len(row) == 5 and (row[0] == "1") == (row[1] == row[2]) and row[3] and row[4] for row in rows), rows
    ones = sum(row[0] == "1" for row in rows)
    assert len(rows) >= 20 and abs(ones - len(rows) / 2) <= 0.2 * len(rows), (ones, len(rows))
    pages[part] |= {row[k] for row in rows for k in (1, 2)}
assert len(ids) > 100 and not pages["train"] & pages["dev"], (len(ids), pages["train"] & pages["dev"])
PYTHON
expect_exit 0 "${make[@]}" fewer --questions 20 --pairs 30
expect_equal "questions" "$(json fewer/squad/train-v1.1.json 'sum(len(a["paragraphs"]) for a in o["data"])')" \
    "$((20 - $(json fewer/squad/dev-v1.1.json 'sum(len(a["paragraphs"]) for a in o["data"])')))"

case_begin "what the seeds ran, on small inputs"
export DSTRAIN=$dstrain
"$dsdata" build -q --wiki "$samples" --vocab-size 1000 --seq 32 --out wiki
sed -i 's/"max_position_embeddings": 64/"max_position_embeddings": 384/' "$model"
expect_exit 0 "$dstrain" -q --shards wiki --model "$model" --steps 2 --batch 8 --threads 1 --out pre
seeds=("$project/scripts/finetune_seeds.sh" pre made out --epochs 0.2 --threads 1 -q)
expect_exit 0 "${seeds[@]}"
expect_words "qqp is left out"
expect_equal "rows" "$(cut -d' ' -f1 "$scratch/stdout" | tr '\n' ' ')" " squad-24 squad-96 mrpc "
grep -q "^squad-24 .*90.5 (large)" "$scratch/stdout" || complain "no figure of theirs"
grep -qF "$(json out/mrpc/scores.json '"%.2f/%.2f" % (100 * o["f1"], 100 * o["acc"])')" "$scratch/stdout" ||
    complain "another score than that of the run"
cp "$scratch/stdout" table
expect_exit 0 "${seeds[@]}"
cmp -s table "$scratch/stdout" || complain "another table the second time"
expect_exit 2 "$project/scripts/finetune_seeds.sh" pre wiki nothing
expect_words "neither SQuAD 1.1 nor a task of GLUE"
expect_exit 2 "$project/scripts/finetune_seeds.sh" pre
expect_words "scripts/finetune_seeds.sh CKPT DATA OUT"
expect_absent nothing .

flow_end
