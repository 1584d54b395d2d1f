/* A backward pass makes gradients final from the end of flat memory down, except for rows of words, which may come
 * early. The sums of a range start as soon as it is final, and are waited for after the pass. */
#include "trainer/parallel/gradient_sum.h"

#include <assert.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "base/progress.h"
#include "trainer/backend/copies.h"
#include "trainer/parallel/wire_bf16.h"
#include "trainer/parallel/word_rows.h"

struct gradient_sum {
    struct gradient_sum_options options;
    struct buckets buckets;
    struct range {
        size_t from, to;
    } * ranges;         /* [range_count] elements summed in this step, in order; with slices the buckets */
    size_t range_count; /* the number of buckets, or one more if rows were moved */
    struct gradient_listener listener;
    uint64_t *numbers;          /* [range_count] of operations */
    struct bucket_times *times; /* the same */
    uint64_t number;            /* of the step */
    size_t started;             /* ranges of this step whose sums were started */
    double waited;              /* seconds waited in passes of this step */
    double unit;                /* of fixed_add in this step */

    int64_t *fixed;   /* [params->size] in the device's memory, with same_bits */
    int64_t *refused; /* [1] in the device's memory, with same_bits */

    uint16_t *rounded; /* [params->size] in host memory, with wire COMM_BF16 */

    struct word_rows *words; /* NULL: the table is summed with the other embeddings */
    uint64_t words_number;   /* of the operation that exchanges marks */
    bool words_asked;        /* it was started in this step */
    size_t words_to;         /* elements [0, words_to) are rows that were final early */
    uint64_t wire_bytes;
};

static size_t fixed_bytes(const struct params *params)
{
    return params->size * sizeof(int64_t);
}

uint64_t gradient_sum_bytes(const struct params *params, bool same_bits)
{
    return same_bits ? fixed_bytes(params) + sizeof(int64_t) : 0;
}

static enum comm_type carried(const struct gradient_sum *sum)
{
    return sum->options.same_bits ? COMM_INT64 : sum->options.wire;
}

static void final(void *context, size_t from, size_t to);
static const struct batch *words_final(void *context, const struct batch *batch);

struct gradient_sum *gradient_sum_open(const struct gradient_sum_options *options)
{
    struct gradient_sum *sum = mem_clear(1, sizeof *sum);
    sum->options = *options;
    const uint32_t size = comm_size(options->comm);
    buckets_init(&sum->buckets, options->params, options->bucket, false);
    sum->ranges = mem_array(sum->buckets.count + 1, sizeof *sum->ranges);
    sum->numbers = mem_array(sum->buckets.count + 1, sizeof *sum->numbers);
    sum->times = mem_clear(sum->buckets.count + 1, sizeof *sum->times);
    assert(sum->buckets.count + 4 < COMM_QUEUE);
    assert(!options->partition || options->partition->buckets.count == sum->buckets.count); /* range i is bucket i */
    if (size > 1 && options->on_hosts && options->overlap && !options->same_bits && !options->partition)
        sum->words = word_rows_open(options->params, options->gradients, comm_rank(options->comm), size);
    sum->listener =
        (struct gradient_listener){.final = final, .words = sum->words ? words_final : NULL, .context = sum};
    if (options->same_bits) {
        sum->fixed = options->ops->allocate(options->ops->device, fixed_bytes(options->params));
        sum->refused = options->ops->allocate(options->ops->device, sizeof *sum->refused);
    }
    if (carried(sum) == COMM_BF16)
        sum->rounded = mem_aligned(options->params->size * sizeof *sum->rounded);
    return sum;
}

void gradient_sum_close(struct gradient_sum *sum)
{
    if (!sum)
        return;
    const struct ops *ops = sum->options.ops;
    ops->release(ops->device, sum->fixed);
    ops->release(ops->device, sum->refused);
    mem_free(sum->numbers);
    mem_free(sum->times);
    mem_free(sum->rounded);
    mem_free(sum->ranges);
    word_rows_close(sum->words);
    buckets_release(&sum->buckets);
    mem_free(sum);
}

static void add_range(struct gradient_sum *sum, size_t from, size_t to)
{
    assert(from < to && to <= sum->options.params->size);
    assert(sum->range_count <= sum->buckets.count); /* one more than buckets has room */
    sum->ranges[sum->range_count++] = (struct range){from, to};
}

/* Adds the buckets in [from, to). */
static void add_ranges(struct gradient_sum *sum, size_t from, size_t to)
{
    for (size_t i = 0; i < sum->buckets.count; i++)
        if (sum->buckets.items[i].from >= from && sum->buckets.items[i].to <= to)
            add_range(sum, sum->buckets.items[i].from, sum->buckets.items[i].to);
}

/* Adds [from, to), whose ends need not be those of buckets, cut to the maximum size. */
static void cut_ranges(struct gradient_sum *sum, size_t from, size_t to)
{
    const size_t most = BUCKET_BYTES_MAX / sizeof(float);
    for (; to > from; to -= smaller(most, to - from))
        add_range(sum, to - smaller(most, to - from), to);
}

static size_t covered(const struct gradient_sum *sum)
{
    size_t elements = 0;
    for (size_t i = 0; i < sum->range_count; i++)
        elements += sum->ranges[i].to - sum->ranges[i].from;
    return elements;
}

/* Sets the ranges of this step. Elements [0, words), rows of words that are final early, come after the heads, the
 * other rows with the embeddings. */
static void set_ranges(struct gradient_sum *sum, size_t words)
{
    const struct params *params = sum->options.params;
    const size_t heads = params_heads(params)->offset, layers = params_layer(params, 0, 0)->offset;
    sum->range_count = 0;
    sum->words_to = words;
    add_ranges(sum, heads, params->size);
    cut_ranges(sum, 0, words);
    add_ranges(sum, layers, heads);
    if (words > 0)
        cut_ranges(sum, words, layers);
    else
        add_ranges(sum, 0, layers);
    assert(covered(sum) == params->size);
}

void gradient_sum_begin(struct gradient_sum *sum, uint64_t number, double loss_scale)
{
    const struct gradient_sum_options *options = &sum->options;
    sum->number = number;
    sum->started = 0;
    sum->words_asked = false;
    set_ranges(sum, 0); /* until the marked rows are known */
    sum->waited = 0;
    sum->unit = ldexp(1, FIXED_BITS) / loss_scale;
    sum->wire_bytes = 0;
    if (options->same_bits)
        CALL(options->ops, clear, .memory = sum->refused, .bytes = sizeof *sum->refused);
}

static void add_fixed(struct gradient_sum *sum, size_t from, size_t to)
{
    const struct ops *ops = sum->options.ops;
    CALL(ops, fixed_add, .sums = sum->fixed + from, .gradients = (float *)sum->options.gradients + from,
         .count = to - from, .unit = sum->unit, .limit = FIXED_LIMIT / (double)sum->options.parts,
         .refused = sum->refused);
}

static uint64_t start(struct gradient_sum *sum, const struct comm_work *work)
{
    struct comm *comm = sum->options.comm;
    sum->wire_bytes += comm_wire_bytes(work, comm_rank(comm), comm_size(comm));
    return comm_start(comm, *work);
}

int64_t fixed_refused(const struct ops *ops, int64_t *refused)
{
    int64_t count;
    ops_read(ops, refused, &count, sizeof count);
    return count;
}

/* Whether sums are made on a copy in host memory after the last pass: the device has its own memory, and either comm
 * cannot sum there, as with slices, or the host has to round. */
static bool is_staged(const struct gradient_sum *sum)
{
    const struct gradient_sum_options *options = &sum->options;
    return options->ops->memory > 0 &&
           (carried(sum) == COMM_BF16 || options->partition || !comm_takes_device(options->comm));
}

/* The part of range `i` whose sums this process gets: all of it, or with slices, where ranges are buckets, its
 * slice. */
static struct range own_range(const struct gradient_sum *sum, size_t i)
{
    const struct partition *partition = sum->options.partition;
    if (!partition)
        return sum->ranges[i];
    const struct slice *slice = partition_slice(partition, i, comm_rank(sum->options.comm));
    assert(sum->ranges[i].from <= slice->from && slice->to <= sum->ranges[i].to);
    return (struct range){slice->from, slice->to};
}

/* Starts the sum of the next range. `memory` holds floats or integers where comm, or the host if it rounds, has access
 * to them. */
static void start_range(struct gradient_sum *sum, void *memory)
{
    assert(sum->started < sum->range_count);
    const struct range *range = &sum->ranges[sum->started];
    const struct ops *ops = sum->options.ops;
    const enum comm_type type = carried(sum);
    const bool on_device = ops->memory > 0 && !is_staged(sum);
    if (type == COMM_BF16)
        wire_bf16_round((float *)memory + range->from, sum->rounded + range->from, range->to - range->from);
    char *array = type == COMM_BF16 ? (void *)sum->rounded : memory;
    struct comm_work work = {
        .operation = COMM_SUM,
        .type = type,
        .on_device = on_device,
        .ready = on_device ? ops->mark(ops->device, sum->started) : NULL,
        .out = array + range->from * comm_type_bytes(type),
        .count = range->to - range->from,
    };
    if (sum->options.partition)
        work = (struct comm_work){
            .operation = COMM_REDUCE_SCATTER,
            .type = type,
            .in = array + range->from * comm_type_bytes(type),
            .in_counts = sum->options.partition->counts + sum->started * sum->options.partition->size,
            .out = array + own_range(sum, sum->started).from * comm_type_bytes(type),
        };
    sum->numbers[sum->started++] = start(sum, &work);
}

static void *summed(const struct gradient_sum *sum)
{
    return sum->options.same_bits ? (void *)sum->fixed : sum->options.gradients;
}

/* The listener: starts the sums of all ranges that are now final, so that they travel while the layers below are
 * computed (Li et al. 2020 describe this for PyTorch).
 * Every process starts the same ranges in the same order, because they depend only on the table of parameters and on
 * the rows that any process has marked. */
static void final(void *context, size_t from, size_t to)
{
    struct gradient_sum *sum = context;
    (void)to;
    while (sum->started < sum->range_count && sum->ranges[sum->started].from >= from) {
        const struct range *range = &sum->ranges[sum->started];
        if (sum->options.same_bits)
            add_fixed(sum, range->from, range->to);
        if (!is_staged(sum))
            start_range(sum, summed(sum));
        else
            sum->started++;
    }
}

static void exchange_words(struct gradient_sum *sum, const struct batch *batch)
{
    const struct comm_work work = word_rows_tell(sum->words, batch);
    sum->words_number = start(sum, &work);
    sum->words_asked = true;
}

/* Waits for the marks of all processes and moves the rows. A failure is reported when the sums are waited for. */
static void move_words(struct gradient_sum *sum)
{
    struct error err;
    const double from = clock_now();
    const int result = comm_wait(sum->options.comm, sum->words_number, &err);
    sum->waited += clock_now() - from;
    if (result == 0)
        set_ranges(sum, word_rows_move(sum->words));
}

/* The listener for rows of words: starts the sums of those that are final. */
static const struct batch *words_final(void *context, const struct batch *batch)
{
    struct gradient_sum *sum = context;
    move_words(sum);
    while (sum->started < sum->range_count && sum->ranges[sum->started].to <= sum->words_to)
        start_range(sum, summed(sum));
    return word_rows_batch(sum->words, batch);
}

const struct gradient_listener *gradient_sum_listener(struct gradient_sum *sum, const struct batch *batch, bool last)
{
    if (!last)
        return NULL;
    if (sum->words)
        exchange_words(sum, batch);
    return sum->options.overlap ? &sum->listener : NULL;
}

void gradient_sum_pass(struct gradient_sum *sum)
{
    if (sum->options.same_bits && sum->started == 0)
        add_fixed(sum, 0, sum->options.params->size);
}

static void time_bucket(struct gradient_sum *sum, size_t i)
{
    const struct comm_times times = comm_timed(sum->options.comm, sum->numbers[i]);
    const struct range *range = &sum->ranges[i];
    sum->times[i].bytes = (range->to - range->from) * comm_type_bytes(carried(sum));
    sum->times[i].sums++;
    sum->times[i].taken += times.taken;
    sum->times[i].waited += times.waited;
}

static int add_buckets(struct gradient_sum *sum, struct error *err)
{
    const struct ops *ops = sum->options.ops;
    const size_t bytes = sum->options.params->size * comm_type_bytes(sum->options.same_bits ? COMM_INT64 : COMM_FLOAT);
    const bool staged = is_staged(sum);
    void *memory = staged ? ops->map(ops->device, summed(sum), bytes, MAP_CHANGE) : summed(sum);
    int result = 0;
    if (staged)
        sum->started = 0;
    if (sum->words && !sum->words_asked) { /* the share is empty: there was no last pass */
        exchange_words(sum, NULL);
        move_words(sum);
    }
    /* What the pass has not started: everything without overlap, with a share that is empty, and where sums are made on
     * a copy in host memory, which exists from here on only. */
    while (sum->started < sum->range_count)
        start_range(sum, memory);
    for (size_t i = 0; result == 0 && i < sum->range_count; i++) {
        rendezvous_progress(sum->options.rendezvous, sum->number, "bucket %zu", i);
        result = comm_wait(sum->options.comm, sum->numbers[i], err);
        if (result == 0)
            time_bucket(sum, i);
        const struct range own = own_range(sum, i);
        if (result == 0 && carried(sum) == COMM_BF16)
            wire_bf16_widen(sum->rounded + own.from, (float *)memory + own.from, own.to - own.from);
    }
    if (sum->words)
        word_rows_back(sum->words);
    if (staged)
        ops->unmap(ops->device, summed(sum), memory, bytes, MAP_CHANGE);
    return result;
}

static void clear_fixed(const struct gradient_sum *sum, size_t from, size_t to)
{
    if (to > from)
        CALL(sum->options.ops, clear, .memory = sum->fixed + from, .bytes = (to - from) * sizeof *sum->fixed);
}

/* Converts the integer sums that this process gets to gradients, which clears them, and clears the others: the next
 * step adds to zeros. */
static void take_fixed(const struct gradient_sum *sum)
{
    const struct gradient_sum_options *options = &sum->options;
    for (size_t i = 0; i < sum->range_count; i++) {
        const struct range all = sum->ranges[i], own = own_range(sum, i);
        if (own.to > own.from)
            CALL(options->ops, fixed_take, .gradients = (float *)options->gradients + own.from,
                 .sums = sum->fixed + own.from, .count = own.to - own.from, .unit = sum->unit);
        clear_fixed(sum, all.from, own.from);
        clear_fixed(sum, own.to, all.to);
    }
}

int gradient_sum_finish(struct gradient_sum *sum, int64_t *refused, struct error *err)
{
    *refused = 0;
    TRY(add_buckets(sum, err));
    if (sum->options.same_bits) {
        take_fixed(sum);
        *refused = fixed_refused(sum->options.ops, sum->refused);
    }
    return 0;
}

struct sum_record gradient_sum_record(const struct gradient_sum *sum)
{
    return (struct sum_record){sum->waited, sum->wire_bytes, sum->times, sum->range_count};
}
