#!/usr/bin/env python3
"""The largest anonymous memory of a training beside what `dstrain plan` counts:

    bench_memory.py --shards DATASET [--bin build/release] [--models mini,modern-mini,…] [--threads 1]

Each length of the dataset in fp32 and bf16, two steps of 32 samples. RssAnon of /proc/PID/status, read every 20 ms.
Pages of the dataset are mapped, and not counted: the system drops them where memory is short."""

import argparse
import json
import pathlib
import subprocess
import tempfile
import time

parser = argparse.ArgumentParser()
parser.add_argument("--shards", required=True, type=pathlib.Path)
parser.add_argument("--bin", default="build/release", type=pathlib.Path)
parser.add_argument("--models", default="mini,small,base,modern-mini,modern-17m,modern-32m")
parser.add_argument("--threads", default="1")
options = parser.parse_args()


def anonymous(process):
    most = 0
    while process.poll() is None:
        try:
            for line in open(f"/proc/{process.pid}/status"):
                if line.startswith("RssAnon:"):
                    most = max(most, 1024 * int(line.split()[1]))
        except (FileNotFoundError, ProcessLookupError):
            pass
        time.sleep(0.02)
    if process.returncode != 0:
        raise SystemExit(f"{process.args}: exit {process.returncode}")
    return most


for folder in sorted(options.shards.glob("seq*"), key=lambda path: int(path.name[3:])):
    for model in options.models.split(","):
        for precision in ("fp32", "bf16"):
            training = ["--shards", options.shards, "--seq", folder.name[3:], "--model", model, "--precision",
                        precision, "--batch", "32", "--threads", options.threads, "--device", "cpu"]
            plan = subprocess.run([options.bin / "dstrain", "plan", *training, "--json"], capture_output=True)
            if plan.returncode != 0:  # a BERT of 512 positions and a longer sample
                continue
            planned = json.loads(plan.stdout)["memory_bytes"]
            with tempfile.TemporaryDirectory() as scratch:
                used = anonymous(subprocess.Popen([options.bin / "dstrain", *training, "--steps", "2", "--out",
                                                   f"{scratch}/run", "-q"], stdout=subprocess.DEVNULL,
                                                  stderr=subprocess.DEVNULL))
            print(f"{model}, {folder.name[3:]} tokens, {precision}: {used / 1e6:.1f} MB, planned {planned / 1e6:.1f}, "
                  f"{100 * (used / planned - 1):+.1f} %", flush=True)
