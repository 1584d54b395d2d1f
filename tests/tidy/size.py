#!/usr/bin/env python3
"""Prints how many lines of C, C++ and CUDA are written by hand, by folder. A line is what `wc -l` counts, blanks and
comments included, of the tracked files *.c *.h *.cc *.cpp *.cu *.cuh. A file whose first comment says "Written by
scripts/X" or "Made by scripts/X" is generated and counts apart; it is an error if there is no script X, so that no
table leaves the count by its comment alone. Tables that cmake/tables.cmake makes of data/ are not tracked and not
counted; neither is data/. It is also an error if reference/ has more lines than README.md says."""

import collections
import pathlib
import re
import sys

import tracked

SUFFIXES = {".c", ".h", ".cc", ".cpp", ".cu", ".cuh"}
REFERENCE_MAX = 1500
MADE = re.compile(r"^/\*(?:(?!\*/).)*?\b(?:[Ww]ritten|[Mm]ade)\s+(?:\*\s+)?by\s+(?:\*\s+)?(scripts/[\w.]+\.py)", re.S)


def folder(name):
    parts = pathlib.PurePosixPath(name).parts[:-1]
    return "/".join(parts[:2])


def count(names):
    """{folder: [lines by hand, lines generated]}, and what is wrong"""
    lines, wrong = collections.defaultdict(lambda: [0, 0]), []
    for name in names:
        if pathlib.PurePosixPath(name).suffix not in SUFFIXES:
            continue
        text = tracked.text(name)
        made = MADE.match(text)
        if made and not (tracked.ROOT / made.group(1)).is_file():
            wrong.append(f"{name}: {made.group(1)} does not exist")
        lines[folder(name)][bool(made)] += text.count("\n")
    return lines, wrong


def total(lines, chosen):
    return [sum(both[kind] for name, both in lines.items() if chosen(name)) for kind in (0, 1)]


def main():
    lines, wrong = count(tracked.files())
    print(f"{'folder':20} {'by hand':>8} {'generated':>10}")
    for name, (hand, generated) in sorted(lines.items()):
        print(f"{name:20} {hand:8} {generated:10}")
    for title, chosen in (("without tests", lambda name: name.split("/")[0] != "tests"),
                          ("tests", lambda name: name.split("/")[0] == "tests"), ("all", lambda name: True)):
        hand, generated = total(lines, chosen)
        print(f"{title:20} {hand:8} {generated:10}")
    if lines["reference"][0] > REFERENCE_MAX:
        wrong.append(f"reference has more than {REFERENCE_MAX} lines, which README.md promises")
    for fault in wrong:
        print(fault)
    return len(wrong) > 0


if __name__ == "__main__":
    sys.exit(main())
