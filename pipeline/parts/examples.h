/* The first document that was dropped for each reason, so that a user can look at it. Added in the order of the input,
 * so they do not depend on threads, processes or interruptions. */
#pragma once

#include "pipeline/parts/page_parts.h"

#include <jansson.h>

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
