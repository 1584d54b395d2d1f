#!/usr/bin/env python3
"""Writes tokenizer/bpe_tables.c from tokenizer/bpe_facts.txt, and what Unicode composes from Python's unicodedata.

    scripts/bpe_tables.py            rewrite the tables
    scripts/bpe_tables.py --check    exit 1 if they are not up to date, 77 if Python is too old
"""
import sys
import unicodedata

import unicode_tables

FACTS = unicode_tables.ROOT / "tokenizer/bpe_facts.txt"
TABLES = unicode_tables.ROOT / "tokenizer/bpe_tables.c"
CLASSES = {"letter": 1, "number": 2, "space": 3}  # enum split_class; 0: other
WORD, LOOSE = 4, 8  # SPLIT_WORD, SPLIT_LOOSE
JAMO = [*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)]  # compose by arithmetic with what is before them


def pairs(unicode_facts):
    """(first, second, both) for each canonical composition."""
    for point in range(0x110000):
        if 0xAC00 <= point < 0xD7A4 or point in unicode_facts["undecomposed"]:
            continue
        text = chr(point)
        parts = unicodedata.decomposition(text).split()
        if len(parts) == 2 and not parts[0].startswith("<") and unicodedata.normalize("NFC", text) == text:
            yield int(parts[0], 16), int(parts[1], 16), point


def generate():
    unicode_facts = unicode_tables.read_facts("hf")
    facts = unicode_tables.read_list(FACTS)
    composed = sorted(pairs(unicode_facts))
    loose = {second for _, second, _ in composed} | set(JAMO)
    for point in range(0x110000):
        text = chr(point)
        if point not in unicode_tables.SURROGATES and (
                (unicodedata.combining(text) and point not in unicode_facts["classless"]) or
                (point not in unicode_facts["undecomposed"] and unicodedata.normalize("NFC", text) != text)):
            loose.add(point)
    classes = bytearray(0x110000)
    for name, value in CLASSES.items():
        for point in facts[name]:
            assert classes[point] == 0
            classes[point] = value
    for point in facts["word"]:
        classes[point] |= WORD
    for point in loose:
        classes[point] |= LOOSE
    changes = [point for point in range(0x110000) if point == 0 or classes[point] != classes[point - 1]]
    out = [
        "/* Written by scripts/bpe_tables.py from tokenizer/bpe_facts.txt: change that. */",
        "/* clang-format off */",
        '#include "tokenizer/bpe_words.h"',
        "",
    ]
    out += unicode_tables.table(f"split_changes[{len(changes)}]", "uint32_t",
                                (f"0x{point << 4 | classes[point]:06X}" for point in changes), 11)
    out += unicode_tables.table(f"nfc_pairs[{len(composed)}]", "struct nfc_pair",
                                ("{0x%X, 0x%X, 0x%X}" % pair for pair in composed), 5)
    out += [f"const size_t split_change_count = {len(changes)}, nfc_pair_count = {len(composed)};", ""]
    return "\n".join(out)


if __name__ == "__main__":
    sys.exit(unicode_tables.main(TABLES, generate))
