/* An extent: a range in the row of all windows of all inputs, with its own spills and journal in DIR/spill. The windows
 * before its place are in its spills; it ends where the next extent begins. A single process has one extent, the whole
 * row, until several processes share the work:
 *
 *     row      0                                                     W      windows of input 0, of input 1, …
 *             │ extent 0: done ▒▒▒▒▒▒▒│ rest      │ extent 412: done ▒│ rest      │
 *
 * So whatever happens to a process, what its extents hold stays valid, and the rest can be divided again. If an extent
 * is removed, its windows become the rest of the one before it. */
#ifndef PIPELINE_BUILD_EXTENT_H
#define PIPELINE_BUILD_EXTENT_H

#include "pipeline/input/inputs.h"
#include "pipeline/parts/missing.h"

struct extent {
    uint64_t first;          /* where it begins in the row: its name */
    uint32_t file;           /* the place: everything of the extent before this input, */
    struct dump_state state; /* and this state of it, is in the spills */
    struct dump_head head;   /* how it began; HEAD_TRUE: it depends on no guess (any more) */
    uint64_t pages;          /* records cut */
    uint64_t *hashes;        /* [inputs->count] dump_hash of its windows of each input. Owned. */
    struct counts counts;
    struct missing missing;
    uint64_t *spill_bytes; /* as given by spill_sync. Owned. */
    size_t spill_count;
    double seconds; /* of the build, when this journal was written */
};

/* Begins an extent at `first`, with nothing done. */
void extent_begin(struct extent *extent, uint64_t first, const struct inputs *inputs, size_t spill_count);
void extent_release(struct extent *extent);

/* Writes its journal; the directory DIR/spill must exist. */
int extent_write(const struct extent *extent, const struct inputs *inputs, const char *directory, struct error *err);
/* ERR_VERIFY: there is no journal that matches these inputs and this number of spills. */
int extent_read(struct extent *extent, uint64_t first, const struct inputs *inputs, size_t spill_count,
                const char *directory, struct error *err);

struct place extent_place(const struct extent *extent);
/* Is it complete up to `end`, or because it has all `limit` (0: no limit) records? */
bool extent_whole(const struct extent *extent, struct place end, uint64_t limit);

#endif
