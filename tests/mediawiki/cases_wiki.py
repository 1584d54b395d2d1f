#!/usr/bin/env python3
"""Writes a dump with a page for each case of files of cases, for render.sh and compare.py.

    cases_wiki.py LANG FILE.cases … > DUMP.xml

The form of the files: tests/cases.h; of their templates: tests/pipeline/text/bodies.cases. Written are the cases of the
language LANG that keep what compare.py compares. A case of several pages gets templates of its own: their names begin
with its number, in calls too."""

import re
import sys
from pathlib import Path
from xml.sax.saxutils import escape

HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="{language}">
  <siteinfo><sitename>Cases</sitename><dbname>{language}wiki</dbname><base>http://example.org/wiki/Main_Page</base>
    <generator>MediaWiki 1.39</generator><case>first-letter</case>
    <namespaces>
      <namespace key="0" case="first-letter" />
      <namespace key="10" case="first-letter">Template</namespace>
    </namespaces></siteinfo>"""
PAGE = """  <page><title>{title}</title><ns>{namespace}</ns><id>{number}</id>
    <revision><id>{number}</id><timestamp>2023-05-06T07:08:09Z</timestamp><contributor><username>A</username><id>1</id>
      </contributor><model>wikitext</model><format>text/x-wiki</format>
      <text bytes="{size}" xml:space="preserve">{text}</text></revision></page>"""


def cases(path):
    """(name, settings, input) of each."""
    for case in re.split(r"^=== ", path.read_text(encoding="utf-8"), flags=re.M)[1:]:
        head, _, rest = case.partition("\n")
        name, settings = re.fullmatch(r"(.*?)\s*(?:\[([a-z]+=[^\]]*)\])?", head).groups()
        given = dict(setting.split("=") for setting in (settings or "").split())
        yield name, given, re.split(r"^---$", rest, maxsplit=1, flags=re.M)[0].strip("\n")


def pages_of(case):
    """[(name of a template, its wikitext)], and the wikitext of the page."""
    parts = re.split(r"^@@ ?(.*)$", case, flags=re.M)
    if len(parts) == 1:
        return [], case
    pages = [(parts[i].strip(), parts[i + 1].strip("\n")) for i in range(1, len(parts), 2)]
    return [page for page in pages if page[0]], dict(pages).get("", "")


def renamed(text, names, prefix):
    """The text with the prefix before the names of templates, where it calls or names them."""
    for name in sorted(names, key=len, reverse=True):
        before = r"(\{\{\s*(?:template:|safesubst:|\{\{\{\|safesubst:\}\}\})?\s*|\[\[template:)"
        text = re.sub(before + re.escape(name) + r"(?=\s*[|}\n<\]])", lambda found: f"{found[1]}{prefix}{name}", text,
                      flags=re.I)
    return text


class Writer:
    def __init__(self):
        self.number = 0

    def page(self, namespace, title, text):
        self.number += 1
        print(PAGE.format(title=escape(title), namespace=namespace, number=self.number, size=len(text.encode()),
                          text=escape(text)))


def main():
    sys.stdout.reconfigure(encoding="utf-8")
    language, *paths = sys.argv[1:]
    print(HEAD.format(language=language))
    writer, number = Writer(), 0
    for path in map(Path, paths):
        for name, settings, case in cases(path):
            number += 1
            if settings.get("lang", "en") != language or set(settings) - {"lang"}:
                continue
            templates, page = pages_of(case)
            names, prefix = [template for template, _ in templates], f"C{number} "
            for template, text in templates:
                writer.page(10, f"Template:{prefix}{template}", renamed(text, names, prefix))
            title = re.sub(r"[^\w ,.()-]+", "-", f"{path.stem} {name}").replace("_", "-")
            writer.page(0, title[:1].upper() + title[1:], renamed(page, names, prefix))
    print("</mediawiki>")


main()
