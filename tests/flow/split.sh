#!/usr/bin/env bash
# What is held out: by the id of a document where ids tell documents apart, else by its text; the same for any number of
# threads; and a warning with a command that works where the split is not what --valid asks for.
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"

cd "$scratch" || exit 1
python3 - <<'PYTHON'
import json
import random

draw = random.Random(5)
WORDS = "mill river stone fish bread market the a old new green tower bridge wind".split()


def text():
    return " ".join(" ".join(draw.choice(WORDS) for _ in range(9)).capitalize() + "." for _ in range(3))


def lines(name, ids, texts=None):
    with open(name, "w", encoding="utf-8") as out:
        for number, of in enumerate(ids):
            value = {"text": texts[number] if texts else text()}
            out.write(json.dumps(value | ({} if of is None else {"id": of})) + "\n")


def dump(name, of):
    with open(name, "w", encoding="utf-8") as out:
        out.write('<mediawiki xml:lang="en"><siteinfo><dbname>x</dbname></siteinfo>\n')
        for i in range(300):
            out.write(f"<page><title>P{i}</title><ns>0</ns>{of(i)}<revision><id>{i}</id><text>{text()}</text>"
                      "</revision></page>\n")
        out.write("</mediawiki>\n")


lines("good.jsonl", range(300))
lines("names.jsonl", [f"doc-{i}" for i in range(300)])
lines("huge.jsonl", [2**64 - 1 - i for i in range(300)])
lines("none.jsonl", [None] * 300)
lines("constant.jsonl", ["web"] * 300)
lines("labels.jsonl", [i % 5 for i in range(300)])
lines("floats.jsonl", [i + 0.5 for i in range(300)])
for part in range(4):
    lines(f"part{part}.jsonl", range(75))
lines("late.jsonl", [i if i < 300 else 7 for i in range(3000)])
lines("equal.jsonl", [None] * 300, ["The old mill stands here. It turns."] * 300)
lines("few.jsonl", range(3))
dump("good.xml", lambda i: f"<id>{i + 1}</id>")
dump("edited.xml", lambda i: f"<id>{i + 1}</id>")
dump("absent.xml", lambda i: "")
dump("zero.xml", lambda i: "<id>0</id>")
dump("same.xml", lambda i: "<id>12</id>")
PYTHON
expect_exit 0 "$dsdata" vocab -q good.jsonl --vocab-size 200 --out vocab.txt

held='[l["samples"] for l in o["lengths"]]'
# build NAME VALID INPUT…: builds into NAME; the documents of the splits stand in samples of about their number.
build() {
    local name=$1 valid=$2
    shift 2
    expect_exit 0 "$dsdata" build "$@" --vocab vocab.txt --seq 48 --pairs none --valid "$valid" --out "$name"
}

# expect_share NAME RULE FROM TO: the rule, and the share of held-out samples in percent.
expect_share() {
    expect_equal "the rule of $1" "$(json "$1/manifest.json" 'o["valid_by"]')" "$2"
    expect_equal "held out of $1" "$(json "$1/manifest.json" "$3 <= (lambda s: 100 * s[1] / sum(s))($held) <= $4")" True
}

case_begin "each kind of id"
for input in good.jsonl names.jsonl huge.jsonl good.xml; do
    build "of_$input" 0.3 "$input"
    expect_share "of_$input" id 20 40
done
for input in none.jsonl constant.jsonl labels.jsonl floats.jsonl absent.xml zero.xml same.xml; do
    build "of_$input" 0.3 "$input"
    expect_share "of_$input" text 20 40
    build "most_$input" 0.8 "$input"
    expect_share "most_$input" text 70 90
done
build of_parts 0.3 part?.jsonl
expect_share of_parts text 20 40
build of_both 0.3 good.xml none.jsonl
expect_share of_both mixed 20 40
expect_equal "the rules of both" "$(json of_both/manifest.json '[s["valid_by"] for s in o["sources"]]')" \
    "['id', 'text']"
expect_exit 0 "$dsdata" show of_both --json
expect_equal "shown" "$(json stdout 'o["valid_by"]')" mixed

case_begin "by id, a document stays where it is when its text changes"
# The ids of held-out documents: those of samples.
held_ids() {
    "$dsdata" export -q "$1" --split valid --format jsonl | grep -o '"page_id":[0-9]*' | sort -u
}
build of_edited 0.3 edited.xml
[ "$(held_ids of_edited | wc -l)" -gt 50 ] || complain "only $(held_ids of_edited | wc -l) documents are held out"
expect_equal "ids" "$(held_ids of_edited)" "$(held_ids of_good.xml)"
build by_text 0.3 edited.xml --valid-by text
expect_share by_text text 20 40
expect_exit 0 "$dsdata" show by_text
grep -q "^held out   by text" stdout || complain "show does not name the rule"
expect_exit 0 "$dsdata" report of_none.jsonl --out report.html
if grep -qi "[^_]pages\|>templates" report.html; then complain "a corpus of JSON lines has no pages"; fi
[ "$(held_ids by_text)" != "$(held_ids of_edited)" ] || complain "--valid-by text changes nothing"
expect_exit 5 "$dsdata" build edited.xml --vocab vocab.txt --seq 48 --pairs none --valid 0.3 --out by_text
expect_words valid-by

case_begin "threads do not matter"
for more in "--threads 1" "--threads 3"; do
    rm -rf again
    # shellcheck disable=SC2086
    expect_exit 0 "$dsdata" build part?.jsonl --vocab vocab.txt --seq 48 --pairs none --valid 0.3 --out again $more
    expect_equal "root with $more" "$(root_hash again)" "$(root_hash of_parts)"
done

# better: runs the command after "better: " in what the last one said, and expects that it warns no more of the split.
better() {
    local command
    command=$(sed -n '/ split is empty\|are held out\|too few/s/.*; better: //p' stderr)
    [ -n "$command" ] || complain "no command is named"
    expect_exit 0 env PATH="$(dirname "$dsdata"):$PATH" bash -c "$command"
    if grep -q 'split is empty\|held out' stderr; then complain "it warns again"; fi
}

case_begin "a split that is not what was asked for"
build far 0.3 good.jsonl
if grep -q "held out" stderr; then complain "a good split is warned about"; fi
build little 0.01 good.jsonl
expect_words "too few to judge a model by"
better
if grep -q "too few" stderr; then complain "the better --valid is too small as well"; fi
build late 0.3 late.jsonl
expect_words "held out" "--valid asks for 30 %: many have the same id" "--valid-by text --fresh"
better
expect_share late text 20 40
build few 0.001 few.jsonl
expect_words "the valid split is empty: with --valid 0.001 none of 3 documents is held out"
better
head -1 few.jsonl >one.jsonl
build single 0.1 one.jsonl
expect_words "none of 1 document is held out, so training cannot evaluate"
if grep -q better stderr; then complain "a --valid that leaves nothing to train on"; fi
build all 0.999 few.jsonl
expect_words "the train split is empty: with --valid 0.999 all of 3 documents are held out"
better
build equal 0.3 equal.jsonl
expect_words "many have the same text" "--duplicates drop"
build nothing 0 good.jsonl
if grep -q "held out\|is empty" stderr; then complain "nothing was to be held out"; fi

flow_end
