/* What a link [[target|label]] is, by its target. Only the prefixes that the wiki knows are special: in [[2001: A Space
 * Odyssey]] the colon is just text. */
#pragma once

#include "base/str.h"
#include "pipeline/parts/page_parts.h"
#include "pipeline/text/words/magic_words.h"

/* The names of a wiki's namespaces: those of its siteinfo, those of its language with their aliases, the English ones,
 * and every language's for files and categories. */
struct namespaces {
    struct namespace_name *items;
    size_t count;
    struct name_table names;         /* of items */
    char *bytes;                     /* of the names that siteinfo gives */
    const struct siteinfo *siteinfo; /* or NULL */
};

/* `magic`: the words of its language. */
void namespaces_init(struct namespaces *namespaces, const struct siteinfo *siteinfo, const struct magic *magic);
void namespaces_release(struct namespaces *namespaces);
/* The number of the namespace named before the title's first colon; 0 if none is. */
int32_t namespaces_of_title(const struct namespaces *namespaces, struct str title);

/* The name of a page in a file of renderings, by its title: a template's without its namespace, ":Title" in the main
 * namespace, else with the wiki's own name of its namespace. Empty if it does not fit. */
struct str namespaces_page(const struct namespaces *namespaces, struct str title, char out[NAME_BYTES_MAX]);

enum link_kind {
    LINK_TEXT,          /* to a page of any wiki, and shown as text */
    LINK_FILE,          /* shows a picture */
    LINK_CATEGORY,      /* shows nothing */
    LINK_INTERLANGUAGE, /* shows nothing: the same article in another Wikipedia */
    LINK_URL,           /* not a link: [[http://…]] is an external link in brackets */
};
enum link_kind link_kind_of(const struct namespaces *namespaces, struct str target);

/* False for titles that no page can have: "", "..", "a/./b". */
bool link_is_title(const struct namespaces *namespaces, struct str target);

/* What [[Help:Boston (city)|]] shows: "Boston". */
struct str link_pipe_trick(const struct namespaces *namespaces, struct str target);

/* The size of the scheme ("https://", "//", "mailto:") at the start of an external link's address; 0: it is none. */
size_t link_scheme(struct str address);

/* True if a page's text begins with #REDIRECT [[…]], in the wiki's words. */
bool link_is_redirect(struct str text, const struct magic *magic);
