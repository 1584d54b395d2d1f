#!/usr/bin/env python3
"""Tests and programs read nothing outside the checkout but what DS_DATA_DIR names: the default folder of that variable
is named beside it only. Benchmarks (tests/bench) take their data as arguments."""

import re
import sys

import tracked

FOLDER = re.compile(r"""\.\./shared\b|parent\s*/\s*["']shared|["'/]shared/data|(?<![\w.])/(home|root|work)/\w""")

found = 0
for name in tracked.files():
    if not name.endswith((".c", ".h", ".cc", ".py", ".sh", ".bash", ".cmake")):
        continue
    if name.startswith(("tests/bench/", "tests/tidy/")):
        continue
    lines = tracked.text(name).split("\n")
    for number, line in enumerate(lines):
        if FOLDER.search(line) and "DS_DATA_DIR" not in "".join(lines[max(0, number - 1):number + 1]):
            print(f"{name}:{number + 1}: a path outside the checkout: {line.strip()}")
            found += 1
sys.exit(found > 0)
