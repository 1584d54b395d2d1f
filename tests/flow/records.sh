#!/usr/bin/env bash
# tests/bench/record.py on a made-up corpus: a budget becomes steps, both judges count what they say, a second command
# computes nothing, and a row that is from another one says what its change brought.
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"
[ -x "$dstrain" ] || { echo "$dstrain is not built: skipped"; exit 77; }

cd "$scratch"
export PYTHONDONTWRITEBYTECODE=1
mkdir corpus
python3 - <<'PYTHON'
import bz2, json, random

random.seed(1)
words = ["".join(random.choice("bdfgklmnprst") + random.choice("aeiou") for _ in range(random.randint(1, 4)))
         for _ in range(400)]
texts = [". ".join(" ".join(random.choices(words, k=9)) for _ in range(40)) + "." for _ in range(300)]
with bz2.open("corpus/books.jsonl.bz2", "wt") as file:
    file.writelines(json.dumps({"id": i + 1, "text": text}) + "\n" for i, text in enumerate(texts))
with bz2.open("corpus/blimp.jsonl.bz2", "wt") as file:
    for i in range(40):
        file.write(json.dumps({"good": f"{words[i]} {words[i + 1]}", "bad": f"{words[i + 2]} {words[i + 9]}",
                               "paradigm": "ab"[i % 2]}) + "\n")
shape = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 64}
json.dump({"plain": {"what": "plain", "vocab": 300, "model": shape,
                     "phases": [{"seq": 16, "share": 0.4, "batch": "4:8", "grows": 0.5, "masks": "0.4:0.2",
                                 "options": "--lr 1e-3"},
                                {"seq": 64, "share": 0.6, "batch": 4, "masks": 0.2, "options": "--lr 1e-3"}]},
           "wide": {"from": "plain", "what": "40 wide", "model": {**shape, "hidden_size": 40}},
           "slow": {"from": "plain", "what": "nearly no rate", "phase": {"options": "--lr 1e-9"}}},
          open("rows.json", "w"))
PYTHON
record=(python3 "$project/tests/bench/record.py" "$build" --data corpus --rows rows.json --cache cache --seeds 1)

case_begin "a budget becomes steps, a command without work repeats its rows"
expect_exit 0 "${record[@]}" plain wide slow --budget 3e9 --blimp all --append log.md
cp stdout first
find cache -newer first -type f | grep . && complain "files are newer than the output"
expect_exit 0 "${record[@]}" plain wide slow --budget 3e9 --blimp all
cmp -s first stdout || complain "the second output differs"
find cache -newer first -type f ! -name lock | grep . >&2 && complain "the second command computed"
expect_equal "appended rows" "$(cat log.md)" "$(grep -E '^[|] (plain|wide|slow) ' first)"
python3 - "$dstrain" "$dsdata" <<'PYTHON' >"$scratch/said" 2>&1 || complain "$(cat "$scratch/said")"
import json, math, subprocess, sys

def said(*command):
    return json.loads(subprocess.run([*map(str, command), "--json", "-q"], check=True, capture_output=True).stdout)

dstrain, dsdata = sys.argv[1:]
results = {key.split()[0]: facts for key, facts in json.load(open("cache/results.json")).items()}
assert results.keys() == {"plain", "wide", "slow"}, results.keys()
shares = ((16, 6, 0.4, 0.3), (64, 4, 0.6, 0.2))
for name, facts in results.items():
    assert abs(facts["flop"] / 3e9 - 1) < 0.02, facts["flop"]
    for (seq, batch, share, masks), steps, number in zip(shares, facts["steps"], (0, 1), strict=True):
        run = json.load(open(f"{facts['folder']}/phase-{number}/run.json"))["identity"]
        assert run["seq"] == seq and run["steps"] == steps, run
        plan = said(dstrain, "plan", "--shards", f"cache/books-300-{seq}-token", "--seq", seq, "--model",
                    f"{facts['folder']}/phase-{number}/checkpoints/step-{steps:08}/config.json", "--mask-prob", masks)
        spent = steps * (7 if seq == 16 else 4) * plan["flops_per_sequence"]  # 4:8 over half of the steps: 7 on average
        assert abs(spent / (share * 3e9) - 1) < 0.06, (name, seq, spent)

# A model that learned nothing needs log2 of the vocabulary for each piece, whatever its letters.
masked, letters = json.load(open("cache/books-300-64-whole-word/characters.json"))
pieces = open("cache/vocab-300.txt").read().split("\n")[:-1]
assert abs(results["slow"]["bits"] * letters / masked - math.log2(len(pieces))) < 0.1, results["slow"]
assert results["plain"]["bits"] < results["slow"]["bits"] - 0.1, results
export = subprocess.run([dsdata, "export", "cache/books-300-64-whole-word", "--seq", "64", "--split", "valid", "--out",
                         "-", "-q"], check=True, capture_output=True, text=True).stdout
found = [pieces[i].removeprefix("##") for sample in map(json.loads, export.splitlines())
         for i in sample["masked_lm_ids"][:int(sum(sample["masked_lm_weights"]))]]
assert (len(found), len("".join(found))) == (masked, letters), (len(found), masked, letters)

# Every tenth pair and the rest are all pairs, each once.
for facts in results.values():
    said_all = said(dstrain, "score", facts["model"], "corpus/blimp.jsonl.bz2")["accuracy"]
    assert abs(0.1 * facts["tenth"] + 0.9 * facts["rest"] - 100 * said_all) < 1e-9, facts
parts = [open(f"cache/blimp-{part}.jsonl").read().splitlines() for part in ("tenth", "rest")]
assert [len(part) for part in parts] == [4, 36] and parts[0][1] not in parts[1], parts

lines = {line.split(" | ")[0].strip("| "): line for line in open("first")}
brought = results["wide"]["bits"] - results["plain"]["bits"]
assert f"{brought:+.3f}, " in lines["wide"] and lines["plain"].endswith("| – |\n"), lines
gap = results["plain"]["tenth"] - results["plain"]["rest"]
assert (f"(gap {gap:+.1f})" in lines["plain"]) == (abs(gap) > 1), lines
PYTHON

case_begin "a budget of seconds"
expect_exit 0 "${record[@]}" plain --seconds 4 --blimp none --seeds 3
cp cache/plain-*-trial-1.json trial.json
python3 - <<'PYTHON' >"$scratch/said" 2>&1 || complain "$(cat "$scratch/said")"
import json
facts = [facts for key, facts in json.load(open("cache/results.json")).items() if " 4 s " in key]
assert len(facts) == 1 and "tenth" not in facts[0], facts
seconds = json.load(open("trial.json"))
assert abs(facts[0]["flop"] * seconds / 4 - 1) < 0.2, (facts, seconds)
PYTHON

case_begin "a row that is not there"
"${record[@]}" plane >stdout 2>stderr && complain "exit 0"
grep -q "no row plane" stderr || complain "$(cat stderr)"

flow_end
