/* In: gradients, frozen second moments, errors. Out: bits and scales, and what all processes compute from them. */
#include "trainer/optim/onebit.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/parallel.h"

/* ---- the layout ---- */

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
}

void onebit_layout_release(struct onebit_layout *l)
{
    mem_free(l->at);
    mem_free(l->units);
    mem_free(l->part);
    mem_free(l->first);
    *l = (struct onebit_layout){0};
}

/* ---- passes ---- */

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
    size_t counted = 0;
    for (int32_t i = 0; i < chunk->count; i++) {
        const float sum = beta * m[i] + share * (g[i] * factor) + b[i];
        b[i] = v[i] != 0 ? sum : 0;
        squares += (double)b[i] * (double)b[i];
        counted += v[i] != 0;
    }
    pass->squares[k] = squares;
    pass->counted[k] = counted;
}

/* Writes zeros where v is 0, and after a chunk's last element. */
static void mask_block(const void *args, size_t k, int thread)
{
    (void)thread;
    const struct pass *pass = args;
    const struct param_chunk *chunk = &pass->layout->table->chunks[k];
    const float *v = pass->update->second + chunk->offset;
    const size_t at = pass->layout->at[k], count = (size_t)chunk->count;
    for (size_t i = 0; i < count; i++)
        if (v[i] == 0 && at + i >= pass->from && at + i < pass->to)
            pass->values[at + i - pass->from] = 0;
    for (size_t i = count; !pass->layout->group && i < up(count, 8); i++)
        if (at + i >= pass->from && at + i < pass->to)
            pass->values[at + i - pass->from] = 0;
}

/* Returns the signs of eight elements, and leaves their errors. */
static uint8_t quantise(float *x, float scale)
{
    unsigned byte = 0;
    for (int i = 0; i < 8; i++) {
        const bool plus = x[i] >= 0;
        byte = byte << 1 | plus;
        x[i] -= plus ? scale : -scale;
    }
    return (uint8_t)byte;
}

/* Quantises a unit. */
static void quantise_block(const void *args, size_t task, int thread)
{
    (void)thread;
    const struct pass *pass = args;
    const size_t unit = pass->layout->first[pass->rank] + task;
    for (size_t i = pass->layout->units[unit].from; i < pass->layout->units[unit].to; i += 8)
        pass->bits[i / 8] = quantise(pass->values + (i - pass->from), pass->scales[unit]);
}

static float scale_of(double squares, size_t count)
{
    return count > 0 ? (float)sqrt(squares / (double)count) : 0;
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
    parallel(chunks, sum_block, &pass);
    if (l->group) {
        double squares = 0;
        const size_t end = l->at[chunks - 1] + (size_t)l->table->chunks[chunks - 1].count;
        for (size_t k = 0; k < chunks; k++)
            squares += pass.squares[k];
        for (size_t i = end; i < l->count; i++)
            squares += (double)errors[i] * (double)errors[i];
        for (size_t unit = 0; unit < l->unit_count; unit++)
            alphas[unit] = scale_of(squares, l->count);
    } else {
        for (size_t k = 0; k < chunks; k++)
            alphas[k] = scale_of(pass.squares[k], pass.counted[k]);
    }
    parallel(l->unit_count, quantise_block, &pass);
    parallel(chunks, mask_block, &pass);
    mem_free(pass.squares);
    mem_free(pass.counted);
}

/* ---- the server of a part ---- */

/* Computes a of a unit. */
static void average_block(const void *args, size_t task, int thread)
{
    (void)thread;
    const struct pass *pass = args;
    const struct onebit_layout *l = pass->layout;
    const size_t unit = l->first[pass->rank] + task, units = l->first[pass->rank + 1] - l->first[pass->rank];
    const size_t bytes = (pass->to - pass->from) / 8;
    for (size_t i = l->units[unit].from; i < l->units[unit].to; i += 8) {
        float *a = pass->values + (i - pass->from), sums[8] = {0};
        for (uint32_t r = 0; r < l->size; r++) {
            const unsigned byte = pass->bits_of_all[r * bytes + (i - pass->from) / 8];
            const float alpha = pass->alphas_of_all[r * units + task];
            for (int k = 0; k < 8; k++)
                sums[k] += byte >> (7 - k) & 1 ? alpha : -alpha;
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
    const size_t unit = l->first[pass->rank] + task;
    double squares = 0;
    for (size_t i = l->units[unit].from; i < l->units[unit].to; i++)
        squares += (double)pass->values[i - pass->from] * (double)pass->values[i - pass->from];
    size_t counted = l->units[unit].to - l->units[unit].from;
    if (!l->group) {
        const struct param_chunk *chunk = &l->table->chunks[unit];
        counted = 0;
        for (int32_t i = 0; i < chunk->count; i++)
            counted += pass->update->second[chunk->offset + (size_t)i] != 0;
    }
    pass->scales[unit] = scale_of(squares, counted);
}

void onebit_serve(const struct onebit_layout *l, const struct onebit_update *update, uint32_t rank,
                  const uint8_t *bits_of_all, const float *alphas_of_all, float *served, uint8_t *bits, float *sigmas)
{
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
    parallel(units, average_block, &pass);
    parallel(l->table->chunk_count, mask_block, &pass);
    parallel(units, measure_block, &pass);
    parallel(units, quantise_block, &pass);
    parallel(l->table->chunk_count, mask_block, &pass);
}

/* ---- all processes ---- */

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
    for (int32_t i = 0; i < chunk->count; i++) {
        const size_t at = l->at[k] + (size_t)i;
        const float sigma = pass->alphas_of_all[l->group ? at / (l->count / l->size) : k];
        m[i] = v[i] == 0 ? 0 : pass->bits_of_all[at / 8] >> (7 - at % 8) & 1 ? sigma : -sigma;
        p[i] -= rate * m[i] / (sqrtf(v[i]) + epsilon) + shrink * p[i];
    }
}

void onebit_apply(const struct onebit_layout *l, const struct onebit_update *update, const uint8_t *bits,
                  const float *sigmas)
{
    parallel(l->table->chunk_count, apply_block,
             &(struct pass){.layout = l, .update = update, .alphas_of_all = sigmas, .bits_of_all = bits});
}
