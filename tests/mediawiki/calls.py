#!/usr/bin/env python3
"""What MediaWiki shows for calls, with the templates and modules of a dump.

    calls.py DUMP FILE.calls > CALLS.xml         the dump with a page for each call in place of its articles
    render.sh CALLS.xml LANG FOLDER
    calls.py --show FOLDER/pages.jsonl           "wikitext → text", as in tests/pipeline/text/*.calls

FILE.calls has a line of wikitext for each call; "→" and what follows it does not count, nor do lines that begin with
"# "."""

import bz2
import json
import re
import sys
from xml.sax.saxutils import escape

from compare import shown, template_names

PAGE = """  <page><title>Call {number:05}</title><ns>0</ns><id>{id}</id><revision><id>{id}</id>
    <timestamp>{time}</timestamp><contributor><username>A</username><id>1</id></contributor>
    <model>wikitext</model><format>text/x-wiki</format><text xml:space="preserve">{text}</text></revision></page>"""
FIRST_ID = 900000000


def calls(path):
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("# "):
                yield line.rstrip("\n").split(" → ")[0]


def write_dump(dump, path):
    with (bz2.open if dump.endswith(".bz2") else open)(dump, "rt", encoding="utf-8") as file:
        text = file.read()
    time = max(re.findall(r"<timestamp>([^<]*)", text))
    head = text[:text.index("<page>")]
    pages = re.findall(r"<page>.*?</page>", text, flags=re.S)
    print(head, *(page for page in pages if "<ns>0</ns>" not in page), sep="\n")
    for number, call in enumerate(calls(path)):
        print(PAGE.format(number=number, id=FIRST_ID + number, time=time, text=escape(call)))
    print("</mediawiki>")


def show(path):
    names = template_names(path)
    with open(path, encoding="utf-8") as file:
        for page in sorted(map(json.loads, file), key=lambda page: page["title"]):
            text = " ".join(shown(page["html"], names).split())
            print(f"{page['calls'][0]['source']} → {text}")


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")
    if sys.argv[1] == "--show":
        show(sys.argv[2])
    else:
        write_dump(*sys.argv[1:])
