#!/usr/bin/env python3
"""Writes data/names/plurals.txt: the rules by which languages choose a form for a number, from the copy of Unicode's
Common Locale Data Repository in MediaWiki and from MediaWiki's own additions (Debian's package mediawiki).

    scripts/make_plurals.py [FOLDER] >data/names/plurals.txt       FOLDER: /usr/share/mediawiki/languages/data
"""
import re
import sys
import xml.etree.ElementTree
from pathlib import Path

HEAD = """\
# The forms of {{plural:}} by language: a rule for each form but the last, in the syntax of Unicode's Common Locale Data
# Repository. Written by scripts/make_plurals.py.
"""


def main():
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/share/mediawiki/languages/data")
    rules = {}
    for name in "plurals.xml", "plurals-mediawiki.xml":
        for group in xml.etree.ElementTree.parse(folder / name).iter("pluralRules"):
            texts = [re.sub(r"\s+", " ", (rule.text or "").split("@")[0]).strip() for rule in group]
            for code in group.get("locales").split():
                rules[code.replace("_", "-")] = "; ".join(text for text in texts if text) or "none"
    print(HEAD, end="")
    for code in sorted(rules):
        print(f"{code} = {rules[code]}")


main()
