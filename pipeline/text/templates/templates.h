/* What a template shows that was not expanded (expand.h). Its span gives nothing (most templates say nothing in running
 * text, and are dropped), or a row of parts: texts, and arguments as places in the page, which the walk then reads as
 * part of it. What we know about such templates is a table of renderings (data/templates), so a template cannot make
 * text grow or loop.
 *
 * A rendering is a pattern, "$1 ($2)", or a function. In a pattern
 *
 *     $1 … $99   the argument without a name at that position; what is missing leaves a gap (tidy.h)
 *     ${key}     the argument of that name; ${lit|3}: the first of them that is there
 *     {, $3}     shown only if one of its arguments is there
 *     ¶          a paragraph begins here; at the beginning: the template is one or more paragraphs of its own
 *     \          takes the next character as it is; \< and \[ are no markup (leaks.h)
 *     ${key=text}          the text where no such argument is there
 *     {#if a|b|c}          b where a shows something, else c; {#ifeq a|b|c|d}, {#switch a|b=c|d=e|f}, {#expr a},
 *                          {#ifexpr a|b|c}, {#num a}: as MediaWiki's functions, #num writes a number as the wiki does
 *     {#lc a}              also uc, lcfirst, ucfirst: in small or capital letters
 *     {#title }            of the page; {#now Y}, {#time format|date}: the revision's time (call_revision_time)
 *
 * An empty pattern drops the template; so does one with arguments none of which is there. */
#pragma once

#include "base/error.h"
#include "base/str.h"
#include "pipeline/text/markup/spans.h"
#include "pipeline/text/words/links.h"

#include <stdbool.h>
#include <stdint.h>

#define TEMPLATES_BYTES_MAX (256u << 20) /* of a file of renderings */

/* Renderings that a user adds; they take precedence over ours. */
struct templates;
/* Reads a file of lines "name = pattern", "name = @wikitext body", "name => other name" or "name = @renderer"
 * (renderings.h; '#' begins a comment, a name may stand once); a mistake is an error with its line. *hash: of the
 * file's bytes, 16 hexadecimal digits. */
int templates_read(struct templates **templates, const char *path, char hash[17], struct error *err);
/* The same from the file's text. */
int templates_parse(struct templates **templates, struct str file, const char *path, char hash[17], struct error *err);
void templates_free(struct templates *templates);
size_t templates_memory(const struct templates *templates); /* bytes held, now or once its bodies are in use */

/* A '<' or '[' in renders->text that is meant to be seen. No text can contain these bytes. */
#define MEANT_TAG     '\x02'
#define MEANT_BRACKET '\x03'
/* Replaces them by what they stand for. */
void renders_say(char *text, size_t size);

/* One part of what a template shows. */
struct part {
    enum part_kind { PART_TEXT, PART_ARGUMENT, PART_GAP, PART_BREAK } kind; /* PART_BREAK: of the paragraph */
    uint32_t from, to; /* a text's place in renders->text, or an argument's in the page */
};

#define ROW_LISTS 4u

/* The renderings being shown, as a stack; ready to use when zeroed. */
struct renders {
    struct part *parts;
    size_t count, capacity;
    struct buf text;
    struct buf scratch;             /* values of the call being rendered */
    unsigned value_templates;       /* rendered for them */
    uint32_t read_end, read_before; /* templates before these positions have been rendered for values, so far and
                                         * before the call; they are not again when the walk comes to them */
    const struct row_list *lists[ROW_LISTS]; /* of the page's wiki, of its language, of all wikis, parser functions
                                              * (call.h) */
    struct name_table rows[ROW_LISTS];       /* their rows by name */
};

/* What a rendering depends on besides the template. */
struct template_page {
    struct str text, title, timestamp;
    const struct spans *spans;
    const struct language *language;
    struct str code;           /* of the language */
    const struct magic *magic; /* its names of functions and variables */
    const struct number_style *style;
    const struct siteinfo *siteinfo; /* or NULL */
    const struct namespaces *namespaces;
    const struct templates *templates; /* or NULL */
    bool in_item;                      /* the template stands in an item of a list */
};

struct rendering {
    bool dropped;
    bool is_unknown;  /* dropped because no rendering is known, not because a pattern says so */
    bool is_silent;   /* unknown, but nothing is missed without it: a note (silent_templates), a pronunciation */
    bool is_function; /* of the parser: its arguments have no blanks around them */
    bool is_block;    /* it is one or more paragraphs */
    bool is_poem;     /* and so are its lines */
    bool is_added;    /* by a file of renderings, not by our tables */
    bool has_braces;  /* and its texts have {{ without }}, or the other way round: half a template */
    size_t part;      /* the first of its parts in renders; the last is on top */
    size_t text;      /* size of renders->text before it */
};

/* Renders spans->items[index], a SPAN_TEMPLATE of the page: pushes its parts. Adds to *steps the bytes examined: those
 * of the template outside its inner spans, a bounded number of times. */
struct rendering template_render(const struct template_page *page, uint32_t index, struct renders *renders,
                                 uint64_t *steps);
/* For a template that template_render found unknown and not silent: true if it has exactly one unnamed argument that is
 * a sentence of at least eight words (in scripts without blanks, as many letters as those have), or a list (is_block),
 * without tables and pictures; and its name does not suggest a note, a source or a box. Pushes that argument. */
bool template_sentence(const struct template_page *page, uint32_t index, struct renders *renders,
                       struct rendering *rendering, uint64_t *steps);
/* {{{name|default}}}: its default. */
struct rendering argument_render(const struct template_page *page, uint32_t index, struct renders *renders,
                                 uint64_t *steps);
void renders_pop(struct renders *renders, const struct rendering *rendering); /* it has been shown */
void renders_release(struct renders *renders);

/* The name of the template without its arguments, in the form of name_canonical; empty if it cannot be known. */
struct str template_name(struct str page, const struct spans *spans, uint32_t index, char out[NAME_BYTES_MAX]);
