#include "trainer/parallel/gradient_exchange.h"

#include "base/mem.h"
#include "trainer/parallel/onebit_exchange.h"
#include "trainer/parallel/zero.h"

/* Adds the sums of losses of a step over its passes and over the processes of a run.
 *
 *     loss_sum_open → { loss_sum_begin → loss_sum_pass … → loss_sum_finish } … → loss_sum_close
 *
 * With parts (--same-bits) every pass is one part of the batch, and the losses of all parts are added in the order of
 * the parts, so the sum does not depend on which process computed which. One thread calls; begin and finish are called
 * by all processes. */
struct loss_sum {
    struct comm *comm;             /* borrowed */
    struct rendezvous *rendezvous; /* the same; NULL: one process */
    uint64_t number;               /* of the step */
    double sums[STEP_SUMS];
    /* With parts only. */
    uint64_t parts, part;          /* of a batch; this process's next one */
    uint64_t *borders;             /* [size + 1] process r has the parts [borders[r], borders[r + 1]) */
    double (*of_parts)[STEP_SUMS]; /* [parts] */
    size_t *counts;                /* [size] doubles in of_parts from each process */
};

/* Between steps: changes which parts each process has: borders[size + 1], from 0 to `parts`. */
static void loss_sum_redivide(struct loss_sum *losses, const uint64_t *borders)
{
    const uint32_t size = losses->parts > 0 ? comm_size(losses->comm) : 0;
    if (size == 0)
        return;
    assert(borders[0] == 0 && borders[size] == losses->parts);
    memcpy(losses->borders, borders, (size + 1) * sizeof *borders);
    for (uint32_t r = 0; r < size; r++) {
        assert(borders[r] <= borders[r + 1]);
        losses->counts[r] = (size_t)(borders[r + 1] - borders[r]) * STEP_SUMS;
    }
}

/* `parts`: 0: passes are not parts. `borders` as in loss_sum_redivide. */
static void loss_sum_open(struct loss_sum *losses, struct comm *comm, struct rendezvous *rendezvous, uint64_t parts,
                          const uint64_t *borders)
{
    const uint32_t size = comm_size(comm);
    *losses = (struct loss_sum){.comm = comm, .rendezvous = rendezvous, .parts = parts};
    if (parts == 0)
        return;
    losses->borders = mem_array(size + 1, sizeof *losses->borders);
    losses->counts = mem_array(size, sizeof *losses->counts);
    losses->of_parts = mem_clear((size_t)parts, sizeof *losses->of_parts);
    loss_sum_redivide(losses, borders);
}

static void loss_sum_close(struct loss_sum *losses)
{
    mem_free(losses->borders);
    mem_free(losses->counts);
    mem_free(losses->of_parts);
    *losses = (struct loss_sum){0};
}

static void loss_sum_begin(struct loss_sum *losses, uint64_t number)
{
    losses->number = number;
    memset(losses->sums, 0, sizeof losses->sums);
    if (losses->parts > 0)
        losses->part = losses->borders[comm_rank(losses->comm)];
}

static void loss_sum_pass(struct loss_sum *losses, const double sums[STEP_SUMS])
{
    if (losses->parts == 0) {
        for (int i = 0; i < STEP_SUMS; i++)
            losses->sums[i] += sums[i];
        return;
    }
    assert(losses->part < losses->borders[comm_rank(losses->comm) + 1]); /* one pass for each part */
    memcpy(losses->of_parts[losses->part++], sums, sizeof *losses->of_parts);
}

static int add_parts(struct loss_sum *losses, int64_t refused, struct error *err)
{
    /* Otherwise losses of an earlier step would count. */
    assert(losses->part == losses->borders[comm_rank(losses->comm) + 1]);
    TRY(comm_run(losses->comm, COMM_SUM_OF(COMM_INT64, &refused, 1), err));
    TRY(comm_run(
        losses->comm,
        (struct comm_work){
            .operation = COMM_ALL_GATHER, .type = COMM_DOUBLE, .out = losses->of_parts, .out_counts = losses->counts},
        err));
    for (uint64_t part = 0; part < losses->parts; part++)
        for (int i = 0; i < STEP_SUMS; i++)
            losses->sums[i] += losses->of_parts[part][i];
    if (refused > 0)
        losses->sums[0] = (double)NAN;
    return 0;
}

static int loss_sum_finish(struct loss_sum *losses, int64_t refused, double sums[STEP_SUMS], struct error *err)
{
    rendezvous_progress(losses->rendezvous, losses->number, "sums of losses");
    if (losses->parts > 0)
        TRY(add_parts(losses, refused, err));
    else
        TRY(comm_run(losses->comm, COMM_SUM_OF(COMM_DOUBLE, losses->sums, STEP_SUMS), err));
    memcpy(sums, losses->sums, sizeof losses->sums);
    return 0;
}

enum way { ALONE, ALL_REDUCE, ZERO1, ZERO2, ONEBIT };

struct gradient_exchange {
    enum way way;
    struct exchange_options options;
    struct model *model;

    struct comm *comm; /* from exchange_join; NULL: not joined, or alone */
    struct rendezvous *rendezvous;
    struct loss_sum losses;
    double *sums; /* [STEP_SUMS] of losses, in the device's memory; NULL: the model has them */

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
    loss_sum_close(&x->losses);
    x->options.ops->release(x->options.ops->device, x->sums);
    mem_free(x);
}

void exchange_join(struct gradient_exchange *x, struct comm *comm, struct rendezvous *rendezvous,
                   const uint64_t *borders, bool on_hosts)
{
    const struct recipe *recipe = x->options.recipe;
    const struct ops *ops = x->options.ops;
    const uint64_t parts = recipe->part > 0 ? recipe_parts(recipe) : 0;
    assert(!x->comm && (x->options.partition->size == 0 || x->options.partition->size == comm_size(comm)));
    x->comm = comm;
    x->rendezvous = rendezvous;
    if (comm_size(comm) == 1 && parts == 0)
        return;
    loss_sum_open(&x->losses, comm, rendezvous, parts, borders);
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

void exchange_redivide(struct gradient_exchange *x, const uint64_t *borders)
{
    if (x->sums)
        loss_sum_redivide(&x->losses, borders);
}

/* NULL: sums are not made, or in another way. */
static struct gradient_sum *sum_of(const struct gradient_exchange *x)
{
    return x->onebit ? NULL : x->sum;
}

void exchange_begin(struct gradient_exchange *x, uint64_t number, double loss_scale)
{
    assert(number > 0 && loss_scale > 0);
    if (x->sums)
        loss_sum_begin(&x->losses, number);
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
    assert(!x->sums || (sums != NULL) == (x->losses.parts > 0));
    if (!sums)
        return;
    loss_sum_pass(&x->losses, sums);
    if (sum_of(x))
        gradient_sum_pass(sum_of(x));
}

/* Without parts the losses of all passes stay in the device's memory until the step ends. */
static void take_model_sums(struct gradient_exchange *x)
{
    const struct ops *ops = x->options.ops;
    const size_t bytes = STEP_SUMS * sizeof(double);
    double *sums = ops->map(ops->device, (void *)model_sums(x->model), bytes, MAP_READ);
    loss_sum_pass(&x->losses, sums);
    ops->unmap(ops->device, (void *)model_sums(x->model), sums, bytes, MAP_READ);
}

int exchange_finish(struct gradient_exchange *x, struct error *err)
{
    const struct ops *ops = x->options.ops;
    const size_t bytes = STEP_SUMS * sizeof(double);
    double sums[STEP_SUMS];
    int64_t refused = 0;
    if (!x->sums)
        return 0;
    if (x->losses.parts == 0)
        take_model_sums(x);
    if (x->zero2)
        TRY(zero2_finish(x->zero2, &refused, err));
    else if (sum_of(x))
        TRY(gradient_sum_finish(sum_of(x), &refused, err));
    TRY(loss_sum_finish(&x->losses, refused, sums, err));
    double *host = ops->map(ops->device, x->sums, bytes, MAP_FILL);
    memcpy(host, sums, bytes);
    ops->unmap(ops->device, x->sums, host, bytes, MAP_FILL);
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

static bool is_skipped(const struct ops *ops, const struct update_work *work)
{
    const size_t bytes = sizeof *work->record;
    struct step_record *record = ops->map(ops->device, work->record, bytes, MAP_READ);
    const bool skipped = record->skipped;
    ops->unmap(ops->device, work->record, record, bytes, MAP_READ);
    return skipped;
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
    if (x->onebit || is_skipped(x->options.ops, work))
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

double exchange_waited(const struct gradient_exchange *x)
{
    return x->zero2 ? zero2_waited(x->zero2) : sum_of(x) ? gradient_sum_waited(x->sum) : 0;
}

uint64_t exchange_wire_bytes(const struct gradient_exchange *x)
{
    const uint64_t sums = x->zero2 ? zero2_wire_bytes(x->zero2) : sum_of(x) ? gradient_sum_wire_bytes(x->sum) : 0;
    return sums + (x->zero ? zero_wire_bytes(x->zero) : 0) + (x->onebit ? onebit_wire_bytes(x->onebit) : 0);
}

const struct bucket_times *exchange_times(const struct gradient_exchange *x, size_t *count)
{
    *count = 0;
    return x->zero2 ? zero2_times(x->zero2, count) : sum_of(x) ? gradient_sum_times(x->sum, count) : NULL;
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
