#!/usr/bin/env python3
"""No tabs, no blanks at the ends of lines, a newline at the end of each file."""

import pathlib
import sys

import tracked

DATA = {"scripts/tokenizer_texts.py"}  # texts of a test, blanks included
CHECKED = {".c", ".h", ".cc", ".cu", ".cuh", ".py", ".sh", ".bash", ".cmake", ".md"}


def faults(name, text):
    if text and not text.endswith("\n"):
        yield 0, "no newline at the end"
    for number, line in enumerate(text.split("\n"), 1):
        if line != line.rstrip():
            yield number, "blanks at the end"
        if "\t" in line:
            yield number, "a tab"


found = 0
for name in tracked.files():
    if pathlib.Path(name).suffix in CHECKED and name not in DATA:
        for number, what in faults(name, tracked.text(name)):
            print(f"{name}:{number}: {what}")
            found += 1
sys.exit(found > 0)
