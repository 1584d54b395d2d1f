#!/usr/bin/env python3
"""JSON lines against Python's json: lines generated from a seed, most of them valid, many odd, some broken. `dsdata
extract` keeps exactly the lines in which json.loads(strict=False), after decode("utf-8", "replace"), finds an object
with a text that is not blank, and gives the same text. The counts say how many were dropped and repaired."""

import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

LINES = 6000
sys.setrecursionlimit(100000)
sys.set_int_max_str_digits(0)
BLANKS = re.compile("[ \t\n\v\f\r]+")
STRINGS = ["", "a", "é中😀", r"\n", r"\\\"", r"\u00e9", r"\ud83d", r"\ude00", r"\ud83d\ude00", r"\ud83d\ud83d\ude00",
           r"\ud83dx", r"\u0000", "\t", "\x01", "\x1f", "\x7f", r"\/", "{", "}", "[", ",", ":", r"\uFFFF"]
BAD_STRINGS = [r"\x", r"\u12", r"\U0041", "\\"]
NUMBERS = ["0", "-0", "12", "-5", "1.5", "1e5", "1E-5", "1e400", "-1e999999999", "18446744073709551615",
           "-9223372036854775809", "9" * 400, "0." + "0" * 400 + "1", "NaN", "Infinity", "-Infinity", "1" + "0" * 5000]
BAD_NUMBERS = ["01", "+1", ".5", "1.", "0x10", "-", "1e", "-NaN", "nan", "inf", "- 1", "1_000"]
KEYS = ["text", "text", "id", "title", "url", "a", "b", "", r"t\u0065xt", "tex", r"\ud800"]


class Lines:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def pick(self, good, bad):
        return self.random.choice(bad if self.random.random() < 0.004 else good)

    def string(self):
        return '"' + "".join(self.pick(STRINGS, BAD_STRINGS) for _ in range(self.random.randrange(5))) + '"'

    def value(self, depth):
        kind = self.random.randrange(10 if depth < 4 else 7)
        if kind < 3:
            return self.string()
        if kind < 5:
            return self.pick(NUMBERS, BAD_NUMBERS)
        if kind < 7:
            return self.pick(["true", "false", "null"], ["True", "None", "nul", "undefined"])
        if kind == 7:
            return "[" + ", ".join(self.value(depth + 1) for _ in range(self.random.randrange(4))) + "]"
        return self.object(depth + 1, self.random.randrange(4))

    def object(self, depth, count):
        pairs = []
        for _ in range(count):
            key = self.random.choice(KEYS) if depth == 0 else self.random.choice("ab")
            value = self.string() if key == "text" and self.random.random() < 0.9 else self.value(depth)
            pairs.append(f'"{key}"{self.blank()}:{self.blank()}{value}')
        comma = self.pick([","], [", ,", "", ";"])
        return "{" + self.blank() + comma.join(pairs) + self.pick([""], [","]) + "}"

    def blank(self):
        return self.random.choice(["", "", "", " ", "\t", " \r "])

    def line(self):
        text = self.blank() + self.object(0, self.random.randrange(7)) + self.blank()
        text += self.pick([""], ["x", "{}", "]"])
        if self.random.random() < 0.05:
            text = "\ufeff" + text
        if self.random.random() < 0.01:
            depth = self.random.randrange(500)
            text = '{"b":' + "[" * depth + "]" * depth + ',"text":"deep"}'
        line = text.encode()
        if self.random.random() < 0.1:
            at = self.random.randrange(len(line) + 1)
            part = self.random.choice([b"\xff", b"\xc3", b"\xe2\x82", b"\xed\xa0\xbd", b"\xf0\x9f"])
            line = line[:at] + part + line[at:]
        return line


def text_of(line):
    """The text that Python reads, or None."""
    try:
        value = json.loads(line.decode("utf-8", "replace").strip(" \t\r\n").lstrip("\ufeff"), strict=False)
    except ValueError:
        return None
    text = value.get("text") if isinstance(value, dict) else None
    if not isinstance(text, str):
        return None
    # A pair of escapes is one character in Python too; halves that are left are U+FFFD.
    return BLANKS.sub(" ", re.sub("[\ud800-\udfff]", "\ufffd", text)).strip(" ")


def main():
    dsdata = pathlib.Path(sys.argv[1]) / "dsdata"
    lines = Lines(1)
    written = [lines.line() for _ in range(LINES)]
    read = [text_of(line) for line in written]
    texts = [text for text in read if text]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "lines.jsonl"
        # The first line decides what the file is, so it is a plain one.
        path.write_bytes(b"\n".join([b'{"text":"first"}'] + written) + b"\n")
        done = subprocess.run([dsdata, "extract", "--json", "-q", "--jsonl", path], capture_output=True, check=True)
    found = [BLANKS.sub(" ", json.loads(line)["text"]).strip(" ") for line in done.stdout.splitlines()][1:]
    assert len(texts) > LINES / 4 and read.count(None) > LINES / 50, "the generator makes too few of one kind"
    for number, (expected, got) in enumerate(zip(texts, found)):
        assert expected == got, f"text {number}: {expected!r}, not {got!r}"
    assert len(found) == len(texts), f"{len(found)} texts instead of {len(texts)}"
    facts = json.loads(done.stderr.splitlines()[-1])
    dropped = facts["dropped"]
    assert facts["documents"] == len(texts) + 1 and facts["read"] == LINES + 1, facts
    assert sum(dropped.values()) == LINES - len(texts), facts
    assert dropped["empty"] == read.count(""), facts
    for reason in ("encoding", "surrogate", "character", "number", "key", "byte-order-mark"):
        assert facts["repaired"][reason] > 0, facts
    print(f"{len(texts)} of {LINES} lines have the text that Python reads; dropped {dropped}")


main()
