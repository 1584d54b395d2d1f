/* All extents of a build: what is done, who does the rest, and whether the parts fit together.
 *
 *     extents_read → extents_join ─► all whole? ─► seal
 *                         │ no
 *                         ▼
 *                    extents_cut (once) → extents_share ─► every process reads its extents to their ends ─► again
 *
 * Called by one process (rank 0) while no other uses the directory. */
#ifndef PIPELINE_BUILD_EXTENTS_H
#define PIPELINE_BUILD_EXTENTS_H

#include "pipeline/build/extent.h"
#include "pipeline/store/load.h"

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

/* Does the directory hold several extents, so that their places in the row matter? 1, 0, < 0. */
int extents_several(const char *directory, struct error *err);

/* Can the work be divided? Not with a limit, which counts from the beginning, and not for a pipe. */
bool extents_divide(const struct extents *extents);
/* Begins new extents, so that what is left is divided into `parts` ranges of equal length, as far as the inputs allow:
 * dumps of a wiki can be divided anywhere, others between files only. */
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

#endif
