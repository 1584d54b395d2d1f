#!/usr/bin/env python3
"""Copies a dump (stdin) to one that MediaWiki can import (stdout), and writes what the wiki is to a JSON file.

    select_pages.py SITE < DUMP.xml > SELECTED.xml

Left out: talk pages, pages of users, and content models that a plain MediaWiki does not know."""

import html
import json
import re
import sys

USER = 2
MODELS = {"", "wikitext", "Scribunto", "css", "javascript", "json", "text"}


def first(pattern, text, default=""):
    found = re.search(pattern, text)
    return html.unescape(found[1]) if found else default


def site_of(head):
    """What siteinfo says, which the settings of the rendering wiki need."""
    return {
        "name": first(r"<sitename>([^<]*)", head, "Wiki"),
        "capital_links": first(r"<case>([^<]*)", head) != "case-sensitive",
        "namespaces": {int(key): html.unescape(name)
                       for key, name in re.findall(r'<namespace key="(-?\d+)"[^>]*>([^<]*)</namespace>', head)},
    }


def is_needed(page):
    namespace = int(first(r"<ns>(-?\d+)", page, "0"))
    return namespace % 2 == 0 and namespace != USER and first(r"<model>([^<]*)", page) in MODELS


def main():
    sys.stdin.reconfigure(encoding="utf-8", errors="replace")
    sys.stdout.reconfigure(encoding="utf-8")
    head, page, last = [], None, ""
    for line in sys.stdin:
        if "<page>" in line:
            if page is None:
                sys.stdout.writelines(head)
            page = []
        if page is None:
            head.append(line)
            continue
        page.append(line)
        if "</page>" in line:
            text = "".join(page)
            last = max([last, *re.findall(r"<timestamp>([^<]*)", text)])
            if is_needed(text):
                sys.stdout.write(text)
            page = []
    sys.stdout.write("</mediawiki>\n")
    site = site_of("".join(head))
    site["last"] = last or "2020-01-01T00:00:00Z"
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(site, file)


main()
