#include "trainer/optim/onebit.h"

#include <assert.h>

#include "base/mem.h"
#include "base/parallel.h"

static size_t up(size_t n, size_t multiple)
{
    return (n + multiple - 1) / multiple * multiple;
}

/* Cuts parts between chunks, where each border is nearest to that of equal parts. */
static void cut_chunks(struct onebit_layout *l)
{
    size_t unit = 0;
    for (uint32_t r = 1; r < l->size; r++) {
        const size_t border = l->count / l->size * r;
        while (unit < l->unit_count && l->units[unit].from + (l->units[unit].to - l->units[unit].from) / 2 < border)
            unit++;
        l->first[r] = unit;
        l->part[r] = unit < l->unit_count ? l->units[unit].from : l->count;
    }
}

static void lay_chunks(struct onebit_layout *l)
{
    l->unit_count = l->table->chunk_count;
    l->units = mem_array(l->unit_count, sizeof *l->units);
    for (size_t k = 0; k < l->unit_count; k++) {
        l->at[k] = l->count;
        l->count += up((size_t)l->table->chunks[k].count, 8);
        l->units[k] = (struct onebit_unit){l->at[k], l->count};
    }
    cut_chunks(l);
}

/* DeepSpeed pads to a multiple of N lcm(8, N). */
static void lay_group(struct onebit_layout *l)
{
    size_t multiple = 8;
    while (multiple % l->size != 0)
        multiple += 8;
    for (size_t k = 0; k < l->table->chunk_count; k++) {
        l->at[k] = l->count;
        l->count += (size_t)l->table->chunks[k].count;
    }
    l->count = up(l->count, l->size * multiple);
    assert(l->count / l->size % 8 == 0 && l->count % l->size == 0);
    l->unit_count = l->size;
    l->units = mem_array(l->unit_count, sizeof *l->units);
    for (uint32_t r = 0; r < l->size; r++) {
        l->units[r] = (struct onebit_unit){l->count / l->size * r, l->count / l->size * (r + 1)};
        l->first[r] = r;
        l->part[r] = l->units[r].from;
    }
}

void onebit_layout_init(struct onebit_layout *l, const struct params *table, bool group, uint32_t size)
{
    *l = (struct onebit_layout){
        .table = table,
        .group = group,
        .size = size,
        .at = mem_array(table->chunk_count, sizeof *l->at),
        .part = mem_clear(size + 1, sizeof *l->part),
        .first = mem_clear(size + 1, sizeof *l->first),
    };
    if (group)
        lay_group(l);
    else
        lay_chunks(l);
    l->part[size] = l->count;
    l->first[size] = l->unit_count;
    for (uint32_t r = 0; r < size; r++) /* parts follow each other and begin with whole bytes of bits */
        assert(l->part[r] <= l->part[r + 1] && l->part[r] % 8 == 0 && l->first[r] <= l->first[r + 1]);
}

void onebit_layout_release(struct onebit_layout *l)
{
    mem_free(l->at);
    mem_free(l->units);
    mem_free(l->part);
    mem_free(l->first);
    *l = (struct onebit_layout){0};
}

struct pass {
    const struct onebit_layout *layout;
    const struct onebit_update *update;
    float *values;   /* compact, from element `from` on: b, or a */
    size_t from, to; /* compact elements that the pass covers */
    float *scales;   /* [unit_count] */
    double *squares; /* of each chunk */
    size_t *counted; /* elements of each chunk that are not masked */
    uint8_t *bits;
    const uint8_t *bits_of_all;
    const float *alphas_of_all; /* or sigmas */
    uint32_t rank;
};

/* Computes m_i and b of a chunk. */
static void sum_block(const void *args, size_t k, int thread)
{
    (void)thread;
    const struct pass *pass = args;
    const struct onebit_update *u = pass->update;
    const struct param_chunk *chunk = &pass->layout->table->chunks[k];
    const float factor = (float)u->gradient_factor, beta = (float)u->beta1, share = (float)(1 - u->beta1);
    const float *m = u->first + chunk->offset, *v = u->second + chunk->offset, *g = u->gradients + chunk->offset;
    float *b = pass->values + pass->layout->at[k];
    double squares = 0;
    int32_t counted = 0;
#pragma omp simd reduction(+ : squares, counted)
    for (int32_t i = 0; i < chunk->count; i++) {
        const float sum = beta * m[i] + share * (g[i] * factor) + b[i];
        b[i] = v[i] != 0 ? sum : 0;
        squares += (double)b[i] * (double)b[i];
        counted += v[i] != 0;
    }
    pass->squares[k] = squares;
    pass->counted[k] = (size_t)counted;
}

/* Writes zeros where v is 0, and after a chunk's last element. */
static void mask_block(const void *args, size_t k, int thread)
{
    (void)thread;
    const struct pass *pass = args;
    const struct param_chunk *chunk = &pass->layout->table->chunks[k];
    const size_t at = pass->layout->at[k], count = (size_t)chunk->count;
    const size_t padding = pass->layout->group ? 0 : up(count, 8) - count;
    const size_t from = at > pass->from ? at : pass->from, to = smaller(at + count, pass->to);
    if (from < to) {
        const float *v = pass->update->second + chunk->offset + (from - at);
        float *values = pass->values + (from - pass->from);
#pragma omp simd
        for (size_t i = 0; i < to - from; i++)
            values[i] = v[i] == 0 ? 0 : values[i];
    }
    if (at + count >= pass->from && at + count + padding <= pass->to) /* padding is never cut */
        memset(pass->values + (at + count - pass->from), 0, padding * sizeof *pass->values);
}

/* Turns eight bytes of 0 or 1 into bits, the first into the most significant one: the factor moves bit 8 i to bit
 * 63 - i, and no other product reaches the upper byte. */
static uint8_t bits_of(const uint8_t signs[8])
{
    uint64_t word = 0;
    for (int i = 0; i < 8; i++)
        word |= (uint64_t)signs[i] << (8 * i);
    return (uint8_t)(word * 0x8040201008040201u >> 56);
}

#define AT_ONCE 256 /* signs that are computed before they become bits, a multiple of 8 */

/* Quantises a unit: bits are the signs, and the errors stay in the values. */
static void quantise_block(const void *args, size_t task, int thread)
{
    (void)thread;
    const struct pass *pass = args;
    const size_t unit = pass->layout->first[pass->rank] + task, to = pass->layout->units[unit].to;
    const float scale = pass->scales[unit];
    for (size_t from = pass->layout->units[unit].from; from < to; from += AT_ONCE) {
        uint8_t signs[AT_ONCE];
        float *x = pass->values + (from - pass->from);
        const size_t count = smaller(AT_ONCE, to - from);
#pragma omp simd
        for (size_t i = 0; i < count; i++) {
            signs[i] = x[i] >= 0;
            x[i] -= x[i] >= 0 ? scale : -scale;
        }
        for (size_t i = 0; i < count; i += 8)
            pass->bits[(from + i) / 8] = bits_of(signs + i);
    }
}

/* The quantised values of eight bits. (A mask per bit, because SSE2 cannot shift each number by its own count.) */
static inline void values_of(float out[8], uint8_t bits, float scale)
{
    static const uint32_t masks[8] = {0x80, 0x40, 0x20, 0x10, 8, 4, 2, 1};
#pragma omp simd
    for (int i = 0; i < 8; i++)
        out[i] = bits & masks[i] ? scale : -scale;
}

static float scale_of(double squares, size_t count)
{
    return count > 0 ? (float)sqrt(squares / (double)count) : 0;
}

/* All of it for one chunk, while the chunk is in the cache. */
static void compress_chunk(const void *args, size_t k, int thread)
{
    const struct pass *pass = args;
    sum_block(args, k, thread);
    pass->scales[k] = scale_of(pass->squares[k], pass->counted[k]);
    quantise_block(args, k, thread);
    mask_block(args, k, thread);
}

void onebit_compress(const struct onebit_layout *l, const struct onebit_update *update, float *errors, uint8_t *bits,
                     float *alphas)
{
    const size_t chunks = l->table->chunk_count;
    struct pass pass = {
        .layout = l,
        .update = update,
        .values = errors,
        .to = l->count,
        .scales = alphas,
        .squares = mem_array(chunks, sizeof *pass.squares),
        .counted = mem_array(chunks, sizeof *pass.counted),
        .bits = bits,
    };
    if (l->group) {
        parallel(chunks, sum_block, &pass);
        double squares = 0;
        const size_t end = l->at[chunks - 1] + (size_t)l->table->chunks[chunks - 1].count;
        for (size_t k = 0; k < chunks; k++)
            squares += pass.squares[k];
        for (size_t i = end; i < l->count; i++)
            squares += (double)errors[i] * (double)errors[i];
        for (size_t unit = 0; unit < l->unit_count; unit++)
            alphas[unit] = scale_of(squares, l->count);
        parallel(l->unit_count, quantise_block, &pass);
        parallel(chunks, mask_block, &pass);
    } else {
        parallel(chunks, compress_chunk, &pass);
    }
    mem_free(pass.squares);
    mem_free(pass.counted);
}

/* Computes a of a unit. */
static void average_block(const void *args, size_t task, int thread)
{
    (void)thread;
    const struct pass *pass = args;
    const struct onebit_layout *l = pass->layout;
    const size_t unit = l->first[pass->rank] + task, units = l->first[pass->rank + 1] - l->first[pass->rank];
    const size_t bytes = (pass->to - pass->from) / 8;
    const float *alphas = pass->alphas_of_all + task;
    for (size_t i = l->units[unit].from; i < l->units[unit].to; i += 8) {
        float *a = pass->values + (i - pass->from), sums[8] = {0}, values[8];
        for (uint32_t r = 0; r < l->size; r++) {
            values_of(values, pass->bits_of_all[r * bytes + (i - pass->from) / 8], alphas[r * units]);
            for (int k = 0; k < 8; k++)
                sums[k] += values[k];
        }
        for (int k = 0; k < 8; k++)
            a[k] += sums[k] / (float)l->size;
    }
}

static void measure_block(const void *args, size_t task, int thread)
{
    (void)thread;
    const struct pass *pass = args;
    const struct onebit_layout *l = pass->layout;
    const size_t unit = l->first[pass->rank] + task, count = l->units[unit].to - l->units[unit].from;
    const float *a = pass->values + (l->units[unit].from - pass->from);
    double squares = 0;
#pragma omp simd reduction(+ : squares)
    for (size_t i = 0; i < count; i++)
        squares += (double)a[i] * (double)a[i];
    size_t counted = count;
    if (!l->group) {
        const struct param_chunk *chunk = &l->table->chunks[unit];
        const float *v = pass->update->second + chunk->offset;
        int32_t live = 0;
#pragma omp simd reduction(+ : live)
        for (int32_t i = 0; i < chunk->count; i++)
            live += v[i] != 0;
        counted = (size_t)live;
    }
    pass->scales[unit] = scale_of(squares, counted);
}

/* All of it for one unit of the own part that is a chunk, while the chunk is in the cache. */
static void serve_chunk(const void *args, size_t task, int thread)
{
    const struct pass *pass = args;
    const size_t chunk = pass->layout->first[pass->rank] + task;
    average_block(args, task, thread);
    mask_block(args, chunk, thread);
    measure_block(args, task, thread);
    quantise_block(args, task, thread);
    mask_block(args, chunk, thread);
}

void onebit_serve(const struct onebit_layout *l, const struct onebit_update *update, uint32_t rank,
                  const uint8_t *bits_of_all, const float *alphas_of_all, float *served, uint8_t *bits, float *sigmas)
{
    assert(rank < l->size);
    const size_t units = l->first[rank + 1] - l->first[rank];
    const struct pass pass = {
        .layout = l,
        .update = update,
        .values = served,
        .from = l->part[rank],
        .to = l->part[rank + 1],
        .scales = sigmas,
        .bits = bits,
        .bits_of_all = bits_of_all,
        .alphas_of_all = alphas_of_all,
        .rank = rank,
    };
    if (!l->group) {
        parallel(units, serve_chunk, &pass);
        return;
    }
    parallel(units, average_block, &pass);
    parallel(l->table->chunk_count, mask_block, &pass);
    parallel(units, measure_block, &pass);
    parallel(units, quantise_block, &pass);
    parallel(l->table->chunk_count, mask_block, &pass);
}

/* The quantised values of elements [first, end) of chunk k; out has room for AT_ONCE. */
static void decode(float out[AT_ONCE], const struct pass *pass, size_t k, size_t first, size_t end)
{
    const struct onebit_layout *l = pass->layout;
    const size_t at = l->at[k] + first;
    if (!l->group) {
        for (size_t i = 0; i < end - first; i += 8)
            values_of(out + i, pass->bits_of_all[(at + i) / 8], pass->alphas_of_all[k]);
        return;
    }
    for (size_t i = at; i < at + (end - first); i++) {
        const float sigma = pass->alphas_of_all[i / (l->count / l->size)];
        out[i - at] = pass->bits_of_all[i / 8] >> (7 - i % 8) & 1 ? sigma : -sigma;
    }
}

static void apply_block(const void *args, size_t k, int thread)
{
    (void)thread;
    const struct pass *pass = args;
    const struct onebit_layout *l = pass->layout;
    const struct onebit_update *u = pass->update;
    const struct param_chunk *chunk = &l->table->chunks[k];
    const float rate = (float)u->rate, epsilon = (float)u->epsilon;
    const float shrink = (float)u->rate * (float)(chunk->decay ? u->weight_decay : u->vector_decay);
    float *p = u->params + chunk->offset, *m = u->first + chunk->offset;
    const float *v = u->second + chunk->offset;
    const size_t count = (size_t)chunk->count;
    for (size_t first = 0; first < count; first += AT_ONCE) {
        float means[AT_ONCE];
        const size_t end = smaller(first + AT_ONCE, count);
        decode(means, pass, k, first, end);
#pragma omp simd
        for (size_t i = first; i < end; i++) {
            m[i] = v[i] == 0 ? 0 : means[i - first];
            p[i] -= rate * m[i] / (sqrtf(v[i]) + epsilon) + shrink * p[i];
        }
    }
}

void onebit_apply(const struct onebit_layout *l, const struct onebit_update *update, const uint8_t *bits,
                  const float *sigmas)
{
    parallel(l->table->chunk_count, apply_block,
             &(struct pass){.layout = l, .update = update, .alphas_of_all = sigmas, .bits_of_all = bits});
}
