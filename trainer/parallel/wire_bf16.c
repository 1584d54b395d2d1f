#include "trainer/parallel/wire_bf16.h"

#include "base/parallel.h"
#include "trainer/backend/bf16.h"

#define BLOCK 65536 /* numbers of one task */

struct conversion {
    const void *from;
    void *to;
    size_t count;
};

static void round_block(const void *context, size_t task, int thread)
{
    const struct conversion *c = context;
    const float *from = c->from;
    uint16_t *to = c->to;
    const size_t first = task * BLOCK, end = smaller(first + BLOCK, c->count);
    (void)thread;
    for (size_t i = first; i < end; i++)
        to[i] = bf16_from_float(from[i]);
}

static void widen_block(const void *context, size_t task, int thread)
{
    const struct conversion *c = context;
    const uint16_t *from = c->from;
    float *to = c->to;
    const size_t first = task * BLOCK, end = smaller(first + BLOCK, c->count);
    (void)thread;
    for (size_t i = first; i < end; i++)
        to[i] = bf16_to_float(from[i]);
}

void wire_bf16_round(const float *from, uint16_t *to, size_t count)
{
    parallel(blocks_of(count, BLOCK), round_block, &(struct conversion){from, to, count});
}

void wire_bf16_widen(const uint16_t *from, float *to, size_t count)
{
    parallel(blocks_of(count, BLOCK), widen_block, &(struct conversion){from, to, count});
}
