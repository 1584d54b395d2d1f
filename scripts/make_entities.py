#!/usr/bin/env python3
"""Writes data/entities.txt: HTML's named character references, from Python's copy of the standard's table, and the two
that MediaWiki adds (MW_ENTITY_ALIASES of its Sanitizer.php).

    scripts/make_entities.py >data/entities.txt
"""
import html.entities
import sys

HEAD = """\
# Named character references: those of HTML 5 that end with a semicolon, and two of MediaWiki. "name = code points"
# (hexadecimal, one or two), sorted bytewise. Written by scripts/make_entities.py.
"""


def main():
    sys.stdout.reconfigure(encoding="utf-8")
    texts = {name[:-1]: text for name, text in html.entities.html5.items() if name.endswith(";")}
    texts |= {"רלמ": texts["rlm"], "رلم": texts["rlm"]}
    print(HEAD, end="")
    for name in sorted(texts, key=str.encode):
        print(f"{name} = {' '.join(f'{ord(letter):04X}' for letter in texts[name])}")


main()
