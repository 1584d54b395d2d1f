#!/usr/bin/env python3
"""Our sentences beside those of pysbd and syntok (pip install pysbd syntok), on real text and on the hand-made cases.

    compare_sentences.py BUILD [--lang de] [--bytes N] [--examples N] [--seed N] DUMP

Takes paragraphs spread over the dump's text and compares where each program ends sentences. Only ends inside a
paragraph count. Prints how often the programs agree, and the differences by kind, with examples: "|" is our end, "~"
one that only the other has. Which is right is for a reader to judge.
"""
import argparse
import collections
import json
import os
import random
import re
import subprocess
import time

CASES = os.path.join(os.path.dirname(__file__), "..", "pipeline", "sentences.cases")
PYSBD_LANGUAGES = "en de fr es it nl pl ru ja zh ar hi".split()

KINDS = (  # the first that matches the text before and after an end
    ("number", r"\b\d[\d.,]*\.[)\]]?$", r""),
    ("initial", r"\b[^\W\d_]\.[)\]]?$", r""),
    ("acronym", r"\b(?:[^\W\d_]{1,2}\.-?)+[^\W\d_]{1,2}\.[)\]]?$", r""),
    ("ellipsis", r"(?:\.\.|…|\. \.)[\"'”’)\]]*$", r""),
    ("lower case after", r"", r"[\"'“‘„«(\[]*[^\W\dA-ZÀ-ÖØ-ÞĀ-Ž]"),
    ("quote or bracket", r"[.!?][\"'”’“»)\]]+$", r""),
    ("! or ?", r"[!?]$", r""),
    ("colon or semicolon", r"[:;]$", r""),
    ("short word", r"\b[^\W\d_]{2,5}\.$", r""),
    ("full stop", r"\.$", r""),
    ("other", r"", r""),
)


def ours(dsdata, paragraphs, language):
    """One document per paragraph; empty lines between documents separate them again."""
    lines = "".join(json.dumps({"text": paragraph}) + "\n" for paragraph in paragraphs)
    command = [dsdata, "extract", "-q", "--jsonl", "-", "--format", "sentences", "--lang", language]
    output = subprocess.run(command, input=lines, capture_output=True, text=True, check=True).stdout
    return [document.split("\n") for document in output.strip("\n").split("\n\n")]


def pysbd_of(language):
    import pysbd
    segmenter = pysbd.Segmenter(language=language, clean=False)
    return segmenter.segment


def syntok_of(_):
    from syntok import segmenter

    def split(text):
        paragraphs = segmenter.process(text)
        return ["".join(token.spacing + token.value for token in sentence) for paragraph in paragraphs
                for sentence in paragraph]
    return split


def ends(sentences):
    """Places of ends, counted in non-blank characters; the end of the paragraph does not count."""
    at, places = 0, set()
    for sentence in sentences:
        at += len("".join(sentence.split()))
        places.add(at)
    places.discard(at)
    return places


def place_in(text, count):
    """The index in the text after `count` non-blank characters."""
    for index, character in enumerate(text):
        if not character.isspace():
            if count == 0:
                return len(text[:index].rstrip())
            count -= 1
    return len(text)


def kind_of(before, after):
    return next(name for name, left, right in KINDS if re.search(left, before) and re.match(right, after))


def compare(paragraphs, mine, theirs):
    agreed, differ = 0, []
    for paragraph, left, right in zip(paragraphs, mine, theirs):
        left, right = ends(left), ends(right)
        agreed += len(left & right)
        for place in left ^ right:
            at = place_in(paragraph, place)
            before, after = paragraph[:at], paragraph[at:].lstrip()
            differ.append((kind_of(before, after), place in left, before, after))
    return agreed, differ


def show(name, agreed, differ, examples, random_state):
    print(f"\n{name}: {agreed} ends in common, {sum(own for _, own, _, _ in differ)} only ours, "
          f"{sum(not own for _, own, _, _ in differ)} only {name}'s")
    counts = collections.Counter((kind, own) for kind, own, _, _ in differ)
    for kind in [kind for kind, _, _ in KINDS]:
        if counts[kind, True] + counts[kind, False] == 0:
            continue
        print(f"  {kind:20} only ours {counts[kind, True]:5}   only {name} {counts[kind, False]:5}")
        chosen = [each for each in differ if each[0] == kind]
        for _, own, before, after in random_state.sample(chosen, min(examples, len(chosen))):
            print(f"      {before[-50:]} {'|' if own else '~'} {after[:40]}")


def read_cases():
    """(language, kind, text, sentences) of each line; see the head of the file."""
    language = kind = ""
    with open(CASES, encoding="utf-8") as file:
        for line in file.read().splitlines():
            if line.startswith("==="):
                setting = re.search(r"\[lang=(\w+)\]", line)
                language, kind = setting[1] if setting else "en", line[4:].split(" [")[0]
            elif line and not line.startswith("#"):
                sentences = [part.strip() for part in line.split("|")]
                yield language, kind, line.replace("| ", "").replace("|", ""), sentences


def score_cases(splitters):
    cases = list(read_cases())
    for name, (make, known) in splitters.items():
        right, total = collections.Counter(), collections.Counter()
        for language, kind, text, expected in cases:
            if language not in known:
                continue
            got = [sentence.strip() for sentence in make(language)(text)]
            group = kind if language == "en" else language
            total[group] += 1
            right[group] += [sentence for sentence in got if sentence] == expected
        print(f"  {name}: {sum(right.values())} of {sum(total.values())}: "
              + ", ".join(f"{group} {right[group]}/{total[group]}" for group in total))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("dump")
    parser.add_argument("--lang", default="en")
    parser.add_argument("--bytes", type=int, default=400_000)
    parser.add_argument("--examples", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    dsdata = os.path.join(options.build, "dsdata")

    pages = subprocess.run([dsdata, "extract", "-q", options.dump], capture_output=True, text=True, check=True).stdout
    paragraphs = [line.strip() for page in pages.splitlines() for line in json.loads(page)["text"].split("\n")]
    paragraphs = [line for line in paragraphs if line]
    every = max(1, sum(map(len, paragraphs)) // options.bytes)
    paragraphs = paragraphs[::every]
    mine = ours(dsdata, paragraphs, options.lang)
    assert len(mine) == len(paragraphs), "an empty line within a document"
    print(f"{options.dump}: {len(paragraphs)} paragraphs, {sum(map(len, paragraphs))} characters, "
          f"{sum(map(len, mine))} of our sentences")

    splitters = {"pysbd": (pysbd_of, PYSBD_LANGUAGES), "syntok": (syntok_of, ["en", "de", "es"])}
    for name, (make, known) in splitters.items():
        if options.lang not in known:
            continue
        split, started = make(options.lang), time.process_time()
        theirs = [split(paragraph) for paragraph in paragraphs]
        seconds = time.process_time() - started
        agreed, differ = compare(paragraphs, mine, theirs)
        show(name, agreed, differ, options.examples, random.Random(options.seed))
        print(f"  {name}: {sum(map(len, paragraphs)) / seconds * 1e-6:.2f} MB/s")
    print("\nhand-made cases:")
    score_cases(splitters)


if __name__ == "__main__":
    main()
