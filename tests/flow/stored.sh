#!/usr/bin/env bash
# What the programs store and what --json prints, every value (golden/stored.txt): integers and words exactly, sums of
# floats within 3 %, and of what depends on the machine, its speed or the place only that it is there.
# stored.sh BUILD --write records what they say now.
# labels: once
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"

[ -e "$build/dstrain_gloo.so" ] || { echo "gloo is not built: skipped"; exit 77; }
golden=$project/tests/golden/stored.txt
cd "$scratch"
"$dstrain" plan --shards "$data" --model "$model" --steps 1 --json >stdout 2>stderr || true
grep -q '"precision": "bf16"' stdout || { echo "this processor has no products in bf16: skipped"; exit 77; }
# A dump, lines with ids, old text, and what fine-tuning reads.
template_wiki "Intro {{u|7}} is long enough. {{lost|x}} More text about the river.

== See also ==
* [[B]]

== Life ==
A table follows, and a [[File:a.png|thumb|picture]] of it.

{| class=x
| a cell
|}" >wiki.xml
python3 - <<'PYTHON'
import json, os, random

parts = [part.strip().replace("\n", " ") for part in open("text.txt").read().split("\n\n")]
with open("some.jsonl", "w") as out:
    for i, text in enumerate(parts[:40] + parts[:5] + [""]):
        out.write(json.dumps({"id": i + 3, "text": text, "language": "de" if i % 3 else "en"}) + "\n")
open("wide.txt", "w", encoding="utf-16").write("\n".join(parts[:4]))
random.seed(3)
words = "the a river water stone hill town small large flows".split()
for task, head in (("SST-2", "sentence\tlabel"), ("STS-B", "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\t"
                                                     "sentence1\tsentence2\tscore")):
    os.makedirs(f"glue/{task}")
    for name, count in (("train", 30), ("dev", 14), ("test", 5)):
        lines = [head if task == "STS-B" or name != "test" else "index\tsentence"]
        if task == "STS-B" and name == "test":
            lines = [head.rsplit("\t", 1)[0]]
        for i in range(count):
            text = " ".join(random.choice(words) for _ in range(6))
            if task == "STS-B":
                fields = [str(i), *"g f 2012 1 a b".split(), text, text[::-1] if i % 2 else text, f"{i % 6}.000"]
                lines.append("\t".join(fields[:-1] if name == "test" else fields))
            else:
                lines.append(f"{i}\t{text}" if name == "test" else f"{text}\t{i % 2}")
        open(f"glue/{task}/{name}.tsv", "w").write("\n".join(lines) + "\n")
for name, count in (("train", 24), ("dev", 9)):
    paragraphs = []
    for i in range(count):
        text = [random.choice(words) for _ in range(70 if i % 4 == 0 else 9)]
        text[3] = "old"
        context = " ".join(text)
        answers = [] if i % 3 == 0 else [{"text": "old", "answer_start": context.index("old")}]
        paragraphs.append({"context": context, "qas": [{"id": f"{name}{i}", "question": "was in ?", "answers": answers,
                                                        "is_impossible": not answers}]})
    json.dump({"version": "2.0", "data": [{"title": "t", "paragraphs": paragraphs}]}, open(f"{name}.json", "w"))
with open("pairs.jsonl", "w") as out:
    for i in range(6):
        text = " ".join(random.choice(words) for _ in range(5))
        out.write(json.dumps({"good": text + " .", "bad": "of " + text, "paradigm": "ab"[i % 2]}) + "\n")
PYTHON

# keep NAME COMMAND…: records what a command prints on standard output; its exit code is the last line.
mkdir kept
keep() {
    local name=$1 code=0
    shift
    "$@" >"kept/$name" 2>stderr </dev/null || code=$?
    echo "$code" >"kept/$name.exit"
}
# stored NAME FILE…: the files themselves.
stored() {
    local name=$1 file
    shift
    for file in "$@"; do cp "$file" "kept/$name.$(basename "$file")"; done
}

case_begin "datasets"
few=(--vocab vocab.txt --seq 32 --threads 1)
keep build.json "$dsdata" build wiki.xml --text text.txt --jsonl some.jsonl "${few[@]}" --valid 0.2 --duplicates drop \
    --min-words 3 --shard-bytes 64K --json --out all
stored all all/manifest.json all/build.json
keep whole.json "$dsdata" build --text text.txt --vocab vocab.txt --seq 32,64 --masking whole-word --pairs sop \
    --copies 6 --mask-prob 0.2 --shard-bytes 64K --threads 1 --json --out whole
stored whole whole/manifest.json
"$dsdata" build -q --wiki - --text text.txt --vocab-size 200 --seq 32 --threads 1 --out piped <wiki.xml
stored piped piped/build.json piped/manifest.json
keep dry.json "$dsdata" build --text wide.txt --encoding utf-16 "${few[@]}" --dry-run --json --out none
keep google.json "$dsdata" build --text text.txt "${few[@]}" --compat google --json --out google
stored google google/manifest.json
keep learned.json "$dsdata" build --text text.txt --vocab-size 200 --algo bpe --unused 3 --seq 32 --json --out learned
stored learned learned/manifest.json
keep vocab.json "$dsdata" vocab --text text.txt --vocab-size 220 --json --out vocab220.txt
for name in all whole google learned; do
    keep "show-$name.json" "$dsdata" show $name --json
    keep "verify-$name.json" "$dsdata" verify $name --json
done
keep sample.json "$dsdata" show whole --sample 5 --json
keep check.json "$dsdata" vocab --check vocab220.txt --json
keep explain.json "$dsdata" extract wiki.xml --explain A --json
"$dsdata" export -q whole --seq 32 --split train --format mds --files 2 --out mds
stored mds mds/index.json
keep doctor-data.json "$dsdata" doctor --json
keep wrong-data.json "$dsdata" build --text absent.txt "${few[@]}" --json --out wrong

case_begin "runs"
ours=(--shards "$data" --model "$model" --steps 12 --precision fp32)
# run NAME OPTION…: a run, what it prints and stores, and what the verbs say of it.
run() {
    local name=$1
    shift
    keep "$name.json" "$dstrain" --batch 8 --lr 1e-3 --warmup 0.1 --log-every 1 --threads 1 --json --out "$name" "$@"
    stored "$name" "$name/run.json" "$name/metrics.jsonl" "$name/checkpoints/$(cat "$name/latest")/state.json"
    keep "show-$name.json" "$dstrain" show "$name" --json
}
keep first.json "${train[@]}" --precision fp32 --eval-every 4 --stop-after 5 --json --out adam
run adam "${ours[@]}" --eval-every 4
run lamb "${ours[@]}" --optimizer lamb --norms-every 4 --batch 4:8 --batch-warmup 6 --micro-batch 2 \
    --keep-best --eval-every 3
run muon "${ours[@]}" --optimizer muon --schedule wsd --decay 4 --mask-prob 0.15:0.3 \
    --save-every 5 --keep-last 1 --log-every 5
run onebit "${ours[@]}" --optimizer onebit_adam --set optimizer.params.freeze_step=4 --timings
run half --shards "$data" --model "$model" --precision fp16 --seq 64 --dropout 0.2 --epochs 0.5 --masks fresh
"$dsdata" build -q --jsonl some.jsonl "${few[@]}" --valid 0.3 --out more-data
run mixed --model "$model" --steps 12 --precision fp32 --shards "more-data=0.4" --shards "$data=0.6" \
    --eval-every 6 --norms-every 6
run two "${ours[@]}" --processes 2 --zero 2 --wire bf16
run more --shards "$data" --steps 6 --precision fp32 --init adam --no-shuffle --schedule cosine --seed 4
keep eval.json "$dstrain" eval adam --json --show 3
keep eval-mixed.json "$dstrain" eval mixed --split train --eval-samples 20 --json
keep score.json "$dstrain" score adam pairs.jsonl --json
keep fill.json "$dstrain" fill-mask adam "the river [MASK] the [MASK] ." --top 4 --json
keep verify.json "$dstrain" verify lamb --json
keep report.json "$dstrain" report adam lamb --json --out two.html
keep export.json "$dstrain" export adam --json --out model
stored model model/config.json model/tokenizer_config.json
keep show-model.json "$dstrain" show model --json
keep wrong.json "$dstrain" --shards "$data" --init absent --json --out wrong

case_begin "plans"
plans=0
sed 's/^{/{"pre_layer_norm": true, /' model.json >pre.json
for options in "--precision fp32" "--precision bf16 --optimizer lamb" "--optimizer muon --seq 64" \
    "--optimizer onebit_adam --processes 4" "--zero 2 --processes 8 --precision bf16" \
    "--zero 1 --processes 2 --micro-batch 2" \
    "--model base --precision fp16" "--model tiny --dropout 0.3 --batch 64" \
    "--zero 1 --processes 3 --precision fp32" "--zero 2 --processes 3 --precision fp16 --optimizer lamb" \
    "--zero 2 --processes 3 --precision bf16 --model pre.json" "--zero 1 --processes 3 --model pre.json"; do
    # shellcheck disable=SC2086  # the words are a command line
    plans=$((plans + 1))
    keep "plan$plans.json" "$dstrain" plan --shards "$data" --model "$model" --steps 100 --batch 16 --json $options
done
keep proposed.json "$dstrain" plan --shards "$data" --json
keep doctor.json "$dstrain" doctor --json

case_begin "fine-tuning"
tune=(--batch 8 --epochs 2 --threads 1 --seq 32 --json)
for task in sst-2 sts-b; do
    keep $task.json "$dstrain" glue $task --init adam --data glue "${tune[@]}" --log-every 2 --out $task
    stored $task $task/scores.json $task/run.json $task/metrics.jsonl
    keep show-$task.json "$dstrain" show $task --json
    keep eval-$task.json "$dstrain" eval $task --data glue --json
done
keep squad.json "$dstrain" squad --init adam --train train.json --dev dev.json --doc-stride 8 --max-query 6 \
    "${tune[@]}" --out squad
stored squad squad/{predictions,scores,run}.json
keep show-squad.json "$dstrain" show squad --json

case_begin "every value"
facts() {
    python3 - "$scratch" "$build" <<'PYTHON'
import json, os, re, sys

# Of these only that they are there; the rest of a key is its place in the file.
MEASURED = re.compile(r"second|_free|host|commit|version|compiler|time|cpu|library|date|path|pid|"
                      r"peak|report.json bytes|started|command|program|written|hash|identity.dataset|resident|machine|"
                      r"memory.scratch|memory_bytes")
for name in sorted(os.listdir("kept")):
    if name.endswith(".exit"):
        print(f"== {name[:-5]}: exit {open('kept/' + name).read().strip()}")
        continue
    print("==", name)
    text = open("kept/" + name, encoding="utf-8").read()
    try:
        values = [json.loads(text)]
    except ValueError:
        values = [json.loads(line) if line[:1] == "{" else line for line in text.splitlines()]

    def walk(value, place):
        if isinstance(value, (dict, list)):
            each = value.items() if isinstance(value, dict) else enumerate(value)
            for key, part in each:
                walk(part, f"{place}.{key}" if place else str(key))
            return
        shown = json.dumps(value, ensure_ascii=False).replace(sys.argv[1], "DIR").replace(sys.argv[2], "BUILD")
        if value is not None and MEASURED.search(f"{name} {place}"):
            shown = "*"
        shown = re.sub(r"\b[0-9a-f]{16}\b", "HASH", shown)
        shown = re.sub(r"\((base|avx2|avx512|avx512_bf16|amx), ", "(LEVEL, ", shown)  # the processor's
        if shown not in ("0", "null"):  # an absent count is 0
            print(place, "=", shown)

    if name.startswith("doctor"):  # all of it is the machine's
        values = [dict.fromkeys(value, "*") for value in values]
    for number, value in enumerate(values):
        walk(value, f"{number}" if len(values) > 1 else "")
PYTHON
}
facts >facts.txt
[ "${2:-}" != --write ] || cp facts.txt "$golden"
python3 - "$golden" facts.txt <<'PYTHON' >stdout || complain "other values (--write records them)"
import re, sys

REAL = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?|-?\d+e[-+]?\d+|NaN")


def read(path):
    values, part = {}, ""
    for line in open(path, encoding="utf-8"):
        place, _, value = line.rstrip("\n").partition(" = ")
        part = place if place.startswith("==") else part
        values[f"{part} {place}"] = value
    return values


old, new = map(read, sys.argv[1:])


def equal(a, b):
    if REAL.fullmatch(a or "") and b and re.fullmatch(r"-?[\d.]+(?:e[-+]?\d+)?", b):
        return abs(float(a) - float(b)) <= 0.03 * max(abs(float(a)), abs(float(b))) + 1e-6
    return a == b


wrong = [f"{key}: {old.get(key)}, now {new.get(key)}" for key in sorted(old.keys() | new.keys())
         if not equal(old.get(key), new.get(key))]
print(*wrong, sep="\n")
sys.exit(bool(wrong))
PYTHON
flow_end
