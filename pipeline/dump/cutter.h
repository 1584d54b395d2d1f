/* Cuts the text of windows into groups of records. Text arrives in spans of any size; the result does not depend on how
 * it was divided into spans.
 *
 *     cutter_enter(window) → cutter_feed … → cutter_leave → cutter_enter(next window) → … → cutter_end
 *
 * Wiki: a record is <page>…</page>; text between pages is left out. A page interrupted by another <page> or
 * </mediawiki> ends there. Text: a record is a document, from its first line that is not blank (str_is_blank) to the
 * next options.blank_lines blank lines or the end; WHOLE_FILE: to the end. JSONL, and text of which no blank lines are
 * needed: a record is a line that is not blank. A record has no ASCII blanks at its ends. (The length that is compared
 * with page_bytes_max includes trailing blanks.) */
#ifndef PIPELINE_DUMP_CUTTER_H
#define PIPELINE_DUMP_CUTTER_H

#include "base/error.h"
#include "base/str.h"
#include "pipeline/dump/dump.h"
#include "pipeline/parts/page_parts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cutter {
    enum source_kind kind;
    uint32_t blank_lines; /* that end a record */
    size_t group_bytes_max, page_bytes_max;
    uint32_t window;

    /* The state of the text. */
    bool open;           /* inside a record */
    bool skip;           /* that record is dropped: it is too long, or its group was given before a restart */
    bool closed;         /* wiki: </mediawiki> was the last tag of <mediawiki> and </mediawiki> */
    uint32_t closed_in;  /* the window where it began */
    bool guessed, doubt; /* as in struct dump_head */
    unsigned
        match; /* wiki: place in a tag; open document: utf8_blank of its line, and 2^16 times the blank lines before
                     * it; else: bytes of a BOM to pass over */
    uint32_t tag_window; /* the window of the '<' of that tag */

    /* The group that is being filled, if begun. */
    struct group group;
    bool begun;
    size_t record_from;
    uint64_t text_at, record_at;          /* as record.at: of the text being fed, and of the open record */
    uint64_t gaps, gap_bytes;             /* of this window, while the group is of an earlier window */
    struct dump_state entry, group_entry; /* the state on entering this window, and the group's window */
    uint32_t part_window, next_part;      /* the part number of the next group of part_window */
    uint64_t resume_window;
    uint32_t resume_part; /* parts of that window's group that were given before a restart */
};

/* `bom`: the text begins with a byte order mark. */
void cutter_init(struct cutter *cutter, const struct dump_options *options, enum source_kind kind, bool bom);
void cutter_release(struct cutter *cutter);

void cutter_enter(struct cutter *cutter, uint32_t window, const struct dump_state *entry);
/* Takes text until a group is full, which is then in *out; returns the bytes taken. `at`: as record.at. */
size_t cutter_feed(struct cutter *cutter, struct str text, uint64_t at, struct group *out, bool *full);
/* At the end of a window, call it until it returns false; true: a group is complete, and in *out. */
bool cutter_leave(struct cutter *cutter, struct group *out);
/* Text is missing here, `gap_bytes` of the file: the open record is dropped and counted in its group, the gap is
 * counted in the group of this window. `end`: no text follows. */
void cutter_gap(struct cutter *cutter, uint64_t gap_bytes, bool end);
/* Have all records that begin in windows before this one been given? */
bool cutter_settled(const struct cutter *cutter, uint64_t window);
/* Was </mediawiki> the last tag of its kind, and did it begin in a window before this one? */
bool cutter_closed(const struct cutter *cutter, uint64_t window);
/* May the text end here? */
bool cutter_complete(const struct cutter *cutter);
/* At the end of the input: like cutter_leave. An incomplete wiki is ERR_INPUT at byte `end` of `name`, unless that is
 * NULL. 0, or < 0. */
int cutter_end(struct cutter *cutter, const char *name, uint64_t end, struct group *out, struct error *err);

/* The complete records of one window's text, without its neighbours, for a look at a window out of order; of records
 * that more than one blank line ends, which may be longer than windows, also the complete lines of incomplete ones.
 * `last`: the input ends with it. Uses up the struct cutter, which must be its own. */
void cutter_peek(struct cutter *cutter, struct str text, bool first, bool last, struct group *out);

/* The cutter's part of a struct dump_state. */
void cutter_state(const struct cutter *cutter, struct dump_state *state);
/* -1: this cannot be a state of this kind of input. */
int cutter_restore(struct cutter *cutter, const struct dump_state *state);

#endif
