#!/usr/bin/env python3
"""Prints a dump with the names of all templates replaced by numbers, so that no table knows them: how well text is
extracted from a wiki whose templates nobody has looked at.

    nameless_dump.py DUMP.xml[.bz2] >nameless.xml && dsdata extract nameless.xml --lang CODE --templates none >text

Parser functions and names with a colon keep theirs. The same name is always the same number."""
import bz2
import re
import sys

CALL = re.compile(r"(?<!\{)\{\{(?!\{)([^{}|<\n]+)")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    numbers = {}

    def numbered(call):
        name = call.group(1).strip()
        if not name or name[0] in "#" or ":" in name:
            return call.group(0)
        return "{{" + str(900000 + numbers.setdefault(name, len(numbers)))

    opened = bz2.open if sys.argv[1].endswith(".bz2") else open
    with opened(sys.argv[1], "rt", encoding="utf-8", newline="") as dump:
        sys.stdout.reconfigure(encoding="utf-8", newline="")
        sys.stdout.write(CALL.sub(numbered, dump.read()))


main()
