#!/usr/bin/env bash
# dstrain classify: a table of the user's, learned by a tiny model: forms of tables, scores, runs that are stopped and
# repeated, several seeds, numbers, and messages for wrong input.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"

cd "$scratch"
"${train[@]}" -q --out pre
python3 - <<'PYTHON'
import csv
import json
import random

random.seed(7)
words = "the a river water stone hill town old new small large flows stands near".split()
names = {"under": "Lob", "over": "bug; report", "near": "9 lives"}


def row():
    key = random.choice(list(names))
    text = [random.choice(words) for _ in range(random.randint(3, 9))]
    text.insert(random.randint(0, len(text)), key)
    return " ".join(w for w in text if w == key or w not in names), names[key], len(text)


rows = [row() for _ in range(200)]
for name, part in (("train", rows[:150]), ("dev", rows[150:])):
    with open(f"{name}.csv", "w", newline="", encoding="utf-8-sig") as file:  # as LibreOffice writes it
        table = csv.writer(file, delimiter=";", lineterminator="\r\n")
        table.writerow(["Nr", "Text", "Label", "Words"])
        table.writerows((i, t.replace(" ", '\n"', 1) if i % 9 == 0 else t, l, n) for i, (t, l, n) in enumerate(part))
    with open(f"{name}.jsonl", "w") as file:
        for i, (text, label, n) in enumerate(part):
            text = text.replace(" ", '\n"', 1) if i % 9 == 0 else text
            file.write(json.dumps({"Text": text, "Label": label, "Words": n}) + "\n")
with open("train-several.csv", "w") as file, open("dev-several.jsonl", "w") as dev:
    file.write("text,tags\n")
    for i in range(150):
        tags = [tag for tag in ("land", "Sea", "sky, air") if random.random() < 0.4]
        text = " ".join(random.sample(words, 5) + [{"land": "hill", "Sea": "river"}.get(tag, "near") for tag in tags])
        file.write(f'{text},"{"; ".join(tags)}"\n')
        if i < 40:
            dev.write(json.dumps({"text": text, "tags": tags}) + "\n")
with open("free.csv", "w") as file:
    file.write("text,label\n" + "".join(f"the hill,answer {i}\n" for i in range(90)))
with open("one.csv", "w") as file:
    file.write("text,label\n" + "the hill,good\n" * 9)
with open("broken.csv", "w") as file:
    file.write("text,label\n" + "the hill,good\nthe town,bad\n" * 9 + 'the "river,bad\n"the water,good\n')
PYTHON

tune=("$dstrain" classify --init pre --seq 32 --batch 8 --threads 1 --log-every 1)
long=(--epochs 80 --lr 1e-3) # with this batch and rate each of eight seeds learned the task

learns() {
    case_begin "a table as an office program writes it is learned and scored"
    expect_exit 0 "${tune[@]}" "${long[@]}" --train train.csv --dev dev.csv --out one
    expect_words 'columns    text "Text", label "Label"' "labels     9 lives, Lob, bug; report" "150 rows" \
        "50 to score" "scores     accuracy" "   bug; report"
    expect_equal "well" "$(json one/scores.json 'o["accuracy"] > 0.9')" True
    expect_equal "labels" "$(json one/scores.json 'o["labels"]')" "['9 lives', 'Lob', 'bug; report']"
    expect_equal "the confusion's sum" "$(json one/scores.json 'sum(map(sum, o["confusion"]))')" 50
    expect_exit 0 "$dstrain" export one --out exported
    expect_equal "names in the export" \
        "$(json exported/config.json '(o["id2label"]["1"], o["label2id"]["bug; report"])')" "('Lob', 2)"

    case_begin "the same rows as JSON lines give the same model, and the same command changes nothing"
    expect_exit 0 "${tune[@]}" "${long[@]}" --train train.jsonl --dev dev.jsonl --label Label --text Text \
        --out lines
    cmp one/checkpoints/*/model.safetensors lines/checkpoints/*/model.safetensors || complain "another model"
    cmp one/scores.json lines/scores.json || complain "other scores"
    cp -r one before
    expect_exit 0 "${tune[@]}" "${long[@]}" --train train.csv --dev dev.csv --out one
    diff -r -x events.\* one before >/dev/null || complain "the run has changed"

    case_begin "eval gives the scores of the run, also of an export"
    expect_exit 0 "$dstrain" eval one --threads 1 --json
    expect_equal "scores" "$(json "$scratch/stdout" 'o["confusion"], o["f1_macro"]')" \
        "$(json one/scores.json 'o["confusion"], o["f1_macro"]')"
    expect_exit 0 "$dstrain" eval exported --dev dev.csv --seq 32 --threads 1 --json
    expect_equal "scores" "$(json "$scratch/stdout" 'o["confusion"]')" "$(json one/scores.json 'o["confusion"]')"
    expect_exit 0 "$dstrain" verify one --replay --threads 1
}

predicts() {
    local predict=("$dstrain" predict one --threads 1)
    case_begin "predict writes the table again with two more columns, in order, and scores it"
    expect_exit 0 "${predict[@]}" dev.csv --out out.csv
    expect_words "done       50 rows predicted" "scores     accuracy"
    python3 - <<'PYTHON' || complain "the columns"
import csv
before, after = (list(csv.reader(open(f, newline="", encoding="utf-8-sig"), delimiter=";"))
                 for f in ("dev.csv", "out.csv"))
assert after[0] == [*before[0], "prediction", "probability"], after[0]
assert [r[:-2] for r in after[1:]] == before[1:]
assert all(0.3 < float(r[-1]) <= 1 and len(r[-1]) == 11 for r in after[1:])
assert sum(r[2] == r[4] for r in after[1:]) > 45
PYTHON
    expect_exit 0 "${predict[@]}" dev.jsonl --out out.jsonl --all
    python3 - <<'PYTHON' || complain "the keys"
import csv
import json
rows = [json.loads(line) for line in open("out.jsonl")]
table = list(csv.DictReader(open("out.csv", newline="", encoding="utf-8-sig"), delimiter=";"))
assert [list(r) for r in rows] == [["Text", "Label", "Words", "prediction", "probability.9 lives", "probability.Lob",
                                    "probability.bug; report"]] * 50
for row, other in zip(rows, table):
    assert row["prediction"] == other["prediction"]
    assert f"{row['probability.' + row['prediction']]:.9f}" == other["probability"]
    assert abs(sum(v for k, v in row.items() if k.startswith("probability.")) - 1) < 1e-8
PYTHON

    case_begin "it streams, takes texts without labels, an export, and replaces nothing but its own"
    expect_exit 0 sh -c '"$@" - --out - <free.csv' sh "${predict[@]}"
    expect_equal "lines" "$(wc -l <"$scratch/stdout")" 91
    expect_equal "header" "$(head -1 "$scratch/stdout")" "text,label,prediction,probability"
    cp out.csv first.csv
    expect_exit 0 "$dstrain" predict exported dev.csv --seq 32 --text Text --threads 1 --out out.csv
    cmp out.csv first.csv || complain "the export predicts otherwise"
    expect_exit 2 "${predict[@]}" dev.csv --out dev.csv
    expect_exit 2 "${predict[@]}" dev.csv --out train.csv
    expect_words "--force"
    expect_exit 2 "${predict[@]}" out.csv --out x.csv
    expect_words 'has a column "prediction" already'
    expect_exit 5 "$dstrain" predict pre dev.csv --out x.csv
    expect_words "has no head of classes" "dstrain classify"
    expect_exit 3 "${predict[@]}" broken.csv --out x.csv
    expect_words "line 21: the quotation mark"
    expect_equal "nothing is left" "$(ls x.csv* 2>/dev/null)" ""
}

stops() {
    case_begin "a stopped run ends with the same bytes"
    expect_exit 75 "${tune[@]}" "${long[@]}" --train train.csv --dev dev.csv --out stopped --stop-after 100
    expect_exit 0 "${tune[@]}" "${long[@]}" --train train.csv --dev dev.csv --out stopped
    cmp one/checkpoints/*/model.safetensors stopped/checkpoints/step-*1500/model.safetensors || complain "another model"
    cmp one/scores.json stopped/scores.json || complain "other scores"
}

varies() {
    local short=(--steps 3 --train train.csv)
    case_begin "without --dev a tenth is held out, and several seeds have a spread"
    expect_exit 0 "${tune[@]}" "${short[@]}" --seeds 2 --out seeds
    expect_words "every tenth text" "accuracy" "of 2 runs"
    expect_equal "seeds" "$(json seeds/scores.json 'o["seeds"], o["accuracy"] == o["spread"]["accuracy"]["mean"]')" \
        "([42, 43], True)"

    case_begin "numbers"
    expect_exit 0 "${tune[@]}" "${short[@]}" --dev dev.csv --label Words --kind regression --out numbers
    expect_equal "keys" "$(json numbers/scores.json '[k for k in ("pearson", "spearman", "rmse") if k in o]')" \
        "['pearson', 'spearman', 'rmse']"
    expect_exit 0 "$dstrain" export numbers --out of-numbers
    expect_equal "the export's" "$(json of-numbers/config.json 'o["problem_type"]')" regression
    expect_exit 0 "$dstrain" eval numbers --threads 1

    case_begin "several labels"
    expect_exit 0 "${tune[@]}" --steps 40 --lr 1e-3 --train train-several.csv --dev dev-several.jsonl --kind multi \
        --out several
    expect_words 'any of them, separated by ";"' "subset_accuracy"
    expect_equal "labels" "$(json several/scores.json 'o["labels"], o["subset_accuracy"] == o["accuracy"]')" \
        "(['Sea', 'land', 'sky, air'], True)"
    expect_exit 0 "$dstrain" eval several --dev dev-several.jsonl --threads 1 --json
    expect_equal "scores" "$(json "$scratch/stdout" 'o["subset_accuracy"]')" \
        "$(json several/scores.json 'o["subset_accuracy"]')"
    expect_exit 0 "$dstrain" export several --out of-several
    expect_equal "the export's" "$(json of-several/config.json 'o["problem_type"]')" multi_label_classification
    gzip -c train-several.csv >packed.csv.gz
    expect_exit 0 "$dstrain" predict several packed.csv.gz --threads 1 --out sets.csv
    expect_exit 0 "$dstrain" predict of-several train-several.csv --threads 1 --all --seq 32 --out each.csv
    python3 - <<'PYTHON' || complain "predictions are not those of the probabilities"
import csv
for row, each in zip(csv.DictReader(open("sets.csv")), csv.DictReader(open("each.csv")), strict=True):
    p = {name: float(each["probability." + name]) for name in ("Sea", "land", "sky, air")}
    whole = 1
    for value in p.values():
        whole *= max(value, 1 - value)
    assert row["prediction"] == each["prediction"] == ";".join(name for name in p if p[name] > 0.5), (row, each)
    assert abs(float(row["probability"]) - whole) < 1e-7, (row, p)
PYTHON
    expect_exit 0 "$dstrain" classify --init of-several --train train.csv --steps 1 --seq 32 --threads 1 --out after
    expect_words "a new one is drawn by seed: it gives a text any number of labels"

    case_begin "more labels than a row's bits have room for are predicted, not scored"
    python3 - <<'PYTHON'
import json
import shutil
import struct

shutil.copytree("of-several", "many")
config = json.load(open("many/config.json"))
config["id2label"] = {str(i): f"label {i:02}" for i in range(40)}
config["label2id"] = {name: int(i) for i, name in config["id2label"].items()}
json.dump(config, open("many/config.json", "w"))
data = open("many/model.safetensors", "rb").read()
size = struct.unpack("<Q", data[:8])[0]
header, body = json.loads(data[8:8 + size]), data[8 + size:]
header.pop("__metadata__", None)
new, out = {}, b""
for name, tensor in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
    bytes_ = body[slice(*tensor["data_offsets"])]
    if name.startswith("classifier."):
        row = len(bytes_) // tensor["shape"][0]
        bytes_ = bytes_[:row] * 39 + struct.pack("<f", 9) * (row // 4)
        tensor["shape"][0] = 40
    new[name] = {**tensor, "data_offsets": [len(out), len(out) + len(bytes_)]}
    out += bytes_
text = json.dumps({"__metadata__": {"format": "pt"}, **new}).encode()
open("many/model.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + out)
PYTHON
    expect_exit 5 "$dstrain" eval many --dev dev-several.jsonl --seq 32 --threads 1
    expect_words "the model gives a text any of 40 labels; scores are for at most 31"
    printf 'text,label\nthe hill,label 00;label 39\n' >forty.csv
    expect_exit 0 "$dstrain" predict many forty.csv --all --seq 32 --threads 1 --out -
    grep -q "scores " "$scratch/stderr" && complain "they are scored"
    expect_equal "columns" "$(head -1 "$scratch/stdout" | tr ',' '\n' | grep -c '^probability.label ')" 40
    python3 -c 'print("text,label"); [print(f"the hill,intent {i % 32}") for i in range(96)]' >thirty-two.csv
    expect_exit 3 "${tune[@]}" --train thirty-two.csv --kind multi --out no
    expect_words "has 32 labels; the most is 31"

    case_begin "thousands of classes"
    python3 -c 'print("text,label"); [print(f"the hill {i},intent {i % 5000}") for i in range(10000)]' >thousands.csv
    head -21 thousands.csv >few.csv
    expect_exit 0 "${tune[@]}" --steps 2 --train thousands.csv --dev few.csv --out thousands
    expect_equal "labels, and no matrix of 25 million numbers" \
        "$(json thousands/scores.json 'len(o["labels"]), len(o["per_class"]), "confusion" in o')" "(5000, 5000, False)"
    expect_exit 0 "$dstrain" export thousands --out of-thousands
    expect_equal "names" "$(json of-thousands/config.json 'len(o["id2label"]), o["id2label"]["4999"]')" \
        "(5000, 'intent 999')"
    expect_exit 0 "$dstrain" predict of-thousands few.csv --threads 1 --seq 32 --out few-out.csv
    expect_words "20 rows predicted" "scores     accuracy"
    expect_exit 0 "${tune[@]}" --init of-thousands --steps 1 --lr 0 --train thousands.csv --dev few.csv --out again
    grep -q "drawn by seed" "$scratch/stderr" && complain "the head of the same labels is drawn again"
    expect_equal "scores" "$(json again/scores.json 'o["f1_weighted"]')" \
        "$(json thousands/scores.json 'o["f1_weighted"]')"

    case_begin "rare classes count more"
    mkdir folder
    cp train.csv folder/
    xz -c dev.csv >folder/valid.csv.xz
    expect_exit 0 "${tune[@]}" --steps 3 --train folder --out plain
    expect_words "files      folder/train.csv, folder/valid.csv.xz"
    expect_exit 0 "${tune[@]}" --steps 3 --train folder --class-weights balanced --out weighted
    cmp -s plain/checkpoints/*3/model.safetensors weighted/checkpoints/*3/model.safetensors && complain "the same model"
    expect_exit 0 "${tune[@]}" --steps 3 --train train.csv --dev dev.csv --class-weights balanced --out replayed
    cmp replayed/checkpoints/*3/model.safetensors weighted/checkpoints/*3/model.safetensors || complain "another model"
    expect_exit 0 "$dstrain" verify replayed --replay --threads 1
    expect_exit 0 "$dstrain" report plain --out plain.html
    python3 - <<'PYTHON' || complain "the page"
import json
import xml.etree.ElementTree as ElementTree

X = "{http://www.w3.org/1999/xhtml}"
scores = json.load(open("plain/scores.json"))
root = ElementTree.fromstring(open("plain.html", encoding="utf-8").read())
section = next(e for e in root.iter(X + "section") if e.get("id") == "scores")
tables = {table[0].text: [["".join(cell.itertext()) for cell in row] for row in table.iter(X + "tr")]
          for table in section.iter(X + "table")}
numbers = next(rows for title, rows in tables.items() if title.startswith("Scores"))
assert ["accuracy", f"{scores['accuracy']:.4f} ({scores['commonest']['accuracy']:.4f})"] in numbers, numbers
matrix = next(rows for title, rows in tables.items() if title.startswith("True classes"))
assert matrix[0] == ["", *scores["labels"]]
assert [row[1:] for row in matrix[1:]] == [[str(n) for n in row] for row in scores["confusion"]], matrix
errors = tables["The errors of which the model was surest"][1:]
wrong = sum(map(sum, scores["confusion"])) - sum(row[i] for i, row in enumerate(scores["confusion"]))
assert len(errors) == min(10, wrong) > 0, (errors, wrong)
shares = [float(row[0]) for row in errors]
assert shares == sorted(shares, reverse=True) and 1 / 3 < shares[-1] < 1, shares
assert all(row[1] != row[2] and {row[1], row[2]} <= set(scores["labels"]) for row in errors), errors
import csv
lines = csv.DictReader(open("dev.csv", newline="", encoding="utf-8-sig"), delimiter=";")
known = {(" ".join(row["Text"].split()), row["Label"]) for row in lines}
assert all((row[3], row[2]) in known for row in errors if "[UNK]" not in row[3]), (errors, known)
PYTHON
    expect_exit 0 "$dstrain" report plain weighted --out two.html
    if [ -e "$build/dstrain_gloo.so" ]; then # names and weights are not those of another process's memory
        expect_exit 0 "${tune[@]}" --steps 3 --train train.csv --dev dev.csv --class-weights balanced --processes 2 \
            --threads 2 --out shared
        expect_equal "labels" "$(json shared/scores.json 'o["labels"]')" "$(json replayed/scores.json 'o["labels"]')"
    fi
    expect_exit 2 "${tune[@]}" --train folder --class-weights balanced --kind multi --out no
    expect_words "--kind single"
    expect_exit 0 "$dstrain" verify weighted --replay --threads 1
    rm folder/train.csv
    expect_exit 2 "${tune[@]}" --train folder --out no
    expect_words "folder: has no train.csv"

    case_begin "what is odd in the data is said"
    expect_exit 0 "${tune[@]}" "${short[@]}" --dev train.csv --out same
    expect_words "150 of 150 texts of train.csv are in the training too"
    printf 'Text;Label\nthe hill over;new\n;Lob\n' >odd.csv
    expect_exit 0 "${tune[@]}" "${short[@]}" --dev odd.csv --out odd
    expect_words '1 row of dev with labels that are not in training, such as "new"' "1 row without text"
    expect_equal "left out" "$(json odd/scores.json 'o["left_out"], o["dev"]')" "(1, 1)"
}

refuses() {
    local in=("$dstrain" classify --init pre --seq 32 --threads 1 --out x)
    case_begin "tables as strangers have them"
    printf 'text,label\rthe hill,good\rthe town,bad\r' >mac.csv
    expect_exit 6 "${in[@]}" --train mac.csv
    expect_words "mac.csv: has lines that end in CR alone" "tr '\r' '\n'"
    : >empty.csv
    expect_exit 3 "${in[@]}" --train train.csv --dev empty.csv
    expect_exit 3 "${in[@]}" --train empty.csv
    expect_words "empty.csv: is empty"
    printf 'text,label\n' >head.csv
    expect_exit 3 "${in[@]}" --train head.csv
    expect_words "head.csv: has no rows"
    printf 'text,label\nthe hill,good\nthe town,   \n' >blank.csv
    expect_exit 3 "${in[@]}" --train blank.csv
    expect_words 'line 3, column label: the label "" is empty'
    printf 'text,label\nthe hill,good\nthe town,bad\0\n' >nul.csv
    expect_exit 3 "${in[@]}" --train nul.csv
    expect_words 'line 3' "NUL byte"
    for encoding in UTF-16 UTF-16LE UTF-16BE; do
        iconv -t $encoding train.csv >wide.csv
        expect_exit 6 "${in[@]}" --train wide.csv
        expect_words "wide.csv: is UTF-16" "iconv -f UTF-16"
        expect_exit 6 "$dstrain" predict one wide.csv --out x
    done
    expect_exit 2 "$dstrain" predict one dev.csv --column 3 --out x
    expect_words "--column is for tag alone"
    printf 'text,label,more\nthe hill,good\n' >ragged.csv
    expect_exit 3 "$dstrain" predict one ragged.csv --out x
    expect_words "line 2 has 2 columns, the header has 3 columns"
    printf 'Text;Label\r\n"the ""hill""; over";Lob\r\n' >one-row.csv
    expect_exit 0 "${tune[@]}" --steps 1 --train train.csv --dev one-row.csv --out one-row
    expect_equal "rows" "$(json one-row/scores.json 'o["dev"]')" 1

    case_begin "a broken quotation mark at the end of a large table is named, and nothing is written"
    python3 - <<'PYTHON'
with open("large.csv", "w") as file:
    file.write("text,label\n" + "the river near the town,Lob\n" * 700_000 + 'the "hill,Lob\n"the town,Lob\n')
with open("early.csv", "w") as file:
    file.write('text,label\nthe hill,Lob\nthe "hill,Lob\n"the town,Lob\n' + "the river near the town,Lob\n" * 700_000)
PYTHON
    rm -f out-large.csv
    expect_exit 3 "$dstrain" classify --init pre --seq 32 --threads 1 --train large.csv --out x
    expect_words "large.csv: line 700003: the quotation mark that opens a field is not closed"
    expect_exit 3 "$dstrain" predict one early.csv --text text --seq 32 --out out-large.csv
    expect_words "early.csv: line 4: its record has more than 16 MiB" "opens a field in line 4"
    expect_equal "nothing is left" "$(ls out-large.csv* 2>/dev/null)" ""
    rm large.csv early.csv

    case_begin "mistakes are found before anything is written"
    expect_exit 2 "${in[@]}"
    expect_words "--train FILE is missing"
    expect_exit 2 "${in[@]}" --train train.csv --text Txt
    expect_words 'has no column "Txt" (--text)' 'did you mean "Text"?' "Nr, Text, Label, Words"
    expect_exit 3 "${in[@]}" --train free.csv
    expect_words "has 9" "labels, of which" "occur once"
    expect_exit 3 "${in[@]}" --train one.csv --dev one.csv
    expect_words 'has one label only, "good"'
    expect_exit 3 "${in[@]}" --train broken.csv
    expect_words "line 21: the quotation mark" "not closed"
    expect_exit 3 "${in[@]}" --train train.csv --kind regression
    expect_words "line 2, column Label: the label" "is no number"
    printf 'a,b,c\n1,2,3\n' >plain.csv
    expect_exit 2 "${in[@]}" --train plain.csv
    expect_words "does not say which column has the text: a, b, c" "--text COLUMN"
    [ ! -e x ] || complain "x was made"
}

learns
predicts
stops
varies
refuses
flow_end
