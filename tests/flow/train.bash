# shellcheck shell=bash
# What the tests of dstrain share: a dataset of a few hundred short samples in $data (lengths 32 and 64), and a model so
# small that a step takes milliseconds, in $model.
# shellcheck source=flow.bash
source "$(dirname "${BASH_SOURCE[0]}")/flow.bash" "$1"
[ -x "$dstrain" ] || { echo "$dstrain is not built: skipped"; exit 77; }

data=$scratch/data
model=$scratch/model.json

python3 - "$scratch" <<'PYTHON'
import json, os, sys

os.chdir(sys.argv[1])
words = "the a river water stone hill town old new small large flows stands near over under of and in is was".split()
pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "."] + words
open("vocab.txt", "w").write("\n".join(pieces) + "\n")
state, lines = 1, []
for document in range(60):
    for sentence in range(12):
        chosen = []
        for word in range(9):
            state = state * 6364136223846793005 + 1442695040888963407 & (1 << 64) - 1
            chosen.append(words[(state >> 40) % len(words)])
        lines.append(" ".join(chosen) + " .")
    lines.append("")
open("text.txt", "w").write("\n".join(lines) + "\n")
json.dump({"model_type": "bert", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
           "intermediate_size": 64, "max_position_embeddings": 64, "hidden_act": "gelu_new"}, open("model.json", "w"))
PYTHON
"$dsdata" build -q --text "$scratch/text.txt" --vocab "$scratch/vocab.txt" --seq 32,64 --valid 0.2 --out "$data"

# The training that the tests repeat, stop and break: train DIR [OPTION…].
train=("$dstrain" --shards "$data" --model "$model" --steps 12 --batch 8 --lr 1e-3 --warmup 0.1 --log-every 1
    --threads 1)
last=checkpoints/step-00000012

# expect_same_checkpoint WHAT A B: the last checkpoints of two runs are equal to the byte.
expect_same_checkpoint() {
    diff -r "$2/$last" "$3/$last" >"$scratch/stdout" 2>&1 || complain "$1: $2 and $3 differ"
}

# compared WHAT LIMIT A B [CHECKPOINT]: parameters of the last checkpoints, relative L2: not equal, and not further
# apart.
compared() {
    local at=${5:-$last}
    python3 - "$2" "$3/$at/model.safetensors" "$4/$at/model.safetensors" <<'PYTHON' || complain "$1: $3 and $4 differ"
import struct, sys

def floats(path):
    data = open(path, "rb").read()
    rest = data[8 + struct.unpack("<Q", data[:8])[0]:]
    return struct.unpack(f"<{len(rest) // 4}f", rest)

a, b = floats(sys.argv[2]), floats(sys.argv[3])
error = sum((x - y) ** 2 for x, y in zip(a, b)) ** 0.5 / sum(x * x for x in a) ** 0.5
assert 0 < error <= float(sys.argv[1]), error
PYTHON
}

# The table on stderr: every operation once, with a count where it is given, and shares that add up to all of the time.
expect_table() { # OPERATION[=COUNT]…
    python3 - "$scratch/stderr" "$@" <<'PYTHON' || complain "the table of operations is wrong: $*"
import re
import sys

rows = {}
for line in open(sys.argv[1], encoding="utf-8"):
    found = re.match(r"  (\S.*?)\s{2,}(?:([\d,]+)\s+)?([\d.]+) s\s+([\d.]+) %", line)
    if found:
        name, count, seconds, share = found.groups()
        assert name not in rows, f"{name} stands there twice"
        rows[name] = int((count or "0").replace(",", "")), float(seconds), float(share)
for wanted in sys.argv[2:]:
    name, _, count = wanted.partition("=")
    assert name in rows, f"{name} is missing: {sorted(rows)}"
    assert not count or rows[name][0] == int(count), f"{name}: {rows[name][0]} times, not {count}"
shares = sum(share for name, (_, _, share) in rows.items() if name != "all")
assert rows["all"][2] == 100 and abs(shares - 100) < 0.01 * len(rows), f"the shares add up to {shares}"
PYTHON
}
