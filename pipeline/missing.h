/* What the text of wikis did without: templates that no row renders. Comes in: pages as they are counted. Goes out:
 * which cost most, and where. Sums only, like counts.h, and merged in a fixed order. */
#ifndef PIPELINE_MISSING_H
#define PIPELINE_MISSING_H

#include "pipeline/tally.h"

/* A zeroed one is empty. */
struct missing {
    struct tally templates; /* by name: how many in kept pages, and what of the page text they were */
    struct tally holes;     /* by name: how many of them are holes (text/wikitext.h), in both columns */
    struct tally sentences; /* by name: templates without a row of which one sentence was kept, in both columns */
    struct tally languages; /* by code: holes in the pages of its wikis, and bytes of their plain text */
};

void missing_merge(struct missing *into, const struct missing *from);
void missing_reset(struct missing *missing); /* forgets everything, keeps the memory */
void missing_release(struct missing *missing);

/* Appends "{{TA}} 61, {{lang}} 7": the first names of a tally of templates. */
void missing_worst(const struct tally *templates, struct buf *out);

/* For the journal, exactly. missing_read: false where it is nothing that missing_json wrote; *missing is empty then. */
json_t *missing_json(const struct missing *missing);
bool missing_read(struct missing *missing, const json_t *json);

#endif
