#!/usr/bin/env python3
"""dsdata extract --near-duplicates: how good it is, and how fast.

    near_duplicates.py TEXTS.jsonl[.bz2] [--documents 20000] [--p 0.8,0.5,0.7,0.9] [--bin build/release] [--speed]

Documents of at least 60 words are cut from the texts; copies of 15 %% of them, of which up to 8 %% of the words are
changed, are put among them at random, and 150 chains of eight texts, each a copy of the one before with 1.2 %% of the
words changed. All pairs are then compared exactly by their sets of five words. Of a document, J is the greatest
similarity with an earlier one that dsdata kept. --speed: also the CPU time of other programs of PyPI on the same
documents, as far as they are installed: rensa, datasketch (128 values each, their default, half of ours), datatrove
(its default: 14 bands of 8 values)."""

import argparse
import bz2
import collections
import json
import os
import pathlib
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
import unicodedata

PROJECT = pathlib.Path(__file__).resolve().parents[2]
WORDS = 5

parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
parser.add_argument("texts", type=pathlib.Path)
parser.add_argument("--documents", type=int, default=20000)
parser.add_argument("--p", default="0.8,0.5,0.7,0.9")
parser.add_argument("--bin", type=pathlib.Path, default=PROJECT / "build" / "release")
parser.add_argument("--speed", action="store_true")
options = parser.parse_args()


def cut_documents():
    opened = bz2.open(options.texts, "rt") if options.texts.suffix == ".bz2" else open(options.texts, encoding="utf-8")
    with opened as file:
        for line in file:
            part, size = [], 0
            for paragraph in json.loads(line)["text"].split("\n"):
                part.append(paragraph)
                size += len(words_of(paragraph))
                if size >= 60:
                    yield " ".join(part)
                    part, size = [], 0


def edit(text, share):
    blank = " " if text.count(" ") > len(text) / 20 else ""  # Japanese, Chinese: a character is a word
    words = text.split() if blank else list(text)
    for _ in range(max(1, round(len(words) * share))):
        at = random.randrange(len(words))
        kind = random.choice("sdi")
        if kind == "s":
            words[at] = f"xq{random.randrange(10**6)}"
        elif kind == "d" and len(words) > 8:
            del words[at]
        else:
            words.insert(at, f"yq{random.randrange(10**6)}")
    return blank.join(words)


def make_corpus():
    random.seed(7)
    documents = list(cut_documents())
    random.shuffle(documents)
    documents = documents[:options.documents]
    corpus = list(documents)
    for _ in range(len(documents) * 15 // 100):
        copy = edit(random.choice(documents), random.choice([0.004, 0.01, 0.02, 0.03, 0.05, 0.08]))
        corpus.insert(random.randrange(len(corpus)), copy)
    for _ in range(150):
        text = random.choice(documents)
        for _ in range(8):
            text = edit(text, 0.012)
            corpus.append(text)
    return corpus


def words_of(text):
    text = unicodedata.normalize("NFKC", text).lower()
    return re.findall("[\u3040-\u30ff\u3400-\u9fff]|(?:(?![\u3040-\u30ff\u3400-\u9fff])[^\\W_])+", text)


def grams_of(text):
    words = words_of(text)
    return {tuple(words[i:i + WORDS]) for i in range(len(words) - WORDS + 1)}


def judge(grams, kept, p):
    index, sizes = collections.defaultdict(list), {}
    above = above_dropped = below = below_dropped = dropped = 0
    for number, own in enumerate(grams):
        common = collections.Counter(other for gram in own for other in index.get(gram, ()))
        nearest = max((n / (len(own) + sizes[other] - n) for other, n in common.items()), default=0)
        gone = number not in kept
        above += nearest >= p + 0.05
        above_dropped += nearest >= p + 0.05 and gone
        below += nearest < p - 0.1
        below_dropped += nearest < p - 0.1 and gone
        dropped += gone
        if not gone:
            sizes[number] = len(own)
            for gram in own:
                index[gram].append(number)
    print(f"P {p}: dropped {dropped:,}; of {above:,} with J of P + 0.05 or more"
          f" {100 * above_dropped / max(1, above):.2f} %;"
          f" of {below:,} below P - 0.1 {100 * below_dropped / max(1, below):.2f} %")


def cpu_seconds(command, output):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(output, "wb") as out:
        subprocess.run(command, stdout=out, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def shingles(text):
    words = words_of(text)
    return [" ".join(words[i:i + WORDS]) for i in range(len(words) - WORDS + 1)]


def by_rensa(corpus):
    from rensa import RMinHash, RMinHashLSH
    lsh = RMinHashLSH(threshold=0.8, num_perm=128, num_bands=16)
    hashes, kept = [], 0
    for number, text in enumerate(corpus):
        sketch = RMinHash(num_perm=128, seed=42)
        sketch.update(shingles(text))
        hashes.append(sketch)
        if any(sketch.jaccard(hashes[other]) >= 0.8 for other in lsh.query(sketch)):
            continue
        lsh.insert(number, sketch)
        kept += 1
    return kept


def by_datasketch(corpus):
    from datasketch import MinHash, MinHashLSH
    lsh = MinHashLSH(threshold=0.8, num_perm=128)
    sketches, kept = {}, 0
    for number, text in enumerate(corpus):
        sketch = MinHash(num_perm=128)
        sketch.update_batch([gram.encode() for gram in shingles(text)])
        if any(sketch.jaccard(sketches[other]) >= 0.8 for other in lsh.query(sketch)):
            continue
        lsh.insert(number, sketch)
        sketches[number] = sketch
        kept += 1
    return kept


def by_datatrove(corpus):
    from datatrove.data import Document
    from datatrove.pipeline.dedup import minhash
    config = minhash.MinhashConfig(n_grams=WORDS)
    minhash.split_into_words = lambda text, language: words_of(text)
    documents = [Document(text=text, id=str(number)) for number, text in enumerate(corpus)]
    with tempfile.TemporaryDirectory() as scratch:
        signatures, buckets, drop = (f"{scratch}/{name}" for name in ("signatures", "buckets", "drop"))
        list(minhash.MinhashDedupSignature(signatures, config).run(iter(documents)) or ())
        for band in range(config.num_buckets):
            step = minhash.MinhashDedupBuckets(signatures, buckets, config=config)
            list(step.run(None, band, config.num_buckets) or ())
        list(minhash.MinhashDedupCluster(buckets, drop, config=config).run() or ())
        return sum(1 for _ in minhash.MinhashDedupFilter(drop).run(iter(documents)))


PEERS = (("rensa", by_rensa), ("datasketch", by_datasketch), ("datatrove", by_datatrove))


def main():
    corpus = make_corpus()
    with tempfile.TemporaryDirectory() as scratch:
        texts, out = pathlib.Path(scratch) / "texts.jsonl", pathlib.Path(scratch) / "out.jsonl"
        with open(texts, "w", encoding="utf-8") as file:
            for number, text in enumerate(corpus):
                file.write(json.dumps({"id": number, "text": text}) + "\n")
        extract = [options.bin / "dsdata", "extract", texts, "-q", "-j", "1"]
        plain = cpu_seconds(extract, out)
        print(f"{len(corpus):,} documents, {os.path.getsize(texts) / 1e6:.1f} MB")
        grams = None if options.speed else [grams_of(text) for text in corpus]
        for p in options.p.split(","):
            seconds = cpu_seconds([*extract, "--near-duplicates", p], out)
            with open(out, encoding="utf-8") as file:
                kept = {json.loads(line)["id"] for line in file}
            if p == "0.8":
                print(f"dsdata: {seconds:.2f} s of CPU time, without it {plain:.2f} s; kept {len(kept):,}")
            if grams:
                judge(grams, kept, float(p))
    for name, run in PEERS if options.speed else ():
        try:
            begun = time.process_time()
            kept = run(corpus)
            print(f"{name}: {time.process_time() - begun:.2f} s of CPU time; kept {kept:,}")
        except ImportError:
            print(f"{name} is not installed", file=sys.stderr)


main()
