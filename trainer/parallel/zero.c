#include "trainer/parallel/zero.h"

#include <assert.h>

#include "base/mem.h"
#include "trainer/backend/copies.h"

enum { SUMS = 3 }; /* sums per chunk (struct update_work) */

struct zero {
    struct model *model;
    const struct ops *ops;
    const struct params *table;
    const struct partition *partition;
    uint32_t rank;
    struct comm *comm;

    void *arrays[CHECKPOINT_ARRAYS]; /* packed, real, in the device's memory; weights are NULL if is_whole */
    uint64_t *numbers;               /* [buckets.count] of operations */

    double *sums;       /* [chunk_count, SUMS] ordered by holder, bucket and chunk */
    size_t *sum_counts; /* [size] doubles of each process */
    float *vectors;     /* of all chunks of vectors, ordered by holder, bucket and chunk; NULL if is_whole */
    size_t *vector_counts;
    void *rounded; /* the same in storage, in the device's memory, if that is its own; else NULL */

    size_t *in, *out; /* [size] elements of a part */
};

static bool is_whole(const struct zero *z)
{
    return z->ops->storage_size == z->ops->real_size;
}

uint64_t zero_bytes(const struct partition *partition, uint32_t rank, const struct ops *ops)
{
    const uint64_t arrays = ops->storage_size == ops->real_size ? 2 : 3;
    return arrays * partition->held[rank] * ops->real_size;
}

static bool is_vector(const struct zero *z, size_t chunk)
{
    return z->table->items[z->table->chunks[chunk].tensor].dimensions == 1;
}

/* The number of elements of vectors that a process holds. */
static size_t vectors_of(const struct zero *z, uint32_t rank)
{
    size_t count = 0;
    for (size_t b = 0; b < z->partition->buckets.count; b++) {
        const struct chunk_range chunks = partition_slice(z->partition, b, rank)->chunks;
        for (size_t chunk = chunks.from; chunk < chunks.to; chunk++)
            count += is_vector(z, chunk) ? (size_t)z->table->chunks[chunk].count : 0;
    }
    return count;
}

/* A backend with its own memory adds biases in storage, from the copy that a conversion of them has left; in an
 * undivided model that is the conversion of all parameters. */
static void round_vectors(const struct zero *z)
{
    if (z->rounded)
        CALL(z->ops, convert, .y = z->rounded, .x = model_params(z->model), .count = z->table->vector_size);
}

struct zero *zero_open(struct model *model, const struct partition *partition, uint32_t rank)
{
    struct zero *z = mem_clear(1, sizeof *z);
    const struct ops *ops = model_ops(model);
    const struct params *table = model_table(model);
    const uint32_t size = partition->size;
    assert(rank < size);
    const size_t bytes = partition->held[rank] * ops->real_size;
    size_t vectors = 0;
    *z = (struct zero){
        .model = model,
        .ops = ops,
        .table = table,
        .partition = partition,
        .rank = rank,
        .numbers = mem_array(partition->buckets.count, sizeof *z->numbers),
        .sums = mem_array(table->chunk_count * SUMS, sizeof *z->sums),
        .sum_counts = mem_array(size, sizeof *z->sum_counts),
        .in = mem_array(size, sizeof *z->in),
        .out = mem_array(size, sizeof *z->out),
    };
    for (int a = is_whole(z) ? CHECKPOINT_FIRST : CHECKPOINT_WEIGHTS; a < CHECKPOINT_ARRAYS; a++)
        z->arrays[a] = ops->allocate(ops->device, bytes);
    if (is_whole(z))
        return z;
    z->vector_counts = mem_array(size, sizeof *z->vector_counts);
    for (uint32_t r = 0; r < size; r++)
        vectors += z->vector_counts[r] = vectors_of(z, r);
    assert(vectors <= table->vector_size); /* which may have gaps */
    z->vectors = mem_array(vectors, sizeof *z->vectors);
    if (ops->memory > 0)
        z->rounded = ops->allocate(ops->device, table->vector_size * ops->storage_size);
    round_vectors(z); /* before any other conversion, so that the backend keeps this one */
    return z;
}

void zero_close(struct zero *z)
{
    if (!z)
        return;
    for (int a = 0; a < CHECKPOINT_ARRAYS; a++)
        z->ops->release(z->ops->device, z->arrays[a]);
    z->ops->release(z->ops->device, z->rounded);
    mem_free(z->numbers);
    mem_free(z->sums);
    mem_free(z->sum_counts);
    mem_free(z->vectors);
    mem_free(z->vector_counts);
    mem_free(z->in);
    mem_free(z->out);
    mem_free(z);
}

void zero_join(struct zero *z, struct comm *comm)
{
    assert(comm_size(comm) == z->partition->size && comm_rank(comm) == z->rank);
    z->comm = comm;
}

/* Copies the numbers of a process's chunks between `own`, where they are consecutive, and `all`, which is in the order
 * of the table. */
static void carry_sums(const struct zero *z, uint32_t rank, size_t each, double *own, double *all, bool to_all)
{
    for (size_t b = 0; b < z->partition->buckets.count; b++) {
        const struct chunk_range chunks = partition_slice(z->partition, b, rank)->chunks;
        const size_t count = (chunks.to - chunks.from) * each;
        double *there = all + chunks.from * each;
        memcpy(to_all ? there : own, to_all ? own : there, count * sizeof *own);
        own += count;
    }
}

/* Gathers `each` numbers per chunk: `memory`, [chunk_count, each] on the device, has those of the own chunks before the
 * call and all of them after it. */
static int gather_sums(struct zero *z, double *memory, size_t each, struct error *err)
{
    const size_t bytes = z->table->chunk_count * each * sizeof *memory;
    size_t before = 0;
    assert(each <= SUMS);
    for (uint32_t r = 0; r < z->partition->size; r++) {
        z->sum_counts[r] = 0;
        for (size_t b = 0; b < z->partition->buckets.count; b++) {
            const struct chunk_range chunks = partition_slice(z->partition, b, r)->chunks;
            z->sum_counts[r] += (chunks.to - chunks.from) * each;
        }
        before += r < z->rank ? z->sum_counts[r] : 0;
    }
    double *all = z->ops->map(z->ops->device, memory, bytes, MAP_CHANGE);
    carry_sums(z, z->rank, each, z->sums + before, all, false);
    const int result = comm_run(z->comm, COMM_GATHER_OF(COMM_DOUBLE, z->sums, z->sum_counts), err);
    double *from = z->sums;
    for (uint32_t r = 0; result == 0 && r < z->partition->size; r++) {
        carry_sums(z, r, each, from, all, true);
        from += z->sum_counts[r];
    }
    assert(result < 0 || from == z->sums + z->table->chunk_count * each); /* each chunk has one holder */
    z->ops->unmap(z->ops->device, memory, all, bytes, MAP_CHANGE);
    return result;
}

static void *at(void *memory, size_t element, size_t each)
{
    return memory ? (char *)memory + element * each : NULL;
}

static struct update_memory memory_of(const struct zero *z, const struct slice *slice, const void *sums)
{
    const size_t real = z->ops->real_size;
    void *const *arrays = z->arrays;
    return (struct update_memory){
        .params = is_whole(z) ? model_params(z->model) : at(arrays[CHECKPOINT_WEIGHTS], slice->place, real),
        .params_from = is_whole(z) ? 0 : slice->held_from,
        .first = at(arrays[CHECKPOINT_FIRST], slice->place, real),
        .second = at(arrays[CHECKPOINT_SECOND], slice->place, real),
        .gradients = sums ? (const char *)sums + slice->place * real : model_gradients(z->model),
        .held_from = slice->held_from,
        .gradients_from = sums ? slice->held_from : 0,
    };
}

/* Converts an own slice of the master copy to the weights that the model computes with. */
static void store(const struct zero *z, const struct slice *slice)
{
    const size_t from = slice->place + slice->from - slice->held_from;
    assert(slice->to == slice->from || from + (slice->to - slice->from) <= z->partition->held[z->rank]);
    if (!is_whole(z) && slice->to > slice->from)
        CALL(z->ops, convert, .y = at(model_weights(z->model), slice->from, z->ops->storage_size),
             .x = at(z->arrays[CHECKPOINT_WEIGHTS], from, z->ops->real_size), .count = slice->to - slice->from);
}

static struct comm_work gather_work(const struct zero *z, size_t bucket, void *weights)
{
    const enum comm_type type = is_whole(z) ? COMM_FLOAT : COMM_BF16; /* for fp16 too: only its 2 bytes matter */
    return COMM_GATHER_OF(type, at(weights, z->partition->buckets.items[bucket].from, z->ops->storage_size),
                          z->partition->counts + bucket * z->partition->size);
}

static struct comm_work vectors_work(const struct zero *z)
{
    return COMM_GATHER_OF(COMM_FLOAT, z->vectors, z->vector_counts);
}

/* Copies the vectors of a process: its own from packed memory to `vectors`, or, if `packed` is NULL, from `vectors` to
 * the memory that the model reads. Returns the end of its vectors. */
static float *carry_vectors(const struct zero *z, uint32_t rank, float *vectors, const float *packed, float *read)
{
    for (size_t b = 0; b < z->partition->buckets.count; b++) {
        const struct slice *slice = partition_slice(z->partition, b, rank);
        for (size_t i = slice->chunks.from; i < slice->chunks.to; i++) {
            const struct param_chunk *chunk = &z->table->chunks[i];
            const struct param *param = &z->table->items[chunk->tensor];
            const size_t bytes = (size_t)chunk->count * sizeof *vectors;
            if (!is_vector(z, i))
                continue;
            if (packed)
                memcpy(vectors, packed + slice->place + chunk->offset - slice->held_from, bytes);
            else
                memcpy(read + param->vector + (chunk->offset - param->offset), vectors, bytes);
            vectors += chunk->count;
        }
    }
    return vectors;
}

static int gather_vectors(struct zero *z, struct error *err)
{
    const struct ops *ops = z->ops;
    const size_t held = z->partition->held[z->rank] * sizeof(float), bytes = z->table->vector_size * sizeof(float);
    float *own = z->vectors, *from = z->vectors;
    if (is_whole(z))
        return 0;
    for (uint32_t r = 0; r < z->rank; r++)
        own += z->vector_counts[r];
    const float *packed = ops->map(ops->device, z->arrays[CHECKPOINT_WEIGHTS], held, MAP_READ);
    const float *end = carry_vectors(z, z->rank, own, packed, NULL);
    assert(end == own + z->vector_counts[z->rank]);
    ops->unmap(ops->device, z->arrays[CHECKPOINT_WEIGHTS], (void *)packed, held, MAP_READ);
    TRY(comm_run(z->comm, vectors_work(z), err));
    float *read = ops->map(ops->device, model_params(z->model), bytes, MAP_CHANGE);
    for (uint32_t r = 0; r < z->partition->size; r++)
        from = carry_vectors(z, r, from, NULL, read);
    ops->unmap(ops->device, model_params(z->model), read, bytes, MAP_CHANGE);
    round_vectors(z);
    return 0;
}

struct apply_arguments {
    const struct optimizer *optimizer;
    const void *sums;
    const struct update_work *work;
    const struct update *update;
};

/* Updates each own slice (`apply` NULL: leaves it as it is) and stores it, while its bucket is gathered over all
 * processes. On a device with its own memory all slices are made first, because a copy in host memory is sent. */
static int gather_params(struct zero *z, const struct apply_arguments *apply, struct error *err)
{
    const struct ops *ops = z->ops;
    const size_t count = z->partition->buckets.count, bytes = z->table->size * ops->storage_size;
    const bool staged = ops->memory > 0;
    void *memory = model_weights(z->model);
    int result = 0;
    for (size_t b = 0; b < count; b++) {
        const struct slice *slice = partition_slice(z->partition, b, z->rank);
        if (apply && slice->to > slice->from) {
            const struct update_memory own = memory_of(z, slice, apply->sums);
            optimizer_apply(apply->optimizer, ops, &own, apply->work, apply->update, slice->chunks);
        }
        store(z, slice);
        if (!staged)
            z->numbers[b] = comm_start(z->comm, gather_work(z, b, memory));
    }
    if (staged)
        memory = ops->map(ops->device, memory, bytes, MAP_CHANGE);
    for (size_t b = 0; staged && b < count; b++)
        z->numbers[b] = comm_start(z->comm, gather_work(z, b, memory));
    for (size_t b = 0; result == 0 && b < count; b++)
        result = comm_wait(z->comm, z->numbers[b], err);
    if (staged)
        ops->unmap(ops->device, model_weights(z->model), memory, bytes, MAP_CHANGE);
    return result < 0 ? -1 : gather_vectors(z, err);
}

uint64_t zero_wire_bytes(const struct zero *z)
{
    const uint32_t size = z->partition->size;
    uint64_t bytes = 0;
    for (size_t b = 0; b < z->partition->buckets.count; b++) {
        const struct comm_work work = gather_work(z, b, NULL);
        bytes += comm_wire_bytes(&work, z->rank, size);
    }
    const struct comm_work vectors = vectors_work(z);
    return bytes + (is_whole(z) ? 0 : comm_wire_bytes(&vectors, z->rank, size));
}

int zero_update(struct zero *z, const struct optimizer *optimizer, const void *sums, const struct update_work *work,
                const struct update *update, struct error *err)
{
    const size_t count = z->partition->buckets.count;
    /* Clipping needs the norm of all gradients, of which each process has its own chunks. */
    for (size_t b = 0; b < count; b++) {
        const struct slice *slice = partition_slice(z->partition, b, z->rank);
        const struct update_memory memory = memory_of(z, slice, sums);
        if (slice->to > slice->from)
            optimizer_squares(z->ops, &memory, work, slice->chunks);
    }
    TRY(gather_sums(z, work->squares, 1, err));
    optimizer_factors(optimizer, z->ops, work, update);
    for (size_t b = 0; b < count; b++) {
        const struct slice *slice = partition_slice(z->partition, b, z->rank);
        const struct update_memory memory = memory_of(z, slice, sums);
        if (slice->to > slice->from)
            optimizer_moments(optimizer, z->ops, &memory, work, update, slice->chunks);
    }
    /* Trust ratios need the norms of whole tensors, whose slices several processes may hold. */
    if (optimizer_kinds[optimizer->kind].by_tensor)
        TRY(gather_sums(z, work->sums, SUMS, err));
    return gather_params(z, &(struct apply_arguments){optimizer, sums, work, update}, err);
}

static int scatter(struct zero *z, enum checkpoint_array array, const float *flat, struct error *err)
{
    const struct ops *ops = z->ops;
    const size_t bytes = z->partition->held[z->rank] * sizeof *flat;
    int result = 0;
    float *packed = ops->map(ops->device, z->arrays[array], bytes, MAP_FILL);
    for (size_t b = 0; result == 0 && b < z->partition->buckets.count; b++) {
        const struct slice *own = partition_slice(z->partition, b, z->rank);
        for (uint32_t r = 0; r < z->partition->size; r++) {
            z->in[r] = z->rank == 0 ? z->partition->counts[b * z->partition->size + r] : 0;
            z->out[r] = r == 0 ? own->to - own->from : 0;
        }
        assert(z->partition->counts[b * z->partition->size + z->rank] ==
               own->to - own->from); /* what rank 0 sends here */
        result = comm_run(z->comm,
                          (struct comm_work){.operation = COMM_ALL_TO_ALL,
                                             .type = COMM_FLOAT,
                                             .in = z->rank == 0 ? flat + z->partition->buckets.items[b].from : NULL,
                                             .in_counts = z->in,
                                             .out = packed + own->place + (own->from - own->held_from),
                                             .out_counts = z->out},
                          err);
    }
    ops->unmap(ops->device, z->arrays[array], packed, bytes, MAP_FILL);
    return result;
}

int zero_scatter(struct zero *z, const float *params, const float *first, const float *second, struct error *err)
{
    const struct ops *ops = z->ops;
    const size_t bytes = z->table->size * sizeof *params;
    TRY(scatter(z, CHECKPOINT_FIRST, first, err));
    TRY(scatter(z, CHECKPOINT_SECOND, second, err));
    if (!is_whole(z)) {
        TRY(scatter(z, CHECKPOINT_WEIGHTS, params, err));
        return gather_params(z, NULL, err);
    }
    float *whole = ops->map(ops->device, model_params(z->model), bytes, z->rank == 0 ? MAP_CHANGE : MAP_FILL);
    if (z->rank == 0 && whole != params)
        memcpy(whole, params, bytes);
    const int result = comm_run(z->comm, COMM_BROADCAST_OF(COMM_FLOAT, whole, z->table->size), err);
    ops->unmap(ops->device, model_params(z->model), whole, bytes, MAP_CHANGE);
    return result;
}

/* The number of elements of a tensor that process `rank` holds in bucket `b`; *from becomes the first. */
static size_t overlap(const struct zero *z, const struct param *param, size_t b, uint32_t rank, size_t *from)
{
    const struct slice *slice = partition_slice(z->partition, b, rank);
    const size_t end = param->offset + param->count, to = slice->to < end ? slice->to : end;
    *from = slice->from > param->offset ? slice->from : param->offset;
    return to > *from ? to - *from : 0;
}

/* Collective: sends the part of a tensor in bucket `b` to rank 0. The slices of a bucket are consecutive, so their
 * parts of a tensor are too. */
static int collect_bucket(struct zero *z, enum checkpoint_array array, const struct param *param, size_t b, float *out,
                          struct error *err)
{
    const struct ops *ops = z->ops;
    const struct slice *own = partition_slice(z->partition, b, z->rank);
    size_t from, first = param->offset + param->count, all = 0;
    for (uint32_t r = 0; r < z->partition->size; r++) {
        const size_t count = overlap(z, param, b, r, &from);
        z->out[r] = z->rank == 0 ? count : 0;
        z->in[r] = 0;
        first = count > 0 && from < first ? from : first;
        all += count;
    }
    if (all == 0)
        return 0;
    assert(first >= param->offset && all <= param->offset + param->count - first); /* consecutive, and of this tensor */
    const size_t mine = z->in[0] = overlap(z, param, b, z->rank, &from), bytes = mine * sizeof *out;
    void *memory = at(z->arrays[array], own->place + (from - own->held_from), z->ops->real_size);
    void *packed = mine > 0 ? ops->map(ops->device, memory, bytes, MAP_READ) : NULL;
    const int result = comm_run(z->comm,
                                (struct comm_work){.operation = COMM_ALL_TO_ALL,
                                                   .type = COMM_FLOAT,
                                                   .in = packed,
                                                   .in_counts = z->in,
                                                   .out = out ? out + (first - param->offset) : NULL,
                                                   .out_counts = z->out},
                                err);
    if (mine > 0)
        ops->unmap(ops->device, memory, packed, bytes, MAP_READ);
    return result;
}

static int collect(struct zero *z, enum checkpoint_array array, const struct param *param, float *out,
                   struct error *err)
{
    if (!z->arrays[array]) { /* every process has all of it */
        if (out)
            ops_read(z->ops, at(model_params(z->model), param->offset, z->ops->real_size), out,
                     param->count * sizeof *out);
        return 0;
    }
    for (size_t b = z->partition->buckets.count; b-- > 0;)
        TRY(collect_bucket(z, array, param, b, out, err));
    return 0;
}

/* A checkpoint is written tensor by tensor, so that rank 0 needs memory for one tensor only. It asks for each, and all
 * other processes serve it.
 *
 * Broadcasts what rank 0 asks for next: an array and a tensor, or CHECKPOINT_ARRAYS for nothing more. */
static int ask(struct zero *z, int64_t asked[2], struct error *err)
{
    return comm_run(z->comm, COMM_BROADCAST_OF(COMM_INT64, asked, 2), err);
}

static int read_array(void *context, enum checkpoint_array array, size_t param, float *out, struct error *err)
{
    struct zero *z = context;
    int64_t asked[2] = {array, (int64_t)param};
    TRY(ask(z, asked, err));
    return collect(z, array, &z->table->items[param], out, err);
}

struct checkpoint_source zero_source(struct zero *z)
{
    return (struct checkpoint_source){read_array, z};
}

int zero_serve(struct zero *z, struct error *err)
{
    int64_t asked[2];
    for (;;) {
        TRY(ask(z, asked, err));
        if (asked[0] == CHECKPOINT_ARRAYS)
            return 0;
        assert(asked[0] >= 0 && asked[0] < CHECKPOINT_ARRAYS);
        assert(asked[1] >= 0 && (size_t)asked[1] < z->table->count);
        TRY(collect(z, (enum checkpoint_array)asked[0], &z->table->items[asked[1]], NULL, err));
    }
}

int zero_end(struct zero *z, struct error *err)
{
    int64_t asked[2] = {CHECKPOINT_ARRAYS, 0};
    return ask(z, asked, err);
}
