/* Patterns of pages that have made, or could make, a parser slower than linear. Used by the test that counts steps and
 * the benchmark that measures time. */
#pragma once

#include "base/str.h"

// clang-format off
/* A page repeats one of them. All are UTF-8, because the extraction only gets well-formed text. */
static const char *const hostile[] = {
    "{{", "}}", "{{{", "{{{{{", "{", "}", "[[", "]]", "[[[", "[", "]", "<", ">", "<b>", "<ref>", "<ref name=\"",
    "<ref ", "</ref>", "<!--", "-->", "<!-- ", "\n\n<!--", "'", "''", "''' ''", "'''a ''b\n", "{|", "\n{|", "\n|}",
    "\n{|\n", "{{\n{|", "\n{|\n{{", "{{[[", "[[{{", "[[{{x}}", "{{[[{|<ref>", "{{a|", "{{nowrap|", "{{nowrap|[[a|",
    "[[a|", "[[a|[[", "[[File:a|", "[[File:", "[http://a ", "[http://a [", "[http://a\n", "[//", "&", "&#", "&amp",
    "&amp;", "__", "__A", "__NOTOC__", "_", "~", "~~~~", "-{", "-{a;", "-{zh-hans:", "}-", "=", "\n=", "\n==a",
    "\n==a==", "==\n", "\n*", "\n*:#;", "\n ", "\n----", "\n\n", "\n", " ", "<b ", "<b a=\"", "<b a='<b a=\"",
    "<b =\"<b \" ", "<nowiki>", "<pre>", "<math>", "<math><nowiki>", "<table>", "</table>", "<table>{{", "<br>",
    "<div>", "<poem>\n", "<gallery>", "<s>", "<includeonly>", "{{quote|\n", "{{convert|5|km}}", "{{convert|5|",
    "{{convert|{{", "{{lang-ru|a|b|", "{{lang-ru|a|b|c}}", "{{zh|p=", "{{hlist|", "{{j|", "{{#switch:a|",
    "{{#if:a|", "{{#if:", "{{USA}}", "{{s-}}", "{{nihongo|a|b|c}}", "{{chem|", "{{val|", "{{lang|", "{{lang|a|b|",
    "{{=", "{{a=|", "{{x}},", "({{x}}", "{{x}})", "({{x}})", "({{x}}; ", "{{x}} - ", "{{x}} ,;", "\"{{x}}\"",
    "{{x}}. ", "\x01", "<!---->\n", "\n<!---->", " <!----> ", "[[a\n", "[[a\n|", "\n<ref>\n==a==\n",
    "{{\n{|\n==a==\n<ref>", "[[http://a ", "<ref>{{", "<ref/>", "\n;a:b", "\n: {|", "''[[a|''", "'''{{a}}''",
    "'''''a", "[[a|''b''", "'''[[a|''b]]", "]]]", "}}}", "[[a]]]", "[[a|[b]]]", "[[a|b]][", "[[[a|", "[[a{b]]",
    "[[a<b]]", "[[../", "[[:", "[[a:", "[[|]]", "[[a|]]", "[[a (b)|]]", "[[Category:a]]", "[[fr:a]]",
    "[[File:a|[[b|[[", "\n|", "\n|-\n|a", "\n{|\n|\n{|", "\n{|\n|{{a", "\n{{a|\n|}", "{{a|b=c|", "{{a|b=c}}",
    "{{#if:a|{{#if:", "{{#ifeq:a|a|", "{{convert|99999999999999999999|km}}", "{{convert|1e99|km}}",
    "{{convert|1|to|2|xx|3|km|mi}}", "{{val|1234567890.123456789e99}}", "{{formatnum:12345678901234567890}}",
    "{{birth date|1|1|1}}", "{{age|1|1|1|9999|12|31}}", "{{plural:1|", "{{lc:A}}", "{{padleft:1|20|0}}",
    "{{CURRENTYEAR}}", "{{PAGENAME}}", "{{template:", "{{\n", "{{a\n|\n", "{{{a|b}}}", "{{{a|{{b|",
    "<ref name=\"a/b/c\">x</ref>", "<ref name=a/", "<ref name=\"a>b\">", "<ref name='\"'\"", "<a<b<", "<br/",
    "<br>\n", "<br> ", "<nowiki/>", "<nowiki>a</nowiki>", "</nowiki>", "</poem>", "<poem>", "<gallery><ref><math>",
    "<syntaxhighlight inline>", "<source lang=\"", "<section begin=", "<onlyinclude>", "</table><table>",
    "<table><table>a</table>", "<td><tr>", "<div title=\"{{a|\">", "<!-- --><!--", "<!--\n-->\n", "--><!--", "-{}-",
    "-{a|b}-", "-{zh-cn:a;zh-tw:b}-", "-{H|", "-{-{", "-{zh-cn:", "-{A|zh-tw:-{", "-{;", "-{[[a|", "}-}-",
    "-{{a}}-", "&#x", "&amp;&lt;", "&amp;amp;", "&#1234567890;", "&aaaaaaaaaaa;", "&&&&", "__TOC_", "__a__b",
    "__NOTOC__\n", "~~", "~~~,", "~~~、", "~~~( ", "(~~~;", "~~~)", "~~~ - ", "«~~~»", "\"~~~", "http://",
    "http://a.b/c?d=e&f ", "[http://a.b/c d]", "[http://a[http://b ", "[http://a ''b", "[http:// ", "[mailto:",
    "\n== a == <!-- b -->", "\n=a= <ref>b</ref>", "\n====", "\n=[[a\n", "\n==<!--\n-->==", "\n;a", "\n;:",
    "\n;[http://a:b ", "\n;<a:", "\n;;;[[a:b|", "\n*a.\n", "\n**##::;;", "\n#*a b c d e f g h.", "\n \n", "\n\t",
    "\n <pre>", "\n-----a", "\n:<!---->{|", "a. ", "a.b.", "A. B. ", "? ! ", "...", "Dr. ", "\xE3\x80\x82",
    "\xCC\x81", "\xF0\x9F\x98\x80", "\xC2\xA0", "\xEF\xBC\x88\xEF\xBC\x89", "\r\n", "\t",
    "\n<!----> <!---->", "<!----> <!----> a",
    "\n{{{!}}", "\n{{!}}}", "\n{{(!}}", "\n{{!)}}", "{{uc:{{uc:{{uc:{{uc:{{a}}}}}}}}}}", "{{#if:{{a}}}}",
    "{{date|{{date|{{date|{{date|x}}}}}}}}", "{{convert|{{lc:5}}|km}}", "{{#expr:{{lc:1}}+{{lc:1}}+{{lc:1}}}}",
    "{{#tag:poem|{{#tag:poem|a\nb}}}}", "{{#titleparts:a/b/c/d/e/f|1|-1}}", "{{plural:1|1=a|2=b|3=c}}",
    "{{a|<ref>b}}", "[[a|<ref>b]]", "{{a|<ref>|", "<foo", "<foo>", "</foo", "<foo a=\"", "<foo a='b' ", "<<foo>a", "<foo:", "<a {{b}}", "<tabber>", "</tabber>",
    "<tabber>a=b|-|", "|-|", "|-|a=", "|-|<a ", "\n|-|\n", "<tabber>a|-|b</tabber>", "<tab name=\"a\">", "<tvar|a>",
    "</>", "[[a::b]]", "[[a::", "{{urlencode: /&}}", "{{#formatdate:1 May 2000|mdy}}",
};

/* A page is the head, the unit as often as there is room, the middle, the closing as often as the unit, the tail. */
static const struct hostile_shape {
    const char *head, *unit, *middle, *closing, *tail;
} hostile_shapes[] = {
    {"", "{{a|", "", "}}", ""}, {"", "{{nowrap|", "x", "}}", ""}, {"", "{{quote|", "x", "}}", ""},
    {"", "{{lang|fr|", "x", "}}", ""}, {"", "{{#if:x|", "y", "}}", ""}, {"", "{{#if:", "y", "|z}}", ""},
    {"", "{{uc:", "y", "}}", ""}, {"", "{{#tag:poem|", "y", "}}", ""}, {"", "\n{{{!}}", "y", "\n{{!}}}", ""},
    {"\n", "<!----> ", "", "", "<!---->\n"}, {"\n", "<!----> ", "", "", "a"}, {"{{plural:1", "|2=a", "", "", "}}"},
    {"{{#expr:", "{{lc:1}}+", "", "", "1}}"}, {"{{#titleparts:", "a/", "", "", "|2|3}}"},
    {"{{urlencode:", "/", "", "", "}}"},
    {"", "{{a|<ref>|", "", "", "</ref>"}, {"", "{{a|<ref>", "x", "}}", "</ref>"}, {"{{a", "|<ref>", "", "", "}}</ref>"},
    {"\n{|", "\n|<ref>", "", "", "\n|}</ref>"}, {"", "[[a|<ref>", "b", "]]", "</ref>"},
    {"", "{{a|<ref>b}}", "", "", "</ref>"}, {"", "{{convert|", "5|km", "}}", ""}, {"", "{{{a|", "x", "}}}", ""}, {"", "[[a|", "b", "]]", ""},
    {"", "[[File:a|b ", "c", "]]", ""}, {"", "{{nowrap|[[a|", "b", "]]}}", ""},
    {"", "[[a|{{nowrap|", "b", "}}]]", ""}, {"", "\n{|\n|", "x", "\n|}", ""},
    {"", "{{nowrap|\n{|\n|", "x", "\n|}\n}}", ""}, {"", "<table><tr><td>", "x", "</td></tr></table>", ""},
    {"", "<div>", "x", "</div>", ""}, {"", "<small>", "x", "</small>", ""}, {"", "<poem>", "x", "</poem>", ""},
    {"", "<nowiki>", "x", "</nowiki>", ""}, {"", "<ref>", "x", "</ref>", ""},
    {"", "<includeonly>", "x", "</includeonly>", ""}, {"", "-{", "x", "}-", ""},
    {"", "-{zh-cn:", "x", ";zh-tw:y}-", ""}, {"", "<!--", "x", "-->", ""}, {"", "[http://a ", "x", "]", ""},
    {"", "''", "x", "'''", ""}, {"", "(", "{{x}}", ")", ""}, {"", "({{x}}, ", "", ")", ""},
    {"", "{{nowrap|'''", "x", "''}}", ""}, {"", "{{x", "", "|}}", ""}, {"{{nowrap", "|a", "", "", "}}"},
    {"{{nowrap|", "a", "", "", "}}"}, {"{{nowrap|1=", "a=", "", "", "}}"}, {"{{lang-ru|", "a", "|b|", "c", "}}"},
    {"{{hlist", "|a", "", "", "}}"}, {"{{convert", "|5", "", "", "}}"}, {"{{convert|", "9", "", "", "|km}}"},
    {"{{convert|5|", "k", "", "", "}}"}, {"{{val|", "9", "", "", "}}"}, {"{{formatnum:", "9", "", "", "}}"},
    {"{{start date|", "1", "", "", "}}"}, {"{{chem", "|H", "", "", "}}"}, {"{{coord", "|1", "", "", "}}"},
    {"{{zh", "|p=a", "", "", "}}"}, {"{{#switch:a", "|b=c", "", "", "}}"}, {"{{#switch:a", "|b", "", "", "}}"},
    {"{{#switch:", "a", "", "", "|a=b}}"}, {"{{lc:", "A", "", "", "}}"}, {"{{padleft:", "7", "", "", "|3}}"},
    {"{{", "a", "", "", "}}"}, {"{{", " ", "", "", "nowrap|a}}"}, {"{{", "<!---->", "", "", "nowrap|a}}"},
    {"{{{a", "|b", "", "", "}}}"}, {"[[a", "|b", "", "", "]]"}, {"[[File:a.jpg", "|b", "", "", "]]"},
    {"[[File:a.jpg|", "[[b]] ", "", "", "]]"}, {"[[", "a", "", "", "]]"}, {"[[", "a:", "", "", "]]"},
    {"[[", "../", "", "", "]]"}, {"[[", "{{x}}", "", "", "]]"}, {"[[a|", "[[b]]", "", "", "]]"},
    {"[[a|", "'", "", "", "]]"}, {"[[a|", "''b ", "", "", "]]"}, {"[http://", "a", "", "", " b]"},
    {"[http://a ", "b''", "", "", "]"}, {"<ref name=\"", "/", "", "", "\">x</ref>"},
    {"<b ", "a=\"b\" ", "", "", ">x</b>"}, {"<b a=\"", ">", "", "", "\">x</b>"},
    {"<nowiki>", "&lt;", "", "", "</nowiki>"}, {"<pre>", "\n", "", "", "</pre>"},
    {"<gallery>", "[[a]]", "", "", "</gallery>"}, {"<table>", "<td>", "", "", "</table>"},
    {"{|\n", "|-\n|a||b\n", "", "", "|}"}, {"<!--", "-", "", "", ">"}, {"__", "A", "", "", "__"},
    {"-{", "zh-tw:a;", "", "", "}-"}, {"-{", ";", "", "", "}-"}, {"-{", "A;", "", "", "|x}-"},
    {"\n==", "=", "", "", "\n"}, {"\n== a ==", "<!---->", "", "", "\n"}, {"\n== a ==", " ", "", "", "b\n"},
    {"\n;", "a", "", "", ":b"}, {"\n;", "{{x}}", "", "", ":b"}, {"\n", "*", "", "", "a"}, {"\n", ":", "", "", "{|"},
    {"\n", " ", "", "", "a"}, {"{{x}}", ",", "", "", "a"}, {"{{x}}", " ", "", "", "a"}, {"{{x}}", "(", "", "", "a"},
    {"a", "{{x}} ", "", "", "."}, {"a (", "{{x}}; ", "", "", ")"}, {"#REDIRECT ", "a", "", "", "[[b]]"},
    {"{{disambig", " ", "", "", "}}"},
};
// clang-format on

#define HOSTILE_COUNT       (sizeof hostile / sizeof hostile[0])
#define HOSTILE_SHAPE_COUNT (sizeof hostile_shapes / sizeof hostile_shapes[0])

static inline void hostile_repeat(struct buf *page, const char *unit, size_t bytes)
{
    buf_reset(page);
    while (page->size < bytes)
        buf_add_text(page, unit);
}

static inline void hostile_build(struct buf *page, const struct hostile_shape *shape, size_t bytes)
{
    const size_t count = bytes / (strlen(shape->unit) + strlen(shape->closing));
    buf_reset(page);
    buf_add_text(page, shape->head);
    for (size_t i = 0; i < count; i++)
        buf_add_text(page, shape->unit);
    buf_add_text(page, shape->middle);
    for (size_t i = 0; i < count; i++)
        buf_add_text(page, shape->closing);
    buf_add_text(page, shape->tail);
}
