#!/usr/bin/env python3
"""Writes pipeline/text/generated/codes_iso639.c: the language codes of ISO 639 and the English names of the languages
that have a Wikipedia or a code of two letters. The facts come from Debian's package iso-codes.

    scripts/make_codes.py [FOLDER] >pipeline/text/generated/codes_iso639.c        FOLDER: /usr/share/iso-codes/json
"""
import json
import re
import sys
from pathlib import Path

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/share/iso-codes/json")
root = Path(__file__).resolve().parent.parent


def rows_of(part):
    return json.loads((folder / f"iso_{part}.json").read_text(encoding="utf-8"))[part]


def wikipedias():
    """The codes in language_is_code."""
    return set((root / "data/words/wikipedia_codes.txt").read_text(encoding="utf-8").split())


def short(name):
    """The name without the part in brackets: Modern Greek (1453-)."""
    return re.sub(r"\s*\(.*", "", name).split(";")[0]


def main():
    individual, collective = rows_of("639-3"), rows_of("639-2") + rows_of("639-5")
    older = {row["alpha_3"]: row["bibliographic"] for row in collective if "bibliographic" in row}
    triples = {row["alpha_3"] for row in individual + collective} | set(older.values())
    triples = sorted(code for code in triples if re.fullmatch("[a-z]{3}", code))
    wikis = wikipedias()
    names = []
    for row in individual:
        three = row["alpha_3"]
        if "alpha_2" in row:
            names.append((row["alpha_2"], three, older.get(three, ""), short(row["name"])))
        elif three in wikis:
            names.append((three, "", "", short(row["name"])))
    names.sort()
    print("/* Made by scripts/make_codes.py of the facts in Debian's package iso-codes; not to be changed by hand. */")
    print('#include "pipeline/text/words/codes_iso639.h"\n')
    print("// clang-format off\nconst struct iso_language iso_languages[] = {")
    line = "   "
    for row in names:
        text = " {" + ", ".join(f'"{word}"' for word in row) + "},"
        if len(line + text) > 118:
            print(line)
            line = "   "
        line += text
    print(line + "\n};\n// clang-format on\n")
    print("const size_t iso_language_count = sizeof iso_languages / sizeof *iso_languages;\n")
    print("const char iso_triples[] =")
    text = "".join(triples)
    lines = [text[at:at + 108] for at in range(0, len(text), 108)]
    print("\n".join(f'    "{line}"' for line in lines) + ";\n")
    print("const size_t iso_triple_count = sizeof iso_triples / 3;")


main()
