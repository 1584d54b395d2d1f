#!/usr/bin/env python3
"""--filter gopher gives the verdicts of datatrove's filter where both get the same words: those between white space.

They differ in what a sign is: datatrove has a list of punctuation, dsdata takes all of Unicode's punctuation and
symbols. So texts have letters and the signs of ASCII here, and all verdicts must be equal. Files: instead their texts,
each as it is and three times spoilt by signs and short lines; what differs is listed, and more than 1 % is an error.

    gopher_like_datatrove.py BUILD [FILE…]

Exit 77: datatrove is not installed."""

import collections
import json
import os
import random
import re
import subprocess
import sys
import tempfile

try:
    from datatrove.data import Document
    from datatrove.pipeline.filters import gopher_quality_filter
except ImportError:
    print("datatrove is not installed: skipped")
    sys.exit(77)

random.seed(11)
DSDATA = os.path.join(sys.argv[1], "dsdata")
WORDS = ["the", "be", "to", "of", "and", "that", "have", "with", "river", "winter", "a", "mountain", "of",
         "constitutional", "it", "small", "The", "letters", "in", "Saturn", "caf\u00e9", "\u0441\u043d\u0435\u0433"]
SIGNS = ["#", "...", "\u2026", "-", "\u2022", "123", "%", "*", "word...", "#tag", "(", "1984)", "$", "=", "~~"]
MORE_SIGNS = ["\u00a3", "\u00a9", "\u2192", "\u3001", "\u060c", "\u2014", "\u20ac", "\u2212", "\u66f8", "\u0627"]


def make_text():
    """Lines that are near the thresholds more often than not."""
    signs, few = random.choice([0, 0, 0.1, 0.15, 0.25]), random.random() < 0.2
    words = random.sample(WORDS, 6) if few else WORDS
    lines = []
    for _ in range(random.randrange(1, 16)):
        line = [random.choice(SIGNS if random.random() < signs else words) for _ in range(random.randrange(1, 12))]
        if random.random() < random.choice([0, 0.9]):
            line.insert(0, random.choice(["-", "\u2022"]))
        if random.random() < random.choice([0, 0.3]):
            line.append("on...")
        lines.append(" ".join(line))
    return "\n".join(lines) + "\n"


def spoil(text):
    share = random.choice([0.02, 0.1, 0.2, 0.4])
    words = re.split("( |\n)", text)
    for at in range(0, len(words), 2):
        if random.random() < share:
            words[at] = random.choice(4 * SIGNS + MORE_SIGNS)
        if at and random.random() < share:
            words[at - 1] = random.choice(["\n", "...\n", "\n- ", "\n\u2022 ", "\u3000"])
    return "".join(words)


def texts_of(path):
    """Each text of a file, its paragraphs, and the same spoilt."""
    run = subprocess.run([DSDATA, "extract", path, "-q"], capture_output=True, text=True, check=True)
    whole = [json.loads(line)["text"] for line in run.stdout.splitlines()]
    parts = [part for text in whole for part in re.findall(r"(?:[^\n]*\n?){1,3}", text) if len(part) > 200]
    parts = whole + random.sample(parts, min(len(parts), 3000))
    return parts + [spoil(part) for part in parts for _ in range(3)]


LIMITS = {"min_doc_words": "min-words", "max_doc_words": "max-words", "min_avg_word_length": "min-length",
          "max_avg_word_length": "max-length", "max_symbol_word_ratio": "symbols", "max_bullet_lines_ratio": "bullets",
          "max_ellipsis_lines_ratio": "ellipses", "max_non_alpha_words_ratio": "alphabetic",
          "min_stop_words": "stop-words"}
REASONS = {"short_doc": "few-words", "long_doc": "many-words", "below_avg_threshold": "word-length",
           "above_avg_threshold": "word-length", "too_many_hashes": "symbols", "too_many_ellipsis": "symbols",
           "too_many_bullets": "bullets", "too_many_end_ellipsis": "ellipses", "below_alpha_threshold": "alphabetic",
           "enough_stop_words": "stop-words"}


def verdict_of(judge, text):
    verdict = judge.filter(Document(text=text, id=""))
    return "kept" if verdict is True else "gopher-" + REASONS[verdict[1].removeprefix("gopher_")]


def compare(name, texts, **limits):
    """How many verdicts differ, how many counts of reasons, and the latter."""
    judge = gopher_quality_filter.GopherQualityFilter(**limits)
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as out:
        for number, text in enumerate(texts):
            out.write(json.dumps({"id": number, "text": text}) + "\n")
        out.flush()
        option = "gopher" + "".join(f",{LIMITS[key]}={value}" for key, value in limits.items())
        run = subprocess.run([DSDATA, "extract", out.name, "-q", "--json", "--filter", option], capture_output=True,
                             text=True)
    kept = {json.loads(line)["id"] for line in run.stdout.splitlines() if run.returncode == 0}
    verdicts = [verdict_of(judge, text) for text in texts]
    differ = [n for n, verdict in enumerate(verdicts) if (verdict == "kept") != (n in kept)]
    for n in differ:
        signs = sorted({word for word in texts[n].split() if not any(c.isalnum() for c in word)})
        print(f"datatrove: {verdicts[n]}; dsdata: {'kept' if n in kept else 'dropped'}; {signs}: {texts[n][:80]!r}")
    theirs, account = collections.Counter(verdicts), json.loads(run.stderr.splitlines()[-1])
    ours = {"kept": len(kept), **account["dropped"]}
    reasons = sum(abs(theirs[key] - ours.get(key, 0)) for key in theirs | ours)
    print(f"{name}, {option}: {len(differ)} of {len(texts):,} verdicts differ, {reasons} counts: {dict(theirs)}")
    return len(differ), reasons, theirs


gopher_quality_filter.split_into_words = lambda text, language: text.split()
differ = count = 0
for path in sys.argv[2:]:
    texts = texts_of(path)
    for words, length in (20, 10), (60, 10), (120, 20):
        differ += compare(path, texts, min_stop_words=0, min_doc_words=words, max_avg_word_length=length)[0]
        count += len(texts)
if differ > count / 100:
    sys.exit(f"{differ} of {count:,} verdicts differ, more than 1 %")
if len(sys.argv) == 2:
    texts, most = [make_text() for _ in range(4000)], 0
    for limits in ({"min_doc_words": 20}, {key: 0 for key in LIMITS},
                   {"min_doc_words": 5, "max_doc_words": 40, "min_avg_word_length": 4, "max_avg_word_length": 5,
                    "max_symbol_word_ratio": 0.05, "max_bullet_lines_ratio": 0.5, "max_ellipsis_lines_ratio": 0.1,
                    "max_non_alpha_words_ratio": 0.9, "min_stop_words": 4}):
        differ, counts, reasons = compare("made up", texts, **limits)
        most = max(most, len(reasons))
        if differ or counts:
            sys.exit("verdicts or reasons differ")
    if most < 8:
        sys.exit(f"only {most} kinds of verdicts")
