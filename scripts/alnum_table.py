#!/usr/bin/env python3
"""Writes trainer/tune/alnum.h: the ranges of code points beyond ASCII for which Python's str.isalnum() is true, as
needed for the word borders of its regular expressions. In: the Unicode data of the running Python (3.11 has 14.0).
Out: the file."""
import pathlib
import unicodedata


def main():
    ranges = []
    for point in range(128, 0x110000):
        if chr(point).isalnum():
            if ranges and ranges[-1][1] == point - 1:
                ranges[-1][1] = point
            else:
                ranges.append([point, point])
    lines = [f"    {{0x{a:x}, 0x{b:x}}}," for a, b in ranges]
    rows, row = [], ""
    for line in lines:
        item = line.strip()
        if len(row) + len(item) + 1 > 115:
            rows.append("    " + row)
            row = ""
        row += (" " if row else "") + item
    rows.append("    " + row)
    text = (f"/* Written by scripts/alnum_table.py: what str.isalnum() takes beyond ASCII, Unicode "
            f"{unicodedata.unidata_version}. */\n"
            "#pragma once\n\n#include <stdint.h>\n\n"
            "/* clang-format off */\nstatic const struct {\n    uint32_t first, last;\n} alnum_ranges[] = {\n"
            + "\n".join(rows) + "\n};\n/* clang-format on */\n")
    path = pathlib.Path(__file__).resolve().parent.parent / "trainer/tune/alnum.h"
    path.write_text(text)
    print(f"{path}: {len(ranges)} ranges")


if __name__ == "__main__":
    main()
