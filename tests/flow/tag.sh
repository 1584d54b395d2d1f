#!/usr/bin/env bash
# dstrain tag: words with tags, learned by a tiny model: scores, long sentences, a run that is stopped and repeated,
# eval, predict of CoNLL and JSON lines, and messages for wrong input.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"

cd "$scratch"
"${train[@]}" -q --out pre
python3 - <<'PYTHON'
import json
import random

random.seed(7)
tags = {"river": "B-LOC", "town": "B-LOC", "old": "O", "the": "O", "stone": "B-OBJ", "small": "O", "hill": "B-LOC"}
for name, count in (("train", 150), ("dev", 40)):
    rows = []
    for i in range(count):
        words = [random.choice(list(tags)) for _ in range(random.randint(2, 9) if i % 20 else 60)]
        marks = [tags[w] for w in words]
        rows.append((words, ["I" + t[1:] if k and t != "O" and marks[k - 1][1:] == t[1:] else t
                             for k, t in enumerate(marks)]))
    with open(f"{name}.conll", "w") as file:
        file.write("-DOCSTART- -X- O\n\n")
        for words, marks in rows:
            file.write("".join(f"{w} _ {t}\n" for w, t in zip(words, marks)) + "\n")
    with open(f"{name}.jsonl", "w") as file:
        for words, marks in rows:
            file.write(json.dumps({"tokens": words, "tags": marks}) + "\n")
PYTHON
tune=("$dstrain" tag --init pre --seq 32 --batch 16 --threads 1 --log-every 1 --epochs 100 --lr 3e-3)

case_begin "tags are learned, and long sentences are cut"
expect_exit 0 "${tune[@]}" --train train.conll --dev dev.conll --out one
expect_words "tags       B-LOC, B-OBJ, I-LOC, I-OBJ, O" "10 sentences longer than --seq" "scores     accuracy" "   LOC"
expect_equal "well" "$(json one/scores.json 'o["f1"] > 0.9, o["accuracy"] > 0.9, sorted(o["per_type"])')" \
    "(True, True, ['LOC', 'OBJ'])"
expect_equal "every word is scored" "$(json one/scores.json 'o["dev"]')" "$(grep -c " _ " dev.conll)"

case_begin "JSON lines give the same model; a stopped run ends with the same bytes"
expect_exit 0 "${tune[@]}" --train train.jsonl --dev dev.jsonl --out lines
cmp one/checkpoints/*/model.safetensors lines/checkpoints/*/model.safetensors || complain "another model"
expect_exit 75 "${tune[@]}" --train train.conll --dev dev.conll --out stopped --stop-after 300
expect_exit 0 "${tune[@]}" --train train.conll --dev dev.conll --out stopped
cmp one/scores.json stopped/scores.json || complain "other scores"
expect_exit 0 "$dstrain" verify one --replay --threads 1

case_begin "report"
expect_exit 0 "$dstrain" report one
python3 - <<'PYTHON' || complain "the page"
import json
import xml.etree.ElementTree as ElementTree

X = "{http://www.w3.org/1999/xhtml}"
root = ElementTree.parse("one/report.html")
section = next(e for e in root.iter(X + "section") if e.get("id") == "scores")
rows = [["".join(cell.itertext()) for cell in row] for row in section.iter(X + "tr")]
scores = json.load(open("one/scores.json"))
for name, one in scores["per_type"].items():
    assert [name, *(f"{one[k]:.3f}" for k in ("precision", "recall", "f1")), str(one["support"])] in rows, rows
assert not any(e.get("id") == "guesses" for e in root.iter(X + "section"))
PYTHON
rm one/report.html

case_begin "eval and an export"
expect_exit 0 "$dstrain" eval one --threads 1 --json
expect_equal "scores" "$(json "$scratch/stdout" 'o["f1"]')" "$(json one/scores.json 'o["f1"]')"
expect_exit 0 "$dstrain" export one --out exported
expect_equal "class and names" "$(json exported/config.json 'o["architectures"][0], o["id2label"]["0"]')" \
    "('BertForTokenClassification', 'B-LOC')"
expect_exit 0 "$dstrain" eval exported --dev dev.conll --seq 32 --threads 1 --json
expect_equal "scores" "$(json "$scratch/stdout" 'o["f1"]')" "$(json one/scores.json 'o["f1"]')"

case_begin "predict adds a column and keeps everything else"
expect_exit 0 "$dstrain" predict one dev.conll --out out.conll --threads 1
expect_words "words predicted" "scores     accuracy"
sed 's/^\(.* _ [^ ]*\) [^ ]*$/\1/' out.conll | cmp - dev.conll || complain "other lines"
expect_exit 0 sh -c '"$@" - --out - <dev.jsonl' sh "$dstrain" predict exported --seq 32 --threads 1
python3 - "$scratch/stdout" <<'PYTHON' || complain "the predictions"
import json
import sys
rows = [json.loads(line) for line in open(sys.argv[1])]
table = [line.split() for line in open("out.conll") if " _ " in line]
assert [t for row in rows for t in row["prediction"]] == [line[3] for line in table]
assert [t for row in rows for t in row["tags"]] == [line[2] for line in table]
PYTHON

case_begin "predict keeps how lines end, and refuses a column that is not there"
sed 's/$/\r/' dev.conll >crlf.conll
expect_exit 0 "$dstrain" predict one crlf.conll --out crlf.out --threads 1
sed 's/$/\r/' out.conll | cmp - crlf.out || complain "other lines"
printf 'the\nhill over\n' >words.conll
expect_exit 0 "$dstrain" predict one words.conll --out words.out --threads 1
expect_exit 2 "$dstrain" predict one words.conll --column 9 --out x --threads 1
expect_words "words.conll: line 1 has 1 column, and no column 9 (--column)"
expect_exit 2 "$dstrain" tag --init pre --train train.conll --column 9 --seq 32 --threads 1 --out x
expect_words "line 3 has 3 columns, and no column 9"
expect_exit 2 "$dstrain" tag --init pre --train train.conll --column xpos --seq 32 --threads 1 --out x
expect_words "no column 5" "XPOS is column 5 of the ten of CoNLL-U"
expect_exit 0 "$dstrain" predict one dev.conll --column 3 --out third --threads 1
cmp third out.conll || complain "other predictions"
expect_exit 2 "$dstrain" predict one dev.conll --text word --out x --threads 1
expect_words "--text is for classify alone"
iconv -t UTF-16LE dev.conll >wide.conll
expect_exit 6 "$dstrain" predict one wide.conll --out x --threads 1
expect_words "wide.conll: is UTF-16" "iconv -f UTF-16LE"

case_begin "mistakes"
head -6 train.conll >few.conll
expect_exit 3 "$dstrain" tag --init pre --seq 32 --threads 1 --train few.conll --out x
expect_words "has no word to score" "--dev FILE"
in=("$dstrain" tag --init pre --seq 32 --threads 1 --out x)
expect_exit 2 "${in[@]}"
expect_words "--train FILE is missing"
printf 'a O\nword\n' >bad.conll
expect_exit 3 "${in[@]}" --train bad.conll
expect_words "line 2 has 1 column: there is no tag"
printf 'a O\nb O\n' >one.conll
expect_exit 3 "${in[@]}" --train one.conll --dev one.conll
expect_words 'has one tag only, "O"'
expect_exit 2 "${in[@]}" --train train.conll --column seven
expect_exit 2 "$dstrain" predict one dev.conll --out dev.conll
[ ! -e x ] || complain "x was made"
flow_end
