/* The all-reduce of 1-bit Adam with error feedback (Tang et al. 2021; optim/onebit.h has the formulas). Every process
 * is a worker for all parameters and the server of one part of them:
 *
 *     compress     worker: bits of momentum + its error, and a scale per unit; what the bits lose becomes the new error
 *     all-to-all   every part of the bits, with its scales, goes to the server of the part
 *     serve        server: the mean of what all sent + its own error, again as bits and a scale, and a new error
 *     all-gather   the bits and scales of all parts go to everybody
 *     decompress   the same momentum in every process, and the update */
#include "trainer/parallel/onebit_exchange.h"

#include <assert.h>

#include "base/mem.h"
#include "trainer/backend/copies.h"

struct onebit {
    struct onebit_layout layout;
    const struct ops *ops;
    struct comm *comm;
    uint32_t rank, size;
    /* In the device's memory: */
    size_t *at;           /* layout.at */
    float *errors;        /* [layout.count] e_i */
    float *served;        /* [own part] s */
    uint8_t *bits;        /* [layout.count / 8] the bits to send, then those of all parts */
    float *alphas;        /* [unit_count] */
    float *sigmas;        /* [unit_count] */
    uint8_t *bits_of_all; /* [size, own part / 8] */
    float *alphas_of_all; /* [size, own units] */
    /* In the host's: */
    double *totals;     /* [size] sum of squares of each process's sums */
    size_t *part_bytes; /* [size] bytes of bits of each part */
    size_t *part_units; /* [size] units of each part */
    size_t *own_bytes;  /* [size] bytes of the own part, from each process */
    size_t *own_units;  /* [size] units of the own part, from each process */
    size_t *ones;       /* [size] all 1 */
    size_t *in, *out;   /* [size] counts for moving errors */
};

static size_t own_part(const struct onebit *o, uint32_t rank)
{
    return o->layout.part[rank + 1] - o->layout.part[rank];
}

/* Memory of the device; zeros. */
static void *zeros(const struct ops *ops, size_t count, size_t each)
{
    const size_t bytes = count * each > 0 ? count * each : each; /* a part may be empty */
    void *memory = ops->allocate(ops->device, bytes);
    CALL(ops, clear, .memory = memory, .bytes = bytes);
    return memory;
}

struct onebit *onebit_open(const struct params *params, bool group, const struct ops *ops, struct comm *comm)
{
    struct onebit *o = mem_clear(1, sizeof *o);
    const uint32_t size = comm_size(comm), rank = comm_rank(comm);
    onebit_layout_init(&o->layout, params, group, size);
    const struct onebit_layout *l = &o->layout;
    o->ops = ops;
    o->comm = comm;
    o->rank = rank;
    o->size = size;
    const size_t units = l->first[rank + 1] - l->first[rank];
    o->at = zeros(ops, l->table->chunk_count, sizeof *o->at);
    ops_write(ops, o->at, l->at, l->table->chunk_count * sizeof *o->at);
    o->errors = zeros(ops, l->count, sizeof *o->errors);
    o->served = zeros(ops, own_part(o, rank), sizeof *o->served);
    o->bits = zeros(ops, l->count / 8, 1);
    o->alphas = zeros(ops, l->unit_count, sizeof *o->alphas);
    o->sigmas = zeros(ops, l->unit_count, sizeof *o->sigmas);
    o->bits_of_all = zeros(ops, size * own_part(o, rank) / 8, 1);
    o->alphas_of_all = zeros(ops, size * units, sizeof *o->alphas_of_all);
    o->totals = mem_clear(size, sizeof *o->totals);
    size_t **const counts[] = {&o->part_bytes, &o->part_units, &o->own_bytes, &o->own_units, &o->ones, &o->in, &o->out};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        *counts[i] = mem_clear(size, sizeof **counts[i]);
    assert(l->part[0] == 0 && l->part[size] == l->count && l->first[size] == l->unit_count);
    for (uint32_t r = 0; r < size; r++) {
        assert(l->part[r] <= l->part[r + 1] && own_part(o, r) % 8 == 0); /* whole bytes of bits */
        o->part_bytes[r] = own_part(o, r) / 8;
        o->part_units[r] = l->first[r + 1] - l->first[r];
        o->own_bytes[r] = own_part(o, rank) / 8;
        o->own_units[r] = units;
        o->ones[r] = 1;
    }
    return o;
}

/* Errors of both kinds, bits sent and received, and numbers per chunk. */
uint64_t onebit_bytes_max(const struct params *params)
{
    const uint64_t count = params->size + 8 * params->chunk_count;
    return 2 * count * sizeof(float) + 3 * count / 8 + 4 * params->chunk_count * sizeof(double);
}

void onebit_close(struct onebit *o)
{
    if (!o)
        return;
    void *const there[] = {o->at,     o->errors, o->served,      o->bits,
                           o->alphas, o->sigmas, o->bits_of_all, o->alphas_of_all};
    void *const here[] = {o->totals, o->part_bytes, o->part_units, o->own_bytes, o->own_units, o->ones, o->in, o->out};
    for (size_t i = 0; i < sizeof there / sizeof *there; i++)
        o->ops->release(o->ops->device, there[i]);
    for (size_t i = 0; i < sizeof here / sizeof *here; i++)
        mem_free(here[i]);
    onebit_layout_release(&o->layout);
    mem_free(o);
}

static size_t bytes_of(const struct onebit *o, const size_t *counts, enum comm_type type)
{
    size_t count = 0;
    for (uint32_t r = 0; r < o->size; r++)
        count += counts[r];
    return count * comm_type_bytes(type);
}

/* The same with arrays in the device's memory, of which the host sends and receives copies. After a failure they may
 * still be in use. */
static int run_staged(struct onebit *o, struct comm_work work, struct error *err)
{
    const struct ops *ops = o->ops;
    const bool in_place = work.operation == COMM_ALL_GATHER;
    const size_t in_bytes = in_place ? 0 : bytes_of(o, work.in_counts, work.type);
    const size_t out_bytes = bytes_of(o, work.out_counts, work.type);
    const enum map_mode mode = in_place ? MAP_CHANGE : MAP_FILL;
    void *in = (void *)work.in, *out = work.out;
    if (in_bytes > 0)
        work.in = ops->map(ops->device, in, in_bytes, MAP_READ);
    if (out_bytes > 0)
        work.out = ops->map(ops->device, out, out_bytes, mode);
    TRY(comm_run(o->comm, work, err));
    if (in_bytes > 0)
        ops->unmap(ops->device, in, (void *)work.in, in_bytes, MAP_READ);
    if (out_bytes > 0)
        ops->unmap(ops->device, out, work.out, out_bytes, mode);
    return 0;
}

/* The exchanges of an update, in this order. */
enum { ALPHAS_OUT, BITS_OUT, SIGMAS_IN, BITS_IN, EXCHANGES };

static struct comm_work exchange_of(const struct onebit *o, int which)
{
    switch (which) {
    case ALPHAS_OUT:
        return (struct comm_work){.operation = COMM_ALL_TO_ALL,
                                  .type = COMM_FLOAT,
                                  .in = o->alphas,
                                  .in_counts = o->part_units,
                                  .out = o->alphas_of_all,
                                  .out_counts = o->own_units};
    case BITS_OUT:
        return (struct comm_work){.operation = COMM_ALL_TO_ALL,
                                  .type = COMM_BYTE,
                                  .in = o->bits,
                                  .in_counts = o->part_bytes,
                                  .out = o->bits_of_all,
                                  .out_counts = o->own_bytes};
    case SIGMAS_IN:
        return COMM_GATHER_OF(COMM_FLOAT, o->sigmas, o->part_units);
    default:
        return COMM_GATHER_OF(COMM_BYTE, o->bits, o->part_bytes);
    }
}

uint64_t onebit_wire_bytes(const struct onebit *o)
{
    uint64_t bytes = 0;
    for (int which = 0; which < EXCHANGES; which++) {
        const struct comm_work work = exchange_of(o, which);
        bytes += comm_wire_bytes(&work, o->rank, o->size);
    }
    return bytes;
}

/* Replaces work->squares by values whose sum is the square of the norm in onebit_exchange.h: N times the sum of squares
 * of all processes, added in rank order. */
static int exchange_squares(struct onebit *o, const struct update_work *work, struct error *err)
{
    const size_t bytes = work->chunk_count * sizeof *work->squares;
    double *squares = o->ops->map(o->ops->device, work->squares, bytes, MAP_CHANGE);
    double own = 0, all = 0;
    for (size_t i = 0; i < work->chunk_count; i++)
        own += squares[i];
    o->totals[o->rank] = own;
    const int result = comm_run(o->comm, COMM_GATHER_OF(COMM_DOUBLE, o->totals, o->ones), err);
    for (uint32_t r = 0; r < o->size; r++)
        all += o->totals[r];
    memset(squares, 0, bytes);
    squares[0] = o->size * all;
    o->ops->unmap(o->ops->device, work->squares, squares, bytes, MAP_CHANGE);
    return result;
}

int onebit_update(struct onebit *o, const struct optimizer *optimizer, const struct update_memory *memory,
                  const struct update_work *work, const struct update *update, struct error *err)
{
    const struct ops *ops = o->ops;
    /* Norm and clipping factor are the same in all processes, and so is whether the step is finite: else the errors of
     * some would move and those of others not. */
    optimizer_squares(ops, memory, work, all_chunks(work));
    TRY(exchange_squares(o, work, err));
    optimizer_factors(optimizer, ops, work, update);
    struct step_record record;
    ops_read(ops, work->record, &record, sizeof record);
    if (record.skipped)
        return 0;
    const struct onebit_update facts = {
        .params = memory->params,
        .first = memory->first,
        .second = memory->second,
        .gradients = memory->gradients,
        .gradient_factor = o->size * record.factor,
        .beta1 = optimizer->beta1,
        .rate = update->rate,
        .epsilon = optimizer->epsilon,
        .weight_decay = optimizer->weight_decay,
        .vector_decay = optimizer->decay_all ? optimizer->weight_decay : 0,
    };
    const struct onebit_pass pass = {&o->layout, &facts, work, o->at};
    CALL(ops, compress, pass, o->errors, o->bits, o->alphas);
    TRY(run_staged(o, exchange_of(o, ALPHAS_OUT), err));
    TRY(run_staged(o, exchange_of(o, BITS_OUT), err));
    CALL(ops, serve, pass, o->rank, o->bits_of_all, o->alphas_of_all, o->served, o->bits, o->sigmas);
    TRY(run_staged(o, exchange_of(o, SIGMAS_IN), err));
    TRY(run_staged(o, exchange_of(o, BITS_IN), err));
    CALL(ops, decompress, pass, o->bits, o->sigmas);
    return 0;
}

/* Sends `count` floats from rank `from` to rank `to`, one of which is rank 0. */
static int move(struct onebit *o, uint32_t from, uint32_t to, const float *in, float *out, size_t count,
                struct error *err)
{
    assert(from < o->size && to < o->size && (from == 0 || to == 0));
    memset(o->in, 0, o->size * sizeof *o->in);
    memset(o->out, 0, o->size * sizeof *o->out);
    if (o->rank == from)
        o->in[to] = count;
    if (o->rank == to)
        o->out[from] = count;
    return comm_run(o->comm,
                    (struct comm_work){.operation = COMM_ALL_TO_ALL,
                                       .type = COMM_FLOAT,
                                       .in = o->rank == from ? in : NULL,
                                       .in_counts = o->in,
                                       .out = o->rank == to ? out : NULL,
                                       .out_counts = o->out},
                    err);
}

/* Broadcasts whose errors rank 0 wants next; `size`: no more. */
static int ask(struct onebit *o, int64_t *asked, struct error *err)
{
    return comm_run(o->comm, COMM_BROADCAST_OF(COMM_INT64, asked, 1), err);
}

/* Maps an array of errors; MAP_READ or MAP_FILL. A part may be empty. */
static float *map_errors(const struct onebit *o, float *errors, size_t count, enum map_mode mode)
{
    return o->ops->map(o->ops->device, errors, (count > 0 ? count : 1) * sizeof *errors, mode);
}

static void unmap_errors(const struct onebit *o, float *errors, float *host, size_t count, enum map_mode mode)
{
    o->ops->unmap(o->ops->device, errors, host, (count > 0 ? count : 1) * sizeof *errors, mode);
}

/* Moves `count` errors of process `rank` to rank 0's array `out` (MAP_READ), or from it (MAP_FILL). */
static int carry(struct onebit *o, uint32_t rank, enum map_mode mode, float *errors, float *out, size_t count,
                 struct error *err)
{
    float *host = o->rank == rank ? map_errors(o, errors, count, mode) : NULL;
    const int result =
        mode == MAP_READ ? move(o, rank, 0, host, out, count, err) : move(o, 0, rank, out, host, count, err);
    if (host)
        unmap_errors(o, errors, host, count, mode);
    return result;
}

/* The same with both kinds of errors of a process. */
static int carry_both(struct onebit *o, uint32_t rank, enum map_mode mode, float *worker, float *server,
                      struct error *err)
{
    TRY(carry(o, rank, mode, o->errors, worker, o->layout.count, err));
    return carry(o, rank, mode, o->served, server, own_part(o, rank), err);
}

static int read_errors(void *context, uint32_t rank, float *worker, float *server, struct error *err)
{
    struct onebit *o = context;
    int64_t asked = rank;
    TRY(ask(o, &asked, err));
    return carry_both(o, rank, MAP_READ, worker, server, err);
}

/* The number of compact elements without padding, which depends on the number of processes. */
static size_t whole(const struct onebit *o)
{
    const struct onebit_layout *l = &o->layout;
    const size_t last = l->table->chunk_count - 1;
    return l->group ? l->at[last] + (size_t)l->table->chunks[last].count : l->count;
}

struct checkpoint_errors onebit_errors(struct onebit *o)
{
    return (struct checkpoint_errors){.size = o->size,
                                      .count = o->layout.count,
                                      .whole = whole(o),
                                      .part = o->layout.part,
                                      .read = read_errors,
                                      .context = o};
}

int onebit_serve_errors(struct onebit *o, struct error *err)
{
    int64_t asked;
    for (;;) {
        TRY(ask(o, &asked, err));
        assert(asked >= 0 && asked <= o->size);
        if (asked == o->size)
            return 0;
        TRY(carry_both(o, (uint32_t)asked, MAP_READ, NULL, NULL, err));
    }
}

int onebit_end_errors(struct onebit *o, struct error *err)
{
    int64_t asked = o->size;
    return ask(o, &asked, err);
}

/* What rank 0 finds in a checkpoint: no errors, those of the same number of processes, or of another number. */
enum { ERRORS_NONE, ERRORS_OWN, ERRORS_MEAN };

static int take_own(struct onebit *o, const char *directory, int *result, struct error *err)
{
    struct onebit_layout *l = &o->layout;
    SCOPED(mem_free_at) float *worker = mem_array(o->rank == 0 ? l->count : 1, sizeof *worker);
    SCOPED(mem_free_at) float *server = mem_array(o->rank == 0 ? l->count : 1, sizeof *server);
    int moved = 0;
    struct error second;
    for (uint32_t r = 0; moved == 0 && r < o->size; r++) {
        if (o->rank == 0 && *result == 0)
            *result = errors_read(directory, r, o->size, l->count, worker, own_part(o, r), server, err);
        moved = carry_both(o, r, MAP_FILL, worker, server, &second);
    }
    if (moved < 0)
        *err = second;
    return moved;
}

static int take_mean(struct onebit *o, const char *directory, int *result, struct error *err)
{
    const size_t count = whole(o), from = o->layout.part[o->rank], end = o->layout.part[o->rank + 1];
    assert(count <= o->layout.count && from <= end && end <= o->layout.count);
    float *server = mem_clear(o->layout.count, sizeof *server);
    float *worker = map_errors(o, o->errors, o->layout.count, MAP_CHANGE);
    float *served = map_errors(o, o->served, end - from, MAP_FILL);
    if (o->rank == 0)
        *result = errors_read_mean(directory, count, worker, server, err);
    struct error second;
    int moved = comm_run(o->comm, COMM_BROADCAST_OF(COMM_FLOAT, worker, count), &second);
    if (moved == 0)
        moved = comm_run(o->comm, COMM_BROADCAST_OF(COMM_FLOAT, server, count), &second);
    memcpy(served, server + from, (end - from) * sizeof *server);
    unmap_errors(o, o->errors, worker, o->layout.count, MAP_CHANGE);
    unmap_errors(o, o->served, served, end - from, MAP_FILL);
    mem_free(server);
    if (moved < 0)
        *err = second;
    return moved;
}

int onebit_take_errors(struct onebit *o, const char *directory, bool *mean, struct error *err)
{
    int64_t found = ERRORS_NONE;
    int result = 0;
    if (o->rank == 0 && directory)
        found = errors_of(directory, o->size) ? ERRORS_OWN : errors_any(directory) ? ERRORS_MEAN : ERRORS_NONE;
    TRY(ask(o, &found, err));
    *mean = found == ERRORS_MEAN;
    if (found == ERRORS_OWN)
        TRY(take_own(o, directory, &result, err));
    if (found == ERRORS_MEAN)
        TRY(take_mean(o, directory, &result, err));
    return result;
}
