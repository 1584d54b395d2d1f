/* The kind of a page as a whole: by its first words, its title, its templates, magic words and categories. */
#pragma once

#include "pipeline/text/markup/spans.h"
#include "pipeline/text/words/links.h"

/* Kinds of pages that may be left out, in the order of --drop's list. */
enum kind { KIND_DISAMBIGUATION = 1, KIND_LIST = 2, KIND_STUB = 4 };

struct kind_page {
    struct str title, text;
    const struct spans *spans; /* of the text */
    const struct language *language;
    const struct namespaces *namespaces;
};

/* Which of `wanted`, bits of enum kind, apply to the page: by the tables of its language and, for its text, also the
 * English ones. Examines everything outside other constructs once. */
uint32_t kinds_of(const struct kind_page *page, uint32_t wanted);
