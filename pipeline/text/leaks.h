/* The last guard: strings with the form of markup that nothing accounted for are left out of the text, and counted as
 * leaks. What decides is where they come from:
 *
 *     typed on the page           a tag without its counterpart: </ref>, half a <gallery>; one that MediaWiki does not
 *                                 know, where the page has it open and closed: an extension's. <filename> alone stays,
 *                                 and is counted. Braces and brackets stay too: MediaWiki shows them.
 *     a template of the dump      the same: what it inserts is read as part of the page (expand.h)
 *     a rendering of a file       tags, [http…, and {{ or }} where there are not as many of the other: no template
 *                                 shows its own markup. What a pattern escapes is meant: \<, \[
 *     a rendering of our tables   tags, if the template's arguments have them; what the tables say is meant
 *     &lt;, <nowiki>, <pre>,      nothing; nor is a tag one that a person broke with them, or with quotes: <'''b'''>
 *     code, formulas
 *
 * A tag of the page is left out where it stands (FATE_LEAK). In a rendering it may be complete only together with an
 * argument: such places are watched, and looked at when their paragraph or caption ends. */
#pragma once

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct wikitext;
struct rendering;

#define LEAK_NAMES_MAX 64u /* tags of a page that are none of `tags`; of further ones all are taken for pairs */

/* A name that stands on a page as that of a tag. */
struct leak_name {
    struct str name;
    bool opens, closes;
};

#define LEAK_OF_PAGE UINT32_MAX /* in place of a template's span */

struct leak {
    uint32_t span;   /* of the template whose rendering it came from, or LEAK_OF_PAGE */
    bool is_settled; /* it was in a caption, which stays even where the paragraph around it is not kept */
};

/* A place of the text where a leak may begin. */
struct watched {
    size_t out; /* size of the text there */
    uint32_t span;
};

struct leaks {
    struct leak *items; /* [facts->leaks] of the page, from left to right */
    size_t capacity;
    struct watched *watched; /* of the open paragraph and captions, as a stack */
    size_t watched_count, watched_capacity;
    size_t removed; /* bytes that leaks_remove removed last */
    struct leak_name names[LEAK_NAMES_MAX];
    size_t name_count;
    bool has_names; /* they have been looked for */
};

/* The size of what has the form of a tag at the start of `text`, which begins with '<': <name>, </name>, <name/>,
 * <name attribute=value …>, or the beginning of one that never ends, <name attribute="…; else 0. After the name comes a
 * blank, '/' or '>', as for HTML's tokenizer, so <3, a < b and <a@b.org> are text. So are <x>, where no tag of that
 * letter exists, and x<y and z>w: the attributes of a name that MediaWiki does not know have values. A gap (tidy.h)
 * counts as nothing within a name, and as a blank after it. Adds the bytes examined to *steps. */
size_t leak_tag(struct str text, uint64_t *steps);

/* True if `text`, a tag, is of none of `tags`, and the page does not have both <name> and </name>. */
bool leaks_is_alone(struct wikitext *w, struct str text);

/* Watches what a rendering of the template `span` is going to add to the text. */
void leaks_watch(struct wikitext *w, struct str shown, uint32_t span, const struct rendering *rendering);
void leaks_watch_page(struct wikitext *w);          /* the '<' that comes next, which is no tag by itself */
void leaks_note(struct wikitext *w, uint32_t span); /* counts one */
void leaks_remove(struct wikitext *w, size_t from); /* what is a leak in the text since `from` becomes gaps */
void leaks_settle(struct wikitext *w, size_t from); /* those since facts->leaks was `from` are in a caption */
void leaks_forget(struct wikitext *w, size_t from); /* the others were in a paragraph that is not kept */
void leaks_release(struct leaks *leaks);
