#!/usr/bin/env python3
"""Training steps of `dstrain` on the CPU against PyTorch, on the same shards and cores, alternating in one run:

    hf        transformers' BertForPreTraining with fused AdamW, as a user would run it (bf16: autocast)
    gathered  the same model, but only the rows of masked tokens go through the masked-LM head
    unpadded  the same weights: padding is left out, attention is scaled_dot_product_attention, and the last layer is
              computed only for the rows that a head uses; with dropout 0.1 and 0

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
# name: model, length, batch, precision, steps of a visit, bars against hf, gathered and unpadded (either dropout)
CASES = {
    "base-bf16": ("base", 128, 32, "bf16", 4, 3.0, 1.9, 1.5),
    "base-fp32": ("base", 128, 32, "fp32", 3, 3.0, None, 1.5),
    "base-512-bf16": ("base", 512, 8, "bf16", 4, None, 4.5, 1.5),
    "mini-bf16": ("mini", 128, 32, "bf16", 12, None, 2.3, 1.5),
    "tiny-bf16": ("tiny", 128, 32, "bf16", 30, None, 3.2, 1.5),
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
parser.add_argument("--peer", help=argparse.SUPPRESS)  # the role of this process
options = parser.parse_args()
if bool(options.wiki) != bool(options.vocab):
    parser.error("--wiki and --vocab go together")
KIND = "real" if options.wiki else "full"


def samples_of(seq):
    return options.cache / f"{KIND}-{seq}.jsonl"


# ---- the peers: each prints one JSON object ----


def attention_of(module, x, rows, starts, used, heads):
    """Context of the `used` rows of each sequence (all: None), from module, transformers' BertSelfAttention."""
    import torch
    from torch.nn.functional import scaled_dot_product_attention
    query = module.query(x if used is None else x[rows])
    key, value = module.key(x), module.value(x)
    drop = module.dropout.p
    lengths = {end - start for start, end in zip(starts, starts[1:])}
    if used is None and len(lengths) == 1:
        def split(t):
            return t.view(len(starts) - 1, *lengths, heads, -1).transpose(1, 2)
        context = scaled_dot_product_attention(split(query), split(key), split(value), dropout_p=drop)
        return context.transpose(1, 2).reshape(query.shape)

    def parts(t, ends):
        return [part.view(1, len(part), heads, -1).transpose(1, 2) for part in t.split(ends)]
    sizes = [end - start for start, end in zip(starts, starts[1:])]
    contexts = [scaled_dot_product_attention(q, k, v, dropout_p=drop).transpose(1, 2).flatten(2)[0] for q, k, v in
                zip(parts(query, used or sizes), parts(key, sizes), parts(value, sizes))]
    return torch.cat(contexts)


def unpadded_rows(model, inputs, labels, heads):
    """(rows of masked tokens, pooled rows) of BertForPreTraining without padding."""
    import torch
    live = inputs["attention_mask"].bool()
    lengths = live.sum(1).tolist()
    starts = [sum(lengths[:i]) for i in range(len(lengths) + 1)]
    read = (labels != -100)
    read[:, 0] = True  # [CLS]
    rows = read[live].nonzero(as_tuple=True)[0]
    embeddings = model.bert.embeddings
    x = embeddings.word_embeddings(inputs["input_ids"][live])
    x = x + embeddings.token_type_embeddings(inputs["token_type_ids"][live])
    x = x + embeddings.position_embeddings(torch.cat([torch.arange(length) for length in lengths]))
    x = embeddings.dropout(embeddings.LayerNorm(x))
    for layer in model.bert.encoder.layer:
        last = layer is model.bert.encoder.layer[-1]
        context = attention_of(layer.attention.self, x, rows, starts, read.sum(1).tolist() if last else None, heads)
        x = layer.attention.output(context, x[rows] if last else x)
        x = layer.output(layer.intermediate(x), x)
    first = torch.cumsum(read.sum(1), 0) - read.sum(1)  # of the rows that are left, those of [CLS]
    masked = torch.ones(len(x), dtype=torch.bool).index_fill(0, first, False)
    return x[masked], torch.tanh(model.bert.pooler.dense(x[first]))


def peer(kind, model_name, seq, batch, precision, steps):
    kind, _, dropout = kind.partition(":")
    dropout = float(dropout or 0.1)
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
                   intermediate_size=4 * hidden, hidden_dropout_prob=dropout,
                   attention_probs_dropout_prob=dropout)).train()
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
                    index = (labels.view(-1) != -100).nonzero(as_tuple=True)[0]
                    if kind == "unpadded":
                        picked, pooled = unpadded_rows(model, inputs, labels, heads)
                    else:
                        rows, pooled = model.bert(**inputs)[:2]
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


def visit_ours(case, dropout="0.1"):
    model, seq, batch, precision, steps = CASES[case][:5]
    out = options.cache / "run"
    shutil.rmtree(out, ignore_errors=True)
    _, memory = run([options.bin / "dstrain", "-q", "--shards", options.cache / KIND, "--seq", seq, "--model", model,
                     "--batch", batch, "--precision", precision, "--steps", steps, "--log-every", 1,
                     "--eval-samples", 0, "--masks", "stored", "--dropout", dropout, "--threads", options.threads,
                     "--out", out])
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


VISITS = {"ours": visit_ours, "gathered": lambda case: visit_peer("gathered", case),
          "hf": lambda case: visit_peer("hf", case), "unpadded": lambda case: visit_peer("unpadded", case),
          "ours:0": lambda case: visit_ours(case, "0"), "unpadded:0": lambda case: visit_peer("unpadded:0", case),
          "products": lambda case: visit_peer("products", case)}


def compare(case):
    model, _, batch, _, _, *bars = CASES[case]
    best = {}
    for _ in range(options.rounds):
        for name, visit in VISITS.items():
            seen = visit(case)
            if "rate" in seen:
                seen["seconds"] = 1 / seen["rate"]
            if name not in best or seen["seconds"] < best[name]["seconds"]:
                best[name] = seen
    speed = {name: batch / best[name]["seconds"] for name in VISITS}
    ours = best["ours"]
    rate = flops_of(model, ours["length"]) * speed["ours"]
    ratios = [(speed["ours"] / speed[name], name, bar) for name, bar in zip(("hf", "gathered", "unpadded"), bars)]
    ratios.append((speed["ours:0"] / speed["unpadded:0"], "unpadded, dropout 0", bars[2]))
    print(f"{case}: " + ", ".join(f"{name} {speed[name]:.2f}" for name in VISITS if name != "products"))
    for ratio, name, bar in ratios:
        print(f"    {ratio:.2f} x {name}" + (f" (bar {bar})" if bar else ""))
    memory = ", ".join(f"{name} {best[name]['memory']:,.0f}" for name in ("hf", "gathered", "unpadded", "ours"))
    print(f"    peak memory, MiB: {memory}")
    print(f"    {100 * rate / best['products']['rate']:.0f} % of PyTorch's products "
          f"({best['products']['rate'] * 1e-9:.0f} GFLOP/s), {100 * ours['waited']:.2f} % waiting", flush=True)


if options.peer:
    peer(options.peer, *CASES[options.cases][:5])
    sys.exit()
make_shards()
print(f"{options.threads} threads, {KIND} samples, best of {options.rounds} rounds, sequences/s; "
      f"load {os.getloadavg()[0]:.1f}")
for name in options.cases.split(","):
    compare(name)
