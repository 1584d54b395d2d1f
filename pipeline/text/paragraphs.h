/* Builds the plain text at the end of a buffer: paragraphs, each ended by '\n'. --keep decides which kinds are kept.
 *
 *     paragraph_begin → bytes into *out, paragraph_gap … → paragraph_end */
#pragma once

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* What is kept besides paragraphs, in the order of --keep's list. */
enum keep { KEEP_HEADINGS = 1, KEEP_LISTS = 2, KEEP_PROSE_LISTS = 4, KEEP_PRE = 8, KEEP_CAPTIONS = 16 };

enum paragraph_kind { PARAGRAPH_PROSE, PARAGRAPH_HEADING, PARAGRAPH_ITEM, PARAGRAPH_PRE };

struct paragraphs {
    struct buf *out;
    uint32_t keep; /* enum keep */
    bool is_open, has_gap;
    enum paragraph_kind kind;
    size_t start;        /* start of the open paragraph, in `out` */
    uint64_t steps;      /* bytes examined */
    struct buf captions; /* captions of its files: finished paragraphs that come after it */
    size_t mended;       /* bytes that tidying removed from the last paragraph or caption; SIZE_MAX: all */
};

void paragraph_begin(struct paragraphs *paragraphs, enum paragraph_kind kind);
void paragraph_blank(struct paragraphs *paragraphs);         /* adds a blank, unless there is one */
void paragraph_gap(struct paragraphs *paragraphs, char gap); /* something was removed here; gap: tidy.h */
/* True if there is nothing but blanks and gaps since `from`, an earlier size of `out`. */
bool paragraph_is_empty(const struct paragraphs *paragraphs, size_t from);
/* Finds the beginning of the first word in `out` after `from`, and the last letter of the last word; false if there is
 * none. */
bool paragraph_words(struct paragraphs *paragraphs, size_t from, size_t *first, size_t *last);
/* True if the text ends like a sentence. A bracket or quotation mark may follow the mark. */
bool paragraph_text_stops(struct str text);
/* True if a sentence ends at `at`, without a blank after it. */
bool paragraph_stops(const struct paragraphs *paragraphs, size_t from, size_t at);
/* Tidies and ends the open paragraph, if any; false if --keep excludes it, so that it is not in the text. */
bool paragraph_end(struct paragraphs *paragraphs);

/* A caption inside a paragraph: what was added since `from` becomes a paragraph after it. */
void paragraph_cut_caption(struct paragraphs *paragraphs, size_t from);
