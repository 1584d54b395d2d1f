#!/usr/bin/env python3
# labels: long
"""200 steps of fine-tuning against PyTorch: model mini from the same weights, the same samples in the same order,
without dropout, with BERT's Adam reimplemented. The means of 20 losses must differ less than those of two seeds of
dstrain (order and dropout). The tasks are questions in SQuAD's form and pairs of MRPC.

curves_like_hf.py BUILD: needs torch, transformers and the data that DS_DATA_DIR names (squad/, glue/, a vocabulary);
exit 77 without. TUNE_PYTHON names another Python that has them."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

if os.environ.get("TUNE_PYTHON") and not os.environ.get("TUNE_INSIDE"):
    os.environ["TUNE_INSIDE"] = "1"
    os.execv(os.environ["TUNE_PYTHON"], [os.environ["TUNE_PYTHON"], *sys.argv])
try:
    import torch
    from torch.nn.functional import cross_entropy
    from transformers import BertConfig, BertForQuestionAnswering, BertForSequenceClassification, BertTokenizerFast
except ImportError as error:
    print(f"torch or transformers is not installed ({error}): skipped")
    sys.exit(77)

BUILD = pathlib.Path(sys.argv[1]).resolve()
DATA = os.environ.get("DS_DATA_DIR")
TOOL = BUILD / "tests/bench/tune_features"
STEPS, BATCH, MEANS = 200, 4, 20


def model_of(scratch, kind, name):
    """A directory with random weights of model mini, the task's head included, and the tokenizer."""
    folder = scratch / name
    folder.mkdir()
    (folder / "vocab.txt").write_text((DATA / "bert-base-uncased-vocab.txt").read_text())
    tokenizer = BertTokenizerFast(str(folder / "vocab.txt"))
    tokenizer.save_pretrained(folder)
    torch.manual_seed(1)
    model = kind(BertConfig(vocab_size=len(tokenizer), hidden_size=256, num_hidden_layers=4, num_attention_heads=4,
                            intermediate_size=1024, hidden_dropout_prob=0, attention_probs_dropout_prob=0))
    model.save_pretrained(folder)
    return folder, model


def samples_of(*arguments):
    """dstrain's features of the texts: label or span, ids, segments. tasks_like_hf.py compares them with
    transformers."""
    lines = subprocess.run([TOOL, *map(str, arguments)], check=True, capture_output=True, text=True).stdout.splitlines()
    spans = arguments[0] == "squad"
    for line in lines:
        words = line.split(" ")
        label, rest = ([int(word) for word in words[1:3]], words[3:-1]) if spans else (int(words[0]), words[1:])
        first, ids = int(rest[0]), [int(word) for word in rest[1:]]
        yield label, ids, [0] * first + [1] * (len(ids) - first)


def ours(scratch, verb, *options):
    out = scratch / "run"
    subprocess.run(["rm", "-rf", out], check=True)
    command = [BUILD / "dstrain", *verb, "--steps", STEPS, "--batch", BATCH, "--lr", 5e-5, "--threads", 1,
               "--log-every", 1, "--out", out, "-q", *options]
    subprocess.run([str(word) for word in command], check=True)
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    return [(line["loss"], line["learning_rate"]) for line in lines if "split" not in line][:STEPS]


def loss_of(model, batch, spans):
    width = max(len(ids) for _, ids, _ in batch)
    padded = [[row + [0] * (width - len(row)) for row in rows] for rows in zip(*((ids, seg) for _, ids, seg in batch))]
    live = torch.tensor([[1] * len(ids) + [0] * (width - len(ids)) for _, ids, _ in batch])
    out = model(input_ids=torch.tensor(padded[0]), token_type_ids=torch.tensor(padded[1]), attention_mask=live)
    labels = torch.tensor([label for label, _, _ in batch])
    if not spans:
        return cross_entropy(out.logits, labels)
    begin, end = (logits.masked_fill(live == 0, float("-inf")) for logits in (out.start_logits, out.end_logits))
    return (cross_entropy(begin, labels[:, 0]) + cross_entropy(end, labels[:, 1])) / 2


def theirs(model, samples, rates, spans):
    """BERT's Adam: no bias correction, epsilon 1e-6, decay 0.01 except for biases and norms, gradients clipped to 1."""
    state = [(p, torch.zeros_like(p), torch.zeros_like(p), 0 if name.endswith("bias") or "LayerNorm" in name else 0.01)
             for name, p in model.named_parameters()]
    losses = []
    for step, rate in enumerate(rates):
        batch = [samples[(step * BATCH + i) % len(samples)] for i in range(BATCH)]
        model.zero_grad()
        loss = loss_of(model, batch, spans)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        with torch.no_grad():
            for p, m, v, decay in state:
                m.mul_(0.9).add_(p.grad, alpha=0.1)
                v.mul_(0.999).addcmul_(p.grad, p.grad, value=0.001)
                p.sub_(rate * (m / (v.sqrt() + 1e-6) + decay * p))
        losses.append(loss.item())
    return losses


def means(losses):
    return [sum(losses[at:at + MEANS]) / MEANS for at in range(0, STEPS, MEANS)]


def farthest(a, b):
    return max(abs(x - y) for x, y in zip(means(a), means(b), strict=True))


def compare(scratch, name, kind, verb, samples, spans):
    folder, model = model_of(scratch, kind, name)
    verb = [*verb, "--init", folder]
    samples = list(samples(folder))
    curve = ours(scratch, verb, "--no-shuffle", "--dropout", 0)
    other = theirs(model.train(), samples, [rate for _, rate in curve], spans)
    losses = [loss for loss, _ in curve]
    seeds = [[loss for loss, _ in ours(scratch, verb, "--seed", seed)] for seed in (1, 2)]
    apart, spread = farthest(losses, other), farthest(*seeds)
    single = max(abs(x - y) for x, y in zip(losses, other))
    print(f"{name}: loss {means(losses)[0]:.4f} to {means(losses)[-1]:.4f}; PyTorch's means differ by at most "
          f"{apart:.1e} "
          f"(single losses {single:.1e}), those of two seeds by {spread:.1e}")
    return len(losses) == STEPS and apart < spread


def main():
    if not DATA or not (pathlib.Path(DATA) / "squad").exists() or not TOOL.exists():
        print("DS_DATA_DIR names no data, or tests/bench/tune_features is not built: skipped")
        return 77
    globals()["DATA"] = pathlib.Path(DATA)
    torch.set_num_threads(1)
    questions, pairs = DATA / "squad/train.json", DATA / "glue/MRPC/train.tsv"
    with tempfile.TemporaryDirectory(prefix="curves.") as folder:
        scratch = pathlib.Path(folder)
        right = [compare(scratch, "squad", BertForQuestionAnswering,
                         ["squad", "--train", questions, "--seq", 192, "--doc-stride", 64],
                         lambda model: samples_of("squad", "train", questions, model, 192, 64, 64), True),
                 compare(scratch, "mrpc", BertForSequenceClassification, ["glue", "mrpc", "--data", DATA / "glue"],
                         lambda model: samples_of("glue", "mrpc", pairs, model, 128), False)]
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
