#!/usr/bin/env python3
"""dsdata vocab --kind bpe-bytes: against a naive implementation that recounts everything for each merge, on random
texts with many ties; threads, memory, wrong use, round trips. Where the packages are installed: `tokenizers`' own
trainer gives the same merges, and AutoTokenizer loads the directory."""
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import unicodedata

try:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
    from transformers import AutoTokenizer
except ImportError:
    AutoTokenizer = None

DSDATA = str(pathlib.Path(sys.argv[1]) / "dsdata")
SPECIALS = {"bert": ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"],
            "roberta": ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]}
SHOWN = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
LETTERS = {byte: chr(byte) for byte in SHOWN}
LETTERS.update((byte, chr(0x100 + i)) for i, byte in enumerate(b for b in range(256) if b not in LETTERS))
ODD = ["a<s> [MASK] b", "e\u0301 \ufb01 \u00e9", "\u4e2d\u56fd \U0001f600!  x", "\"quoted\" back\\slash 1998"]
wrong = 0


def complain(text):
    global wrong
    wrong += 1
    print(text)


def learn(lines, size, least):
    counts = {}
    for line in lines:
        for i, word in enumerate(unicodedata.normalize("NFC", line).split(" ")):
            word = ("" if i == 0 else " ") + word
            counts[word] = counts.get(word, 0) + 1
    alphabet = sorted(LETTERS.values())
    ages = {letter: age for age, letter in enumerate(alphabet)}
    words = [([LETTERS[byte] for byte in word.encode()], n) for word, n in counts.items()]
    merges = []
    while len(ages) + 5 < size:
        pairs = {}
        for pieces, n in words:
            for pair in zip(pieces, pieces[1:]):
                pairs[pair] = pairs.get(pair, 0) + n
        best = min(pairs, key=lambda pair: (-pairs[pair], ages[pair[0]], ages[pair[1]]), default=None)
        if best is None or pairs[best] < least:
            break
        ages.setdefault(best[0] + best[1], len(ages))
        merges.append(list(best))
        for pieces, _ in words:
            i = 0
            while i + 1 < len(pieces):
                if (pieces[i], pieces[i + 1]) == best:
                    pieces[i:i + 2] = [best[0] + best[1]]
                i += 1
    return list(ages), merges


def made_up(seed):
    draw = random.Random(seed)
    syllables = ["ka", "no", "ri", "sto", "en", "a", "ing", "s", "t", "aa", "\u00f6", "\u0436\u0430", "\u4e2d",
                 "o\u0308"]
    words = ["a" * n for n in range(1, 12)]
    words += ["".join(draw.choices(syllables, k=draw.randint(1, 6))) for _ in range(150)]
    return [" ".join(draw.choices(words, k=draw.randint(1, 9))) for _ in range(300)]


def vocab(*arguments):
    return subprocess.run([DSDATA, "vocab", *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def ours(text, out, size, least, *more):
    done = vocab("--text", text, "--text-form", "sentences", "--kind", "bpe-bytes", "--vocab-size", size,
                 "--min-frequency", least, "--out", out, *more)
    if done.returncode:
        complain(f"{more}: exit code {done.returncode}: {done.stderr.decode()}")
        return None
    return (out / "tokenizer.json").read_bytes()


def theirs(lines, size, least, specials):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.train_from_iterator(lines, trainers.BpeTrainer(
        vocab_size=size, min_frequency=least, show_progress=False, special_tokens=specials,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return json.loads(tokenizer.to_str())["model"]


def judge(lines, directory, size, least, names):
    model = json.loads((directory / "tokenizer.json").read_text())["model"]
    expected = theirs(lines, size, least, SPECIALS[names])
    if model["merges"] != expected["merges"] or model["vocab"] != expected["vocab"]:
        complain(f"size {size}, least {least}: not what tokenizers learns")
    tokenizer = AutoTokenizer.from_pretrained(directory)
    roles = [tokenizer.pad_token, tokenizer.unk_token, tokenizer.cls_token, tokenizer.sep_token, tokenizer.mask_token]
    if sorted(roles) != sorted(SPECIALS[names]) or roles[2] != SPECIALS[names][2 if names == "bert" else 0]:
        complain(f"{names}: the roles are {roles}")
    for line in lines[:50] + ODD[1:]:
        ids = tokenizer(line)["input_ids"]
        if ids[0] != tokenizer.cls_token_id or ids[-1] != tokenizer.sep_token_id:
            complain(f"{line!r} is not framed")
        if tokenizer.decode(ids, skip_special_tokens=True) != unicodedata.normalize("NFC", line):
            complain(f"{line!r} does not come back")
    done = subprocess.run([DSDATA, "tokenize", "--vocab", directory], input="\n".join(lines[:50] + ODD[1:]).encode(),
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    got = [[int(i) for i in line.split()] for line in done.stdout.decode().splitlines()]
    if got != [tokenizer(line, add_special_tokens=False)["input_ids"] for line in lines[:50] + ODD[1:]]:
        complain(f"{names}: dsdata tokenize and AutoTokenizer differ")


def round_trip(directory):
    """By our own reader and tokenizer: the pieces of a line spell its NFC; a special's name stays text."""
    pieces = {i: piece for piece, i in json.loads((directory / "tokenizer.json").read_text())["model"]["vocab"].items()}
    bytes_of = {letter: byte for byte, letter in LETTERS.items()}
    done = subprocess.run([DSDATA, "tokenize", "--vocab", directory], input="\n".join(ODD[1:]).encode(),
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    for line, ids in zip(ODD[1:], done.stdout.decode().splitlines(), strict=True):
        text = bytes(bytes_of[letter] for i in ids.split() for letter in pieces[int(i)]).decode()
        if text != unicodedata.normalize("NFC", line):
            complain(f"{line!r} comes back as {text!r}")


def merges_of(folder):
    text = folder / "text"
    for seed, size, least, names in [(1, 262, 2, "bert"), (2, 300, 2, "roberta"), (3, 2000, 2, "bert"),
                                     (4, 2000, 9, "roberta")]:
        lines = made_up(seed)
        text.write_text("\n".join(lines) + "\n", encoding="utf-8")
        out = folder / f"out-{seed}"
        files = {ours(text, out, size, least, "--special-names", names, *more)
                 for more in (("--threads", "1"), ("--threads", "2"), ("--threads", "7", "--memory", "900M"))}
        if len(files) != 1:
            complain(f"seed {seed}: threads or memory change it")
        root = json.loads((out / "tokenizer.json").read_text())
        pieces, merges = learn(lines, size, least)
        if root["model"]["merges"] != merges or list(root["model"]["vocab"]) != SPECIALS[names] + pieces:
            complain(f"seed {seed}, size {size}, least {least}: not what the naive implementation learns")
        round_trip(out)
        if AutoTokenizer:
            judge(lines, out, size, least, names)


def refused(folder):
    text, out = folder / "text", folder / "other"
    kind = ("--text", text, "--kind", "bpe-bytes")
    out.mkdir()
    (out / "notes.txt").write_text("mine")
    for arguments, words in [((*kind,), "--out"), ((*kind, "--out", "-"), "directory"),
                             ((*kind, "--out", out), "notes.txt"),
                             ((*kind, "--out", folder / "x", "--algo", "bpe"), "--algo"),
                             ((*kind, "--out", folder / "x", "--unused", 5), "--unused"),
                             ((*kind, "--out", folder / "x", "--accents", "strip"), "strip"),
                             ((*kind, "--out", folder / "x", "--vocab-size", 261), "262"),
                             (("--text", text, "--special-names", "roberta"), "bpe-bytes"),
                             ((*kind, "--out", folder / "x", "--kind", "unigram"), "unigram")]:
        done = vocab(*arguments)
        if done.returncode != 2 or words not in done.stderr.decode():
            complain(f"{arguments}: exit code {done.returncode}: {done.stderr.decode()}")
    if [path.name for path in out.iterdir()] != ["notes.txt"] or (folder / "x").exists():
        complain("a refused command left files")


with tempfile.TemporaryDirectory() as scratch:
    merges_of(pathlib.Path(scratch))
    refused(pathlib.Path(scratch))
print("" if AutoTokenizer else "the packages tokenizers and transformers are not installed: not compared with them")
sys.exit(1 if wrong else 0)
