/* An extent: a range in the row of all windows of all inputs, with its own spills and journal in DIR/spill. The windows
 * before its place are in its spills; it ends where the next extent begins. A single process has one extent, the whole
 * row, until several processes share the work:
 *
 *     row      0                                                     W      windows of input 0, of input 1, …
 *             │ extent 0: done ▒▒▒▒▒▒▒│ rest      │ extent 412: done ▒│ rest      │
 *
 * So whatever happens to a process, what its extents hold stays valid, and the rest can be divided again. If an extent
 * is removed, its windows become the rest of the one before it.
 *
 * All of them: what is done, who does the rest, and whether the parts fit together.
 *
 *     extents_read → extents_join ─► all whole? ─► seal
 *                         │ no
 *                         ▼
 *                    extents_cut (once) → extents_share ─► every process reads its extents to their ends ─► again
 *
 * Called by one process (rank 0) while no other uses the directory. */
#pragma once

#include "pipeline/input/inputs.h"
#include "pipeline/parts/missing.h"
#include "pipeline/store/load.h"

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
/* True if it is complete up to `end`, or because it has all `limit` (0: no limit) records. */
bool extent_whole(const struct extent *extent, struct place end, uint64_t limit);

/* ---------------------------------------------------------------------------------------------- all of a build */

struct extents {
    const char *directory;
    const struct inputs *inputs;
    uint64_t limit;       /* records in total; 0: no limit. With a limit there is only one extent */
    size_t spill_count;   /* of each */
    struct extent *items; /* [count] in the order of the row; the first begins it */
    size_t count;
};

/* Assigns an extent to a process, up to `end`. */
struct extent_task {
    uint64_t first, end; /* the end of the last one is UINT64_MAX */
    uint32_t rank;
};

/* Reads the journals of extents->directory; if there are none, begins with one extent. */
int extents_read(struct extents *extents, struct error *err);
void extents_release(struct extents *extents); /* what extents_read made */

/* 1 if the directory holds several extents, so that their places in the row matter; else 0; < 0. */
int extents_several(const char *directory, struct error *err);

/* True if the work can be divided: not with a limit, which counts from the beginning, and not for a pipe. */
bool extents_divide(const struct extents *extents);
/* Begins new extents, so that what is left is divided into `parts` ranges of equal length, as far as the inputs allow:
 * those whose records are marked (dump_divides) can be divided anywhere, others between files only. */
int extents_cut(struct extents *extents, uint32_t parts, struct error *err);
/* Removes every extent that does not continue the complete one before it: its windows become the rest of that one. */
int extents_join(struct extents *extents, struct error *err);
/* Assigns the unfinished extents to `ranks` processes, in ranges of equal length: fills tasks[extents->count] and
 * returns how many. */
size_t extents_share(const struct extents *extents, uint32_t ranks, struct extent_task *tasks);
/* The spills of all extents, for seal and others. The caller frees *list with mem_free and keeps `sets` alive. */
struct spills extents_spills(const struct extents *extents, const struct spill_set *sets, size_t set_count,
                             struct seal_extent **list);
/* The sums over all extents; of seconds, the maximum. Release *sum as an extent. */
void extents_sum(const struct extents *extents, struct extent *sum);
