/* Cuts the text of windows into groups of records. Text arrives in spans of any size; the result does not depend on how
 * it was divided into spans.
 *
 *     cutter_enter(window) → cutter_feed … → cutter_leave → cutter_enter(next window) → … → cutter_end
 *
 * cutter.c keeps the account of windows and groups. Where a record begins and ends is up to a struct record_cut:
 *
 * cut_pages: a record is <page>…</page>; text between pages is left out. A page interrupted by another <page> or
 * </mediawiki> ends there.
 *
 * cut_lines: a record goes from its first line that is not blank (str_is_blank) to the next blank_lines blank lines or
 * the end; WHOLE_FILE: to the end; 0: a record is a line that is not blank. A record has no ASCII blanks at its ends.
 * (The length that is compared with page_bytes_max includes trailing blanks.) */
#pragma once

#include "base/error.h"
#include "base/str.h"
#include "pipeline/dump/dump.h"
#include "pipeline/parts/page_parts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct record_format;

struct cutter {
    const struct record_cut *cut;
    uint32_t blank_lines; /* that end a record; of plain text only, else 0 */
    size_t group_bytes_max, page_bytes_max;
    uint32_t window;

    /* The state of the text. */
    bool open;           /* inside a record */
    bool skip;           /* that record is dropped: it is too long, or its group was given before a restart */
    bool closed;         /* pages: </mediawiki> was the last tag of <mediawiki> and </mediawiki> */
    uint32_t closed_in;  /* the window where it began */
    bool guessed, doubt; /* as in struct dump_head */
    /* Pages: the place in a tag. Lines: of an open document utf8_blank of its line, and 2^16 times the blank lines
     * before it; else the bytes of a byte order mark that are to be passed over. */
    unsigned match;
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

/* How records are found: a file cut_*.c each. Between two calls the state is cutter->open, skip, match, tag_window: a
 * few numbers, so that a restart in the middle of a record or of its mark needs no text. */
struct record_cut {
    /* A record's beginning is recognised anywhere (as by a tag). If not, what follows the beginning of a window or a
     * gap is taken for the rest of a record. */
    bool marked;
    /* As cutter_feed; calls record_begin, record_add and record_end. It runs over every byte of an input, so it should
     * step with memchr, and add each stretch of a record once. */
    size_t (*feed)(struct cutter *cutter, struct str text, struct group *out, bool *full);
    /* Ends the open record, at the end of the input. NULL: an open record is incomplete (missing_end). */
    void (*end)(struct cutter *cutter);
    /* True if a mark has begun, in cutter->tag_window, that may begin a record. NULL: never. */
    bool (*half)(const struct cutter *cutter);
    /* NULL: the text may end here; else where it ends instead: "inside a <page>". The function NULL: it may end
     * anywhere. */
    const char *(*missing_end)(const struct cutter *cutter);
    /* True if state->match can be one of this cut's; cutter->open is set. */
    bool (*is_match)(const struct cutter *cutter, const struct dump_state *state);
};
extern const struct record_cut cut_pages, cut_lines;

/* Begins a record whose first byte is in `window`, `before` bytes after text_at (as a difference modulo 2^64). True if
 * the group before it is full, and now in *out: then feed returns. */
bool record_begin(struct cutter *cutter, uint32_t window, uint64_t before, struct group *out);
void record_add(struct cutter *cutter, struct str text);
/* Ends the record; its last `less` bytes do not belong to it. */
void record_end(struct cutter *cutter, size_t less);

/* `bom`: the text begins with a byte order mark. */
void cutter_init(struct cutter *cutter, const struct dump_options *options, const struct record_format *format,
                 bool bom);
void cutter_release(struct cutter *cutter);

void cutter_enter(struct cutter *cutter, uint32_t window, const struct dump_state *entry);
/* Takes text until a group is full, which is then in *out; returns the bytes taken. `at`: as record.at. */
size_t cutter_feed(struct cutter *cutter, struct str text, uint64_t at, struct group *out, bool *full);
/* At the end of a window, call it until it returns false; true: a group is complete, and in *out. */
bool cutter_leave(struct cutter *cutter, struct group *out);
/* Text is missing here, `gap_bytes` of the file: the open record is dropped and counted in its group, the gap is
 * counted in the group of this window. `end`: no text follows. */
void cutter_gap(struct cutter *cutter, uint64_t gap_bytes, bool end);
/* True if all records that begin in windows before this one have been given. */
bool cutter_settled(const struct cutter *cutter, uint64_t window);
/* True if cutter->closed is set, by a tag that began in a window before this one. */
bool cutter_closed(const struct cutter *cutter, uint64_t window);
/* True if the text may end here. */
bool cutter_complete(const struct cutter *cutter);
/* At the end of the input: like cutter_leave. An incomplete text is ERR_INPUT at byte `end` of `name`, unless that is
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
