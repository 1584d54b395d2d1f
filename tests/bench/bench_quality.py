#!/usr/bin/env python3
"""The benefit of pre-training, in dstrain and in PyTorch: tasks of GLUE and two synthetic ones, fine-tuned from a run
of dstrain and from the same model with random weights, by dstrain and by PyTorch from the same files.

    bench_quality.py BUILD RUN [--data DIR] [--cache DIR] [--tasks sst-2,sts-b,cola,mrpc,rte,pairs,squad] [--rows N]
                     [--dev-rows N] [--epochs X] [--lr X] [--seeds N] [--threads N] [--theirs sst-2,mrpc,rte|none]

BUILD is a folder with dsdata and dstrain, RUN a run of dstrain whose dataset still exists, or a directory of Hugging
Face's (which has no model of random weights to compare with); DIR has glue and
enwiki-2016-sample.xml.bz2, from which scripts/make_squad.py makes `pairs` (two neighbouring sentences, or not) and
`squad`. Every task uses --rows of its training rows, evenly spread, and --dev-rows of the others; all programs get
the same rows and the same learning rate. Adam corrects its bias in both programs. PyTorch fine-tunes the tasks of
--theirs with transformers' BertForSequenceClassification and AdamW; the seed determines the head. Results stay in
the cache (build/quality), and the same command continues. Prints the table: mean and deviation over seeds."""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BATCH, SEQ, WARMUP = 32, 128, 0.1
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # PyTorch's threads must not busy-wait
FOLDERS = {"sst-2": "SST-2", "sts-b": "STS-B", "cola": "CoLA", "mrpc": "MRPC", "rte": "RTE", "pairs": "MRPC"}
SCORES = {"sst-2": "acc", "sts-b": "corr", "cola": "mcc", "mrpc": "acc", "rte": "acc", "pairs": "acc", "squad": "f1"}


# ---- data ----

def spread(rows, count):
    return rows if count >= len(rows) else [rows[i * len(rows) // count] for i in range(count)]


def made(options):
    """The tasks that make_squad.py makes."""
    out = options.cache / "made"
    if not (out / "squad/dev-v1.1.json").exists():
        subprocess.run([sys.executable, ROOT / "scripts/make_squad.py", options.data / "enwiki-2016-sample.xml.bz2",
                        out, "--dsdata", options.build / "dsdata"], check=True, stdout=subprocess.DEVNULL)
    return out


def rows_of(options, task):
    """Makes a folder with the chosen rows of a task, in GLUE's form."""
    source = (made(options) / "glue" if task == "pairs" else options.data / "glue") / FOLDERS[task]
    folder = options.cache / "rows" / task / FOLDERS[task]
    folder.mkdir(parents=True, exist_ok=True)
    for part, count in (("train", options.rows), ("dev", options.dev_rows)):
        lines = (source / f"{part}.tsv").read_text(encoding="utf-8").split("\n")
        lines = lines[:-1] if lines[-1] == "" else lines
        head = 0 if task == "cola" else 1
        chosen = lines[:head] + spread(lines[head:], count)
        (folder / f"{part}.tsv").write_text("\n".join(chosen) + "\n", encoding="utf-8")
    return folder.parent


def questions_of(options):
    """The same for the synthetic questions: articles with that many of them."""
    paths = []
    for part, count in (("train", options.rows), ("dev", options.dev_rows)):
        file = json.loads((made(options) / f"squad/{part}-v1.1.json").read_text())
        left = count
        for article in file["data"]:
            for paragraph in article["paragraphs"]:
                paragraph["qas"] = paragraph["qas"][:left]
                left -= len(paragraph["qas"])
        paths.append(options.cache / f"rows/squad-{part}.json")
        paths[-1].parent.mkdir(parents=True, exist_ok=True)
        paths[-1].write_text(json.dumps(file))
    return paths


def random_weights(options):
    """The run's model with random weights: after one step with rate 0."""
    out = options.cache / "random"
    settings = json.loads((options.run / "run.json").read_text())["settings"]
    config = newest(options.run)
    subprocess.run([options.build / "dstrain", "--shards", settings["shards"], "--seq", settings["seq"], "--model",
                    config / "config.json", "--steps", "1", "--batch", "1", "--lr", "0", "--eval-samples", "0", "--out",
                    out, "-q"], check=True)
    return newest(out)


def newest(run):
    return run / "checkpoints" / (run / "latest").read_text().strip()


# ---- fine-tuning ----

def ours(options, task, start, seed):
    out = options.cache / "run"
    shutil.rmtree(out, ignore_errors=True)
    common = ["--init", start, "--lr", options.lr, "--epochs", options.epochs, "--batch", BATCH, "--seed", seed,
              "--warmup", WARMUP, "--threads", options.threads, "--out", out, "-q",
              "--set", "optimizer.params.bias_correction=true"]  # as in PyTorch's AdamW
    if task == "squad":
        train, dev = questions_of(options)
        command = ["squad", "--train", train, "--dev", dev, "--seq", 256, *common]
    else:
        name = "mrpc" if task == "pairs" else task
        command = ["glue", name, "--data", rows_of(options, task), "--seq", SEQ, *common]
    subprocess.run([str(word) for word in [options.build / "dstrain", *command]], check=True)
    return json.loads((out / "scores.json").read_text())[SCORES[task]]


def examples(folder, task, part):
    """[text or pair], [label] of a file of GLUE."""
    lines = (folder / FOLDERS[task] / f"{part}.tsv").read_text(encoding="utf-8").split("\n")[:-1]
    cells = [line.split("\t") for line in lines[0 if task == "cola" else 1:]]
    texts = {"sst-2": slice(0, 1), "cola": slice(3, 4), "mrpc": slice(3, 5), "pairs": slice(3, 5), "rte": slice(1, 3),
             "sts-b": slice(7, 9)}[task]
    labels = {"sst-2": 1, "cola": 1, "mrpc": 0, "pairs": 0, "rte": 3, "sts-b": 9}[task]
    number = {"entailment": 0.0, "not_entailment": 1.0}
    return ([cell[texts] for cell in cells],
            [number[cell[labels]] if task == "rte" else float(cell[labels]) for cell in cells])


def ranks(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    out = [0.0] * len(values)
    i = 0
    while i < len(order):
        j = i
        while j < len(order) and values[order[j]] == values[order[i]]:
            j += 1
        for k in range(i, j):
            out[order[k]] = (i + j - 1) / 2
        i = j
    return out


def correlation(a, b):
    return statistics.correlation(a, b) if len(set(a)) > 1 and len(set(b)) > 1 else 0.0


def score(task, guesses, labels):
    if task == "sts-b":
        return (correlation(guesses, labels) + correlation(ranks(guesses), ranks(labels))) / 2
    if task == "cola":
        return correlation(guesses, labels)  # for two classes this is Matthews' correlation
    return sum(a == b for a, b in zip(guesses, labels)) / len(labels)


def theirs(options, task, start, seed):
    import torch
    from transformers import BertForSequenceClassification, BertTokenizerFast
    torch.set_num_threads(options.threads)
    torch.manual_seed(seed)
    folder, one = rows_of(options, task), task == "sts-b"
    tokenizer = BertTokenizerFast.from_pretrained(start)
    model = BertForSequenceClassification.from_pretrained(start, num_labels=1 if one else 2)
    texts, labels = examples(folder, task, "train")
    plain = [p for name, p in model.named_parameters() if name.endswith("bias") or "LayerNorm" in name]
    others = [p for name, p in model.named_parameters() if not (name.endswith("bias") or "LayerNorm" in name)]
    optimizer = torch.optim.AdamW([{"params": others}, {"params": plain, "weight_decay": 0.0}], lr=0.0, eps=1e-6,
                                  weight_decay=0.01)
    steps, done = max(1, round(options.epochs * len(texts) / BATCH)), 0

    def encoded(rows):
        columns = [[texts[i][k] for i in rows] for k in range(len(texts[0]))]
        return tokenizer(*columns, truncation=True, max_length=SEQ, padding=True, return_tensors="pt")

    model.train()
    order = torch.cat([torch.randperm(len(texts)) for _ in range(int(options.epochs) + 2)])
    for step in range(1, steps + 1):
        q = step / steps
        for group in optimizer.param_groups:
            group["lr"] = options.lr * (q / WARMUP if q < WARMUP else (1 - q) / (1 - WARMUP))
        rows = order[done:done + BATCH].tolist()
        done += BATCH
        wanted = torch.tensor([labels[i] for i in rows])
        optimizer.zero_grad(set_to_none=True)
        model(**encoded(rows), labels=wanted if one else wanted.long()).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    model.eval()
    texts, labels = examples(folder, task, "dev")
    guesses = []
    with torch.no_grad():
        for first in range(0, len(texts), 64):
            logits = model(**encoded(range(first, min(len(texts), first + 64)))).logits
            guesses += logits[:, 0].tolist() if one else logits.argmax(1).tolist()
    return score(task, guesses, labels)


# ---- the table ----

def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("run", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--cache", type=pathlib.Path, default=ROOT / "build" / "quality")
    parser.add_argument("--tasks", default="sst-2,sts-b,cola,mrpc,rte,pairs,squad")
    parser.add_argument("--theirs", default="sst-2,mrpc,rte")
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--dev-rows", type=int, default=1000)
    parser.add_argument("--epochs", type=float, default=3)
    parser.add_argument("--lr", type=float, default=3e-4)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    if not (options.data / "glue").exists():
        print(f"{options.data / 'glue'} does not exist: skipped")
        sys.exit(77)
    try:
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ImportError:
        print("torch or transformers is not installed: without PyTorch's columns", file=sys.stderr)
        options.theirs = "none"
    options.cache.mkdir(parents=True, exist_ok=True)
    starts = ({"pre-trained": options.run} if (options.run / "config.json").exists() else
              {"pre-trained": newest(options.run), "random": random_weights(options)})
    store = options.cache / "scores.json"
    found = json.loads(store.read_text()) if store.exists() else {}
    kinds = [(who, start) for who in ("dstrain", "PyTorch") for start in starts]
    for seed in range(1, options.seeds + 1):
        for task in options.tasks.split(","):
            for who, start in kinds:
                if who == "PyTorch" and task not in options.theirs.split(","):
                    continue
                key = f"{task} {who} {start} {seed} {options.rows} {options.epochs:g} {options.lr:g} {options.run}"
                if key not in found:
                    begun = time.monotonic()
                    found[key] = (ours if who == "dstrain" else theirs)(options, task, starts[start], seed)
                    print(f"{key}: {found[key]:.4f}, {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
                    store.write_text(json.dumps(found, indent=1) + "\n")
    print("| task | " + " | ".join(f"{who}, {start}" for who, start in kinds) + " |\n|---|" + "---|" * len(kinds))
    for task in options.tasks.split(","):
        cells = []
        for who, start in kinds:
            keys = (f"{task} {who} {start} {seed} {options.rows} {options.epochs:g} {options.lr:g} {options.run}"
                    for seed in range(1, options.seeds + 1))
            values = [100 * found[key] if task != "squad" else found[key] for key in keys if key in found]
            cells.append(f"{statistics.mean(values):.1f}" if len(values) == 1 else
                         f"{statistics.mean(values):.1f} ± {statistics.stdev(values):.1f}" if values else "–")
        print(f"| {task}, {SCORES[task]} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
