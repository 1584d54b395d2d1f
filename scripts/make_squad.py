#!/usr/bin/env python3
"""Makes two tasks for fine-tuning from a dump of Wikipedia: questions in SQuAD 1.1's form, pairs in MRPC's.

    scripts/make_squad.py DUMP OUT [--questions 2000] [--pairs 4000] [--dev 0.1] [--seed 1]
                          [--dsdata build/release/dsdata]

In:  a dump, .xml or .xml.bz2; `dsdata extract` makes its plain text.
Out: OUT/squad/train-v1.1.json and dev-v1.1.json: a context is a paragraph, a question one of its sentences with a
     linked phrase replaced by "what", the answer that phrase; OUT/glue/MRPC/train.tsv and dev.tsv: two neighbouring
     sentences of an article (1), or a sentence and one of another article (0), half of each.
Pages are held out by a hash of their id, with everything made from them, so the held-out pages are the same for all
options. The same dump and options give the same bytes. Python's standard library only."""

import argparse
import bz2
import hashlib
import json
import pathlib
import random
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

LINK = re.compile(r"\[\[(?:[^\[\]|:]*\|)?([^\[\]|:]+)\]\]")
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[\"'(]?[A-Z0-9])")
PARAGRAPH_CHARS = (150, 2000)  # shortest and longest context
SENTENCE_WORDS = (6, 60)
ANSWER_WORDS = 6  # at most this many


def linked_phrases(dump):
    """{page id: texts of its links}."""
    opened = bz2.open(dump, "rb") if str(dump).endswith(".bz2") else open(dump, "rb")
    phrases = {}
    with opened as file:
        for _, element in xml.iterparse(file):
            if element.tag.split("}")[-1] != "page":
                continue
            names = {child.tag.split("}")[-1]: child for child in element}
            text = "".join(part.text or "" for part in names["revision"] if part.tag.split("}")[-1] == "text")
            phrases[int(names["id"].text)] = sorted({match.group(1).strip() for match in LINK.finditer(text)} - {""})
            element.clear()
    return phrases


def extracted(dsdata, dump):
    """Pages as plain text from dsdata: id, title, paragraphs."""
    done = subprocess.run([dsdata, "extract", "-q", "--keep", "prose-lists", str(dump)], check=True,
                          capture_output=True, text=True)
    for line in done.stdout.splitlines():
        page = json.loads(line)
        yield page["id"], page["title"], [part for part in page["text"].split("\n") if part]


def is_held_out(page, share):
    return int.from_bytes(hashlib.sha256(b"held out %d" % page).digest()[:8], "big") < share * 2 ** 64


def sentences_of(paragraph):
    return [sentence for sentence in SENTENCE.split(paragraph)
            if SENTENCE_WORDS[0] <= len(sentence.split()) <= SENTENCE_WORDS[1]]


def question_of(paragraph, phrases, chance):
    """A question whose answer occurs once in the paragraph, or None."""
    fitting = []
    for phrase in phrases:
        found = [match.start() for match in re.finditer(rf"(?<!\w){re.escape(phrase)}(?!\w)", paragraph)]
        if len(found) == 1 and len(phrase.split()) <= ANSWER_WORDS:
            fitting += [(sentence, phrase, found[0]) for sentence in sentences_of(paragraph) if phrase in sentence]
    if not fitting:
        return None
    sentence, phrase, at = chance.choice(fitting)
    return sentence.replace(phrase, "what").rstrip(".!") + "?", phrase, at


def make(pages, phrases, asked, chance):
    """{held out: (articles of SQuAD, pairs)}, with these numbers of questions and pairs in total."""
    made = {False: ([], []), True: ([], [])}
    neighbours = []
    questions = 0
    for page, title, paragraphs in pages:
        held_out, entries = is_held_out(page, asked.dev), []
        for paragraph in paragraphs:
            sentences = sentences_of(paragraph)
            neighbours += [(held_out, page, first, second) for first, second in zip(sentences[::2], sentences[1::2])]
            if questions < asked.questions and PARAGRAPH_CHARS[0] <= len(paragraph) <= PARAGRAPH_CHARS[1]:
                question = question_of(paragraph, phrases.get(page, []), chance)
                if question:
                    questions += 1
                    entries.append({"context": paragraph, "qas": [{
                        "id": f"{page}-{len(entries)}", "question": question[0],
                        "answers": [{"text": question[1], "answer_start": question[2]}]}]})
        if entries:
            made[held_out][0].append({"title": title, "paragraphs": entries})
    chance.shuffle(neighbours)
    seconds = {part: [(page, second) for held_out, page, _, second in neighbours if held_out == part] for part in made}
    for i, (held_out, page, first, second) in enumerate(neighbours[:asked.pairs]):
        alone = all(other == page for other, _ in seconds[held_out][:1000])
        label, other = int(i % 2 == 0 or alone), (page, second)
        while not label and other[0] == page:
            other = chance.choice(seconds[held_out])
        made[held_out][1].append((label, page, other[0], first, other[1]))
    return made


def write(out, made):
    for held_out, (articles, pairs) in made.items():
        part = "dev" if held_out else "train"
        (out / "squad").mkdir(parents=True, exist_ok=True)
        (out / "glue/MRPC").mkdir(parents=True, exist_ok=True)
        (out / f"squad/{part}-v1.1.json").write_text(
            json.dumps({"version": "1.1", "data": articles}, ensure_ascii=False) + "\n", encoding="utf-8")
        with open(out / f"glue/MRPC/{part}.tsv", "w", encoding="utf-8") as file:
            file.write("Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n")
            for row in pairs:
                file.write("\t".join(str(field).replace("\t", " ") for field in row) + "\n")
        count = sum(len(article["paragraphs"]) for article in articles)
        print(f"{part}: {count} questions of {len(articles)} pages, {len(pairs)} pairs", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dump", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--questions", type=int, default=2000)
    parser.add_argument("--pairs", type=int, default=4000)
    parser.add_argument("--dev", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dsdata", default=str(pathlib.Path(__file__).resolve().parent.parent
                                                / "build/release/dsdata"))
    asked = parser.parse_args()
    chance = random.Random(asked.seed)
    write(asked.out, make(extracted(asked.dsdata, asked.dump), linked_phrases(asked.dump), asked, chance))


if __name__ == "__main__":
    main()
