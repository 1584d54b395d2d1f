#include "trainer/parallel/zero2.h"

#include <assert.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "base/progress.h"
#include "trainer/backend/bf16.h"
#include "trainer/parallel/zero2_groups.h"
#include "trainer/parallel/wire_bf16.h"
#include "trainer/parallel/word_rows.h"

#define ADD_BLOCK 65536 /* numbers of one task */
#define SLOTS_MAX 3     /* maximum of slots that the groups share */

struct zero2 {
    struct gradient_sum_options options;
    struct gradient_listener listener;
    uint32_t rank;

    struct gradient_groups groups;
    size_t closed; /* groups that are final in this round */
    struct gradient_group *holders[SLOTS_MAX];
    size_t hidden; /* numbers in a row of the word table */

    struct word_rows *words; /* NULL without blocks */
    float *aside;            /* [rows, hidden] gradients of the rows that the pass's input names */
    bool words_known;        /* the exchange of this round's rows is done */
    uint64_t words_number;

    float *window;     /* in the device's memory: the embeddings' slot, then the others */
    int64_t *fixed;    /* the same, with same_bits */
    uint16_t *rounded; /* the same in host memory, with wire COMM_BF16 */
    float *sums;       /* [held] in the device's memory: own slices, packed */
    int64_t *fixed_sums, *refused;

    const struct gradient_observer *observer;
    bool alone;   /* the gradients of this pass are not summed */
    int64_t more; /* > 0: some process has a pass after this round */
    uint64_t more_number;
    bool in_round;
    uint64_t number; /* of the step */
    double unit, waited;
    uint64_t wire_bytes;
    struct bucket_times *times; /* [range_count] */
    struct error failure;       /* the first one; kind ERR_NONE if there is none */
};

static size_t aside_size(const struct params *params, size_t tokens)
{
    return smaller(tokens * (size_t)params_embedding(params, PARAM_WORD)->shape[1], word_table_end(params));
}

uint64_t zero2_bytes(const struct params *params, const struct partition *partition, uint32_t rank, bool same_bits,
                     bool overlap, size_t tokens)
{
    const uint64_t elements = zero2_groups_window(params, partition, overlap, tokens > 0) + partition->held[rank];
    return elements * (sizeof(float) + (same_bits ? sizeof(int64_t) : 0)) + aside_size(params, tokens) * sizeof(float);
}

static bool next_block(void *context, struct word_block *block);
static const struct batch *words(void *context, const struct batch *batch);
static void *place(void *context, size_t element);
static void final(void *context, size_t from, size_t to);

static void open_words(struct zero2 *zero2)
{
    const struct gradient_sum_options *options = &zero2->options;
    const size_t aside = aside_size(options->params, options->tokens);
    zero2->words = word_rows_open(options->params, NULL, zero2->rank, comm_size(options->comm));
    zero2->aside = mem_aligned(aside * sizeof *zero2->aside);
    zero2->listener.block = next_block;
    zero2->listener.words = words;
}

struct zero2 *zero2_open(const struct gradient_sum_options *options)
{
    struct zero2 *zero2 = mem_clear(1, sizeof *zero2);
    const struct ops *ops = options->ops;
    /* The decoder computes blocks of the word table only where it is its weights. */
    const bool blocks = options->on_hosts && options->tokens > 0 && !options->params->untied;
    zero2->options = *options;
    zero2->rank = comm_rank(options->comm);
    zero2->listener = (struct gradient_listener){.final = final, .context = zero2, .place = place};
    if (blocks)
        open_words(zero2);
    zero2_groups_init(&zero2->groups, options->params, options->partition, options->overlap, blocks);
    assert(zero2->groups.slots <= SLOTS_MAX);
    zero2->hidden = zero2->groups.hidden;
    const size_t window = zero2_groups_window(options->params, options->partition, options->overlap, blocks);
    const size_t held = options->partition->held[zero2->rank];
    zero2->window = ops->allocate(ops->device, window * sizeof *zero2->window);
    zero2->sums = ops->allocate(ops->device, held * sizeof *zero2->sums);
    if (options->same_bits) {
        zero2->fixed = ops->allocate(ops->device, window * sizeof *zero2->fixed);
        zero2->fixed_sums = ops->allocate(ops->device, held * sizeof *zero2->fixed_sums);
        zero2->refused = ops->allocate(ops->device, sizeof *zero2->refused);
    } else if (options->wire == COMM_BF16) {
        zero2->rounded = mem_aligned(window * sizeof *zero2->rounded);
    }
    zero2->times = mem_clear(zero2->groups.range_count, sizeof *zero2->times);
    return zero2;
}

void zero2_close(struct zero2 *zero2)
{
    if (!zero2)
        return;
    const struct ops *ops = zero2->options.ops;
    ops->release(ops->device, zero2->window);
    ops->release(ops->device, zero2->sums);
    ops->release(ops->device, zero2->fixed);
    ops->release(ops->device, zero2->fixed_sums);
    ops->release(ops->device, zero2->refused);
    word_rows_close(zero2->words);
    mem_free(zero2->aside);
    mem_free(zero2->rounded);
    zero2_groups_free(&zero2->groups);
    mem_free(zero2->times);
    mem_free(zero2);
}

static enum comm_type carried(const struct zero2 *zero2)
{
    return zero2->options.same_bits ? COMM_INT64 : zero2->options.wire;
}

/* Sums of `count` elements that were received, in the type in which they were sent, to be added to those that are
 * held. */
struct addition {
    enum comm_type type;
    void *sums;
    const void *came;
    size_t count;
};

static void add_block(const void *context, size_t task, int thread)
{
    const struct addition *a = context;
    const size_t first = task * ADD_BLOCK, end = smaller(first + ADD_BLOCK, a->count);
    float *sums = a->sums;
    int64_t *fixed = a->sums;
    (void)thread;
    if (a->type == COMM_INT64)
        for (size_t i = first; i < end; i++)
            fixed[i] += ((const int64_t *)a->came)[i];
    else if (a->type == COMM_BF16)
        for (size_t i = first; i < end; i++)
            sums[i] += bf16_to_float(((const uint16_t *)a->came)[i]);
    else
        for (size_t i = first; i < end; i++)
            sums[i] += ((const float *)a->came)[i];
}

/* The values of a group that are summed, floats or integers, before they are rounded. */
static void *summed(const struct zero2 *zero2, const struct gradient_group *group)
{
    return zero2->options.same_bits ? (void *)(zero2->fixed + group->place) : zero2->window + group->place;
}

static size_t summed_bytes(const struct zero2 *zero2, const struct gradient_group *group)
{
    return group->count * (zero2->options.same_bits ? sizeof *zero2->fixed : sizeof *zero2->window);
}

/* Waits for an operation, unless one has already failed. */
static bool await(struct zero2 *zero2, uint64_t number)
{
    if (zero2->failure.kind != ERR_NONE)
        return false;
    const double from = clock_now();
    const int result = comm_wait(zero2->options.comm, number, &zero2->failure);
    zero2->waited += clock_now() - from;
    return result == 0;
}

/* Adds the sums of own elements [from, from + count) of a bucket, which have come, to those of earlier passes. */
static void add_run(struct zero2 *zero2, size_t bucket, size_t from, const void *came, size_t count)
{
    const struct ops *ops = zero2->options.ops;
    const struct slice *slice = partition_slice(zero2->options.partition, bucket, zero2->rank);
    assert(from >= slice->from && from + count <= slice->to);
    const size_t each = zero2->options.same_bits ? sizeof(int64_t) : sizeof(float);
    char *all = zero2->options.same_bits ? (char *)zero2->fixed_sums : (char *)zero2->sums;
    void *memory = all + (slice->place + (from - slice->held_from)) * each;
    void *sums = ops->map(ops->device, memory, count * each, MAP_CHANGE);
    parallel(blocks_of(count, ADD_BLOCK), add_block, &(struct addition){carried(zero2), sums, came, count});
    ops->unmap(ops->device, memory, sums, count * each, MAP_CHANGE);
}

/* `came`: this process's elements of the range, in order. */
static void add_range(struct zero2 *zero2, const struct gradient_group *group, const struct gradient_range *range,
                      const char *came)
{
    const struct slice *slice = partition_slice(zero2->options.partition, range->bucket, zero2->rank);
    const char *const end = came + range->counts[zero2->rank] * comm_type_bytes(carried(zero2));
    for (size_t i = 0; range->counts[zero2->rank] > 0 && i < group_spans(&zero2->groups, group); i++) {
        struct gradient_span span = group_span(&zero2->groups, group, i);
        span.from = span.from > range->from ? span.from : range->from;
        const size_t count =
            slice_overlap(zero2->options.partition, range->bucket, zero2->rank, span.from, smaller(span.to, range->to));
        if (count == 0)
            continue;
        add_run(zero2, range->bucket, span.from > slice->from ? span.from : slice->from, came, count);
        came += count * comm_type_bytes(carried(zero2));
    }
    assert(came == end);
}

static void time_range(struct zero2 *zero2, const struct gradient_range *range)
{
    const struct comm_times times = comm_timed(zero2->options.comm, range->number);
    struct bucket_times *all = &zero2->times[range - zero2->groups.ranges];
    all->bytes = range_elements(range, zero2->options.partition->size) * comm_type_bytes(carried(zero2));
    all->sums++;
    all->taken += times.taken;
    all->waited += times.waited;
}

/* Waits for the sums of a group and adds those of the own slices; its slot is then free. */
static void settle(struct zero2 *zero2, struct gradient_group *group)
{
    const struct ops *ops = zero2->options.ops;
    const size_t each = comm_type_bytes(carried(zero2));
    assert(group->state == GROUP_SUMS);
    for (const struct gradient_range *range = group->ranges; range < group->ranges_end; range++) {
        rendezvous_progress(zero2->options.rendezvous, zero2->number, "bucket %zu", range->bucket);
        if (!await(zero2, range->number))
            continue;
        time_range(zero2, range);
        add_range(zero2, group, range, (char *)group->host + (range->at + range_elements(range, zero2->rank)) * each);
    }
    if (!zero2->rounded && zero2->failure.kind == ERR_NONE) /* after a failure it may still be in use */
        ops->unmap(ops->device, summed(zero2, group), group->host, summed_bytes(zero2, group), MAP_READ);
    group->state = GROUP_AWAY;
}

/* Finds a slot for a group other than the embeddings: a free one, else the one whose sums were started first, because
 * operations end in the order in which they were started (comm.h): it is the shortest wait. */
static size_t find_slot(struct zero2 *zero2)
{
    size_t oldest = zero2->groups.slots;
    for (size_t s = 0; s < zero2->groups.slots; s++) {
        const struct gradient_group *holder = zero2->holders[s];
        if (!holder || holder->state == GROUP_AWAY)
            return s;
        if (holder->state == GROUP_SUMS &&
            (oldest == zero2->groups.slots || holder->ranges->number < zero2->holders[oldest]->ranges->number))
            oldest = s;
    }
    assert(oldest < zero2->groups.slots);
    settle(zero2, zero2->holders[oldest]);
    return oldest;
}

static void open_group(struct zero2 *zero2, struct gradient_group *group)
{
    const struct ops *ops = zero2->options.ops;
    if (group->state == GROUP_SUMS) /* from the previous round */
        settle(zero2, group);
    assert(group->state == GROUP_AWAY);
    group->place = 0; /* of the embeddings: they have the first slot for themselves */
    if (group->kind != GROUP_WHOLE || group->to > params_layer(zero2->options.params, 0, 0)->offset) {
        assert(group->count <= zero2->groups.slot_size);
        const size_t slot = find_slot(zero2);
        zero2->holders[slot] = group;
        group->place = zero2_groups_slot(&zero2->groups, slot);
    }
    CALL(ops, clear, .memory = zero2->window + group->place, .bytes = group->count * sizeof *zero2->window);
    if (zero2->options.same_bits)
        CALL(ops, clear, .memory = zero2->fixed + group->place, .bytes = group->count * sizeof *zero2->fixed);
    group->state = GROUP_OPEN;
}

static void start(struct zero2 *zero2, const struct comm_work *work, uint64_t *number)
{
    struct comm *comm = zero2->options.comm;
    if (zero2->failure.kind != ERR_NONE)
        return;
    zero2->wire_bytes += comm_wire_bytes(work, zero2->rank, comm_size(comm));
    *number = comm_start(comm, *work);
}

static void start_range(struct zero2 *zero2, const struct gradient_group *group, struct gradient_range *range)
{
    const size_t each = comm_type_bytes(carried(zero2));
    char *in = (char *)group->host + range->at * each;
    const struct comm_work work = {
        .operation = COMM_REDUCE_SCATTER,
        .type = carried(zero2),
        .in = in,
        .in_counts = range->counts,
        .out = in + range_elements(range, zero2->rank) * each,
    };
    start(zero2, &work, &range->number);
}

/* The group's gradients of this pass are complete: starts to sum them to their holders. The window keeps them until
 * the sums have come, so the pass writes its next group into another slot. */
static void close_group(struct zero2 *zero2, struct gradient_group *group)
{
    const struct gradient_sum_options *options = &zero2->options;
    const struct ops *ops = options->ops;
    if (group->state != GROUP_OPEN) /* not written: a dropped layer, a head without labels, or a round of zeros */
        open_group(zero2, group);
    const size_t bytes = summed_bytes(zero2, group);
    if (options->same_bits)
        CALL(ops, fixed_add, .sums = zero2->fixed + group->place, .gradients = zero2->window + group->place,
             .count = group->count, .unit = zero2->unit, .limit = FIXED_LIMIT / (double)options->parts,
             .refused = zero2->refused);
    /* Sums go into the mapped copy only, so the device's memory need not get them back. */
    group->host = ops->map(ops->device, summed(zero2, group), bytes, MAP_READ);
    if (zero2->rounded) {
        uint16_t *rounded = zero2->rounded + group->place;
        wire_bf16_round(group->host, rounded, group->count);
        ops->unmap(ops->device, summed(zero2, group), group->host, bytes, MAP_READ);
        group->host = rounded;
    }
    group->state = GROUP_SUMS;
    for (struct gradient_range *range = group->ranges; range < group->ranges_end; range++)
        start_range(zero2, group, range);
    if (!options->overlap)
        settle(zero2, group);
}

/* Shows rows [from, to) of the word table, chunk by chunk, because rows and chunks end at different places. */
static void observe_rows(const struct zero2 *zero2, const float *rows, size_t from, size_t to)
{
    const struct params *params = zero2->options.params;
    SCOPED(mem_free_at) float *values = mem_array(PARAM_CHUNK, sizeof *values);
    for (size_t c = 0; c < params->chunk_count && params->chunks[c].offset < to * zero2->hidden; c++) {
        const size_t offset = params->chunks[c].offset, chunk_end = offset + (size_t)params->chunks[c].count;
        const size_t first = offset > from * zero2->hidden ? offset : from * zero2->hidden;
        const size_t end = smaller(chunk_end, to * zero2->hidden);
        if (end <= first)
            continue;
        memset(values, 0, PARAM_CHUNK * sizeof *values);
        memcpy(values + (first - offset), rows + (first - from * zero2->hidden), (end - first) * sizeof *values);
        zero2->observer->group(zero2->observer->context, values, offset, (struct chunk_range){c, c + 1});
    }
}

static void observe(struct zero2 *zero2, struct gradient_group *group)
{
    const float *values = zero2->window + group->place;
    const size_t from = group->from / zero2->hidden, to = group->to / zero2->hidden;
    if (group->kind == GROUP_ROWS) {
        for (size_t row = from; zero2->observer && row < to; row++)
            if (word_rows_packed(zero2->words, row) >= 0)
                observe_rows(zero2, zero2->aside + (size_t)word_rows_packed(zero2->words, row) * zero2->hidden, row,
                             row + 1);
    } else if (group->state == GROUP_OPEN && zero2->observer) {
        if (group->kind == GROUP_BLOCK)
            observe_rows(zero2, values, from, to);
        else
            zero2->observer->group(zero2->observer->context, values, group->from, group->chunks);
    }
    group->state = GROUP_AWAY;
}

/* Moves the rows of a block that the input names from the window, where zeros stay, to `aside`. */
static void set_aside(struct zero2 *zero2, const struct gradient_group *group)
{
    const size_t bytes = zero2->hidden * sizeof(float);
    for (size_t row = group->from / zero2->hidden; row < group->to / zero2->hidden; row++) {
        const int32_t place = word_rows_packed(zero2->words, row);
        float *values = zero2->window + group->place + (row * zero2->hidden - group->from);
        if (place < 0)
            continue;
        memcpy(zero2->aside + (size_t)place * zero2->hidden, values, bytes);
        memset(values, 0, bytes);
    }
}

/* Learns which rows are set aside in any process. */
static void know_words(struct zero2 *zero2)
{
    if (!zero2->words_known)
        await(zero2, zero2->words_number);
    zero2->words_known = true;
}

/* Packs the rows of a block that are set aside in any process: their gradients, or zeros where this process did not. */
static void gather_rows(struct zero2 *zero2, struct gradient_group *group)
{
    size_t count = 0;
    know_words(zero2);
    if (group->state == GROUP_SUMS) /* from the previous round */
        settle(zero2, group);
    for (size_t row = group->from / zero2->hidden; row < group->to / zero2->hidden; row++)
        if (word_rows_marked(zero2->words, row))
            group->rows[count++] = (int32_t)row;
    group->count = count * zero2->hidden;
    open_group(zero2, group);
    for (size_t i = 0; i < count; i++) {
        const int32_t place = word_rows_packed(zero2->words, (size_t)group->rows[i]);
        if (place >= 0)
            memcpy(zero2->window + group->place + i * zero2->hidden, zero2->aside + (size_t)place * zero2->hidden,
                   zero2->hidden * sizeof *zero2->window);
    }
    for (struct gradient_range *range = group->ranges; range < group->ranges_end; range++) {
        range->at = 0;
        memset(range->counts, 0, zero2->options.partition->size * sizeof *range->counts);
        for (size_t i = 0; i < count; i++) {
            const struct gradient_span span = group_span(&zero2->groups, group, i);
            const size_t first = span.from > range->from ? span.from : range->from, end = smaller(span.to, range->to);
            range->at += smaller(span.to, range->from > span.from ? range->from : span.from) - span.from;
            for (uint32_t r = 0; end > first && r < zero2->options.partition->size; r++)
                range->counts[r] += slice_overlap(zero2->options.partition, range->bucket, r, first, end);
        }
    }
}

/* Begins a round of the word table for a pass over `batch`, NULL: of zeros. */
static void begin_words(struct zero2 *zero2, const struct batch *batch)
{
    const struct comm_work work = word_rows_tell(zero2->words, batch);
    const size_t count = word_rows_pack(zero2->words);
    memset(zero2->aside, 0, count * zero2->hidden * sizeof *zero2->aside);
    zero2->words_known = zero2->alone;
    if (!zero2->alone)
        start(zero2, &work, &zero2->words_number);
}

/* The listener: the batch for the embeddings' gradient. */
static const struct batch *words(void *context, const struct batch *batch)
{
    struct zero2 *zero2 = context;
    return word_rows_batch(zero2->words, batch);
}

static void close_next(struct zero2 *zero2)
{
    assert(zero2->closed < zero2->groups.count);
    struct gradient_group *group = &zero2->groups.items[zero2->closed++];
    if (group->kind == GROUP_BLOCK && group->state == GROUP_OPEN)
        set_aside(zero2, group);
    if (zero2->alone) {
        observe(zero2, group);
        return;
    }
    if (group->kind == GROUP_ROWS)
        gather_rows(zero2, group);
    close_group(zero2, group);
}

/* Sums the block that the decoder has computed, and gives it the next one. */
static bool next_block(void *context, struct word_block *block)
{
    struct zero2 *zero2 = context;
    if (zero2->groups.items[zero2->closed].kind == GROUP_BLOCK &&
        zero2->groups.items[zero2->closed].state == GROUP_OPEN)
        close_next(zero2);
    struct gradient_group *group = &zero2->groups.items[zero2->closed];
    if (group->kind != GROUP_BLOCK)
        return false;
    open_group(zero2, group);
    *block = (struct word_block){
        .from = (int32_t)(group->from / zero2->hidden),
        .to = (int32_t)(group->to / zero2->hidden),
        .gradient = zero2->window + group->place,
    };
    return true;
}

/* Returns where the pass writes the gradient of an element. */
static void *place(void *context, size_t element)
{
    struct zero2 *zero2 = context;
    struct gradient_group *group =
        &zero2->groups.items[zero2->closed > zero2->groups.blocks ? zero2->closed : zero2->groups.blocks];
    if (zero2->words && element < word_table_end(zero2->options.params))
        return zero2->aside;
    while (element < group->from)
        group++;
    assert(group < zero2->groups.items + zero2->groups.count && element < group->to);
    if (group->state != GROUP_OPEN)
        open_group(zero2, group);
    return zero2->window + group->place + (element - group->from);
}

/* Sums the groups that are now final; blocks come before all others. */
static void final(void *context, size_t from, size_t to)
{
    struct zero2 *zero2 = context;
    (void)to;
    while (zero2->closed < zero2->groups.count &&
           (zero2->closed < zero2->groups.blocks || zero2->groups.items[zero2->closed].from >= from))
        close_next(zero2);
}

void zero2_begin(struct zero2 *zero2, uint64_t number, double loss_scale)
{
    const struct ops *ops = zero2->options.ops;
    const size_t held = zero2->options.partition->held[zero2->rank];
    zero2->number = number;
    zero2->unit = ldexp(1, FIXED_BITS) / loss_scale;
    zero2->waited = 0;
    zero2->wire_bytes = 0;
    zero2->in_round = false;
    if (zero2->options.same_bits) {
        CALL(ops, clear, .memory = zero2->fixed_sums, .bytes = held * sizeof *zero2->fixed_sums);
        CALL(ops, clear, .memory = zero2->refused, .bytes = sizeof *zero2->refused);
    } else {
        CALL(ops, clear, .memory = zero2->sums, .bytes = held * sizeof *zero2->sums);
    }
}

/* Begins a round for a pass over `batch`, NULL: of zeros. Whether any process has another pass after it is exchanged
 * during the round. */
static void begin_round(struct zero2 *zero2, const struct batch *batch, bool last)
{
    zero2->closed = 0;
    zero2->alone = false;
    zero2->in_round = true;
    zero2->more = !last;
    const struct comm_work work = {.operation = COMM_MAX, .type = COMM_INT64, .out = &zero2->more, .count = 1};
    start(zero2, &work, &zero2->more_number);
    if (zero2->words)
        begin_words(zero2, batch);
}

const struct gradient_listener *zero2_pass(struct zero2 *zero2, const struct batch *batch, bool last)
{
    if (zero2->in_round) {
        assert(zero2->closed == zero2->groups.count); /* the pass before has made every gradient final */
        await(zero2, zero2->more_number);
    }
    begin_round(zero2, batch, last);
    return &zero2->listener;
}

static bool all_away(const struct zero2 *zero2)
{
    bool away = true;
    for (size_t g = 0; g < zero2->groups.count; g++)
        away &= zero2->groups.items[g].state == GROUP_AWAY;
    return away;
}

static void settle_all(struct zero2 *zero2)
{
    for (size_t g = 0; g < zero2->groups.count; g++)
        if (zero2->groups.items[g].state == GROUP_SUMS)
            settle(zero2, &zero2->groups.items[g]);
}

/* Makes a round of zeros: this process has no more passes, but another has. */
static void give_zeros(struct zero2 *zero2)
{
    begin_round(zero2, NULL, true);
    final(zero2, 0, zero2->options.params->size);
}

int zero2_finish(struct zero2 *zero2, int64_t *refused, struct error *err)
{
    const struct gradient_sum_options *options = &zero2->options;
    if (!zero2->in_round) /* the share is empty: there was no pass */
        give_zeros(zero2);
    /* Sums are collective, so a process without passes takes part in the rounds of the others, until a round in which
     * no process has another pass. */
    do {
        settle_all(zero2);
        if (await(zero2, zero2->more_number) && zero2->more > 0)
            give_zeros(zero2);
        else
            zero2->in_round = false;
    } while (zero2->in_round);
    if (zero2->failure.kind != ERR_NONE) {
        *err = zero2->failure;
        return -1;
    }
    assert(all_away(zero2)); /* no slot is in use between steps */
    *refused = 0;
    if (options->same_bits) {
        CALL(options->ops, fixed_take, .gradients = zero2->sums, .sums = zero2->fixed_sums,
             .count = options->partition->held[zero2->rank], .unit = zero2->unit);
        *refused = fixed_refused(options->ops, zero2->refused);
    }
    return 0;
}

const void *zero2_sums(const struct zero2 *zero2)
{
    return zero2->sums;
}

const struct gradient_listener *zero2_alone(struct zero2 *zero2, const struct batch *batch,
                                            const struct gradient_observer *observer)
{
    zero2->closed = 0;
    zero2->alone = true;
    zero2->observer = observer;
    if (zero2->words)
        begin_words(zero2, batch);
    return &zero2->listener;
}

struct sum_record zero2_record(const struct zero2 *zero2)
{
    return (struct sum_record){zero2->waited, zero2->wire_bytes, zero2->times, zero2->groups.range_count};
}
