#!/usr/bin/env python3
"""Writes a dump of random pages and templates, which use the constructs of wikitext in each other, for render.sh and
compare.py.

    random_wiki.py SEED PAGES > DUMP.xml

Each construct is a method of Wiki, chosen by chance; depth limits how far they nest. Pages name what they hold in the
order of its text, so that a difference shows the construct beside it."""

import random
import sys
from xml.sax.saxutils import escape

SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe qi ro su ta ve wi xo yu za che dra fle gri sta".split()
TEMPLATES = 40


class Wiki:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.parameters = False  # whether {{{…}}} may be written: within templates

    def pick(self, *choices):
        return self.random.choice(choices)

    def chance(self, share):
        return self.random.random() < share

    def word(self):
        return "".join(self.random.choice(SYLLABLES) for _ in range(self.random.randint(2, 3)))

    def words(self, low=1, high=4):
        return " ".join(self.word() for _ in range(self.random.randint(low, high)))

    # -------------------------------------------------------------------------------------------------------- inline

    def inline(self, depth=0):
        """A piece of a sentence."""
        kinds = [self.plain] * 4 + [self.bold, self.italics, self.link, self.piped_link, self.external, self.entity,
                                    self.nowiki, self.comment]
        if depth < 3:
            kinds += [self.span, self.ref, self.small, self.call, self.call, self.call, self.if_, self.switch,
                      self.expr, self.ifeq, self.case, self.abbr, self.line_break]
            if self.parameters:
                kinds += [self.parameter] * 6
        return self.random.choice(kinds)(depth)

    def run(self, depth, low=1, high=3):
        return " ".join(self.inline(depth + 1) for _ in range(self.random.randint(low, high)))

    def plain(self, _):
        return self.words()

    def bold(self, _):
        return f"'''{self.words()}'''"

    def italics(self, _):
        return f"''{self.words()}''"

    def link(self, _):
        return f"[[{self.word().capitalize()}]]" + self.pick("", "", self.word())

    def piped_link(self, depth):
        return f"[[{self.words().capitalize()}|{self.pick(self.words(), self.bold(depth), self.italics(depth))}]]"

    def external(self, depth):
        url = "http://example.org/" + self.word()
        if self.parameters and self.chance(0.4):
            url += self.parameter(depth)
        return self.pick(f"[{url} {self.words()}]", f"[{url} ''{self.words()}'']")

    def entity(self, _):
        return self.word() + self.pick("&nbsp;", " &amp; ", "&thinsp;", "&ndash;", "&#8211;", " &lt; ") + self.word()

    def nowiki(self, _):
        return self.pick(f"<nowiki>{self.words()}</nowiki>", f"{self.word()}<nowiki/>{self.word()}",
                         f"<nowiki>''{self.word()}''</nowiki>")

    def comment(self, _):
        return f"{self.word()}<!-- {self.words()} -->{self.word()}"

    def attributes(self, depth):
        value = self.word()
        if self.parameters and self.chance(0.5):
            value = self.pick(self.parameter(depth + 1), "{{#if:{{{1|}}}|" + self.word() + "}}")
        return self.pick(f'class="{value}"', f"title='{value}'", f'style="color:{value};"',
                         f'lang="fr" class="{value}"', "")

    def span(self, depth):
        return f"<span {self.attributes(depth)}>{self.run(depth)}</span>"

    def small(self, depth):
        name = self.pick("small", "big", "u", "b", "i", "em", "sub", "sup", "code", "cite", "kbd", "var", "tt", "bdi")
        return f"<{name}>{self.run(depth)}</{name}>"

    def abbr(self, depth):
        return f'<abbr title="{self.words()}">{self.word()}</abbr>'

    def line_break(self, _):
        return self.word() + self.pick("<br>", "<br />", "<br/>", "<br clear=all>") + self.word()

    def ref(self, depth):
        return self.word() + self.pick(f"<ref>{self.words()}</ref>",
                                       f'<ref name="{self.word()}" group="{self.word()}" />',
                                       f'<ref name="{self.word()}">{self.words()}</ref>')

    # ----------------------------------------------------------------------------------------------------- functions

    def condition(self, depth):
        if self.parameters and self.chance(0.7):
            return self.pick("{{{1|}}}", "{{{2|}}}", "{{{name|}}}", "{{{absent|}}}", "{{{1|}}}{{{2|}}}")
        return self.pick("", " ", self.word(), "<!-- -->")

    def if_(self, depth):
        tail = self.pick("", f"|{self.run(depth)}", f" | {self.run(depth)} ")
        return f"{{{{#if:{self.condition(depth)}|{self.run(depth)}{tail}}}}}"

    def ifeq(self, depth):
        return f"{{{{#ifeq:{self.condition(depth)}|{self.pick('', '1', 'fo')}|{self.run(depth)}|{self.run(depth)}}}}}"

    def switch(self, depth):
        lines = [f"|{self.pick('a', 'b', '1', 'fo', '')} = {self.run(depth)}" for _ in range(2)]
        tail = self.pick(f"|#default = {self.run(depth)}", f"|{self.words()}", "")
        value = self.pick(self.condition(depth), "a", "b")
        return "{{#switch:" + value + "".join(lines) + "|c|d=" + self.words() + tail + "}}"

    def expr(self, _):
        return "{{#expr:" + self.pick("1+2", "7*6", "10/4", "2^8", "7 mod 3", "3.7 round 0", "(1+2)*3", "1 = 1") + "}}"

    def case(self, depth):
        return "{{" + self.pick("lc", "uc", "ucfirst", "lcfirst") + ":" + self.words() + "}}"

    # ----------------------------------------------------------------------------------------------------- templates

    def parameter(self, depth):
        name = self.pick("1", "1", "2", "3", "name", "other name")
        default = self.pick("", "|", f"|{self.words()}", "|{{{2|" + self.word() + "}}}")
        return "{{{" + name + default + "}}}"

    def call(self, depth):
        name = f"T{self.random.randrange(TEMPLATES)}"
        arguments = ""
        for _ in range(self.random.randint(0, 3)):
            value = self.pick(self.words(), self.run(depth + 1, 1, 2))
            arguments += self.pick("|", "|", "|name=", "|other name = ", "|\n", "| 1 = ", "\n| name = ") + value
        typed = self.pick(name, name, "Template:" + name, name.lower(), f" {name} ")
        return "{{" + typed + arguments + self.pick("", "\n" if arguments else "") + "}}"

    def body(self):
        """What a template shows: mostly inline, sometimes blocks."""
        self.parameters = True
        text = self.pick(self.run, self.run, self.run, self.block_body)(0)
        self.parameters = False
        document = f"This template {self.words()}."
        frame = self.pick("{}", "{}<noinclude>{doc}</noinclude>", "{}<noinclude>\n{doc}\n</noinclude>",
                          "<noinclude>{doc}</noinclude>{}", "<includeonly>{}</includeonly><noinclude>{doc}</noinclude>",
                          "{doc} <onlyinclude>{}</onlyinclude> {doc}", "{}<noinclude/>", "{}<!-- {doc} -->",
                          "{}<noinclude>{doc}",
                          "<onlyinclude>{}</onlyinclude>{doc}<onlyinclude>" + self.words() + "</onlyinclude>")
        return frame.replace("{doc}", document).replace("{}", text)

    def block_body(self, depth):
        kind = self.pick("paragraphs", "list", "heading", "div", "quote", "table", "safesubst", "style")
        if kind == "paragraphs":
            return f"{self.sentence()}\n\n{self.sentence()}"
        if kind == "list":
            return "\n" + "\n".join(f"* {self.run(depth)}" for _ in range(3)) + "\n"
        if kind == "heading":
            return f"== {self.words().capitalize()} ==\n{self.sentence()}"
        if kind == "div":
            return f"<div {self.attributes(depth)}>{self.sentence()}</div>"
        if kind == "quote":
            return f"<blockquote><p>{self.run(depth)}</p><div>{self.run(depth)}</div></blockquote>"
        if kind == "table":
            return "{| class=\"infobox\"\n! " + self.words() + "\n| " + self.run(depth) + "\n|}"
        if kind == "safesubst":
            return "{{safesubst:<noinclude/>#if:{{{1|}}}|" + self.run(depth) + "|" + self.words() + "}}"
        return f"<div style=\"clear:{{{{{{1|both}}}}}};\"></div>"

    # -------------------------------------------------------------------------------------------------------- blocks

    def sentence(self, depth=0):
        return self.words().capitalize() + " " + self.run(depth, 2, 5) + " " + self.words() + "."

    def block(self):
        return self.pick(*[self.paragraph] * 5, self.list, self.definitions, self.heading, self.table, self.pre,
                         self.quote, self.alone, self.alone, self.indented, self.div, self.picture)()

    def paragraph(self):
        return " ".join(self.sentence() for _ in range(self.random.randint(1, 3)))

    def list(self):
        mark = self.pick("*", "#", "**", "*#")
        return "\n".join(f"{mark} {self.run(0)}" for _ in range(3))

    def definitions(self):
        return f"; {self.words()}\n: {self.run(0)}\n; {self.words()} : {self.words()}"

    def heading(self):
        level = "=" * self.random.randint(2, 4)
        return f"{level} {self.words().capitalize()} {level}\n{self.paragraph()}"

    def table(self):
        return "{| class=\"wikitable\"\n! " + self.words() + "\n|-\n| " + self.run(0) + " || " + self.words() + "\n|}"

    def pre(self):
        return f"<pre>{self.words()}\n{self.words()}</pre>"

    def quote(self):
        return f"<blockquote>{self.sentence()}</blockquote>"

    def alone(self):
        return self.call(0)

    def indented(self):
        return f": {self.sentence()}"

    def div(self):
        return f"<div {self.attributes(0)}>\n{self.sentence()}\n</div>"

    def picture(self):
        return f"[[File:{self.word()}.jpg|thumb|{self.run(0)}]]\n{self.paragraph()}"

    def page(self):
        blocks = [self.block() for _ in range(self.random.randint(2, 6))]
        return "\n\n".join([self.paragraph(), *blocks, self.paragraph()])


HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">
  <siteinfo><sitename>Random</sitename><dbname>randomwiki</dbname><base>http://example.org/wiki/Main_Page</base>
    <generator>MediaWiki 1.39.17</generator><case>first-letter</case>
    <namespaces>
      <namespace key="0" case="first-letter" />
      <namespace key="6" case="first-letter">File</namespace>
      <namespace key="10" case="first-letter">Template</namespace>
      <namespace key="14" case="first-letter">Category</namespace>
    </namespaces></siteinfo>"""


def write_page(number, namespace, title, text):
    print(f"""  <page><title>{escape(title)}</title><ns>{namespace}</ns><id>{number}</id>
    <revision><id>{number}</id><timestamp>2023-05-06T07:08:09Z</timestamp><contributor><username>A</username><id>1</id>
      </contributor><model>wikitext</model><format>text/x-wiki</format>
      <text bytes="{len(text.encode())}" xml:space="preserve">{escape(text)}</text></revision></page>""")


def main():
    sys.stdout.reconfigure(encoding="utf-8")
    wiki = Wiki(int(sys.argv[1]))
    pages = int(sys.argv[2])
    print(HEAD)
    for i in range(TEMPLATES):
        write_page(i + 1, 10, f"Template:T{i}", wiki.body())
    for i in range(pages):
        write_page(1000 + i, 0, f"Page {i}", wiki.page())
    print("</mediawiki>")


main()
