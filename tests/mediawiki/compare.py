#!/usr/bin/env python3
"""Compares the text of a dump's pages, as a program extracts it, with what MediaWiki shows, word by word.

    compare.py DUMP PAGES.jsonl --dsdata PROGRAM [--extract "OPTIONS"] [--worst N] [--kinds N] [--row NAME]
    compare.py DUMP PAGES.jsonl --dsdata PROGRAM --known FILE [--write]
    compare.py DUMP PAGES.jsonl --ours TEXTS.jsonl         lines {"title", "text"} of another program

PAGES.jsonl is what render.sh wrote. A word is a run of letters and digits, one ideograph or kana, or one mark. Words
that the page shows in its running text and the program lacks are lost; words of the program that the page does not show
are extra; both are given per 1,000 words of the pages. Markup is a tag, brace or switch of wikitext in the program's
text that the page does not show. --kinds ranks the template calls and other places that differences come from. --row
prints the figures as a row of a Markdown table. --known prints the pages that differ otherwise than FILE says
(differences.txt), and exits with 1 if there are any; --write writes them to FILE, new ones below its first heading.

Running text is paragraphs, lists, headings, quotations and <pre>. NOT_TEXT and has_box_style() say what is left out:
tables, boxes, notes, pictures, listings. Words beside a formula, beside a template that the dump lacks or beside a
module that fails are not judged, because this MediaWiki cannot know what the wiki shows.

HTML does not say what is a box or a remark, so classes that wikis commonly use decide (CLASSES). That is a weakness:
dsdata leaves out most of the same classes (tag_is_box), so where both are wrong nothing is counted. --count GROUP
counts the words of a group as running text, to see how much depends on it. On the Latgalian Wikipedia of 2017 and a
wiki of Fandom of 2023 no word depends on the groups boxes and remarks (boxes there are tables, or float); notes hold 89
and 5 words per 1,000, pictures 12 and 1, machinery 1 at most, nearly all in classes of MediaWiki's own."""

import argparse
import collections
import difflib
import html
import html.parser
import json
import re
import shlex
import subprocess
import sys
import unicodedata

VOID = set("area base br col embed hr img input link meta param source track wbr".split())
BLOCKS = set("p li dd dt h1 h2 h3 h4 h5 h6 div blockquote pre center ul ol dl hr section".split())

# Classes of what is no running text. Notes, pictures and machinery: those that MediaWiki, its extensions or
# settings.php write, and common templates for lists of notes and floating pictures. Boxes and remarks: those of the
# English Wikipedia's templates, which most wikis have copied, and of Fandom's infoboxes.
CLASSES = {
    "boxes": """infobox taxobox navbox vertical-navbox navbox-styles NavFrame sidebar succession-box portal portalbox
        toccolours messagebox ambox mbox tmbox ombox cmbox fmbox imbox notice portable-infobox sistersitebox side-box
        mbox-small""",
    "remarks": """hatnote dablink rellink noprint metadata navigation-not-searchable mw-indicators mw-indicator
        coordinates geo-nondefault""",
    "notes": """references reflist refbegin mw-references-wrap reference-text mw-cite-backlink Inline-Template
        cite_error mw-ext-cite-error""",
    "pictures": """thumb gallery gallerybox gallerytext thumbcaption mod-gallery ds-picture floatright floatleft tright
        tleft listen haudio mediaContainer""",
    "machinery": """toc tocnumber mw-editsection editsection catlinks CategoryTreeTag CategoryTreeSection mw-empty-elt
        mw-collapsible-toggle mw-inputbox-centered error ds-listing autonumber""",
}

# What is no running text, by element, class, role and id.
NOT_TEXT = {
    "element": set("table aside figure figcaption img map audio video style script link meta input form button select "
                   "textarea del s strike".split()),
    "class": set(" ".join(CLASSES.values()).split()),
    "role": {"navigation", "complementary", "note"},
    "id": {"toc", "coordinates"},
}
BOX_STYLE = re.compile(r"float:(left|right)|position:(absolute|fixed)|display:none|visibility:hidden|clip:rect")
LIST = {"ul", "ol", "li", "dl"}

UNKNOWN = "\ue000"  # stands for what this MediaWiki cannot show
ONE = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
WORD = re.compile(f"{UNKNOWN}|[{ONE}]|[^\\W{ONE}]+|[^\\w\\s]")
INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u200e\u200f\u2060\u202a\u202b\u202c\u202d\u202e\u2066\u2067"
                                   "\u2068\u2069\ufeff\u00ad\ufe0e\ufe0f"))
MARKUP = re.compile(r"</?[a-zA-Z][a-zA-Z0-9]{0,15}(?:\s+[a-zA-Z:-]+\s*=[^<>]{0,300}|\s*)/?>|"
                    r"\{\{|\}\}|\[\[|\]\]|\{\||\|\}|"
                    r"'''?|(?<!\w)__[^\W_]+__(?!\w)|&[a-zA-Z]{2,8};|&#\d+;")


def plain(text):
    return unicodedata.normalize("NFC", text).translate(INVISIBLE).replace("\xa0", " ")


def has_box_style(element, style):
    found = BOX_STYLE.search(style.lower().replace(" ", ""))
    return bool(found) and not (element in LIST and found[0].startswith("float"))


class Reader(html.parser.HTMLParser):
    """Collects the running text of a page's HTML in .text."""

    def __init__(self, template_names):
        super().__init__(convert_charrefs=True)
        self.template_names = template_names
        self.open = []  # (element, whether its text is left out, text before it) of every open element
        self.hidden = 0
        self.text = ""
        self.link = None  # text of a link to a page that is missing, and where it began

    def handle_starttag(self, element, attributes):
        given = {name: value or "" for name, value in attributes}
        classes = set(given.get("class", "").split())
        left_out = (element in NOT_TEXT["element"] or bool(classes & NOT_TEXT["class"])
                    or given.get("role") in NOT_TEXT["role"] or given.get("id") in NOT_TEXT["id"]
                    or element == "sup" and bool(classes & {"reference", "noprint"})
                    or has_box_style(element, given.get("style", ""))
                    or element == "a" and "external" in classes
                    and re.search("action=(edit|purge)", given.get("href", "")) is not None)
        if not self.hidden and classes & {"ds-unknown", "scribunto-error"}:
            self.text += f" {UNKNOWN} "
            left_out = True
        if element == "br" or element in BLOCKS:
            self.add("\n")
        if element in VOID:
            return
        begins_link = element == "a" and "new" in classes and not self.hidden
        self.open.append((element, left_out, len(self.text) if begins_link else None))
        self.hidden += left_out

    def handle_startendtag(self, element, attributes):
        self.handle_starttag(element, attributes)
        if element not in VOID:
            self.handle_endtag(element)

    def handle_endtag(self, element):
        if not any(name == element for name, _, _ in self.open):
            return
        while True:
            name, left_out, link = self.open.pop()
            self.hidden -= left_out
            if link is not None and self.text[link:].startswith(self.template_names):
                self.text = self.text[:link] + f" {UNKNOWN} "
            if name in BLOCKS:
                self.add("\n")
            if name == element:
                return

    def handle_data(self, data):
        self.add(data)

    def add(self, text):
        if not self.hidden:
            self.text += text


def shown(page, template_names):
    """The words of a page's running text."""
    reader = Reader(template_names)
    reader.feed(page)
    reader.close()
    text = re.sub("__[A-Z_]+__", "", reader.text)  # switches of extensions that this MediaWiki lacks
    text = re.sub(r"\{\{\{[^{}\n]*\}\}\}", "", text)  # a parameter that no call gives: a mistake, left out
    lines = (re.sub(r"\s+", " ", plain(line)).strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line)


def extract(arguments):
    command = [arguments.dsdata, "extract", arguments.dump, "--format", "jsonl", "-q", "--keep", "headings,lists,pre",
               *shlex.split(arguments.extract)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{shlex.join(command)}: exit {done.returncode}: {done.stderr[-500:]}")
    return done.stdout.splitlines()


def differences(truth, ours):
    """(lost words, extra words, words before, position in truth) of each place where they differ."""
    matcher = difflib.SequenceMatcher(None, truth, ours, autojunk=len(truth) * len(ours) > 10**8)
    for kind, i, j, k, m in matcher.get_opcodes():
        if kind == "equal":
            continue
        lost = [word for word in truth[i:j] if word != UNKNOWN]
        extra = [] if UNKNOWN in truth[i:j] else ours[k:m]
        if lost or extra:
            yield lost, extra, truth[max(0, i - 5):i], truth[j:j + 3]


def call_name(source):
    return re.match(r"\{\{\s*([^|}\n]*)", source)[1].strip()


def source_of(lost, extra, calls):
    """The call that shows most of the lost words, or has most of the extra words in its source."""
    best, best_share = None, 0.5
    for call in calls:
        there = collections.Counter(call["words"] if lost else WORD.findall(call["source"]))
        words = collections.Counter(lost or extra)
        share = sum((words & there).values()) / sum(words.values())
        if share > best_share:
            best, best_share = call, share
    if best is None:
        return "page text"
    modules = best.get("modules") or []
    return "{{" + call_name(best["source"]) + "}}" + (f" (module {', '.join(modules[:3])})" if modules else "")


def print_places(found):
    for gone, more, before, after in found[:6]:
        print(f"    {' '.join(before)} [-{' '.join(gone[:40])}-] [+{' '.join(more[:40])}+] {' '.join(after)}")


def known_differences(path):
    """{title: (lost, extra)}: the lines "LOST EXTRA TITLE" of a file."""
    with open(path, encoding="utf-8") as file:
        found = (re.fullmatch(r"(\d+) (\d+) (.+)", line.rstrip("\n")) for line in file)
        return {line[3]: (int(line[1]), int(line[2])) for line in found if line}


def write_differences(path, changed):
    """Replaces the lines of known_differences; new ones are put below the first heading."""
    with open(path, encoding="utf-8") as file:
        head, heading, *rest = file.read().split("\n\n", 2)
    lines = {title: f"{lost} {extra} {title}" for title, (lost, extra) in changed.items()}
    kept = []
    for line in "\n\n".join([heading, *rest]).split("\n"):
        found = re.fullmatch(r"\d+ \d+ (.+)", line)
        kept.append(lines.pop(found[1], line) if found else line)
    kept = [*kept[:1], *lines.values(), *kept[1:]]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([head, "", *(line for line in kept if not line.startswith("0 0 "))]))


class Totals:
    def __init__(self):
        self.pages = self.words = self.lost = self.extra = self.equal = self.markup = self.markup_pages = 0
        self.absent = self.absent_words = self.failed = 0
        self.titles = set()
        self.worst = []
        self.kinds = collections.defaultdict(lambda: [0, 0, ""])

    def add_page(self, page, text, names):
        truth_text = shown(page["html"], names)
        truth, ours = WORD.findall(truth_text), WORD.findall(text or "")
        known = [word for word in truth if word != UNKNOWN]
        if not known and not ours:
            return
        if text is None:
            self.absent += 1
            self.absent_words += len(known)
        markup = collections.Counter(MARKUP.findall(text or "")) - collections.Counter(MARKUP.findall(truth_text))
        self.markup += markup.total()
        self.markup_pages += bool(markup)
        found = list(differences(truth, ours)) if truth != ours else []
        lost, extra = sum(len(d[0]) for d in found), sum(len(d[1]) for d in found)
        self.pages += 1
        self.titles.add(page["title"])
        self.words += len(known)
        self.lost += lost
        self.extra += extra
        self.equal += not found
        if found:
            self.worst.append((lost + extra, page["title"], lost, extra, len(known), found))
            self.rank(page, found)

    def rank(self, page, found):
        for call in page["calls"]:
            call["words"] = WORD.findall(shown(call["html"], ("\0",)))
        for lost, extra, before, _ in found:
            kind = self.kinds[source_of(lost, extra, page["calls"])]
            kind[0] += len(lost)
            kind[1] += len(extra)
            kind[2] = kind[2] or (f"{page['title']}: {' '.join(before)} [-{' '.join(lost[:12])}-] "
                                  f"[+{' '.join(extra[:12])}+]")

    def row(self, name):
        thousand = 1000 / max(self.words, 1)
        return (f"| {name} | {self.lost * thousand:.2f} | {self.extra * thousand:.2f} | "
                f"{100 * self.equal / max(self.pages, 1):.1f} % | {self.markup} |")

    def unexpected(self, known):
        """{title: (lost, extra)} of the pages that differ otherwise than known says; prints them."""
        found = {page[1]: page for page in self.worst}
        wrong = {}
        for title in sorted(self.titles):
            now = found[title][2:4] if title in found else (0, 0)
            if now != known.get(title, (0, 0)):
                wrong[title] = now
                before = f" (known: {known[title][0]} {known[title][1]})" if title in known else ""
                print(f"{now[0]} {now[1]} {title}{before}")
                print_places(found[title][5] if title in found else [])
        return wrong

    def print(self, worst, kinds):
        for page in sorted(self.worst, key=lambda page: -page[0])[:worst]:
            print(f"{page[1]}: lost {page[2]}, extra {page[3]} of {page[4]}")
            print_places(page[5])
        ranked = sorted(self.kinds.items(), key=lambda kind: -sum(kind[1][:2]))
        for name, (lost, extra, example) in ranked[:kinds]:
            print(f"{name}: lost {lost}, extra {extra}; {example}")
        thousand = 1000 / max(self.words, 1)
        print(f"{self.pages} pages, {self.words} words: lost {self.lost * thousand:.2f}, "
              f"extra {self.extra * thousand:.2f} per 1,000; "
              f"equal {100 * self.equal / max(self.pages, 1):.1f} %; markup {self.markup} on "
              f"{self.markup_pages} pages; absent {self.absent} pages ({self.absent_words} words); "
              f"not rendered {self.failed}")


def template_names(pages_path):
    """What links to missing templates begin with: the namespace in the wiki's language and in English."""
    with open(pages_path + ".site", encoding="utf-8") as file:
        return (json.load(file)["namespaces"].get("10", "Template") + ":", "Template:")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("dump")
    parser.add_argument("pages")
    parser.add_argument("--dsdata", default="build/release/dsdata")
    parser.add_argument("--extract", default="", metavar="OPTIONS", help="more options of dsdata extract")
    parser.add_argument("--ours", metavar="FILE")
    parser.add_argument("--worst", type=int, default=0, metavar="N")
    parser.add_argument("--kinds", type=int, default=0, metavar="N")
    parser.add_argument("--known", metavar="FILE")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--row", metavar="NAME")
    parser.add_argument("--count", choices=CLASSES, metavar="GROUP")
    arguments = parser.parse_args()
    if arguments.count:
        NOT_TEXT["class"] -= set(CLASSES[arguments.count].split())
    if arguments.ours:
        with open(arguments.ours, encoding="utf-8") as file:
            lines = file.readlines()
    else:
        lines = extract(arguments)
    ours = {document["title"]: plain(document["text"]) for document in map(json.loads, lines)}
    names = template_names(arguments.pages)
    totals = Totals()
    with open(arguments.pages, encoding="utf-8") as file:
        for page in map(json.loads, file):
            if page["html"] is None:
                totals.failed += 1
            else:
                totals.add_page(page, ours.get(page["title"]), names)
    if arguments.known:
        wrong = totals.unexpected(known_differences(arguments.known))
        print(f"{totals.pages} pages, {totals.equal} equal, {len(wrong)} not as known")
        if arguments.write:
            write_differences(arguments.known, wrong)
        return int(len(wrong) > 0 or totals.pages == 0 or totals.failed > 0)
    if arguments.row:
        print(totals.row(arguments.row))
    else:
        totals.print(arguments.worst, arguments.kinds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
