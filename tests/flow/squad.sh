#!/usr/bin/env bash
# dstrain squad: synthetic questions whose answer is one of two words, learned by a tiny model: its files, runs that are
# stopped or repeated, version 2, and messages for wrong input.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"

cd "$scratch"
"${train[@]}" -q --out pre
python3 - <<'PYTHON'
import json
import random

random.seed(5)
words = "the a river water stone hill town small large flows stands near".split()


def write(name, count, version_2=False):
    paragraphs = []
    for i in range(count):
        text = [random.choice(words) for _ in range(random.randint(4, 12) if i % 5 else 70)]
        at = random.randrange(1, len(text))
        text[at] = answer = random.choice(["old", "new"])
        context = " ".join(text)
        start = len(" ".join(text[:at])) + 1
        qa = {"id": f"{name}-{i}", "question": "was in?", "answers": [{"text": answer, "answer_start": start}]}
        if version_2:
            qa["is_impossible"] = i % 3 == 0
            if qa["is_impossible"]:
                qa["answers"] = []
                context = context.replace(answer, "over")
        paragraphs.append({"context": context, "qas": [qa]})
    json.dump({"version": "2.0" if version_2 else "1.1", "data": [{"title": "t", "paragraphs": paragraphs}]},
              open(f"{name}.json", "w"))
    return paragraphs


write("train", 200)
write("dev", 50)
write("train2", 60, True)
write("dev2", 30, True)
bad = write("left", 20)
bad[3]["qas"][0]["answers"][0]["text"] = "nowhere"
json.dump({"data": [{"paragraphs": bad}]}, open("left.json", "w"))
PYTHON

squad=("$dstrain" squad --init pre --seq 48 --doc-stride 16 --max-query 8 --batch 16 --threads 1 --log-every 5)

learns() {
    case_begin "questions are learned, answered and scored"
    expect_exit 0 "${squad[@]}" --train train.json --dev dev.json --epochs 30 --lr 3e-3 --out one
    expect_words "scores     EM" "50 questions" "qa_outputs.weight"
    local end=" dstrain report one dstrain export one --out DIR "
    expect_equal "last lines" "$(tail -4 "$scratch/stderr" | tr -s ' \n' ' ')" \
        "next dstrain eval one --dev FILE dstrain predict one FILE --out FILE$end"
    [ "$(json one/scores.json 'o["exact_match"] > 80 and o["f1"] >= o["exact_match"]')" = True ] ||
        complain "EM is $(json one/scores.json 'o["exact_match"]')"
    expect_equal "answers" "$(json one/predictions.json 'len(o)')" 50
    expect_equal "the n best" "$(json one/nbest_predictions.json \
        'all(1 <= len(a) <= 20 and abs(sum(b["probability"] for b in a) - 1) < 1e-6 for a in o.values())')" True
    expect_equal "the class" "$(json one/"$(printf 'checkpoints/%s' "$(cat one/latest)")"/config.json \
        'o["architectures"][0]')" BertForQuestionAnswering
    [ ! -e one/null_odds.json ] || complain "version 1.1 has null_odds.json"

    case_begin "without --train the model answers as it is"
    expect_exit 0 "${squad[@]}" --init one --dev dev.json --out as-is
    for file in predictions.json nbest_predictions.json scores.json; do
        cmp "as-is/$file" "one/$file" >"$scratch/stdout" || complain "$file differs"
    done
    cp one/scores.json kept
    expect_exit 0 "${squad[@]}" --init one --dev dev.json --out as-is --n-best 1
    expect_equal "the n best again" "$(json as-is/nbest_predictions.json 'max(map(len, o.values()))')" 1
    expect_exit 5 "${squad[@]}" --init one --dev dev.json --out one
    expect_words "one: holds a run"
    cmp one/scores.json kept >"$scratch/stdout" || complain "the run's scores have changed"
    mkdir letters
    echo "Dear Anna" >letters/anna.txt
    expect_exit 2 "${squad[@]}" --init one --dev dev.json --out letters
    expect_words "letters: is not empty" anna.txt
    expect_exit 2 "${squad[@]}" --init one --dev dev.json --out letters/anna.txt
    expect_absent 'predictions.json' letters

    case_begin "eval gives the same scores, of the run and of its export"
    expect_exit 0 "$dstrain" eval one --json
    expect_equal "scores" "$(json stdout 'o["exact_match"], o["f1"], o["total"]')" \
        "$(json one/scores.json 'o["exact_match"], o["f1"], o["total"]')"
    expect_exit 0 "$dstrain" export one --out model
    expect_exit 0 "$dstrain" eval model --dev dev.json --seq 48 --doc-stride 16 --max-query 8
    grep -q "^scores     EM $(json one/scores.json '"%.2f, F1 %.2f" % (o["exact_match"], o["f1"])')   50 questions$" \
        stdout || complain "other scores of the export"
    if [ -e "$build/dstrain_gloo.so" ]; then
        expect_exit 0 "$dstrain" eval one --json --processes 2
        expect_equal "scores of two processes" "$(json stdout 'o["exact_match"], o["f1"], o["total"]')" \
            "$(json one/scores.json 'o["exact_match"], o["f1"], o["total"]')"
    fi
    expect_exit 2 "$dstrain" eval one --data x
    expect_words "the task of one is squad"
    expect_exit 5 "$dstrain" eval pre --task squad --dev dev.json --seq 48 --max-query 8
    expect_words "pre: has no head for squad"

    case_begin "the same command again prints the scores"
    expect_exit 0 "${squad[@]}" --train train.json --dev dev.json --epochs 30 --lr 3e-3 --out one --json
    expect_words "is finished"
    expect_equal "EM" "$(json "$scratch/stdout" 'o["exact_match"]')" "$(json one/scores.json 'o["exact_match"]')"
    grep -q "has the answers of" "$scratch/stderr" && complain "a warning without a reason"
    expect_exit 0 "${squad[@]}" --train train.json --dev train.json --n-best 3 --epochs 30 --lr 3e-3 --out one
    expect_words "one has the answers of --dev dev.json" "one has the answers of --n-best 20" "50 questions"
    expect_exit 0 "${squad[@]}" --train train.json --steps 1 --out unanswered
    expect_exit 2 "${squad[@]}" --train train.json --steps 1 --dev dev.json --out unanswered
    expect_words "dstrain squad --init unanswered --dev FILE"
}

questions='[q for p in o["data"][0]["paragraphs"] for q in p["qas"]]'

predicts() {
    local of_export=(--seq 48 --doc-stride 16 --max-query 8)
    case_begin "predict writes the questions again, each with its answer and the answer's probability, and scores them"
    expect_exit 0 "$dstrain" predict one dev.json --out answered.json --threads 1
    expect_words "done       50 questions predicted" "scores     EM"
    python3 - <<'PYTHON' || complain "other answers than the run's"
import json

out, dev, best, choices = (json.load(open(name)) for name in (
    "answered.json", "dev.json", "one/predictions.json", "one/nbest_predictions.json"))
questions = [q for a in out["data"] for p in a["paragraphs"] for q in p["qas"]]
assert {q["id"]: q["prediction"] for q in questions} == best
for q in questions:
    assert abs(q.pop("probability") - choices[q["id"]][0]["probability"]) < 1e-5, q
    assert q.pop("prediction") == choices[q["id"]][0]["text"]
assert out == dev
PYTHON
    expect_exit 0 "$dstrain" predict model dev.json "${of_export[@]}" --out again.json --threads 1
    cmp again.json answered.json || complain "the export answers otherwise"
    case_begin "JSON lines, standard input and compressed files give the same answers"
    python3 - <<'PYTHON'
import json

with open("dev.jsonl", "w") as plain, open("flat.jsonl", "w") as flat:
    for p in json.load(open("dev.json"))["data"][0]["paragraphs"]:
        q = {**p["qas"][0], "context": p["context"]}
        plain.write(json.dumps(q) + "\n\n")
        answers = {key: [a[key] for a in q["answers"]] for key in ("text", "answer_start")}
        flat.write(json.dumps({"context": p["context"], "question": q["question"], "answers": answers}) + "\r\n")
PYTHON
    local name
    for name in dev.jsonl flat.jsonl; do
        expect_exit 0 "$dstrain" predict one $name --out lines --threads 1
        expect_words "done       50 questions predicted" \
            "scores     EM $(json one/scores.json '"%.2f" % o["exact_match"]')"
        python3 - $name <<'PYTHON' || complain "$name: other answers"
import json
import sys

lines, ours = ([json.loads(line) for line in open(name) if line.strip()] for name in (sys.argv[1], "lines"))
whole = [q for a in json.load(open("answered.json"))["data"] for p in a["paragraphs"] for q in p["qas"]]
assert len(lines) == len(ours) == len(whole) == 50
for line, one, q in zip(lines, ours, whole):
    assert one == {**line, "prediction": q["prediction"], "probability": q["probability"]}, (one, q)
PYTHON
        rm lines
    done
    gzip -k dev.json
    zstd -q dev.json -o dev.json.zst
    xz -k dev.json
    for name in dev.json.gz dev.json.zst dev.json.xz; do
        expect_exit 0 "$dstrain" predict one $name --out packed.json --threads 1
        cmp packed.json answered.json || complain "$name: other answers"
    done
    expect_exit 0 sh -c '"$@" - --out - <dev.json' sh "$dstrain" predict one --threads 1
    cmp stdout answered.json || complain "other answers of standard input"
    expect_exit 0 "$dstrain" eval one --dev dev.jsonl --json
    expect_equal "scores" "$(json stdout 'o["exact_match"]')" "$(json one/scores.json 'o["exact_match"]')"
    case_begin "questions without answers are answered and not scored; mistakes"
    { head -1 dev.jsonl; echo '{"question": "was in?"}'; } >lacks.jsonl
    expect_exit 3 "$dstrain" predict one lacks.jsonl --out x
    expect_words 'line 2 has no "context" or no "question"'
    { head -1 dev.jsonl; echo '{"question": "was in?'; } >cut.jsonl
    expect_exit 3 "$dstrain" predict one cut.jsonl --out x
    expect_words "line 2 is not JSON"
    iconv -t UTF-16 dev.json >wide.json
    expect_exit 6 "$dstrain" predict one wide.json --out x
    expect_words "wide.json: is UTF-16" "iconv"
    sed 's/"answers": \[[^]]*\]/"answers": []/g' dev.json >asked.json
    expect_exit 0 "$dstrain" predict one asked.json --out - --threads 1
    grep -q "scores " stderr && complain "scores without answers"
    expect_equal "answers" "$(json "$scratch/stdout" "sum('prediction' in q for q in $questions)")" 50
    expect_exit 2 "$dstrain" predict one answered.json --out x
    expect_words 'a question with the key "prediction" already'
    expect_exit 2 "$dstrain" predict one dev.json --all --out x
    expect_words "--all is for models"
    expect_exit 3 "$dstrain" predict one "$data/manifest.json" --out x
    expect_words "not a file of questions"
    expect_exit 2 "$dstrain" predict one dev.json --out dev.json
    [ ! -e x ] || complain "x was made"
    expect_exit 0 "${squad[@]}" --train train2.json --dev dev2.json --steps 5 --null-threshold -1000 --out never
    expect_exit 0 "$dstrain" predict never dev2.json --out never.json --threads 1
    expect_words "never an answer: 33.33"
    expect_equal "answers" "$(json never.json "set(q['prediction'] for q in $questions)")" "{''}"
}

stops() {
    case_begin "a run that is stopped ends with the same bytes"
    expect_exit 0 "${squad[@]}" --train train.json --dev dev.json --steps 9 --out whole
    while "${squad[@]}" --train train.json --dev dev.json --steps 9 --out cut --stop-after 2 >"$scratch/stdout" \
        2>"$scratch/stderr"; [ $? = 75 ]; do :; done
    diff -r whole/checkpoints/step-00000009 cut/checkpoints/step-00000009 >"$scratch/stdout" || complain "they differ"
    for file in predictions.json nbest_predictions.json scores.json; do
        cmp "whole/$file" "cut/$file" >"$scratch/stdout" || complain "$file differs"
    done
}

held_out() {
    case_begin "the loss of the questions to be answered, where it is asked for"
    expect_exit 0 "${squad[@]}" --train train.json --dev dev.json --steps 6 --lr 0 --eval-every 2 --patience 1 \
        --keep-best --out held
    expect_words "did not lower the held-out loss" "best"
    expect_equal "evaluations" "$(grep -c '"split":"valid".*"span_loss"' held/metrics.jsonl)" 2
    [ "$(cat held/best)" = step-00000002 ] || complain "another checkpoint is the best"
    expect_exit 0 "${squad[@]}" --train train2.json --dev dev2.json --steps 2 --keep-best --out held2
    expect_equal "evaluations" "$(grep -c '"split":"valid"' held2/metrics.jsonl)" 1
    expect_exit 0 "${squad[@]}" --train train.json --steps 2 --eval-every 1 --out alone
    expect_words "there will be no evaluation"
}

second_version() {
    case_begin "version 2"
    expect_exit 0 "${squad[@]}" --train train2.json --dev dev2.json --steps 5 --out two
    expect_words "30 questions; never an answer: 33.33"
    expect_equal "null odds" "$(json two/null_odds.json 'len(o)')" 30
    expect_equal "scores" "$(json two/scores.json 'o["HasAns_total"] + o["NoAns_total"], "best_f1_thresh" in o')" \
        "(30, True)"
    case_begin "a threshold decides"
    expect_exit 0 "${squad[@]}" --init two --dev dev2.json --null-threshold -1000 --out none
    expect_equal "answers" "$(json none/predictions.json 'set(o.values())')" "{''}"
    expect_equal "those without answers are right" "$(json none/scores.json 'o["NoAns_exact"], o["HasAns_exact"]')" \
        "(100.0, 0.0)"
}

wrong() {
    case_begin "wrong use"
    expect_exit 2 "${squad[@]}" --out x
    expect_words "--train" "--dev"
    expect_exit 2 "${squad[@]}" --dev dev.json
    expect_words "--out"
    expect_exit 2 "${squad[@]}" --train nowhere.json --out x
    expect_exit 2 "${squad[@]}" --train train.json --logits one.safetensors --out x
    expect_words "--logits" "--dev"
    expect_exit 5 "${squad[@]}" --train train.json --seq 128 --out x
    expect_exit 3 "${squad[@]}" --train train.json --dev dev2.json --out x
    expect_words "is of version 2.0"
    : >empty.json
    expect_exit 3 "${squad[@]}" --train empty.json --out x
    echo '{"data": []}' >empty.json
    expect_exit 3 "${squad[@]}" --train empty.json --out x
    expect_words "no questions"
    expect_exit 3 "${squad[@]}" --train "$data/manifest.json" --out x
    python3 - <<'PYTHON'
import json

file = json.load(open("dev2.json"))
file["data"][0]["paragraphs"][0]["qas"][0]["is_impossible"] = "true"
json.dump(file, open("word.json", "w"))
file = json.load(open("dev.json"))
qas = file["data"][0]["paragraphs"][0]["qas"]
qas[0]["answers"] *= 2
json.dump(file, open("several.json", "w"))
qas[0]["answers"] = [{"text": "x", "answer_start": 10 ** 6}]
json.dump(file, open("beyond.json", "w"))
qas[0]["answers"] = []
qas.append(qas[0])
json.dump(file, open("twice.json", "w"))
PYTHON
    expect_exit 3 "${squad[@]}" --train several.json --out x
    expect_words "dev-0" "2 answers" "--dev"
    expect_exit 3 "${squad[@]}" --dev beyond.json --out x
    expect_words "dev-0" "outside its context"
    expect_exit 3 "${squad[@]}" --dev word.json --out x
    expect_words "dev2-0" "is_impossible"
    expect_exit 3 "${squad[@]}" --dev twice.json --out x
    expect_words "twice"
    { printf '\357\273\277'; head -c 300 dev.json; } >cut.json
    expect_exit 3 "${squad[@]}" --dev cut.json --out x
    expect_words "cut.json: byte 303" "JSON lines"
    echo '{"question": "Was it there?", "context": "It was there."}' >none.jsonl
    expect_exit 3 "${squad[@]}" --dev none.jsonl --out x
    expect_words "none.jsonl: has no answers to score by" "dstrain predict"
    expect_exit 3 "$dstrain" eval one --dev none.jsonl
    expect_words "has no answers to score by"
    echo '{"question": "Who?", "context": "Ann.", "answers": [{"text": "Bob", "answer_start": 0}]}' >astray.jsonl
    expect_exit 3 "${squad[@]}" --train astray.jsonl --out x
    expect_words "no answer is in its context (1 question)"
    [ ! -e x ] || complain "something was written"
    case_begin "a UTF-8 mark before the questions; a model without a head for them"
    { printf '\357\273\277'; cat dev.json; } >marked.json
    expect_exit 0 "${squad[@]}" --dev marked.json --out marked
    expect_words "warning: pre cannot answer questions yet" "--train"
    case_begin "questions that cannot be trained on are left out"
    expect_exit 0 "${squad[@]}" --train left.json --steps 1 --out left
    expect_words "left out, as the answer is not in the context: 1 question: left-3"
}

learns
predicts
stops
held_out
second_version
wrong
flow_end
