#!/usr/bin/env python3
"""The benefit of pre-training, in dstrain and in PyTorch: tasks of GLUE and two synthetic ones, fine-tuned from a run
of dstrain and from the same model with random weights, by dstrain and by PyTorch from the same files.

    bench_quality.py BUILD RUN [--data DIR] [--cache DIR]
                     [--tasks sst-2,sts-b,cola,mrpc,rte,pairs,squad,xquad,upos,cosine] [--rows N] [--dev-rows N]
                     [--epochs X] [--lr X] [--seeds N] [--threads N] [--theirs sst-2,mrpc,rte,xquad,upos|none]

BUILD is a folder with dsdata and dstrain, RUN a run of dstrain whose dataset still exists, or a directory of Hugging
Face's (which has no model of random weights to compare with); DIR has glue and enwiki-2016-sample.xml.bz2, from which
scripts/make_squad.py makes `pairs` (two neighbouring sentences, or not) and `squad`. `xquad` are the questions of
DIR/squad, and `upos` the parts of speech of DIR/ud: its dev part to train on, its test part to score, both whole. Every
other task uses --rows of its training rows, evenly spread, and --dev-rows of the others; all programs get the same rows
and the same learning rate. Adam corrects its bias in both programs. PyTorch fine-tunes the tasks of --theirs with
transformers' BertForSequenceClassification, BertForQuestionAnswering or BertForTokenClassification and AdamW; the seed
determines the head and the order. `cosine` is not tuned: the rank correlation of STS-B's scores and of the cosines of
two vectors, by embed and by sentence-transformers. Results stay in the cache (build/quality), and the same command
continues. Prints the table: mean and deviation over seeds."""
import argparse
import bz2
import json
import math
import os
import pathlib
import re
import shutil
import statistics
import string
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BATCH, SEQ, WARMUP = 32, 128, 0.1
LONG, STRIDE, ANSWER_MOST = 256, 128, 30  # of questions; LONG also for tags, whose sentences are all shorter
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # PyTorch's threads must not busy-wait
FOLDERS = {"sst-2": "SST-2", "sts-b": "STS-B", "cola": "CoLA", "mrpc": "MRPC", "rte": "RTE", "pairs": "MRPC"}
SCORES = {"sst-2": "acc", "sts-b": "corr", "cola": "mcc", "mrpc": "acc", "rte": "acc", "pairs": "acc", "squad": "f1",
          "xquad": "f1", "upos": "accuracy", "cosine": "spearmanr"}


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

def pairs_of_texts(options):
    """Both texts and the score of each pair of STS-B's dev.tsv."""
    lines = (options.data / "glue/STS-B/dev.tsv").read_text(encoding="utf-8").split("\n")[1:-1]
    cells = [line.split("\t") for line in lines]
    return [cell[7] for cell in cells], [cell[8] for cell in cells], [float(cell[9]) for cell in cells]


def cosines(vectors, scores):
    """The rank correlation of the scores with the cosines of vectors i and n + i."""
    def cosine(a, b):
        return sum(x * y for x, y in zip(a, b)) / (math.hypot(*a) * math.hypot(*b))
    half = len(scores)
    return correlation(ranks([cosine(vectors[i], vectors[half + i]) for i in range(half)]), ranks(scores))


def our_cosines(options, start):
    first, second, scores = pairs_of_texts(options)
    texts, out = options.cache / "texts", options.cache / "vectors.jsonl"
    texts.write_text("\n".join(first + second) + "\n", encoding="utf-8")
    subprocess.run([options.build / "dstrain", "embed", start, texts, "--out", out, "--threads", str(options.threads),
                    "--force", "-q"], check=True)
    return cosines([json.loads(line) for line in out.read_text().split("\n")[:-1]], scores)


def their_cosines(options, start):
    from sentence_transformers import SentenceTransformer
    first, second, scores = pairs_of_texts(options)
    return cosines(SentenceTransformer(str(start), device="cpu").encode(first + second).tolist(), scores)


def ours(options, task, start, seed):
    if task == "cosine":
        return our_cosines(options, start)
    out = options.cache / "run"
    shutil.rmtree(out, ignore_errors=True)
    common = ["--init", start, "--lr", options.lr, "--epochs", options.epochs, "--batch", BATCH, "--seed", seed,
              "--warmup", WARMUP, "--threads", options.threads, "--out", out, "-q",
              "--set", "optimizer.params.bias_correction=true"]  # as in PyTorch's AdamW
    if task == "squad":
        train, dev = questions_of(options)
        command = ["squad", "--train", train, "--dev", dev, "--seq", LONG, *common]
    elif task == "xquad":
        command = ["squad", "--train", options.data / "squad/train.json", "--dev", options.data / "squad/dev.json",
                   "--seq", LONG, "--doc-stride", STRIDE, *common]
    elif task == "upos":
        command = ["tag", "--train", options.data / "ud/en_ewt-dev.conllu.bz2", "--dev",
                   options.data / "ud/en_ewt-test.conllu.bz2", "--column", "UPOS", "--seq", LONG, *common]
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


def optimized(options, model, count, loss_of):
    """The steps of a fine-tuning; loss_of(rows) is the loss of a batch."""
    import torch
    plain = [p for name, p in model.named_parameters() if name.endswith("bias") or "LayerNorm" in name]
    others = [p for name, p in model.named_parameters() if not (name.endswith("bias") or "LayerNorm" in name)]
    optimizer = torch.optim.AdamW([{"params": others}, {"params": plain, "weight_decay": 0.0}], lr=0.0, eps=1e-6,
                                  weight_decay=0.01)
    steps, done = max(1, round(options.epochs * count / BATCH)), 0
    model.train()
    order = torch.cat([torch.randperm(count) for _ in range(int(options.epochs) + 2)])
    for step in range(1, steps + 1):
        q = step / steps
        for group in optimizer.param_groups:
            group["lr"] = options.lr * (q / WARMUP if q < WARMUP else (1 - q) / (1 - WARMUP))
        rows = order[done:done + BATCH].tolist()
        done += BATCH
        optimizer.zero_grad(set_to_none=True)
        loss_of(rows).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    model.eval()


def batches(count):
    return [list(range(first, min(count, first + 64))) for first in range(0, count, 64)]


def their_classes(options, task, start):
    import torch
    from transformers import BertForSequenceClassification, BertTokenizerFast
    folder, one = rows_of(options, task), task == "sts-b"
    tokenizer = BertTokenizerFast.from_pretrained(start)
    model = BertForSequenceClassification.from_pretrained(start, num_labels=1 if one else 2)
    texts, labels = examples(folder, task, "train")

    def encoded(rows):
        columns = [[texts[i][k] for i in rows] for k in range(len(texts[0]))]
        return tokenizer(*columns, truncation=True, max_length=SEQ, padding=True, return_tensors="pt")

    def loss_of(rows):
        wanted = torch.tensor([labels[i] for i in rows])
        return model(**encoded(rows), labels=wanted if one else wanted.long()).loss
    optimized(options, model, len(texts), loss_of)
    texts, labels = examples(folder, task, "dev")
    guesses = []
    with torch.no_grad():
        for rows in batches(len(texts)):
            logits = model(**encoded(rows)).logits
            guesses += logits[:, 0].tolist() if one else logits.argmax(1).tolist()
    return score(task, guesses, labels)


# ---- tags ----

def tagged(path):
    """[[word]], [[tag]] of a file of Universal Dependencies."""
    sentences = [[line.split("\t") for line in block.split("\n") if re.match("[0-9]+\t", line)]
                 for block in bz2.open(path, "rt", encoding="utf-8").read().split("\n\n")]
    return ([[word[1] for word in words] for words in sentences if words],
            [[word[3] for word in words] for words in sentences if words])


def their_tags(options, start):
    """As in transformers' run_ner: the first piece of a word has the word's tag, the others count nothing."""
    import torch
    from transformers import BertForTokenClassification, BertTokenizerFast
    sentences, tags = tagged(options.data / "ud/en_ewt-dev.conllu.bz2")
    names = sorted({tag for row in tags for tag in row})
    tokenizer = BertTokenizerFast.from_pretrained(start)
    model = BertForTokenClassification.from_pretrained(start, num_labels=len(names))

    def encoded(rows):
        batch = tokenizer([sentences[i] for i in rows], is_split_into_words=True, padding=True, return_tensors="pt")
        labels = torch.full(batch.input_ids.shape, -100)
        for row, i in enumerate(rows):
            places = batch.word_ids(row)
            for at, word in enumerate(places):
                if word is not None and word != places[at - 1]:
                    labels[row, at] = names.index(tags[i][word]) if tags[i][word] in names else len(names)
        return batch, labels

    def loss_of(rows):
        batch, labels = encoded(rows)
        return model(**batch, labels=labels).loss
    optimized(options, model, len(sentences), loss_of)
    sentences, tags = tagged(options.data / "ud/en_ewt-test.conllu.bz2")
    right = 0
    with torch.no_grad():
        for rows in batches(len(sentences)):
            batch, labels = encoded(rows)
            right += (model(**batch).logits.argmax(2) == labels).sum().item()
    return right / sum(map(len, tags))


# ---- questions ----

def pairs_of(path):
    """(question, context, [answer]) of a file of questions."""
    return [(qa["question"].strip(), paragraph["context"], qa["answers"])
            for article in json.loads(path.read_text(encoding="utf-8"))["data"] for paragraph in article["paragraphs"]
            for qa in paragraph["qas"]]


def f1_of(found, answers):
    """SQuAD's F1 of an answer: words without case, punctuation and articles."""
    def words(text):
        text = "".join(c for c in text.lower() if c not in string.punctuation)
        return re.sub(r"\b(a|an|the)\b", " ", text).split()

    def f1(a, b):
        same = sum(min(a.count(word), b.count(word)) for word in set(a))
        return float(a == b) if not a or not b else 2 * same / (len(a) + len(b))
    return max(f1(words(found), words(answer["text"])) for answer in answers)


def best_span(begins, ends, offsets, sequence):
    """(logit, first and last character) of the likeliest span of the context that is not too long."""
    best = (float("-inf"), 0, 0)
    top = sorted((i for i, of in enumerate(sequence) if of == 1), key=lambda i: -begins[i])[:20]
    last = sorted((i for i, of in enumerate(sequence) if of == 1), key=lambda i: -ends[i])[:20]
    for i in top:
        for j in last:
            if i <= j < i + ANSWER_MOST and begins[i] + ends[j] > best[0]:
                best = (begins[i] + ends[j], offsets[i][0], offsets[j][1])
    return best


def their_answers(options, start):
    import torch
    from transformers import BertForQuestionAnswering, BertTokenizerFast
    tokenizer = BertTokenizerFast.from_pretrained(start)
    model = BertForQuestionAnswering.from_pretrained(start)

    def windows(pairs):
        made = tokenizer([pair[0] for pair in pairs], [pair[1] for pair in pairs], truncation="only_second",
                         max_length=LONG, stride=STRIDE, return_overflowing_tokens=True, return_offsets_mapping=True)
        return made, made["overflow_to_sample_mapping"]

    def encoded(made, rows):
        return tokenizer.pad({key: [made[key][i] for i in rows]
                              for key in ("input_ids", "token_type_ids", "attention_mask")}, return_tensors="pt")

    pairs = pairs_of(options.data / "squad/train.json")
    made, pair_of = windows(pairs)

    def places(i):
        """The first and last token of the answer; (0, 0) in a window without it."""
        answer = pairs[pair_of[i]][2][0]
        first, last = answer["answer_start"], answer["answer_start"] + len(answer["text"])
        inside = [at for at, of in enumerate(made.sequence_ids(i))
                  if of == 1 and made["offset_mapping"][i][at][1] > first and made["offset_mapping"][i][at][0] < last]
        whole = inside and made["offset_mapping"][i][inside[0]][0] <= first \
            and made["offset_mapping"][i][inside[-1]][1] >= last
        return (inside[0], inside[-1]) if whole else (0, 0)
    answers = [places(i) for i in range(len(pair_of))]

    def loss_of(rows):
        return model(**encoded(made, rows), start_positions=torch.tensor([answers[i][0] for i in rows]),
                     end_positions=torch.tensor([answers[i][1] for i in rows])).loss
    optimized(options, model, len(pair_of), loss_of)
    pairs = pairs_of(options.data / "squad/dev.json")
    made, pair_of = windows(pairs)
    best = [(float("-inf"), 0, 0)] * len(pairs)
    with torch.no_grad():
        for rows in batches(len(pair_of)):
            out = model(**encoded(made, rows))
            for row, i in enumerate(rows):
                best[pair_of[i]] = max(best[pair_of[i]],
                                       best_span(out.start_logits[row].tolist(), out.end_logits[row].tolist(),
                                                 made["offset_mapping"][i], made.sequence_ids(i)))
    return 100 * statistics.mean(f1_of(pair[1][first:last], pair[2]) for pair, (_, first, last) in zip(pairs, best))


def theirs(options, task, start, seed):
    import torch
    torch.set_num_threads(options.threads)
    torch.manual_seed(seed)
    special = {"xquad": their_answers, "upos": their_tags, "cosine": their_cosines}
    return special[task](options, start) if task in special else their_classes(options, task, start)


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
            values = [100 * found[key] if SCORES[task] != "f1" else found[key] for key in keys if key in found]
            cells.append(f"{statistics.mean(values):.1f}" if len(values) == 1 else
                         f"{statistics.mean(values):.1f} ± {statistics.stdev(values):.1f}" if values else "–")
        print(f"| {task}, {SCORES[task]} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
