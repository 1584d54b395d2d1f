/* All extents of a build: what is done, who does the rest, and whether what was done apart fits together.
 *
 *     extents_read → extents_join ─► all whole? ─► seal
 *                         │ no
 *                         ▼
 *                    extents_cut (once) → extents_share ─► every process reads its extents to their ends ─► again
 *
 * By one process (rank 0) while no other touches the directory. */
#ifndef PIPELINE_EXTENTS_H
#define PIPELINE_EXTENTS_H

#include "pipeline/extent.h"
#include "pipeline/store/load.h"

struct extents {
    const char *directory;
    const struct inputs *inputs;
    uint64_t limit;       /* records in all; 0: no limit. With one there is but one extent */
    size_t spill_count;   /* of each */
    struct extent *items; /* [count] in the order of the row; the first begins it */
    size_t count;
};

/* Who reads which extent up to where. */
struct extent_task {
    uint64_t first, end; /* the end of the last one is UINT64_MAX */
    uint32_t rank;
};

/* Reads the journals of extents->directory; where there are none, begins with one extent. */
int extents_read(struct extents *extents, struct error *err);
void extents_release(struct extents *extents); /* what extents_read made */

/* Does the directory hold more than one, so that their places in the row count? 1, 0, < 0. */
int extents_several(const char *directory, struct error *err);

/* May the work be shared out? Not with a limit, which counts from the beginning, nor of a pipe. */
bool extents_divide(const struct extents *extents);
/* Begins extents in what is not done, so that it is in `parts` stretches of equal length, as far as the inputs can be
 * divided: dumps of a wiki anywhere, others between files only. */
int extents_cut(struct extents *extents, uint32_t parts, struct error *err);
/* Removes every extent that does not continue the whole one before it: its windows are the rest of that one again. */
int extents_join(struct extents *extents, struct error *err);
/* The extents with a rest, shared out to `ranks` processes in equal stretches: tasks[extents->count]; how many. */
size_t extents_share(const struct extents *extents, uint32_t ranks, struct extent_task *tasks);
/* What all of them have spilled, for seal and the like. The caller frees *list with mem_free, and keeps `sets`. */
struct spills extents_spills(const struct extents *extents, const struct spill_set *sets, size_t set_count,
                             struct seal_extent **list);
/* What all of them have together: sums, but of seconds the most. *sum is released as an extent. */
void extents_sum(const struct extents *extents, struct extent *sum);

#endif
