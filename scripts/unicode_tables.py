#!/usr/bin/env python3
"""Writes tokenizer/unicode_tables.c from the two files tokenizer/unicode_facts*.txt and Python's unicodedata.

    scripts/unicode_tables.py            rewrite the tables
    scripts/unicode_tables.py --check    exit 1 if they are not up to date, 77 if Python is too old
"""
import pathlib
import sys
import unicodedata

ROOT = pathlib.Path(__file__).resolve().parent.parent
FACTS = {"hf": ROOT / "tokenizer/unicode_facts.txt", "google": ROOT / "tokenizer/unicode_facts_google.txt"}
TABLES = ROOT / "tokenizer/unicode_tables.c"
BLOCK = 64
HANGUL = range(0xAC00, 0xD7A4)  # decomposed by arithmetic
SURROGATES = range(0xD800, 0xE000)
WORD, SPACE, DROP, PUNCTUATION, IDEOGRAPH = range(5)  # enum letter_kind
NEITHER, CASED, IGNORABLE = range(3)  # enum sigma_context
KINDS = {"space": SPACE, "drop": DROP, "punctuation": PUNCTUATION, "ideograph": IDEOGRAPH}


def read_facts(profile):
    return read_list(FACTS[profile])


def read_list(path):
    """name -> set of code points; "lower" -> {from: to}."""
    text = "\n".join(line for line in path.read_text().splitlines() if not line.startswith("#"))
    facts = {}
    name = None
    for word in text.split():
        if word.endswith(":"):
            name = word[:-1]
            facts[name] = {} if name == "lower" else set()
            continue
        points, _, to = word.partition(">")
        first, _, last = points.partition("-")
        points = range(int(first, 16), int(last or first, 16) + 1)
        if to:
            facts[name].update({point: int(to, 16) + i for i, point in enumerate(points)})
        else:
            facts[name].update(points)
    return facts


def strip(text, facts):
    return "".join(letter for letter in unicodedata.normalize("NFD", text) if ord(letter) not in facts["mark"])


def letters(facts, sigma_facts):
    """One record per code point: (lower, decomposition, ccc, kind, mark, sigma)."""
    kind_of = {}
    for name, kind in KINDS.items():
        for point in facts[name]:
            assert point not in kind_of, f"U+{point:04X} is of two kinds"
            kind_of[point] = kind
    for point in range(0x21, 0x7F):
        if not chr(point).isalnum():
            kind_of[point] = PUNCTUATION  # including the symbols of ASCII
    for point in range(0x110000):
        kind = kind_of.get(point, WORD)
        if point in SURROGATES:
            yield (0, (), 0, DROP, 0, NEITHER)
            continue
        text = chr(point)
        decomposition = ()
        if point not in HANGUL and point not in facts["undecomposed"]:
            parts = tuple(map(ord, unicodedata.normalize("NFD", text)))
            decomposition = parts if parts != (point,) else ()
        ccc = 0 if point in facts["classless"] else unicodedata.combining(text)
        lower = facts["lower"].get(point)
        if lower is None:
            lowered = text.lower()
            assert len(lowered) == 1 or point == 0x130, f"U+{point:04X} grows when it is lowered"
            lower = ord(lowered[0])
        # words.c relies on this: cutting at these kinds before normalizing gives the same as after.
        kinds = {kind_of.get(part, WORD) for part in decomposition}
        assert kinds.isdisjoint({SPACE, DROP}) or kind == SPACE, f"U+{point:04X}"
        assert kind != PUNCTUATION or not decomposition or kinds == {kind}, f"U+{point:04X}"
        assert IDEOGRAPH not in kinds or kind == IDEOGRAPH, f"U+{point:04X}"
        assert kind == WORD or (ccc == 0 and (lower == point or point < 0x80)), f"U+{point:04X}"
        # normalize.c relies on this: decomposing before lowering gives the same as after.
        if lower != point and point not in facts["lower"]:
            assert ccc == 0 and (strip(text.lower(), facts) == strip(text, facts).lower()), f"U+{point:04X}"
        sigma = IGNORABLE if point in sigma_facts["ignorable"] else CASED if point in sigma_facts["cased"] else NEITHER
        yield (lower - point, decomposition, ccc, kind, int(point in facts["mark"]), sigma)


def table(name, kind, rows, per_line):
    lines = [f"const {kind} {name} = {{"]
    rows = list(rows)
    for at in range(0, len(rows), per_line):
        lines.append("    " + ", ".join(rows[at:at + per_line]) + ",")
    return lines + ["};", ""]


def generate():
    records, pool, blocks, block_of = {}, [], {}, {}
    sigma_facts = read_facts("google")
    for profile in FACTS:
        indices = [records.setdefault(letter, len(records)) for letter in letters(read_facts(profile), sigma_facts)]
        block_of[profile] = [blocks.setdefault(tuple(indices[at:at + BLOCK]), len(blocks))
                             for at in range(0, len(indices), BLOCK)]
    assert len(blocks) < 65536 and len(records) < 65536
    rows = []
    places = {}
    for lower, decomposition, ccc, kind, mark, sigma in records:
        if decomposition and decomposition not in places:
            places[decomposition] = len(pool)
            pool += decomposition
        place = places[decomposition] if decomposition else 0
        rows.append(f"{{{lower}, {place}, {len(decomposition)}, {ccc}, {kind}, {mark}, {sigma}}}")
    out = [
        "/* Written by scripts/unicode_tables.py from tokenizer/unicode_facts*.txt: change those. */",
        "/* clang-format off */",
        '#include "tokenizer/unicode.h"',
        "",
    ]
    for profile, numbers in block_of.items():
        lines = table(f"unicode_{profile}", "struct unicode", map(str, numbers), 23)
        out += [lines[0] + "{"] + lines[1:-2] + ["}};", ""]
    flat = [str(index) for block in blocks for index in block]
    out += table(f"unicode_blocks[{len(flat)}]", "uint16_t", flat, 18)
    out += table(f"unicode_letters[{len(rows)}]", "struct letter", rows, 4)
    out += table(f"unicode_decompositions[{len(pool)}]", "uint32_t", (f"0x{point:04X}" for point in pool), 13)
    return "\n".join(out[:-1]) + "\n"


def main(tables, generated):
    if tuple(map(int, unicodedata.unidata_version.split("."))) < (14, 0, 0):
        print(f"needs Unicode 14 or later; this Python has {unicodedata.unidata_version}", file=sys.stderr)
        return 77
    text = generated()
    if sys.argv[1:] == ["--check"]:
        same = tables.read_text() == text
        script = pathlib.Path(sys.argv[0]).name
        print(f"{tables.name} is", "up to date" if same else f"not what scripts/{script} writes")
        return 0 if same else 1
    tables.write_text(text)
    print(f"{tables.relative_to(ROOT)}: {len(text)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(TABLES, generate))
