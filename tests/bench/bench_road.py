#!/usr/bin/env python3
"""From a dump to masked instances of 128 and 512 pieces, one copy each: `dsdata build` against existing programs.

These are WikiExtractor with two processes, then Google's create_pretraining_data.py, both lengths at the same time.

    bench_road.py DUMP.xml.bz2 --vocab FILE --google DIR [--runs 1] [--bin build/release]

--google DIR has the package `bert` of PyPI's bert-tensorflow 1.0.1, unpacked; without it or WikiExtractor (PyPI:
wikiextractor), only dsdata is measured. TensorFlow is not needed: the parts that the script uses (flags, files, a
writer of records) are replaced here by simpler ones. Its sentences are WikiExtractor's paragraphs, because neither
program splits sentences; this saves them a step that dsdata does."""

import argparse
import array
import glob
import importlib.util
import json
import os
import pathlib
import runpy
import shutil
import subprocess
import sys
import tempfile
import time
import types

PROJECT = pathlib.Path(__file__).resolve().parents[2]
LENGTHS = {128: 20, 512: 80}  # length: number of predictions


class Flags:
    """A substitute for tf.flags: definitions, and values from --name=value."""

    def __init__(self):
        self.FLAGS = types.SimpleNamespace()
        self.kinds = {}

    def define(self, kind):
        def definition(name, default, _help):
            self.kinds[name] = kind
            setattr(self.FLAGS, name, default)

        return definition

    def mark_flag_as_required(self, name):
        pass

    def parse(self, arguments):
        for argument in arguments:
            name, value = argument.removeprefix("--").split("=", 1)
            setattr(self.FLAGS, name, self.kinds[name](value))


def values(kind):
    return lambda value=(): types.SimpleNamespace(value=array.array(kind, value))


class Feature:
    def __init__(self, int64_list=values("q")(), float_list=values("f")()):
        self.int64_list, self.float_list = int64_list, float_list


class Example:
    def __init__(self, features):
        self.features = features

    def SerializeToString(self):
        return b"".join(
            name.encode() + each.int64_list.value.tobytes() + each.float_list.value.tobytes()
            for name, each in self.features.items()
        )


class Writer:
    def __init__(self, path):
        self.file = open(path, "wb")

    def write(self, record):
        self.file.write(record)

    def close(self):
        self.file.close()


def stand_in(google, arguments):
    """Runs Google's script in this process, with these flags."""
    flags = Flags()
    for name, kind in {"string": str, "integer": int, "float": float, "bool": lambda text: text == "True"}.items():
        setattr(flags, f"DEFINE_{name}", flags.define(kind))
    silent = types.SimpleNamespace(INFO=0, info=lambda *_: None, set_verbosity=lambda _: None)
    tensorflow = types.ModuleType("tensorflow")
    tensorflow.flags = flags
    tensorflow.logging = silent
    tensorflow.gfile = types.SimpleNamespace(
        GFile=lambda path, mode: open(path, mode, encoding="utf-8", newline="\n"), Glob=glob.glob
    )
    tensorflow.python_io = types.SimpleNamespace(TFRecordWriter=Writer)
    tensorflow.train = types.SimpleNamespace(
        Feature=Feature,
        Features=lambda feature: feature,
        Example=Example,
        Int64List=values("q"),
        FloatList=values("f"),
    )
    tensorflow.app = types.SimpleNamespace(run=lambda: (flags.parse(arguments), sys.modules["__main__"].main([])))
    sys.modules["tensorflow"] = tensorflow
    sys.modules["six"] = types.SimpleNamespace(PY2=False, PY3=True)
    sys.path.insert(0, google)
    runpy.run_module("bert.create_pretraining_data", run_name="__main__", alter_sys=True)


def run(*commands):
    """(wall, CPU) seconds of commands started at the same time."""
    begun = time.monotonic()
    used = 0.0
    started = [
        subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for command in commands
    ]
    for process in started:
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            sys.exit(f"{' '.join(map(str, process.args))}: ended with {status}")
        used += usage.ru_utime + usage.ru_stime
    return time.monotonic() - begun, used


def write_lines(extracted, path):
    """Converts WikiExtractor's JSON lines to the text format of Google's script; not timed."""
    with open(path, "w", encoding="utf-8", errors="replace") as out:
        for name in sorted(extracted.rglob("wiki_*")):
            for line in open(name, encoding="utf-8"):
                out.write("\n".join(part for part in json.loads(line)["text"].split("\n") if part) + "\n\n")


def theirs(options, scratch):
    """[(step, wall, CPU)] of the reference pipeline."""
    extracted, text = scratch / "extracted", scratch / "text.txt"
    shutil.rmtree(extracted, ignore_errors=True)
    extractor = [sys.executable, "-m", "wikiextractor.WikiExtractor", "--json", "-q", "--processes", "2", "-b", "1G"]
    steps = [("WikiExtractor", *run([*extractor, "-o", extracted, options.dump]))]
    write_lines(extracted, text)
    maker = [sys.executable, __file__, "--stand-in", options.google]
    case = f"--do_lower_case={not options.cased}"
    steps.append((
        "create_pretraining_data.py, twice",
        *run(*(
            [*maker, f"--input_file={text}", f"--output_file={scratch}/{length}.records", case, "--dupe_factor=1",
             f"--vocab_file={options.vocab}", f"--max_seq_length={length}", f"--max_predictions_per_seq={most}"]
            for length, most in LENGTHS.items()
        )),
    ))
    return steps


def ours(options, scratch):
    shutil.rmtree(scratch / "set", ignore_errors=True)
    return run([
        options.bin / "dsdata", "build", "-q", "--wiki", options.dump, "--vocab", options.vocab, "--threads", 2,
        "--seq", ",".join(map(str, LENGTHS)), "--out", scratch / "set", *(["--cased"] if options.cased else []),
    ])


def main():
    if sys.argv[1:2] == ["--stand-in"]:
        return stand_in(sys.argv[2], sys.argv[3:])
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("dump", type=pathlib.Path)
    parser.add_argument("--vocab", type=pathlib.Path, required=True)
    parser.add_argument("--cased", action="store_true")
    parser.add_argument("--google", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--bin", type=pathlib.Path, default=PROJECT / "build" / "release")
    options = parser.parse_args()
    if not options.google:
        missing = "--google DIR"
    elif not (options.google / "bert/create_pretraining_data.py").exists():
        missing = f"{options.google}/bert/create_pretraining_data.py"
    else:
        missing = "" if importlib.util.find_spec("wikiextractor") else "the Python package wikiextractor"
    if missing:
        print(f"their road is left out: no {missing}")
    roads = []
    with tempfile.TemporaryDirectory() as name:
        for _ in range(options.runs):
            our_time = ours(options, pathlib.Path(name))
            their_steps = [] if missing else theirs(options, pathlib.Path(name))
            roads.append((our_time, their_steps))
    wall, cpu = (min(road[0][i] for road in roads) for i in range(2))
    print(f"dsdata build, both lengths, 2 threads: {wall:.2f} s, {cpu:.2f} s of CPU")
    if missing:
        return
    steps = min((road[1] for road in roads), key=lambda steps: sum(step[1] for step in steps))
    for step in steps:
        print(f"{step[0]}: {step[1]:.1f} s, {step[2]:.1f} s of CPU")
    their_wall, their_cpu = (sum(step[i] for step in steps) for i in (1, 2))
    ratios = f"{their_wall / wall:.0f} × and {their_cpu / cpu:.0f} ×"
    print(f"together {their_wall:.1f} s, {their_cpu:.1f} s of CPU: {ratios}")


if __name__ == "__main__":
    main()
