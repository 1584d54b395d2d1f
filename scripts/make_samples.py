#!/usr/bin/env python3
"""Builds the sample dumps from samples/wiki, one file per page.

In:  samples/wiki/NNN-name.wiki: header lines `key: value`, an empty line, then the wikitext.
     Keys: title, id, ns (0 if absent), redirect (the target's title), model (wikitext if absent),
     text: absent (the dump then has a self-closing <text/>, as for a hidden revision).
Out: samples/samplewiki.xml.bz2              one bzip2 stream, as pages-articles.xml.bz2
     samples/samplewiki-multistream.xml.bz2  siteinfo, then 10 pages a stream, then the end tag, each a stream

The same files give the same bytes: times and editors are computed from the page id. `--check` writes nothing and
fails if the two dumps in the tree do not match the pages. Python's standard library only.
"""

import bz2
import hashlib
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path
from xml.sax.saxutils import escape

SAMPLES = Path(__file__).resolve().parent.parent / "samples"
PAGES_PER_STREAM = 10
BLOCK_LEVEL = 1  # blocks of 100 kB, so that even this small dump has more than one
EDITORS = ["Heron", "Walnut", "Old Mill", "Saffron & Salt", "Łucja", "北斗"]
NAMESPACES = [
    (-2, "Media"), (-1, "Special"), (0, ""), (1, "Talk"), (2, "User"), (3, "User talk"), (4, "Samplewiki"),
    (5, "Samplewiki talk"), (6, "File"), (7, "File talk"), (8, "MediaWiki"), (9, "MediaWiki talk"), (10, "Template"),
    (11, "Template talk"), (12, "Help"), (13, "Help talk"), (14, "Category"), (15, "Category talk"), (100, "Portal"),
    (101, "Portal talk"), (118, "Draft"), (119, "Draft talk"), (710, "TimedText"), (711, "TimedText talk"),
    (828, "Module"), (829, "Module talk"),
]
FORMATS = {"wikitext": "text/x-wiki", "Scribunto": "text/plain", "css": "text/css", "json": "application/json"}


def quoted(text):
    """Escapes as MediaWiki does, including the double quote."""
    return escape(text, {'"': "&quot;"})


def head():
    """The root element's start and the siteinfo."""
    version = "http://www.mediawiki.org/xml/export-0.11/"
    lines = [
        f'<mediawiki xmlns="{version}" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
        f'xsi:schemaLocation="{version} http://www.mediawiki.org/xml/export-0.11.xsd" version="0.11" xml:lang="en">',
        "  <siteinfo>",
        "    <sitename>Samplewiki</sitename>",
        "    <dbname>samplewiki</dbname>",
        "    <base>https://samplewiki.example.org/wiki/Main_Page</base>",
        "    <generator>scripts/make_samples.py</generator>",
        "    <case>first-letter</case>",
        "    <namespaces>",
    ]
    for key, name in NAMESPACES:
        end = f">{name}</namespace>" if name else " />"
        lines.append(f'      <namespace key="{key}" case="first-letter"{end}')
    lines += ["    </namespaces>", "  </siteinfo>"]
    return "\n".join(lines) + "\n"


def read_page(path):
    """Splits a .wiki file into its header (a dict) and its text."""
    header_text, _, text = path.read_text(encoding="utf-8").partition("\n\n")
    header = dict(line.split(": ", 1) for line in header_text.splitlines())
    unknown = set(header) - {"title", "id", "ns", "redirect", "model", "text"}
    if unknown or not {"title", "id"} <= set(header):
        raise SystemExit(f"{path}: the header needs title and id, and knows no {sorted(unknown)}")
    return header, text.rstrip("\n")


def sha1_base36(data):
    """The SHA-1 of the bytes in base 36, 31 digits, as the dumps write it."""
    number = int.from_bytes(hashlib.sha1(data).digest(), "big")
    digits = ""
    for _ in range(31):
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits


def page_xml(header, text):
    """One <page> element."""
    page_id = int(header["id"])
    model = header.get("model", "wikitext")
    time = datetime(2024, 3, 1, tzinfo=timezone.utc) + timedelta(minutes=page_id * 1237)
    data = text.encode()
    sha1 = sha1_base36(data)
    lines = [
        "  <page>",
        f"    <title>{quoted(header['title'])}</title>",
        f"    <ns>{header.get('ns', '0')}</ns>",
        f"    <id>{page_id}</id>",
    ]
    if "redirect" in header:
        lines.append(f'    <redirect title="{quoted(header["redirect"])}" />')
    lines += [
        "    <revision>",
        f"      <id>{page_id * 31 + 700000}</id>",
        f"      <timestamp>{time:%Y-%m-%dT%H:%M:%SZ}</timestamp>",
        "      <contributor>",
        f"        <username>{quoted(EDITORS[page_id % len(EDITORS)])}</username>",
        f"        <id>{page_id % len(EDITORS) + 1}</id>",
        "      </contributor>",
        "      <comment>/* History */ one fact more, see [[Talk:Main Page]]</comment>",
        f"      <origin>{page_id * 31 + 700000}</origin>",
        f"      <model>{model}</model>",
        f"      <format>{FORMATS[model]}</format>",
    ]
    if header.get("text") == "absent":
        lines.append('      <text bytes="0" deleted="deleted" />')
    elif not data:
        lines.append(f'      <text bytes="0" sha1="{sha1}" xml:space="preserve" />')
    else:
        lines.append(f'      <text bytes="{len(data)}" sha1="{sha1}" xml:space="preserve">{quoted(text)}</text>')
    lines += [f"      <sha1>{sha1}</sha1>", "    </revision>", "  </page>"]
    return "\n".join(lines) + "\n"


def main():
    pages = [read_page(path) for path in sorted((SAMPLES / "wiki").glob("*.wiki"))]
    for key in ("title", "id"):
        values = [header[key] for header, _ in pages]
        if len(set(values)) != len(values):
            raise SystemExit(f"two pages have the same {key}: {sorted(v for v in values if values.count(v) > 1)}")
    elements = [page_xml(header, text) for header, text in pages]
    groups = ["".join(elements[i : i + PAGES_PER_STREAM]) for i in range(0, len(elements), PAGES_PER_STREAM)]
    parts = [part.encode() for part in [head(), *groups, "</mediawiki>\n"]]

    dumps = {
        SAMPLES / "samplewiki.xml.bz2": bz2.compress(b"".join(parts), BLOCK_LEVEL),
        SAMPLES / "samplewiki-multistream.xml.bz2": b"".join(bz2.compress(part) for part in parts),
    }
    if "--check" in sys.argv[1:]:
        stale = [path.name for path, data in dumps.items() if not path.exists() or path.read_bytes() != data]
        if stale:
            raise SystemExit(f"{', '.join(stale)}: not what samples/wiki gives; run scripts/make_samples.py")
        return
    for path, data in dumps.items():
        path.write_bytes(data)
        print(f"{path.name}: {len(pages)} pages, {sum(map(len, parts)):,} bytes of XML, {len(data):,} compressed")


if __name__ == "__main__":
    main()
