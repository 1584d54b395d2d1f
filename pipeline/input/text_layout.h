/* How plain text is laid out, from the beginnings of all text files of a command together: what is a line, and what is
 * a document. Pure. */
#pragma once

#include "base/str.h"
#include "pipeline/parts/page_parts.h"
#include "pipeline/text/words/languages.h"

#define SHORT_WORDS     100u /* a document of fewer words is short */
#define MANY_TEXT_FILES 8u   /* so many whole files without empty lines are a document each */

/* The ways to cut text into documents. */
enum text_cut { CUT_LINES, CUT_BLOCKS, CUT_SECTIONS, CUT_FILES, TEXT_CUTS };

/* Counts of lines that are not blank. A block ends at a blank line, a section at two. */
struct text_layout {
    uint64_t files, whole;                           /* files, and those seen to their ends */
    uint64_t words;                                  /* seen */
    uint64_t documents[TEXT_CUTS], brief[TEXT_CUTS]; /* by each way of cutting; those of fewer than SHORT_WORDS words */
    uint64_t sentences;                              /* of all lines, found by rule */
    uint64_t several, alone;    /* lines of several sentences; those that are a block of their own */
    uint64_t indented;          /* lines that begin with U+3000 */
    uint64_t posts;             /* lines that end with an address or a tag (https://…, #word, @name) */
    uint64_t ends;              /* lines that end as a sentence does */
    uint64_t inner, inner_ends; /* lines that are neither the first nor the last of a block */
    /* Of the lines that another one follows: so long that its first word hardly fits (the width is what one line in 20
     * passes); those that end as a sentence; those before a line that begins with a capital. */
    uint64_t followed, full, followed_ends, followed_large;
};

/* Describes the beginning of a file. `whole`: it is all of it. */
void text_layout_read(struct str text, bool whole, const struct language *language, struct text_layout *layout);
void text_layout_add(struct text_layout *sum, const struct text_layout *layout);

/* True if the line begins with U+3000, as paragraphs in Chinese and Japanese do. Blanks may precede it. */
bool line_is_indented(struct str line);

/* True if lines are broken anywhere: half of them are full, and most do not end as a sentence, or (as in verse) begin
 * with a capital. */
bool text_layout_is_wrapped(const struct text_layout *layout);

/* The form of all files together, the first that holds:
 *
 *     lines       half of the lines end with an address or a tag, as posts do
 *     file        lines are broken anywhere; or half of them begin with U+3000, as paragraphs in Chinese and Japanese
 *                 do; or lines have several sentences (1.3 on average) and most such lines stand alone between blank
 *                 lines, as paragraphs do; or there are at least MANY_TEXT_FILES files of such lines, all seen to their
 *                 ends, and no blank lines; or lines have one sentence or less, and most of those inside a block do not
 *                 end as a sentence, as in verse
 *     paragraphs  lines have several sentences, and blocks have several such lines
 *     lines       lines have several sentences, and there are no blank lines; or there are none in all of a beginning
 *     sentences   all others
 *
 * `too_long`: a file is longer than the longest document, so files cannot be documents. Then instead of file:
 * sections, if any two blank lines follow each other; else that of wrapped, paragraphs, lines that fits. */
enum text_form text_layout_form(const struct text_layout *sum, bool too_long);

enum text_cut text_form_cut(enum text_form form);
