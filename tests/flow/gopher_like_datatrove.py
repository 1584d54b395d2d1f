#!/usr/bin/env python3
"""--filter gopher gives the verdicts of datatrove's filter where both get the same words: those between white space.

They differ in what a sign is: datatrove has a list of punctuation, dsdata takes all of Unicode's punctuation and
symbols. So texts have letters and the signs of ASCII here, and all verdicts must be equal.

    gopher_like_datatrove.py BUILD

Exit 77: datatrove is not installed."""

import json
import os
import random
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
WORDS = ["the", "be", "to", "of", "and", "that", "have", "with", "river", "winter", "a", "mountain", "of",
         "constitutional", "it", "small", "The", "letters", "in", "Saturn", "caf\u00e9", "\u0441\u043d\u0435\u0433"]
SIGNS = ["#", "...", "\u2026", "-", "\u2022", "123", "%", "*", "word...", "#tag", "(", "1984)", "$", "=", "~~"]


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


texts = [make_text() for _ in range(4000)]
gopher_quality_filter.split_into_words = lambda text, language: text.split()
judge = gopher_quality_filter.GopherQualityFilter(min_doc_words=20)
with tempfile.TemporaryDirectory() as scratch:
    path = os.path.join(scratch, "texts.jsonl")
    with open(path, "w", encoding="utf-8") as out:
        for number, text in enumerate(texts):
            out.write(json.dumps({"id": number, "text": text}) + "\n")
    command = [os.path.join(sys.argv[1], "dsdata"), "extract", path, "-q", "--filter", "gopher,min-words=20"]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
kept = {json.loads(line)["id"] for line in run.stdout.splitlines()}
failures, reasons = 0, {}
for number, text in enumerate(texts):
    verdict = judge.filter(Document(text=text, id=str(number)))
    reason = "kept" if verdict is True else verdict[1]
    reasons[reason] = reasons.get(reason, 0) + 1
    if (verdict is True) != (number in kept):
        failures += 1
        print(f"datatrove: {reason}; dsdata: {'kept' if number in kept else 'dropped'}: {text!r}")
print(reasons)
if len(reasons) < 8 or failures:
    sys.exit(f"{failures} verdicts differ, {len(reasons)} kinds of verdicts")
