#!/usr/bin/env bash
# --patience and the best checkpoint: the checkpoint with the lowest held-out loss is kept, and a run ends when that
# loss stops falling; also with stops, kills, and two processes.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"
needs_faults

cd "$scratch"
# The rate always rises, so the held-out loss first falls and then stops falling.
judged=("$dstrain" --shards "$data" --model "$model" --steps 30 --batch 8 --lr 0.3 --warmup 29 --threads 1 \
    --precision fp32
    --eval-every 2 --eval-samples 20 --save-every 1000 --keep-last 1 --keep-best)

# expect_best RUN [PATIENCE]: `best`, the checkpoints and the end of the run agree with the evaluations.
expect_best() {
    python3 - "$1" "${2:-0}" <<'PYTHON' || complain "$1: not what its evaluations say"
import json, os, sys

run, patience = sys.argv[1], int(sys.argv[2])
lines = [json.loads(line) for line in open(f"{run}/metrics.jsonl")]
losses = [(line["step"], line["loss"]) for line in lines if line.get("split") == "valid"]
least, at, since = float("inf"), 0, 0
for step, loss in losses:
    assert not patience or since < patience, f"went on after step {step - 2}"
    since += 1
    if loss < least:
        least, at, since = loss, step, 0
last = losses[-1][0]
assert [step for step, _ in losses] == list(range(2, last + 1, 2)) and last <= 30
assert last == 30 if not patience else since == patience and last < 30, (losses, since)
assert 0 < at < last, f"the best is at {at} of {last}: the test shows nothing"
name = f"step-{at:08}"
assert open(f"{run}/best").read() == name + "\n", (open(f"{run}/best").read(), losses)
assert sorted(os.listdir(f"{run}/checkpoints")) == [name, f"step-{last:08}"], os.listdir(f"{run}/checkpoints")
PYTHON
}

case_begin "the best is kept"
expect_exit 0 "${judged[@]}" --out whole --json
expect_best whole
expect_words "best       loss" "whole/best names it"
expect_equal "the facts" \
    "$(json stdout 'o["steps"], o["best"]["step"], o["end_to_end_seconds"] > o["seconds"], o["next"][-1].split()[2]')" \
    "(30, $((10#$(cut -c6- whole/best))), True, 'whole/checkpoints/$(cat whole/best)')"
expect_equal "the next commands begin there, but for the report of the run" \
    "$(json stdout '[" whole/checkpoints/step-" in c for c in o["next"] if c.split()[1] != "report"]')" "[True, True]"
expect_exit 0 "$dstrain" verify whole
cp whole/best best
echo step-00000001 >whole/best
expect_exit 4 "$dstrain" verify whole
grep -q best stdout || complain "verify does not name it"
cp best whole/best

case_begin "stopped, and killed at several calls"
for steps in 3 4 11; do
    expect_exit 75 "${judged[@]}" --out parts --stop-after $steps
done
expect_exit 0 "${judged[@]}" --out parts
expect_best parts
diff -r whole/checkpoints parts/checkpoints >stdout || complain "in parts: other bytes"
for call in 20 40 45 50 60 75 90 110; do
    rm -rf killed
    DS_FAIL_FILE=$call:kill expect_exit 137 "${judged[@]}" --out killed
    expect_exit 0 "${judged[@]}" --out killed
    expect_best killed
    diff -r whole/checkpoints killed/checkpoints >stdout || complain "killed at call $call: other bytes"
done

case_begin "patience"
expect_exit 2 "${train[@]}" --patience 2 --out none
expect_words "--patience" "--eval-every"
expect_exit 0 "${judged[@]}" --patience 3 --out patient --json
expect_best patient 3
expect_words "3 evaluations in a row did not lower the held-out loss"
expect_equal "facts" "$(json stdout 'o["finished"], o["ended"], o["steps"] < 30')" "(True, 'patience', True)"
ended=$(json stdout 'o["steps"]')
expect_exit 0 "${judged[@]}" --patience 3 --out patient
expect_words "is finished: $ended steps"
expect_exit 75 "${judged[@]}" --patience 3 --out slow --stop-after $((ended - 3))
expect_exit 0 "${judged[@]}" --patience 3 --out slow
expect_best slow 3
diff -r patient/checkpoints slow/checkpoints >stdout || complain "stopped before its end: other bytes"

case_begin "two processes"
if [ -e "$build/dstrain_gloo.so" ]; then
    expect_exit 0 "${judged[@]}" --patience 3 --processes 2 --out two
    expect_best two 3
else
    echo "gloo is not built: two processes are skipped"
fi
case_begin "after --resume, where the other run has an evaluation of its last step"
branch=("$dstrain" --shards "$data" --batch 8 --threads 1 --eval-every 2 --keep-best)
for at in 4 3; do
    expect_exit 75 "${train[@]}" --steps 8 --eval-every 2 --out other-$at --stop-after $at
    expect_exit 0 "${branch[@]}" --resume other-$at --steps 8 --lr 1e-3 --out branch-$at
    [ -e "branch-$at/checkpoints/$(cat branch-$at/best)/state.json" ] || complain "best names what is not there"
    expect_exit 0 "$dstrain" verify branch-$at
done
expect_exit 0 "${branch[@]}" --resume other-4 --steps 8 --lr 30 --out worse
expect_words "best       loss"
[ -e "worse/checkpoints/$(cat worse/best)/state.json" ] || complain "best names what is not there"
flow_end
