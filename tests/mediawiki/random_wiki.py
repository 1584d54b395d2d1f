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
                      self.expr, self.ifeq, self.case, self.abbr, self.line_break, self.falling, self.time, self.title,
                      self.string, self.computed_call, self.error, self.tag, self.number, self.hidden, self.exists]
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
        return self.word() + self.pick("&nbsp;", " &amp; ", "&thinsp;", "&ndash;", "&#8211;", " &lt; ", "&bigstar;",
                                       "&NewLine;", "&#150;", "&nosuch;") + self.word()

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

    def falling(self, depth):
        """Cases without a value, and blanks around everything."""
        value = self.condition(depth) if self.chance(0.5) else self.pick("a", " b ", "2.0", "c")
        return ("{{#switch: " + value + " | a | " + self.pick("b", "2") + " | c =" + self.run(depth) +
                "\n | #default | d = " + self.words() + self.pick("", "\n| " + self.words()) + " }}")

    def time(self, depth):
        date = self.pick("", "|2001-02-03", "|3 February 2001", "|2001-02-03 +1 month", "|20010203", "|now", "|-2 days",
                         "|{{{date|1999-12-31}}}" if self.parameters else "|1999")
        return "{{#time:" + self.pick("Y", "j F Y", "Y-m-d", "D, d M y", "z", "W", "\"day\" j") + date + "}}"

    def title(self, depth):
        return "{{" + self.pick("PAGENAME", "FULLPAGENAME", "SUBPAGENAME", "BASEPAGENAME", "ROOTPAGENAME", "NAMESPACE",
                                "CURRENTYEAR", "SITENAME", "PAGENAME:Page 3/sub", "#titleparts:A/B/C|1|2",
                                "ns:10", "urlencode:a b", "REVISIONYEAR") + "}}"

    def string(self, depth):
        text = self.words() # of markup they would count the bytes
        return "{{" + self.pick(f"#len:{text}", f"#sub:{text}|1|3", f"#sub:{text}|-3", f"#pos:{text}|a",
                                f"#replace:{text}|a|o", f"#explode:{text}| |1", f"padleft:{self.word()}|12|x",
                                f"#count:{text}|a", f"#rpos:{text}|a") + "}}"

    def error(self, depth):
        value = self.pick("{{#expr:1/0}}", "{{#expr:1+1}}", "{{#expr:foo}}")
        return self.pick("{{#iferror:" + value + "|" + self.run(depth) + "|" + self.run(depth) + "}}",
                         "{{#iferror:" + value + "|" + self.word() + "}}",
                         "{{#ifexpr:{{#expr:2*2}} > 3|" + self.run(depth) + "|" + self.run(depth) + "}}")

    def tag(self, depth):
        return "{{#tag:" + self.pick(f"nowiki|{self.words()}", f"ref|{self.run(depth)}", f"ref|{self.word()}|name=x",
                                     f"span|{self.words()}") + "}}"

    def number(self, _):
        return "{{" + self.pick("formatnum:1234567.5", "formatnum:1,234|R", "plural:1|one|many",
                                "plural:{{#expr:1+1}}|a|b", "#expr:{{#time:Y|2001-01-01}} - 1990", "#expr:trunc 3.7",
                                "plural:1.5|one|many", "plural:0|0=none|one|many", "#rel2abs:../a|A/b/c",
                                "#expr:5 >= 5 and not 0") + "}}"

    def hidden(self, depth):
        return self.pick(f'<span style="display:none">{self.words()}</span>',
                         f'<span class="noprint">{self.words()}</span>',
                         f'<sup class="reference">{self.word()}</sup>', "<templatestyles src=\"x.css\" />",
                         "__NOTOC__", "[[Category:" + self.word() + "]]", "[[fr:" + self.word().capitalize() + "]]")

    def exists(self, depth):
        title = self.pick("Page 3", "page_900#x", "Template:T1", "Template:Gone", "Nowhere", "Talk:Page 3", "",
                          "{{{1|Page 3}}}" if self.parameters else "Page 4")
        return "{{#ifexist:" + title + "|" + self.run(depth) + "|" + self.words() + "}}"

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

    def computed_call(self, depth):
        number = self.random.randrange(TEMPLATES)
        return self.pick("{{T{{#expr:" + str(number) + "+0}}|" + self.run(depth, 1, 2) + "}}",
                         "{{ {{#if:x|T" + str(number) + "}} |" + self.words() + "}}",
                         "{{{{lc:t}}" + str(number) + "| " + self.words() + " }}",
                         "{{safesubst:T" + str(number) + "|" + self.words() + "}}",
                         "{{:Page {{#expr:900+" + str(self.random.randrange(PARTS)) + "}}}}",
                         "{{:Page " + str(900 + self.random.randrange(PARTS)) + "|" + self.words() + "}}")

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
        kind = self.pick("paragraphs", "list", "heading", "div", "quote", "table", "safesubst", "style", "definitions",
                         "poem", "gallery", "html list", "item", "nested")
        if kind == "definitions":
            return f"; {self.words()}\n: {self.run(depth)}"
        if kind == "poem":
            return f"<poem>\n{self.words()}\n{self.italics(depth)}\n</poem>"
        if kind == "gallery":
            return f"<gallery>\nFile:{self.word()}.jpg|{self.words()}\n</gallery>"
        if kind == "html list":
            return f"<ul><li>{self.run(depth)}</li>\n<li>{self.words()}</li></ul>"
        if kind == "item":
            return f"* {self.run(depth)}"
        if kind == "nested":
            return "{{#if:{{{1|}}}|\n* " + self.run(depth) + "\n* " + self.words() + "\n|" + self.sentence() + "}}"
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
        return self.pick(*[self.paragraph] * 6, self.list, self.definitions, self.heading, self.table, self.pre,
                         self.quote, self.alone, self.alone, self.indented, self.div, self.picture, self.opened_table,
                         self.tabs, self.poem, self.gallery, self.argument_block, self.html_list, self.items,
                         self.subpage, self.html_table, self.text_in_table, self.hidden_block)()

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

    def opened_table(self):
        """A table whose first and last lines are templates'."""
        rows = [self.pick("{{Row|" + self.words() + "|" + self.run(1) + "}}",
                          "|-\n| " + self.words() + " || " + self.word(),
                          "|-\n!" + self.words() + "\n|" + self.run(1), "|-\n! {{T3|" + self.word() + "}}\n| x")
                for _ in range(self.random.randint(1, 3))]
        return "\n".join(["{{Open}}", *rows, self.pick("|}", "{{Close}}"), self.paragraph()])

    def tabs(self):
        labels = [f"{self.words().capitalize()}={self.pick('', chr(10))}{self.sentence(1)}" for _ in range(2)]
        return self.paragraph() + "\n<tabber>\n" + "\n|-|\n".join(labels) + "\n</tabber>\n" + self.paragraph()

    def poem(self):
        line = " ".join(self.pick(self.bold, self.link, self.entity, self.small)(3) for _ in range(3))
        return f"<poem>\n{self.words()}\n{line}\n\n{self.words()}\n</poem>" # it breaks the lines of calls

    def gallery(self):
        return f"<gallery mode=\"packed\">\nFile:{self.word()}.jpg|{self.run(2)}\n</gallery>\n{self.paragraph()}"

    def argument_block(self):
        """Headings, lists and paragraphs in an argument."""
        inner = self.pick(f"\n== {self.words().capitalize()} ==\n{self.sentence()}\n",
                          f"\n* {self.run(1)}\n* {self.words()}\n", f"\n{self.sentence()}\n\n{self.sentence()}\n",
                          f" {self.sentence()} ")
        return "{{Echo|" + self.pick("", "1=") + inner + "}}"

    def html_list(self):
        name = self.pick("ul", "ol")
        return f"<{name}><li>{self.run(1)}</li><li>{self.words()}\n</li></{name}>\n{self.paragraph()}"

    def items(self):
        return f"* {self.run(0)}\n*{self.call(1)}\n** {self.words()}\n:: {self.run(1)}\n{self.paragraph()}"

    def html_table(self):
        """Cells and rows that are closed or not."""
        cells = "".join(self.pick("<td>", "<th scope=\"row\">", "<tr><td>", "</tr><tr>\n<td style=\"x\">") +
                        self.run(1) + self.pick("", "</td>", "</td></tr>", "\n") for _ in range(3))
        inner = self.pick("", "<table><tr><td>" + self.words() + "</table>", "{|\n| " + self.words() + "\n|}")
        return f"<table class=\"x\"><tr>{cells}<td>\n{inner}\n{self.words()}</table>\n{self.paragraph()}"

    def text_in_table(self):
        """Text outside the cells of a table, and tables that another mark or a template ends."""
        lines = ["{|", self.pick("", self.words()), "|-", self.pick("", self.words()), "| " + self.run(1),
                 self.words(), self.pick("|}", "{{Close}}", "</table>"), self.paragraph()]
        return "\n".join(line for line in lines if line)

    def hidden_block(self):
        style = self.pick("display:none", "float:right", "visibility: hidden")
        return self.pick(f"* {self.words()} <span style=\"{style}\">{self.words()}\n* {self.words()}",
                         f"* <div style=\"{style}\">{self.words()}\n* {self.words()}</div>",
                         f"{self.words()} <span style=\"{style}\">{self.words()}\n\n{self.words()}</span>",
                         f"<div style=\"{style}\"><div>{self.sentence(1)}</div>{self.words()}\n\n{self.words()}</div>"
                         ) + "\n\n" + self.paragraph()

    def subpage(self):
        return self.paragraph() + " {{/Part}} " + self.words()

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


FIXED = {"Open": "{| class=\"wikitable\"\n! Head !! {{{1|More}}}", "Row": "|-\n| {{{1}}} || {{{2}}}", "Close": "|}",
         "Echo": "{{{1}}}"}
PARTS = 5 # pages that others insert


def main():
    sys.stdout.reconfigure(encoding="utf-8")
    wiki = Wiki(int(sys.argv[1]))
    pages = int(sys.argv[2])
    print(HEAD)
    for i in range(TEMPLATES):
        write_page(i + 1, 10, f"Template:T{i}", wiki.body())
    for i, (name, text) in enumerate(FIXED.items()):
        write_page(100 + i, 10, f"Template:{name}", text)
    for i in range(PARTS):
        frame = wiki.pick("{}", "<noinclude>Doc.</noinclude>{}", "Doc. <onlyinclude>{}</onlyinclude>")
        write_page(900 + i, 0, f"Page {900 + i}", frame.format(wiki.sentence(2)))
    for i in range(pages):
        text = wiki.page()
        write_page(1000 + i, 0, f"Page {i}", text)
        if "{{/Part}}" in text:
            write_page(10000 + i, 0, f"Page {i}/Part", wiki.sentence(2))
    print("</mediawiki>")


main()
