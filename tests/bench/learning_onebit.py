#!/usr/bin/env python3
"""Compares what 1-bit Adam and Adam learn in dstrain: model mini, the same samples in the same order.

    learning_onebit.py BUILD SHARDS [--seq N] [--steps 1500] [--freeze 0.2] [--processes 4] [--seeds 42,43,44]
                       [--auto] [--cache DIR]

BUILD is a folder with dstrain, SHARDS a dataset. Batches of 32, learning rate 1e-3, 5 % warm-up, linear decay, no bias
correction. Adam runs in one process, since it computes the same in any number; onebit_adam runs in --processes, with
the second moments frozen after --freeze of the steps (with --auto once more where it decides itself). Prints the mean
training loss of the last 100 steps of each run. The bar: onebit_adam at most 1 % above the worst of Adam's seeds.
Finished runs stay in the cache (build/learning-onebit), and the same command continues."""
import argparse
import json
import os
import pathlib
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BATCH, RATE, WARMUP, LAST = 32, 1e-3, 0.05, 100


def loss_of(options, name, seed, *words):
    """Trains, or takes the finished run: the mean loss of its last steps."""
    out = options.cache / f"{name}-{seed}"
    command = [options.build / "dstrain", "--shards", options.shards, "--model", "mini", "--batch", BATCH, "--lr", RATE,
               "--warmup", WARMUP, "--steps", options.steps, "--seed", seed, "--log-every", 1, "--eval-samples", 0,
               "--threads", options.threads, "--out", out, "-q", *(["--seq", options.seq] if options.seq else []),
               *words]
    subprocess.run([str(word) for word in command], check=True)
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    losses = [line["loss"] for line in lines if "split" not in line]
    value = statistics.mean(losses[-LAST:])
    frozen = json.loads((out / "checkpoints" / (out / "latest").read_text().strip() / "state.json").read_text())
    at = frozen.get("freeze", {}).get("update")
    print(f"{name:12} seed {seed}: {value:.4f}" + (f", frozen after update {at}" if at else ""), flush=True)
    return value


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("shards", type=pathlib.Path)
    parser.add_argument("--seq", type=int)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--freeze", type=float, default=0.2)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--seeds", type=lambda text: [int(seed) for seed in text.split(",")], default=[42, 43, 44])
    parser.add_argument("--auto", action="store_true")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--cache", type=pathlib.Path, default=ROOT / "build" / "learning-onebit")
    options = parser.parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    onebit = ["--optimizer", "onebit_adam", "--processes", options.processes, "--set"]
    first = options.seeds[0]
    frozen = {"onebit_adam": round(options.freeze * options.steps), **({"auto": '"auto"'} if options.auto else {})}
    ours = {name: loss_of(options, name, first, *onebit, f"optimizer.params.freeze_step={step}")
            for name, step in frozen.items()}
    adam = [loss_of(options, "adam", seed, "--set", "optimizer.params.bias_correction=false")
            for seed in options.seeds]
    for name, value in ours.items():
        print(f"{name:12} {100 * (value / max(adam) - 1):+.2f} % of the worst of Adam's {len(adam)} seeds")


main()
