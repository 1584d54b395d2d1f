#!/usr/bin/env python3
"""Cost of --duplicates drop: CPU time of `dsdata build --threads 1` with it, relative to keep.

The dump is synthetic, as bzip2 and plain. The programs alternate; the least time of each counts.

    bench_duplicates.py [--bytes 50M] [--runs 5] [--bin build/release] [--without DIR]

--without DIR: also keep relative to the program in DIR, which does not search for duplicates (note_text of
pipeline/build/digest.c returns true at once, unless options->only_notes)."""

import argparse
import bz2
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

PROJECT = pathlib.Path(__file__).resolve().parents[2]

parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("--bytes", default="50M", help="of the XML")
parser.add_argument("--runs", type=int, default=5)
parser.add_argument("--bin", type=pathlib.Path, default=PROJECT / "build" / "release")
parser.add_argument("--without", type=pathlib.Path)
options = parser.parse_args()


def cpu_seconds(command):
    """User and system time of a process that must succeed."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = child.stderr.read().decode()
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"{command}: status {status}\n{said}")
    return usage.ru_utime + usage.ru_stime


with tempfile.TemporaryDirectory() as scratch:
    scratch = pathlib.Path(scratch)
    plain, packed, vocab, out = (scratch / name for name in ("dump.xml", "dump.xml.bz2", "vocab.txt", "out"))
    with open(plain, "wb") as file:
        subprocess.run([sys.executable, PROJECT / "scripts/make_dump.py", "--bytes", options.bytes], stdout=file,
                       check=True)
    packed.write_bytes(bz2.compress(plain.read_bytes()))
    subprocess.run([options.bin / "dsdata", "vocab", plain, "-q", "--out", vocab], check=True)
    print(f"{'dump':<6} {'keep s':>8} {'drop/keep':>10}" + (f" {'keep/without':>13}" if options.without else ""))
    for dump in (packed, plain):
        contestants = {"keep": (options.bin, "keep"), "drop": (options.bin, "drop")}
        if options.without:
            contestants["without"] = (options.without, "keep")
        least = {}
        for _ in range(options.runs):
            for name, (folder, kind) in contestants.items():
                shutil.rmtree(out, ignore_errors=True)
                seconds = cpu_seconds([folder / "dsdata", "build", dump, "--vocab", vocab, "--out", out,
                                       "--threads", "1", "--duplicates", kind])
                least[name] = min(seconds, least.get(name, seconds))
        row = f"{'bzip2' if dump == packed else 'plain':<6} {least['keep']:8.2f} {least['drop'] / least['keep']:10.2f}"
        print(row + (f" {least['keep'] / least['without']:13.3f}" if options.without else ""))
