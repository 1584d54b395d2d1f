/* In: groups of gradients of a pass, from the end of flat memory down. Out: the sums of the own pieces. */
#include "trainer/parallel/gradient_pieces.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "base/progress.h"
#include "trainer/backend/bf16.h"
#include "trainer/parallel/gradient_groups.h"
#include "trainer/parallel/wire_bf16.h"
#include "trainer/parallel/word_rows.h"

#define ADD_BLOCK 65536 /* numbers of one task */
#define SLOTS_MAX 3     /* maximum of slots that the groups share */

struct gradient_pieces {
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
    float *sums;       /* [held] in the device's memory: own pieces, packed */
    int64_t *fixed_sums, *refused;

    const struct gradient_look *look;
    bool alone;   /* the gradients of this pass are not summed */
    int64_t more; /* > 0: some process has a pass after this round */
    uint64_t more_number;
    bool in_round;
    uint64_t number; /* of the step */
    double unit, waited;
    uint64_t wire_bytes;
    struct bucket_times *times; /* [part_count] */
    struct error failure;       /* the first one; kind ERR_NONE if there is none */
};

/* ---- opening ---- */

static size_t aside_size(const struct params *params, size_t tokens)
{
    return smaller(tokens * (size_t)params_embedding(params, PARAM_WORD)->shape[1], word_table_end(params));
}

uint64_t gradient_pieces_bytes(const struct params *params, const struct pieces *pieces, uint32_t rank, bool same_bits,
                               bool overlap, size_t tokens)
{
    const uint64_t elements = gradient_groups_window(params, pieces, overlap, tokens > 0) + pieces->held[rank];
    return elements * (sizeof(float) + (same_bits ? sizeof(int64_t) : 0)) + aside_size(params, tokens) * sizeof(float);
}

static bool next_block(void *context, struct word_block *block);
static const struct batch *words(void *context, const struct batch *batch);
static void *place(void *context, size_t element);
static void final(void *context, size_t from, size_t to);

static void open_words(struct gradient_pieces *own)
{
    const struct gradient_sum_options *options = &own->options;
    const size_t aside = aside_size(options->params, options->tokens);
    own->words = word_rows_open(options->params, NULL, own->rank, comm_size(options->comm));
    own->aside = mem_aligned(aside * sizeof *own->aside);
    own->listener.block = next_block;
    own->listener.words = words;
}

struct gradient_pieces *gradient_pieces_open(const struct gradient_sum_options *options)
{
    struct gradient_pieces *own = mem_clear(1, sizeof *own);
    const struct ops *ops = options->ops;
    const bool blocks = options->on_hosts && options->tokens > 0;
    own->options = *options;
    own->rank = comm_rank(options->comm);
    own->listener = (struct gradient_listener){.final = final, .context = own, .place = place};
    if (blocks)
        open_words(own);
    gradient_groups_init(&own->groups, options->params, options->pieces, options->overlap, blocks);
    assert(own->groups.slots <= SLOTS_MAX);
    own->hidden = own->groups.hidden;
    const size_t window = gradient_groups_window(options->params, options->pieces, options->overlap, blocks);
    const size_t held = options->pieces->held[own->rank];
    own->window = ops->allocate(ops->device, window * sizeof *own->window);
    own->sums = ops->allocate(ops->device, held * sizeof *own->sums);
    if (options->same_bits) {
        own->fixed = ops->allocate(ops->device, window * sizeof *own->fixed);
        own->fixed_sums = ops->allocate(ops->device, held * sizeof *own->fixed_sums);
        own->refused = ops->allocate(ops->device, sizeof *own->refused);
    } else if (options->wire == COMM_BF16) {
        own->rounded = mem_aligned(window * sizeof *own->rounded);
    }
    own->times = mem_clear(own->groups.part_count, sizeof *own->times);
    return own;
}

void gradient_pieces_close(struct gradient_pieces *own)
{
    if (!own)
        return;
    const struct ops *ops = own->options.ops;
    ops->release(ops->device, own->window);
    ops->release(ops->device, own->sums);
    ops->release(ops->device, own->fixed);
    ops->release(ops->device, own->fixed_sums);
    ops->release(ops->device, own->refused);
    word_rows_close(own->words);
    mem_free(own->aside);
    mem_free(own->rounded);
    gradient_groups_free(&own->groups);
    mem_free(own->times);
    mem_free(own);
}

/* ---- on the host ---- */

static enum comm_type carried(const struct gradient_pieces *own)
{
    return own->options.same_bits ? COMM_INT64 : own->options.wire;
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

/* ---- groups ---- */

/* The values of a group that are summed, floats or integers, before they are rounded. */
static void *summed(const struct gradient_pieces *own, const struct gradient_group *group)
{
    return own->options.same_bits ? (void *)(own->fixed + group->place) : own->window + group->place;
}

static size_t summed_bytes(const struct gradient_pieces *own, const struct gradient_group *group)
{
    return group->count * (own->options.same_bits ? sizeof *own->fixed : sizeof *own->window);
}

/* Waits for an operation, unless one has already failed. */
static bool await(struct gradient_pieces *own, uint64_t number)
{
    if (own->failure.kind != ERR_NONE)
        return false;
    const double from = clock_now();
    const int result = comm_wait(own->options.comm, number, &own->failure);
    own->waited += clock_now() - from;
    return result == 0;
}

/* Adds the sums of own elements [from, from + count) of a bucket, which have come. */
static void add_run(struct gradient_pieces *own, size_t bucket, size_t from, const void *came, size_t count)
{
    const struct ops *ops = own->options.ops;
    const struct piece *piece = piece_of(own->options.pieces, bucket, own->rank);
    assert(from >= piece->from && from + count <= piece->to);
    const size_t each = own->options.same_bits ? sizeof(int64_t) : sizeof(float);
    char *all = own->options.same_bits ? (char *)own->fixed_sums : (char *)own->sums;
    void *memory = all + (piece->place + (from - piece->held_from)) * each;
    void *sums = ops->map(ops->device, memory, count * each, MAP_CHANGE);
    parallel(blocks_of(count, ADD_BLOCK), add_block, &(struct addition){carried(own), sums, came, count});
    ops->unmap(ops->device, memory, sums, count * each, MAP_CHANGE);
}

/* `came`: this process's elements of the part, in order. */
static void add_part(struct gradient_pieces *own, const struct gradient_group *group, const struct gradient_part *part,
                     const char *came)
{
    const struct piece *piece = piece_of(own->options.pieces, part->bucket, own->rank);
    const char *const end = came + part->counts[own->rank] * comm_type_bytes(carried(own));
    for (size_t i = 0; part->counts[own->rank] > 0 && i < group_spans(&own->groups, group); i++) {
        struct gradient_span span = group_span(&own->groups, group, i);
        span.from = span.from > part->from ? span.from : part->from;
        const size_t count =
            piece_overlap(own->options.pieces, part->bucket, own->rank, span.from, smaller(span.to, part->to));
        if (count == 0)
            continue;
        add_run(own, part->bucket, span.from > piece->from ? span.from : piece->from, came, count);
        came += count * comm_type_bytes(carried(own));
    }
    assert(came == end);
}

static void time_part(struct gradient_pieces *own, const struct gradient_part *part)
{
    const struct comm_times times = comm_timed(own->options.comm, part->number);
    struct bucket_times *all = &own->times[part - own->groups.parts];
    all->bytes = part_elements(part, own->options.pieces->size) * comm_type_bytes(carried(own));
    all->sums++;
    all->taken += times.taken;
    all->waited += times.waited;
}

/* Waits for the sums of a group and adds those of the own pieces; its slot is then free. */
static void settle(struct gradient_pieces *own, struct gradient_group *group)
{
    const struct ops *ops = own->options.ops;
    const size_t each = comm_type_bytes(carried(own));
    assert(group->state == GROUP_SUMS);
    for (const struct gradient_part *part = group->parts; part < group->parts_end; part++) {
        rendezvous_progress(own->options.rendezvous, own->number, "bucket %zu", part->bucket);
        if (!await(own, part->number))
            continue;
        time_part(own, part);
        add_part(own, group, part, (char *)group->host + (part->at + part_elements(part, own->rank)) * each);
    }
    if (!own->rounded && own->failure.kind == ERR_NONE) /* after a failure it may still be in use */
        ops->unmap(ops->device, summed(own, group), group->host, summed_bytes(own, group), MAP_READ);
    group->state = GROUP_AWAY;
}

/* Finds a slot for a group other than the embeddings: a free one, else the one whose sums were started first. */
static size_t find_slot(struct gradient_pieces *own)
{
    size_t oldest = own->groups.slots;
    for (size_t s = 0; s < own->groups.slots; s++) {
        const struct gradient_group *holder = own->holders[s];
        if (!holder || holder->state == GROUP_AWAY)
            return s;
        if (holder->state == GROUP_SUMS &&
            (oldest == own->groups.slots || holder->parts->number < own->holders[oldest]->parts->number))
            oldest = s;
    }
    assert(oldest < own->groups.slots);
    settle(own, own->holders[oldest]);
    return oldest;
}

static void open_group(struct gradient_pieces *own, struct gradient_group *group)
{
    const struct ops *ops = own->options.ops;
    if (group->state == GROUP_SUMS) /* from the previous round */
        settle(own, group);
    assert(group->state == GROUP_AWAY);
    group->place = 0;
    if (group->kind != GROUP_WHOLE || group->to > params_layer(own->options.params, 0, 0)->offset) {
        assert(group->count <= own->groups.slot_size);
        const size_t slot = find_slot(own);
        own->holders[slot] = group;
        group->place = gradient_groups_slot(&own->groups, slot);
    }
    CALL(ops, clear, .memory = own->window + group->place, .bytes = group->count * sizeof *own->window);
    if (own->options.same_bits)
        CALL(ops, clear, .memory = own->fixed + group->place, .bytes = group->count * sizeof *own->fixed);
    group->state = GROUP_OPEN;
}

static void start(struct gradient_pieces *own, const struct comm_work *work, uint64_t *number)
{
    struct comm *comm = own->options.comm;
    if (own->failure.kind != ERR_NONE)
        return;
    own->wire_bytes += comm_wire_bytes(work, own->rank, comm_size(comm));
    *number = comm_start(comm, *work);
}

static void start_part(struct gradient_pieces *own, const struct gradient_group *group, struct gradient_part *part)
{
    const size_t each = comm_type_bytes(carried(own));
    char *in = (char *)group->host + part->at * each;
    const struct comm_work work = {
        .operation = COMM_REDUCE_SCATTER,
        .type = carried(own),
        .in = in,
        .in_counts = part->counts,
        .out = in + part_elements(part, own->rank) * each,
    };
    start(own, &work, &part->number);
}

/* The group's gradients of this pass are complete: starts to sum them to their holders. */
static void close_group(struct gradient_pieces *own, struct gradient_group *group)
{
    const struct gradient_sum_options *options = &own->options;
    const struct ops *ops = options->ops;
    if (group->state != GROUP_OPEN) /* not written: a dropped layer, a head without labels, or a round of zeros */
        open_group(own, group);
    const size_t bytes = summed_bytes(own, group);
    if (options->same_bits)
        CALL(ops, fixed_add, .sums = own->fixed + group->place, .gradients = own->window + group->place,
             .count = group->count, .unit = own->unit, .limit = FIXED_LIMIT / (double)options->parts,
             .refused = own->refused);
    group->host = ops->map(ops->device, summed(own, group), bytes, MAP_READ); /* only this copy gets the sums */
    if (own->rounded) {
        uint16_t *rounded = own->rounded + group->place;
        wire_bf16_round(group->host, rounded, group->count);
        ops->unmap(ops->device, summed(own, group), group->host, bytes, MAP_READ);
        group->host = rounded;
    }
    group->state = GROUP_SUMS;
    for (struct gradient_part *part = group->parts; part < group->parts_end; part++)
        start_part(own, group, part);
    if (!options->overlap)
        settle(own, group);
}

/* ---- looking at gradients that are not summed ---- */

/* Shows rows [from, to) of the word table, chunk by chunk, because rows and chunks end at different places. */
static void look_at_rows(const struct gradient_pieces *own, const float *rows, size_t from, size_t to)
{
    const struct params *params = own->options.params;
    float *values = mem_array(PARAM_CHUNK, sizeof *values);
    for (size_t c = 0; c < params->chunk_count && params->chunks[c].offset < to * own->hidden; c++) {
        const size_t offset = params->chunks[c].offset, chunk_end = offset + (size_t)params->chunks[c].count;
        const size_t first = offset > from * own->hidden ? offset : from * own->hidden;
        const size_t end = smaller(chunk_end, to * own->hidden);
        if (end <= first)
            continue;
        memset(values, 0, PARAM_CHUNK * sizeof *values);
        memcpy(values + (first - offset), rows + (first - from * own->hidden), (end - first) * sizeof *values);
        own->look->group(own->look->context, values, offset, (struct chunk_range){c, c + 1});
    }
    mem_free(values);
}

static void look_at(struct gradient_pieces *own, struct gradient_group *group)
{
    const float *values = own->window + group->place;
    const size_t from = group->from / own->hidden, to = group->to / own->hidden;
    if (group->kind == GROUP_ROWS) {
        for (size_t row = from; own->look && row < to; row++)
            if (word_rows_packed(own->words, row) >= 0)
                look_at_rows(own, own->aside + (size_t)word_rows_packed(own->words, row) * own->hidden, row, row + 1);
    } else if (group->state == GROUP_OPEN && own->look) {
        if (group->kind == GROUP_BLOCK)
            look_at_rows(own, values, from, to);
        else
            own->look->group(own->look->context, values, group->from, group->chunks);
    }
    group->state = GROUP_AWAY;
}

/* ---- the word table ---- */

/* Moves the rows of a block that the input names from the window, where zeros stay, to `aside`. */
static void set_aside(struct gradient_pieces *own, const struct gradient_group *group)
{
    const size_t bytes = own->hidden * sizeof(float);
    for (size_t row = group->from / own->hidden; row < group->to / own->hidden; row++) {
        const int32_t place = word_rows_packed(own->words, row);
        float *values = own->window + group->place + (row * own->hidden - group->from);
        if (place < 0)
            continue;
        memcpy(own->aside + (size_t)place * own->hidden, values, bytes);
        memset(values, 0, bytes);
    }
}

/* Learns which rows are set aside in any process. */
static void know_words(struct gradient_pieces *own)
{
    if (!own->words_known)
        await(own, own->words_number);
    own->words_known = true;
}

/* Packs the rows of a block that are set aside in any process: their gradients, or zeros where this process did not. */
static void gather_rows(struct gradient_pieces *own, struct gradient_group *group)
{
    size_t count = 0;
    know_words(own);
    if (group->state == GROUP_SUMS) /* from the previous round */
        settle(own, group);
    for (size_t row = group->from / own->hidden; row < group->to / own->hidden; row++)
        if (word_rows_marked(own->words, row))
            group->rows[count++] = (int32_t)row;
    group->count = count * own->hidden;
    open_group(own, group);
    for (size_t i = 0; i < count; i++) {
        const int32_t place = word_rows_packed(own->words, (size_t)group->rows[i]);
        if (place >= 0)
            memcpy(own->window + group->place + i * own->hidden, own->aside + (size_t)place * own->hidden,
                   own->hidden * sizeof *own->window);
    }
    for (struct gradient_part *part = group->parts; part < group->parts_end; part++) {
        part->at = 0;
        memset(part->counts, 0, own->options.pieces->size * sizeof *part->counts);
        for (size_t i = 0; i < count; i++) {
            const struct gradient_span span = group_span(&own->groups, group, i);
            const size_t first = span.from > part->from ? span.from : part->from, end = smaller(span.to, part->to);
            part->at += smaller(span.to, part->from > span.from ? part->from : span.from) - span.from;
            for (uint32_t r = 0; end > first && r < own->options.pieces->size; r++)
                part->counts[r] += piece_overlap(own->options.pieces, part->bucket, r, first, end);
        }
    }
}

/* Begins a round of the word table for a pass over `batch`, NULL: of zeros. */
static void begin_words(struct gradient_pieces *own, const struct batch *batch)
{
    const struct comm_work work = word_rows_tell(own->words, batch);
    const size_t count = word_rows_pack(own->words);
    memset(own->aside, 0, count * own->hidden * sizeof *own->aside);
    own->words_known = own->alone;
    if (!own->alone)
        start(own, &work, &own->words_number);
}

/* The listener: the batch for the embeddings' gradient. */
static const struct batch *words(void *context, const struct batch *batch)
{
    struct gradient_pieces *own = context;
    return word_rows_batch(own->words, batch);
}

/* ---- the listener ---- */

static void close_next(struct gradient_pieces *own)
{
    assert(own->closed < own->groups.count);
    struct gradient_group *group = &own->groups.items[own->closed++];
    if (group->kind == GROUP_BLOCK && group->state == GROUP_OPEN)
        set_aside(own, group);
    if (own->alone) {
        look_at(own, group);
        return;
    }
    if (group->kind == GROUP_ROWS)
        gather_rows(own, group);
    close_group(own, group);
}

/* Sums the block that the decoder has computed, and gives it the next one. */
static bool next_block(void *context, struct word_block *block)
{
    struct gradient_pieces *own = context;
    if (own->groups.items[own->closed].kind == GROUP_BLOCK && own->groups.items[own->closed].state == GROUP_OPEN)
        close_next(own);
    struct gradient_group *group = &own->groups.items[own->closed];
    if (group->kind != GROUP_BLOCK)
        return false;
    open_group(own, group);
    *block = (struct word_block){
        .from = (int32_t)(group->from / own->hidden),
        .to = (int32_t)(group->to / own->hidden),
        .gradient = own->window + group->place,
    };
    return true;
}

/* Returns where the pass writes the gradient of an element. */
static void *place(void *context, size_t element)
{
    struct gradient_pieces *own = context;
    struct gradient_group *group =
        &own->groups.items[own->closed > own->groups.blocks ? own->closed : own->groups.blocks];
    if (own->words && element < word_table_end(own->options.params))
        return own->aside;
    while (element < group->from)
        group++;
    assert(group < own->groups.items + own->groups.count && element < group->to);
    if (group->state != GROUP_OPEN)
        open_group(own, group);
    return own->window + group->place + (element - group->from);
}

/* Sums the groups that are now final; blocks come before all others. */
static void final(void *context, size_t from, size_t to)
{
    struct gradient_pieces *own = context;
    (void)to;
    while (own->closed < own->groups.count &&
           (own->closed < own->groups.blocks || own->groups.items[own->closed].from >= from))
        close_next(own);
}

/* ---- a step ---- */

void gradient_pieces_begin(struct gradient_pieces *own, uint64_t number, double loss_scale)
{
    const struct ops *ops = own->options.ops;
    const size_t held = own->options.pieces->held[own->rank];
    own->number = number;
    own->unit = ldexp(1, FIXED_BITS) / loss_scale;
    own->waited = 0;
    own->wire_bytes = 0;
    own->in_round = false;
    if (own->options.same_bits) {
        CALL(ops, clear, .memory = own->fixed_sums, .bytes = held * sizeof *own->fixed_sums);
        CALL(ops, clear, .memory = own->refused, .bytes = sizeof *own->refused);
    } else {
        CALL(ops, clear, .memory = own->sums, .bytes = held * sizeof *own->sums);
    }
}

/* Begins a round for a pass over `batch`, NULL: of zeros. Whether any process has another pass after it is exchanged
 * during the round. */
static void begin_round(struct gradient_pieces *own, const struct batch *batch, bool last)
{
    own->closed = 0;
    own->alone = false;
    own->in_round = true;
    own->more = !last;
    const struct comm_work work = {.operation = COMM_MAX, .type = COMM_INT64, .out = &own->more, .count = 1};
    start(own, &work, &own->more_number);
    if (own->words)
        begin_words(own, batch);
}

const struct gradient_listener *gradient_pieces_pass(struct gradient_pieces *own, const struct batch *batch, bool last)
{
    if (own->in_round)
        await(own, own->more_number);
    begin_round(own, batch, last);
    return &own->listener;
}

static bool all_away(const struct gradient_pieces *own)
{
    bool away = true;
    for (size_t g = 0; g < own->groups.count; g++)
        away &= own->groups.items[g].state == GROUP_AWAY;
    return away;
}

static void settle_all(struct gradient_pieces *own)
{
    for (size_t g = 0; g < own->groups.count; g++)
        if (own->groups.items[g].state == GROUP_SUMS)
            settle(own, &own->groups.items[g]);
}

/* Makes a round of zeros: this process has no more passes, but another has. */
static void give_zeros(struct gradient_pieces *own)
{
    begin_round(own, NULL, true);
    final(own, 0, own->options.params->size);
}

int gradient_pieces_finish(struct gradient_pieces *own, int64_t *refused, struct error *err)
{
    const struct gradient_sum_options *options = &own->options;
    if (!own->in_round)
        give_zeros(own);
    do {
        settle_all(own);
        if (await(own, own->more_number) && own->more > 0)
            give_zeros(own);
        else
            own->in_round = false;
    } while (own->in_round);
    if (own->failure.kind != ERR_NONE) {
        *err = own->failure;
        return -1;
    }
    assert(all_away(own)); /* no slot is in use between steps */
    *refused = 0;
    if (options->same_bits) {
        CALL(options->ops, fixed_take, .gradients = own->sums, .sums = own->fixed_sums,
             .count = options->pieces->held[own->rank], .unit = own->unit);
        *refused = fixed_refused(options->ops, own->refused);
    }
    return 0;
}

const void *gradient_pieces_sums(const struct gradient_pieces *own)
{
    return own->sums;
}

const struct gradient_listener *gradient_pieces_alone(struct gradient_pieces *own, const struct batch *batch,
                                                      const struct gradient_look *look)
{
    own->closed = 0;
    own->alone = true;
    own->look = look;
    if (own->words)
        begin_words(own, batch);
    return &own->listener;
}

double gradient_pieces_waited(const struct gradient_pieces *own)
{
    return own->waited;
}

uint64_t gradient_pieces_wire_bytes(const struct gradient_pieces *own)
{
    return own->wire_bytes;
}

const struct bucket_times *gradient_pieces_times(const struct gradient_pieces *own, size_t *count)
{
    *count = own->groups.part_count;
    return own->times;
}
