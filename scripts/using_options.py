#!/usr/bin/env python3
"""Writes the lists of options in docs/USING.md from the --help of both programs.

    scripts/using_options.py BUILD            updates the file
    scripts/using_options.py BUILD --check    exit 1 if the file is not up to date

In: the --help of each program and of each verb. Out: one list per program; an item is an option, the verbs that take it
and its description. An option that verbs describe differently has an item for each description. Text outside the marked
parts of the file is left alone."""

import os
import pathlib
import re
import subprocess
import sys

WIDTH = 120
PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs" / "USING.md"


def help_of(program, *verb):
    environment = {**os.environ, "COLUMNS": "100"}
    return subprocess.run([program, *verb, "--help"], capture_output=True, text=True, check=True,
                          env=environment).stdout


def verbs_of(text):
    part = text.split("verbs:\n", 1)[1].split("\n\n", 1)[0]
    return re.findall(r"^  ([a-z-]+)  ", part, re.M)


def options_of(text):
    """(name with its argument, description) of each option."""
    found = []
    for line in text.split("\n"):
        begun = re.match(r"^  (-\w, |    )(--\S+(?: \S+)*?)(?:  +(\S.*))?$", line)
        if begun:
            short = begun[1].strip(", ")
            found.append([(f"{short}, " if short else "") + begun[2], begun[3] or ""])
        elif found and re.match(r"^ {12,}\S", line):
            found[-1][1] = (found[-1][1] + " " + line.strip()).strip()
        elif line and not line.startswith(" "):
            continue
    return found


def wrapped(text):
    """An item of a list, wrapped. A code span stays on one line, and no continuation line looks like an item."""
    parts = re.findall(r"`[^`]*`\S*|\S+", text)
    lines = ["-"]
    for index, part in enumerate(parts):
        fits = len(lines[-1]) + 1 + len(part) <= WIDTH
        if index == 0 or part == "-" or fits:
            lines[-1] += " " + part
        else:
            lines.append("  " + part)
    return "\n".join(lines)


def options(program):
    takers = {}  # of each name, of each of its descriptions
    verbs = verbs_of(help_of(program))
    for verb in verbs:
        for name, text in options_of(help_of(program, verb)):
            takers.setdefault(name, {}).setdefault(text, []).append(verb)
    items = []
    for name, texts in takers.items():
        for text, taking in texts.items():
            by = "all verbs" if len(taking) == len(verbs) else ", ".join(taking)
            text = text.replace("<", "&lt;")
            items.append(wrapped(f"`{name}` ({by}): {text}"))
    return "\n".join(items)


def main():
    build = pathlib.Path(sys.argv[1])
    page = PAGE.read_text(encoding="utf-8")
    wanted = page
    for program in ("dsdata", "dstrain"):
        begin, end = f"<!-- options of {program} -->\n", f"<!-- end of options of {program} -->\n"
        before, rest = wanted.split(begin, 1)
        after = rest.split(end, 1)[1]
        wanted = before + begin + "\n" + options(build / program) + "\n\n" + end + after
    if "--check" in sys.argv[2:]:
        if wanted != page:
            print("the options in docs/USING.md are not those of --help; update them with scripts/using_options.py",
                  build)
            return 1
        return 0
    PAGE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
