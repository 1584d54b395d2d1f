/* Checks that text which comes in parts is well-formed UTF-8. Pure. */
#pragma once

#include "base/str.h"

/* Zeroed, it is at the beginning of the text. Plain numbers, for a journal. */
struct well_formed {
    uint64_t passed;  /* bytes of the text so far */
    uint32_t held;    /* the first bytes of an incomplete character, the latest in the lowest byte */
    uint32_t pending; /* how many, 0 to 3 */
    bool after_gap;   /* text is missing: the next bytes may be the end of a character */
};

/* False: *bad is the byte of the text, counted as `passed` is, where an ill-formed character begins. */
bool well_formed_feed(struct well_formed *state, struct str text, uint64_t *bad);
bool well_formed_end(const struct well_formed *state, uint64_t *bad); /* the text ends here */
void well_formed_gap(struct well_formed *state);
