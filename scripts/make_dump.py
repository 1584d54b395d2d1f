#!/usr/bin/env python3
"""Writes a synthetic dump of any size to stdout, for benchmarks and tests of scale.

    scripts/make_dump.py --bytes 100M --seed 1 > x.xml
    scripts/make_dump.py --bytes 4G | lbzip2 > x.xml.bz2
    scripts/make_dump.py --bytes 10M --export DIR --parts 3

In:  the words of samples/wiki with their frequencies, and a tail of invented words below them (Zipf's law).
Out: MediaWiki export XML of pages shaped as in a real dump: 40 % redirects, 8 % templates and talk pages, articles
     with an infobox, refs, links, tables, lists and categories, their lengths log-normal (a few are very long).

With --export, DIR gets what MediaWiki's content file exports have: parts that are whole documents, single bzip2 streams
named by their first and last page, SHA256SUMS and _SUCCESS; pages of all namespaces (articles are less than half of the
bytes), revisions with further slots, suppressed and empty texts.

Speed comes from recombining: pools of clauses, refs and rows are made once, with markup in place and escaped for XML,
and an article is a row of draws from them. A sentence is three clauses, so sentences hardly ever repeat, and bzip2
packs the XML about 3.5 to one, as it does Wikipedia's. Titles are a bijection of the page number, so they are unique
at any size without a table. Same --bytes and --seed, same bytes. Python's standard library only.
"""

import argparse
import bz2
import hashlib
import random
import re
import sys
from collections import Counter
from itertools import accumulate
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORDS = 40000  # distinct words; the i-th most frequent has a weight of 1 / (i + 2.7)
CLAUSES = 24000  # in each of the three pools
REDIRECT_SHARE, OTHER_SHARE = 0.40, 0.08
CHUNK_BYTES = 1 << 20  # bytes written at once


def parse_size(text):
    """100, 10K, 100M or 2G as bytes."""
    match = re.fullmatch(r"(\d+)([KMG]?)", text)
    if not match:
        raise argparse.ArgumentTypeError(f"'{text}' is not a size such as 100M")
    return int(match[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[match[2]]


def make_words(rng):
    """Distinct words, most frequent first: those of the sample articles, then invented ones."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "samples/wiki").glob("0[0-4]*.wiki")))
    text = re.sub(r"\{\{[^{}]*\}\}|<[^<>]*>|\[\[[^\[\]|]*\|", " ", text)
    counts = Counter(re.findall(r"(?<![\w{}=|])[a-z]{1,14}(?![\w=|])", text))
    words = [word for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    known = set(words)
    onsets = "b c d f g h j k l m n p r s t v w z b d k l m n r s t br ch cl gr pl sh st th tr".split()
    vowels = "a a a e e e i i o o u ai ea ou y".split()
    codas = ["", "", "", "", "n", "n", "r", "s", "l", "t", "m", "nd"]
    ends = ["", "", "", "", "ia", "er", "ing", "ed", "ic", "us", "ton", "ova", "al"]
    while len(words) < WORDS:
        syllables = rng.choice((1, 2, 2, 2, 3))
        word = "".join(rng.choice(onsets) + rng.choice(vowels) + rng.choice(codas) for _ in range(syllables))
        word += rng.choice(ends)
        if word not in known:
            known.add(word)
            words.append(word)
    return words


class Pools:
    """All parts from which articles are assembled; made once."""

    def __init__(self, rng):
        self.rng = rng
        words = make_words(rng)
        cumulative = list(accumulate(1 / (rank + 2.7) for rank in range(len(words))))
        self.stream = iter(rng.choices(words, cum_weights=cumulative, k=24 * CLAUSES))
        self.names = [word.capitalize() for word in words[1000:] if len(word) > 3]
        self.opening = [self.clause(rng.randint(3, 7)).capitalize() for _ in range(CLAUSES)]
        self.middle = [self.marked(self.clause(rng.randint(3, 8))) for _ in range(CLAUSES)]
        self.ref = [self.reference() for _ in range(CLAUSES // 8)]
        self.closing = [self.clause(rng.randint(2, 6)) + "." + self.tail() for _ in range(CLAUSES)]
        self.row = [self.table_row() for _ in range(CLAUSES // 8)]
        self.item = [self.list_item() for _ in range(CLAUSES // 8)]
        self.field = [f"| {self.clause(1)} = {self.value()}" for _ in range(CLAUSES // 8)]

    def clause(self, count):
        return " ".join(next(self.stream) for _ in range(count))

    def name(self):
        return " ".join(self.rng.choices(self.names, k=self.rng.randint(1, 2)))

    def marked(self, clause):
        """The clause with markup as it occurs inside sentences, with the same frequency."""
        draw = self.rng.random()
        if draw < 0.30:
            return f"{clause} [[{self.name()}]]"
        if draw < 0.45:
            return f"{clause} [[{self.name()}|{self.clause(2)}]]"
        if draw < 0.50:
            return f"{clause} ''{self.name()}'' in {self.rng.randint(1066, 2024)}"
        if draw < 0.54:
            return f"{clause} {{{{convert|{self.rng.randint(2, 9000)}|km|mi|abbr=on}}}}"
        if draw < 0.57:
            return f"{clause} ({{{{lang|la|{self.clause(2)}}}}}; &amp;ndash; {self.clause(1)})"
        return clause + ","

    def reference(self):
        rng = self.rng
        kind = rng.choice(("web", "book", "news", "journal"))
        url = f"https://www.{self.clause(1)}.example.org/{self.clause(1)}/{rng.randint(1, 99999)}"
        return (
            f"&lt;ref&gt;{{{{cite {kind}|url={url} |title={self.name()} {self.clause(4)} |last={self.name()} "
            f"|first={rng.choice(self.names)} |date={rng.randint(1, 28)} May {rng.randint(1950, 2024)} "
            f"|publisher={self.name()}}}}}&lt;/ref&gt;"
        )

    def tail(self):
        """What follows the full stop of a sentence."""
        draw = self.rng.random()
        if draw < 0.22:
            return self.rng.choice(self.ref)
        if draw < 0.30:
            return f"&lt;ref name=&quot;r{self.rng.randint(1, 9)}&quot; /&gt;"
        return "{{citation needed|date=May 2021}}" if draw < 0.31 else ""

    def value(self):
        rng = self.rng
        return rng.choice((str(rng.randint(1, 99999)), self.name(), f"[[{self.name()}]]", self.clause(3)))

    def table_row(self):
        return f"|-\n| [[{self.name()}]] || {self.rng.randint(1, 9999)} || {self.clause(2)} || {self.name()}\n"

    def list_item(self):
        if self.rng.random() < 0.5:
            return f"* [[{self.name()}]], {self.clause(5)}\n"
        return f"* [[{self.name()}]]\n"

    def title(self, number):
        """A unique title for every number below the square of the count of names."""
        count = len(self.names)
        first = number * 7919 % count
        return f"{self.names[first]} {self.names[(number // count + 17 * first) % count]}"


def paragraph(pools, sentences):
    draws = [pools.rng.choices(pool, k=sentences) for pool in (pools.opening, pools.middle, pools.closing)]
    return " ".join([" ".join(clauses) for clauses in zip(*draws)])


def article(pools, title):
    """Wikitext of an article, escaped for XML."""
    rng = pools.rng
    lines = []
    if rng.random() < 0.6:
        fields = "\n".join(rng.choices(pools.field, k=rng.randint(4, 20)))
        lines.append(f"{{{{Infobox {rng.choice(pools.names).lower()}\n| name = {title}\n{fields}\n}}}}\n")
    lines.append(f"'''{title}''' {rng.choice(pools.middle)} {paragraph(pools, rng.randint(1, 5))}\n\n")
    sections = min(int(rng.lognormvariate(0.9, 0.9)), 60)
    for _ in range(sections):
        lines.append(f"== {rng.choice(pools.names)} ==\n")
        if rng.random() < 0.15:
            lines.append(f"[[File:{rng.choice(pools.names)}.jpg|thumb|{rng.choice(pools.middle)}]]\n")
        for _ in range(rng.randint(1, 4)):
            lines.append(paragraph(pools, rng.randint(2, 8)) + "\n\n")
        draw = rng.random()
        if draw < 0.12:
            rows = "".join(rng.choices(pools.row, k=rng.randint(3, 40)))
            lines.append(f"{{| class=&quot;wikitable&quot;\n! Name !! Number !! Kind !! Place\n{rows}|}}\n")
        elif draw < 0.35:
            lines.append("".join(rng.choices(pools.item, k=rng.randint(3, 15))) + "\n")
    lines.append("== References ==\n{{reflist}}\n\n{{Authority control}}\n")
    lines += [f"[[Category:{name} of {rng.choice(pools.names)}]]\n" for name in rng.choices(pools.names, k=3)]
    return "".join(lines)


def page(pools, number):
    """The number-th <page>."""
    rng = pools.rng
    title, namespace, redirect = pools.title(number), 0, ""
    draw = rng.random()
    if draw < REDIRECT_SHARE:
        target = pools.title(rng.randrange(number) if number else 1)
        redirect = f'    <redirect title="{target}" />\n'
        text = f"#REDIRECT [[{target}]]\n\n{{{{R from {rng.choice(pools.names)}}}}}"
    elif draw < REDIRECT_SHARE + OTHER_SHARE / 2:
        namespace, title = 10, f"Template:{title}"
        text = "{{Navbox\n| list1 = " + " • ".join(rng.choices(pools.middle, k=rng.randint(5, 40))) + "\n}}"
    elif draw < REDIRECT_SHARE + OTHER_SHARE:
        namespace, title = 1, f"Talk:{title}"
        text = f"== {rng.choice(pools.names)} ==\n{paragraph(pools, rng.randint(1, 9))} [[User:Heron]]"
    else:
        text = article(pools, title)
    revision = 700000000 + number * 3
    date = f"20{number % 20 + 5:02}-0{number % 9 + 1}-1{number % 10}"
    return (
        f"  <page>\n    <title>{title}</title>\n    <ns>{namespace}</ns>\n    <id>{number + 10}</id>\n{redirect}"
        f"    <revision>\n      <id>{revision}</id>\n      <parentid>{revision - 1}</parentid>\n"
        f"      <timestamp>{date}T0{number % 7}:2{number % 10}:36Z</timestamp>\n      <contributor>\n"
        f"        <username>{rng.choice(pools.names)}</username>\n        <id>{rng.randint(1, 9999999)}</id>\n"
        f"      </contributor>\n      <model>wikitext</model>\n      <format>text/x-wiki</format>\n"
        f'      <text bytes="{len(text)}" xml:space="preserve">{text}</text>\n'
        f"      <sha1>{rng.getrandbits(158):031x}</sha1>\n    </revision>\n  </page>\n"
    )


# ---------------------------------------------------------------------------------------------- content file exports

# Namespaces and their share of pages; articles and redirects have the rest.
EXPORT_SPACES = [(1, "Talk", 0.22), (2, "User", 0.06), (3, "User talk", 0.20), (4, "Project", 0.04)]
EXPORT_SPACES += [(10, "Template", 0.05), (14, "Category", 0.06), (828, "Module", 0.02)]


def export_head(wiki):
    spaces = [(-2, "Media"), (-1, "Special"), (0, ""), *[(key, name) for key, name, _ in EXPORT_SPACES], (6, "File")]
    names = "".join(
        f'      <namespace key="{key}" case="first-letter"' + (f">{name}</namespace>\n" if name else " />\n")
        for key, name in sorted(spaces)
    )
    return (
        '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">\n  <siteinfo>\n'
        f"    <sitename>Wikipedia</sitename>\n    <dbname>{wiki}</dbname>\n"
        "    <base>https://en.wikipedia.example.org/wiki/Main_Page</base>\n"
        "    <generator>MediaWiki Content File Export 1.0</generator>\n    <case>first-letter</case>\n"
        f"    <namespaces>\n{names}    </namespaces>\n  </siteinfo>\n"
    )


def escape(text):
    """Escapes quotes as exports do; & and < are already escaped in the pools."""
    return text.replace('"', "&quot;")


def text_element(text, indent):
    if not text:
        return f'{indent}<text bytes="0" />\n'
    return f'{indent}<text bytes="{len(text)}" sha1="{"0" * 31}" xml:space="preserve">{escape(text)}</text>\n'


def export_page(pools, number):
    """The number-th <page> of an export, with (id, XML)."""
    rng = pools.rng
    ident, title, space, redirect, text = number * 3 + 10, pools.title(number), 0, "", ""
    model, form = "wikitext", "text/x-wiki"
    draw = rng.random()
    for key, name, share in EXPORT_SPACES:
        draw -= share
        if draw < 0:
            space, title = key, f"{name}:{title}"
            break
    if space == 0 and rng.random() < REDIRECT_SHARE:
        target = pools.title(rng.randrange(number) if number else 1)
        redirect, text = f'    <redirect title="{target}" />\n', f"#REDIRECT [[{target}]]"
    elif space == 0:
        text = article(pools, title)
    elif space == 828:
        model, form = "Scribunto", "text/plain"
        text = "return {\n" + "".join(f'  "{clause}",\n' for clause in pools.opening[:30]) + "}"
    else:
        talks = (f"== {rng.choice(pools.names)} ==\n{paragraph(pools, 6)} [[User:Heron]]" for _ in range(9))
        text = "\n\n".join([talk for talk in talks if rng.random() < 0.5])
    body = text_element(text, "      ")
    fate = rng.random()
    if fate < 0.01:
        body = '      <text bytes="-1" deleted="deleted" />\n'
    elif fate < 0.02:
        body = text_element("", "      ")
    elif fate < 0.05:  # another slot, whose text is not the page's
        slot = '{"depicts": "slot text that is not the page\'s"}'
        body += (
            "      <content>\n        <role>mediainfo</role>\n        <origin>1</origin>\n"
            "        <model>wikibase-mediainfo</model>\n"
            f"        <format>application/json</format>\n{text_element(slot, '        ')}      </content>\n"
        )
    revision = 700000000 + number * 3
    return ident, (
        f"  <page>\n    <title>{title}</title>\n    <ns>{space}</ns>\n    <id>{ident}</id>\n{redirect}"
        f"    <revision>\n      <id>{revision}</id>\n      <parentid>{revision - 1}</parentid>\n"
        f"      <timestamp>2026-0{number % 9 + 1}-1{number % 10}T00:00:00Z</timestamp>\n      <contributor>\n"
        f"        <username>{rng.choice(pools.names)}</username>\n        <id>{rng.randint(1, 9999999)}</id>\n"
        f"      </contributor>\n      <origin>{revision}</origin>\n      <model>{model}</model>\n"
        f"      <format>{form}</format>\n{body}      <sha1>{'' if fate < 0.01 else '0' * 31}</sha1>\n"
        "    </revision>\n  </page>\n"
    )


def write_export(pools, options):
    folder = Path(options.export)
    folder.mkdir(parents=True, exist_ok=True)
    number, sums = 0, []
    for _ in range(options.parts):
        chunk, written, first, last = [export_head(options.wiki)], 0, None, 0
        while written < options.bytes / options.parts:
            last, xml = export_page(pools, number)
            first = last if first is None else first
            chunk.append(xml)
            written += len(xml)
            number += 1
        data = bz2.compress(("".join(chunk) + "</mediawiki>\n").encode())
        name = f"{options.wiki}-{options.date}-p{first}p{last}.xml.bz2"
        (folder / name).write_bytes(data)
        sums.append(f"{hashlib.sha256(data).hexdigest()}  {name}\n")
    (folder / "SHA256SUMS").write_text("".join(sums))
    (folder / "_SUCCESS").write_text("")


def main():
    parser = argparse.ArgumentParser(description="Writes a synthetic Wikipedia dump to stdout.")
    parser.add_argument("--bytes", type=parse_size, default="10M", help="XML bytes, at least (K, M, G; default 10M)")
    parser.add_argument("--seed", type=int, default=1, help="another seed, another dump (default 1)")
    parser.add_argument("--export", metavar="DIR", help="write a folder as content file exports have it, not one dump")
    parser.add_argument("--parts", type=int, default=3, help="with --export: how many files (default 3)")
    parser.add_argument("--wiki", default="samplewiki", help="with --export: the wiki's name (default samplewiki)")
    parser.add_argument("--date", default="2026-11-01", help="with --export: the date in the names")
    options = parser.parse_args()
    if options.export:
        write_export(Pools(random.Random(options.seed)), options)
        return

    sys.path.insert(0, str(ROOT / "scripts"))
    import make_samples

    pools = Pools(random.Random(options.seed))
    out = sys.stdout.buffer
    chunk, chunk_bytes, written, number = [make_samples.head()], 0, 0, 0
    try:
        while written + chunk_bytes < options.bytes:
            chunk.append(page(pools, number))
            chunk_bytes += len(chunk[-1])  # nearly all of it is ASCII
            number += 1
            if chunk_bytes >= CHUNK_BYTES:
                written += out.write("".join(chunk).encode())
                chunk, chunk_bytes = [], 0
        out.write(("".join(chunk) + "</mediawiki>\n").encode())
        out.flush()
    except BrokenPipeError:  # head, or another consumer that closes the pipe
        sys.stderr.close()
        raise SystemExit(1)


if __name__ == "__main__":
    main()
