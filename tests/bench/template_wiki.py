#!/usr/bin/env python3
"""A made-up dump of a wiki with many templates: template_wiki.py [--templates 300000] [--articles 20000] > x.xml

Of a hundred templates 30 are redirects, 35 one call of a box, 15 tables, 12 text with arguments and functions that call
each other, and 8 need a Lua module: about the shares and sizes of the English Wikipedia. Articles call them."""

import argparse
import random
from xml.sax.saxutils import escape


def body(draw, number, others):
    """The wikitext of a template; `others` are the numbers of those that it may call."""
    kind, documentation = draw.randrange(100), "<noinclude>{{documentation}}</noinclude>"
    words = draw.choices("alpha beta gamma delta".split(), k=40)
    links = [f"[[Page {draw.randrange(10**6)}|{word}]]" for word in words]
    if kind < 30 and others:
        return f"#REDIRECT [[Template:T {draw.choice(others)}]]"
    if kind < 65:
        lists = "\n".join(f"| group{i} = Group {i}\n| list{i} = " + " • ".join(links[8 * i:8 * i + 8])
                          for i in range(draw.randint(1, 4)))
        return f"{{{{Navbox\n| name = T {number}\n| title = Title {number}\n{lists}\n}}}}{documentation}"
    if kind < 80:
        return "{| class=\"wikitable\"\n" + "".join(f"|-\n| {link} || {{{{{{{i}|}}}}}}\n"
                                                   for i, link in enumerate(links[:20], 1)) + "|}" + documentation
    if kind < 92:
        call = f"{{{{T {draw.choice(others)}|{{{{{{1|}}}}}}}}}}" if others and draw.random() < 0.3 else "{{{1|none}}}"
        return (f"{{{{#if:{{{{{{2|}}}}}}|{call} and {{{{{{2}}}}}}|{{{{#switch:{{{{{{kind|}}}}}}|a=first|b|c=second"
                f"|#default={call}}}}}}}}}{documentation}")
    return f"{{{{#invoke:Module {number % 97}|main|{{{{{{1|}}}}}}}}}}{documentation}"


def page(number, title, ns, text):
    print(f"  <page>\n    <title>{escape(title)}</title>\n    <ns>{ns}</ns>\n    <id>{number}</id>\n    <revision>\n"
          f"      <id>{number}</id>\n      <timestamp>2026-01-01T00:00:00Z</timestamp>\n      <model>wikitext</model>\n"
          f"      <text xml:space=\"preserve\">{escape(text)}</text>\n    </revision>\n  </page>")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--templates", type=int, default=300_000)
    parser.add_argument("--articles", type=int, default=20_000)
    options = parser.parse_args()
    draw = random.Random(1)
    names = range(options.templates)
    print('<mediawiki xml:lang="en"><siteinfo><dbname>enwiki</dbname><case>first-letter</case><namespaces>'
          '<namespace key="10">Template</namespace></namespaces></siteinfo>')
    for number in names:
        others = [draw.randrange(number) for _ in range(3)] if number else []
        page(number + 1, f"Template:T {number}", 10, body(draw, number, others))
    for number in range(options.articles):
        calls = " ".join(f"Some words and {{{{T {draw.choice(names)}|value {i}|second}}}} in a sentence of an article."
                         for i in range(20))
        page(options.templates + number + 1, f"Article {number}", 0, calls + "\n\n{{T %d}}" % draw.choice(names))
    print("</mediawiki>")


main()
