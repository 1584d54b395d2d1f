/* What the text lacks: templates that no row renders, strings left out as leaks, and documents that were dropped.
 * Documents are counted one by one; the result is which templates cost most, and where. Sums like counts.h, and
 * examples; merged in the order of the input. */
#pragma once

#include "pipeline/parts/name_counts.h"
#include "pipeline/parts/page_parts.h"

#include <jansson.h>

/* The first document that was dropped for each reason, so that a user can look at it. Added in the order of the input,
 * so they do not depend on threads, processes or interruptions. */
#define EXAMPLE_BYTES 160

/* A zeroed one is empty. Each is well-formed UTF-8 without control characters, and "" where nothing was dropped. */
struct examples {
    char items[PAGE_FATES][EXAMPLE_BYTES];
};

/* Notes a record: "dump.xml: page Gallagher", "a.jsonl: byte 1,204: {"id":…". `input`: its name, may be NULL; `title`:
 * "" if it has none; `bytes`: of the record; `at`: as record.at. Does nothing if the reason has an example. */
void examples_note(struct examples *examples, enum page_fate fate, const char *input, struct str title,
                   struct str bytes, uint64_t at);
void examples_merge(struct examples *into, const struct examples *later);

/* {reason: text}, for the journal and for --json. examples_read: false if examples_json did not write it. */
json_t *examples_json(const struct examples *examples);
bool examples_read(struct examples *examples, const json_t *json);

/* A zeroed one is empty. */
struct missing {
    struct name_counts templates; /* by name: how many in kept pages, and their bytes in the page text */
    struct name_counts holes;     /* by name: how many of them are holes (text/wikitext.h), in both columns */
    struct name_counts sentences; /* by name: templates without a row of which a sentence was kept, in both columns */
    struct name_counts leaks; /* by "{{template}}" or title of the page: strings left out as leaks, in both columns */
    struct name_counts languages; /* by code: holes in the pages of its wikis, and bytes of their plain text */
    struct examples dropped;
};

void missing_merge(struct missing *into, const struct missing *from);
void missing_reset(struct missing *missing); /* forgets everything, keeps the memory */
void missing_release(struct missing *missing);

/* Adds to one of the tallies `count` in both columns, with as much of the name as it takes. */
void missing_add(struct name_counts *table, struct str name, uint64_t count);

/* Appends "{{TA}} 61, {{lang}} 7": the first names of a table of templates; or "{{TA}} 61, Danube 7": of the leaks,
 * whose names are templates with their braces and titles without. */
void missing_worst(const struct name_counts *templates, struct buf *out);
void missing_worst_leaks(const struct missing *missing, struct buf *out);

/* For the journal, without loss. missing_read: false if missing_json did not write it; *missing is then empty. */
json_t *missing_json(const struct missing *missing);
bool missing_read(struct missing *missing, const json_t *json);
