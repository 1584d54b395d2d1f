"""What the campaigns share. A campaign injects all faults of one kind into the programs and counts losses of data:

    import common
    campaign = common.Campaign("kills", "kill -9 at every change of a file")
    ...
    campaign.check(ok, "what was done", "what was wrong")
    campaign.end("285 kill points")

Each gets the build folder, and the share of its work to do: 1 (all of it) from scripts/campaign.sh, less in the test
suite. The last line of output has its row of the table in tests/README.md."""

import argparse
import filecmp
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

PROJECT = pathlib.Path(__file__).resolve().parents[2]
SAMPLES = PROJECT / "samples" / "samplewiki.xml.bz2"
MULTISTREAM = PROJECT / "samples" / "samplewiki-multistream.xml.bz2"
DATA = pathlib.Path(os.environ.get("DS_DATA_DIR", PROJECT.parent / "shared/data"))  # no part of the project
ENGLISH = DATA / "enwiki-2016-sample.xml.bz2"
DUMP = ENGLISH if ENGLISH.exists() else SAMPLES  # what a campaign that needs no particular dump reads
COMPLAINTS_MAX = 20


class Campaign:
    not_compared = {"build.json"}  # names, times, hosts: not part of the dataset

    def __init__(self, name, what):
        parser = argparse.ArgumentParser(description=what)
        parser.add_argument("build", type=pathlib.Path, help="the build folder")
        parser.add_argument("--share", type=float, default=1.0, help="of the work to do (default 1: all)")
        parser.add_argument("--seed", type=int, default=1, help="of what is drawn")
        arguments = parser.parse_args()
        self.name, self.what = name, what
        self.share, self.seed = arguments.share, arguments.seed
        self.random = random.Random(arguments.seed)
        self.dsdata, self.dstrain = (arguments.build.resolve() / name for name in ("dsdata", "dstrain"))
        for program in self.programs():
            if not program.exists():
                print(f"{program} is not built: skipped")
                sys.exit(77)
            if b"DS_FAIL_FILE" not in program.read_bytes():
                print(f"{program} has no faults for tests (DS_FAULTS): skipped")
                sys.exit(77)
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="campaign."))
        self.checks = self.lost = 0
        self.output = b""
        self.begun = time.monotonic()

    def programs(self):
        """The programs that must be built."""
        return [self.dsdata]

    def run(self, *arguments, program=None, stdin=None, **variables):
        """Runs dsdata, with a file as stdin. Returns its exit code (or 128 + signal) and its stderr. Its stdout is
        in .output."""
        with open(stdin or os.devnull, "rb") as source:
            done = subprocess.run([program or self.dsdata, *map(str, arguments)], capture_output=True, stdin=source,
                                  env={**os.environ, **{key: str(value) for key, value in variables.items()}},
                                  check=False)
        self.output = done.stdout
        said = done.stderr.decode("utf-8", "replace")
        code = done.returncode if done.returncode >= 0 else 128 - done.returncode
        for word in ("Assertion", "Sanitizer", "runtime error:"):
            self.check(word not in said, " ".join(map(str, arguments)), said, count=False)
        return code, said

    def changes(self, program, arguments, **options):
        """All changes of files in a run, from DS_TRACE_FILE (base/faults.h): [(what, fields, data)]. The n-th is
        the one that fails with DS_FAIL_FILE=n."""
        trace, changes, at = self.scratch / "trace", [], 0
        code, said = self.run(*arguments, program=program, DS_TRACE_FILE=trace, **options)
        self.must(code == 0, said)
        text = trace.read_bytes()
        while at < len(text):
            end = text.index(b"\n", at)
            what, *fields = text[at:end].decode().split(" ")
            at = end + 1 + (int(fields[2]) if what == "write" else 0)
            changes.append((what, fields, text[end + 1:at]))
        return changes

    def vocabulary(self, size=1500):
        path = self.scratch / f"vocab{size}.txt"
        if path.exists():
            return path
        code, said = self.run("vocab", SAMPLES, "--vocab-size", size, "--out", path)
        self.must(code == 0, said)
        return path

    def tiny(self, vocab):
        """The arguments, without --out, of a build that takes a few dozen milliseconds."""
        return ["build", SAMPLES, "--vocab", vocab, "--seq", "32,64", "--valid", "0.1"]

    def some(self, items):
        """The share of a list that has to be done, spread evenly."""
        items = list(items)
        wanted = max(1, round(len(items) * min(1.0, self.share)))
        return [items[(2 * i + 1) * len(items) // (2 * wanted)] for i in range(wanted)] if items else []

    def some_of_each(self, items, kind):
        """The same for each kind(item), at least one of each."""
        kinds = {}
        for item in items:
            kinds.setdefault(kind(item), []).append(item)
        return sorted(item for group in kinds.values() for item in self.some(group))

    def count(self, whole):
        """The number of random attempts to make, of `whole`."""
        return max(1, round(whole * self.share))

    def clear(self, directory):
        shutil.rmtree(directory, ignore_errors=True)
        return directory

    def check(self, good, done, wrong, count=True):
        self.checks += count
        if not good:
            self.lost += 1
            if self.lost <= COMPLAINTS_MAX:
                print(f"FAILED: {done}\n    " + str(wrong).strip().replace("\n", "\n    "), flush=True)
        return good

    def must(self, good, wrong):
        if not good:
            print(f"the campaign cannot begin: {wrong}")
            sys.exit(1)

    def calls(self, *arguments, **options):
        """How many changes, reads and allocations a run makes: DS_FAIL_FILE, DS_FAIL_READ and DS_FAIL_ALLOC count
        them. The numbers are about the same in every run; threads may share the work in another way."""
        counts = self.scratch / "counts"
        code, said = self.run(*arguments, DS_COUNT_CALLS=counts, **options)
        self.must(code == 0, said)
        return map(int, counts.read_text().split())

    def same(self, directory, good, done):
        """Checks that two directories are equal byte for byte, without additional files."""
        return self.check(*self.difference(directory, good, done))

    def difference(self, directory, good, done):
        names = [sorted(str(path.relative_to(top)) for path in top.rglob("*") if path.name not in self.not_compared)
                 for top in (directory, good)]
        if names[0] != names[1]:
            return False, done, f"other files: {sorted(set(names[0]) ^ set(names[1]))}"
        for name in names[0]:
            if (directory / name).is_file() and not filecmp.cmp(directory / name, good / name, shallow=False):
                return False, done, f"other bytes: {name}"
        return True, done, ""

    def end(self, figures):
        shutil.rmtree(self.scratch, ignore_errors=True)
        seconds = time.monotonic() - self.begun
        print(f"| {self.name} | {self.what} | {figures} | {self.lost} of {self.checks} checks failed | {seconds:.0f} s "
              f"|")
        sys.exit(1 if self.lost else 0)


class TrainingCampaign(Campaign):
    """A campaign for dstrain: a dataset of a few hundred samples, and a model whose step takes a millisecond."""

    not_compared = {"run.json", "metrics.jsonl", "events.out.tfevents.dstrain"}  # they have times
    INTERVAL = 3  # steps between checkpoints

    def __init__(self, name, what):
        super().__init__(name, what)
        data, model = self.scratch / "data", self.scratch / "model.json"
        code, said = self.run("build", SAMPLES, "--vocab", self.vocabulary(300), "--seq", "32", "--valid", "0.1",
                              "--out", data)
        self.must(code == 0, said)
        model.write_text(json.dumps({"model_type": "bert", "hidden_size": 32, "num_hidden_layers": 2,
                                     "num_attention_heads": 2, "intermediate_size": 64, "max_position_embeddings": 32}))
        self.command = ["--shards", data, "--model", model, "--batch", 8, "--lr", "1e-3", "--threads", 1,
                        "--log-every", 1,
                        "--eval-every", 4, "--eval-samples", 20, "--save-every", self.INTERVAL, "--keep-last", 2]

    def programs(self):
        return [self.dsdata, self.dstrain]

    def train(self, *arguments, **variables):
        return self.run(*arguments, program=self.dstrain, **variables)

    @staticmethod
    def metrics(run):
        """The complete lines of metrics, without times."""
        path = run / "metrics.jsonl"
        lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
        return [{key: value for key, value in json.loads(line).items() if "second" not in key} for line in lines]

    @staticmethod
    def events(run):
        """TensorBoard's events, without times: steps, names and numbers as they are on disk."""
        path, found, at = run / "events.out.tfevents.dstrain", [], 0
        content = path.read_bytes() if path.exists() else b""
        while at < len(content):
            size = int.from_bytes(content[at:at + 8], "little")
            message = content[at + 12:at + 12 + size]  # after size and CRC; [9:] skips the time
            found.append(re.sub(rb"sequences_per_second\x15.{4}", b"", message[9:], flags=re.DOTALL))
            at += 12 + size + 4
        return found

    def check_left(self, run, done, interval=INTERVAL):
        """Checks the files of an interrupted run: the checkpoint that `latest` names is complete, and at most an
        interval old."""
        reached = max((line["step"] for line in self.metrics(run)), default=0)
        newest = 0
        if (run / "latest").exists():
            newest = int(re.fullmatch(r"step-(\d{8})\n", (run / "latest").read_text())[1])
            code, said = self.train("verify", run)
            self.check(code == 0, done, f"what is left does not verify: exit {code}: {said}")
        self.check(reached - newest <= interval, done,
                   f"step {reached} was reached, step {newest} is the newest checkpoint")

    def difference(self, directory, good, done):
        if self.metrics(directory) != self.metrics(good):
            return False, done, "other metrics"
        if self.events(directory) != self.events(good):
            return False, done, "other events"
        return super().difference(directory, good, done)
