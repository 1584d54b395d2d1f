#!/usr/bin/env python3
"""Writes the tables of options of docs/USING.md as --help of both programs has them.

    scripts/using_options.py BUILD            writes the file anew
    scripts/using_options.py BUILD --check    exit 1 where the file differs from that

In: the programs' --help, of the program and of each verb. Out: one table for each program, an option a row, with the verbs
that take it. What stands outside the marked parts of the file is left alone."""

import os
import pathlib
import re
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs" / "USING.md"


def help_of(program, *verb):
    environment = {**os.environ, "COLUMNS": "100"}
    return subprocess.run([program, *verb, "--help"], capture_output=True, text=True, check=True, env=environment).stdout


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
        elif found and re.match(r"^ {20,}\S", line):
            found[-1][1] = (found[-1][1] + " " + line.strip()).strip()
        elif line and not line.startswith(" "):
            continue
    return found


def cell(text):
    return text.replace("|", "\\|").replace("<", "&lt;")


def table(program):
    whole = help_of(program)
    rows, takers = {}, {}
    verbs = verbs_of(whole)
    for verb in verbs:
        for name, text in options_of(help_of(program, verb)):
            rows.setdefault(name, text)
            takers.setdefault(name, []).append(verb)
    lines = ["| option | verbs | meaning |", "|---|---|---|"]
    for name, text in rows.items():
        by = "all" if len(takers[name]) == len(verbs) else ", ".join(takers[name])
        lines.append(f"| `{cell(name)}` | {by} | {cell(text)} |")
    return "\n".join(lines)


def main():
    build = pathlib.Path(sys.argv[1])
    page = PAGE.read_text(encoding="utf-8")
    wanted = page
    for program in ("dsdata", "dstrain"):
        begin, end = f"<!-- options of {program} -->\n", f"<!-- end of options of {program} -->\n"
        before, rest = wanted.split(begin, 1)
        after = rest.split(end, 1)[1]
        wanted = before + begin + "\n" + table(build / program) + "\n\n" + end + after
    if "--check" in sys.argv[2:]:
        if wanted != page:
            print("docs/USING.md has not the options of --help; type: scripts/using_options.py", build)
            return 1
        return 0
    PAGE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
