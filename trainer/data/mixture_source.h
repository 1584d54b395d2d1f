/* Combines several sources into one: mixed, for training, or one after another, for evaluation. */
#pragma once

#include "trainer/data/mixture.h"
#include "trainer/data/source.h"

/* Sample k comes from the dataset that the rule gives, at its place in that dataset's own endless sequence, so each
 * dataset has epochs of its own. An epoch of the mixture has as many samples as all datasets together; its `tokens` are
 * that many samples of the mixture's mean length. */
struct mixed_sources {
    struct mixture rule;
    struct source sources[MIXTURE_MAX]; /* [rule.datasets] each with samples; the same heads in all */
};

/* `mixed` outlives the result. Errors are those of its sources. */
struct source mixture_source(const struct mixed_sources *mixed);

/* The first samples of each source, one source after another. */
struct chained_sources {
    uint32_t count;
    struct source sources[MIXTURE_MAX]; /* [count] some may be empty */
    uint64_t borders[MIXTURE_MAX + 1];  /* source s provides the samples [borders[s], borders[s + 1]) */
};

/* Takes the first samples of each source of `chain`, about `most` in total, in proportion to the sizes of the sources;
 * at least one from each that is not empty. Its parts (source.h) are the sources. `chain` outlives the result. */
struct source chained_source(struct chained_sources *chain, uint64_t most);
