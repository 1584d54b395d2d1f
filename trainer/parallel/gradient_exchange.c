#include "trainer/parallel/gradient_exchange.h"

#include "base/mem.h"
#include "trainer/backend/copies.h"
#include "trainer/parallel/onebit_exchange.h"
#include "trainer/parallel/zero.h"

enum way { ALONE, ALL_REDUCE, ZERO1, ZERO2, ONEBIT };

struct gradient_exchange {
    enum way way;
    struct exchange_options options;
    struct model *model;

    struct comm *comm; /* from exchange_join; NULL: not joined */
    struct rendezvous *rendezvous;
    uint64_t number; /* of the step */
    double *sums;    /* [STEP_SUMS] of losses, in the device's memory; NULL: the model has them */
    double losses[STEP_SUMS];

    /* With --same-bits only. Every pass is one part of the batch, and the losses of all parts are added in the order of
     * the parts, so the sums do not depend on which process computed which. */
    uint64_t parts, part;          /* of a batch; this process's next one */
    uint64_t *borders;             /* [size + 1] process r has the parts [borders[r], borders[r + 1]) */
    double (*of_parts)[STEP_SUMS]; /* [parts] */
    size_t *counts;                /* [size] doubles in of_parts from each process */

    /* Each NULL where the way does without. */
    struct gradient_sum *sum;
    struct zero2 *zero2; /* gradients of the own slices */
    struct zero *zero;
    struct onebit *onebit; /* once second moments are frozen; `sum` is not used any more */
    struct freeze_state freeze;
};

static enum way way_of(const struct exchange_options *options)
{
    const struct recipe *recipe = options->recipe;
    if (options->partition->size > 0)
        return recipe->zero > 1 ? ZERO2 : ZERO1;
    if (optimizer_kinds[recipe->optimizer.kind].compresses)
        return ONEBIT;
    return options->size > 1 || recipe->part > 0 ? ALL_REDUCE : ALONE;
}

struct exchange_bytes exchange_bytes(const struct exchange_options *options)
{
    const enum way way = way_of(options);
    const struct recipe *recipe = options->recipe;
    const bool on_device = options->ops->memory > 0;
    struct exchange_bytes bytes = {.moments = 2 * (uint64_t)options->params->size * sizeof(float)};
    if (options->partition->size > 0)
        bytes.moments = zero_bytes(options->partition, options->rank, options->ops);
    if (way == ZERO2)
        bytes.gradients = zero2_bytes(options->params, options->partition, options->rank, recipe->part > 0,
                                      recipe->overlap, on_device ? 0 : options->tokens);
    else if (way != ALONE)
        bytes.gradients = gradient_sum_bytes(options->params, recipe->part > 0);
    if (way == ONEBIT && on_device)
        bytes.gradients += onebit_bytes_max(options->params);
    return bytes;
}

struct gradient_exchange *exchange_open(const struct exchange_options *options, struct model *model)
{
    struct gradient_exchange *x = mem_clear(1, sizeof *x);
    x->way = way_of(options);
    x->options = *options;
    x->model = model;
    if (options->partition->size > 0)
        x->zero = zero_open(model, options->partition, options->rank);
    return x;
}

void exchange_close(struct gradient_exchange *x)
{
    if (!x)
        return;
    zero_close(x->zero);
    zero2_close(x->zero2);
    gradient_sum_close(x->sum);
    onebit_close(x->onebit);
    mem_free(x->borders);
    mem_free(x->counts);
    mem_free(x->of_parts);
    x->options.ops->release(x->options.ops->device, x->sums);
    mem_free(x);
}

void exchange_redivide(struct gradient_exchange *x, const uint64_t *borders)
{
    const uint32_t size = x->parts > 0 ? comm_size(x->comm) : 0;
    if (size == 0)
        return;
    assert(borders[0] == 0 && borders[size] == x->parts);
    memcpy(x->borders, borders, (size + 1) * sizeof *borders);
    for (uint32_t r = 0; r < size; r++) {
        assert(borders[r] <= borders[r + 1]);
        x->counts[r] = (size_t)(borders[r + 1] - borders[r]) * STEP_SUMS;
    }
}

void exchange_join(struct gradient_exchange *x, struct comm *comm, struct rendezvous *rendezvous,
                   const uint64_t *borders, bool on_hosts)
{
    const struct recipe *recipe = x->options.recipe;
    const struct ops *ops = x->options.ops;
    const uint32_t size = comm_size(comm);
    const uint64_t parts = recipe->part > 0 ? recipe_parts(recipe) : 0;
    assert(!x->comm && (x->options.partition->size == 0 || x->options.partition->size == size));
    x->comm = comm;
    x->rendezvous = rendezvous;
    if (size == 1 && parts == 0)
        return;
    if (parts > 0) {
        x->parts = parts;
        x->borders = mem_array(size + 1, sizeof *x->borders);
        x->counts = mem_array(size, sizeof *x->counts);
        x->of_parts = mem_clear((size_t)parts, sizeof *x->of_parts);
        exchange_redivide(x, borders);
    }
    x->sums = ops->allocate(ops->device, STEP_SUMS * sizeof *x->sums);
    const struct gradient_sum_options sums = {
        .ops = ops,
        .params = x->options.params,
        .gradients = model_gradients(x->model),
        .comm = comm,
        .rendezvous = rendezvous,
        .same_bits = parts > 0,
        .wire = recipe->wire_bf16 ? COMM_BF16 : COMM_FLOAT,
        .parts = parts,
        .on_hosts = on_hosts,
        .tokens = x->options.tokens,
        .overlap = recipe->overlap,
        .bucket = recipe->bucket,
        .partition = x->zero ? x->options.partition : NULL,
    };
    if (x->zero)
        zero_join(x->zero, comm);
    if (x->way == ZERO2)
        x->zero2 = zero2_open(&sums);
    else if (x->way != ALONE)
        x->sum = gradient_sum_open(&sums);
}

/* NULL: sums are not made, or in another way. */
static struct gradient_sum *sum_of(const struct gradient_exchange *x)
{
    return x->onebit ? NULL : x->sum;
}

void exchange_begin(struct gradient_exchange *x, uint64_t number, double loss_scale)
{
    assert(number > 0 && loss_scale > 0);
    x->number = number;
    memset(x->losses, 0, sizeof x->losses);
    if (x->parts > 0)
        x->part = x->borders[comm_rank(x->comm)];
    if (x->zero2)
        zero2_begin(x->zero2, number, loss_scale);
    else if (sum_of(x))
        gradient_sum_begin(sum_of(x), number, loss_scale);
}

const struct gradient_listener *exchange_listener(struct gradient_exchange *x, const struct batch *batch, bool last)
{
    if (x->zero2)
        return zero2_pass(x->zero2, batch, last);
    return sum_of(x) ? gradient_sum_listener(sum_of(x), batch, last) : NULL;
}

void exchange_pass(struct gradient_exchange *x, const double sums[STEP_SUMS])
{
    assert(!x->sums || (sums != NULL) == (x->parts > 0));
    if (!sums)
        return;
    assert(x->part < x->borders[comm_rank(x->comm) + 1]); /* one pass for each part */
    memcpy(x->of_parts[x->part++], sums, sizeof *x->of_parts);
    if (sum_of(x))
        gradient_sum_pass(sum_of(x));
}

/* Adds the losses of all parts. `refused`: how many gradients of this process could not be added. */
static int add_parts(struct gradient_exchange *x, int64_t refused, struct error *err)
{
    /* Otherwise losses of an earlier step would count. */
    assert(x->part == x->borders[comm_rank(x->comm) + 1]);
    TRY(comm_run(x->comm, COMM_SUM_OF(COMM_INT64, &refused, 1), err));
    TRY(comm_run(x->comm, COMM_GATHER_OF(COMM_DOUBLE, x->of_parts, x->counts), err));
    for (uint64_t part = 0; part < x->parts; part++)
        for (int i = 0; i < STEP_SUMS; i++)
            x->losses[i] += x->of_parts[part][i];
    if (refused > 0)
        x->losses[0] = (double)NAN;
    return 0;
}

int exchange_finish(struct gradient_exchange *x, struct error *err)
{
    const struct ops *ops = x->options.ops;
    int64_t refused = 0;
    if (!x->sums)
        return 0;
    if (x->parts == 0) /* the losses of all passes have stayed in the device's memory */
        ops_read(ops, model_sums(x->model), x->losses, sizeof x->losses);
    if (x->zero2)
        TRY(zero2_finish(x->zero2, &refused, err));
    else if (sum_of(x))
        TRY(gradient_sum_finish(sum_of(x), &refused, err));
    rendezvous_progress(x->rendezvous, x->number, "sums of losses");
    if (x->parts > 0)
        TRY(add_parts(x, refused, err));
    else
        TRY(comm_run(x->comm, COMM_SUM_OF(COMM_DOUBLE, x->losses, STEP_SUMS), err));
    ops_write(ops, x->sums, x->losses, sizeof x->losses);
    return 0;
}

/* |v|_1, added in a fixed order, so that all processes get the same. */
static double norm_of_second(const struct gradient_exchange *x, void *moments)
{
    const struct ops *ops = x->options.ops;
    const size_t count = x->options.params->size, bytes = count * sizeof(float);
    float *second = ops->map(ops->device, moments, bytes, MAP_READ);
    double norm = 0;
    for (size_t i = 0; i < count; i++)
        norm += (double)second[i];
    ops->unmap(ops->device, moments, second, bytes, MAP_READ);
    return norm;
}

static void open_onebit(struct gradient_exchange *x)
{
    if (x->freeze.update > 0 && !x->onebit)
        x->onebit = onebit_open(x->options.params, x->options.recipe->optimizer.group, x->options.ops, x->comm);
}

/* After an update with 1-bit Adam: decides whether second moments freeze, unless it was skipped. */
static void watch_freeze(struct gradient_exchange *x, const struct update_memory *memory,
                         const struct update_work *work, uint64_t update)
{
    const struct recipe *recipe = x->options.recipe;
    struct step_record record;
    if (x->onebit)
        return;
    ops_read(x->options.ops, work->record, &record, sizeof record);
    if (record.skipped)
        return;
    const double norm = freeze_looks(&recipe->optimizer, &x->freeze, update) ? norm_of_second(x, memory->second) : 0;
    freeze_after(&x->freeze, &recipe->optimizer, &recipe->schedule, update, norm);
    open_onebit(x);
}

int exchange_update(struct gradient_exchange *x, const struct optimizer *optimizer, const struct update_memory *memory,
                    const struct update_work *work, const struct update *update, bool *frozen, struct error *err)
{
    struct update facts = *update;
    const bool was = x->onebit;
    facts.sums = x->sums ? x->sums : model_sums(x->model);
    if (x->zero)
        TRY(zero_update(x->zero, optimizer, x->zero2 ? zero2_sums(x->zero2) : NULL, work, &facts, err));
    else if (x->onebit)
        TRY(onebit_update(x->onebit, optimizer, memory, work, &facts, err));
    else
        optimizer_update(optimizer, x->options.ops, memory, work, &facts);
    if (x->way == ONEBIT)
        watch_freeze(x, memory, work, facts.number);
    *frozen = x->onebit && !was;
    return 0;
}

const struct gradient_listener *exchange_pass_alone(struct gradient_exchange *x, const struct batch *batch,
                                                    const struct gradient_observer *observer)
{
    return x && x->zero2 ? zero2_alone(x->zero2, batch, observer) : NULL;
}

static struct sum_record record_of(const struct gradient_exchange *x)
{
    return x->zero2 ? zero2_record(x->zero2) : sum_of(x) ? gradient_sum_record(x->sum) : (struct sum_record){0};
}

double exchange_waited(const struct gradient_exchange *x)
{
    return record_of(x).waited;
}

uint64_t exchange_wire_bytes(const struct gradient_exchange *x)
{
    return record_of(x).wire_bytes + (x->zero ? zero_wire_bytes(x->zero) : 0) +
           (x->onebit ? onebit_wire_bytes(x->onebit) : 0);
}

const struct bucket_times *exchange_times(const struct gradient_exchange *x, size_t *count)
{
    *count = record_of(x).count;
    return record_of(x).times;
}

bool exchange_sums(const struct gradient_exchange *x)
{
    return x->sums;
}

bool exchange_sends_every_pass(const struct gradient_exchange *x)
{
    return x->way == ZERO2;
}

struct freeze_state exchange_frozen(const struct gradient_exchange *x)
{
    return x->freeze;
}

void exchange_freeze(struct gradient_exchange *x, const struct freeze_state *freeze, uint64_t updates)
{
    const struct optimizer *optimizer = &x->options.recipe->optimizer;
    if (x->way != ONEBIT)
        return;
    x->freeze = *freeze;
    if (x->freeze.update == 0 && optimizer->freeze_step > 0 && (double)updates >= optimizer->freeze_step)
        x->freeze.update = updates; /* --resume continues a run of another optimizer */
    open_onebit(x);
}

int exchange_scatter(struct gradient_exchange *x, const float *params, const float *first, const float *second,
                     struct error *err)
{
    return zero_scatter(x->zero, params, first, second, err);
}

bool exchange_source(struct gradient_exchange *x, struct checkpoint_source *source)
{
    if (x->zero)
        *source = zero_source(x->zero);
    return x->zero;
}

bool exchange_errors(struct gradient_exchange *x, struct checkpoint_errors *errors)
{
    if (x->onebit)
        *errors = onebit_errors(x->onebit);
    return x->onebit;
}

int exchange_serve(struct gradient_exchange *x, struct error *err)
{
    return x->zero ? zero_serve(x->zero, err) : x->onebit ? onebit_serve_errors(x->onebit, err) : 0;
}

int exchange_end_serving(struct gradient_exchange *x, struct error *err)
{
    return x->zero ? zero_end(x->zero, err) : x->onebit ? onebit_end_errors(x->onebit, err) : 0;
}

int exchange_take_errors(struct gradient_exchange *x, const char *directory, bool *mean, struct error *err)
{
    *mean = false;
    return x->onebit ? onebit_take_errors(x->onebit, directory, mean, err) : 0;
}
