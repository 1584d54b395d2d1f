#!/usr/bin/env bash
# python -m dsshards watch: every line of a run that is killed, resumed and followed reaches the peer, each once; two
# runs at a time; a run that --fresh replaced; damaged lines. The peers are small modules with the interface of MLflow
# and wandb that write down what they are given, then the real ones where they are installed (WATCH_PYTHON).
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"

cd "$scratch"
mkdir -p fake/mlflow/{exceptions,entities} fake/wandb
cat >fake/mlflow/__init__.py <<'PYTHON'
import json, os, types
from . import entities, exceptions

LOG = os.environ["SENT"]


def lines():
    return [json.loads(line) for line in open(LOG)] if os.path.exists(LOG) else []


def write(*parts):
    with open(LOG, "a") as file:
        file.write(json.dumps(parts) + "\n")


class MlflowClient:
    tracking_uri = "nowhere"

    def get_experiment_by_name(self, name):
        return None

    def create_experiment(self, name):
        return name

    def search_runs(self, experiments, text):
        keys = {line[3] for line in lines() if line[0] == "point"}
        ids = [line[1] for line in lines() if line[0] == "run" and repr(line[1]) in text]
        return [types.SimpleNamespace(info=types.SimpleNamespace(run_id=run), data=types.SimpleNamespace(metrics=keys))
                for run in ids]

    def create_run(self, experiment, start, tags, name):
        assert start > 1e12, start
        write("run", tags["dstrain.run"], name)
        return types.SimpleNamespace(info=types.SimpleNamespace(run_id=tags["dstrain.run"]))

    def update_run(self, run, status):
        pass

    def set_terminated(self, run):
        write("end", run)

    def log_batch(self, run, metrics=(), params=()):
        assert len(metrics) <= 1000
        for m in metrics:
            write("point", run, m.step, m.key, m.value)

    def get_metric_history(self, run, key):
        return [entities.Metric(line[3], line[4], 0, line[2]) for line in lines()
                if line[0] == "point" and line[1] == run and line[3] == key]
PYTHON
cat >fake/mlflow/entities/__init__.py <<'PYTHON'
import collections

Metric = collections.namedtuple("Metric", "key value timestamp step")
Param = collections.namedtuple("Param", "key value")
PYTHON
echo 'class MlflowException(Exception): pass' >fake/mlflow/exceptions/__init__.py
cat >fake/wandb/__init__.py <<'PYTHON'
from mlflow import lines, write


class Error(Exception):
    pass


class Handle:
    step = 0  # offline it does not know

    def __init__(self, run):
        self.run = run

    def define_metric(self, name, step_metric):
        pass

    def log(self, values, step, commit):
        assert step >= self.step and commit
        self.step = step + 1
        for key, value in values.items():
            if key != "step":
                write("point", self.run, values["step"], key, value)

    def finish(self):
        write("end", self.run)


def init(project, id, name, **_):
    if ["run", id, name] not in lines():
        write("run", id, name)
    return Handle(id)
PYTHON
# The points that a peer has are those of metrics.jsonl, each once: compare SENT RUN [LINES IN ALL].
cat >compare.py <<'PYTHON'
import json, sys

TIMES = "seconds", "sequences_per_second", "data_wait_seconds"  # a step that is computed again takes other times
sent = [json.loads(line) for line in open(sys.argv[1])]
(run,) = [line[1] for line in sent if line[0] == "run" and line[2] == sys.argv[2]]
points = {}
for line in sent:
    if line[0] == "point" and line[1] == run:
        assert (line[2], line[3]) not in points, ("twice", line)
        points[line[2], line[3]] = line[4]
expected = {}
for line in map(json.loads, open(f"{sys.argv[2]}/metrics.jsonl")):
    for key, value in line.items():
        valid = "split" in line
        if isinstance(value, (int, float)) and key != "step" and (
                not valid or key.endswith(("loss", "accuracy", "commonest", "majority", "valid_samples"))):
            expected[line["step"], f"valid/{key}" if valid else key] = value
assert points.keys() == expected.keys(), sorted(points.keys() ^ expected.keys())[:9]
for key in points:
    assert points[key] == expected[key] or key[1] in TIMES, (key, points[key], expected[key])
PYTHON
watch=(env PYTHONPATH="$project/python:fake" python3 -m dsshards watch)
more=(--eval-every 10 --save-every 10 --steps 40)

for to in mlflow wandb; do
    export SENT="$scratch/$to.sent"
    rm -rf run other run.1
    case_begin "$to: killed, continued and followed, beside a run that begins later"
    expect_exit 75 "${train[@]}" "${more[@]}" --out run --stop-after 27 -q
    rm -r run/checkpoints/step-00000027 run/latest # as after a kill at step 27: it goes on at 20
    expect_exit 0 "${watch[@]}" run --to "$to" --once
    expect_words "run: 29 lines sent"
    python3 compare.py "$SENT" run || complain "after 27 steps"
    "${watch[@]}" run other --to "$to" --every 0.05 2>followed &
    pid=$!
    sleep 0.5
    kill -9 "$pid"
    "${watch[@]}" run other --to "$to" --every 0.05 2>followed &
    pid=$!
    "${train[@]}" "${more[@]}" --out run -q 2>stderr
    "${train[@]}" "${more[@]}" --out other --seed 3 -q 2>stderr
    wait "$pid" || complain "the watch ended with $?"
    grep -q "run: .*, finished" followed || complain "$(cat followed)"
    grep -q "other: 44 lines sent, finished" followed || complain "$(cat followed)"
    for name in run other; do
        python3 compare.py "$SENT" "$name" || complain "$name: other points than in the file"
    done

    case_begin "$to: nothing new; another run in the same place"
    expect_exit 0 "${watch[@]}" run --to "$to"
    expect_words "run: 0 lines sent, finished"
    "${train[@]}" --out run --fresh -q 2>stderr
    expect_exit 0 "${watch[@]}" run --to "$to"
    expect_words "run: 13 lines sent, finished"
    expect_equal "runs" "$(grep -c '^."run"' "$SENT")" 3
done

case_begin "a run that has stopped is given up"
expect_exit 75 "${train[@]}" --out stopped --stop-after 5 -q
expect_exit 0 "${watch[@]}" stopped --to mlflow --every 0.05 --wait 0.2
expect_words "no new line for 0.2 s" "the same command sends what follows"

case_begin "damaged, and no run"
echo '{"step": "x"}' >>stopped/metrics.jsonl
expect_exit 4 "${watch[@]}" stopped --to mlflow --once
expect_words stopped/metrics.jsonl byte
echo '{' >stopped/run.json
expect_exit 4 "${watch[@]}" stopped --to mlflow --once
expect_words stopped/run.json
expect_exit 2 "${watch[@]}" nowhere --to mlflow --once
expect_words nowhere run.json
rm -r fake/wandb
if ! python3 -c 'import wandb' 2>/dev/null; then
    expect_exit 2 "${watch[@]}" run --to wandb
    expect_words "pip install wandb"
fi

python=${WATCH_PYTHON:-python3}
real() {
    PYTHONPATH="$project/python" MLFLOW_ALLOW_FILE_STORE=true MLFLOW_TRACKING_URI="file:$scratch/mlruns" \
        WANDB_MODE=offline WANDB_SILENT=true "$python" -m dsshards watch "$@"
}
if "$python" -c 'import mlflow' 2>/dev/null; then
    case_begin "MLflow itself"
    expect_exit 0 real other --to mlflow
    expect_words "other: 44 lines sent, finished"
    expect_exit 0 real other run --to mlflow
    expect_words "other: 0 lines sent, finished" "run: 13 lines sent, finished"
    expect_equal "points of the loss" "$(cat mlruns/*/*/metrics/loss | wc -l)" 52
else
    echo "mlflow is not installed: not tested"
fi
if "$python" -c 'import wandb' 2>/dev/null; then
    case_begin "wandb itself"
    rm -f other/watch-wandb.json
    expect_exit 0 real other --to wandb
    expect_words "other: 44 lines sent, finished"
    expect_exit 0 real other --to wandb
    expect_words "other: 0 lines sent, finished"
    ls wandb/offline-run-*/*.wandb >stdout || complain "no file of wandb's"
else
    echo "wandb is not installed: not tested"
fi
flow_end
