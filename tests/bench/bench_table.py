#!/usr/bin/env python3
"""The speed table of docs/BENCHMARKS.md: `dsdata build` against decompression, its parts, scaling and growth.

The programs alternate; the least time of each counts (wall time where a row says wall, else CPU time).

    bench_table.py [--from DUMP] [--vocab FILE] [--runs 5] [--bin build/release] [--cache build/bench]
                   [--growth 6M,100M,2G]

--from DUMP repeats the pages of that dump; without it, pages are synthetic. Without --vocab, one is learned once."""

import argparse
import bz2
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

PROJECT = pathlib.Path(__file__).resolve().parents[2]
UNITS = {"K": 10**3, "M": 10**6, "G": 10**9}

parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("--from", dest="source", type=pathlib.Path)
parser.add_argument("--vocab", type=pathlib.Path)
parser.add_argument("--runs", type=int, default=5)
parser.add_argument("--bin", type=pathlib.Path, default=PROJECT / "build" / "release")
parser.add_argument("--cache", type=pathlib.Path, default=PROJECT / "build" / "bench")
parser.add_argument("--growth", default="6M,100M", help="sizes of XML, to compare time per byte; none: -")
options = parser.parse_args()
dsdata = options.bin / "dsdata"
options.cache.mkdir(parents=True, exist_ok=True)
out = options.cache / "out"


def dump_of(size):
    """A single-stream dump of about `size` of XML, made once, with its plain form beside it."""
    name = options.source.name.removesuffix(".xml.bz2") if options.source else "synthetic"
    plain = options.cache / f"{name}-{size}.xml"
    packed = plain.with_suffix(".xml.bz2")
    if not packed.exists():
        count = str(int(float(size[:-1]) * UNITS[size[-1]]))
        maker = ([PROJECT / "tests/bench/repeat_dump.py", options.source, count] if options.source
                 else [PROJECT / "scripts/make_dump.py", "--bytes", count, "--seed", "1"])
        with open(plain, "wb") as file:
            subprocess.run([sys.executable, *maker], stdout=file, check=True)
        packer = "lbzip2" if shutil.which("lbzip2") else "bzip2"
        with open(packed.with_suffix(".part"), "wb") as file:
            subprocess.run([packer, "-9", "-c", plain], stdout=file, check=True)
        packed.with_suffix(".part").rename(packed)
    return packed, plain


def multistream(plain):
    """The same dump in the form of Wikimedia's multistream dumps: one stream each for the head, every hundred pages,
    and the foot; made once."""
    packed = plain.with_suffix(".multistream.xml.bz2")
    if not packed.exists():
        parts = re.split(rb"(?<=</page>\n)", plain.read_bytes())
        head, page = parts[0].split(b"  <page>", 1)
        parts[0] = b"  <page>" + page
        streams = [head] + [b"".join(parts[at:at + 100]) for at in range(0, len(parts) - 1, 100)] + [parts[-1]]
        with open(packed.with_suffix(".part"), "wb") as file:
            for stream in streams:
                file.write(bz2.compress(stream))
        packed.with_suffix(".part").rename(packed)
    return packed


def run(command):
    """(wall, cpu) seconds of a command whose output is discarded."""
    begun = time.monotonic()
    with open(os.devnull, "wb") as nowhere:
        process = subprocess.Popen([str(word) for word in command], stdout=nowhere, stderr=nowhere)
        _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{' '.join(map(str, command))}: ended with {status}")
    return time.monotonic() - begun, used.ru_utime + used.ru_stime


def build(source, threads):
    shutil.rmtree(out, ignore_errors=True)
    return [dsdata, "build", "-q", "--wiki", source, "--vocab", vocab, "--threads", threads, "--out", out]


def least(contestants, runs):
    """name → (least wall, least CPU), alternating. Each value is a function that returns the command."""
    best = {}
    for _ in range(runs):
        for name, command in contestants.items():
            wall, cpu = run(command())
            before = best.get(name, (wall, cpu))
            best[name] = min(before[0], wall), min(before[1], cpu)
    return best


def row(what, value, bar):
    print(f"| {what} | {value} | {bar} |", flush=True)


packed, plain = dump_of("100M")
vocab = options.vocab or options.cache / "vocab.txt"
if not vocab.exists():
    subprocess.run([dsdata, "vocab", "-q", packed, "--out", vocab], check=True)
xml_bytes = plain.stat().st_size
two = min(2, os.cpu_count())
contestants = {
    "bzip2": lambda: ["bzip2", "-dc", packed],
    "build": lambda: build(packed, two),
    "one": lambda: build(packed, 1),
    "plain": lambda: build(plain, 1),
    "extract": lambda: [dsdata, "extract", "-q", "--format", "sentences", "--threads", 1, plain],
}
if shutil.which("lbzip2"):
    many = multistream(plain)
    contestants["lbzip2"] = lambda: ["lbzip2", "-dc", "-n", two, packed]
    contestants["build of many"] = lambda: build(many, two)
    contestants["lbzip2 of many"] = lambda: ["lbzip2", "-dc", "-n", two, many]
best = least(contestants, options.runs)
subprocess.run([str(word) for word in build(packed, two)], check=True, stderr=subprocess.DEVNULL)
facts = json.loads((out / "build.json").read_text())

print(f"{packed.name}: {packed.stat().st_size:,} bytes, {xml_bytes:,} of XML; least of {options.runs}")
print("| what | measured | bar |")
print("|---|---|---|")
if "lbzip2" in best:
    row(f"`dsdata build`, both lengths, {two} threads, wall, against `lbzip2 -dc`",
        f"{best['build'][0] / best['lbzip2'][0]:.2f} × ({best['build'][0]:.2f} s)", "≤ 1.0 ×, aim 0.6 ×")
    row("the same of a multistream dump",
        f"{best['build of many'][0] / best['lbzip2 of many'][0]:.2f} × ({best['build of many'][0]:.2f} s)",
        "≤ 1.0 ×, aim 0.6 ×")
row("the same against `bzip2 -dc`", f"{best['build'][0] / best['bzip2'][0]:.2f} ×", "")
row("everything after decoding (plain XML, 1 thread), CPU, against libbz2's decoding CPU",
    f"{best['plain'][1] / best['bzip2'][1]:.2f}", "≤ 0.35, aim 0.2")
row("extraction from plain XML to sentences, program as a whole",
    f"{xml_bytes / 1e6 / best['extract'][1]:.0f} MB/s of XML per core", "≥ 250, aim 500")
row(f"{two} threads over 1, wall", f"{best['one'][0] / best['build'][0]:.2f} ×", "≥ 1.85 ×")
row("peak memory, default settings", f"{facts['peak_memory_bytes'] / 2**20:.0f} MiB", "aim 300 MiB")
if options.growth != "-":
    times = []
    for size in options.growth.split(","):
        packed, plain = dump_of(size)
        runs = options.runs if plain.stat().st_size < 10**9 else 1
        cpu = least({"build": lambda: build(packed, two)}, runs)["build"][1]
        times.append((size, cpu / plain.stat().st_size * 1e9))
    row("growth: CPU per byte of XML", ", ".join(f"{size} {ns:.1f} ns" for size, ns in times), "± 10 %")
shutil.rmtree(out, ignore_errors=True)
