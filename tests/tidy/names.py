#!/usr/bin/env python3
"""One name for one thing: base names of source files and names declared in headers are unique in the tree. A file of
trainer/cuda may have the name of its counterpart in trainer/cpu, and its names stay inside that folder."""

import collections
import pathlib
import re
import sys

import tracked

ROOMS = {"base", "tokenizer", "shards", "pipeline", "trainer"}
# Each program has a main, each module of --comm a table.
TWICE = {"main", "dstrain_comm"}
TYPE = re.compile(r"^(?:struct|enum|union) (\w+) \{", re.M)
FUNCTION = re.compile(r"^(?!static|typedef|#|\s|/\*|return\b|else\b)[A-Za-z_][\w \*]*?\b(\w+)\([^;{}]*\)\s*(?:;|$)",
                      re.M)

files = collections.defaultdict(list)
names = collections.defaultdict(set)
for name in tracked.files():
    path = pathlib.PurePosixPath(name)
    if path.parts[0] not in ROOMS or path.suffix not in {".c", ".h", ".cc", ".cu", ".cuh"}:
        continue
    inside = name.startswith("trainer/cuda/")
    paired = inside and pathlib.Path(tracked.ROOT, "trainer/cpu", path.name).exists()
    if not paired:
        files[path.name].append(name)
    if path.suffix == ".h" and not inside:
        text = tracked.text(name)
        for kind, pattern in (("type", TYPE), ("function", FUNCTION)):
            for found in pattern.findall(text):
                names[kind, found].add(name)

found = 0
for name, places in sorted(files.items()):
    stems = {place.rsplit(".", 1)[0] for place in places}
    if len(stems) > 1:
        print(f"{name}: {' '.join(places)}")
        found += 1
for (kind, name), places in sorted(names.items()):
    if len(places) > 1 and name not in TWICE:
        print(f"{kind} {name}: declared in {' '.join(sorted(places))}")
        found += 1
sys.exit(found > 0)
