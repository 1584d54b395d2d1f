/* Runs of text that were found, and their ids as the thread remembers them (memory.h). A kind finds runs and calls
 * `recall` when there are enough of them, so that the cache lines of many are prefetched at once:
 *
 *     text ─► find_run: runs, keys, prefetch ─► up to FOUND_MAX runs ─► recall: their entries' ids
 *                                                                         │ not remembered: the kind's `cut`
 */
#pragma once

#include "base/mem.h"
#include "base/str.h"
#include "tokenizer/ids.h"
#include "tokenizer/memory.h"

#include <assert.h>

#define FOUND_MAX (2 * ASCII_BLOCK)

/* A run that was found, with its key and prefetched cache line. */
struct found {
    struct memory_key key; /* of its first bytes, where it is longer than MEMORY_BYTES */
    struct str run;
    uint32_t hash;
    uint32_t kind; /* a note of who found it */
};

struct recall {
    union memory *memory; /* [1 << MEMORY_BITS] */
    char fold;            /* for keys: 0x20 where case does not matter, else 0 */
    struct found found[FOUND_MAX];
};

static inline void recall_open(struct recall *recall, char fold)
{
    recall->memory = mem_aligned(sizeof(union memory) << MEMORY_BITS);
    recall->fold = fold;
}

static inline void recall_close(struct recall *recall)
{
    mem_free(recall->memory);
}

/* Records a run and prefetches its cache line; MEMORY_BYTES must be readable at `bytes`, a copy of the run's or the run
 * itself. */
static inline void find_run(union memory *memory, char fold, struct found *found, uint32_t kind, struct str run,
                            const char *bytes)
{
    found->run = run;
    found->kind = kind;
    found->hash = memory_key(bytes, run.size < MEMORY_BYTES ? run.size : MEMORY_BYTES, fold, &found->key);
    __builtin_prefetch(&memory[found->hash]);
}

/* The same where perhaps fewer bytes are readable: the text ends at `end`. */
static inline void find_run_near(union memory *memory, char fold, struct found *found, uint32_t kind, struct str run,
                                 const char *end)
{
    char padded[MEMORY_BYTES] = {0};
    const char *bytes = run.data;
    if (end - run.data < (ptrdiff_t)MEMORY_BYTES)
        bytes = memcpy(padded, run.data, run.size);
    find_run(memory, fold, found, kind, run, bytes);
}

/* Appends the ids of the runs found. cut(context, …) appends those of a run that is not remembered. */
static inline void recall(struct recall *recall, const struct found *end, struct ids *out,
                          void (*cut)(void *context, const struct found *found, struct ids *out), void *context)
{
    assert(end <= recall->found + FOUND_MAX);
    const size_t room = FOUND_MAX * MEMORY_IDS;
    ids_reserve(out, room);
    uint32_t *to = out->data + out->count;
    for (const struct found *found = recall->found; found < end; found++) {
        union memory *const known = &recall->memory[found->hash];
        const struct short_memory *one = &known->pair[!memory_same_half(known->pair[0].key, found->key.words)];
        if (found->run.size <= SHORT_BYTES && !memory_is_long(known) && memory_same_half(one->key, found->key.words)) {
            memcpy(to, one->ids, sizeof one->ids);
            to += one->count;
            continue;
        }
        if (memory_is_long(known) && memory_same(&known->one, &found->key) && found->run.size <= MEMORY_BYTES) {
            memcpy(to, known->one.ids, sizeof known->one.ids);
            to += known->one.count & ~MEMORY_LONG;
            continue;
        }
        const size_t before = out->count = (size_t)(to - out->data);
        cut(context, found, out);
        memory_keep(known, &found->key, found->run.size, out->data + before, out->count - before);
        ids_reserve(out, room);
        to = out->data + out->count;
    }
    out->count = (size_t)(to - out->data);
}
