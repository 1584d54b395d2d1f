#!/usr/bin/env python3
"""Writes pipeline/dump/encoding_tables.c, the single-byte encodings, from Python's codecs.

    scripts/encoding_tables.py            rewrite the tables
    scripts/encoding_tables.py --check    exit 1 if they are not up to date
"""
import pathlib
import sys

TABLES = pathlib.Path(__file__).resolve().parent.parent / "pipeline/dump/encoding_tables.c"
DOS = (437, 720, 737, 775, 850, 852, 855, 857, 858, 860, 861, 862, 863, 865, 866, 869, 1125)
# Our name, then Python's codec. The other names that users type are in encodings.c.
ENCODINGS = (
    [(f"iso-8859-{part}", f"iso8859-{part}") for part in (*range(1, 12), 13, 14, 15, 16)]
    + [(f"windows-{page}", f"cp{page}") for page in (874, *range(1250, 1259))]
    + [(f"ibm{page}", f"cp{page}") for page in DOS]
    + [("koi8-r", "koi8-r"), ("koi8-u", "koi8-u"), ("koi8-t", "koi8-t"), ("ptcp154", "ptcp154"), ("kz-1048", "kz1048")]
    + [("macintosh", "mac-roman"), ("x-mac-ce", "mac-latin2"), ("x-mac-cyrillic", "mac-cyrillic")]
    + [(f"x-mac-{name}", f"mac-{name}") for name in ("croatian", "greek", "iceland", "romanian", "turkish")]
)
HEAD = """/* Written by scripts/encoding_tables.py. The characters of the bytes 80 to FF; 0: there is none. */
#include "pipeline/dump/encoding_tables.h"

// clang-format off
const struct encoding_table encoding_tables[] = {
"""


def characters(codec):
    for byte in range(256):
        try:
            character = ord(bytes([byte]).decode(codec))
        except UnicodeDecodeError:
            character = 0
        if byte >= 0x80:
            yield character
        elif character != byte:
            raise SystemExit(f"{codec}: byte {byte:02x} is not ASCII")


def main():
    text = HEAD
    for name, codec in ENCODINGS:
        values = list(characters(codec))
        text += f'    {{"{name}", {{\n'
        for row in range(0, 128, 16):
            text += "        " + ",".join(f"0x{value:04x}" for value in values[row : row + 16]) + ",\n"
        text += "    }},\n"
    text += "    {0},\n};\n// clang-format on\n"
    if sys.argv[1:] == ["--check"]:
        return int(TABLES.read_text() != text)
    TABLES.write_text(text)
    return 0


sys.exit(main())
