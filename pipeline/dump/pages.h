/* Text of windows -> groups of records. Text comes in spans of any size; what comes out does not depend on how it was
 * cut into spans.
 *
 *     pages_enter(window) → pages_feed … → pages_leave → pages_enter(next window) → … → pages_end
 *
 * Wiki: a record is <page>…</page>; what stands between pages is left out. A page that another <page> or </mediawiki>
 * breaks off ends there. Text: a record is a document, from its first to its last byte that is not blank; a line of
 * blanks only ends it. JSONL, and text of options.lines: a record is a line that is not blank, without the blanks at
 * both ends. (A record's length, where it is compared with page_bytes_max, has the blanks that end it.) */
#ifndef PIPELINE_DUMP_PAGES_H
#define PIPELINE_DUMP_PAGES_H

#include "base/error.h"
#include "base/str.h"
#include "pipeline/dump/dump.h"
#include "pipeline/page_parts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pages {
    enum input_kind kind;
    bool lines; /* every line is a record */
    size_t group_bytes_max, page_bytes_max;
    uint32_t window;

    /* Where the text stands. */
    bool open;           /* in a record */
    bool skip;           /* whose bytes are dropped: it is too long, or its group came out before a restart */
    bool closed;         /* wiki: </mediawiki> was the last of its kind, */
    uint32_t closed_in;  /* and began in this window */
    bool guessed, doubt; /* as in struct dump_head */
    unsigned
        match; /* wiki: place in a tag; open document: its line is blank so far; else: bytes of a BOM to pass over */
    uint32_t tag_window; /* where the '<' of that tag was */

    /* The group that is being filled, once begun. */
    struct group group;
    bool begun;
    size_t record_from;
    uint64_t gaps, gap_bytes;             /* of this window, while the group is one of a window before */
    struct dump_state entry, group_entry; /* the state when this window, and the group's window, was entered */
    uint32_t part_window, next_part;      /* the part that a further group of this window would be */
    uint64_t resume_window;
    uint32_t resume_part; /* parts of that window's group that came out before a restart */
};

/* `bom`: the text begins with a byte order mark. */
void pages_init(struct pages *pages, const struct dump_options *options, enum input_kind kind, bool bom);
void pages_release(struct pages *pages);

void pages_enter(struct pages *pages, uint32_t window, const struct dump_state *entry);
/* Takes text up to where a group is full, which is then in *out; returns the bytes taken. */
size_t pages_feed(struct pages *pages, struct str text, struct group *out, bool *full);
/* At a window's end, until it says false: true if a group is complete, and in *out. */
bool pages_leave(struct pages *pages, struct group *out);
/* Text is missing here, `gap_bytes` of the file: the open record is given up and counted in its group, the gap in the
 * group of this window. `end`: no text follows. */
void pages_gap(struct pages *pages, uint64_t gap_bytes, bool end);
/* Are all records that begin in windows before this one in groups that came out? */
bool pages_settled(const struct pages *pages, uint64_t window);
/* Was </mediawiki> the last of its kind, and began in a window before this one? */
bool pages_closed(const struct pages *pages, uint64_t window);
/* May the text end here? */
bool pages_complete(const struct pages *pages);
/* At the end of the input: as pages_leave; a wiki that is not complete is ERR_INPUT at byte `end` of `name`, unless
 * that is NULL. 0, or < 0. */
int pages_end(struct pages *pages, const char *name, uint64_t end, struct group *out, struct error *err);

/* What a window's text holds in whole records, without its neighbours: for a look at a window out of turn. `last`: the
 * input ends with it. On a struct pages of its own, which is used up. */
void pages_peek(struct pages *pages, struct str text, bool first, bool last, struct group *out);

/* The part of a struct dump_state that is the cutter's. */
void pages_state(const struct pages *pages, struct dump_state *state);
/* -1: not a state of this kind of input. */
int pages_restore(struct pages *pages, const struct dump_state *state);

#endif
