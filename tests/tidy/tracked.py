"""The files that git tracks, as names and as text. A tree without git is skipped (exit code 77)."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def files():
    got = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if got.returncode != 0:
        print("not a git checkout: skipped")
        sys.exit(77)
    return [name for name in got.stdout.split("\0") if name and (ROOT / name).is_file()]


def text(name):
    return (ROOT / name).read_text(encoding="utf-8", errors="replace")
