/* Several sources as one: mixed, as a run reads them, or one after another, as an evaluation does. */
#ifndef TRAINER_DATA_MIXTURE_SOURCE_H
#define TRAINER_DATA_MIXTURE_SOURCE_H

#include "trainer/data/mixture.h"
#include "trainer/data/source.h"

/* Sample k is of the dataset that the rule says, and of that dataset's own sequence, which has epochs of its own. An
 * epoch of all has as many samples as all of them together, and `tokens` in the mean of the mixture. */
struct mixed_sources {
    struct mixture rule;
    struct source sources[MIXTURE_MAX]; /* [rule.datasets] each with samples; the same heads in all */
};

/* `mixed` outlives the source. Errors are those of its sources. */
struct source mixture_source(const struct mixed_sources *mixed);

/* The first samples of each source, one source after another. */
struct chained_sources {
    uint32_t count;
    struct source sources[MIXTURE_MAX]; /* [count] some may be empty */
    uint64_t borders[MIXTURE_MAX + 1];  /* source s has the samples [borders[s], borders[s + 1]) */
};

/* Takes from the sources of `chain` their first samples, `most` in all, each in proportion to what it has, at least one
 * where it has some. Its parts (source.h) are the sources. `chain` outlives it. */
struct source chained_source(struct chained_sources *chain, uint64_t most);

#endif
