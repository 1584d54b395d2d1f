#!/usr/bin/env python3
"""Text of a dump's articles from other programs, those of PyPI that this Python finds: one line {"title", "text"} each.

    extractors.py                       those that are here, a name and a version on each line
    extractors.py NAME DUMP > TEXTS.jsonl

Each gets what makes its text most like a page's running text:

- wikiextractor: --html, because it keeps lists then, which its plain text has not; the text of that HTML, and each
  heading once (it writes them twice).
- mwparserfromhell: strip_code(), after tables, infoboxes, notes, galleries, listings, pictures, categories, links to
  other languages, behaviour switches and messages of errors have been removed, which it has no option for.
- wikitextprocessor: it expands templates and runs Lua modules; the text of the result as with mwparserfromhell. It
  knows namespaces by their English names only and compares capitals, so the dump's pages are given to it under such
  names. A page that fails is tried again in a new Lua, then without modules. Version 0.4.96 needs lupa before 2 and
  setuptools before 81."""

import bz2
import contextlib
import html
import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "mediawiki"))
import compare  # noqa: E402

ENGLISH = {6: "File", 10: "Template", 14: "Category", 828: "Module"}
NOT_TEXT = set("infobox table ref references gallery timeline imagemap templatestyles style math syntaxhighlight source"
               .split())


def local_name(element):
    return element.tag.rsplit("}", 1)[-1]


def opened(dump):
    return bz2.open(dump) if dump.endswith(".bz2") else open(dump, "rb")


class Dump:
    """The pages of a dump, and its names of namespaces."""

    def __init__(self, path):
        self.namespaces, self.pages = {}, []  # (namespace, title, model, wikitext, what it redirects to)
        with opened(path) as file:
            for _, element in ElementTree.iterparse(file):
                if local_name(element) == "namespace":
                    self.namespaces[int(element.get("key"))] = element.text or ""
                if local_name(element) == "page":
                    self.pages.append(self.page_of(element))
                    element.clear()

    @staticmethod
    def page_of(element):
        child = {local_name(item): item for item in element}
        revision = {local_name(item): item.text or "" for item in child["revision"]}
        target = child["redirect"].get("title") if "redirect" in child else None
        return (int(child["ns"].text), child["title"].text, revision.get("model", "wikitext"), revision["text"], target)

    def articles(self):
        return [(title, text) for namespace, title, model, text, target in self.pages
                if namespace == 0 and model == "wikitext" and target is None]

    def names_of(self, *namespaces):
        return {name.lower() for key in namespaces for name in (self.namespaces.get(key, ""), ENGLISH.get(key, ""))
                if name}


def wikiextractor(path):
    with tempfile.TemporaryDirectory() as folder:
        with opened(path) as packed, open(f"{folder}/dump.xml", "wb") as out:
            shutil.copyfileobj(packed, out)
        subprocess.run([sys.executable, "-m", "wikiextractor.WikiExtractor", "--json", "--html", "-q", "-b", "1G", "-o",
                        f"{folder}/out", f"{folder}/dump.xml"], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        for file in sorted(Path(folder, "out").rglob("wiki_*")):
            for page in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
                text = re.sub(r"<(h[1-6])>(.*?)</\1>\n\2\.", r"\2\n", html.unescape(page["text"]))
                yield page["title"], compare.shown(text, ("\0",))


def without_tables(wikitext):
    lines, depth = [], 0
    for line in wikitext.split("\n"):
        start = line.lstrip(" :*#\t")
        depth += start.startswith("{|")
        if depth == 0:
            lines.append(line)
        elif start.startswith("|}"):
            depth -= 1
            lines.append(start[2:])
    return "\n".join(lines)


def without_markup(wikitext, dump):
    import mwparserfromhell
    code = mwparserfromhell.parse(without_tables(wikitext))
    shows_no_text = dump.names_of(6, 14)

    def is_hidden(node):
        if isinstance(node, mwparserfromhell.nodes.Tag):
            is_error = node.has("class") and "error" in str(node.get("class").value).split()
            return is_error or str(node.tag).strip().lower() in NOT_TEXT
        prefix, colon, _ = str(node.title).strip().lower().partition(":")
        return bool(colon) and (prefix.strip() in shows_no_text or re.fullmatch("[a-z]{2,3}(-[a-z-]+)?", prefix))

    for node in code.filter(forcetype=(mwparserfromhell.nodes.Tag, mwparserfromhell.nodes.Wikilink)):
        if is_hidden(node):
            with contextlib.suppress(ValueError):  # it was in one that has been removed
                code.remove(node)
    return re.sub("__[A-Z]+__", "", code.strip_code())


def mwparserfromhell_(path):
    dump = Dump(path)
    for title, wikitext in dump.articles():
        yield title, without_markup(wikitext, dump)


def wikitextprocessor(path):
    from wikitextprocessor import Wtp
    dump = Dump(path)
    context = Wtp(num_threads=1, quiet=True)
    with open(os.devnull, "w", encoding="utf-8") as log, contextlib.redirect_stdout(log):
        for namespace, title, model, wikitext, target in dump.pages:
            if target is not None:
                model, wikitext = "redirect", english_title(namespace, target)
            for name in spellings(english_title(namespace, title)):
                context.add_page(model, name, wikitext)
        context.analyze_templates()
        texts = {}
        for title, wikitext in dump.articles():
            context.start_page(title)
            texts[title] = without_markup(expanded(context, wikitext), dump)
    return texts.items()


def spellings(title):
    """A template's name with a capital and without: it compares them exactly."""
    namespace, colon, name = title.partition(":")
    return {title, namespace + colon + name[:1].lower() + name[1:]} if namespace == "Template" else {title}


def expanded(context, wikitext):
    for _ in range(2):
        try:
            return context.expand(wikitext)
        except Exception:  # of any module of the wiki
            context.lua = None
    return context.expand(wikitext, expand_invoke=False)


def english_title(namespace, title):
    return f"{ENGLISH[namespace]}:{title.partition(':')[2]}" if namespace in ENGLISH else title


EXTRACTORS = {"wikiextractor": wikiextractor, "mwparserfromhell": mwparserfromhell_,
              "wikitextprocessor": wikitextprocessor}


def installed():
    """Those that can be imported, with what they need."""
    needs = {name: (name,) for name in EXTRACTORS}
    needs["wikitextprocessor"] = ("wikitextprocessor", "pkg_resources", "mwparserfromhell")
    return [name for name in EXTRACTORS if all(importlib.util.find_spec(module) for module in needs[name])]


def main():
    if len(sys.argv) == 1:
        print("\n".join(f"{name} {importlib.metadata.version(name)}" for name in installed()))
        return
    for title, text in EXTRACTORS[sys.argv[1]](sys.argv[2]):
        print(json.dumps({"title": title, "text": text}, ensure_ascii=False))


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8", errors="replace")  # what "&#xD800;" becomes
    main()
