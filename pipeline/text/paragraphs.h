/* Builds the plain text: paragraphs, each ended by '\n', at the end of a buffer. Which kinds stay is --keep's decision.
 *
 *     paragraph_begin → bytes into *out, paragraph_gap … → paragraph_end */
#ifndef PIPELINE_TEXT_PARAGRAPHS_H
#define PIPELINE_TEXT_PARAGRAPHS_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* What goes into the text; the order is that of --keep's list. Paragraphs always do. */
enum keep { KEEP_HEADINGS = 1, KEEP_LISTS = 2, KEEP_PROSE_LISTS = 4, KEEP_PRE = 8, KEEP_CAPTIONS = 16 };

enum paragraph_kind { PARAGRAPH_PROSE, PARAGRAPH_HEADING, PARAGRAPH_ITEM, PARAGRAPH_PRE };

struct paragraphs {
    struct buf *out;
    uint32_t keep; /* enum keep */
    bool is_open, has_gap;
    enum paragraph_kind kind;
    size_t start;        /* of the open paragraph, in out */
    uint64_t steps;      /* bytes looked at */
    struct buf captions; /* of files in it: finished paragraphs that follow it */
    size_t mended;       /* bytes that the last paragraph or caption lost when it was tidied; SIZE_MAX: all of them */
};

void paragraph_begin(struct paragraphs *paragraphs, enum paragraph_kind kind);
void paragraph_blank(struct paragraphs *paragraphs); /* a blank, unless there is one */
void paragraph_gap(struct paragraphs *paragraphs);   /* here something was removed */
/* Nothing but blanks and gaps since `from`, a size that out had. */
bool paragraph_is_empty(const struct paragraphs *paragraphs, size_t from);
/* Where the first word of what stands in out after `from` begins, and the last letter of the last one; false where
 * there is none. */
bool paragraph_words(struct paragraphs *paragraphs, size_t from, size_t *first, size_t *last);
/* Does the text end as a sentence does? A bracket or quotation mark may close after it. */
bool paragraph_text_stops(struct str text);
/* Does a sentence end at `at`, without a blank after it? */
bool paragraph_stops(const struct paragraphs *paragraphs, size_t from, size_t at);
/* Tidies and ends the open paragraph, if any; false where --keep does not want it, so that it is not in the text. */
bool paragraph_end(struct paragraphs *paragraphs);

/* A caption in the middle of a paragraph: what was added since `from` becomes a paragraph after it. */
void paragraph_cut_caption(struct paragraphs *paragraphs, size_t from);

#endif
