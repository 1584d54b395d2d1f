/* In: groups of gradients of a pass, from the end of flat memory down. Out: the sums of the own pieces. */
#include "trainer/gradient_pieces.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "base/progress.h"
#include "trainer/cpu/bf16.h"
#include "trainer/wire_bf16.h"

#define ADD_BLOCK 65536 /* numbers of one task */
#define SLOTS_MAX 3     /* maximum of slots that the groups share */

enum group_state {
    GROUP_AWAY, /* it has no memory */
    GROUP_OPEN, /* a pass may write it */
    GROUP_SUMS, /* its sums are under way */
};

struct group {
    size_t from, to; /* elements of flat memory */
    size_t bucket_from, bucket_to;
    struct chunk_range chunks;
    enum group_state state;
    size_t place; /* of its first element in the window, unless GROUP_AWAY */
    void *host;   /* GROUP_SUMS: what is sent, from element `from` on */
};

struct gradient_pieces {
    struct gradient_sum_options options;
    const struct buckets *buckets;
    struct gradient_listener listener;
    uint32_t rank;

    struct group *groups; /* [group_count] in the order in which they become final; the last one is the embeddings */
    size_t group_count, closed; /* `closed`: groups that are final in this round */

    size_t slot_size, slots; /* elements of a slot, and the number of slots that all groups but the last share */
    struct group *holders[SLOTS_MAX];

    float *window;     /* in the device's memory: the embeddings' slot, then the others */
    int64_t *fixed;    /* the same, with same_bits */
    uint16_t *rounded; /* the same in host memory, with wire COMM_BF16 */
    float *sums;       /* [held] in the device's memory: own pieces, packed */
    int64_t *fixed_sums, *refused;

    const struct gradient_look *look;
    bool alone;        /* the gradients of this pass are not summed */
    uint64_t *numbers; /* [buckets->count] of operations */
    int64_t more;      /* > 0: some process has a pass after this round */
    uint64_t more_number;
    bool in_round;
    uint64_t number; /* of the step */
    double unit, waited;
    uint64_t wire_bytes;
    struct bucket_times *times; /* [buckets->count] */
    struct error failure;       /* the first one; kind ERR_NONE if there is none */
};

static size_t rounded_up(size_t elements)
{
    return (elements + PIECE_ALIGN - 1) / PIECE_ALIGN * PIECE_ALIGN;
}

/* ---- slots ---- */

/* In a pre-LN model the norm at the beginning of a layer is written together with the layer before it, so two groups
 * are open at a time. With overlap the sums of one more are under way. */
static size_t slots_of(const struct params *params, bool overlap)
{
    return 1 + (params->finals > 0) + overlap;
}

/* Elements of the embeddings' slot. */
static size_t embeddings_size(const struct params *params)
{
    return rounded_up(params_layer(params, 0, 0)->offset);
}

/* Elements of a slot that has room for the largest other group. */
static size_t slot_size(const struct buckets *buckets)
{
    size_t most = 0, size = 0;
    const size_t embeddings = buckets->items[buckets->count - 1].group;
    for (size_t b = 0; b < buckets->count && buckets->items[b].group < embeddings; b++) {
        const bool begins = b == 0 || buckets->items[b - 1].group != buckets->items[b].group;
        size = (begins ? 0 : size) + buckets->items[b].to - buckets->items[b].from;
        most = size > most ? size : most;
    }
    return rounded_up(most);
}

static size_t window_size(const struct params *params, const struct pieces *pieces, bool overlap)
{
    return embeddings_size(params) + slots_of(params, overlap) * slot_size(&pieces->buckets);
}

uint64_t gradient_pieces_bytes(const struct params *params, const struct pieces *pieces, uint32_t rank, bool same_bits,
                               bool overlap)
{
    const uint64_t elements = window_size(params, pieces, overlap) + pieces->held[rank];
    return elements * (sizeof(float) + (same_bits ? sizeof(int64_t) : 0));
}

/* ---- opening ---- */

static void make_groups(struct gradient_pieces *own)
{
    own->groups = mem_clear(own->buckets->items[own->buckets->count - 1].group + 1, sizeof *own->groups);
    for (size_t b = 0; b < own->buckets->count; b++) {
        const struct bucket *bucket = &own->buckets->items[b];
        struct group *group = &own->groups[bucket->group];
        if (bucket->group == own->group_count) {
            *group = (struct group){.to = bucket->to, .bucket_from = b, .chunks = {.to = bucket->chunk_to}};
            own->group_count++;
        }
        group->from = bucket->from;
        group->bucket_to = b + 1;
        group->chunks.from = bucket->chunk_from;
    }
}

static void *place(void *context, size_t element);
static void final(void *context, size_t from, size_t to);

struct gradient_pieces *gradient_pieces_open(const struct gradient_sum_options *options, int64_t *refused)
{
    struct gradient_pieces *own = mem_clear(1, sizeof *own);
    const struct ops *ops = options->ops;
    own->options = *options;
    own->buckets = &options->pieces->buckets;
    own->rank = comm_rank(options->comm);
    own->listener = (struct gradient_listener){.final = final, .context = own, .place = place};
    own->slots = slots_of(options->params, options->overlap);
    own->slot_size = slot_size(own->buckets);
    own->refused = refused;
    make_groups(own);
    assert(own->slots <= SLOTS_MAX && own->buckets->count + 4 < COMM_QUEUE);
    assert(own->groups[own->group_count - 1].to == params_layer(options->params, 0, 0)->offset);
    const size_t window = window_size(options->params, options->pieces, options->overlap);
    const size_t held = options->pieces->held[own->rank];
    own->window = ops->allocate(ops->device, window * sizeof *own->window);
    own->sums = ops->allocate(ops->device, held * sizeof *own->sums);
    if (options->same_bits) {
        own->fixed = ops->allocate(ops->device, window * sizeof *own->fixed);
        own->fixed_sums = ops->allocate(ops->device, held * sizeof *own->fixed_sums);
    } else if (options->wire == COMM_BF16) {
        own->rounded = mem_aligned(window * sizeof *own->rounded);
    }
    own->numbers = mem_array(own->buckets->count, sizeof *own->numbers);
    own->times = mem_clear(own->buckets->count, sizeof *own->times);
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
    mem_free(own->rounded);
    mem_free(own->groups);
    mem_free(own->numbers);
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
static void *summed(const struct gradient_pieces *own, const struct group *group)
{
    return own->options.same_bits ? (void *)(own->fixed + group->place) : own->window + group->place;
}

static size_t summed_bytes(const struct gradient_pieces *own, const struct group *group)
{
    return (group->to - group->from) * (own->options.same_bits ? sizeof *own->fixed : sizeof *own->window);
}

/* Waits for an operation, unless one has already failed. */
static bool await(struct gradient_pieces *own, uint64_t number)
{
    if (own->failure.kind != ERR_NONE)
        return false;
    const double from = clock_now();
    meet_wait(own->options.meet, true);
    const int result = comm_wait(own->options.comm, number, &own->failure);
    meet_wait(own->options.meet, false);
    own->waited += clock_now() - from;
    return result == 0;
}

static void add_bucket(struct gradient_pieces *own, const struct group *group, size_t b)
{
    const struct ops *ops = own->options.ops;
    const struct piece *piece = piece_of(own->options.pieces, b, own->rank);
    const enum comm_type type = carried(own);
    const size_t count = piece->to - piece->from, each = own->options.same_bits ? sizeof(int64_t) : sizeof(float);
    char *all = own->options.same_bits ? (char *)own->fixed_sums : (char *)own->sums;
    void *memory = all + (piece->place + (piece->from - piece->held_from)) * each;
    if (count == 0)
        return;
    void *sums = ops->map(ops->device, memory, count * each, MAP_CHANGE);
    const char *came = (const char *)group->host + (piece->from - group->from) * comm_type_bytes(type);
    parallel(blocks_of(count, ADD_BLOCK), add_block, &(struct addition){type, sums, came, count});
    ops->unmap(ops->device, memory, sums, count * each, MAP_CHANGE);
}

static void time_bucket(struct gradient_pieces *own, size_t b)
{
    const struct comm_times times = comm_timed(own->options.comm, own->numbers[b]);
    const struct bucket *bucket = &own->buckets->items[b];
    own->times[b].bytes = (bucket->to - bucket->from) * comm_type_bytes(carried(own));
    own->times[b].sums++;
    own->times[b].taken += times.taken;
    own->times[b].waited += times.waited;
}

/* Waits for the sums of a group and adds those of the own pieces; its slot is then free. */
static void settle(struct gradient_pieces *own, struct group *group)
{
    const struct ops *ops = own->options.ops;
    for (size_t b = group->bucket_from; b < group->bucket_to; b++) {
        meet_move(own->options.meet, own->number, "bucket %zu", b);
        if (!await(own, own->numbers[b]))
            continue;
        time_bucket(own, b);
        add_bucket(own, group, b);
    }
    if (!own->rounded && own->failure.kind == ERR_NONE) /* after a failure it may still be in use */
        ops->unmap(ops->device, summed(own, group), group->host, summed_bytes(own, group), MAP_READ);
    group->state = GROUP_AWAY;
}

/* Finds a slot for a group other than the embeddings: a free one, else the one whose sums were started first. */
static size_t find_slot(struct gradient_pieces *own)
{
    size_t oldest = own->slots;
    for (size_t s = 0; s < own->slots; s++) {
        const struct group *holder = own->holders[s];
        if (!holder || holder->state == GROUP_AWAY)
            return s;
        if (holder->state == GROUP_SUMS && (oldest == own->slots || holder < own->holders[oldest]))
            oldest = s;
    }
    assert(oldest < own->slots);
    settle(own, own->holders[oldest]);
    return oldest;
}

static void open_group(struct gradient_pieces *own, struct group *group)
{
    const struct ops *ops = own->options.ops;
    const size_t count = group->to - group->from;
    if (group->state == GROUP_SUMS) /* from the previous round */
        settle(own, group);
    group->place = 0;
    if (group != &own->groups[own->group_count - 1]) {
        const size_t slot = find_slot(own);
        own->holders[slot] = group;
        group->place = embeddings_size(own->options.params) + slot * own->slot_size;
    }
    CALL(ops, clear, .memory = own->window + group->place, .bytes = count * sizeof *own->window);
    if (own->options.same_bits)
        CALL(ops, clear, .memory = own->fixed + group->place, .bytes = count * sizeof *own->fixed);
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

/* The group's gradients of this pass are complete: starts to sum them to their holders. */
static void close_group(struct gradient_pieces *own, struct group *group)
{
    const struct gradient_sum_options *options = &own->options;
    const struct ops *ops = options->ops;
    const struct pieces *pieces = options->pieces;
    const enum comm_type type = carried(own);
    const size_t count = group->to - group->from, bytes = summed_bytes(own, group);
    if (group->state != GROUP_OPEN) /* not written: a dropped layer, a head without labels, or a round of zeros */
        open_group(own, group);
    if (options->same_bits)
        CALL(ops, fixed_add, .sums = own->fixed + group->place, .gradients = own->window + group->place, .count = count,
             .unit = own->unit, .limit = FIXED_LIMIT / (double)options->parts, .refused = own->refused);
    group->host = ops->map(ops->device, summed(own, group), bytes, MAP_READ); /* only this copy gets the sums */
    if (own->rounded) {
        uint16_t *rounded = own->rounded + group->place;
        wire_bf16_round(group->host, rounded, count);
        ops->unmap(ops->device, summed(own, group), group->host, bytes, MAP_READ);
        group->host = rounded;
    }
    group->state = GROUP_SUMS;
    for (size_t b = group->bucket_from; b < group->bucket_to; b++) {
        char *host = group->host;
        const struct piece *piece = piece_of(pieces, b, own->rank);
        const struct comm_work work = {
            .operation = COMM_REDUCE_SCATTER,
            .type = type,
            .in = host + (own->buckets->items[b].from - group->from) * comm_type_bytes(type),
            .in_counts = pieces->counts + b * pieces->size,
            .out = host + (piece->from - group->from) * comm_type_bytes(type),
        };
        start(own, &work, &own->numbers[b]);
    }
    if (!options->overlap)
        settle(own, group);
}

static void look_at(struct gradient_pieces *own, struct group *group)
{
    if (group->state == GROUP_OPEN && own->look)
        own->look->group(own->look->context, own->window + group->place, group->from, group->chunks);
    group->state = GROUP_AWAY;
}

/* The listener: returns where the pass writes the gradient of an element. */
static void *place(void *context, size_t element)
{
    struct gradient_pieces *own = context;
    struct group *group = &own->groups[own->closed];
    while (element < group->from)
        group++;
    if (group->state != GROUP_OPEN)
        open_group(own, group);
    return own->window + group->place + (element - group->from);
}

/* The listener: sums the groups that are now final. */
static void final(void *context, size_t from, size_t to)
{
    struct gradient_pieces *own = context;
    (void)to;
    while (own->closed < own->group_count && own->groups[own->closed].from >= from) {
        struct group *group = &own->groups[own->closed++];
        if (own->alone)
            look_at(own, group);
        else
            close_group(own, group);
    }
}

/* ---- a step ---- */

void gradient_pieces_begin(struct gradient_pieces *own, uint64_t number, double unit)
{
    const struct ops *ops = own->options.ops;
    const size_t held = own->options.pieces->held[own->rank];
    own->number = number;
    own->unit = unit;
    own->waited = 0;
    own->wire_bytes = 0;
    own->in_round = false;
    if (own->options.same_bits)
        CALL(ops, clear, .memory = own->fixed_sums, .bytes = held * sizeof *own->fixed_sums);
    else
        CALL(ops, clear, .memory = own->sums, .bytes = held * sizeof *own->sums);
}

/* Begins a round. Whether any process has another pass after it is exchanged during the round. */
static void begin_round(struct gradient_pieces *own, bool last)
{
    own->closed = 0;
    own->alone = false;
    own->in_round = true;
    own->more = !last;
    const struct comm_work work = {.operation = COMM_MAX, .type = COMM_INT64, .out = &own->more, .count = 1};
    start(own, &work, &own->more_number);
}

const struct gradient_listener *gradient_pieces_pass(struct gradient_pieces *own, bool last)
{
    if (own->in_round)
        await(own, own->more_number);
    begin_round(own, last);
    return &own->listener;
}

static void settle_all(struct gradient_pieces *own)
{
    for (size_t g = 0; g < own->group_count; g++)
        if (own->groups[g].state == GROUP_SUMS)
            settle(own, &own->groups[g]);
}

/* Makes a round of zeros: this process has no more passes, but another has. */
static void give_zeros(struct gradient_pieces *own)
{
    begin_round(own, true);
    final(own, 0, own->options.params->size);
}

int gradient_pieces_finish(struct gradient_pieces *own, struct error *err)
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
    if (options->same_bits)
        CALL(options->ops, fixed_take, .gradients = own->sums, .sums = own->fixed_sums,
             .count = options->pieces->held[own->rank], .unit = own->unit);
    return 0;
}

const void *gradient_pieces_sums(const struct gradient_pieces *own)
{
    return own->sums;
}

const struct gradient_listener *gradient_pieces_alone(struct gradient_pieces *own, const struct gradient_look *look)
{
    own->closed = 0;
    own->alone = true;
    own->look = look;
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
    *count = own->buckets->count;
    return own->times;
}
