#!/usr/bin/env python3
"""What is compiled with DS_FAULTS for tests is also compiled without, as programs are that people install: the files
of the rooms that include base/faults.h give no warning then. Makes no code."""

import json
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
commands = pathlib.Path(sys.argv[1]) / "compile_commands.json"
if not commands.exists():
    print("no compile commands: skipped")
    sys.exit(77)
tried = failed = 0
for entry in json.loads(commands.read_text()):
    path = pathlib.Path(entry["file"])
    if ROOT / "tests" in path.parents or path.name == "faults.c" or '"base/faults.h"' not in path.read_text():
        continue
    words = [word for word in shlex.split(entry["command"]) if not word.startswith("-DDS_FAULTS")]
    tried += 1
    failed += subprocess.run([*words, "-fsyntax-only", "-Werror"], cwd=entry["directory"], check=False).returncode != 0
print(f"{tried} files without DS_FAULTS, {failed} with warnings or errors")
sys.exit(failed > 0 or tried == 0)
