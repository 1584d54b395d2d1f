#!/usr/bin/env python3
"""Makes a multistream dump with its index, in the form of Wikimedia's, from small dumps.

    multistream_dump.py [--templates end|spread] BYTES FOLDER DUMP.xml.bz2 …

writes FOLDER/made-multistream.xml.bz2 and its index beside it, with about BYTES of XML, and to
FOLDER/made.xml.bz2 the same pages as one stream. The articles are repeated, with new ids and titles; pages of other
namespaces stand once, as the last ones or spread among the articles (Wikimedia orders by id, so theirs are spread). The
first dump gives the names of namespaces, by which templates are found in the index."""

import argparse
import bz2
import itertools
import multiprocessing
import pathlib
import re

STREAM_PAGES = 100


def pages_of(path):
    """(what precedes the first page, articles, other pages)"""
    data = path.read_bytes()
    xml = bz2.decompress(data) if data.startswith(b"BZh") else data
    head = xml[:xml.index(b"<page>")].rstrip() + b"\n"
    pages = [page + b"\n" for page in re.findall(rb"<page>.*?</page>", xml, re.S)]
    articles = [page for page in pages if b"<ns>0</ns>" in page]
    return head, articles, [page for page in pages if b"<ns>0</ns>" not in page]


def title_of(page):
    return re.search(rb"<title>(.*?)</title>", page, re.S)[1]


def renamed(page, number, copy):
    if copy:
        page = page.replace(b"</title>", b" (%d)</title>" % copy, 1)
    return re.sub(rb"<id>\d+</id>", b"<id>%d</id>" % number, page, count=1)


def ordered(articles, others, size, is_spread):
    """The pages, each with the number of the copy that it is of."""
    copies = max(1, round((size - sum(map(len, others))) / sum(map(len, articles))))
    repeated = [(page, copy) for copy in range(copies) for page in articles]
    once = [(page, 0) for page in others]
    if not is_spread or not once:
        return repeated + once
    step = max(1, len(repeated) // len(once))
    pages = []
    for at in range(0, len(repeated), step):
        pages += repeated[at:at + step] + once[at // step:at // step + 1]
    return pages + once[(len(repeated) + step - 1) // step:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--templates", choices=["end", "spread"], default="spread")
    parser.add_argument("bytes", type=int)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("dumps", type=pathlib.Path, nargs="+", metavar="DUMP")
    options = parser.parse_args()
    read = [pages_of(path) for path in options.dumps]
    pages = ordered(sum((articles for _, articles, _ in read), []), sum((others for _, _, others in read), []),
                    options.bytes, options.templates == "spread")
    pages = [renamed(page, number, copy) for number, (page, copy) in enumerate(pages, 1)]
    options.folder.mkdir(parents=True, exist_ok=True)
    groups = [pages[at:at + STREAM_PAGES] for at in range(0, len(pages), STREAM_PAGES)]
    texts = [read[0][0], *(b"".join(group) for group in groups), b"</mediawiki>\n"]
    numbers = itertools.count(1)
    index = []
    with (open(options.folder / "made-multistream.xml.bz2", "wb") as file, multiprocessing.Pool() as pool):
        for stream, packed in enumerate(pool.imap(bz2.compress, texts)):
            if 0 < stream <= len(groups):
                index += [b"%d:%d:%s\n" % (file.tell(), next(numbers), title_of(page)) for page in groups[stream - 1]]
            file.write(packed)
    with open(options.folder / "made-multistream-index.txt.bz2", "wb") as file:
        file.write(bz2.compress(b"".join(index)))
    packer = bz2.BZ2Compressor()
    with open(options.folder / "made.xml.bz2", "wb") as file:
        for text in texts:
            file.write(packer.compress(text))
        file.write(packer.flush())
    with_others = sum(any(b"<ns>0</ns>" not in page for page in group) for group in groups)
    print(f"{sum(map(len, texts)):,} bytes of XML, {len(pages):,} pages, {len(groups):,} streams, {with_others:,} of "
          "them with pages that are no articles")


main()
