#!/usr/bin/env bash
# What the programs print, to the letter (golden/screens.txt): every line and figure of builds, runs, summaries and
# pages, except what depends on the machine or its speed. screens.sh BUILD --write records what they print now.
# labels: once
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"

golden=$project/tests/golden/screens.txt
screens=$scratch/screens.txt
cd "$scratch"

# filter: takes from the screens what differs between machines, runs, commits and places.
filter() {
    python3 -c '
import re, sys

text = sys.stdin.read()
for name, place in zip(("DIR", "BUILD", "SOURCE", " | HOST | "), sys.argv[1:]):
    text = text.replace(place, name)
measured = (r"^(?:speed|time) |[Ss]eq\S* a second|per_second|seconds\W|report.html  |"
            r"Training time|machine_memory|disk_free")
speeds, rows = False, 0 # in the drawing of what was measured, columns of it
for line in map(str.rstrip, text.splitlines()):
    margin, line = line[:4], line[4:]
    if speeds and re.search("^ *(?:[0-9][^·]*|\[d .*)$", line):
        continue
    speeds = "Sequences a second" in line
    if not line.startswith(" | "):
        rows = 0
    elif re.search("econds( . sequences_per_second)?$|Time . Samples/s$", line):
        rows = 2 # the last columns are seconds and speed
    elif re.search(" of training$", line):
        rows = 1
    if rows:
        line = line.rsplit(" | ", rows)[0]
    if re.search(measured, line):
        line = re.sub(r"[\d.,:]+(?:e[+-]?\d+)?", "N", line)
    line = re.sub(r"20\d\d-\d\d-\d\d[T\d:Z]*", "DATE", line)
    line = re.sub(r"\b\d+:\d\d(:\d\d)?\b|\b[\d.,]+ (?:s|ms|min|h)\b(?!-)", "N", line)
    line = re.sub(r"[\d.,]+ \w?B(?= free)|[\d.,]+ \w+/s", "N", line)
    line = re.sub(r"about N\b.*?(?= from here|$)|this machine.*|(?<=slowest part).*", "N", line)
    line = re.sub(r"cpu \w+ \(.*?\)", "cpu", line)
    line = re.sub(r"(?<=written by dstrain )[\d.]+| 0[.]\d+[.]\d+(?= )", "N", line)
    line = re.sub(r"(?<=^done in N).*|(?<=^run: 14 files).*", "N", line) # sizes of files with times and paths
    line = re.sub(r"\d+\.\d{3,}(?:e-?\d+)?", "N.NNN", line) # sums of floats depend on the machine
    line = re.sub(r"\b[0-9a-f]{16,}\b", "HASH", line)
    line = re.sub(r"\[d (.*?)\]", lambda path: "[d " + re.sub(r"(?<=\d) [\d.]+", "", path[1]) + "]", line)
    if not re.search(r"[|] 0 [|] 0[.]00.%$", line):
        print(margin + line)
' "$scratch" "$build" "$project" " | $(uname -n) | "
}

# page FILE: the text of an HTML page, a line for each row of a table, and the geometry of its drawings.
page() {
    python3 -c '
import sys, xml.etree.ElementTree as tree

def walk(element, depth=0):
    tag = element.tag.split("}")[-1]
    if tag == "style" or element.attrib.get("class") == "curve by-seconds":
        return
    if tag in ("p", "tr", "h1", "h2", "h3", "li", "div", "caption", "figcaption", "dt", "summary", "rect", "path",
               "svg", "input"):
        print()
    if tag in ("td", "th", "dd"):
        print(" | ", end="")
    for name in ("x", "y", "width", "height", "d", "title"):
        if name in element.attrib:
            print(f"[{name} {element.attrib[name]}]", end="")
    print((element.text or "").strip(), end=" ")
    for child in element:
        walk(child)
        print((child.tail or "").strip(), end=" ")

walk(tree.parse(sys.argv[1]).getroot())
print()' "$1" | sed 's/  */ /g; /^ *$/d'
}

# say COMMAND…: records what a command prints, and its exit code.
say() {
    local code=0
    "$@" >stdout 2>stderr </dev/null || code=$?
    local shown="$*"
    shown=${shown//$build\//}
    shown=${shown//$project\//}
    {
        echo "\$   ${shown//$scratch\//}   ($code)"
        sed 's/^/    /' stdout
        sed 's/^/  ! /' stderr
    } >>"$screens"
}

# summed COMMAND…: prints lines, bytes and a sum in place of a long output.
summed() {
    local code=0
    "$@" >long || code=$?
    wc -lc <long
    sha256sum <long | cut -c 1-10
    return $code
}

# tokenized: the pieces of two lines.
tokenized() {
    head -2 text.txt | "$dsdata" tokenize --vocab wiki/vocab.txt
}

# say_page FILE
say_page() {
    echo "\$   $1" >>"$screens"
    page "$1" | sed 's/^/    /' >>"$screens"
}

case_begin "dsdata"
say "$dsdata" build "$samples" --vocab-size 800 --seq 32,128 --valid 0.1 --threads 1 --out wiki
say "$dsdata" verify wiki
say "$dsdata" show wiki
say "$dsdata" show wiki --json
say "$dsdata" show wiki --sample 3
say "$dsdata" show wiki "$data"
say "$dsdata" report wiki
say_page wiki/report.html
say "$dsdata" vocab "$samples" --vocab-size 500 --out learned.txt
say "$dsdata" vocab --check wiki/vocab.txt
say "$dsdata" vocab --check wiki/vocab.txt --json
say "$dsdata" extract "$samples" --explain Saturn
say summed "$dsdata" extract "$samples" --format jsonl --keep headings,lists,pre,captions
say "$dsdata" templates "$samples"
say tokenized
for format in jsonl tfrecord; do
    say summed "$dsdata" export wiki --format $format
done

case_begin "inputs of other forms"
python3 - <<'PYTHON'
import gzip, json

lines = open("text.txt").read().split("\n\n")
documents = [part.strip().replace("\n", " ") for part in lines[:30]]
with open("some.jsonl", "w") as out:
    for i, text in enumerate(documents + documents[:3]):
        more = " caf\u00e9" if i % 4 == 0 else ""
        out.write(json.dumps({"id": i + 7, "title": f"T{i}", "text": text + more}) + "\n")
    out.write(json.dumps({"id": 99, "text": ""}) + "\n")
with gzip.open("wrapped.txt.gz", "wt") as out:
    for text in documents[:20]:
        words = text.split()
        out.write("\n".join(" ".join(words[i:i + 11]) for i in range(0, len(words), 11)) + "\n\n")
open("old.txt", "wb").write("\n".join("Ein großer Fluß fließt über schöne Wiesen." for _ in range(40)).encode("latin1"))
PYTHON
few=(--vocab vocab.txt --seq 32 --threads 1)
say "$dsdata" build --jsonl some.jsonl "${few[@]}" --valid 0.3 --duplicates drop --min-words 5 --out lines --pairs sop
say "$dsdata" show lines
say "$dsdata" build --jsonl some.jsonl --text wrapped.txt.gz old.txt --encoding latin1 "${few[@]}" --dry-run --out mixed
say "$dsdata" build --text wrapped.txt.gz --text-form wrapped "${few[@]}" --pairs none --pack --copies 2 --out packed
say "$dsdata" show packed --sample 1
say "$dsdata" build --text text.txt "${few[@]}" --compat google --masking whole-word --out google
say "$dsdata" show google
say "$dsdata" report google
say_page google/report.html
printf '[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\r\nb \n\ntwice\n\377\nCapital\ntwice\nlast' >faulty.txt
say "$dsdata" vocab --check faulty.txt
say "$dsdata" vocab --check faulty.txt --json
for name in a b c d; do cp text.txt "$name.txt"; done
say "$dsdata" build --text a.txt b.txt c.txt --jsonl some.jsonl "${few[@]}" --dry-run --out listed
say "$dsdata" build --text a.txt b.txt c.txt d.txt "${few[@]}" --dry-run --out listed
cp "$project/samples/samplewiki-multistream.xml.bz2" bad.xml.bz2
printf 'damaged here' | dd of=bad.xml.bz2 bs=1 seek=40000 conv=notrunc status=none
say "$dsdata" build bad.xml.bz2 "${few[@]}" --out bad
say "$dsdata" build bad.xml.bz2 "${few[@]}" --salvage --out bad
say "$dsdata" show bad --json
cp -r wiki hurt
printf 'x' | dd of=hurt/seq32/train-00000-of-00001.dss bs=1 seek=5000 conv=notrunc status=none
say "$dsdata" verify hurt
say "$dsdata" verify hurt --json

case_begin "dstrain"
run=("${train[@]}" --precision fp32 --eval-every 4 --out run)
say "${run[@]}" --stop-after 5
say "${run[@]}"
say "$dstrain" show run
say "$dstrain" show "run/checkpoints/step-00000012" --json
say "$dstrain" report run
say_page run/report.html
say "$dstrain" verify run
cp -r run harmed
printf 'x' | dd of=harmed/checkpoints/step-00000012/model.safetensors bs=1 seek=5000 conv=notrunc status=none
say "$dstrain" verify harmed
say "$dstrain" eval run
say "$dstrain" eval run --json
say "$dstrain" export run --out exported
say cat exported/README.md
say "$dstrain" show exported
# How a run opens, and ends after a step, with each of these.
sed 's/^{/{"pre_layer_norm": true, /' model.json >pre.json
for options in "--keep-last 2 --keep-best --eval-every 4" "--batch 4:8 --batch-warmup 6 --optimizer lamb" \
    "--model pre.json --set progressive_layer_drop.enabled=true --no-shuffle" \
    "--same-bits --micro-batch 2 --schedule cosine" \
    "--masks fresh --dropout 0.2 --seed 3" "--schedule wsd --decay 4 --mask-prob 0.2:0.3" "--seq 32 --micro-batch 3" \
    "--optimizer onebit_adam --set optimizer.params.freeze_step=3" "--optimizer muon --eval-samples 0 --batch 16"; do
    # shellcheck disable=SC2086  # the words are options
    say "${train[@]}" --precision fp32 --stop-after 1 --out opened $options
    rm -rf opened
done
say "$dstrain" plan --shards "$data" --model "$model" --steps 100 --batch 8 --precision fp32 --threads 1
say "$dstrain" fill-mask run "the river [MASK] the town ."
say "$dstrain" plan --shards "$data" --model "$model" --steps 100 --batch 8 --precision fp32 --threads 1 --json
begin='{"optimizer": {"type": "Lamb", "params": {"lr": 0.01}}'
for config in '{}' "$begin}" '{"scheduler": {"type": "WarmupLR", "params": {"warmup_num_steps": 4}}}' \
    "$begin, \"scheduler\": {\"type\": \"OneCycle\", \"params\": {\"cycle_min_lr\": 0.001, \"cycle_max_lr\": 0.01}},
        \"fp16\": {\"enabled\": true}, \"steps_per_print\": 3, \"wall_clock_breakdown\": true}"; do
    echo "$config" >config.json
    say "$dstrain" plan --shards "$data" --model "$model" --steps 20 --precision fp32 --config config.json --threads 1
done
printf '%s\n' '{"good": "the river flows .", "bad": "river the flows .", "paradigm": "order"}' >pairs.jsonl
say "$dstrain" score run pairs.jsonl --json
say "${train[@]}" --precision fp32 --steps 8 --optimizer lamb --norms-every 4 --keep-last 1 --save-every 3 --out other
say "$dstrain" show other --json
"$dsdata" build -q --jsonl some.jsonl "${few[@]}" --valid 0.3 --out more
mix=(--shards "more=0.7" --shards "$data=0.3")
say "$dstrain" "${mix[@]}" "${train[@]:3}" --precision fp32 --eval-every 6 --out mixed
say "$dstrain" show mixed --json
say "$dstrain" eval mixed --json --show 2
say "$dstrain" report mixed
say_page mixed/report.html
say sed 's/,"seconds.*//' mixed/metrics.jsonl
say "${train[@]}" --precision fp32 --seq 64 --out run
say "${train[@]}" --precision fp32 --dry-run --out none

case_begin "a fine-tuned model"
mkdir -p glue/SST-2
{
    printf 'sentence\tlabel\n'
    for i in {1..30}; do
        words=(hill hill river)
        printf 'the %s flows near the town\t%s\n' "${words[i % 3]}" "$((i % 3 == 2))"
    done
} >glue/SST-2/train.tsv
head -25 glue/SST-2/train.tsv >glue/SST-2/dev.tsv
say "$dstrain" glue sst-2 --init run --data glue --seq 32 --batch 10 --epochs 2 --threads 1 --precision fp32 \
    --log-every 2 --out tuned
say "$dstrain" show tuned
say "$dstrain" show tuned --json
say "$dstrain" eval tuned --data glue
say "$dstrain" report tuned run
say_page tuned/report.html
say "$dstrain" export tuned --out classifier
say cat classifier/README.md
say "$dstrain" show classifier --json

filter <"$screens" >filtered.txt
mv filtered.txt "$screens"
[ "${2:-}" != --write ] || cp "$screens" "$golden"
diff -u "$golden" "$screens" >stdout || {
    complain "another text than in tests/golden/screens.txt (screens.sh BUILD --write records it)"
    cat stdout
}
flow_end
