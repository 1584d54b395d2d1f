/* The groups in which the gradients of a pass become final with ZeRO stage 2, in that order, and the sizes of the
 * memory that they take turns to use.
 *
 * A group is one of struct bucket's, or rows of the word table. The elements of a group that belong to one bucket are a
 * range: what one reduce-scatter sums. Only the layout is here: zero2.c moves the values. */
#pragma once

#include "trainer/parallel/partition.h"

struct gradient_range {
    size_t from, to, bucket;
    size_t at;       /* its first element's place in the group's memory */
    size_t *counts;  /* [processes] elements of each; of a group of rows only those of its rows */
    uint64_t number; /* of its sum */
};

enum group_kind {
    GROUP_BLOCK, /* rows of the word table, as the decoder leaves them */
    GROUP_WHOLE, /* the heads, a layer or its parts, the embeddings (without blocks with the word table) */
    GROUP_ROWS,  /* those rows of a block that any process has set aside, packed */
};

enum group_state {
    GROUP_AWAY, /* it has no memory */
    GROUP_OPEN, /* a pass may write it */
    GROUP_SUMS, /* its sums are under way */
};

struct gradient_group {
    enum group_kind kind;
    size_t from, to; /* elements of flat memory */
    struct gradient_range *ranges, *ranges_end;
    struct chunk_range chunks; /* GROUP_WHOLE */
    int32_t *rows;             /* GROUP_ROWS: numbers in the word table */
    size_t count;              /* elements in the window; `to - from`, or those of the rows */
    enum group_state state;
    size_t place; /* of its first element in the window, unless GROUP_AWAY */
    void *host;   /* GROUP_SUMS: what is sent */
};

struct gradient_groups {
    const struct params *params;
    const struct partition *partition;
    size_t hidden;
    bool by_rows; /* the word table consists of blocks of rows; otherwise it is a part of the embeddings */

    struct gradient_group *items; /* [count] blocks, wholes, rows of blocks */
    size_t count, blocks;
    struct gradient_range *ranges; /* [range_count] */
    size_t range_count;

    size_t embeddings;       /* elements of the window's first slot, which only the embeddings use */
    size_t slot_size, slots; /* elements of another slot, and how many the other groups share */

    size_t *counts; /* of all ranges */
    int32_t *rows;  /* of all groups of rows */
};

/* Makes all groups, GROUP_AWAY. `overlap`: sums go on while the next group is computed. The caller keeps `params` and
 * `partition`. */
void zero2_groups_init(struct gradient_groups *groups, const struct params *params, const struct partition *partition,
                       bool overlap, bool by_rows);
void zero2_groups_free(struct gradient_groups *groups);

/* Elements of the window: all slots. */
size_t zero2_groups_window(const struct params *params, const struct partition *partition, bool overlap, bool by_rows);
/* The place of slot `slot` of the window, the embeddings' not counted. */
size_t zero2_groups_slot(const struct gradient_groups *groups, size_t slot);

/* The end of the word table, with the rows that pad it: elements. */
size_t word_table_end(const struct params *params);
/* Elements that are both in a process's slice of a bucket and in [from, to). */
size_t slice_overlap(const struct partition *partition, size_t bucket, uint32_t rank, size_t from, size_t to);
/* Elements of a range that belong to the first `ranks` processes. */
size_t range_elements(const struct gradient_range *range, uint32_t ranks);

/* A run of a group's elements that are consecutive in flat memory, too: a row, or the whole group. */
struct gradient_span {
    size_t from, to; /* elements of flat memory */
};
size_t group_spans(const struct gradient_groups *groups, const struct gradient_group *group);
struct gradient_span group_span(const struct gradient_groups *groups, const struct gradient_group *group, size_t i);
