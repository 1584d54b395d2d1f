/* In: each process's own sums of gradients. Out: the same parameters in all processes, after exchanging bits and
 * scales. */
#include "trainer/onebit_exchange.h"

#include <string.h>

#include "base/mem.h"

struct onebit {
    struct onebit_layout layout;
    struct comm *comm;
    struct meet *meet;
    uint32_t rank, size;
    float *errors;        /* [layout.count] e_i */
    float *served;        /* [own part] s */
    uint8_t *bits;        /* [layout.count / 8] the bits to send, then those of all parts */
    float *alphas;        /* [unit_count] */
    float *sigmas;        /* [unit_count] */
    uint8_t *bits_of_all; /* [size, own part / 8] */
    float *alphas_of_all; /* [size, own units] */
    double *totals;       /* [size] sum of squares of each process's sums */
    size_t *part_bytes;   /* [size] bytes of bits of each part */
    size_t *part_units;   /* [size] units of each part */
    size_t *own_bytes;    /* [size] bytes of the own part, from each process */
    size_t *own_units;    /* [size] units of the own part, from each process */
    size_t *ones;         /* [size] all 1 */
    size_t *in, *out;     /* [size] counts for moving errors */
};

static size_t own_part(const struct onebit *o, uint32_t rank)
{
    return o->layout.part[rank + 1] - o->layout.part[rank];
}

struct onebit *onebit_open(const struct params *params, bool group, struct comm *comm, struct meet *meet)
{
    struct onebit *o = mem_clear(1, sizeof *o);
    const uint32_t size = comm_size(comm), rank = comm_rank(comm);
    onebit_layout_init(&o->layout, params, group, size);
    const struct onebit_layout *l = &o->layout;
    o->comm = comm;
    o->meet = meet;
    o->rank = rank;
    o->size = size;
    const size_t units = l->first[rank + 1] - l->first[rank];
    o->errors = mem_clear(l->count, sizeof *o->errors);
    o->served = mem_clear(own_part(o, rank), sizeof *o->served);
    o->bits = mem_clear(l->count / 8, 1);
    o->alphas = mem_clear(l->unit_count, sizeof *o->alphas);
    o->sigmas = mem_clear(l->unit_count, sizeof *o->sigmas);
    o->bits_of_all = mem_clear(size, own_part(o, rank) / 8);
    o->alphas_of_all = mem_clear(size, units * sizeof *o->alphas_of_all);
    o->totals = mem_clear(size, sizeof *o->totals);
    size_t **const counts[] = {&o->part_bytes, &o->part_units, &o->own_bytes, &o->own_units, &o->ones, &o->in, &o->out};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        *counts[i] = mem_clear(size, sizeof **counts[i]);
    for (uint32_t r = 0; r < size; r++) {
        o->part_bytes[r] = own_part(o, r) / 8;
        o->part_units[r] = l->first[r + 1] - l->first[r];
        o->own_bytes[r] = own_part(o, rank) / 8;
        o->own_units[r] = units;
        o->ones[r] = 1;
    }
    return o;
}

void onebit_close(struct onebit *o)
{
    if (!o)
        return;
    void *const all[] = {o->errors,      o->served,        o->bits,   o->alphas,     o->sigmas,
                         o->bits_of_all, o->alphas_of_all, o->totals, o->part_bytes, o->part_units,
                         o->own_bytes,   o->own_units,     o->ones,   o->in,         o->out};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        mem_free(all[i]);
    onebit_layout_release(&o->layout);
    mem_free(o);
}

static int run(struct onebit *o, struct comm_work work, struct error *err)
{
    meet_wait(o->meet, true);
    const int result = comm_run(o->comm, work, err);
    meet_wait(o->meet, false);
    return result;
}

/* ---- an update ---- */

static struct comm_work bits_out(const struct onebit *o)
{
    return (struct comm_work){.operation = COMM_ALL_TO_ALL,
                              .type = COMM_BYTE,
                              .in = o->bits,
                              .in_counts = o->part_bytes,
                              .out = o->bits_of_all,
                              .out_counts = o->own_bytes};
}

static struct comm_work alphas_out(const struct onebit *o)
{
    return (struct comm_work){.operation = COMM_ALL_TO_ALL,
                              .type = COMM_FLOAT,
                              .in = o->alphas,
                              .in_counts = o->part_units,
                              .out = o->alphas_of_all,
                              .out_counts = o->own_units};
}

static struct comm_work bits_in(const struct onebit *o)
{
    return (struct comm_work){
        .operation = COMM_ALL_GATHER, .type = COMM_BYTE, .out = o->bits, .out_counts = o->part_bytes};
}

static struct comm_work sigmas_in(const struct onebit *o)
{
    return (struct comm_work){
        .operation = COMM_ALL_GATHER, .type = COMM_FLOAT, .out = o->sigmas, .out_counts = o->part_units};
}

uint64_t onebit_wire_bytes(const struct onebit *o)
{
    const struct comm_work works[] = {bits_out(o), alphas_out(o), bits_in(o), sigmas_in(o)};
    uint64_t bytes = 0;
    for (size_t i = 0; i < sizeof works / sizeof *works; i++)
        bytes += comm_wire_bytes(&works[i], o->rank, o->size);
    return bytes;
}

/* Replaces work->squares by values whose sum is the square of the norm in onebit_exchange.h: N times the sum of squares
 * of all processes, added in rank order. */
static int share_squares(struct onebit *o, const struct update_work *work, struct error *err)
{
    double own = 0, all = 0;
    for (size_t i = 0; i < work->chunk_count; i++)
        own += work->squares[i];
    o->totals[o->rank] = own;
    TRY(run(
        o,
        (struct comm_work){.operation = COMM_ALL_GATHER, .type = COMM_DOUBLE, .out = o->totals, .out_counts = o->ones},
        err));
    for (uint32_t r = 0; r < o->size; r++)
        all += o->totals[r];
    memset(work->squares, 0, work->chunk_count * sizeof *work->squares);
    work->squares[0] = o->size * all;
    return 0;
}

int onebit_update(struct onebit *o, const struct optimizer *optimizer, const struct ops *ops,
                  const struct update_memory *memory, const struct update_work *work, const struct update *update,
                  struct error *err)
{
    optimizer_squares(ops, memory, work, all_chunks(work));
    TRY(share_squares(o, work, err));
    optimizer_factors(optimizer, ops, work, update);
    if (work->record->skipped)
        return 0;
    const struct onebit_update facts = {
        .params = memory->params,
        .first = memory->first,
        .second = memory->second,
        .gradients = memory->gradients,
        .gradient_factor = o->size * work->record->factor,
        .beta1 = optimizer->beta1,
        .rate = update->rate,
        .epsilon = optimizer->epsilon,
        .weight_decay = optimizer->weight_decay,
        .vector_decay = optimizer->decay_all ? optimizer->weight_decay : 0,
    };
    onebit_compress(&o->layout, &facts, o->errors, o->bits, o->alphas);
    TRY(run(o, alphas_out(o), err));
    TRY(run(o, bits_out(o), err));
    onebit_serve(&o->layout, &facts, o->rank, o->bits_of_all, o->alphas_of_all, o->served, o->bits, o->sigmas);
    TRY(run(o, sigmas_in(o), err));
    TRY(run(o, bits_in(o), err));
    onebit_apply(&o->layout, &facts, o->bits, o->sigmas);
    return 0;
}

/* ---- errors, at rank 0 ---- */

/* Sends `count` floats from rank `from` to rank `to`, one of which is rank 0. */
static int move(struct onebit *o, uint32_t from, uint32_t to, const float *in, float *out, size_t count,
                struct error *err)
{
    memset(o->in, 0, o->size * sizeof *o->in);
    memset(o->out, 0, o->size * sizeof *o->out);
    if (o->rank == from)
        o->in[to] = count;
    if (o->rank == to)
        o->out[from] = count;
    return run(o,
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
    return run(o, (struct comm_work){.operation = COMM_BROADCAST, .type = COMM_INT64, .out = asked, .count = 1}, err);
}

static int collect(struct onebit *o, uint32_t rank, float *worker, float *server, struct error *err)
{
    TRY(move(o, rank, 0, o->errors, worker, o->layout.count, err));
    return move(o, rank, 0, o->served, server, own_part(o, rank), err);
}

static int read_errors(void *context, uint32_t rank, float *worker, float *server, struct error *err)
{
    struct onebit *o = context;
    int64_t asked = rank;
    TRY(ask(o, &asked, err));
    return collect(o, rank, worker, server, err);
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
        if (asked == o->size)
            return 0;
        TRY(collect(o, (uint32_t)asked, NULL, NULL, err));
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
    float *worker = mem_array(o->rank == 0 ? l->count : 1, sizeof *worker);
    float *server = mem_array(o->rank == 0 ? l->count : 1, sizeof *server);
    int moved = 0;
    struct error second;
    for (uint32_t r = 0; moved == 0 && r < o->size; r++) {
        if (o->rank == 0 && *result == 0)
            *result = errors_read(directory, r, o->size, l->count, worker, own_part(o, r), server, err);
        moved = move(o, 0, r, worker, o->errors, l->count, &second);
        if (moved == 0)
            moved = move(o, 0, r, server, o->served, own_part(o, r), &second);
    }
    mem_free(worker);
    mem_free(server);
    if (moved < 0)
        *err = second;
    return moved;
}

static int take_mean(struct onebit *o, const char *directory, int *result, struct error *err)
{
    const size_t count = whole(o), from = o->layout.part[o->rank], end = o->layout.part[o->rank + 1];
    float *server = mem_clear(o->layout.count, sizeof *server);
    if (o->rank == 0)
        *result = errors_read_mean(directory, count, o->errors, server, err);
    struct error second;
    int moved =
        run(o, (struct comm_work){.operation = COMM_BROADCAST, .type = COMM_FLOAT, .out = o->errors, .count = count},
            &second);
    if (moved == 0)
        moved =
            run(o, (struct comm_work){.operation = COMM_BROADCAST, .type = COMM_FLOAT, .out = server, .count = count},
                &second);
    memcpy(o->served, server + from, (end - from) * sizeof *server);
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
