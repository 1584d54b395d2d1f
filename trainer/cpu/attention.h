/* One task computes the attention of one head over one sequence. Keys and values are packed once into panels
 * (product.h) in the thread's scratch; queries are processed in blocks of rows, so that a block's scores stay in the
 * cache. The backward pass recomputes the probabilities from the saved log-sums (Dao et al. 2022, without the tiling
 * that a GPU needs). Scores are in `real`. Where the processor multiplies bf16, probabilities enter the forward product
 * as sums of two bf16 numbers: rounded to one, they made the gradients of all lower layers a fifth worse. The backward
 * pass rounds them and the scores' gradients to one, which changed the gradients' error little. */
#pragma once

#include "trainer/cpu/functions.h"
#include "trainer/cpu/keep.h"
#include "trainer/cpu/lanes.h"
#include "trainer/cpu/product.h"
#include "trainer/cpu/real.h"

#define QUERIES 64 /* query rows of a block */

/* An upper bound, the same at every level but that of tiles: pairs of numbers and narrower panels need less. */
static size_t attention_scratch(const struct ops_limits *limits, int threads)
{
    const size_t length = padded((size_t)limits->length_max, PANEL_MAX);
    const size_t size = padded((size_t)limits->head_size, PANEL_MAX);
    const size_t numbers = 5 * length * size + 4 * QUERIES * size + (TILES ? 3 : 2) * QUERIES * length;
    return (size_t)threads * padded(numbers * sizeof(real), 64);
}

static void *thread_scratch(void *scratch, const struct attention_shape *shape, int thread)
{
    const struct ops_limits limits = {.length_max = shape->length_max, .head_size = shape->head_size};
    return (char *)scratch + (size_t)thread * attention_scratch(&limits, 1);
}

/* Splits numbers in `real` into units whose products keep nearly full precision: with DOT, each is a sum of two
 * bf16. */
static void split(real *x, size_t count)
{
#if DOT
#pragma omp simd
    for (size_t i = 0; i < count; i++) {
        const uint16_t high = STORE(x[i]), low = STORE(x[i] - LOAD(high));
        const uint32_t both = high | (uint32_t)low << 16;
        memcpy(&x[i], &both, sizeof both);
    }
#else
    (void)x, (void)count;
#endif
}

/* Units of k such numbers, or pairs of numbers, as they are packed. */
static size_t split_units(size_t k)
{
    return padded(k, STEP_UNITS);
}

/* Packs the other operand of such products: X [k, columns], as pack_panels does (product.h), but with one step per
 * unit. */
static void pack_split(unit *out, size_t width, const storage *x, size_t x_step, size_t k, size_t columns)
{
    const size_t units = split_units(k);
    for (size_t first = 0; first < columns; first += width) {
        for (size_t l = 0; l < k; l++) {
            const storage *from = x + l * x_step + first;
            unit *to = out + first * units + l * width;
            const size_t count = smaller(width, columns - first);
#pragma omp simd
            for (size_t j = 0; j < count; j++)
#if DOT
                to[j] = from[j] * 0x10001u;
#else
                to[j] = LOAD(from[j]);
#endif
            memset(to + count, 0, (width - count) * sizeof *to);
        }
        memset(out + first * units + k * width, 0, (units - k) * width * sizeof *out);
    }
}

/* Panels of B, whose columns of PANEL numbers have `row` units; a product may use fewer of them. */
struct panels {
    const unit *at;
    size_t row;
};

/* C [m, n] (+)= A [m, units] times panels of B; n is a multiple of PANEL. */
static void small_product(real *c, size_t c_row, struct strips a, struct panels panels, size_t m, size_t n,
                          size_t units, bool add)
{
    for (size_t i = 0; i < m; i += STRIP, a.at += a.next)
        for (size_t j = 0; j < n; j += PANEL)
            strip(c + i * c_row + j, c_row, a, panels.at + j * panels.row, units, smaller(STRIP, m - i), add);
}

/* One task: a head of a sequence. */
struct attention_head {
    size_t first, length;        /* rows of the sequence: keys and values */
    size_t first_query, queries; /* rows of its queries */
    const int32_t *positions;    /* [queries] in the sequence */
    size_t size, hidden;
    size_t wide_length, wide_size; /* padded to whole panels: row lengths in scratch */
    size_t size_units;             /* `size` and `length` in units (product.h) */
    size_t length_units;
    uint32_t number, name; /* of dropout */
    size_t head, reach;    /* keys at most `reach` from a query are seen */
    real scale;
};

/* The keys that a block of queries may see, [from, from + count), and the width of a row of their scores. */
struct key_range {
    size_t from, count, wide;
};

static struct key_range key_range(const struct attention_head *h, size_t first, size_t rows)
{
    const size_t nearest = (size_t)h->positions[first], farthest = (size_t)h->positions[first + rows - 1];
    const size_t from = nearest > h->reach ? (nearest - h->reach) / PANEL_MAX * PANEL_MAX : 0;
    const size_t count = smaller(h->length, farthest + h->reach + 1) - from;
    return (struct key_range){from, count, padded(count, PANEL)};
}

/* Of that range, the keys [from, end) that a query sees. */
static struct key_range seen_keys(const struct attention_head *h, const struct key_range *range, size_t query)
{
    const size_t place = (size_t)h->positions[query];
    const size_t from = place > h->reach + range->from ? place - h->reach - range->from : 0;
    return (struct key_range){from, smaller(range->count, place + h->reach + 1 - range->from) - from, range->wide};
}

static struct attention_head head_of(const struct batch *batch, const struct batch *queries,
                                     const struct attention_shape *shape, size_t task)
{
    const size_t heads = (size_t)shape->heads, sequence = task / heads, head = task % heads;
    const size_t first = (size_t)batch->starts[sequence], end = (size_t)batch->starts[sequence + 1];
    const size_t first_query = (size_t)queries->starts[sequence];
    const size_t size = (size_t)shape->head_size;
    return (struct attention_head){
        .first = first,
        .length = end - first,
        .first_query = first_query,
        .queries = (size_t)queries->starts[sequence + 1] - first_query,
        .positions = queries->positions + first_query,
        .size = size,
        .hidden = heads * size,
        .wide_length = padded(end - first, PANEL),
        .wide_size = padded(size, PANEL),
        .size_units = units_of(size),
        .length_units = units_of(end - first),
        .number = batch->numbers[sequence],
        .name = shape->dropout.name + (uint32_t)head,
        .head = head,
        .reach = shape->window > 0 ? (size_t)shape->window / 2 : end - first,
        .scale = (real)(1 / sqrt((double)size)),
    };
}

/* The offset of a task's part of a matrix: its columns, from row `first` on. */
static size_t part_of(const struct attention_head *h, size_t first, size_t stride)
{
    return first * stride + h->head * h->size;
}

/* Zeroes the dead rows. */
static void clear_dead(void *rows, size_t stride, size_t width, const struct batch *batch)
{
    for (size_t row = (size_t)batch->tokens; row < (size_t)batch->token_rows; row++)
        memset((storage *)rows + row * stride, 0, width * sizeof(storage));
}

static void store_rows(storage *x, size_t stride, const real *in, size_t rows, size_t size, size_t wide, real scale)
{
    for (size_t row = 0; row < rows; row++)
#pragma omp simd
        for (size_t i = 0; i < size; i++)
            x[row * stride + i] = STORE(in[row * wide + i] * scale);
}

/* Multiplies a row of probabilities, or of their gradients, by its dropout. */
static void drop_scores(real *row, const struct dropout *dropout, const struct attention_head *h,
                        const struct key_range *range, size_t query)
{
    real keep[KEEP_COLUMNS];
    for (size_t first = 0; first < range->count; first += KEEP_COLUMNS) {
        const size_t count = smaller(KEEP_COLUMNS, range->count - first);
        keep_columns(keep, dropout, h->name, h->number, (uint32_t)h->positions[query], (int32_t)(range->from + first),
                     (int32_t)count);
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            row[first + i] *= keep[i];
    }
}

/* Zeroes the scores of keys that are not seen, and the padding after them. */
static void clear_unseen(real *row, const struct key_range *seen)
{
    const size_t end = seen->from + seen->count;
    memset(row, 0, seen->from * sizeof *row);
    memset(row + end, 0, (seen->wide - end) * sizeof *row);
}

/* Turns query-key products into probabilities, in place; returns the log of the sum of exponentials. */
static real softmax(real *scores, const struct attention_head *h, const struct key_range *seen)
{
    real *row = scores + seen->from;
    real most = row[0];
#pragma omp simd reduction(max : most)
    for (size_t i = 0; i < seen->count; i++)
        most = row[i] > most ? row[i] : most;
    real sums[LANES] = {0};
    EACH_LANE(i, lane, seen->count, row[i] = exponential((row[i] - most) * h->scale); sums[lane] += row[i]);
    const real sum = sum_lanes(sums), share = 1 / sum;
#pragma omp simd
    for (size_t i = 0; i < seen->count; i++)
        row[i] *= share;
    clear_unseen(scores, seen);
    return most * h->scale + (real)same_log((double)sum);
}

/* The panels of a range of keys, where keys are columns. */
static struct panels range_columns(const struct attention_head *h, const unit *panels, const struct key_range *range)
{
    return (struct panels){panels + range->from * h->size_units, h->size_units};
}

/* The same where keys are what is summed over. */
static struct panels range_rows(const struct attention_head *h, const unit *panels, const struct key_range *range)
{
    return (struct panels){panels + range->from / PER_UNIT * PANEL, h->length_units};
}

static void attention_head(const void *args, size_t task, int thread)
{
    const struct attention_args *a = args;
    const struct attention_head h = head_of(a->batch, a->queries, a->shape, task);
    real *scores = thread_scratch(a->scratch, a->shape, thread);  /* [QUERIES, wide_length] */
    real *result = scores + QUERIES * h.wide_length;              /* [QUERIES, wide_size] */
    unit *keys = (unit *)(result + QUERIES * h.wide_size);        /* [size, wide_length] */
    unit *values = keys + h.size_units * h.wide_length;           /* [length, wide_size] */
    unit *queries = values + split_units(h.length) * h.wide_size; /* [QUERIES, size] */
    const size_t stride = (size_t)a->q_stride, kv_stride = (size_t)a->kv_stride;
    const storage *q = (const storage *)a->q + part_of(&h, h.first_query, stride);
    const storage *k = (const storage *)a->kv + part_of(&h, h.first, kv_stride);
    storage *context = (storage *)a->context + part_of(&h, h.first_query, h.hidden);
    real *log_sums = (real *)a->log_sums + h.head * (size_t)a->queries->token_rows + h.first_query;

    if (h.queries == 0)
        return;
    tiles_open();
    /* Keys and values are packed once and multiplied by every block of queries. */
    pack_panels(keys, PANEL, k, 1, kv_stride, h.size, h.length);
    pack_split(values, PANEL, k + h.hidden, kv_stride, h.length, h.size);
    for (size_t first = 0; first < h.queries; first += QUERIES) {
        const size_t rows = smaller(QUERIES, h.queries - first);
        const struct key_range range = key_range(&h, first, rows);
        /* scores = Q K^T */
        pack_rows(queries, q + first * stride, stride, rows, h.size);
        small_product(scores, range.wide, strips_of_rows(queries, h.size_units), range_columns(&h, keys, &range), rows,
                      range.wide, h.size_units, false);
        for (size_t i = 0; i < rows; i++) {
            const struct key_range seen = seen_keys(&h, &range, first + i);
            log_sums[first + i] = softmax(scores + i * range.wide, &h, &seen);
            if (a->shape->dropout.threshold)
                drop_scores(scores + i * range.wide, &a->shape->dropout, &h, &range, first + i);
        }
        /* context = P V */
        split(scores, rows * range.wide);
        small_product(result, h.wide_size, strips_of_rows((unit *)scores, range.wide),
                      (struct panels){values + range.from * PANEL, split_units(h.length)}, rows, h.wide_size,
                      split_units(range.count), false);
        store_rows(context + first * h.hidden, h.hidden, result, rows, h.size, h.wide_size, 1);
    }
    tiles_close();
}

static void attention(struct device *device, const struct attention_args *args)
{
    const struct batch *queries = args->queries;
    const size_t heads = (size_t)args->shape->heads, hidden = heads * (size_t)args->shape->head_size;
    const size_t live = (size_t)queries->tokens, dead = (size_t)queries->token_rows - live;
    assert(parallel_threads() <= device->threads);
    parallel((size_t)args->batch->sequences * heads, attention_head, args);
    clear_dead(args->context, hidden, hidden, queries);
    for (size_t head = 0; head < heads; head++)
        memset((real *)args->log_sums + head * (live + dead) + live, 0, dead * sizeof(real));
}

#if DOT
/* Rounds numbers of two rows to bf16. */
static inline __m512i round_both(const real *first, const real *second)
{
    return (__m512i)_mm512_cvtne2ps_pbh(_mm512_loadu_ps(second), _mm512_loadu_ps(first));
}

/* For two rows of probabilities and of their scores' gradients, in place: makes units of two rows each, which lie in
 * the first row of `scores` (probabilities) and in the second (gradients), and units along the rows of `dscores`. */
static void round_pair(real *scores, real *dscores, size_t wide)
{
    /* numbers of both rows in turn */
    const __m512i turn = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                                          21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    for (size_t i = 0; i < wide; i += VECTOR_LANES) {
        const __m512i p = round_both(scores + i, scores + wide + i);
        const __m512i d = round_both(dscores + i, dscores + wide + i);
        _mm512_storeu_si512(scores + i, _mm512_permutexvar_epi16(turn, p));
        _mm512_storeu_si512(scores + wide + i, _mm512_permutexvar_epi16(turn, d));
        _mm256_storeu_si256((__m256i *)(void *)(dscores + i / 2), _mm512_castsi512_si256(d));
        _mm256_storeu_si256((__m256i *)(void *)(dscores + wide + i / 2), _mm512_extracti64x4_epi64(d, 1));
    }
}
#endif

/* For one block of queries, turns `scores` = Q K^T into P * keep, and `dscores` = dO V^T into the gradient of the
 * scores, both in units, with DOT as round_pair leaves them:
 *     P = exp(scale * score - log_sum);  dP = dO V^T * keep;  dscore = P * (dP - delta)
 * delta = the sum over keys of P dP = the row's dO O (Dao et al. 2022, appendix B), so it needs no pass over keys.
 * */
static void backward_scores(real *scores, real *dscores, const real *log_sums, const real *deltas, size_t first,
                            size_t rows, const struct dropout *dropout, const struct attention_head *h,
                            const struct key_range *range)
{
    for (size_t i = 0; i < rows; i++) {
        real *score = scores + i * range->wide, *dscore = dscores + i * range->wide;
        const struct key_range seen = seen_keys(h, range, first + i);
        const real log_sum = log_sums[i], delta = deltas[i];
        real keep[KEEP_COLUMNS];
        for (size_t j = 0; j < KEEP_COLUMNS && !dropout->threshold; j++)
            keep[j] = 1;
        for (size_t from = 0; from < range->count; from += KEEP_COLUMNS) {
            const size_t count = smaller(KEEP_COLUMNS, range->count - from);
            if (dropout->threshold)
                keep_columns(keep, dropout, h->name, h->number, (uint32_t)h->positions[first + i],
                             (int32_t)(range->from + from), (int32_t)count);
#pragma omp simd
            for (size_t j = 0; j < count; j++) {
                const real p = exponential(score[from + j] * h->scale - log_sum);
                dscore[from + j] = p * (dscore[from + j] * keep[j] - delta);
                score[from + j] = p * keep[j];
            }
        }
        clear_unseen(score, &seen);
        clear_unseen(dscore, &seen);
    }
    const size_t whole = units_of(rows) * PER_UNIT;
    memset(scores + rows * range->wide, 0, (whole - rows) * range->wide * sizeof *scores);
    memset(dscores + rows * range->wide, 0, (whole - rows) * range->wide * sizeof *dscores);
#if DOT
    for (size_t i = 0; i < whole; i += 2)
        round_pair(scores + i * range->wide, dscores + i * range->wide, range->wide);
#endif
}

/* The columns of a block's probabilities, or of their gradients, as rows of A. */
static struct strips scores_across(const struct key_range *range, unit *across, const real *scores, size_t units)
{
    return strips_of_columns(across, (const unit *)scores, PER_UNIT * range->wide, units, range->count);
}

/* The memory of a task. */
struct backward_work {
    real *dkeys, *dvalues;             /* [length, wide_size] */
    real *dqueries;                    /* [QUERIES, wide_size] */
    real *scores, *dscores;            /* [QUERIES, wide_length] */
    unit *keys;                        /* [length, wide_size] */
    unit *keys_across, *values_across; /* [size, wide_length] */
    unit *queries, *dresult;           /* [QUERIES, size] */
    unit *panels;                      /* [QUERIES, wide_size]: rows of dcontext, then of q */
    unit *across;                      /* for tiles [wide_length, QUERIES]: columns of a block's scores */
};

static struct backward_work backward_work(const struct attention_head *h, real *memory)
{
    const size_t matrix = h->length * h->wide_size, block = QUERIES * h->wide_length;
    struct backward_work w = {.dkeys = memory};
    w.dvalues = w.dkeys + matrix;
    w.dqueries = w.dvalues + matrix;
    w.scores = w.dqueries + QUERIES * h->wide_size;
    w.dscores = w.scores + block;
    w.keys = (unit *)(w.dscores + block);
    w.keys_across = w.keys + h->length_units * h->wide_size;
    w.values_across = w.keys_across + h->size_units * h->wide_length;
    w.queries = w.values_across + h->size_units * h->wide_length;
    w.dresult = w.queries + QUERIES * h->size_units;
    w.panels = w.dresult + QUERIES * h->size_units;
    w.across = w.panels + QUERIES * h->wide_size;
    return w;
}

/* Adds what the block of queries from `first` on gives to dkeys and dvalues, and stores its dq. */
static void backward_block(const struct attention_backward_args *a, const struct attention_head *h,
                           const struct backward_work *w, size_t first)
{
    const size_t stride = (size_t)a->q_stride, q_at = part_of(h, h->first_query, stride) + first * stride;
    const size_t context_at = part_of(h, h->first_query, h->hidden) + first * h->hidden;
    const size_t rows = smaller(QUERIES, h->queries - first);
    const struct key_range range = key_range(h, first, rows);
    const bool adds = first > 0 || a->shape->window > 0;
    const storage *q = (const storage *)a->q + q_at, *context = (const storage *)a->context + context_at;
    const storage *dcontext = (const storage *)a->dcontext + context_at;
    const real *log_sums =
        (const real *)a->log_sums + h->head * (size_t)a->queries->token_rows + h->first_query + first;
    real deltas[QUERIES];
    pack_rows(w->queries, q, stride, rows, h->size);
    pack_rows(w->dresult, dcontext, h->hidden, rows, h->size);
    /* delta = the row's dO O, which is the sum of P dP that the softmax's gradient subtracts. */
    for (size_t i = 0; i < rows; i++) {
        const storage *d = dcontext + i * h->hidden, *c = context + i * h->hidden;
        real delta[LANES] = {0};
        EACH_LANE(j, lane, h->size, delta[lane] += LOAD(d[j]) * LOAD(c[j]));
        deltas[i] = sum_lanes(delta);
    }
    /* Q K^T and dO V^T, from which P and the gradient of the scores are made again. */
    small_product(w->scores, range.wide, strips_of_rows(w->queries, h->size_units),
                  range_columns(h, w->keys_across, &range), rows, range.wide, h->size_units, false);
    small_product(w->dscores, range.wide, strips_of_rows(w->dresult, h->size_units),
                  range_columns(h, w->values_across, &range), rows, range.wide, h->size_units, false);
    backward_scores(w->scores, w->dscores, log_sums, deltas, first, rows, &a->shape->dropout, h, &range);
    /* dV += P^T dO;  dK += dS^T Q;  dQ = dS K. The first two are sums over blocks of queries. */
    const struct panels panels = {w->panels, units_of(rows)};
    const real *across = DOT ? w->scores + range.wide : w->dscores; /* the gradients in units of several rows */
    const size_t at = range.from * h->wide_size;
    pack_panels(w->panels, PANEL, dcontext, h->hidden, 1, rows, h->size);
    small_product(w->dvalues + at, h->wide_size, scores_across(&range, w->across, w->scores, panels.row), panels,
                  range.count, h->wide_size, panels.row, adds);
    pack_panels(w->panels, PANEL, q, stride, 1, rows, h->size);
    small_product(w->dkeys + at, h->wide_size, scores_across(&range, w->across, across, panels.row), panels,
                  range.count, h->wide_size, panels.row, adds);
    small_product(w->dqueries, h->wide_size, strips_of_rows((unit *)w->dscores, range.wide),
                  range_rows(h, w->keys, &range), rows, h->wide_size, units_of(range.count), false);
    store_rows((storage *)a->dq + q_at, stride, w->dqueries, rows, h->size, h->wide_size, h->scale);
}

static void attention_backward_head(const void *args, size_t task, int thread)
{
    const struct attention_backward_args *a = args;
    const struct attention_head h = head_of(a->batch, a->queries, a->shape, task);
    const struct backward_work w = backward_work(&h, thread_scratch(a->scratch, a->shape, thread));
    const size_t stride = (size_t)a->kv_stride, kv_at = part_of(&h, h.first, stride);
    const storage *k = (const storage *)a->kv + kv_at;
    storage *dk = (storage *)a->dkv + kv_at;
    if (h.queries == 0 || a->shape->window > 0) /* what no block writes, or all add to */
        memset(w.dkeys, 0, 2 * h.length * h.wide_size * sizeof *w.dkeys);
    tiles_open();
    pack_panels(w.keys, PANEL, k, stride, 1, h.length, h.size);
    pack_panels(w.keys_across, PANEL, k, 1, stride, h.size, h.length);
    pack_panels(w.values_across, PANEL, k + h.hidden, 1, stride, h.size, h.length);
    for (size_t first = 0; first < h.queries; first += QUERIES)
        backward_block(a, &h, &w, first);
    tiles_close();
    store_rows(dk, stride, w.dkeys, h.length, h.size, h.wide_size, h.scale);
    store_rows(dk + h.hidden, stride, w.dvalues, h.length, h.size, h.wide_size, 1);
}

static void attention_backward(struct device *device, const struct attention_backward_args *args)
{
    const size_t heads = (size_t)args->shape->heads, hidden = heads * (size_t)args->shape->head_size;
    assert(parallel_threads() <= device->threads);
    parallel((size_t)args->batch->sequences * heads, attention_backward_head, args);
    clear_dead(args->dq, (size_t)args->q_stride, hidden, args->queries);
    clear_dead(args->dkv, (size_t)args->kv_stride, 2 * hidden, args->batch);
}
