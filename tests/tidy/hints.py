#!/usr/bin/env python3
"""Commands that are printed for the user to type hold names in one way only: as %s of hint_command and command_text
(base/output.h), which quote them for the shell. A hint() or log_*() whose format has a %s after the name of a program
or of an option, or in quotes of its own, would paste the name as it is."""

import re
import sys

import tracked

CALL = re.compile(r"\b(hint|log_say|log_warn|log_verbose)\(")
STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
PROGRAM = r"(?:dsdata|dstrain|python3?|curl -\w+|hf download|mkdir -p|scripts/[\w.]+|--[a-z][a-z-]+)"
NAME = r"%[-.*\d]*s"
# "--%s" is the name of an option; a sentence ends at ; : . ( and a command does not go on behind it.
PASTED = re.compile(rf"(?<![\w-]){PROGRAM}[ =][^;:(]*?{NAME}|'{NAME}'")
# Words that are never names from outside: codes, choices and encodings from our own tables, and further options.
OURS = re.compile(r"--(lang|text-form|encoding) (%s|[\w-]+%s)+|has no option %s|--out D %s -")


def call_at(text, start):
    depth, at = 0, start
    while True:
        string = STRING.match(text, at)
        if string:
            at = string.end()
            continue
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
        if depth == 0:
            return text[start:at]


found = 0
for name in tracked.files():
    if not name.endswith(".c") or name.startswith("tests/"):
        continue
    text = tracked.text(name)
    for call in CALL.finditer(text):
        words = call_at(text, call.end() - 1)
        format_text = "".join(STRING.findall(words.replace('" PRIu64 "', "u")))
        if PASTED.search(OURS.sub("", format_text)):
            line = text.count("\n", 0, call.start()) + 1
            print(f"{name}:{line}: a name is pasted into a command: {format_text[:90]}")
            found += 1
sys.exit(found > 0)
