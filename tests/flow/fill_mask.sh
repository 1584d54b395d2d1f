#!/usr/bin/env bash
# dstrain fill-mask: probabilities equal those of a simple BERT in Python, for packed lines and single ones, from a run,
# a checkpoint and an exported directory; wrong use is refused.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"

cd "$scratch"
PYTHONPATH=$project/tests/flow/reference
export PYTHONPATH PYTHONDONTWRITEBYTECODE=1

# expect_right FILE: every line of FILE has the probabilities of all pieces by the model in hf/, sorted.
expect_right() {
    python3 - "$1" <<'PYTHON' >"$scratch/said" 2>&1 || complain "$(cat "$scratch/said")"
import json, sys
from bert import Bert

bert = Bert("hf")
for line in json.load(open(sys.argv[1]))["lines"]:
    ids = bert.ids(line["text"])
    places = [i for i, id in enumerate(ids) if bert.pieces[id] == "[MASK]"]
    assert len(places) == len(line["masks"]), line["text"]
    rows = bert.probabilities(ids)
    for place, guesses in zip(places, line["masks"]):
        found = [guess["probability"] for guess in guesses]
        assert found == sorted(found, reverse=True) and len(found) == len(bert.pieces), found
        assert sorted(guess["id"] for guess in guesses) == list(range(len(bert.pieces)))
        for guess in guesses:
            assert bert.pieces[guess["id"]] == guess["piece"], guess
            assert abs(rows[place][guess["id"]] - guess["probability"]) < 1e-5, (line["text"], guess)
PYTHON
}

first="the [MASK] is old ."
second="a [MASK] river flows [MASK] the hill and [MASK] ."
third="[MASK]"

case_begin "the probabilities of a run, of its checkpoint, of what is exported"
expect_exit 0 "${train[@]}" --out run
expect_exit 0 "$dstrain" export run --out hf
expect_exit 0 "$dstrain" fill-mask run --top 1000 --json "$first" "$second" "$third"
cp "$scratch/stdout" answer
expect_right answer
for model in "run/$last" hf; do
    expect_exit 0 "$dstrain" fill-mask "$model" --top 1000 --json "$first" "$second" "$third"
    expect_equal "$model" "$(json "$scratch/stdout" 'o["lines"]')" "$(json answer 'o["lines"]')"
done

case_begin "lines of standard input, packed or alone, any number of threads"
printf '%s\n%s\r\n%s' "$first" "$second" "$third" >lines
"$dstrain" fill-mask run --top 1000 --json --threads 2 <lines >"$scratch/stdout" 2>"$scratch/stderr" ||
    complain "exit $?"
expect_equal "lines of a file" "$(json "$scratch/stdout" 'o["lines"]')" "$(json answer 'o["lines"]')"
expect_exit 0 "$dstrain" fill-mask run --top 1000 --json "$second"
expect_equal "a line alone" "$(json "$scratch/stdout" 'o["lines"][0]')" "$(json answer 'o["lines"][1]')"
for _ in {1..70}; do cat lines; echo; done >many
"$dstrain" fill-mask run --top 1000 --json <many >"$scratch/stdout" 2>"$scratch/stderr" || complain "exit $?"
expect_equal "many lines" "$(json "$scratch/stdout" 'o["lines"][207:]')" "$(json answer 'o["lines"]')"

case_begin "- is standard input, a file is no text"
expect_exit 0 bash -c '"$1" fill-mask run --json - <lines' bash "$dstrain"
expect_equal "lines" "$(json "$scratch/stdout" 'len(o["lines"])')" 3
expect_exit 2 "$dstrain" fill-mask run lines
expect_words "line 1 has no [MASK]: lines" "<lines reads a file"

case_begin "a terminal is standard input"
python3 - "$dstrain" "$first" <<'PYTHON' >stdout || complain "no guess for what was typed"
import os, pty, sys

pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], [sys.argv[1], "fill-mask", "run"])
os.write(terminal, sys.argv[2].encode() + b"\n\x04")
shown = b""
try:
    while part := os.read(terminal, 65536):
        shown += part
except OSError:  # the program has ended
    pass
print(shown)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
assert b"Ctrl-D" in shown and shown.count(b" %  ") == 5
PYTHON

case_begin "the screen has the five likeliest, and says what is next"
expect_exit 0 "$dstrain" fill-mask run "$first"
expect_equal "lines" "$(wc -l <"$scratch/stdout")" 6
expect_words "dstrain export run"
expect_exit 0 "$dstrain" fill-mask run "$first" --top 2
expect_equal "lines" "$(wc -l <"$scratch/stdout")" 3

case_begin "bytes that are not UTF-8, and a UTF-8 mark"
expect_exit 0 "$dstrain" fill-mask run --json "$(printf 'a [MASK] \377')" "$first"
expect_words "the command line: 1 byte left out: not UTF-8"
expect_equal "lines" "$(json "$scratch/stdout" '[line["text"] for line in o["lines"]]')" "['a [MASK] ', '$first']"
printf '\357\273\277%s\n' "$first" | "$dstrain" fill-mask run --json >"$scratch/stdout" 2>"$scratch/stderr" ||
    complain "exit $?"
expect_equal "a text after a mark" "$(json "$scratch/stdout" 'o["lines"][0]["text"]')" "$first"

case_begin "what is refused"
expect_exit 2 "$dstrain" fill-mask run "$first" "a river flows ."
expect_words "line 2" "[MASK]" "a river flows"
expect_exit 2 "$dstrain" fill-mask run "the [mask] is old"
expect_exit 2 "$dstrain" fill-mask run # standard input is empty
expect_exit 2 "$dstrain" fill-mask nowhere "$first"
expect_exit 5 "$dstrain" fill-mask run "$first" "$(yes a | head -62 | tr '\n' ' ')[MASK]"
expect_words "line 2" "65 pieces" "64 positions"
expect_exit 0 "$dstrain" fill-mask run "$(yes a | head -61 | tr '\n' ' ')[MASK]"

case_begin "a vocabulary of another size, a model without the head, weights that are not finite"
cp -r hf other
echo word >>other/vocab.txt
rm other/tokenizer.json
expect_exit 5 "$dstrain" fill-mask other "$first"
python3 - <<'PYTHON'
import json, os, struct

def rewrite(out, change):
    os.makedirs(out)
    for name in os.listdir("hf"):
        open(f"{out}/{name}", "wb").write(open(f"hf/{name}", "rb").read())
    data = open("hf/model.safetensors", "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    header, body = json.loads(data[8:8 + size]), bytearray(data[8 + size:])
    change(header, body)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    open(f"{out}/model.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + body)

def rename(header, body):
    header["classifier.weight"] = header.pop("cls.predictions.transform.dense.weight")

def spoil(header, body):
    at = header["bert.encoder.layer.0.output.dense.bias"]["data_offsets"][0]
    body[at:at + 4] = struct.pack("<f", float("nan"))

rewrite("headless", rename)
rewrite("spoilt", spoil)
PYTHON
expect_exit 5 "$dstrain" fill-mask headless "$first"
expect_words "cls.predictions.transform.dense.weight"
expect_exit 8 "$dstrain" fill-mask spoilt "$first"
expect_words "spoilt/model.safetensors"

flow_end
