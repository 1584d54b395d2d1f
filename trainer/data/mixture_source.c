#include "trainer/data/mixture_source.h"

#include <assert.h>
#include <math.h>

static void widen(struct sequence_room *room, const struct sequence_room *other)
{
    room->length = other->length > room->length ? other->length : room->length;
    for (int h = 0; h < HEAD_KINDS; h++)
        room->marks[h] = other->marks[h] > room->marks[h] ? other->marks[h] : room->marks[h];
}

/* ---- mixed ---- */

static int mixed_fetch(const void *context, uint64_t k, struct sequence *sequence, struct error *err)
{
    const struct mixed_sources *mixed = context;
    const struct mixture_place place = mixture_at(&mixed->rule, k);
    const struct source *source = &mixed->sources[place.dataset];
    return source->fetch(source->context, place.sample, sequence, err);
}

static void mixed_prefetch(const void *context, uint64_t k)
{
    const struct mixed_sources *mixed = context;
    const struct mixture_place place = mixture_at(&mixed->rule, k);
    const struct source *source = &mixed->sources[place.dataset];
    if (source->prefetch)
        source->prefetch(source->context, place.sample);
}

static uint64_t mixed_number(const void *context, uint64_t k)
{
    const struct mixed_sources *mixed = context;
    const struct mixture_place place = mixture_at(&mixed->rule, k);
    const struct source *source = &mixed->sources[place.dataset];
    return source->number(source->context, place.sample);
}

static uint32_t mixed_part(const void *context, uint64_t k)
{
    return mixture_at(&((const struct mixed_sources *)context)->rule, k).dataset;
}

struct source mixture_source(const struct mixed_sources *mixed)
{
    struct source all = {
        .context = mixed,
        .fetch = mixed_fetch,
        .prefetch = mixed_prefetch,
        .number = mixed_number,
        .part = mixed_part,
    };
    double length = 0;
    for (uint32_t d = 0; d < mixed->rule.datasets; d++) {
        const struct source *source = &mixed->sources[d];
        assert(source->samples > 0); /* an empty dataset has no weight and is left out before */
        all.samples += source->samples;
        length +=
            (double)mixed->rule.weights[d] / mixed->rule.period * (double)source->tokens / (double)source->samples;
        widen(&all.room, &source->room);
    }
    all.tokens = (uint64_t)llround(length * (double)all.samples);
    return all;
}

/* ---- one after another ---- */

/* The source of sample k; *sample is its number there. After the last sample the chain starts again, as epochs do. */
static uint32_t find(const struct chained_sources *chain, uint64_t k, uint64_t *sample)
{
    uint32_t s = 0;
    assert(chain->borders[chain->count] > 0); /* nothing may be fetched from an empty source */
    k %= chain->borders[chain->count];
    while (k >= chain->borders[s + 1])
        s++;
    *sample = k - chain->borders[s];
    return s;
}

static uint32_t chained_part(const void *context, uint64_t k)
{
    uint64_t ignored;
    return find(context, k, &ignored);
}

static int chained_fetch(const void *context, uint64_t k, struct sequence *sequence, struct error *err)
{
    const struct chained_sources *chain = context;
    uint64_t sample;
    const struct source *source = &chain->sources[find(chain, k, &sample)];
    return source->fetch(source->context, sample, sequence, err);
}

static uint64_t chained_number(const void *context, uint64_t k)
{
    const struct chained_sources *chain = context;
    uint64_t sample;
    const struct source *source = &chain->sources[find(chain, k, &sample)];
    return source->number(source->context, sample);
}

struct source chained_source(struct chained_sources *chain, uint64_t most)
{
    uint64_t samples = 0, there;
    struct source all = {
        .context = chain,
        .fetch = chained_fetch,
        .number = chained_number,
        .part = chained_part,
        .parts = chain->count,
        .borders = chain->borders,
    };
    for (uint32_t s = 0; s < chain->count; s++)
        samples += chain->sources[s].samples;
    chain->borders[0] = 0;
    double tokens = 0;
    for (uint32_t s = 0; s < chain->count; s++) {
        const struct source *source = &chain->sources[s];
        there = source->samples;
        if (samples > most && there > 0) {
            there = (uint64_t)((unsigned __int128)there * most / samples);
            there = there > 0 || most == 0 ? there : 1;
        }
        chain->borders[s + 1] = chain->borders[s] + there;
        tokens += there > 0 ? (double)there * (double)source->tokens / (double)source->samples : 0;
        widen(&all.room, &source->room);
    }
    all.samples = chain->borders[chain->count];
    all.tokens = (uint64_t)llround(tokens);
    return all;
}
