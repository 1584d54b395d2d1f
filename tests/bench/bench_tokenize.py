#!/usr/bin/env python3
"""dsdata tokenize --threads 1 against the Python package `tokenizers` (encode_batch_fast, one thread), where it is
installed: MB/s of the same text by CPU time. The programs alternate; the shortest time of each counts.

    bench_tokenize.py [--vocab FILE] [--bytes 10000000] [--runs 3] [--bin build/release] [SOURCE ...]

A source is a dump, a .jsonl file (perhaps compressed) or sentences (.txt). Its first --bytes are taken; no text is
repeated, because what a program remembers of a text would make it look faster than it is. "cold": the first pass over
the text, without the start of the program (its time for no text at all). "warm": a later pass by the same process, from
the time for the text nine times less that for the text once. Of less than 1 MB of text the figures are rough.
Without sources: the books and dumps in ../shared/data, or else a synthetic dump. Without --vocab, one is learned from
each text."""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
try:
    import tokenizers
except ImportError:
    tokenizers = None

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DATA = ROOT.parent / "shared/data"
PASSES = (0, 1, 9)  # how often the files that ours reads hold the text
OUR_RUNS = 5  # for each of the peer's, because ours are short


def sentences(dsdata, source, size):
    """The first `size` bytes of the source's sentences, as whole lines."""
    if source.suffix == ".txt":
        text = source.read_bytes()
    else:
        kind = "--jsonl" if ".jsonl" in source.suffixes else "--wiki"
        text = subprocess.run([dsdata, "extract", "-q", kind, source, "--format", "sentences"], check=True,
                              stdout=subprocess.PIPE).stdout
    return text if len(text) <= size else text[:text.rindex(b"\n", 0, size) + 1]


def cpu_of(command, path):
    """CPU seconds (user and system) of a command that reads a file."""
    with open(path, "rb") as text, open(os.devnull, "wb") as nowhere:
        child = subprocess.Popen(command, stdin=text, stdout=nowhere)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{command[0]} failed")
    return used.ru_utime + used.ru_stime


def peer_of(vocab):
    model = tokenizers.models.WordPiece.from_file(str(vocab), unk_token="[UNK]", max_input_chars_per_word=100)
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    return tokenizer


def cpu_of_peer(vocab, lines):
    """CPU seconds of the first and of the second pass of a new tokenizer over the lines."""
    peer = peer_of(vocab)
    times = []
    for _ in range(2):
        start = time.process_time()
        peer.encode_batch_fast(lines, add_special_tokens=False)
        times.append(time.process_time() - start)
    return times


def learned(dsdata, path, folder):
    vocab = folder / "vocab.txt"
    subprocess.run([dsdata, "vocab", "-q", "--force", "--text", path, "--out", vocab], check=True)
    return vocab


def compare(dsdata, source, given, folder):
    text = sentences(dsdata, source, given.bytes)
    paths = [folder / f"passes-{passes}" for passes in PASSES]
    for passes, path in zip(PASSES, paths):
        path.write_bytes(text * passes)
    vocab = given.vocab or learned(dsdata, paths[1], folder)
    lines = text.decode(errors="ignore").split("\n")
    ours, theirs = [], []
    for _ in range(given.runs):
        ours += ([cpu_of([dsdata, "tokenize", "--threads", "1", "--vocab", vocab], path) for path in paths]
                 for _ in range(OUR_RUNS))
        if tokenizers:
            theirs.append(cpu_of_peer(vocab, lines))
    start, once, often = map(min, zip(*ours))
    theirs = [min(times) for times in zip(*theirs)]
    print(f"{source.name}: {len(text) / 1e6:.2f} MB of text")
    for i, (name, seconds) in enumerate((("cold", once - start), ("warm", (often - once) / (PASSES[2] - 1)))):
        line = f"  {name} {len(text) / max(seconds, 1e-9) / 1e6:8.1f} MB/s"
        if theirs:
            speed = len(text) / theirs[i] / 1e6
            ratio = theirs[i] / max(seconds, 1e-9)
            line += f"   tokenizers {tokenizers.__version__} {speed:6.2f} MB/s   {ratio:6.1f} x"
        print(line, flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--vocab", type=pathlib.Path)
    parser.add_argument("--bytes", type=int, default=10_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("sources", nargs="*", type=pathlib.Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        sources = given.sources or sorted(DATA.glob("books.jsonl.bz2")) + sorted(DATA.glob("*.xml.bz2"))
        if not sources:
            sources = [folder / "synthetic.xml"]
            with open(sources[0], "wb") as dump:
                subprocess.run([sys.executable, ROOT / "scripts/make_dump.py", "--bytes", "5000000", "--seed", "1"],
                               check=True, stdout=dump)
        for source in sources:
            compare(given.bin / "dsdata", source, given, folder)


main()
