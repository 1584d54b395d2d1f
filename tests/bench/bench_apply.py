#!/usr/bin/env python3
"""A tuned model at work against transformers, one thread each, CPU seconds, in one run: a step of classify, predict and
embed of texts of mixed length, and the first answer of predict.

    bench_apply.py BUILD MODEL [--data DIR] [--texts N] [--precision fp32|bf16] [--rounds N] [--rows step,predict,...]

MODEL is a Hugging Face directory. DIR has glue/SST-2 and squad: the texts are sentences, questions and contexts, in an
order that is drawn once. They are cut at 128 tokens; transformers has padded batches of 32 in that order. Of a step
only the step is timed on both sides. Of predict and embed our time includes the start, theirs is that of the loop. The
first answer is a command from its start to its end on both sides. The least of several rounds counts. --precision is
that of the step (in PyTorch autocast); predict and embed compute in fp32. Needs torch and transformers; exit 77
without them."""
import argparse
import csv
import json
import os
import pathlib
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["OMP_NUM_THREADS"] = "1"
try:
    import torch
    import transformers
    from transformers import AutoModel, AutoModelForSequenceClassification, AutoTokenizer
except ImportError as error:
    print(f"a package is not installed ({error}): skipped")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SEQ, BATCH, STEPS = 128, 32, 5
THEIR_START = """import sys
import torch
torch.set_num_threads(1)
from transformers import pipeline
print(pipeline("text-classification", sys.argv[1], device="cpu")(sys.argv[2]))"""


def cpu_of(*command):
    """CPU seconds of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def cpu_here(work):
    begun = time.process_time()
    work()
    return time.process_time() - begun


def texts_of(data, count):
    """As many sentences, questions and contexts each."""
    lines = (data / "glue/SST-2/train.tsv").read_text(encoding="utf-8").split("\n")[1:-1]
    squad = [paragraph for article in json.loads((data / "squad/train.json").read_text(encoding="utf-8"))["data"]
             for paragraph in article["paragraphs"]]
    kinds = [[line.split("\t")[0] for line in lines], [qa["question"] for one in squad for qa in one["qas"]],
             [paragraph["context"] for paragraph in squad]]
    texts = [kind[i % len(kind)] for kind in kinds for i in range(count // 3)]
    random.Random(1).shuffle(texts)
    return [" ".join(text.split()) for text in texts]


class Bench:
    def __init__(self, asked, scratch):
        self.asked, self.scratch, self.dstrain = asked, scratch, asked.build / "dstrain"
        self.texts = texts_of(asked.data, asked.texts)
        self.tokenizer = AutoTokenizer.from_pretrained(asked.model)
        self.table("all.csv", self.texts)
        self.table("one.csv", self.texts[:1])
        (scratch / "texts").write_text("\n".join(self.texts) + "\n", encoding="utf-8")
        self.tune("tuned", 1)
        subprocess.run([self.dstrain, "export", scratch / "tuned", "--out", scratch / "export", "-q"], check=True)

    def table(self, name, texts):
        with open(self.scratch / name, "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["text", "label"], *([text, "ab"[i % 2]] for i, text in enumerate(texts))])

    def tune(self, out, steps):
        return cpu_of(self.dstrain, "classify", "--init", self.asked.model, "--train", self.scratch / "all.csv",
                      "--dev", self.scratch / "one.csv", "--out", self.scratch / out, "--steps", steps, "--seq", SEQ,
                      "--batch", BATCH, "--no-shuffle", "--threads", 1, "--precision", self.asked.precision, "-q")

    def least(self, measure):
        return min(measure() for _ in range(self.asked.rounds))

    def batches(self, texts):
        for first in range(0, len(texts), BATCH):
            yield self.tokenizer(texts[first:first + BATCH], truncation=True, max_length=SEQ, padding=True,
                                 return_tensors="pt")

    # ---- rows: each returns (ours, theirs) in CPU seconds ----

    def step(self):
        def ours():
            seconds = []
            for steps in (1, 1 + STEPS):
                shutil.rmtree(self.scratch / "run", ignore_errors=True)
                seconds.append(self.tune("run", steps))
            return (seconds[1] - seconds[0]) / STEPS
        model = AutoModelForSequenceClassification.from_pretrained(self.asked.model).train()
        optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5, fused=True)

        batches = list(self.batches(self.texts[:BATCH * STEPS]))

        def steps(count):
            for batch in batches[:count]:
                labels = torch.tensor([i % 2 for i in range(len(batch.input_ids))])
                optimizer.zero_grad(set_to_none=True)
                with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.asked.precision == "bf16"):
                    loss = model(**batch, labels=labels).loss
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
        steps(1)
        return self.least(ours), self.least(lambda: cpu_here(lambda: steps(STEPS))) / STEPS

    def predict(self):
        model = AutoModelForSequenceClassification.from_pretrained(self.scratch / "export").eval()

        def work():
            with torch.no_grad():
                return [model(**batch).logits.softmax(-1) for batch in self.batches(self.texts)]
        return self.least(lambda: cpu_of(self.dstrain, "predict", self.scratch / "tuned", self.scratch / "all.csv",
                                         "--out", self.scratch / "out.csv", "--force", "--threads", 1)), \
            self.least(lambda: cpu_here(work))

    def embed(self):
        model = AutoModel.from_pretrained(self.asked.model).eval()

        def vectors(batch):
            mask = batch.attention_mask.unsqueeze(-1)
            return (model(**batch).last_hidden_state * mask).sum(1) / mask.sum(1)

        def work():
            with torch.no_grad():
                return [vectors(batch) for batch in self.batches(self.texts)]
        return self.least(lambda: cpu_of(self.dstrain, "embed", self.asked.model, self.scratch / "texts", "--out",
                                         self.scratch / "v.npy", "--force", "--threads", 1, "--seq", SEQ)), \
            self.least(lambda: cpu_here(work))

    def first(self):
        return self.least(lambda: cpu_of(self.dstrain, "predict", self.scratch / "tuned", self.scratch / "one.csv",
                                         "--out", self.scratch / "out.csv", "--force", "--threads", 1)), \
            self.least(lambda: cpu_of(sys.executable, "-c", THEIR_START, self.scratch / "export", self.texts[0]))


def processor():
    lines = pathlib.Path("/proc/cpuinfo").read_text().split("\n")
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "an unknown processor")


def main():
    rows = {"step": "classify, a step", "predict": "predict", "embed": "embed", "first": "first answer of predict"}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--texts", type=int, default=600)
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--rows", default=",".join(rows))
    asked = parser.parse_args()
    if not (asked.data / "squad/train.json").exists():
        print(f"{asked.data / 'squad'} does not exist: skipped")
        sys.exit(77)
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    with tempfile.TemporaryDirectory(prefix="bench.") as folder:
        bench = Bench(asked, pathlib.Path(folder))
        words = sum(len(text.split()) for text in bench.texts) / len(bench.texts)
        print(f"{len(bench.texts)} texts of {words:.0f} words on average; {processor()}; torch {torch.__version__}, "
              f"transformers {transformers.__version__}; step in {asked.precision}; least of {asked.rounds}")
        print("| what | dstrain, s | transformers, s | times |\n|---|--:|--:|--:|")
        for row in asked.rows.split(","):
            ours, theirs = getattr(bench, row)()
            print(f"| {rows[row]} | {ours:.2f} | {theirs:.2f} | {theirs / ours:.1f} |", flush=True)


if __name__ == "__main__":
    main()
