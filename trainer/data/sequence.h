/* One sample as it goes into a micro-batch: its tokens, and for every head the labels with their tokens. */
#pragma once

#include "trainer/data/heads.h"

#include <stdint.h>

/* The labels of one head, in the order in which its loss adds them up. A label is a piece, a class or the bits of a
 * float, depending on the head. */
struct marks {
    uint32_t count;
    uint32_t *tokens; /* [count] place in the sequence */
    uint32_t *labels; /* [count] */
};

struct sequence {
    uint32_t length;   /* tokens */
    uint32_t a_length; /* tokens of the first segment; equal to `length` if there is only one */
    uint32_t *ids;     /* [length] as the model sees them */
    struct marks marks[HEAD_KINDS];
};

/* The size of a source's largest sequence. */
struct sequence_room {
    uint32_t length;
    uint32_t marks[HEAD_KINDS]; /* labels of each head; 0: none */
};

/* A sequence with arrays of this size, from one allocation; free with sequence_release. */
struct sequence sequence_make(const struct sequence_room *room);
void sequence_release(struct sequence *sequence);
