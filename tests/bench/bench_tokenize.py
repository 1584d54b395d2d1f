#!/usr/bin/env python3
"""dsdata tokenize --threads 1 against the Python package `tokenizers` (encode_batch_fast, one thread), where it is
installed: MB/s of text by CPU time. The programs alternate; the shortest time of each counts.

    bench_tokenize.py [--vocab FILE] [--bytes 50000000] [--runs 5] [--bin build/release] [DUMP|SENTENCES.txt ...]

A dump's sentences are repeated up to --bytes; `tokenizers` gets 3 MB of them, which does not change its speed.
Without dumps: those in ../shared/data, or else a synthetic one. Without --vocab, one is learned from each text."""
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
PEER_BYTES = 3_000_000


def sentences(dsdata, source, size):
    if source.suffix == ".txt":
        text = source.read_bytes()
    else:
        text = subprocess.run([dsdata, "extract", "-q", "--wiki", source, "--format", "sentences"], check=True,
                              stdout=subprocess.PIPE).stdout
    return text * (size // len(text) + 1)


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


def cpu_of_peer(peer, lines):
    start = time.process_time()
    peer.encode_batch_fast(lines, add_special_tokens=False)
    return time.process_time() - start


def learned(dsdata, path, folder):
    vocab = folder / "vocab.txt"
    subprocess.run([dsdata, "vocab", "-q", "--force", "--text", path, "--out", vocab], check=True)
    return vocab


def compare(dsdata, source, given, folder):
    path = folder / "text"
    text = sentences(dsdata, source, given.bytes)
    path.write_bytes(text)
    vocab = given.vocab or learned(dsdata, path, folder)
    peer = peer_of(vocab) if tokenizers else None
    part = text[:PEER_BYTES].decode(errors="ignore")
    ours, theirs = [], []
    for _ in range(given.runs):
        ours.append(cpu_of([dsdata, "tokenize", "--threads", "1", "--vocab", vocab], path))
        if peer:
            theirs.append(cpu_of_peer(peer, part.split("\n")))
    speed = len(text) / min(ours) / 1e6
    line = f"{source.name:32} {speed:8.1f} MB/s"
    if peer:
        speed_of_peer = len(part.encode()) / min(theirs) / 1e6
        line += f"   tokenizers {tokenizers.__version__} {speed_of_peer:6.2f} MB/s   {speed / speed_of_peer:6.1f} x"
    print(line, flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--vocab", type=pathlib.Path)
    parser.add_argument("--bytes", type=int, default=50_000_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("sources", nargs="*", type=pathlib.Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        sources = given.sources or sorted(DATA.glob("*.xml.bz2"))
        if not sources:
            sources = [folder / "synthetic.xml"]
            with open(sources[0], "wb") as dump:
                subprocess.run([sys.executable, ROOT / "scripts/make_dump.py", "--bytes", "5000000", "--seed", "1"],
                               check=True, stdout=dump)
        for source in sources:
            compare(given.bin / "dsdata", source, given, folder)


main()
