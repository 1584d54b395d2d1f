#!/usr/bin/env python3
"""Repeats the pages of a real dump until the XML has a given size: repeat_dump.py FILE.xml.bz2 BYTES > x.xml

The copies are farther apart than a bzip2 block (if FILE has more than 900 kB), so they compress no better than the
original. Page ids repeat, which does not affect benchmarks.
"""

import bz2
import sys
from pathlib import Path


def main():
    path, size = Path(sys.argv[1]), int(sys.argv[2])
    data = path.read_bytes()
    xml = bz2.decompress(data) if data.startswith(b"BZh") else data
    start, end = xml.index(b"  <page>"), xml.rindex(b"</page>") + len(b"</page>\n")
    head, pages, tail = xml[:start], xml[start:end], xml[end:]
    out = sys.stdout.buffer
    out.write(head)
    for _ in range(max(1, round(size / len(pages)))):
        out.write(pages)
    out.write(tail)


if __name__ == "__main__":
    main()
