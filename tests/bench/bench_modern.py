#!/usr/bin/env python3
"""Training steps of `dstrain` with a ModernBERT on the CPU against transformers' ModernBertForMaskedLM (sdpa,
sparse_prediction=True, no padding, fused AdamW; bf16: autocast), one thread each, taking turns in one run:

    bench_modern.py [--bin build/release] [--model modern-mini] [--seq 128,1024,4096] [--precision fp32,bf16]
                    [--cpu avx512] [--rounds 3] [--cache DIR] [--beside mini]

Seconds of CPU time per step of 2,048 tokens (4,096: one sequence), 15 % of them masked, no dropout: the least of the
rounds, and their ratio. dstrain's are the difference between two runs, one of which has as many steps again, so neither
the start nor the last checkpoint counts. Samples fill their length; they have random words. --beside measures another
model of dstrain too, and gives the ratio of seconds per FLOP, which `dstrain plan` counts."""

import argparse
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

PROJECT = pathlib.Path(__file__).resolve().parents[2]
WORDS, SPECIAL = 30517, ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
TOKENS, STEPS = 2048, 3

parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("--bin", type=pathlib.Path, default=PROJECT / "build" / "release")
parser.add_argument("--cache", type=pathlib.Path)
parser.add_argument("--model", default="modern-mini", help="a name or a config.json")
parser.add_argument("--seq", default="128,1024,4096")
parser.add_argument("--precision", default="fp32,bf16")
parser.add_argument("--cpu", help="dstrain's --cpu")
parser.add_argument("--rounds", type=int, default=3)
parser.add_argument("--beside", help="another model of dstrain")
parser.add_argument("--peer", nargs=4, help=argparse.SUPPRESS)  # config.json, length, precision, sequences
options = parser.parse_args()


def peer(config, seq, precision, sequences):
    import torch
    from transformers import ModernBertConfig, ModernBertForMaskedLM

    torch.set_num_threads(1)
    torch.manual_seed(1)
    config = ModernBertConfig.from_pretrained(config, sparse_prediction=True, attn_implementation="sdpa")
    model = ModernBertForMaskedLM(config).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01, fused=True)
    ids = torch.randint(len(SPECIAL), config.vocab_size, (sequences, seq))
    masked = torch.arange(seq * 15 // 100) * (seq - 2) // (seq * 15 // 100) + 1
    labels = torch.full_like(ids, -100)
    labels[:, masked] = ids[:, masked]
    took = []
    for _ in range(STEPS + 1):
        begun = time.process_time()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "bf16"):
            loss = model(input_ids=ids, labels=labels).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        took.append(time.process_time() - begun)
    print(min(took[1:]))


def run(command):
    """(output, CPU seconds) of a command."""
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True)
    output, errors = process.stdout.read(), process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{' '.join(map(str, command))}: ended with {status}\n{errors}")
    return output, used.ru_utime + used.ru_stime


def train(shards, model, seq, precision, steps):
    """(CPU seconds, directory) of a run."""
    out = cache / "run"
    shutil.rmtree(out, ignore_errors=True)
    level = ["--cpu", options.cpu] if options.cpu else []
    return run([options.bin / "dstrain", "-q", "--shards", shards, "--seq", seq, "--model", model, "--batch",
                max(1, TOKENS // seq), "--steps", steps, "--precision", precision, "--masks", "stored", "--dropout", 0,
                "--eval-samples", 0, "--log-every", 1000, "--threads", 1, "--out", out, *level])[1]


def ours(shards, model, seq, precision):
    return (train(shards, model, seq, precision, 2 + STEPS) - train(shards, model, seq, precision, 2)) / STEPS


def shards_of(seq):
    """Shards whose samples have `seq` tokens each."""
    shards = cache / str(seq)
    if shards.exists():
        return shards
    vocab, text = cache / "vocab.txt", cache / "words.txt"
    random.seed(seq)
    names = [f"w{i}" for i in range(WORDS)]
    vocab.write_text("\n".join(SPECIAL + names) + "\n")
    with open(text, "w") as file:
        for _ in range(16):  # documents
            file.writelines(" ".join(random.choices(names, k=12)) + " .\n" for _ in range(seq // 2))
            file.write("\n")
    run([options.bin / "dsdata", "build", "-q", "--text", text, "--vocab", vocab, "--seq", seq, "--pairs", "none",
         "--short-seq-prob", 0, "--valid", 0, "--out", shards])
    return shards


def flops(shards, model, seq):
    return json.loads(run([options.bin / "dstrain", "plan", "--json", "--shards", shards, "--seq", seq, "--model",
                           model, "--batch", max(1, TOKENS // seq)])[0])["flops_per_step"]


def compare(seq, precision):
    shards = shards_of(seq)
    train(shards, options.model, seq, precision, 1)
    shutil.rmtree(cache / "exported", ignore_errors=True)
    run([options.bin / "dstrain", "export", "-q", cache / "run", "--out", cache / "exported"])
    best = {}
    for _ in range(options.rounds):
        theirs = run([sys.executable, __file__, "--peer", cache / "exported", seq, precision, max(1, TOKENS // seq)])[0]
        seen = {"transformers": float(theirs.split()[-1]), options.model: ours(shards, options.model, seq, precision)}
        if options.beside:
            seen[options.beside] = ours(shards, options.beside, seq, precision)
        for name, seconds in seen.items():
            best[name] = min(best.get(name, seconds), seconds)
    ratio = best["transformers"] / best[options.model]
    print(f"seq {seq}, {precision}: " + ", ".join(f"{name} {seconds:.3f} s" for name, seconds in best.items()) +
          f"; {ratio:.2f} x transformers", end="")
    if options.beside:
        mine, other = (best[model] / flops(shards, model, seq) for model in (options.model, options.beside))
        print(f"; {mine / other:.2f} x {options.beside} per FLOP", end="")
    print(flush=True)


if options.peer:
    peer(options.peer[0], int(options.peer[1]), options.peer[2], int(options.peer[3]))
    sys.exit()
cache = options.cache or pathlib.Path(tempfile.mkdtemp())
cache.mkdir(parents=True, exist_ok=True)
print(f"{options.model}, one thread, CPU seconds of a step, the least of {options.rounds}; "
      f"load {os.getloadavg()[0]:.1f}", flush=True)
for length in options.seq.split(","):
    for kind in options.precision.split(","):
        compare(int(length), kind)
if not options.cache:
    shutil.rmtree(cache)
