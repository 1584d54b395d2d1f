#!/usr/bin/env python3
"""dsdata tokenize --threads 1 against the Python packages tokenizers (encode_batch_fast), gigatoken, tokie, tiktoken
(of pieces in the order of their merges, without NFC), bpe-openai (of cl100k) and nanotoken (WordPiece), those that are
installed, one thread each: MB/s of the same text by CPU time, and the lines whose ids differ from those of tokenizers.
They alternate; the shortest time of each counts.

    bench_tokenize.py [--vocab FILE] [--bytes 10000000] [--runs 3] [--bin build/release] [SOURCE ...]

A source is a dump, a .jsonl file (perhaps compressed) or sentences (.txt). Its first --bytes are taken; no text is
repeated, because what a program remembers of a text would make it look faster than it is. "cold": the first pass over
the text, without the start of the program (its time for no text at all). "warm": a later pass by the same process, from
the time for the text nine times less that for the text once. Of less than 1 MB of text the figures are rough.
Without sources: the books and dumps in ../shared/data, or else a synthetic dump. --vocab is a vocab.txt or the
tokenizer.json of a byte-level BPE; without it, a WordPiece vocabulary is learned from each text."""
import argparse
import itertools
import json
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


def hugging_face(vocab):
    if vocab.suffix == ".json":
        tokenizer = tokenizers.Tokenizer.from_file(str(vocab))
    else:
        model = tokenizers.models.WordPiece.from_file(str(vocab), unk_token="[UNK]", max_input_chars_per_word=100)
        tokenizer = tokenizers.Tokenizer(model)
        tokenizer.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
        tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    return (lambda lines: tokenizer.encode_batch_fast(lines, add_special_tokens=False),
            lambda out: [one.ids for one in out])


def gigatoken(vocab):
    import gigatoken
    tokenizer = gigatoken.Tokenizer.from_json(vocab.read_bytes())
    return lambda lines: tokenizer.encode_batch(lines, parallel=False), lambda out: [one.tolist() for one in out]


def split(flat):
    """ids of all lines, and how many each line has"""
    ids, ends = flat[0].tolist(), itertools.accumulate(flat[1].tolist(), initial=0)
    return [ids[start:end] for start, end in itertools.pairwise(ends)]


def tokie(vocab):
    import tokie
    tokenizer = tokie.Tokenizer.from_json(str(vocab))
    return lambda lines: tokenizer.encode_batch_flat(lines, add_special_tokens=False), split


def tiktoken(vocab):
    import tiktoken
    file = json.loads(vocab.read_bytes())
    letters = [letter for letter in range(0x100) if 0x21 <= letter < 0x7F or letter > 0xA0 and letter != 0xAD]
    bytes_of = {chr(letter): letter for letter in letters}
    others = (letter for letter in range(0x100) if letter not in letters)
    bytes_of.update({chr(0x100 + i): letter for i, letter in enumerate(others)})
    added = {token["content"] for token in file["added_tokens"]}
    ranks = {bytes(bytes_of[letter] for letter in piece): i for piece, i in file["model"]["vocab"].items()
             if piece not in added}
    steps = file["pre_tokenizer"].get("pretokenizers")
    pattern = steps[0]["pattern"]["Regex"] if steps else \
        r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
    if file["normalizer"] or len(ranks) < max(ranks.values()):
        raise ImportError("tiktoken has no NFC")
    encoding = tiktoken.Encoding("bench", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    return lambda lines: encoding.encode_ordinary_batch(lines, num_threads=1), list


def bpe_openai(vocab):
    import bpe_openai
    if len(json.loads(vocab.read_bytes())["model"]["merges"]) != 100000:
        raise ImportError("bpe-openai has OpenAI's pieces only")
    encoding = bpe_openai.get_encoding("cl100k_base")
    return lambda lines: [encoding.encode_ordinary(line) for line in lines], list


def nanotoken(vocab):
    import nanotoken
    tokenizer = nanotoken.Tokenizer.from_vocab(vocab)
    return lambda lines: tokenizer.encode_batch(lines, add_special_tokens=False), lambda out: out.to_list()


def peers_of(vocab):
    """name -> (a function from lines to a result, one from that to the ids of each line), afresh"""
    opened = {}
    bpe = vocab.suffix == ".json"
    for opener in (hugging_face, gigatoken, tokie, tiktoken, bpe_openai) if bpe else (hugging_face, nanotoken):
        try:
            opened["tokenizers" if opener is hugging_face else opener.__name__] = opener(vocab)
        except Exception as why:  # not installed, or not able to read these pieces
            print(f"  without {opener.__name__}: {why}", file=sys.stderr)
    return opened


def cpu_of_peer(encode, lines):
    """CPU seconds of the first and of the second pass of a new tokenizer over the lines, and what it gives."""
    times = []
    for _ in range(2):
        start = time.process_time()
        out = encode(lines)
        times.append(time.process_time() - start)
    return times, out


def learned(dsdata, path, folder):
    vocab = folder / "vocab.txt"
    subprocess.run([dsdata, "vocab", "-q", "--force", "--text", path, "--out", vocab], check=True)
    return vocab


def count_different(one, other):
    return sum(a != b for a, b in zip(one, other)) + abs(len(one) - len(other))


def compare(dsdata, source, given, folder):
    text = sentences(dsdata, source, given.bytes)
    paths = [folder / f"passes-{passes}" for passes in PASSES]
    for passes, path in zip(PASSES, paths):
        path.write_bytes(text * passes)
    vocab = given.vocab or learned(dsdata, paths[1], folder)
    lines = text.decode(errors="ignore").split("\n")[:-1]
    command = [dsdata, "tokenize", "--threads", "1", "--vocab", vocab]
    ours, theirs, wrong, expected = [], {}, {}, None
    for run in range(given.runs):
        ours += ([cpu_of(command, path) for path in paths] for _ in range(OUR_RUNS))
        for name, (encode, lists) in peers_of(vocab).items():
            times, out = cpu_of_peer(encode, lines)
            theirs.setdefault(name, []).append(times)
            if run == 0 and name == "tokenizers":
                expected = lists(out)
            elif run == 0 and expected:
                wrong[name] = count_different(expected, lists(out))
    if expected:
        printed = subprocess.run(command + [paths[1]], stdout=subprocess.PIPE, check=True).stdout.decode()
        got = [[int(number) for number in line.split()] for line in printed.split("\n")[:-1]]
        wrong["dsdata"] = count_different(expected, got)
    start, once, often = map(min, zip(*ours))
    times = {"dsdata": (once - start, (often - once) / (PASSES[2] - 1))}
    times.update((name, tuple(map(min, zip(*each)))) for name, each in theirs.items())
    print(f"{source.name}: {len(text) / 1e6:.2f} MB of text; the program starts in {start * 1000:.0f} ms")
    for name, each in times.items():
        speeds = [len(text) / max(seconds, 1e-9) / 1e6 for seconds in each]
        ratios = [peer / max(own, 1e-9) for peer, own in zip(each, times["dsdata"])]
        print(f"  {name:12} cold {speeds[0]:8.2f} MB/s (time {ratios[0]:.2f} x ours)   warm {speeds[1]:8.2f} MB/s "
              f"({ratios[1]:.2f} x)   {wrong.get(name, 0)} of {len(lines)} lines differ", flush=True)


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
