#!/usr/bin/env python3
"""Text of the same pages from dsdata and from other extractors, judged by damage.py: a table per dump.

    compare_extractors.py [--dsdata build/release/dsdata] DUMP[=LANGUAGE] …

LANGUAGE is for dumps that do not declare it (or declare a wrong one). The other extractors, if installed (PyPI):
wikiextractor, mwparserfromhell, gensim. Each runs with its defaults.
"""

import argparse
import bz2
import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import damage


def run_dsdata(program, dump, language):
    command = [program, "extract", "--quiet", "--wiki", dump] + (["--lang", language] if language else [])
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.splitlines()
    return {page["id"]: page["text"] for page in map(json.loads, lines)}


def run_wikiextractor(dump):
    with tempfile.TemporaryDirectory() as folder:
        xml = Path(folder) / "dump.xml"
        if str(dump).endswith(".bz2"):
            with bz2.open(dump) as packed, open(xml, "wb") as out:
                shutil.copyfileobj(packed, out)
        else:
            shutil.copyfile(dump, xml)
        subprocess.run([sys.executable, "-m", "wikiextractor.WikiExtractor", "--json", "-q", "-b", "1G", "-o",
                        f"{folder}/out", str(xml)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        texts = {}
        for path in Path(folder, "out").rglob("wiki_*"):
            texts.update(damage.read_jsonl(path))
        return texts


def run_mwparserfromhell(dump):
    import mwparserfromhell
    return {page_id: mwparserfromhell.parse(wikitext).strip_code() for page_id, _, wikitext in damage.read_dump(dump)}


def run_gensim(dump):
    from gensim.corpora.wikicorpus import filter_wiki
    return {page_id: filter_wiki(wikitext) for page_id, _, wikitext in damage.read_dump(dump)}


OTHERS = [
    ("wikiextractor", "wikiextractor", run_wikiextractor),
    ("mwparserfromhell strip_code", "mwparserfromhell", run_mwparserfromhell),
    ("gensim filter_wiki", "gensim", run_gensim),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dsdata", default="build/release/dsdata")
    parser.add_argument("dumps", nargs="+", metavar="DUMP[=LANGUAGE]")
    args = parser.parse_args()
    for module in sorted({module for _, module, _ in OTHERS}):
        if importlib.util.find_spec(module) is None:
            print(f"{module} is not installed: left out", file=sys.stderr)
    for item in args.dumps:
        dump, _, language = item.partition("=")
        pages = damage.sources(dump, language)
        print(f"\n{Path(dump).name}: {len(pages)} pages\n\n{damage.TABLE_HEAD}")
        print(damage.table_row("dsdata extract", *damage.measure(pages, run_dsdata(args.dsdata, dump, language))))
        for name, module, run in OTHERS:
            if importlib.util.find_spec(module):
                print(damage.table_row(name, *damage.measure(pages, run(dump))), flush=True)


if __name__ == "__main__":
    main()
