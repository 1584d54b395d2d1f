#!/usr/bin/env python3
# labels: long
"""Training of a ModernBERT against transformers, in fp32: the loss of a model of base's width with samples of 8,192
tokens; the first gradients, under ModernBertForMaskedLM's names; 200 losses of StableAdamW with a 1 - sqrt decay, from
the same weights, masks and order; imports of bf16 and of weights in several files, and of an export.

modern_training_like_hf.py BUILD: needs torch and transformers; exit 77 without. TUNE_PYTHON names a Python that has
them."""
import copy
import json
import math
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

if os.environ.get("TUNE_PYTHON") and not os.environ.get("TUNE_INSIDE"):
    os.environ["TUNE_INSIDE"] = "1"
    os.execv(os.environ["TUNE_PYTHON"], [os.environ["TUNE_PYTHON"], *sys.argv])
try:
    import torch
    from safetensors.torch import load_file
    from transformers import ModernBertConfig, ModernBertForMaskedLM
    torch.set_num_threads(1)
except ImportError as error:
    print(f"a package is not installed ({error}): skipped")
    sys.exit(77)

BUILD = pathlib.Path(sys.argv[1]).resolve()
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = 100
STEPS, BATCH, RATE, WARM_UP, DECAY, BETAS, EPSILON, WEIGHT_DECAY = 200, 8, 1e-3, 20, 60, (0.9, 0.98), 1e-6, 1e-4


def run(program, *arguments):
    done = subprocess.run([BUILD / program, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{program} {' '.join(map(str, arguments))}: {done.returncode}\n{done.stderr}")
    return done.stdout


def texts():
    """Words that follow each other by a rule, with some noise, in documents of several lengths."""
    random.seed(7)
    for size in [9000, 20, 700] + [150] * 60:
        word, chosen = random.randrange(WORDS), []
        for _ in range(size):
            word = (word * 3 + 1) % WORDS if random.random() < 0.8 else random.randrange(WORDS)
            chosen.append(f"w{word}")
        yield " ".join(chosen)


def model_of(folder, source, **settings):
    """A random ModernBertForMaskedLM, saved in `folder` with the tokenizer files of `source`."""
    torch.manual_seed(3)
    config = ModernBertConfig(vocab_size=WORDS + 5, pad_token_id=0, bos_token_id=2, cls_token_id=2, eos_token_id=3,
                              sep_token_id=3, attn_implementation="sdpa", **settings)
    model = ModernBertForMaskedLM(config).eval()
    folder.mkdir()
    for name in ("vocab.txt", "tokenizer.json", "tokenizer_config.json"):
        if source and (source / name).exists():
            shutil.copy(source / name, folder)
    model.save_pretrained(folder)
    return model


def samples(data, seq):
    """(ids, labels) of stored samples, in file order; -100 where nothing is masked."""
    lengths = json.loads(run("dsdata", "show", data, "--json"))["lengths"]
    for i in range(next(one["samples"] for one in lengths if one["seq"] == seq and one["split"] == "train")):
        tokens = json.loads(run("dsdata", "show", data, "--seq", seq, "--sample", i, "--json"))["tokens"]
        yield (torch.tensor([[token["id"] for token in tokens]]),
               torch.tensor([[token.get("label", -100) for token in tokens]]))


def loss_sum(model, ids, labels, seen=None):
    hidden = model.model(input_ids=ids, attention_mask=seen).last_hidden_state
    hidden = model.head(hidden[labels >= 0])
    return torch.nn.functional.cross_entropy(model.decoder(hidden), labels[labels >= 0], reduction="sum")


def long_samples(scratch, data):
    model = model_of(scratch / "wide", data, hidden_size=768, num_hidden_layers=2, num_attention_heads=12,
                     intermediate_size=1152, max_position_embeddings=8192)
    total = masked = longest = 0
    for ids, labels in samples(data, 8192):
        with torch.no_grad():
            total += loss_sum(model, ids, labels).item()
        masked += (labels >= 0).sum().item()
        longest = max(longest, ids.shape[1])
    ours = json.loads(run("dstrain", "eval", scratch / "wide", "--shards", data, "--seq", 8192, "--split", "train",
                          "--precision", "fp32", "--json"))["mlm_loss"]
    print(f"samples of up to {longest} tokens: loss {ours:.7f}, off by {abs(ours - total / masked):.1g}", flush=True)
    assert longest == 8192 and abs(ours - total / masked) < 2e-6


def rate_of(step):
    """wsd: steps from 1."""
    done = step / STEPS
    if step < WARM_UP:
        return RATE * step / WARM_UP
    left = min(1, (1 - done) / (DECAY / STEPS))
    return RATE * (1 - math.sqrt(1 - left))


def stable_adamw(step, names, moments):
    """One update; every query, key and value matrix is a tensor of its own, as in dstrain."""
    b1, b2 = (beta * (1 - beta ** (step - 1)) / (1 - beta ** step) for beta in BETAS)
    for name, parameter in names:
        parts = 3 if "Wqkv" in name else 1
        for p, g, m, v in zip(*(tensor.chunk(parts) for tensor in (parameter, parameter.grad, *moments[name]))):
            m.mul_(b1).add_(g, alpha=1 - b1)
            v.mul_(b2).addcmul_(g, g, value=1 - b2)
            rms = (g * g / v.clamp(min=EPSILON ** 2)).mean().sqrt().item()
            rate = rate_of(step) / max(1, rms)
            if parameter.dim() > 1:
                p.mul_(1 - rate / RATE * WEIGHT_DECAY)
            p.addcdiv_(m, v.sqrt() + EPSILON, value=-rate)


def losses_of(model, stored, gradients):
    """torch's losses; the first gradients are compared with dstrain's."""
    model.model.embeddings.tok_embeddings.padding_idx = None  # a random piece may be [PAD]; here it learns as others do
    names = list(model.named_parameters())
    moments = {name: (torch.zeros_like(p), torch.zeros_like(p)) for name, p in names}
    losses = []
    for step in range(1, STEPS + 1):
        ids, labels = torch.zeros(BATCH, 64, dtype=torch.long), torch.full((BATCH, 64), -100)
        seen = torch.zeros_like(ids)
        for row in range(BATCH):
            its_ids, its_labels = stored[((step - 1) * BATCH + row) % len(stored)]
            size = its_ids.shape[1]
            ids[row, :size], labels[row, :size], seen[row, :size] = its_ids, its_labels, 1
        model.zero_grad()
        loss = loss_sum(model, ids, labels, None if seen.all() else seen) / (labels >= 0).sum()
        loss.backward()
        losses.append(loss.item())
        if step == 1:
            dumped = load_file(gradients)
            assert dumped.keys() == {name for name, _ in names}, dumped.keys() ^ {name for name, _ in names}
            assert all(dumped[name].shape == p.shape for name, p in names)
            worst = max(((dumped[name] - p.grad).norm() / p.grad.norm()).item() for name, p in names)
            print(f"{len(names)} gradients of the first step: relative difference at most {worst:.1g}", flush=True)
            assert worst < 1e-5
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        with torch.no_grad():
            stable_adamw(step, names, moments)
    return losses


def curve(scratch, data):
    model = model_of(scratch / "small", data, hidden_size=64, num_hidden_layers=4, num_attention_heads=2,
                     intermediate_size=96, local_attention=16, max_position_embeddings=8192)
    out, gradients = scratch / "run", scratch / "gradients.safetensors"
    run("dstrain", "--shards", data, "--init", scratch / "small", "--seq", 64, "--steps", STEPS, "--batch", BATCH,
        "--no-shuffle", "--dropout", 0, "--optimizer", "stableadamw", "--lr", RATE, "--schedule", "wsd", "--warmup",
        WARM_UP, "--decay", DECAY, "--decay-shape", "sqrt", "--set", f"optimizer.params.weight_decay={WEIGHT_DECAY}",
        "--precision", "fp32", "--log-every", 1, "--dump-gradients", gradients, "--out", out)
    lines = [json.loads(line) for line in open(out / "metrics.jsonl")]
    ours = [line["mlm_loss"] for line in lines if line.get("split", "train") == "train" and "learning_rate" in line]
    stored = list(samples(data, 64))
    single, double = (losses_of(copy.deepcopy(model).to(dtype), stored, gradients) for dtype in (torch.float32,
                                                                                                 torch.float64))
    off, theirs_off = ([abs(a - b) for a, b in zip(losses, double, strict=True)] for losses in (ours, single))
    print(f"losses {double[0]:.4f} to {double[-1]:.4f}; off by at most {max(off[:20]):.1g} in 20 steps, {max(off):.1g} "
          f"in all; torch in fp32: {max(theirs_off[:20]):.1g}, {max(theirs_off):.1g}", flush=True)
    assert max(off[:20]) < 5e-6 and max(off) < 5 * max(theirs_off) + 1e-5 and double[-1] < double[0] - 0.3


def files(scratch, data):
    """Other forms of a directory hold the same model, and an export is imported as it is."""
    def evaluated(folder):
        return json.loads(run("dstrain", "eval", folder, "--shards", data, "--seq", 64, "--split", "train",
                              "--precision", "fp32", "--json"))["mlm_loss"]
    whole = ModernBertForMaskedLM.from_pretrained(scratch / "small")
    half = whole.to(torch.bfloat16)
    for name, parts in (("bf16", "5GB"), ("parts", "60KB")):
        shutil.copytree(scratch / "small", scratch / name, ignore=shutil.ignore_patterns("*.safetensors"))
        half.save_pretrained(scratch / name, max_shard_size=parts)
    shutil.copytree(scratch / "small", scratch / "rounded", ignore=shutil.ignore_patterns("*.safetensors"))
    half.to(torch.float32).save_pretrained(scratch / "rounded")
    assert len(list((scratch / "parts").glob("*.safetensors"))) > 2
    assert evaluated(scratch / "bf16") == evaluated(scratch / "rounded") == evaluated(scratch / "parts")
    run("dstrain", "export", scratch / "run", "--out", scratch / "exported")
    run("dstrain", "export", scratch / "exported", "--out", scratch / "again")
    for name in ("model.safetensors", "config.json"):
        assert (scratch / "exported" / name).read_bytes() == (scratch / "again" / name).read_bytes(), name
    _, info = ModernBertForMaskedLM.from_pretrained(scratch / "again", output_loading_info=True)
    assert not any(info[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys")), info
    print("bf16, several files and a second export: the same", flush=True)


with tempfile.TemporaryDirectory(prefix="modern.") as folder:
    place = pathlib.Path(folder)
    (place / "vocab.txt").write_text("\n".join(SPECIALS + [f"w{i}" for i in range(WORDS)]) + "\n")
    with open(place / "texts.jsonl", "w") as lines_out:
        for number, text in enumerate(texts()):
            print(json.dumps({"id": number + 1, "text": text}), file=lines_out)
    run("dsdata", "build", "--jsonl", place / "texts.jsonl", "--vocab", place / "vocab.txt", "--seq", "64,8192",
        "--pairs", "none", "--out", place / "data")
    curve(place, place / "data")
    files(place, place / "data")
    long_samples(place, place / "data")
