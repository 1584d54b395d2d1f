#!/usr/bin/env python3
"""dsdata vocab against BertWordPieceTokenizer.train of the Python package `tokenizers`, or with --kind bpe-bytes
against its BpeTrainer after NFC and ByteLevel: the same text, the same size of vocabulary, two threads each,
alternating.

    bench_vocab.py BUILD [--kind KIND] [--data DIR] [--sizes N,N] [--rounds N] [--keep DIR] [--texts en,de,ar,ja,books]

BUILD is a folder with dsdata in it; DIR has the sample dumps (../shared/data). Sentences come from `dsdata extract`;
a tenth of the documents (of a text of few documents: of its blocks of 20 sentences) is held out, and cut there by
`tokenizers` with each vocabulary; words of a byte-level BPE are what ByteLevel cuts. Times are the best of the
rounds: of dsdata the whole process, of `tokenizers` train() alone, without the start of Python. Without the package,
or the dumps, it says so and exits with 77."""
import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
THREADS = 2
TEXTS = {"en": ("enwiki-2016-sample.xml.bz2", "strip"), "de": ("dewiki-mini.xml.bz2", "keep"),  # accents
         "ar": ("arwiki-mini.xml.bz2", "keep"), "ja": ("jawiki-mini.xml.bz2", "keep"),
         "books": ("books.jsonl.bz2", "strip")}
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]

try:
    from tokenizers import BertWordPieceTokenizer, Tokenizer, models, normalizers, pre_tokenizers, trainers
except ImportError:
    print("the Python package tokenizers is not installed: skipped")
    sys.exit(77)


def train(text, size, accents, out):
    """Trains in a separate process, so that RAYON_NUM_THREADS takes effect, and prints the times."""
    if accents == "bytes":
        return train_bytes(text, size, out)
    tokenizer = BertWordPieceTokenizer(lowercase=True, strip_accents=accents == "strip")
    before, wall = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
    tokenizer.train([text], vocab_size=int(size), min_frequency=2, show_progress=False)
    wall, after = time.monotonic() - wall, resource.getrusage(resource.RUSAGE_SELF)
    pieces = tokenizer.get_vocab()
    pathlib.Path(out).write_text("".join(p + "\n" for p in sorted(pieces, key=pieces.get)), encoding="utf-8")
    print(json.dumps([after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, wall]))


def train_bytes(text, size, out):
    lines = pathlib.Path(text).read_text(encoding="utf-8").split("\n")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(vocab_size=int(size), min_frequency=2, show_progress=False,
                                  special_tokens=SPECIALS, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    before, wall = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
    tokenizer.train_from_iterator(lines, trainer)
    wall, after = time.monotonic() - wall, resource.getrusage(resource.RUSAGE_SELF)
    pathlib.Path(out).mkdir(exist_ok=True)
    tokenizer.save(f"{out}/tokenizer.json")
    print(json.dumps([after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, wall]))


def run_theirs(text, size, accents, out):
    environment = dict(os.environ, RAYON_NUM_THREADS=str(THREADS), TOKENIZERS_PARALLELISM="true")
    command = [sys.executable, __file__, "--train", text, str(size), accents, out]
    return json.loads(subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout)


def run_ours(dsdata, text, size, accents, out, algo, threads=THREADS):
    how = ["--kind", "bpe-bytes"] if algo == "bpe-bytes" else ["--accents", accents, "--algo", algo]
    command = [dsdata, "vocab", "--text", text, "--vocab-size", str(size), *how, "--threads", str(threads), "--out",
               out, "--force", "--quiet"]
    before, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    wall, after = time.monotonic() - wall, resource.getrusage(resource.RUSAGE_CHILDREN)
    return [after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, wall]


def split(dsdata, dump, folder, name):
    """Writes NAME.train and returns its path and the held-out text."""
    out = subprocess.run([dsdata, "extract", dump, "--format", "sentences"], stdout=subprocess.PIPE, check=True,
                         stderr=subprocess.DEVNULL).stdout.decode()
    units = [document.strip("\n") for document in out.split("\n\n")]
    if len(units) < 20:
        lines = out.split("\n")
        units = ["\n".join(lines[i:i + 20]) for i in range(0, len(lines), 20)]
    path = folder / f"{name}.train"
    path.write_text("\n\n".join(u for i, u in enumerate(units) if i % 10 != 9) + "\n", encoding="utf-8")
    return str(path), "\n".join(u for i, u in enumerate(units) if i % 10 == 9)


def judge(vocab, accents, text):
    """Counts of pieces, words and [UNK]s of the held-out text, and the size of the vocabulary."""
    if accents == "bytes":
        tokenizer = Tokenizer.from_file(f"{vocab}/tokenizer.json")
        lines = [line for line in text.split("\n") if line]
        words = sum(len(tokenizer.pre_tokenizer.pre_tokenize_str(line)) for line in lines)
        pieces = sum(len(cut.ids) for cut in tokenizer.encode_batch_fast(lines, add_special_tokens=False))
        return pieces / words, 0.0, words, tokenizer.get_vocab_size()
    tokenizer = BertWordPieceTokenizer(vocab, lowercase=True, strip_accents=accents == "strip")
    tokens = tokenizer.encode(text, add_special_tokens=False).tokens
    words = sum(not token.startswith("##") for token in tokens)
    return len(tokens) / words, tokens.count("[UNK]") / words, words, sum(1 for _ in open(vocab, encoding="utf-8"))


def equal_bytes(dsdata, text, size, accents, folder, algo):
    """Compares two runs and two numbers of threads."""
    files = set()
    for threads in (1, THREADS, THREADS):
        out = str(folder / f"again-{algo}")
        run_ours(dsdata, text, size, accents, out, algo, threads)
        files.add(pathlib.Path(out + "/tokenizer.json" if algo == "bpe-bytes" else out).read_bytes())
    return len(files) == 1


def compare(dsdata, folder, text, held_out, accents, size, rounds):
    kinds = {"tokenizers": lambda out: run_theirs(text, size, accents, out),
             "greedy": lambda out: run_ours(dsdata, text, size, accents, out, "greedy"),
             "bpe": lambda out: run_ours(dsdata, text, size, accents, out, "bpe")}
    if accents == "bytes":
        kinds = {"tokenizers": kinds["tokenizers"],
                 "bpe-bytes": lambda out: run_ours(dsdata, text, size, accents, out, "bpe-bytes")}
    best = {kind: [1e9, 1e9] for kind in kinds}
    for _ in range(rounds):
        for kind, run in kinds.items():
            best[kind] = [min(old, new) for old, new in zip(best[kind], run(str(folder / kind)))]
    for kind in kinds:
        rate, unknown, words, pieces = judge(str(folder / kind), accents, held_out)
        cpu, wall = best[kind]
        same = "" if kind == "tokenizers" else \
            "equal bytes" if equal_bytes(dsdata, text, size, accents, folder, kind) else "BYTES DIFFER"
        print(f"  {size:6} {kind:10} {pieces:6} pieces  {rate:.4f} pieces per word of {words}  {100 * unknown:.3f} % "
              f"[UNK]  "
              f"{cpu:.3f} s CPU ({best['tokenizers'][0] / cpu:4.1f} x)  {wall:.3f} s "
              f"({best['tokenizers'][1] / wall:4.1f} x)  "
              f"{same}", flush=True)


def main():
    if sys.argv[1:2] == ["--train"]:
        train(*sys.argv[2:])
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared/data")
    parser.add_argument("--kind", choices=["wordpiece", "bpe-bytes"], default="wordpiece")
    parser.add_argument("--texts", default="en,de")
    parser.add_argument("--sizes", default="8000,16000,30522")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the texts and vocabularies")
    options = parser.parse_args()
    dsdata = str(options.build.resolve() / "dsdata")
    texts = [(name, options.data / TEXTS[name][0], "bytes" if options.kind == "bpe-bytes" else TEXTS[name][1])
             for name in options.texts.split(",") if (options.data / TEXTS[name][0]).exists()]
    if not texts:
        print(f"{options.data} has no sample dumps: skipped")
        return 77
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for name, dump, accents in texts:
            text, held_out = split(dsdata, dump, folder, name)
            print(f"{name}: {os.path.getsize(text) / 1e6:.2f} MB of text to learn from, "
                  f"{len(held_out.encode()) / 1e6:.2f} MB held out, {THREADS} threads, best of {options.rounds}")
            for size in map(int, options.sizes.split(",")):
                compare(dsdata, folder, text, held_out, accents, size, options.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
