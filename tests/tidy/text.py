#!/usr/bin/env python3
"""No tabs, no blanks at line ends, a newline at the end of each file, and 120 columns: in Markdown, Python and shell,
and in comments of C, which clang-format leaves alone (diagrams and tables there, which are indented, may be wider). A
line of Markdown that is one URL may be wider, but no row of a table: shorten it, or put the long text below the table.
So may a line of JSON in a here-document. A file that begins with #! is executable, because READMEs call it by name."""

import os
import pathlib
import re
import sys

import tracked

DATA = {"scripts/tokenizer_texts.py"}  # texts of a test, blanks included
CHECKED = {".c", ".h", ".cc", ".cu", ".cuh", ".py", ".sh", ".bash", ".cmake", ".md"}

WIDE = re.compile(r"\s*(/\*|\*) (?! )\S")
C = {".c", ".h", ".cc", ".cu", ".cuh"}
SCRIPTS = {".py", ".sh", ".bash", ".sbatch"}
URL = re.compile(r"\s*([-*] )?<?https?://\S+$")


def is_wide(name, line):
    suffix = pathlib.Path(name).suffix
    if len(line) <= 120:
        return False
    if suffix == ".md":
        return not URL.match(line)
    if suffix in SCRIPTS:
        return name not in DATA and not line.startswith('{"')
    return suffix in C and bool(WIDE.match(line))


def faults(name, text):
    if text and not text.endswith("\n"):
        yield 0, "no newline at the end"
    for number, line in enumerate(text.split("\n"), 1):
        if line != line.rstrip():
            yield number, "blanks at the end"
        if "\t" in line:
            yield number, "a tab"
        if is_wide(name, line):
            yield number, "beyond column 120"


found = 0
for name in tracked.files():
    if tracked.text(name).startswith("#!") and not os.access(tracked.ROOT / name, os.X_OK):
        print(f"{name}: begins with #! and is not executable")
        found += 1
    if pathlib.Path(name).suffix in CHECKED and name not in DATA:
        for number, what in faults(name, tracked.text(name)):
            print(f"{name}:{number}: {what}")
            found += 1
sys.exit(found > 0)
