#!/usr/bin/env bash
# Messages for common mistakes: repeated options, names of missing files, numbers as typed, short documents, differences
# between two datasets, the order of lines in a pipe.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"

cd "$scratch"
build=("$dsdata" build "$samples" --vocab-size 300)

case_begin "given twice"
expect_exit 2 "$dstrain" --shards "$data" --shards other
expect_words "has no weight" "=0.7 --shards"
expect_exit 0 "${build[@]}" --seq 32 --valid 0.5 --valid 0.1 --out one
expect_words "note       --valid is given more than once: the last one counts"
expect_exit 0 "$dstrain" plan --shards one --model "$model" --steps 5 --steps 6
expect_words "--steps is given more than once"
expect_exit 0 "${build[@]}" -q --seq 32 --valid 0.5 --valid 0.1 --out one
expect_equal "under -q" "$(cat stderr)" ""

case_begin "numbers as they were typed"
expect_exit 5 "${build[@]}" --seq 32 --valid 0.2 --mask-prob 0.25 --keep headings,pre --out one
expect_words "valid 0.1 there, 0.2 here" "mask-prob 0.15 there, 0.25 here" "keep prose-lists there, headings,pre here"
expect_exit 0 "$dsdata" show one --json
expect_equal "options" "$(json stdout '[o["options"][k] for k in ("valid", "mask-prob", "keep", "drop")]')" \
    "['0.1', '0.15', 'prose-lists', 'disambiguation']"

case_begin "a dataset beside an input whose name has no extension"
cp text.txt plain
expect_exit 0 "$dsdata" build plain -q --seq 32 --vocab-size 300
[ -f plain-shards/manifest.json ] || complain "no dataset in plain-shards"

case_begin "two datasets"
expect_exit 0 "${build[@]}" -q --seq 32,64 --valid 0.1 --masking whole-word --out two
expect_exit 0 "$dsdata" show one two --json
python3 - "$scratch/stdout" <<'PYTHON' || complain "the differences"
import json, sys
told = json.load(open(sys.argv[1]))
found = {(row["of"], row["name"]): (row["a"], row["b"]) for row in told["differences"]}
assert told["same"] is False
assert found["option", "masking"] == (None, "whole-word") and found["option", "seq"] == ("[32]", "[32,64]"), found
assert ("seq64 train", "only in B") in found, found
assert not any(of in ("source", "vocabulary", "pages") for of, _ in found), found
PYTHON
expect_exit 0 "$dsdata" show one two
grep -qE '^option +masking +– +whole-word$' stdout || complain "no line about masking"
expect_exit 0 "$dsdata" show two "$data"
grep -qE '^source +only in A +.*samplewiki' stdout || complain "no line about the source"
expect_exit 0 "$dsdata" show one one
expect_equal "same" "$(tail -1 stdout)" "same       equal to the byte"
expect_exit 2 "$dsdata" show one nowhere
expect_exit 2 "$dsdata" show one two --sample 1
expect_exit 5 "$dsdata" show one --seq 256
expect_exit 0 "$dsdata" show two --seq 64

case_begin "the next command comes after the facts"
"$dsdata" show one >both 2>&1
expect_equal "last line" "$(tail -1 both)" "next       dsdata show one --sample 0"
expect_exit 0 "$dsdata" export one --out one.jsonl
expect_equal "after train" "$(tail -1 stderr)" \
    "next       dsdata export one --seq 32 --split valid --format jsonl --out FILE"
expect_exit 0 "$dsdata" export one --split valid --out valid.jsonl
expect_equal "after valid" "$(tail -1 stderr)" "next       dsdata report one"
expect_exit 0 "$dsdata" extract text.txt
expect_equal "after extract" "$(tail -1 stderr)" "next       dsdata build text.txt"

case_begin "a number after a letter, as for make"
expect_exit 0 "$dsdata" extract text.txt -q -j2
expect_exit 2 "$dsdata" extract text.txt -q -j0
expect_words "--threads: 0 is too small"
expect_exit 2 "$dsdata" extract text.txt -jx
expect_words "unknown option -jx"

case_begin "names that are no files"
expect_exit 2 "$dsdata" build https://dumps.example.org/x.xml.bz2 --out x
expect_words "curl -LO https://dumps.example.org/x.xml.bz2"
expect_exit 2 "$dsdata" build "$samples" --vocab google-bert/bert-base-uncased --out x
expect_words "hf download google-bert/bert-base-uncased --local-dir bert-base-uncased"
expect_exit 2 "$dstrain" --shards one --init bert-base-uncased
expect_words "hf download bert-base-uncased"
expect_exit 2 "$dstrain" --shards one --init nowhere
if grep -q "hf download" stderr; then complain "a name without a dash taken for a model"; fi

case_begin "a name that is not UTF-8"
cp text.txt $'name\377.txt'
expect_exit 0 "$dsdata" build $'name\377.txt' "$samples" -q --seq 32 --vocab "$scratch/vocab.txt" --out named --json
expect_equal "names" "$(json stdout '[source["name"].split("/")[-1] for source in o["sources"]]')" \
    "['name?.txt', 'samplewiki.xml.bz2']"
expect_equal "command" "$(json named/build.json 'o["command"][2]')" "name?.txt"

case_begin "short documents"
python3 -c 'for i in range(400):
    print(f"the water of river {i} is cold . \nthe stone lies near it .\nthe old town {i} is small .\n")' >short.txt
expect_exit 0 "$dsdata" build --text short.txt --text-form sentences --lang en --vocab "$scratch/vocab.txt" --seq 512 \
    --out short
expect_words "most of a sample is padding (filled: seq512" "better lengths of 32 (--seq), or" \
    "--pairs none --pack --fresh" "documents  400 of 400 kept" "of text at"
if grep -q XML stderr; then complain "text is called XML"; fi
expect_exit 0 "$dsdata" build --text short.txt --text-form sentences --lang en --vocab "$scratch/vocab.txt" --seq 512 \
    --pairs none --pack --out packed
if grep -q padding stderr; then complain "packed samples are called padding"; fi

# The warning before a build begins at 20 documents, and ends where there are 1.1 sentences in each.
for few in "19 19 0" "20 20 1" "20 21 1" "20 22 0"; do
    read -r documents sentences warned <<<"$few"
    python3 - "$documents" "$sentences" >few.jsonl <<'PYTHON'
import json, sys

documents, sentences = map(int, sys.argv[1:])
for i in range(documents):
    more = " The old stone lies there." if i < sentences - documents else ""
    print(json.dumps({"text": f"The water of the large river {i} is cold." + more}))
PYTHON
    expect_exit 0 "$dsdata" build few.jsonl --lang en --vocab "$scratch/vocab.txt" --seq 32 --dry-run --out few
    expect_equal "warnings for $documents documents of $sentences sentences" "$(grep -c "one sentence each" stderr)" \
        "$warned"
done

case_begin "salvage that cannot help"
head -c 30000 "$samples" >cut.bz2
expect_exit 3 "$dsdata" build cut.bz2 --out cut
expect_words "--salvage"
expect_exit 3 "$dsdata" build cut.bz2 --out cut --salvage
expect_words "nothing can be read before the damage"

case_begin "a run that reads its samples too often"
expect_exit 0 "$dstrain" plan --shards one --model "$model" --steps 10000
expect_words "may memorise" "epochs"
if grep -q -e "--masks" stderr; then complain "masks are fresh after the first epoch already"; fi
for set in "--masks stored" --no-shuffle; do
    # shellcheck disable=SC2086
    expect_exit 0 "$dstrain" plan --shards one --model "$model" --steps 10000 $set
    expect_words "--masks fresh help"
done
expect_exit 0 "$dstrain" plan --shards one --model "$model" --steps 10000 --masks fresh --no-shuffle
if grep -q -e "--masks fresh help" stderr; then complain "it advises what is set"; fi
expect_exit 0 "$dstrain" plan --shards one --model "$model" --steps 5
if grep -q "may memorise" stderr; then complain "a warning about five steps"; fi

case_begin "1-bit Adam that freezes its second moments early"
onebit=("$dstrain" plan --shards one --model "$model" --steps 2000 --optimizer onebit_adam)
expect_exit 0 "${onebit[@]}" --set optimizer.params.freeze_step=100
expect_words "freeze_step 100: second moments settle after about 1,000 updates" "freeze_step=auto"
expect_exit 0 "${onebit[@]}" --set optimizer.params.freeze_step=100 "optimizer.params.betas=[0.9,0.9]"
if grep -q "second moments settle" stderr; then complain "ten updates suffice"; fi
for freeze in auto 1000 5000; do
    expect_exit 0 "${onebit[@]}" --set optimizer.params.freeze_step=$freeze
    if grep -q "second moments settle" stderr; then complain "a warning about $freeze"; fi
done

case_begin "a rate that never reaches its peak"
late=("$dstrain" plan --shards one --model "$model" --steps 50)
expect_exit 0 "${late[@]}" --warmup 100
expect_words "--warmup is too long"
expect_exit 0 "${late[@]}" --schedule wsd --decay 100
expect_words "--warmup or --decay is too long"
flow_end
