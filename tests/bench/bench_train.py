#!/usr/bin/env python3
"""Training steps of `dstrain` on the CPU against PyTorch, on the same shards and cores, alternating in one run:

    hf        transformers' BertForPreTraining with fused AdamW, as a user would run it (bf16: autocast)
    gathered  the same model, but only the rows of masked tokens go through the masked-LM head

    bench_train.py [--bin build/release] [--cache build/bench] [--wiki enwiki.xml.bz2 --vocab vocab.txt] [--rounds 3]
                   [--threads N] [--cases base-bf16,mini-bf16]

The median step of the best round counts, without the first step; memory is the peak of the process. Shards are made
from a synthetic dump, with samples that fill their length (--short-seq-prob 0), or with --wiki from that dump, as
`dsdata build` makes them: then PyTorch also computes padding, and dstrain does not."""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

PROJECT = pathlib.Path(__file__).resolve().parents[2]
SIZES = {"tiny": (2, 128, 2), "mini": (4, 256, 4), "base": (12, 768, 12)}  # layers, hidden, heads
VOCABULARY = 30522
# name: model, length, batch, precision, steps of a visit, bars against hf and gathered
CASES = {
    "base-bf16": ("base", 128, 32, "bf16", 4, 2.2, 1.4),
    "base-fp32": ("base", 128, 32, "fp32", 3, 2.2, None),
    "base-512-bf16": ("base", 512, 8, "bf16", 4, None, 2.0),
    "mini-bf16": ("mini", 128, 32, "bf16", 12, None, 1.6),
    "tiny-bf16": ("tiny", 128, 32, "bf16", 30, None, 2.0),
}

parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("--bin", type=pathlib.Path, default=PROJECT / "build" / "release")
parser.add_argument("--cache", type=pathlib.Path, default=PROJECT / "build" / "bench")
parser.add_argument("--wiki", type=pathlib.Path,
                    help="samples of this dump, padded as they are, not synthetic full ones")
parser.add_argument("--vocab", type=pathlib.Path, help="with --wiki; 30,522 words")
parser.add_argument("--rounds", type=int, default=3)
parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
parser.add_argument("--cases", default=",".join(CASES))
parser.add_argument("--peer", help=argparse.SUPPRESS)  # the role of this process: hf, gathered, products
options = parser.parse_args()
if bool(options.wiki) != bool(options.vocab):
    parser.error("--wiki and --vocab go together")
KIND = "real" if options.wiki else "full"


def samples_of(seq):
    return options.cache / f"{KIND}-{seq}.jsonl"


# ---- the peers: each prints one JSON object ----


def peer(kind, model_name, seq, batch, precision, steps):
    import torch
    from torch.nn.functional import cross_entropy, linear

    torch.set_num_threads(options.threads)
    layers, hidden, heads = SIZES[model_name]
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    if kind == "products":  # forward and both gradients of all matrices, each separately: the best speed of oneDNN
        rows, picked, flops, seconds = batch * seq, batch * seq * 15 // 100, 0, 0
        shapes = [(rows, 3 * hidden, hidden), (rows, hidden, hidden), (rows, 4 * hidden, hidden),
                  (rows, hidden, 4 * hidden)]
        for m, n, k in shapes * layers + [(picked, VOCABULARY, hidden)]:
            x, w, y = (torch.randn(a, b).to(dtype) for a, b in ((m, k), (n, k), (m, n)))
            for product in (lambda: linear(x, w), lambda: y @ w, lambda: y.t() @ x):
                least = float("inf")
                for _ in range(2):
                    begun = time.perf_counter()
                    product()
                    least = min(least, time.perf_counter() - begun)
                flops, seconds = flops + 2 * m * n * k, seconds + least
        print(json.dumps({"rate": flops / seconds}))
        return

    from transformers import BertConfig, BertForPreTraining

    torch.manual_seed(1)
    model = BertForPreTraining(
        BertConfig(vocab_size=VOCABULARY, hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads,
                   intermediate_size=4 * hidden)).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01, fused=True)
    took = []
    with open(samples_of(seq), encoding="utf-8") as file:
        for _ in range(steps):
            records = [json.loads(next(file)) for _ in range(batch)]
            columns = {key: torch.tensor([record[key] for record in records]) for key in
                       ("input_ids", "segment_ids", "input_mask")}
            labels = torch.full((batch, seq), -100)
            for row, record in enumerate(records):
                for place, label, weight in zip(record["masked_lm_positions"], record["masked_lm_ids"],
                                                record["masked_lm_weights"]):
                    if weight:
                        labels[row, place] = label
            follows = torch.tensor([record["next_sentence_labels"] for record in records]).view(-1)
            inputs = {"input_ids": columns["input_ids"], "token_type_ids": columns["segment_ids"],
                      "attention_mask": columns["input_mask"]}
            begun = time.perf_counter()
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "bf16"):
                if kind == "hf":
                    loss = model(**inputs, labels=labels, next_sentence_label=follows).loss
                else:
                    rows, pooled = model.bert(**inputs)[:2]
                    index = (labels.view(-1) != -100).nonzero(as_tuple=True)[0]
                    picked = rows.reshape(-1, hidden).index_select(0, index)
                    loss = cross_entropy(model.cls.predictions(picked).float(), labels.view(-1)[index])
                    loss = loss + cross_entropy(model.cls.seq_relationship(pooled).float(), follows)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            took.append(time.perf_counter() - begun)
    print(json.dumps({"seconds": statistics.median(took[1:])}))


# ---- one visit ----


def run(command):
    """(output, peak MiB) of a command."""
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True)
    output, errors = process.stdout.read(), process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{' '.join(map(str, command))}: ended with {status}\n{errors}")
    return output, used.ru_maxrss / 1024


def visit_peer(kind, case):
    wiki = ["--wiki", options.wiki, "--vocab", options.vocab] if options.wiki else []
    output, memory = run([sys.executable, __file__, "--cache", options.cache, "--threads", options.threads,
                          "--peer", kind, "--cases", case, *wiki])
    return {**json.loads(output.splitlines()[-1]), "memory": memory}


def visit_ours(case):
    model, seq, batch, precision, steps, _, _ = CASES[case]
    out = options.cache / "run"
    shutil.rmtree(out, ignore_errors=True)
    _, memory = run([options.bin / "dstrain", "-q", "--shards", options.cache / KIND, "--seq", seq, "--model", model,
                     "--batch", batch, "--precision", precision, "--steps", steps, "--log-every", 1,
                     "--eval-samples", 0, "--masks", "stored", "--threads", options.threads, "--out", out])
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    lines = [line for line in lines if "split" not in line]
    took = [after["seconds"] - before["seconds"] for before, after in zip(lines, lines[1:])]
    shutil.rmtree(out)
    return {"seconds": statistics.median(took), "memory": memory, "length": lines[-1]["tokens"] / lines[-1]["samples"],
            "waited": sum(line["data_wait_seconds"] for line in lines[1:]) / sum(took)}


# ---- shards, and the table ----


def make_shards():
    shards, dump, vocab = options.cache / KIND, options.wiki, options.vocab
    build = ["build", "-q", "--valid", 0, "--out", shards]
    if not shards.exists():
        options.cache.mkdir(parents=True, exist_ok=True)
        if KIND == "full":
            dump, vocab = options.cache / "full.xml", options.cache / "vocab.txt"
            with open(dump, "wb") as file:
                subprocess.run([sys.executable, PROJECT / "scripts/make_dump.py", "--bytes", "20M"], stdout=file,
                               check=True)
            run([options.bin / "dsdata", "vocab", "-q", dump, "--out", vocab, "--force"])
            words = vocab.read_text(encoding="utf-8").splitlines()
            words += [f"[filler{i}]" for i in range(len(words), VOCABULARY)]  # a small dump has fewer pieces
            vocab.write_text("\n".join(words) + "\n", encoding="utf-8")
            build += ["--short-seq-prob", 0]
        run([options.bin / "dsdata", *build, "--wiki", dump, "--vocab", vocab])
    for seq in (128, 512):
        if not samples_of(seq).exists():
            run([options.bin / "dsdata", "export", "-q", shards, "--format", "jsonl", "--seq", seq, "--split", "train",
                 "--out", samples_of(seq)])


def flops_of(model, length):
    """FLOPs of a sequence, forward and backward, as counted by `dstrain plan`; 15 % of the tokens are predicted."""
    layers, hidden, _ = SIZES[model]
    products = layers * (12 * hidden * hidden * length + 2 * length * length * hidden)
    return 6 * (products + 0.15 * length * (hidden * hidden + hidden * VOCABULARY))


def compare(case):
    model, seq, batch, precision, _, bar_hf, bar_gathered = CASES[case]
    best = {}
    for _ in range(options.rounds):
        for name, visit in (("ours", lambda: visit_ours(case)), ("gathered", lambda: visit_peer("gathered", case)),
                            ("hf", lambda: visit_peer("hf", case)), ("products", lambda: visit_peer("products", case))):
            seen = visit()
            if "rate" in seen:
                seen["seconds"] = 1 / seen["rate"]
            if name not in best or seen["seconds"] < best[name]["seconds"]:
                best[name] = seen
    speed = {name: batch / best[name]["seconds"] for name in ("ours", "gathered", "hf")}
    rate = flops_of(model, best["ours"]["length"]) * speed["ours"]
    bars = ", ".join(f"≥ {bar} × {name}" for bar, name in ((bar_hf, "hf"), (bar_gathered, "gathered")) if bar)
    memory = " / ".join(f"{best[name]['memory']:,.0f}" for name in ("hf", "gathered", "ours"))
    print(f"| {model}, S = {seq}, batch {batch}, {precision} | {speed['hf']:.2f} | {speed['gathered']:.2f} | "
          f"{speed['ours']:.2f} "
          f"| **{speed['ours'] / speed['hf']:.2f} ×** | **{speed['ours'] / speed['gathered']:.2f} ×** | {bars} | "
          f"{memory} "
          f"| {100 * rate * 1 / best['products']['rate']:.0f} % of {best['products']['rate'] * 1e-9:.0f} | "
          f"{100 * best['ours']['waited']:.2f} % |",
          flush=True)


if options.peer:
    peer(options.peer, *CASES[options.cases][:5])
    sys.exit()
make_shards()
print(f"{options.threads} threads, {KIND} samples, best of {options.rounds} rounds; load {os.getloadavg()[0]:.1f}")
print("| training | hf, sequences/s | gathered | dstrain | against hf | against gathered | bars | memory, MiB | share "
      "of PyTorch's "
      "products, GFLOP/s | waiting |")
print("|---|---|---|---|---|---|---|---|---|---|")
for name in options.cases.split(","):
    compare(name)
