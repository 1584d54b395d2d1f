#!/usr/bin/env python3
"""dsdata gives the samples that reference/instances.c gives, byte for byte, for random plain pages and settings. Which
pages those are changes with the date; DS_SEED repeats a run."""
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time
from xml.sax.saxutils import escape

build = pathlib.Path(sys.argv[1]).resolve()
seed = int(os.environ.get("DS_SEED", time.time() // 86400))
print("DS_SEED", seed)
draws = random.Random(seed)
LETTERS = "abcdefghijklmnopqrstuvwxyzàâäçèéêëíñóöøüßæ"
WORDS = ["".join(draws.choice(LETTERS) for _ in range(draws.randint(4, 9))) for _ in range(400)]


def word():
    """A word that is no abbreviation, a number, a word in capitals, emphasis or a link."""
    kind, text = draws.randrange(40), draws.choice(WORDS)
    return {0: str(draws.randrange(3000)), 1: text.capitalize(), 2: f"''{text}''", 3: f"[[{text.capitalize()}|{text}]]",
            4: f"'''{text}'''", 5: f"[[{text}]]", 6: f"{text} & {draws.choice(WORDS)}",
            7: f"{text}-{draws.choice(WORDS)}", 8: f"{text},", 9: f"{text};", 10: text * 13}.get(kind, text)


def sentence():
    words = [word() for _ in range(draws.choice([1, 2, 4, 8, 15, 30]))]
    first = draws.choice("ABCDEFGHKLMNOPRSTUVW") + draws.choice(WORDS)
    return " ".join([first, *words, draws.choice(WORDS)]) + draws.choice("....!?")


def page_text():
    blocks = []
    for _ in range(draws.choice([0, 1, 1, 3, 8, 40])):
        lines = [" ".join(sentence() for _ in range(draws.randint(1, 5))) for _ in range(draws.choice([1, 1, 1, 2]))]
        blocks.append("\n".join(lines))
        if draws.randrange(4) == 0:
            blocks.append(f"== {word()} ==")
    return "\n\n".join(blocks)


def dump(path, pages):
    with open(path, "w", encoding="utf-8") as out:
        out.write('<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/" version="0.10" xml:lang="en">\n'
                  "<siteinfo><dbname>plainwiki</dbname></siteinfo>\n")
        for _ in range(pages):
            namespace, redirect = draws.choice([0] * 9 + [1]), draws.randrange(8) == 0
            out.write(f"<page>\n<title>{draws.choice(WORDS)}</title>\n<ns>{namespace}</ns>\n"
                      f"<id>{draws.randrange(1, 1 << draws.choice([8, 20, 31]))}</id>\n"
                      + ('<redirect title="Other" />\n' if redirect else "")
                      + "<revision><id>1</id><model>wikitext</model><format>text/x-wiki</format>"
                      + f'<text bytes="1" xml:space="preserve">{escape(page_text(), {chr(34): "&quot;"})}</text>'
                      + "</revision>\n</page>\n")
        out.write("</mediawiki>\n")


def vocabulary(path):
    plain = LETTERS[:26] + "øßæ"
    pieces = {"##" + letter for letter in plain + "0123456789"} | set(plain) | set("0123456789.,;!?-&")
    for _ in range(600):
        text, size = draws.choice(WORDS), draws.randint(2, 6)
        start = draws.randrange(len(text) - 1)
        text = text.translate(str.maketrans("àâäçèéêëíñóöü", "aaaceeeeinoou"))
        pieces.add(("##" if start else "") + text[start:start + size])
    pieces -= {"##q", "##x"}  # some words are [UNK]
    path.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *sorted(pieces)]) + "\n", "utf-8")


def run(*arguments):
    # The reference leaves its memory to the end of the process.
    done = subprocess.run([str(word) for word in arguments], capture_output=True, check=False,
                          env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
    if done.returncode and not (done.returncode == 3 and b"no text was kept" in done.stderr):
        sys.exit(f"FAILED {arguments}\n{done.stderr.decode()}")
    return done.stdout


samples = 0
with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    for number in range(8):
        xml, pieces, out = folder / f"{number}.xml", folder / "vocab.txt", folder / str(number)
        dump(xml, draws.choice([1, 2, 5, 30]))
        vocabulary(pieces)
        seq, copies = draws.choice([16, 32, 100, 128, 512]), draws.choice([1, 1, 3])
        valid, name = draws.choice([0, 5000, 200000, 500000]), draws.choice([12345, 1, 2**63 + 5])
        masking = draws.choice(["token", "whole-word"])
        run(build / "dsdata", "build", "--wiki", xml, "--vocab", pieces, "--lang", "en", "--seq", seq, "--copies",
            copies, "--valid", valid / 1e6, "--seed", name, "--masking", masking, "--drop", "", "--out", out)
        for split in "train", "valid":
            expected = run(build / "tests" / "instances", xml, pieces, "--seq", seq, "--copies", copies, "--valid",
                           valid, "--seed", name, "--masking", masking, "--split", split)
            given = folder / "samples.jsonl"
            given.write_bytes(b"")
            if expected:
                run(build / "dsdata", "export", out, "--seq", seq, "--split", split, "--force", "--out", given)
            if given.read_bytes() != expected:
                pairs = list(zip(given.read_text("utf-8").splitlines(), expected.decode().splitlines()))
                first = next((i for i, (a, b) in enumerate(pairs) if a != b), len(pairs))
                print(f"FAILED dump {number} {split}: sample {first} differs (seq {seq}, copies {copies}, "
                      f"valid {valid}, seed {name}, {masking})")
                for sample in pairs[first] if first < len(pairs) else ():
                    print({key: value for key, value in json.loads(sample).items() if key != "input_mask"})
                sys.exit(1)
            samples += expected.count(b"\n")
print(samples, "samples are equal")
