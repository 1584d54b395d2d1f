#!/usr/bin/env python3
"""A byte-level BPE through the whole road: build, verify, show, report, export, dstrain, --init, mixtures, --fresh and
wrong use. Where the packages are installed: the ids of each document are those that `tokenizers` gives for its text,
whole words are masked as its pre-tokenizer cuts them, and transformers loads the trained model with its tokenizer."""
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import unicodedata

try:
    from tokenizers import Tokenizer
except ImportError:
    Tokenizer = None
try:
    import torch
    from transformers import AutoModelForMaskedLM, AutoTokenizer
except ImportError:
    torch = None

PROJECT = pathlib.Path(__file__).resolve().parents[2]
DSDATA, DSTRAIN = (str(pathlib.Path(sys.argv[1]).resolve() / name) for name in ("dsdata", "dstrain"))
PARTS = ["The", "running", "dogs", "won't", "see", "42", "caf\u00e9", "cafe\u0301", "[MASK]", "<s>", "[CLS]",
         "\u6771\u4eac", "\U0001f600", "(well)", "don't", "1998", "\u0438\u043c\u044f", "  spaced", "\u00c9t\u00e9",
         "...", "\u201cquoted\u201d"]
wrong = 0


def complain(text):
    global wrong
    wrong += 1
    print("FAILED", text)


def run(code, *command, says=()):
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != code:
        complain(f"exit {done.returncode}, not {code}: {' '.join(map(str, command))}\n{done.stderr}")
    for words in says:
        if words not in done.stderr:
            complain(f"no {words!r} in: {done.stderr}")
    return done.stdout


def text_of(generator):
    sentences = [" ".join(generator.choices(PARTS, k=generator.randint(3, 12))) + generator.choice([".", "!", "?"])
                 for _ in range(generator.randint(2, 30))]
    return "".join(sentence + generator.choice([" ", " ", "\n", "  "]) for sentence in sentences).strip()


scratch = pathlib.Path(tempfile.mkdtemp(prefix="build_bpe."))
try:
    generator = random.Random(5)
    docs = [{"id": i, "text": text_of(generator)} for i in range(1, 201)]
    (scratch / "docs.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in docs))
    docs_file, tok, data = scratch / "docs.jsonl", scratch / "tok", scratch / "data"
    run(0, DSDATA, "vocab", "--kind", "bpe-bytes", "--vocab-size", "500", "--out", tok, docs_file)
    build = (DSDATA, "build", "--jsonl", docs_file, "--pairs", "none", "--seq", "64", "--valid", "0.1", "--masking",
             "whole-word")
    run(0, *build, "--vocab", tok, "--pack", "--out", data)
    manifest = json.loads((data / "manifest.json").read_text())
    special = manifest["special"]
    if not manifest["cased"] or manifest["accents"] != "keep" or (tok / "tokenizer.json").read_bytes() != \
            (data / "tokenizer.json").read_bytes():
        complain("the manifest or the copy of the tokenizer")

    # Ids, from an export without masks.
    extracted = {int(doc["id"]): doc["text"].rstrip("\n") for doc in
                 map(json.loads, run(0, DSDATA, "extract", "--format", "jsonl", docs_file).splitlines())}
    seen = decoded = 0
    for split in "train", "valid":
        lines = run(0, DSDATA, "export", data, "--format", "jsonl", "--masks", "none", "--split", split).splitlines()
        for line in lines:
            ids = json.loads(line)["input_ids"]
            inside = [i for i in ids if i not in (special["cls"], special["sep"], special["pad"])]
            seen += len(inside)
            if special["mask"] in inside:
                complain(f"a control id was planted: {ids}")
    # Without the packages: the bytes of the ids are those of the texts.
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    byte_of = {chr(byte): byte for byte in shown}
    byte_of.update((chr(0x100 + i), byte) for i, byte in enumerate(b for b in range(256) if b not in shown))
    pieces = (data / "vocab.txt").read_text().split("\n")
    texts = {i: unicodedata.normalize("NFC", text).encode() for i, text in extracted.items()}
    for split in "train", "valid":
        for line in run(0, DSDATA, "export", data, "--format", "jsonl", "--masks", "none", "--split",
                        split).splitlines():
            parts = [[]]
            for i in json.loads(line)["input_ids"]:
                if i == special["sep"]:
                    parts.append([])
                elif i not in (special["cls"], special["pad"]):
                    parts[-1].extend(byte_of[letter] for letter in pieces[i])
            for part in map(bytes, parts):
                if not any(part in whole for whole in texts.values()):
                    complain(f"no document holds {part}")
                decoded += len(part)
    if decoded != sum(map(len, texts.values())):
        complain(f"{decoded} bytes of {sum(map(len, texts.values()))}")

    if Tokenizer:
        plain = Tokenizer.from_str(json.dumps(dict(json.loads((tok / "tokenizer.json").read_text()), added_tokens=[])))
        expected = {i: plain.encode(text, add_special_tokens=False).ids for i, text in extracted.items()}
        if sum(map(len, expected.values())) != seen:
            complain(f"{seen} ids, tokenizers gives {sum(map(len, expected.values()))}")
        sys.path.insert(0, str(PROJECT / "python"))
        sys.dont_write_bytecode = True
        try:
            import dsshards
        except ImportError:
            dsshards = None
        shards = None
        for split in ("train", "valid") if dsshards else ():
            try:
                shards = dsshards.Shards(data, 64, split)
            except ImportError:
                break
            for i in range(len(shards)):
                record = shards.record(i)
                ids = record["ids"][:record["length"]].copy()
                positions = set(map(int, record["positions"][:record["masked"]]))
                ids[sorted(positions)] = record["labels"][:record["masked"]]
                first = [int(x) for x in ids[1:]]
                first = first[:first.index(special["sep"])]
                whole = expected[int(record["document_a"])]
                if not any(whole[k:k + len(first)] == first for k in range(len(whole))):
                    complain(f"sample {i} of {split}: not the ids of document {record['document_a']}")
                starts = shards.words.starts(ids)
                group = []
                for place in [*range(1, len(ids)), None]:
                    control = place is None or int(ids[place]) in (special["cls"], special["sep"])
                    if group and (control or starts[place]):
                        if len({k in positions for k in group}) > 1:
                            complain(f"sample {i} of {split}: the word {group} is masked in part")
                        group = []
                    if not control:
                        group.append(place)

        if shards:  # fresh masks of whole words, as dsdata draws them
            lines = run(0, DSDATA, "export", data, "--format", "jsonl", "--epoch", "1", "--seed", "3").splitlines()
            drawn = [sample["input_ids"].tolist() for sample in dsshards.IterableDataset(data, 64, epoch=1, seed=3)]
            if len(lines) != len(drawn) or any(
                    json.loads(line)["input_ids"][:len(ids)] != ids for line, ids in zip(lines, drawn)):
                complain("dsshards draws other masks")

    # AutoTokenizer's way.
    run(0, *build, "--vocab", tok, "--special-in-text", "--out", scratch / "control")
    control = json.loads((scratch / "control/manifest.json").read_text())
    if control["options"].get("special-in-text") != "true" or not any(
            special["mask"] in json.loads(line)["input_ids"] for line in
            run(0, DSDATA, "export", scratch / "control", "--format", "jsonl", "--masks", "none").splitlines()):
        complain("--special-in-text")

    # Looking at it, and damage.
    run(0, DSDATA, "verify", data)
    run(0, DSDATA, "report", data, "--out", scratch / "report.html")
    shown = json.loads(run(0, DSDATA, "show", data, "--sample", "0", "--json"))
    if not any("\u0120" in token["piece"] for token in shown["tokens"]):
        complain("show has no piece with a blank")
    damaged = scratch / "damaged"
    shutil.copytree(data, damaged)
    (damaged / "tokenizer.json").write_text((data / "tokenizer.json").read_text().replace("NFC", "NFD"))
    run(4, DSDATA, "verify", damaged)
    run(5, DSTRAIN, "--shards", damaged, "--model", "tiny", "--steps", "1", "--out", scratch / "never",
        says=["tokenizer.json", "dsdata verify"])
    (damaged / "tokenizer.json").unlink()
    run(4, DSTRAIN, "--shards", damaged, "--model", "tiny", "--steps", "1", "--out", scratch / "never",
        says=["tokenizer.json"])

    # A learned one is the same for any number of threads; --fresh removes its files.
    learned = (*build, "--vocab-kind", "bpe-bytes", "--vocab-size", "400", "--special-names", "roberta")
    for threads in "1", "2":
        run(0, *learned, "--threads", threads, "--out", scratch / f"learned{threads}")
    one, two = (json.loads((scratch / f"learned{n}" / "manifest.json").read_text()) for n in (1, 2))
    if one != two or one["options"]["vocab-kind"] != "bpe-bytes" or one["vocab_size"] < 300:
        complain("learned with one thread and with two differ")
    run(0, *learned, "--out", scratch / "learned1")
    run(5, *build, "--vocab-size", "400", "--out", scratch / "learned2", says=["--fresh"])
    run(0, *build, "--vocab-size", "400", "--out", scratch / "learned2", "--fresh")
    if (scratch / "learned2" / "tokenizer.json").exists():
        complain("--fresh has left the files of the old tokenizer")

    # Training, export, and models of other tokenizers.
    run(0, DSTRAIN, "--shards", data, "--model", "modern-mini", "--steps", "2", "--batch", "4", "--out",
        scratch / "run")
    run(0, DSTRAIN, "eval", scratch / "run", "--shards", data, "--json")
    run(0, DSTRAIN, "report", scratch / "run", "--out", scratch / "run.html")
    run(0, DSTRAIN, "export", scratch / "run", "--out", scratch / "model")
    run(0, DSTRAIN, "--shards", data, "--init", scratch / "model", "--steps", "1", "--batch", "4", "--out",
        scratch / "again")
    travelled = scratch / "again/checkpoints/step-00000001/tokenizer.json"
    if travelled.read_bytes() != (tok / "tokenizer.json").read_bytes():
        complain("the tokenizer did not travel")
    flags = scratch / "flags"
    shutil.copytree(scratch / "model", flags)
    other = json.loads((flags / "tokenizer.json").read_text())
    other["added_tokens"][0]["lstrip"] = not other["added_tokens"][0]["lstrip"]
    (flags / "tokenizer.json").write_text(json.dumps(other))
    run(5, DSTRAIN, "--shards", data, "--init", flags, "--steps", "1", "--out", scratch / "never",
        says=["other added tokens"])
    run(5, DSTRAIN, "--shards", scratch / "learned1", "--init", scratch / "model", "--steps", "1", "--out",
        scratch / "never", says=["--vocab"])
    run(5, DSTRAIN, "--shards", scratch / "learned2", "--init", scratch / "model", "--steps", "1", "--out",
        scratch / "never")
    run(5, DSTRAIN, "--shards", f"{data}=0.5", "--shards", f"{scratch / 'learned1'}=0.5", "--steps", "1", "--out",
        scratch / "never")
    if torch:
        model = AutoModelForMaskedLM.from_pretrained(scratch / "model")
        its = AutoTokenizer.from_pretrained(scratch / "model")
        if model(**its("The running [MASK] see.", return_tensors="pt")).logits.shape[-1] < len(its):
            complain("transformers' logits")

    # Wrong on purpose.
    never = ("--out", scratch / "never")
    run(2, *build, "--vocab", tok, "--vocab-kind", "bpe-bytes", *never, says=["--vocab-kind", "--vocab names one"])
    run(2, *build, "--vocab-kind", "bpe-bytes", "--algo", "bpe", *never, says=["--algo"])
    run(2, *build, "--vocab-kind", "bpe-bytes", "--profile", "google", *never, says=["--profile google"])
    run(2, *build, "--special-names", "roberta", *never, says=["--vocab-kind bpe-bytes"])
    run(5, *build, "--vocab", tok, "--accents", "strip", *never, says=["--accents"])
    bare = scratch / "bare"
    bare.mkdir()
    rules = json.loads((tok / "tokenizer.json").read_text())
    (bare / "tokenizer.json").write_text(json.dumps(rules).replace("[MASK]", "[HOLE]"))
    config = {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    (bare / "tokenizer_config.json").write_text(json.dumps(config))
    run(6, *build, "--vocab", bare, *never, says=["no mask token"])
    (bare / "tokenizer_config.json").write_text(json.dumps({**config, "mask_token": "[SEP]"}))
    run(6, *build, "--vocab", bare, *never, says=["separator", "mask"])
    if (scratch / "never").exists():
        complain("a refused command has left a directory")
finally:
    shutil.rmtree(scratch)
if wrong:
    sys.exit(f"{wrong} checks failed")
print("all checks passed" + ("" if Tokenizer and torch else "; tokenizers, torch or transformers are not installed: "
                             "nothing was compared with them"))
