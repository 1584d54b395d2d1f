"""The metrics of runs of dstrain, sent to MLflow or Weights & Biases while they are written."""

import fcntl
import hashlib
import json
import math
import os
import struct
import sys
import time
from datetime import datetime

from .need import need

POSITION = "watch-wandb.json"  # in the run's directory: how far wandb has it
TEXT_MAX = 500  # of a setting: MLflow's limit
# Keys of an evaluation that tell of the training; its own lines have them.
OF_TRAINING = {"learning_rate", "grad_norm", "samples", "tokens", "epoch", "seconds", "sequences_per_second",
               "data_wait_seconds", "loss_scale", "skipped", "wire_bytes"}


class Refused(Exception):
    """The command cannot go on; `code` is the exit code, as dstrain's."""

    def __init__(self, text, code):
        super().__init__(text)
        self.code = code


def points(line):
    """{name: value} of a line of metrics.jsonl, under TensorBoard's names; what is no finite number is left out."""
    before = "valid/" if "split" in line else ""
    groups = [(before, line)]
    groups += [(f"{before}dataset{d}/", one) for d, one in enumerate(line.get("datasets", ()), 1)]
    return {prefix + key: value for prefix, group in groups for key, value in group.items()
            if isinstance(value, (int, float)) and math.isfinite(value) and key != "step"
            and not (before and key in OF_TRAINING)}


class Lines:
    """The lines of a file that grows, and whose end may be cut off and written again by a run that resumes."""

    def __init__(self, path):
        self.path = path
        self.at = 0
        self.last = b""  # the line before `at`

    def __iter__(self):
        """Yields (number, bytes) of complete lines that are new; all of them again if the file was cut."""
        if not os.path.exists(self.path):
            return
        with open(self.path, "rb") as file:
            file.seek(max(self.at - len(self.last), 0))
            if file.read(len(self.last)) != self.last:
                self.at = 0
                file.seek(0)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self.at += len(line)
                self.last = line
                yield line


class Mlflow:
    """MLflow itself says which steps of a metric it has, so nothing is sent twice, wherever a watch was killed."""

    def __init__(self):
        self.mlflow = need("mlflow", "--to mlflow")
        self.errors = (self.mlflow.exceptions.MlflowException,)

    def connect(self, options):
        self.entities = self.mlflow.entities
        self.client = self.mlflow.MlflowClient()
        found = self.client.get_experiment_by_name(options.project)
        self.experiment = found.experiment_id if found else self.client.create_experiment(options.project)
        return f"{self.client.tracking_uri}, experiment {options.project}"

    def open(self, run):
        client = self.client
        found = client.search_runs([self.experiment], f"tags.`dstrain.run` = '{run.key}'")
        if found:
            handle = found[0].info.run_id
            client.update_run(handle, status="RUNNING")
        else:
            tags = {"dstrain.run": run.key, "dstrain.directory": os.path.abspath(run.directory)}
            handle = client.create_run(self.experiment, int(1000 * run.began), tags, run.name).info.run_id
            params = [self.entities.Param(key, str(value)[:TEXT_MAX]) for key, value in run.settings.items()]
            client.log_batch(handle, params=params)
        sent = {key: {metric.step for metric in client.get_metric_history(handle, key)}
                for key in (found[0].data.metrics if found else ())}
        return [handle, sent]

    def send(self, run, lines):
        """Sends what is new of the lines; returns the number of lines with something new."""
        handle, sent = run.handle
        metrics, count = [], 0
        for line in lines:
            new = [(key, value) for key, value in points(line).items()
                   if line["step"] not in sent.setdefault(key, set())]
            count += bool(new)
            for key, value in new:
                sent[key].add(line["step"])
                at = int(1000 * (run.began + (line.get("seconds") or 0)))
                metrics.append(self.entities.Metric(key, value, at, line["step"]))
        for i in range(0, len(metrics), 1000):  # MLflow's limit for a batch
            self.client.log_batch(handle, metrics[i:i + 1000])
        return count

    def close(self, run):
        if run.finished:
            self.client.set_terminated(run.handle[0])


class Wandb:
    """wandb takes steps in increasing order only. Where it is online, it says how far it has a run; offline, a file in
    the run's directory does, written after the points."""

    def __init__(self):
        self.wandb = need("wandb", "--to wandb")
        self.errors = (self.wandb.Error,)

    def connect(self, options):
        self.project = options.project
        return f"project {options.project}"

    def open(self, run):
        handle = self.wandb.init(project=self.project, id=run.key, name=run.name, resume="allow", config=run.settings,
                                 reinit="create_new")
        handle.define_metric("*", step_metric="step")
        return [handle, max(self._positions(run).get(f"{self.project}/{run.key}", 0), handle.step)]

    def _positions(self, run):
        path = os.path.join(run.directory, POSITION)
        if not os.path.exists(path):
            return {}
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def send(self, run, lines):
        handle, next_step = run.handle
        count = 0
        for line in lines:
            step = 2 * line["step"] + ("split" in line)  # an evaluation is a step of its own
            if step >= next_step:
                handle.log({"step": line["step"], **points(line)}, step=step, commit=True)
                next_step = step + 1
                count += 1
        run.handle[1] = next_step
        if count > 0:
            path = os.path.join(run.directory, POSITION)
            positions = {**self._positions(run), f"{self.project}/{run.key}": next_step}
            with open(path + ".tmp", "w", encoding="utf-8") as file:
                json.dump(positions, file)
            os.replace(path + ".tmp", path)
        return count

    def close(self, run):
        run.handle[0].finish()


PEERS = {"mlflow": Mlflow, "wandb": Wandb}


class Run:
    """A directory in which dstrain trains. --fresh may put another run there at any time."""

    def __init__(self, directory):
        self.directory = directory
        self.name = os.path.basename(os.path.abspath(directory))
        self.key = self.handle = None
        self.finished = False
        self.sent = 0
        self.sign = time.monotonic()  # when it last showed that it lives

    def _record(self):
        path = os.path.join(self.directory, "run.json")
        if not os.path.exists(path):
            return None
        try:
            with open(path, encoding="utf-8") as file:
                record = json.load(file)
            start = record["starts"][0] if record["starts"] else None
            self.finished = record["finished"] is True
            self.settings = {**record["identity"], "precision": record["precision"]}
            if start:
                self.began = datetime.fromisoformat(start["time"].replace("Z", "+00:00")).timestamp()
            return start and json.dumps([record["identity"], start], sort_keys=True)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Refused(f"{path}: is not the record of a run: {error!r}", 4) from error

    def _new(self):
        for text in self.lines:
            try:
                line = json.loads(text)
                if not isinstance(line["step"], int):
                    raise ValueError("holds no step")
                yield line
            except (ValueError, KeyError, TypeError) as error:
                where = f"byte {self.lines.at - len(text)}"
                raise Refused(f"{self.lines.path}: {where}: is not a line of dstrain: {error!r}", 4) from error

    def step(self, peer):
        """Sends what is new. Returns whether more may come."""
        record = self._record()
        if record is None:
            return True
        key = hashlib.sha256(record.encode()).hexdigest()[:16]
        if key != self.key:
            self.end(peer)
            self.key = key
            self.lines = Lines(os.path.join(self.directory, "metrics.jsonl"))
            self.handle = peer.open(self)
        # `finished` was read before the lines, so all are there if it is set.
        count = peer.send(self, self._new())
        if count > 0:
            self.sign = time.monotonic()
            self.sent += count
        return not self.finished

    def is_held(self):
        """Whether a process holds the run's lock."""
        try:
            with open(os.path.join(self.directory, ".lock"), "rb") as file:
                asked = struct.pack("hhqqi4x", fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0)
                return struct.unpack("hhqqi4x", fcntl.fcntl(file, fcntl.F_GETLK, asked))[0] != fcntl.F_UNLCK
        except OSError:
            return False

    def end(self, peer):
        if self.handle:
            peer.close(self)
        self.handle = None


def _say(text):
    print(text, file=sys.stderr, flush=True)


def _follow(runs, peer, options):
    left = list(runs)
    while left:
        for run in list(left):
            more = run.step(peer) and not options.once
            if more and time.monotonic() - run.sign > options.wait and not run.is_held():
                _say(f"{run.directory}: no new line for {options.wait:g} s, and no process trains it")
                more = False
            if not more:
                left.remove(run)
                run.end(peer)
                _say(f"{run.directory}: {run.sent} lines sent"
                     f"{', finished' if run.finished else '; the same command sends what follows'}")
        if left:
            time.sleep(options.every)


def watch(options):
    """The verb watch."""
    for directory in options.runs:
        if options.once and not os.path.exists(os.path.join(directory, "run.json")):
            raise Refused(f"{directory}: is not a run of dstrain: it holds no run.json", 2)
    runs = [Run(directory) for directory in options.runs]
    peer = PEERS[options.to]()
    try:
        _say(f"to {options.to}, {peer.connect(options)}")
        _follow(runs, peer, options)
    except KeyboardInterrupt:
        raise Refused("stopped: the same command sends what follows", 75) from None
    except peer.errors as error:
        raise Refused(f"{options.to}: {error}", 7) from error
    finally:
        for run in runs:
            run.end(peer)
