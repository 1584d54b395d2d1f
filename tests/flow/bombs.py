#!/usr/bin/env python3
"""Small inputs that expand a lot: memory and time stay below a bound, and the exit code is right. Prints the figures
of each. Under a sanitizer, which needs many times the program's memory, only exit codes and time are checked."""

import bz2
import itertools
import pathlib
import subprocess
import sys
import tempfile
import time

MEMORY_MB_MAX = 200
MEMORY_MARGIN_MB = 16  # by which memory may exceed --memory
SECONDS_MAX = 30
BLOCK_TEXT = 45_000_000  # equal bytes, which fit into one block of bzip2 -9
HEAD = '<mediawiki version="0.11" xml:lang="en"><siteinfo><dbname>enwiki</dbname></siteinfo>\n'
PAGE = "<page><title>{}</title><ns>0</ns><id>{}</id><revision><text>{}</text></revision></page>\n"
GOOD = PAGE.format("Tea", 1, "Tea is made of leaves. It is drunk hot.")

EXPATS = GOOD.replace("Tea is made", "<![CDATA[Tea is made]]>")  # a form that the fast path of xml.c leaves to expat


def equal_blocks(count):
    """One stream of `count` blocks, each of BLOCK_TEXT zeros: the bits of one block, repeated."""
    bits = "".join(f"{byte:08b}" for byte in bz2.compress(bytes(BLOCK_TEXT)))
    end = bits.rindex(f"{0x177245385090:048b}")
    block, block_crc, crc = bits[32:end], int(bits[80:112], 2), 0
    for _ in range(count):
        crc = ((crc << 1 | crc >> 31) & 0xFFFFFFFF) ^ block_crc
    bits = bits[:32] + block * count + f"{0x177245385090:048b}{crc:032b}"
    return int(bits.ljust(-(-len(bits) // 8) * 8, "0"), 2).to_bytes(-(-len(bits) // 8), "big")


def streams(before, byte, count, behind):
    """A dump with `count` times BLOCK_TEXT equal bytes in its middle."""
    return bz2.compress(before.encode()) + bz2.compress(byte * BLOCK_TEXT) * count + bz2.compress(behind.encode())


def page(text, behind=GOOD):
    return (HEAD + PAGE.format("Bomb", 2, text) + behind + "</mediawiki>\n").encode()


def nested(unit, inside, closing, bytes_in_all):
    count = bytes_in_all // (len(unit) + len(closing))
    return unit * count + inside + closing * count


HALF, LARGE = 500_000, 4_000_000
NESTED = [
    ("{{a|", "x", "}}"),
    ("{{nowrap|", "x", "}}"),
    ("[[a|", "x", "]]"),
    ("\n{|\n|", "x", "\n|}"),
    ("&lt;div>", "x", "&lt;/div>"),
]
ENTITIES = (
    "<!DOCTYPE page [<!ENTITY a0 'x'>"
    + "".join(f"<!ENTITY a{i} '{f'&a{i - 1};' * 10}'>" for i in range(1, 30))
    + "]>"
)

ALLOWED = "d.xml.bz2"  # with --max-ratio

# name, file, exit code, words on stderr or stdout
INPUTS = [
    ("1 GB of zeros in one bzip2 stream", "a.bz2", lambda: equal_blocks(23), 3, ""),
    ("1 GB of zeros in 23 streams", "b.bz2", lambda: bz2.compress(bytes(BLOCK_TEXT)) * 23, 3, ""),
    (
        "a page of 1 GB after a head",
        "c.xml.bz2",
        lambda: streams(
            HEAD + "<page><title>B</title><id>2</id><revision><text>",
            b"a",
            23,
            "</text></revision></page>\n" + GOOD + "</mediawiki>",
        ),
        6,
        "--max-ratio 10000000",
    ),
    (
        "1 GB of blanks between pages, allowed",
        ALLOWED,
        lambda: streams(HEAD + GOOD, b" ", 23, GOOD + "</mediawiki>"),
        0,
        "Tea is made of leaves",
    ),
    (
        "a document type with entities of entities",
        "e.xml",
        lambda: (ENTITIES + HEAD + GOOD + "</mediawiki>").encode(),
        6,
        "DOCTYPE",
    ),
    (
        "entities of entities in a page",
        "f.xml",
        lambda: page("x", ENTITIES + "<page>&a29;</page>" + EXPATS),
        0,
        "Tea is made of leaves",
    ),
    (
        "4 MB of references to characters",
        "g.xml",
        lambda: page("&amp;#x41;" * (LARGE // 10)),
        0,
        "Tea is made of leaves",
    ),
    ("elements half a million deep", "h.xml", lambda: page("<b>" * HALF, EXPATS), 0, "Tea is made of leaves"),
    ("templates half a million deep", "i.xml", lambda: page(nested(*NESTED[0], LARGE)), 0, "Tea is made of leaves"),
    ("rendered templates, nested", "j.xml", lambda: page(nested(*NESTED[1], LARGE)), 0, "Tea is made of leaves"),
    ("links, nested", "k.xml", lambda: page(nested(*NESTED[2], LARGE)), 0, "Tea is made of leaves"),
    ("tables, nested", "l.xml", lambda: page(nested(*NESTED[3], LARGE)), 0, "Tea is made of leaves"),
    ("elements of wikitext, nested", "m.xml", lambda: page(nested(*NESTED[4], LARGE)), 0, "Tea is made of leaves"),
    ("4 MB of apostrophes", "n.xml", lambda: page("'" * LARGE), 0, "Tea is made of leaves"),
    (
        "a million combining marks on a letter",
        "o.xml",
        lambda: page("a" + "\u0327\u0301" * 1_000_000),
        0,
        "Tea is made of leaves",
    ),
    (
        "JSON nested a million deep",
        "p.jsonl",
        lambda: b'{"text": "Tea."}\n{"text": ' + b"[" * 1_000_000 + b"\n{\"text\": \"It is hot.\"}\n",
        0,
        "It is hot.",
    ),
    ("a line of 40 MB", "q.jsonl", lambda: b'{"text": "Tea."}\n{"text": "' + b"a " * 20_000_000 + b'"}\n', 0, "Tea."),
]


SMALL_FILE_MB = 100  # for a file that is refused by its size; 56 of them are dstrain's libraries
TREE_MB = 640  # eight times 64 MiB, plus the text
LINE_BYTES = 15_000_000
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "x"]


def many_values():
    """Values in brackets, whose tree takes 45 times their size."""
    return b"[" + b"[]," * (LINE_BYTES // 3) + b"[]]"


def many_keys():
    letters = "abcdefghijklmnopqrstuvwxyz0123456789_ABC"
    keys = map("".join, itertools.product(letters, repeat=4))
    return b"{" + ",".join(f'"{key}":0' for key in itertools.islice(keys, LINE_BYTES // 9)).encode() + b"}"


# name, value of another member, lines, --memory, its MB, --threads
LINES = [
    ("lines of 15 MB of small values, one thread", many_values, 8, "288M", 302, 1),
    ("lines of 15 MB of small values, 8 threads", many_values, 8, "1G", 1074, 8),
    ("lines of 15 MB of keys", many_keys, 2, "288M", 302, 1),
]

WATCH = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=sys.stderr).returncode
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


class Bombs:
    def __init__(self, build):
        self.build = build
        self.sanitized = any(
            line.startswith("DS_SANITIZE") and line.rstrip().split("=", 1)[1]
            for line in (build / "CMakeCache.txt").read_text().splitlines()
        )
        self.failures = 0

    def run(self, name, expected, words, *command, memory_mb=MEMORY_MB_MAX):
        begun = time.monotonic()
        with tempfile.TemporaryFile() as out:
            # A process in between, because the memory count of a process includes that of the one that started it.
            told = subprocess.run(
                [sys.executable, "-c", WATCH, *map(str, command)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=out,
                check=True,
            ).stdout.split()
            out.seek(0)
            said = out.read().decode("utf-8", "replace")
        seconds, code, megabytes = time.monotonic() - begun, int(told[0]), int(told[1]) / 1000
        good = (
            code == expected
            and words in said
            and seconds < SECONDS_MAX * (5 if self.sanitized else 1)
            and (self.sanitized or megabytes < memory_mb)
            and "Sanitizer" not in said
            and "Assertion" not in said
        )
        print(f"{'' if good else 'FAILED: '}{name}: exit {code}, {seconds:.1f} s, {megabytes:.0f} MB", flush=True)
        if not good:
            print("    " + said[:400].replace("\n", "\n    "))
            self.failures += 1


def many_small_values(bombs, scratch):
    """Files of 63 MB of small values for every reader of JSON; their trees would take 3 to 5 GB."""
    dsdata, dstrain, dataset = bombs.build / "dsdata", bombs.build / "dstrain", scratch / "lines"
    hostile = scratch / "hostile.json"
    hostile.write_bytes(b'{"a":[' + b"{}," * 21_000_000 + b"1]}")
    (dataset / "build.json").write_bytes(hostile.read_bytes())
    for verb in ("verify", "show"):
        bombs.run(f"{verb}, a build.json of 63 MB", 0, "", dsdata, verb, dataset, memory_mb=SMALL_FILE_MB)
    tokenize = (dsdata, "tokenize", "--vocab", hostile, "/dev/null")
    bombs.run("a tokenizer.json of 63 MB", 3, "memory", *tokenize, memory_mb=TREE_MB)
    if dstrain.exists():
        plan = (dstrain, "plan", "--shards", dataset, "--model", hostile)
        bombs.run("a config.json of 63 MB", 6, "larger than", *plan, memory_mb=SMALL_FILE_MB)
        (dataset / "run.json").write_bytes(hostile.read_bytes()[: 15 << 20])
        bombs.run("a run.json of 15 MB", 4, "memory", dstrain, "show", dataset, memory_mb=TREE_MB)
    (dataset / "manifest.json").write_bytes(hostile.read_bytes())
    bombs.run("a manifest of 63 MB", 4, "memory", dsdata, "show", dataset, memory_mb=TREE_MB)


def main():
    bombs = Bombs(pathlib.Path(sys.argv[1]).resolve())
    dsdata = bombs.build / "dsdata"
    if not dsdata.exists():
        print(f"{dsdata} is not built: skipped")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="bombs.") as folder:
        scratch = pathlib.Path(folder)
        for name, file, make, code, words in INPUTS:
            path = scratch / file
            path.write_bytes(make())
            options = ["--max-ratio", "10000000"] if file == ALLOWED else []
            bombs.run(name, code, words, dsdata, "extract", path, "--threads", "2", *options)
            path.unlink()
        path = scratch / "all.xml"
        path.write_bytes(
            page(
                "a" + "\u0327\u0301" * HALF,
                "".join(
                    PAGE.format(f"Bomb {i}", i, text)
                    for i, text in enumerate(
                        [nested(*brackets, LARGE // 4) for brackets in NESTED]
                        + ["x" * LARGE, ". A" * HALF, "'" * LARGE]
                    )
                ),
            )
        )
        bombs.run(
            "all of these, built",
            0,
            "",
            dsdata,
            "build",
            path,
            "--vocab-size",
            "500",
            "--seq",
            "128,512",
            "--threads",
            "2",
            "--out",
            scratch / "set",
        )
        vocabulary = scratch / "vocab.txt"
        vocabulary.write_text("\n".join(PIECES) + "\n")
        for name, value, count, memory, megabytes, threads in LINES:
            path = scratch / "lines.jsonl"
            path.write_bytes((b'{"text":"x. x.","a":' + value() + b"}\n") * count)
            command = [dsdata, "build", path, "--vocab", vocabulary, "--seq", "32",
                       "--fresh", "--out", scratch / "lines"]
            command += ["--memory", memory, "--threads", threads]
            bombs.run(name, 0, f"documents  {count} of {count} kept", *command, memory_mb=megabytes + MEMORY_MARGIN_MB)
            path.unlink()
        many_small_values(bombs, scratch)
        deep = scratch / "tokenizer.json"
        deep.write_bytes(b'{"model": ' + b'{"a": [' * 1_000_000)
        bombs.run("a tokenizer.json nested a million deep", 3, "JSON", dsdata, "tokenize", "--vocab", deep, deep)
        deep.rename(scratch / "manifest.json")
        bombs.run("a manifest nested a million deep", 4, "manifest", dsdata, "show", scratch)
    print(f"{bombs.failures} failures")
    sys.exit(1 if bombs.failures else 0)


if __name__ == "__main__":
    main()
