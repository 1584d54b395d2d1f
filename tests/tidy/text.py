#!/usr/bin/env python3
"""No tabs, no blanks at the ends of lines, a newline at the end of each file; comments of C within 120 columns, which
clang-format leaves alone. Diagrams and tables, which are indented, may be wider."""

import pathlib
import re
import sys

import tracked

DATA = {"scripts/tokenizer_texts.py"}  # texts of a test, blanks included
CHECKED = {".c", ".h", ".cc", ".cu", ".cuh", ".py", ".sh", ".bash", ".cmake", ".md"}

WIDE = re.compile(r"\s*(/\*|\*) (?! )\S")
C = {".c", ".h", ".cc", ".cu", ".cuh"}


def faults(name, text):
    if text and not text.endswith("\n"):
        yield 0, "no newline at the end"
    for number, line in enumerate(text.split("\n"), 1):
        if line != line.rstrip():
            yield number, "blanks at the end"
        if "\t" in line:
            yield number, "a tab"
        if len(line) > 120 and pathlib.Path(name).suffix in C and WIDE.match(line):
            yield number, "a comment beyond column 120"


found = 0
for name in tracked.files():
    if pathlib.Path(name).suffix in CHECKED and name not in DATA:
        for number, what in faults(name, tracked.text(name)):
            print(f"{name}:{number}: {what}")
            found += 1
sys.exit(found > 0)
