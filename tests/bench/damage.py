#!/usr/bin/env python3
"""Counts the damage that an extractor did to its text: damage.py DUMP TEXT.jsonl… [--lang CODE] [--list KIND]

DUMP is a MediaWiki dump (.xml or .xml.bz2), TEXT.jsonl the text that an extractor made from it: one
{"id": …, "text": …} per line. Every file is judged by the same rules, on the pages of namespace 0 that are not
redirects:

- errors per MB of text, by kind (KINDS). Text that is exactly so in the page is not an error, because MediaWiki shows
  it.
- the words kept, in per cent, of those that a person wrote outside templates, tables, references, formulas, pictures
  and blocks of code: per page, as a multiset. In a script without blanks, its characters count.

--list KIND prints each damage of that kind with its page and context.
"""

import argparse
import bz2
import html
import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

KINDS = {
    "markup": "brackets, braces, quotes, tags, attributes and options of wikitext",
    "brackets": "empty brackets, or brackets with a leftover blank or comma",
    "punctuation": "commas, semicolons and full stops after nothing",
    "cuts": "sentences that go on as if a template in them had shown nothing",
    "holes": "words on both sides of a template that shows nothing, inside a sentence, in any language",
    "placeholders": "formula_3 and the like",
    "entities": "&amp; &nbsp; &#8211;",
    "captions": "the caption of a picture in the middle of a paragraph",
}

# Marks in the human text that replace templates and formulas, and what shows nothing in a sentence (notes, pictures).
TEMPLATE, GONE = "\ue000", "\ue001"

BLANK = r"[ \t\u00a0]"
PATTERNS = {
    "markup": re.compile(
        r"^\|.*|\[\[|\]\]|\{\{|\}\}|\{\||\|\}|'{2,}(?:[^'\n]+'{2,})?"
        r"|</?[A-Za-z][A-Za-z0-9]*(?:\s[^<>\n]*)?/?>|<!--|-->|__[A-Z]{3,}__"
        r"|(?:\b(?:thumb|thumbnail|mini|miniatur|frame|upright|hochkant|left|right|center|links|rechts|\d+px)\|)+"
        r"|\b\d+px\b"
        r"|\[https?://|^={2,}[^=\n]+={2,}|\\(?:frac|sum|left|right|mathbf|mathrm|text|sqrt|begin|in|to|cdot)\b.*"
        r"|\b(?:style|align|valign|width|class|colspan|rowspan|bgcolor|cellpadding|cellspacing|scope)=[\"\d].*",
        re.MULTILINE),
    "brackets": re.compile(
        rf"[(（\[]{BLANK}*[,;:、，]?{BLANK}*[)）\]]|[(（](?:{BLANK}+|{BLANK}*[,;:、，])|(?:{BLANK}+|[,;:、，]{BLANK}*)[)）]"
        r"|“\s*”|«\s*»|「」|『』|\"\""),
    "punctuation": re.compile(
        rf"(?<=\S){BLANK}+[,;](?!\S)|(?<=\w){BLANK}+\.(?!\S)|[,;]{BLANK}*[,;]|[,;:]{BLANK}*\.(?![.\w])"
        rf"|[、，]{BLANK}*[、，。]|،\s*،|^[,;:)、，–—/](?!\S)", re.MULTILINE),
    "placeholders": re.compile(r"\b(?:formula|codice)_\d+|\bUNIQ-|TABLETOREPLACE|CODE_BLOCK"),
}
ENTITY = re.compile(r"&(?:[A-Za-z][A-Za-z0-9]{1,30}|#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6});")

# A caption is recognised by this many of its words (characters, in a script without blanks).
CAPTION_WORDS = 6

# Words after which something must follow.
FUNCTION_WORDS = {
    "en": "a an the at of in by from to with about approximately around for between than and or is was are were some"
          " over under nearly almost as on into every per only",
    "de": "der die das den dem des ein eine einen einem einer am im in an auf von vom mit zu zum zur bei für etwa rund"
          " über und oder ist war sind als aus nach bis ca circa",
    "ar": "في من على إلى عن بين حوالي نحو أو كان",
}
FUNCTION_WORDS = {code: frozenset(words.split()) for code, words in FUNCTION_WORDS.items()}

# Templates that show a note's number, a blank or a sign: a sentence is complete without them.
SHOW_NOTHING = re.compile(
    r"\s*(?:#tag:ref|r|rp|ref|refn?|efn|sfn\w*|harv\w*|cit\w*|cn|fact|cref\w*|note\w*|dn|who|when|where|which"
    r"|clarify.*|dubious|.*needed.*|.*inline|update.*|according to whom|by whom|page needed|verify.*|full|vague"
    r"|anchor\w*|nbsp|spaces?|'s?|!|=|-|nb\d*|audio|listen|wbr|zwnj|dead link.*|shy|coord|inline.*|efn.*|belege.*"
    r"|出典.*|要出典.*|usurped|webarchive|failed verification|better source|portal|clear|main|see also|hatnote"
    r"|(?:sn?|n|m|sp)d(?:ash)?|.*dash)\s*(?:\||\Z)", re.IGNORECASE)

# Also what dsdata treats as notes and boxes, in all languages.
SILENT = frozenset((Path(__file__).resolve().parents[2] / "data/words/silent_templates.txt").read_text(
    encoding="utf-8").splitlines())

FORMULA_TAGS = "math ce chem hiero score".split()
OPAQUE_TAGS = ("ref gallery timeline syntaxhighlight source imagemap graph mapframe maplink"
               " templatestyles templatedata inputbox includeonly references table del s strike categorytree").split()
SHOWN_TAGS = ("abbr b bdi bdo big blockquote br caption center cite code dd dfn div dl dt em font h1 h2 h3 h4 h5 h6 hr"
              " i ins kbd li mark noinclude nowiki ol onlyinclude p poem pre q rb rp rt ruby samp section small span"
              " strong sub sup td th tr tt u ul var wbr time data").split()
SHOWN_TAG = re.compile(rf"</?(?:{'|'.join(SHOWN_TAGS)})\b[^<>]*>", re.IGNORECASE)


def tags_with_content(names):
    patterns = (rf"<{name}\b(?:[^<>]*/>|[^<>]*>.*?</{name}\s*>)" for name in names)
    return re.compile("|".join(patterns), re.IGNORECASE | re.DOTALL)


FORMULA, OPAQUE_TAG = tags_with_content(FORMULA_TAGS), tags_with_content(OPAQUE_TAGS)
NOWIKI = re.compile(r"<(nowiki|pre)\b[^<>]*>(.*?)</\1\s*>", re.IGNORECASE | re.DOTALL)
EXTERNAL = re.compile(r"\[(?:(?:https?|ftp|news|irc|gopher|mailto):|//)[^\s\[\]]*"
                      r"(?:\s+([^\[\]\n]*(?:\[\[[^\]\n]*\]\][^\[\]\n]*)*))?\]")
FILE = re.compile(r"\s*(?:file|image|media|datei|bild|ファイル|画像|ملف|صورة)\s*:", re.IGNORECASE)
CATEGORY = re.compile(r"\s*(?:category|kategorie|カテゴリ|تصنيف)\s*:", re.IGNORECASE)
INTERLANGUAGE = re.compile(r"\s*(?:[a-z]{2,3}|simple|zh-[a-z-]+|be-[a-z-]+|roa-[a-z]+|bat-smg|nds-nl|map-bms|fiu-vro"
                           r"|cbk-zam)\s*:\s*\S")
WORD = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W_\u0e00-\u0eff"
                  r"\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
# Replacements for markup bytes in <nowiki>, which are not markup there.
LITERAL = {mark: chr(0xE010 + i) for i, mark in enumerate("[]{}'<>&|=*#:;_\n")}
UNLITERAL = str.maketrans({hidden: mark for mark, hidden in LITERAL.items()})
LITERAL = str.maketrans(LITERAL)


def read_dump(path):
    """Yields (id, title, wikitext) of the articles; then the wiki's language is in read_dump.language."""
    file = bz2.open(path) if str(path).endswith(".bz2") else open(path, "rb")
    with file:
        for _, element in ElementTree.iterparse(file):
            name = element.tag.rsplit("}", 1)[-1]
            if name == "dbname":
                read_dump.language = (element.text or "").removesuffix("wiki")
            if name != "page":
                continue
            child = {item.tag.rsplit("}", 1)[-1]: item for item in element}
            revision = {item.tag.rsplit("}", 1)[-1]: item for item in child["revision"]}
            if child["ns"].text == "0" and "redirect" not in child:
                yield int(child["id"].text), child["title"].text, revision["text"].text or ""
            element.clear()


read_dump.language = "en"


def replace_balanced(text, opening, closing, mark):
    """Replaces the text between matching outermost brackets by mark(inside)."""
    out, stack, done = [], [], 0
    spans = []
    for found in re.finditer(f"({opening})|({closing})", text, re.MULTILINE):
        if found.group(1) is not None:
            stack.append(found.start())
        elif stack:
            start = stack.pop()
            while spans and spans[-1][0] > start:
                spans.pop()
            spans.append((start, found.end()))
    for start, end in spans:
        out += [text[done:start], mark(text[start:end])]
        done = end
    return "".join(out) + text[done:]


def is_silent(inside):
    name = re.match(r"\s*([^|{}]*)", inside).group(1)
    return SHOW_NOTHING.match(inside) or " ".join(name.replace("_", " ").split()).lower() in SILENT


def human_text(wikitext):
    """The text that a person wrote outside templates and similar markup, with marks for what was left out; and the
    captions."""
    captions = []

    def link(inside):
        target, _, label = inside[2:-2].partition("|")
        if FILE.match(target):
            captions.append(links(label).rpartition("|")[2])
            return GONE
        if CATEGORY.match(target) or INTERLANGUAGE.match(target):
            return GONE
        return links(label) or target.lstrip(":")

    def links(wikitext):
        return replace_balanced(wikitext, r"\[\[", r"\]\]", link)

    text = re.sub(r"<!--.*?(?:-->|\Z)", "", wikitext, flags=re.DOTALL)
    text = NOWIKI.sub(lambda found: found.group(2).translate(LITERAL), text)
    text = OPAQUE_TAG.sub(GONE, FORMULA.sub(TEMPLATE, text))
    text = replace_balanced(text, r"\{\{", r"\}\}",
                            lambda inside: GONE if is_silent(inside[2:-2]) else TEMPLATE)
    text = replace_balanced(text, r"^[ :\t\ue000\ue001]*\{\|", r"^\s*\|\}", lambda inside: GONE)
    text = EXTERNAL.sub(lambda found: found.group(1) or GONE, text)
    text = links(text)
    text = re.sub(r"<br\b[^<>]*>", " ", text)
    text = SHOWN_TAG.sub("", text)
    text = re.sub(r"'{2,}", "", text)
    text = re.sub(r"__[^\W_]+__", GONE, text)
    text = re.sub(r"^=+\s*(.*?)\s*=+\s*$", r"\1", text, flags=re.MULTILINE)
    text = re.sub(r"^[*#:;]+\s*", "", text, flags=re.MULTILINE)
    return html.unescape(text.translate(UNLITERAL)), captions


def words(text):
    return WORD.findall(text.casefold())


def squeeze(text):
    return re.sub(r"\s+", " ", text)


class Source:
    """A page as its author wrote it, prepared for the comparison with extractors."""

    def __init__(self, wikitext, language):
        human, captions = human_text(wikitext)
        self.typed = squeeze(human)
        self.typed_without_notes = squeeze(human.replace(GONE, "")) + squeeze(re.sub(r"''+|\[\[|\]\]", "", wikitext))
        self.words = Counter(words(re.sub("[\ue000\ue001]", " ", human)))
        self.function_words = FUNCTION_WORDS.get(language, frozenset())
        prose = " ".join(words(human.replace(TEMPLATE, " 0template0 ")))
        self.cuts = [cut for cut in self.find_cuts(human) if " ".join(cut) not in prose]
        self.holes = [hole for hole in self.find_holes(human) if " ".join(hole) not in prose]
        beginnings = [words(human_text(caption)[0])[:CAPTION_WORDS] for caption in captions]
        source = " ".join(words(wikitext))
        self.captions = [tuple(c) for c in beginnings if len(c) == CAPTION_WORDS and source.count(" ".join(c)) == 1]

    def find_cuts(self, human):
        """The words around each template that follows a word which cannot end a sentence: (two before, two after)."""
        for line in human.split("\n"):
            for found in re.finditer(rf"(?<= ){TEMPLATE}(?=[ \w])", line):
                before, after = words(line[:found.start()][-200:]), words(line[found.end():][:200])
                between = re.match(r"\W*", line[found.end():]).group()
                if len(before) < 2 or len(after) < 2 or before[-1] not in self.function_words:
                    continue
                if not re.search(r"\w\W{0,2}$", line[:found.start()]) or between.strip():
                    continue
                yield tuple(before[-2:] + after[:2])

    def find_holes(self, human):
        """The words around each template inside a sentence: (two before, two after)."""
        for line in human.split("\n"):
            for found in re.finditer(TEMPLATE, line):
                before, after = words(line[:found.start()][-200:]), words(line[found.end():][:200])
                if len(before) < 2 or len(after) < 2 or re.search(r"[.!?。։።؟۔]\W?\Z", line[:found.start()]):
                    continue
                yield tuple(before[-2:] + after[:2])

    def was_typed(self, text, start, end, typed=None):
        """Did the author write this text, after the same text before it or after a template that shows something?"""
        typed = typed or self.typed
        before, here = squeeze(text[max(0, start - 12):start]).lstrip(), squeeze(text[start:end])
        if before + here in typed:
            return True
        after = squeeze(text[start:end + 12])
        return TEMPLATE + after in typed and before + TEMPLATE + here not in typed


def damages(source, text):
    """Yields (kind, start, end)."""
    for kind, pattern in PATTERNS.items():
        for found in pattern.finditer(text):
            if not source.was_typed(text, *found.span()):
                yield kind, *found.span()
    for found in ENTITY.finditer(text):
        if html.unescape(found.group()) != found.group() and not source.was_typed(text, *found.span()):
            yield "entities", *found.span()
    if source.function_words:
        ends = "|".join(sorted(source.function_words))
        for found in re.finditer(rf"(?<![\w.'-])(?<!\d[ \u00a0])(?i:{ends})\b[ \u00a0]*[,;.)](?!\w)", text):
            if found.group()[:2] not in ("A.", "A,") and not source.was_typed(
                    text, *found.span(), source.typed_without_notes):
                yield "cuts", *found.span()
    places = [(found.group().casefold(), found.span()) for found in WORD.finditer(text)]
    cuts, holes, captions = Counter(source.cuts), Counter(source.holes), Counter(source.captions)
    for i, (word, (start, _)) in enumerate(places):
        cut = tuple(item[0] for item in places[i:i + 4])
        if len(cut) == 4 and cuts[cut] > 0 and "\n" not in text[start:places[i + 3][1][1]]:
            cuts[cut] -= 1
            yield "cuts", start, places[i + 3][1][1]
        if len(cut) == 4 and holes[cut] > 0 and "\n" not in text[start:places[i + 3][1][1]]:
            holes[cut] -= 1
            yield "holes", start, places[i + 3][1][1]
        caption = tuple(item[0] for item in places[i:i + CAPTION_WORDS])
        if captions[caption] > 0 and i > 0 and not re.search(r"[\n|]", text[places[i - 1][1][1]:start]):
            captions[caption] -= 1
            yield "captions", start, places[i + CAPTION_WORDS - 1][1][1]


def read_jsonl(path):
    with open(path, encoding="utf-8") as lines:
        return {int(page["id"]): page["text"] for page in map(json.loads, lines)}


def sources(dump, language=""):
    """→ {page id: (title, Source)}; `language` replaces a wrong one in the dump."""
    pages = list(read_dump(dump))
    language = language or read_dump.language
    return {page_id: (title, Source(wikitext, language)) for page_id, title, wikitext in pages}


def measure(pages, texts, listed=None):
    """→ (damages by kind, bytes of text, words kept, words in total). A page without text has lost all its words."""
    counts, size, kept, total = Counter(), 0, 0, 0
    for page_id, (title, source) in pages.items():
        text = texts.get(page_id, "")
        size += len(text.encode())
        total += source.words.total()
        kept += (source.words & Counter(words(text))).total()
        for kind, start, end in damages(source, text):
            counts[kind] += 1
            if kind == listed:
                around = f"{text[max(0, start - 50):start]}▶{text[start:end]}◀{text[end:end + 50]}"
                print(f"{title}: …{around}…".replace("\n", "¶"))
    return counts, size, kept, total


def table_row(name, counts, size, kept, total):
    per_mb = [counts[kind] / size * 1e6 if size else 0 for kind in KINDS]
    share = 100 * kept / total if total else 0
    cells = [f"{size / 1e6:.2f}"] + [f"{value:.0f}" for value in per_mb] + [f"{sum(per_mb):.0f}", f"{share:.1f}"]
    return f"| {name} | " + " | ".join(cells) + " |"


TABLE_HEAD = ("| text | MB | " + " | ".join(KINDS) + " | errors/MB | words % |\n|---|" + "--:|" * (len(KINDS) + 3))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dump")
    parser.add_argument("texts", nargs="+", metavar="TEXT.jsonl")
    parser.add_argument("--lang", default="", help="the pages' language, where the dump tells a wrong one")
    parser.add_argument("--list", choices=KINDS, dest="listed", metavar="KIND", help=", ".join(KINDS))
    args = parser.parse_args()
    pages = sources(args.dump, args.lang)
    rows = [table_row(path, *measure(pages, read_jsonl(path), args.listed)) for path in args.texts]
    print(TABLE_HEAD, *rows, sep="\n", file=sys.stderr if args.listed else sys.stdout)


if __name__ == "__main__":
    main()
