#!/usr/bin/env python3
"""Fine-tuning and related commands against transformers 4 and PyTorch on the CPU, one thread each.

    bench_tune.py DATA [--bin build/release] [--model base|mini] [--precision fp32|bf16] [--rounds 2]
                  [--rows features,train,...]

Prints the table of docs/BENCHMARKS.md. DATA has squad/train.json and dev.json, glue/SST-2, blimp.jsonl.bz2 and
bert-base-uncased-vocab.txt. Times are CPU seconds, because other programs may run; the least of several rounds counts,
for every command and every loop. From the time of our commands that of a smaller one is subtracted (fewer steps, one
question, one pair), so that loading and saving do not count; of PyTorch, only the loop is timed. Only fill-mask is
timed from command to answer, on both sides, including loading. In bf16 PyTorch has autocast, but fill-mask's pipeline
always computes in fp32. Needs torch and transformers 4."""
import argparse
import bz2
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["OMP_NUM_THREADS"] = "1"
import torch  # noqa: E402
import transformers  # noqa: E402
from transformers import (BertConfig, BertForMaskedLM, BertForPreTraining, BertForQuestionAnswering,  # noqa: E402
                          BertForSequenceClassification, BertTokenizer, BertTokenizerFast)

torch.set_num_threads(1)
transformers.logging.set_verbosity_error()
SHAPES = {"base": (12, 768, 12), "mini": (4, 256, 4)}
TEXT = "Paris is the [MASK] of France."


def cpu_of(command):
    """CPU seconds of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def cpu_here(work):
    begun = time.process_time()
    work()
    return time.process_time() - begun


class Bench:
    def __init__(self, asked, scratch):
        self.asked, self.scratch, self.data = asked, scratch, asked.data
        self.dstrain, self.tool = asked.bin / "dstrain", asked.bin / "tests/bench/tune_features"
        self.init = scratch / "init"
        layers, hidden, heads = SHAPES[asked.model]
        self.init.mkdir()
        vocab = self.init / "vocab.txt"
        vocab.write_text((self.data / "bert-base-uncased-vocab.txt").read_text())
        self.fast, self.slow = BertTokenizerFast(str(vocab)), BertTokenizer(str(vocab))
        self.fast.save_pretrained(self.init)
        config = BertConfig(vocab_size=len(self.fast), hidden_size=hidden, num_hidden_layers=layers,
                            num_attention_heads=heads, intermediate_size=4 * hidden)
        BertForPreTraining(config).save_pretrained(self.init)

    def questions(self, part, count):
        """`count` questions, spread evenly over a part (or over three copies of it), and their file."""
        articles, read, taken = [], 0, 0
        data = json.loads((self.data / f"squad/{part}.json").read_text())["data"]
        all_of = sum(len(paragraph["qas"]) for article in data for paragraph in article["paragraphs"])
        copies = -(-count // all_of)
        for number, article in enumerate(copies * data):
            paragraphs = []
            for paragraph in article["paragraphs"]:
                qas = []
                for qa in paragraph["qas"]:
                    read += 1
                    if read * count // (copies * all_of) > taken:
                        taken += 1
                        qas.append({**qa, "id": f"{qa['id']}-{number}"})
                if qas:
                    paragraphs.append({"context": paragraph["context"], "qas": qas})
            if paragraphs:
                articles.append({"title": "t", "paragraphs": paragraphs})
        path = self.scratch / f"{part}-{count}.json"
        path.write_text(json.dumps({"version": "1.1", "data": articles}))
        return path, [(qa, paragraph["context"]) for article in articles for paragraph in article["paragraphs"]
                      for qa in paragraph["qas"]]

    def cast(self):
        return torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.asked.precision == "bf16")

    def least(self, measure, *given):
        return min(measure(*given) for _ in range(self.asked.rounds))

    def ours(self, verb, *options):
        """Least CPU seconds of a run into a new folder, which is removed."""
        out = self.scratch / "run"

        def once():
            seconds = cpu_of([self.dstrain, *verb, "--init", self.init, "--out", out, "--threads", 1, "--precision",
                              self.asked.precision, "-q", *options])
            subprocess.run(["rm", "-rf", out], check=True)
            return seconds
        return self.least(once)

    def windows(self, pairs, training):
        """Windows as in Hugging Face's example of question answering, made with the fast tokenizer."""
        made = []
        encoded = self.fast([qa["question"].lstrip() for qa, _ in pairs], [context for _, context in pairs],
                            truncation="only_second", max_length=384, stride=128, return_overflowing_tokens=True,
                            return_offsets_mapping=True, padding="max_length")
        for i, offsets in enumerate(encoded["offset_mapping"]):
            at, sequence = encoded["overflow_to_sample_mapping"][i], encoded.sequence_ids(i)
            first = last = 0
            if training:
                answer = pairs[at][0]["answers"][0]
                begin, end = answer["answer_start"], answer["answer_start"] + len(answer["text"])
                low = sequence.index(1)
                high = len(sequence) - 1 - sequence[::-1].index(1)
                if offsets[low][0] <= begin and offsets[high][1] >= end:
                    while low < len(offsets) and offsets[low][0] <= begin:
                        low += 1
                    while offsets[high][1] >= end:
                        high -= 1
                    first, last = low - 1, high + 1
            made.append((encoded["input_ids"][i], encoded["attention_mask"][i], encoded["token_type_ids"][i], first,
                         last))
        return made

    def steps(self, model, batch, labels):
        """Seconds of a step, after one that is not timed because it allocates the moments."""
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-5, fused=True)

        def step():
            optimizer.zero_grad(set_to_none=True)
            with self.cast():
                loss = model(**batch, **labels).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        step()
        return self.least(cpu_here, step)

    # ---- rows: each returns (ours, theirs) in CPU seconds ----

    def features(self):
        path, pairs = self.questions("train", 960)
        tool = [self.tool, "time", "train", path, self.init, "384", "128", "64"]
        ours = self.least(lambda: float(subprocess.run(tool, check=True, capture_output=True,
                                                       text=True).stdout.split()[0]))
        return ours, self.least(cpu_here, lambda: (json.loads(path.read_text()), self.windows(pairs, True)))

    def train(self):
        """A batch with windows spread over the part, one per question."""
        path, pairs = self.questions("train", 24)
        verb = ("squad", "--train", path, "--batch", 24, "--no-shuffle", "--lr", 3e-5)
        ours = (self.ours(verb, "--steps", 4) - self.ours(verb, "--steps", 1)) / 3
        model = BertForQuestionAnswering.from_pretrained(self.init).train()
        rows = self.windows(pairs, True)[:24]
        batch = self.tensors(rows)
        labels = {"start_positions": torch.tensor([row[3] for row in rows]),
                  "end_positions": torch.tensor([row[4] for row in rows])}
        return ours, self.steps(model, batch, labels)

    @staticmethod
    def tensors(rows):
        return {name: torch.tensor([row[i] for row in rows])
                for i, name in enumerate(("input_ids", "attention_mask", "token_type_ids"))}

    def sentences(self):
        lines = (self.data / "glue/SST-2/train.tsv").read_text().split("\n")[1:]
        lines = lines[:len(lines) // 24 * 24:len(lines) // 24]
        small = self.scratch / "glue/SST-2"
        small.mkdir(parents=True, exist_ok=True)
        for part in ("train", "dev"):
            (small / f"{part}.tsv").write_text("sentence\tlabel\n" + "\n".join(lines[:24 if part == "train" else 1])
                                               + "\n")
        verb = ("glue", "sst-2", "--data", self.scratch / "glue", "--seq", 128, "--batch", 24, "--no-shuffle")
        ours = (self.ours(verb, "--steps", 9) - self.ours(verb, "--steps", 1)) / 8
        model = BertForSequenceClassification.from_pretrained(self.init).train()
        batch = dict(self.fast([line.split("\t")[0] for line in lines], max_length=128, padding="max_length",
                               truncation=True, return_tensors="pt"))
        labels = {"labels": torch.tensor([int(line.split("\t")[1]) for line in lines])}
        return ours, self.steps(model, batch, labels)

    def predict(self):
        one, _ = self.questions("dev", 1)
        path, pairs = self.questions("dev", 47)
        ours = self.ours(("squad", "--dev", path)) - self.ours(("squad", "--dev", one))
        model = BertForQuestionAnswering.from_pretrained(self.init).eval()
        rows = self.windows(pairs[:-1], False)

        def work():
            with torch.no_grad(), self.cast():
                for first in range(0, len(rows), 8):
                    model(**self.tensors(rows[first:first + 8]))
        return ours, self.least(cpu_here, work)

    def answers(self):
        """Ours includes features and scores of the questions; theirs does not."""
        from safetensors.torch import save_file
        from transformers.data.metrics.squad_metrics import compute_predictions_logits
        from transformers.data.processors.squad import (SquadResult, SquadV1Processor,
                                                        squad_convert_example_to_features,
                                                        squad_convert_example_to_features_init)
        path, _ = self.questions("train", 1921)
        one, _ = self.questions("train", 1)
        squad_convert_example_to_features_init(self.slow)
        examples = SquadV1Processor().get_dev_examples(str(path.parent), filename=path.name)
        features, of_last = [], 0
        for i, example in enumerate(examples):
            before = len(features)
            for feature in squad_convert_example_to_features(example, 384, 128, 64, "max_length", False):
                feature.unique_id, feature.example_index = 1000000000 + len(features), i
                features.append(feature)
            of_last = len(features) - before
        begin, end = torch.randn(len(features), 384), torch.randn(len(features), 384)
        save_file({"start_logits": begin, "end_logits": end}, self.scratch / "all.safetensors")
        save_file({"start_logits": begin[-of_last:].clone(), "end_logits": end[-of_last:].clone()},
                  self.scratch / "one.safetensors")
        ours = (self.ours(("squad", "--dev", path, "--logits", self.scratch / "all.safetensors")) -
                self.ours(("squad", "--dev", one, "--logits", self.scratch / "one.safetensors")))
        results = [SquadResult(feature.unique_id, begin[i].tolist(), end[i].tolist())
                   for i, feature in enumerate(features)]
        files = [str(self.scratch / f"theirs-{i}.json") for i in range(3)]
        theirs = self.least(cpu_here, lambda: compute_predictions_logits(examples, features, results, 20, 30, True,
                                                                         *files, False,
                                                             False, 0.0, self.slow))
        return ours, theirs

    def fill_mask(self):
        program = "import sys, torch; torch.set_num_threads(1); from transformers import pipeline; " \
                  f"print(pipeline('fill-mask', sys.argv[1])({TEXT!r}))"
        return (self.least(cpu_of, [self.dstrain, "fill-mask", self.init, TEXT, "--threads", 1]),
                self.least(cpu_of, [sys.executable, "-c", program, self.init]))

    def score(self):
        """Theirs masks each piece in turn, with one forward pass per sentence."""
        lines = bz2.open(self.data / "blimp.jsonl.bz2", "rt", encoding="utf-8").read().split("\n")[:67000:6700]
        seconds = []
        for count in (1, len(lines)):
            path = self.scratch / f"pairs-{count}.jsonl"
            path.write_text("\n".join(lines[:count]) + "\n")
            seconds.append(self.least(cpu_of, [self.dstrain, "score", self.init, path, "--threads", 1,
                                                "--precision", self.asked.precision]))
        model = BertForMaskedLM.from_pretrained(self.init).eval()

        def work():
            for line in lines[1:]:
                for key in ("good", "bad"):
                    ids = self.fast(json.loads(line)[key], return_tensors="pt").input_ids[0]
                    at = torch.arange(len(ids) - 2)
                    rows = ids.repeat(len(at), 1)
                    rows[at, at + 1] = self.fast.mask_token_id
                    with torch.no_grad(), self.cast():
                        model(input_ids=rows).logits[at, at + 1].log_softmax(-1)[at, ids[1:-1]].sum().item()
        return seconds[1] - seconds[0], self.least(cpu_here, work)


ROWS = {"features": "features, 960 questions", "train": "training step, S = 384, batch 24",
        "sentences": "training step, SST-2's sentences, batch 24", "predict": "prediction, 46 questions, S = 384",
        "answers": "logits to answers, 1,920 questions", "fill_mask": "fill-mask, from command to answer",
        "score": "score, 9 pairs of BLiMP"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--model", choices=SHAPES, default="base")
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--rows", default=",".join(ROWS))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench.") as folder:
        bench = Bench(asked, pathlib.Path(folder))
        print(f"{asked.model}, {asked.precision}, one thread, seconds of CPU, least of {asked.rounds}; "
              f"torch {torch.__version__}, transformers {transformers.__version__}")
        print("| what | ours | theirs | times |\n|---|---|---|---|")
        for row in asked.rows.split(","):
            ours, theirs = getattr(bench, row)()
            print(f"| {ROWS[row]} | {ours:.3f} | {theirs:.3f} | {theirs / ours:.1f} |", flush=True)


if __name__ == "__main__":
    main()
