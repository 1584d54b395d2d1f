#!/usr/bin/env bash
# dstrain report: the page is XHTML to a generic parser, its figures are those of metrics.jsonl, hostile text is
# escaped, damaged lines are named, and in a browser it makes no requests, prints no messages and fits a phone.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"

cd "$scratch"
hostile="<b>x\"'&"$'\u202e'

case_begin "one run, stopped once"
expect_exit 75 "${train[@]}" --out run --eval-every 4 --stop-after 6
expect_exit 0 "${train[@]}" --out run --eval-every 4
expect_exit 0 "$dstrain" report run
expect_words run/report.html next
expect_exit 0 "$dstrain" verify run
expect_exit 0 "${train[@]}" --out run --eval-every 4
expect_words finished

case_begin "two runs, one of a hostile name"
expect_exit 0 "${train[@]}" --out "$hostile" --lr 1e-2 --eval-every 4 --seed 7
expect_exit 0 "$dstrain" report run "$hostile" --out two.html --json
expect_equal "runs" "$(json stdout 'o["runs"], o["samples"]')" "(2, 10)"
expect_exit 0 "$dstrain" report run "$hostile" --out -
cmp -s stdout two.html || complain "another page on standard output"

cat >check.py <<'PYTHON'
import json
import re
import sys
import xml.etree.ElementTree as ElementTree

X = "{http://www.w3.org/1999/xhtml}"


def page(path):
    text = open(path, encoding="utf-8").read()
    root = ElementTree.fromstring(text)
    for element in root.iter():
        tag = element.tag.removeprefix(X)
        assert tag not in ("script", "img", "iframe", "link", "object", "base", "b1"), tag
        for name, value in element.attrib.items():
            assert not name.startswith("on") and name not in ("src", "style"), name
            assert name != "href" or value[0] == "#", value
    assert not re.findall(r"url\(|@import|https?://(?!www.w3.org/1999)", text)
    assert not re.search("[\0-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066\u2067]", text)
    return root


def words(element):
    return " ".join("".join(element.itertext()).split())


def figures(root):
    """Title → {class: number of points}."""
    out = {}
    for figure in root.iter(X + "figure"):
        paths = {}
        for path in figure.iter(X + "path"):
            paths[path.get("class")] = len(re.findall("[ML]", path.get("d")))
        out[words(figure.find(f"{X}figcaption/{X}b"))] = paths
    return out


def section(root, name):
    return next(e for e in root.iter(X + "section") if e.get("id") == name)


def tiles(root):
    return {words(tile[0]): words(tile[1]) for tile in root.iter(X + "div")
            if len(tile) == 3 and tile[0].tag == X + "dt"}
PYTHON

python3 - <<'PYTHON' || complain "the pages"
import json
from check import *

lines = [json.loads(line) for line in open("run/metrics.jsonl")]
train = [line for line in lines if "split" not in line]
valid = [line for line in lines if "split" in line]
one = page("run/report.html")
drawn = figures(one)
assert drawn["Loss"] == {"grid": drawn["Loss"]["grid"], "start r1": 1, "train r1": len(train), "valid r1": len(valid),
                         "points r1": len(valid)}, drawn["Loss"]
assert len(train) == 12 and len(valid) == 3
for title in "Loss, mlm", "Loss, nsp", "Accuracy in %, mlm", "Accuracy in %, nsp":
    assert drawn[title]["valid r1"] == 3, title
for title in "Learning rate", "Norm of the gradients, before clipping", "Sequences a second":
    assert drawn[title]["train r1"] >= 11 and "valid r1" not in drawn[title], title
shown = tiles(one)
assert shown["Steps"] == "12" and shown["Held-out loss"] == f"{valid[-1]['loss']:.3f}", shown
assert shown["Held-out accuracy"] == f"{100 * valid[-1]['mlm_accuracy']:.1f} %", shown
assert f"always the commonest {100 * valid[-1]['mlm_accuracy_commonest']:.1f} %" in words(one.find(f".//{X}dl"))
guesses = section(one, "guesses")
samples = [words(e) for e in guesses.iter(X + "h3")]
assert len(samples) == 10
right = sum(int(re.search(r": (\d+) of", s).group(1)) for s in samples)
green = sum(e.get("class") == "kept" for e in guesses.iter(X + "ruby"))
red = sum(e.get("class") == "random" for e in guesses.iter(X + "ruby"))
masked = sum(int(re.search(r"of (\d+) right", s).group(1)) for s in samples)
assert green == right + 1 and green + red == masked + 2, (green, red, right, masked)  # one of each in the legend

two = page("two.html")
drawn = figures(two)
assert drawn["Loss"]["train r2"] == 12 and drawn["Loss"]["train r1"] == 12
assert "<b>x\"'&⟨U+202E⟩" in "".join(two.itertext())
different, equal = [[words(row[0]) for row in table.iter(X + "tr")]
                    for table in list(section(two, "settings").iter(X + "table"))[:2]]
assert "lr" in different and "seed" in different and "batch" not in different, different
assert "batch" in equal and "precision" in equal and "lr" not in equal, equal
assert len(list(section(two, "guesses").iter(X + "h3"))) == 20
PYTHON

case_begin "a short run of larger batches beside the others"
expect_exit 0 "${train[@]}" --out short --steps 3 --batch 16 --eval-every 1
expect_exit 0 "$dstrain" report run short --out three.html
python3 - <<'PYTHON' || complain "the page of runs of different lengths"
import json
import math
from check import *

three = page("three.html")
runs = [[json.loads(line) for line in open(f"{run}/metrics.jsonl")] for run in ("run", "short")]
valid = [[line for line in lines if "split" in line] for lines in runs]
figure = next(three.iter(X + "figure"))
for axis in "tokens", "seconds":
    drawing = next(d for d in figure.iter(X + "div") if d.get("class") == f"curve by-{axis}")
    path = next(p for p in drawing.iter(X + "path") if p.get("class") == "valid r2").get("d")
    high = [max(line[axis] for line in lines) for lines in runs]
    low = min(line[axis] for lines in runs for line in lines)
    last = valid[1][-1][axis]
    place = last / max(high)
    if max(high) > 4 * min(high):
        assert "logarithmic" in words(drawing)
        place = math.log(last / low) / math.log(max(high) / low)
    else:
        assert "logarithmic" not in words(drawing)
    x = float(re.findall(r"[ML]([\d.]+) ", path)[-1])
    assert abs(x - 1000 * place) < 0.1, (axis, x, place)
steps = next(d for d in figure.iter(X + "div") if d.get("class") == "curve by-steps")
assert "logarithmic" not in words(steps)  # 12 is not more than 4 * 3
tables = [[[words(cell) for cell in row] for row in table.iter(X + "tr")]
          for table in next(three.iter(X + "header")).iter(X + "table")]
assert tables[0][2][:2] == ["short", "3 of 3"], tables[0]
end = min(lines[-1]["tokens"] for lines in valid)
for row, lines in zip(tables[1][1:], valid):
    after = next(i for i, line in enumerate(lines) if line["tokens"] >= end)
    b, a = lines[after], lines[max(after - 1, 0)]
    part = (end - a["tokens"]) / (b["tokens"] - a["tokens"]) if b is not a else 0
    expected = f"{a['loss'] + part * (b['loss'] - a['loss']):.3f}" if after or b["tokens"] == end else "–"
    assert row[1] == expected, (row, expected)
assert [e.get("id") for e in three.iter(X + "input")] == ["by-tokens", "by-seconds", "by-steps"]
assert "different samples" not in words(three)
PYTHON
expect_exit 0 "${train[@]}" --out longer --steps 3 --seq 64 --eval-every 3
expect_exit 0 "$dstrain" report run longer --out other.html
grep -q "different samples (seq)" other.html || complain "losses of other samples are compared without a word"

case_begin "lines as anybody may write them"
cp -r run other
python3 - <<'PYTHON'
import json
import random

random.seed(1)
with open("other/metrics.jsonl", "w") as out:
    for step in range(1, 1001):
        line = {"step": step, "loss": 5 + random.random() + (30 if step == 700 else 0),
                "<script>\u202e_loss": 1e-3 * step, "x_loss": 2.0,
                "grad_norm": None if step % 7 else 1e300, "learning_rate": 1e-4}
        out.write(json.dumps(line) + "\n")
    out.write('{"step": 1001, "lo')  # a partial line, as after a crash
record = json.load(open("other/run.json"))
record["settings"]["<i>\u202e"] = ["</td>", {"\u2066": "'\""}]
record["starts"][0]["host"] = "<script>alert(1)</script>"
record["starts"][0]["command"] = ["a b", 3, "\x01`touch owned`"]
json.dump(record, open("other/run.json", "w"))
PYTHON
expect_exit 0 "$dstrain" report other
python3 - <<'PYTHON' || complain "the page of made-up lines"
from check import *

drawn = figures(page("other/report.html"))
assert drawn["Loss"]["train r1"] <= 300 and drawn["Loss"]["spike"] == 1, drawn["Loss"]
assert "Loss, <script>⟨U+202E⟩" in drawn, list(drawn)
assert "Norm of the gradients, before clipping" not in drawn  # no value can be drawn
PYTHON

for wrong in '{"step": 13, "loss": "x"}' '{"step": -1}' '[]' 'x' '{"step": 3}' '{"step": 13, "split": 1}' ''; do
    case_begin "a damaged line: $wrong"
    head -3 run/metrics.jsonl >other/metrics.jsonl
    { tail -3 run/metrics.jsonl; echo "$wrong"; tail -1 run/metrics.jsonl; } >>other/metrics.jsonl
    rm -f other/report.html
    expect_exit 4 "$dstrain" report other
    expect_words other/metrics.jsonl "line 7"
    expect_absent 'report.html*' other
done

case_begin "no metrics yet, no dataset any more"
rm other/metrics.jsonl
mv "$data" "$scratch/moved"
expect_exit 0 "$dstrain" report other
expect_words "no samples with guesses" "$data"
grep -qF "None are shown" other/report.html || complain "no word on the page"
expect_exit 0 "$dstrain" report run --shards "$scratch/moved" --json
expect_equal "samples" "$(json stdout 'o["samples"]')" 10

case_begin "what is no run"
expect_exit 2 "$dstrain" report nowhere
expect_words nowhere
expect_exit 2 "$dstrain" report moved
expect_words run.json
expect_exit 2 "$dstrain" report
expect_exit 2 "$dstrain" report run run run run run run run run run
echo '{' >other/run.json
expect_exit 4 "$dstrain" report other
expect_words other/run.json

for look in "--width 1200" "--width 1200 --dark --no-scripts" "--width 340"; do
    case_begin "in a browser $look"
    status=0
    # shellcheck disable=SC2086  # options
    python3 "$project/tests/flow/reference/browser.py" two.html $look >stdout 2>stderr || status=$?
    if [ "$status" = 77 ]; then
        echo "chromium is not installed: the page was not opened in a browser"
        break
    fi
    expect_equal "what the browser has to say" "$status" 0
done
flow_end
