#!/usr/bin/env bash
# Norms of every tensor in TensorBoard's events agree with the checkpoints and metrics.jsonl, also after stops, with
# fp16, and with two processes.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"

cd "$scratch"
normed=("${train[@]}" --precision fp32 --norms-every 4 --save-every 1 --keep-last 0)

cat >norms.py <<'PYTHON'
"""norms.py PROJECT RUN [OTHER]: of a run, and like those of another."""
import json, math, os, struct, sys

sys.path.insert(0, sys.argv[1] + "/tests/flow/reference")
from events_reader import event
from tfrecord_reader import records


def read(run):
    found = {}
    for record in records(open(f"{run}/events.out.tfevents.dstrain", "rb").read()):
        step, _, scalars = event(record)
        if any(name.startswith("norms/") for name in scalars):
            assert step not in found and all(name.startswith("norms/") for name in scalars)
            found[step] = scalars
    return found


def weights(run, step):
    data = open(f"{run}/checkpoints/step-{step:08}/model.safetensors", "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, value in json.loads(data[8 : 8 + size]).items():
        if name != "__metadata__":
            a, b = value["data_offsets"]
            tensors[name] = struct.unpack(f"<{(b - a) // 4}f", data[8 + size + a : 8 + size + b])
    return tensors


def length(values):
    return math.sqrt(sum(x * x for x in values))


def close(a, b, limit=2e-5):
    return abs(a - b) <= limit * abs(b) + 1e-12


run = sys.argv[2]
norms = read(run)
lines = {line["step"]: line for line in map(json.loads, open(f"{run}/metrics.jsonl")) if "split" not in line}
assert list(norms) == [4, 8, 12], list(norms)
assert not any("norms" in key for line in lines.values() for key in line)
for step, of in norms.items():
    before, now = weights(run, step - 1), weights(run, step)
    assert len(of) == 3 * len(now), (len(of), len(now))
    squares = 0
    for name, values in now.items():
        assert close(of[f"norms/weight/{name}"], length(values)), (step, name)
        change = length([a - b for a, b in zip(values, before[name])])
        assert close(of[f"norms/update/{name}"], change), (step, name, of[f"norms/update/{name}"], change)
        squares += of[f"norms/gradient/{name}"] ** 2
    assert close(math.sqrt(squares), lines[step]["grad_norm"]), (step, math.sqrt(squares), lines[step]["grad_norm"])
if len(sys.argv) > 3:
    other = read(sys.argv[3])
    limit = float(sys.argv[4])
    for step in norms:
        for name, value in norms[step].items():
            assert close(other[step][name], value, limit) or value < 1e-5, (step, name, value, other[step][name])
PYTHON

expect_norms() { # RUN [OTHER LIMIT]
    python3 norms.py "$project" "$@" >stdout 2>stderr || complain "$*: the norms are wrong"
}

case_begin "norms of gradients, weights and updates"
expect_exit 0 "${normed[@]}" --out whole
expect_norms whole

case_begin "stopped twice"
for steps in 4 3; do expect_exit 75 "${normed[@]}" --out parts --stop-after $steps; done
expect_exit 0 "${normed[@]}" --out parts
expect_norms parts whole 0

case_begin "without the scale of fp16's loss"
expect_exit 0 "${normed[@]}" --precision fp16 --set fp16.loss_scale=64 --out half
expect_norms half

case_begin "two processes"
if [ -e "$build/dstrain_gloo.so" ]; then
    expect_exit 0 "${normed[@]}" --processes 2 --out two
    expect_norms two whole 1e-2
    expect_exit 2 "${normed[@]}" --processes 2 --zero 1 --out divided
    expect_words "--norms-every" "--zero"
else
    echo "gloo is not built: two processes are skipped"
fi
flow_end
