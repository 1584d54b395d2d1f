#!/usr/bin/env python3
"""Accuracy of the remaining time in `dsdata build --json`: at each tenth of a build, the estimate and the real time.

    bench_progress.py DUMP [--vocab FILE] [--threads 2] [--bin build/test]

Errors are relative to the time that was really left, and to the whole time. Without --vocab one is learned, which
takes a tenth of the time or more. The build should take at least ten seconds (tests/bench/repeat_dump.py makes a
dump)."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

PROJECT = pathlib.Path(__file__).resolve().parents[2]


def follow(command):
    """([(seconds since the start, estimated seconds left, text)], seconds in total)."""
    begun = time.monotonic()
    told = []
    environment = os.environ | {"DS_PROGRESS_SECONDS": "0.1"}
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment, **pipes) as build:
        for line in build.stderr:
            now = time.monotonic() - begun
            said = json.loads(line)
            if said.get("level") == "progress":
                told.append((now, said.get("seconds_left"), said["text"]))
    if build.returncode:
        sys.exit(f"{' '.join(command)}: ended with {build.returncode}")
    return told, time.monotonic() - begun


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("dump", type=pathlib.Path)
    parser.add_argument("--vocab", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--bin", type=pathlib.Path, default=PROJECT / "build" / "test",
                        help="a build with DS_FAULTS, which lets lines come more often")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        command = [str(options.bin / "dsdata"), "build", "--json", "--wiki", str(options.dump), "--threads",
                   str(options.threads), "--out", f"{scratch}/set"]
        command += ["--vocab", str(options.vocab)] if options.vocab else []
        told, whole = follow(command)
    print(f"{whole:.1f} s on {options.threads} threads, {len(told)} lines")
    print("at       left estimate   error   of all   stage")
    for tenth in [*range(1, 10), 9.5, 9.8]:
        later = [line for line in told if line[0] >= whole * tenth / 10]
        if not later:
            break
        now, left, text = later[0]
        stage = text.split("  ")[0]
        if left is None:
            print(f"{now / whole:4.0%} {whole - now:7.1f} s      -                    {stage}")
            continue
        error = left - (whole - now)
        errors = f"{error / (whole - now):+7.0%} {error / whole:+8.1%}"
        print(f"{now / whole:4.0%} {whole - now:7.1f} s {left:7.1f} {errors}   {stage}")


if __name__ == "__main__":
    main()
