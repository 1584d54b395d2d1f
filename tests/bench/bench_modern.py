#!/usr/bin/env python3
"""Training steps of `dstrain` with a ModernBERT on the CPU against transformers' ModernBertForMaskedLM (sdpa,
sparse_prediction=True, no padding, fused AdamW; bf16: autocast), one thread each, taking turns in one run:

    bench_modern.py [--bin build/release] [--model modern-mini] [--seq 128,1024,4096] [--precision fp32,bf16]
                    [--cpu avx512] [--rounds 3] [--cache DIR] [--beside mini] [--no-layers]

Seconds of CPU time per step of 2,048 tokens (4,096: one sequence), 15 % of them masked, no dropout: the least of the
rounds, and their ratio. dstrain's are the difference between two runs, one of which has 18 steps more (6 at 4,096), so
neither the start nor the last checkpoint counts. Samples fill their length; they have random words. Then, in fp32: what
a FLOP costs compared with another model of dstrain, at 128 tokens, as `dstrain plan` counts FLOPs; and what a local
layer costs per token at 4,096 tokens compared with 512: the difference between models of 14 and of 2 layers, of which
the first is global and the last computes only the rows that heads read."""

import argparse
import json
import os
import pathlib
import platform
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
parser.add_argument("--beside", default="mini", help="another model of dstrain; empty: none")
parser.add_argument("--no-layers", action="store_true", help="do not measure local layers")
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
    steps = (2 if seq > TOKENS else 6) * STEPS  # a start takes as long as some steps, and not always as long
    return (train(shards, model, seq, precision, 2 + steps) - train(shards, model, seq, precision, 2)) / steps


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
                           model])[0])["flops_per_sequence"] * max(1, TOKENS // seq)


def compare(seq, precision):
    shards = shards_of(seq)
    train(shards, options.model, seq, precision, 1)
    shutil.rmtree(cache / "exported", ignore_errors=True)
    run([options.bin / "dstrain", "export", "-q", cache / "run", "--out", cache / "exported"])
    best = {}
    for _ in range(options.rounds):
        theirs = run([sys.executable, __file__, "--peer", cache / "exported", seq, precision, max(1, TOKENS // seq)])[0]
        seen = {"transformers": float(theirs.split()[-1]), options.model: ours(shards, options.model, seq, precision)}
        for name, seconds in seen.items():
            best[name] = min(best.get(name, seconds), seconds)
    ratio = best["transformers"] / best[options.model]
    print(f"seq {seq}, {precision}: " + ", ".join(f"{name} {seconds:.3f} s" for name, seconds in best.items()) +
          f"; {ratio:.2f} x as fast", flush=True)


def least(shards, models, seq):
    """The least CPU seconds of a step of each model, taking turns."""
    seen = [[ours(shards, model, seq, "fp32") for model in models] for _ in range(options.rounds)]
    return [min(seconds) for seconds in zip(*seen)]


def compare_models():
    shards = shards_of(128)
    models = options.model, options.beside
    seconds, work = least(shards, models, 128), [flops(shards, model, 128) for model in models]
    ratio = seconds[0] / seconds[1]
    print(f"{models[0]} and {models[1]}, seq 128, fp32: {seconds[0]:.3f} and {seconds[1]:.3f} s, "
          f"{work[0] / 1e9:.1f} and {work[1] / 1e9:.1f} GFLOP; {ratio:.2f} x the time per token, "
          f"{ratio * work[1] / work[0]:.2f} x per FLOP", flush=True)


def compare_layers():
    models = []
    for layers in (2, 14):
        config = json.loads((cache / "exported" / "config.json").read_text())
        config.pop("layer_types", None)
        config.update(num_hidden_layers=layers, global_attn_every_n_layers=100)
        models.append(cache / f"layers{layers}.json")
        models[-1].write_text(json.dumps(config))
    costs = []
    for seq in (512, 4096):
        one, many = least(shards_of(seq), models, seq)
        costs.append((many - one) / 12 / max(TOKENS, seq) * 1e6)
    print(f"a local layer, fp32: {costs[0]:.1f} microseconds per token at 512, {costs[1]:.1f} at 4,096; "
          f"{costs[1] / costs[0]:.2f} x", flush=True)


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


if options.peer:
    peer(options.peer[0], int(options.peer[1]), options.peer[2], int(options.peer[3]))
    sys.exit()
cache = options.cache or pathlib.Path(tempfile.mkdtemp())
cache.mkdir(parents=True, exist_ok=True)
print(f"{options.model} on {processor()}, one thread, CPU seconds of a step, the least of {options.rounds}; "
      f"load {os.getloadavg()[0]:.1f}", flush=True)
for length in options.seq.split(","):
    for kind in options.precision.split(","):
        compare(int(length), kind)
if options.beside:
    compare_models()
if not options.no_layers:
    compare_layers()
if not options.cache:
    shutil.rmtree(cache)
