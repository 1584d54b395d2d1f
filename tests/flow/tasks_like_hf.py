#!/usr/bin/env python3
# labels: long
"""Features and answers of fine-tuning against transformers 4 (version 5 lacks the two functions): every id, segment,
label and window of GLUE's rows and of questions in SQuAD's form, answers chosen from the same logits, and scores
against a reimplementation of the official script.

tasks_like_hf.py BUILD: needs transformers 4 and the data that DS_DATA_DIR names (glue/, squad/, the two
vocabularies); exit 77 without. TUNE_PYTHON names another Python that has transformers."""
import collections
import json
import os
import pathlib
import random
import re
import string
import subprocess
import sys
import tempfile
import unicodedata

BUILD = pathlib.Path(sys.argv[1])
DATA = os.environ.get("DS_DATA_DIR")
if os.environ.get("TUNE_PYTHON") and not os.environ.get("TUNE_INSIDE"):
    os.environ["TUNE_INSIDE"] = "1"
    os.execv(os.environ["TUNE_PYTHON"], [os.environ["TUNE_PYTHON"], *sys.argv])
try:
    import transformers
    from transformers.models.bert import tokenization_bert
    from transformers import BertTokenizer
    from transformers.data.metrics.squad_metrics import compute_predictions_logits
    from transformers.data.processors.glue import glue_convert_examples_to_features, glue_output_modes, glue_processors
    from transformers.data.processors.squad import (SquadResult, SquadV1Processor, SquadV2Processor,
                                                    squad_convert_example_to_features,
                                                    squad_convert_example_to_features_init)
except ImportError as error:
    print(f"transformers 4 is not installed ({error}): skipped")
    sys.exit(77)


class WithoutNFC:
    """transformers' slow tokenizer composes characters first; its fast one does not, and neither does ours."""
    category, combining = staticmethod(unicodedata.category), staticmethod(unicodedata.combining)

    @staticmethod
    def normalize(form, text):
        return text if form == "NFC" else unicodedata.normalize(form, text)


tokenization_bert.unicodedata = WithoutNFC
if not DATA or not (BUILD / "tests/bench/tune_features").exists():
    print("DS_DATA_DIR names no data, or tests/bench/tune_features is not built: skipped")
    sys.exit(77)
DATA = pathlib.Path(DATA)
TOOL = str(BUILD / "tests/bench/tune_features")
SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="tune."))
WRONG = collections.Counter()
SEEN = collections.Counter()


def tool(*args, text=None):
    done = subprocess.run([TOOL, *map(str, args)], input=text, capture_output=True, check=True)
    return done.stdout.decode().split("\n")[:-1]


def complain(what, ours, theirs):
    WRONG[what] += 1
    if WRONG[what] <= 3:
        print(f"{what}:\n  ours   {ours[:300]}\n  theirs {theirs[:300]}")


def compare(what, ours, theirs):
    SEEN[what] += len(theirs)
    if len(ours) != len(theirs):
        complain(what, f"{len(ours)} lines", f"{len(theirs)} lines")
    for one, other in zip(ours, theirs):
        if one != other:
            complain(what, one, other)


def vocabularies():
    for name, cased in (("uncased", False), ("cased", True)):
        folder = SCRATCH / name
        folder.mkdir()
        text = (DATA / f"bert-base-{name}-vocab.txt").read_text()
        (folder / "vocab.txt").write_text(text)
        tokenizer = BertTokenizer(str(folder / "vocab.txt"), do_lower_case=not cased)
        fast = transformers.BertTokenizerFast(str(folder / "vocab.txt"), do_lower_case=not cased)
        fast.save_pretrained(folder)
        yield name, folder, tokenizer


def glue(name, folder, tokenizer):
    for task in ("cola", "mrpc", "rte", "sst-2", "sts-b"):
        for part in ("train", "dev"):
            directory = {"cola": "CoLA", "mrpc": "MRPC", "rte": "RTE", "sst-2": "SST-2", "sts-b": "STS-B"}[task]
            processor = glue_processors[task]()
            examples = getattr(processor, f"get_{part}_examples")(str(DATA / "glue" / directory))
            features = glue_convert_examples_to_features(examples, tokenizer, max_length=128, task=task)
            labels = processor.get_labels()
            theirs = []
            for feature in features:
                length = sum(feature.attention_mask)
                label = f"{feature.label:.6g}" if glue_output_modes[task] == "regression" else labels[feature.label]
                theirs.append(" ".join([label, str(length - sum(feature.token_type_ids)),
                                        *map(str, feature.input_ids[:length])]))
            compare(f"glue {task} {part} {name}",
                    tool("glue", task, DATA / f"glue/{directory}/{part}.tsv", folder, 128), theirs)


def convert(examples, tokenizer, length, stride, query, training):
    squad_convert_example_to_features_init(tokenizer)
    return [feature for example in examples
            for feature in squad_convert_example_to_features(example, length, stride, query, "max_length", training)]


def examples_of(path, training, version_2=False):
    processor = SquadV2Processor() if version_2 else SquadV1Processor()
    get = processor.get_train_examples if training else processor.get_dev_examples
    return get(str(path.parent), filename=path.name)


def squad(name, folder, tokenizer, path, length, stride, query):
    for part in ("train", "dev"):
        training = part == "train"
        examples = examples_of(path, training)
        theirs = []
        for example in examples:
            for feature in convert([example], tokenizer, length, stride, query, training):
                used = sum(feature.attention_mask)
                line = [example.qas_id, feature.start_position if training else 0,
                        feature.end_position if training else 0, used - sum(feature.token_type_ids),
                        *feature.input_ids[:used], "|"]
                if not training:
                    places = sorted(feature.token_to_orig_map)
                    line += [f"{feature.token_to_orig_map[i]}{'+' if feature.token_is_max_context[i] else '-'}"
                             for i in places]
                theirs.append(" ".join(map(str, line)))
        compare(f"squad {path.name} as {part} {name} {length} {stride}",
                tool("squad", part, path, folder, length, stride, query), theirs)


WHITE = [" ", "  ", "\n", "\t", "\u202f", " \u00a0", "\u3000"]
WORDS = ["the", "Café", "naïve", "中国", "東京都", "🙂", "ﬁne", "e\u0301t\u00e9", "İstanbul", "ΣΟΦΟΣ", "(see", "1,000)",
         "don't", "state-of-the-art", "straße", "x" * 30, "\u200bzero", "한국어", "ابجد", "a", "an", "U.S.", "50%", "−5"]


def made_questions(path, count, version_2, rng, words):
    """Contexts of one word to 5,000, answers at either end and across borders of windows."""
    paragraphs = []
    for i in range(count):
        size = rng.choice([1, 2, 5, 30, 120, 300, 700] + ([5000] if i % 100 == 0 else []))
        text = "".join(rng.choice(words) + rng.choice(WHITE)
                       for _ in range(size)).rstrip() + rng.choice(["", ".", "\n"])
        bounds = [m.span() for m in re.finditer(r"[^ \n\t\r\u202f]+", text)]
        first = rng.choice([0, len(bounds) - 1, rng.randrange(len(bounds))])
        last = min(len(bounds) - 1, first + rng.randrange(4))
        start, end = bounds[first][0], bounds[last][1]
        if rng.random() < 0.3 and end - start > 2:
            start += 1
        if rng.random() < 0.3 and end - start > 2:
            end -= 1
        qa = {"id": f"q{i}", "question": " ".join(rng.choice(words) for _ in range(rng.choice([1, 5, 12, 90]))) + "?",
              "answers": [{"text": text[start:end], "answer_start": start}]}
        if version_2:
            qa["is_impossible"] = rng.random() < 0.4
            if qa["is_impossible"]:
                qa["answers"] = []
        paragraphs.append({"context": text, "qas": [qa]})
    path.write_text(json.dumps({"data": [{"title": "t", "paragraphs": paragraphs}]}))


# ---- answers ----

def answers(name, folder, tokenizer, path, version_2, rng):
    import numpy as np
    from safetensors.numpy import save_file
    examples = examples_of(path, False, version_2)
    features = convert(examples, tokenizer, 384, 128, 64, False)
    results, begins, ends = [], [], []
    for i, feature in enumerate(features):
        feature.unique_id = 1000000000 + i
    index = {example.qas_id: n for n, example in enumerate(examples)}
    by_example = collections.defaultdict(list)
    for feature in features:
        by_example[feature.qas_id].append(feature)
        feature.example_index = index[feature.qas_id]
        used = 384
        begin = np.round(np.array([rng.gauss(0, 3) for _ in range(used)]), 2).astype(np.float32)
        end = np.round(np.array([rng.gauss(0, 3) for _ in range(used)]), 2).astype(np.float32)
        for _ in range(6):  # some valid spans
            at = rng.randrange(used)
            begin[at] += 9
            end[min(used - 1, at + rng.randrange(5))] += 9
        begins.append(begin)
        ends.append(end)
        results.append(SquadResult(feature.unique_id, begin.tolist(), end.tolist()))
    save_file({"start_logits": np.stack(begins), "end_logits": np.stack(ends)}, SCRATCH / "logits.safetensors")
    out = SCRATCH / f"{name}-{path.stem}"
    theirs = SCRATCH / "theirs"
    theirs.mkdir(exist_ok=True)
    files = [str(theirs / file) for file in ("predictions.json", "nbest.json", "odds.json")]
    compute_predictions_logits(examples, features, results, 20, 30, not name.startswith("cased"), *files, False,
                               version_2, 0.0, tokenizer)
    subprocess.run([str(BUILD / "dstrain"), "squad", "-q", "--init", str(model_of(folder, tokenizer)),
                    "--dev", str(path), "--out", str(out), "--logits", str(SCRATCH / "logits.safetensors")], check=True)
    ours, other = (json.loads(pathlib.Path(file).read_text()) for file in (out / "predictions.json", files[0]))
    compare(f"answers {path.name} {name}", [f"{k}: {ours.get(k)!r}" for k in other],
            [f"{k}: {v!r}" for k, v in other.items()])
    ours, other = (json.loads(pathlib.Path(file).read_text()) for file in (out / "nbest_predictions.json", files[1]))
    compare(f"n best {path.name} {name}", [f"{k}: {[a['text'] for a in ours.get(k, [])]}" for k in other],
            [f"{k}: {[a['text'] for a in v]}" for k, v in other.items()])
    far = max((abs(a["probability"] - b["probability"]) for k in other for a, b in zip(ours[k], other[k])), default=0)
    if far > 1e-6:
        complain(f"probabilities {path.name} {name}", str(far), "at most 1e-6")


def model_of(folder, tokenizer):
    from transformers import BertConfig, BertForQuestionAnswering
    if not (folder / "model.safetensors").exists():
        config = BertConfig(vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
                            intermediate_size=32)
        BertForQuestionAnswering(config).save_pretrained(folder)
    return folder


# ---- scores ----

def normalize(text):
    text = "".join(c for c in text.lower() if c not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def f1(found, truth, version_2):
    ours, theirs = normalize(found).split(), normalize(truth).split()
    if version_2 and (not ours or not theirs):
        return float(ours == theirs)
    common = sum((collections.Counter(ours) & collections.Counter(theirs)).values())
    if common == 0:
        return 0.0
    precision, recall = common / len(ours), common / len(theirs)
    return 2 * precision * recall / (precision + recall)


def scores(rng):
    pieces = WORDS + ["a", "an", "The", "A", "the,", "“the”", "a\u0301", "the€", "_the_", "ªa", "a²", "\u00a0",
                      "\u3000", "\x1c", "ΑΣ", "ΣΑ", "...", "-", "'s"]
    lines, theirs = [], []
    for _ in range(10000):
        truth = [rng.choice(pieces) for _ in range(rng.randrange(6))]
        found = [w if rng.random() < 0.7 else rng.choice(pieces) for w in truth][:rng.choice([1, 2, 9, 9])]
        found, truth = (" ".join(words).replace("\t", " ").replace("\n", " ") for words in (found, truth))
        lines.append(f"{found}\t{truth}")
        theirs.append(f"{int(normalize(found) == normalize(truth))} {f1(found, truth, False):.17g} "
                      f"{f1(found, truth, True):.17g}")
    compare("scores", tool("scores", text=("\n".join(lines) + "\n").encode()), theirs)


def main():
    rng = random.Random(20261122)
    made, made_2 = SCRATCH / "made.json", SCRATCH / "made2.json"
    made_questions(made, 300, False, rng, WORDS)
    # Pieces are lowered letter by letter, but get_final_text lowers words, so it misses a final capital sigma; ours
    # does not.
    made_questions(made_2, 100, True, rng, [word for word in WORDS if word != "ΣΟΦΟΣ"])
    scores(rng)
    for name, folder, tokenizer in vocabularies():
        for path in (DATA / "squad/train.json", DATA / "squad/dev.json", made):
            squad(name, folder, tokenizer, path, 384, 128, 64)
        squad(name, folder, tokenizer, made, 100, 30, 16)
        glue(name, folder, tokenizer)
        answers(name, folder, tokenizer, DATA / "squad/dev.json", False, rng)
        answers(name, folder, tokenizer, made_2, True, rng)
    print(f"transformers {transformers.__version__}")
    for what, count in SEEN.items():
        print(f"  {what}: {WRONG[what]} of {count} differ")
    sys.exit(1 if WRONG else 0)


if __name__ == "__main__":
    main()
