#!/usr/bin/env python3
"""Checks every file of a build folder that clang is configured for (preset clang) for warnings, without making code.

    scripts/clang_warnings.py BUILD

In: the compile commands that cmake wrote. Out: clang's messages; exit 1 if there is one. What clang finds only when it
makes code is left to scripts/matrix.sh, which builds and runs the tests."""

import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys


def without_output(words):
    """The command that only checks: without -c and -o FILE."""
    kept, skip = [], False
    for word in words:
        if skip:
            skip = False
        elif word == "-o":
            skip = True
        elif word != "-c":
            kept.append(word)
    return [*kept, "-fsyntax-only"]


def check(entry):
    done = subprocess.run(without_output(shlex.split(entry["command"])), cwd=entry["directory"], capture_output=True,
                          text=True)
    return "" if done.returncode == 0 and not done.stderr else done.stderr or f"{entry['file']}: clang failed\n"


def main():
    entries = json.loads((pathlib.Path(sys.argv[1]) / "compile_commands.json").read_text())
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        messages = [text for text in pool.map(check, entries) if text]
    print("".join(messages), end="")
    print(f"{len(entries)} files, {len(messages)} with warnings")
    sys.exit(bool(messages))


if __name__ == "__main__":
    main()
