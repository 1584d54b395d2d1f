#!/usr/bin/env python3
"""Compares learning in dstrain and PyTorch: model mini, 1,500 steps of 32 samples of the English sample.

Learning rate 1e-3, warm-up 5 %, linear decay, stored masks: by dstrain and by BertForPreTraining of transformers, from
the same shards in the same order, two seeds each; and by dstrain with fresh masks.

    learning.py BUILD [--data DIR] [--cache DIR] [--steps N] [--seeds N,N] [--threads N]

BUILD is a folder with dsdata and dstrain; DIR has the sample dump (../shared/data). Both programs use bf16 products
where dstrain does by default; PyTorch gathers the masked rows before its head, which is the same function in a third of
the time. All runs take more than an hour on two cores; results stay in the cache (build/learning), and the same command
continues. Prints the curves as a table, with "–" for missing values."""
import argparse
import json
import os
import pathlib
import subprocess
import sys

try:
    import torch
    from transformers import BertConfig, BertForPreTraining
except ImportError:
    print("torch or transformers is not installed: skipped")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BATCH, RATE, WARMUP, SEQ = 32, 1e-3, 0.05, 128
EVERY = 250  # steps between evaluations
LAST = 50    # the training loss is averaged over this many steps before each


# ---- dstrain ----

def train_ours(options, data, masks, seed):
    out = options.cache / f"dstrain-{masks}-{seed}"
    subprocess.run([options.build / "dstrain", "--shards", data, "--model", "mini", "--steps", str(options.steps),
                    "--batch",
                    str(BATCH), "--lr", str(RATE), "--warmup", str(WARMUP), "--no-shuffle", "--masks", masks, "--seed",
                    str(seed), "--threads", str(options.threads), "--log-every", "1", "--eval-every", str(EVERY),
                    "--save-every", str(EVERY), "--keep-last", "1", "--out", out, "-q"], check=True)
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    return curves([line["loss"] for line in lines if "split" not in line],
                  {line["step"]: line["loss"] for line in lines if "split" in line})


# ---- PyTorch ----

class Samples:
    """A split of the dataset as tensors."""

    def __init__(self, options, data, split, half):
        self.half = half
        lines = subprocess.run([options.build / "dsdata", "export", data, "--seq", str(SEQ), "--split", split,
                                "--out", "-"],
                               check=True, capture_output=True, text=True).stdout.splitlines()
        samples = [json.loads(line) for line in lines]
        self.count = len(samples)
        self.columns = [torch.tensor([sample[name] for sample in samples])
                        for name in ("input_ids", "input_mask", "segment_ids")]
        self.next = torch.tensor([sample["next_sentence_labels"] for sample in samples]).view(-1)
        self.labels = torch.full((self.count, SEQ), -100)
        for row, sample in enumerate(samples):
            for at, piece, weight in zip(*(sample["masked_lm_" + name] for name in ("positions", "ids", "weights"))):
                if weight > 0:
                    self.labels[row, at] = piece

    def losses(self, model, first, count):
        """Sums of losses over the masked tokens and over the sequences of a batch, and the number of masked tokens."""
        rows = torch.arange(first, first + count) % self.count
        length = int(self.columns[1][rows].sum(1).max())
        ids, mask, segments = (column[rows, :length] for column in self.columns)
        labels = self.labels[rows, :length]
        with torch.autocast("cpu", torch.bfloat16, enabled=self.half):
            body = model.bert(input_ids=ids, attention_mask=mask, token_type_ids=segments)
            words = model.cls.predictions(body.last_hidden_state[labels >= 0])
            follows = model.cls.seq_relationship(body.pooler_output)
        loss = torch.nn.functional.cross_entropy
        return (loss(words.float(), labels[labels >= 0], reduction="sum"),
                loss(follows.float(), self.next[rows], reduction="sum"), int((labels >= 0).sum()))


def held_out(model, samples):
    model.eval()
    words = follows = masked = 0
    with torch.no_grad():
        for first in range(0, samples.count, BATCH):
            sums = samples.losses(model, first, min(BATCH, samples.count - first))
            words, follows, masked = words + sums[0].item(), follows + sums[1].item(), masked + sums[2]
    model.train()
    return words / masked + follows / samples.count


def train_theirs(options, data, seed):
    ours = json.loads((options.cache / f"dstrain-stored-{seed}" / "run.json").read_text())
    train, valid = (Samples(options, data, split, ours["precision"] == "bf16") for split in ("train", "valid"))
    torch.set_num_threads(options.threads)
    torch.manual_seed(seed)
    pieces = sum(1 for _ in (data / "vocab.txt").open(encoding="utf-8"))
    model = BertForPreTraining(BertConfig(vocab_size=pieces, hidden_size=256, num_hidden_layers=4,
                                          num_attention_heads=4, intermediate_size=1024, hidden_act="gelu_new")).train()
    plain = [p for name, p in model.named_parameters() if name.endswith("bias") or "LayerNorm" in name]
    others = [p for name, p in model.named_parameters() if not (name.endswith("bias") or "LayerNorm" in name)]
    optimizer = torch.optim.AdamW([{"params": others, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}],
                                  betas=(0.9, 0.999), eps=1e-8, fused=True)
    saved = options.cache / f"pytorch-{seed}.pt"
    losses, evaluations = [], {}
    if saved.exists():
        state = torch.load(saved)
        losses, evaluations = state["losses"], state["evaluations"]
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["random"])
    for step in range(len(losses) + 1, options.steps + 1):
        q = step / options.steps
        for group in optimizer.param_groups:
            group["lr"] = RATE * (q / WARMUP if q < WARMUP else (1 - q) / (1 - WARMUP))
        words, follows, masked = train.losses(model, (step - 1) * BATCH, BATCH)
        loss = words / masked + follows / BATCH
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        if step % EVERY == 0 or step == options.steps:
            evaluations[step] = held_out(model, valid)
            torch.save({"losses": losses, "evaluations": evaluations, "model": model.state_dict(),
                        "optimizer": optimizer.state_dict(), "random": torch.get_rng_state()}, f"{saved}.tmp")
            os.replace(f"{saved}.tmp", saved)
    return curves(losses, evaluations)


# ---- the table ----

def curves(losses, evaluations):
    """Returns {"train": {step: mean of the last losses}, "valid": {step: loss}}."""
    return {"train": {str(step): sum(losses[max(0, step - LAST):step]) / min(LAST, step) for step in evaluations},
            "valid": {str(step): loss for step, loss in evaluations.items()}}


def run(options, name, train):
    path = options.cache / f"{name}.json"
    if not path.exists():
        print(f"training {name}", file=sys.stderr, flush=True)
        path.write_text(json.dumps(train()) + "\n")


def mean(values):
    return sum(values) / len(values)


def table(options):
    kinds = {"dstrain": "dstrain-stored", "PyTorch": "pytorch", "dstrain, fresh masks": "dstrain-fresh"}
    found = {kind: [json.loads(path.read_text()) if path.exists() else None
                    for path in (options.cache / f"{stem}-{seed}.json" for seed in options.seeds)]
             for kind, stem in kinds.items()}
    steps = [str(step) for step in sorted({*range(EVERY, options.steps, EVERY), options.steps})]
    print("| loss | step | " + " | ".join(f"{kind}, {seed}" for kind in kinds for seed in options.seeds) + " |")
    print("|---|---|" + "---|" * len(kinds) * len(options.seeds))
    for split, title in (("train", f"training, mean of {LAST} steps"), ("valid", "held-out")):
        for step in steps:
            cells = [f"{curve[split][step]:.3f}" if curve else "–" for curves_ in found.values() for curve in curves_]
            print(f"| {title} | {step} | " + " | ".join(cells) + " |")

    if all(found["dstrain"] + found["PyTorch"]):
        rows = [[[curve[split][step] for curve in found[kind]] for kind in ("dstrain", "PyTorch")]
                for split in ("train", "valid") for step in steps]
        between = mean([abs(mean(ours) - mean(theirs)) for ours, theirs in rows])
        within = mean([max(losses) - min(losses) for row in rows for losses in row])
        print(f"\nThe programs' means differ by {between:.3f} nats on average over these rows, the seeds of one "
              f"program by "
              f"{within:.3f}: they {'agree' if between <= within else 'do not agree'} within the seeds' spread.")
    if all(found["dstrain"] + found["dstrain, fresh masks"]):
        best = {kind: min(mean([curve["valid"][step] for curve in found[kind]]) for step in steps)
                for kind in ("dstrain", "dstrain, fresh masks")}
        last = {kind: mean([curve["valid"][steps[-1]] for curve in found[kind]]) for kind in best}
        (stored, fresh), (stored_last, fresh_last) = best.values(), last.values()
        print(f"Fresh masks change the held-out loss at its best from {stored:.3f} to {fresh:.3f}, at the end from "
              f"{stored_last:.3f} to {fresh_last:.3f}.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--cache", type=pathlib.Path, default=ROOT / "build" / "learning")
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--seeds", type=lambda text: [int(seed) for seed in text.split(",")], default=[42, 43])
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    dump = options.data / "enwiki-2016-sample.xml.bz2"
    if not dump.exists():
        print(f"{dump} does not exist: skipped")
        sys.exit(77)
    options.cache.mkdir(parents=True, exist_ok=True)
    data = options.cache / "data"
    subprocess.run([options.build / "dsdata", "build", "--wiki", dump, "--seq", str(SEQ), "--valid", "0.05",
                    "--out", data, "-q"], check=True)
    for seed in options.seeds:
        run(options, f"dstrain-stored-{seed}", lambda: train_ours(options, data, "stored", seed))
        run(options, f"pytorch-{seed}", lambda: train_theirs(options, data, seed))
        run(options, f"dstrain-fresh-{seed}", lambda: train_ours(options, data, "fresh", seed))
        table(options)


main()
