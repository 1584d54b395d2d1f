#include "trainer/parallel/gradient_exchange.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "trainer/parallel/exchange_kinds.h"

/* ---- the way ---- */

static const struct exchange_kind *kind_of(const struct exchange_options *options)
{
    const struct recipe *recipe = options->recipe;
    if (options->partition->size > 0)
        return recipe->zero > 1 ? &exchange_zero2 : &exchange_zero1;
    if (optimizer_kinds[recipe->optimizer.kind].compresses)
        return &exchange_onebit;
    return options->size > 1 || recipe->part > 0 ? &exchange_all_reduce : &exchange_alone;
}

struct exchange_bytes exchange_bytes(const struct exchange_options *options)
{
    struct exchange_bytes bytes = {0};
    const struct exchange_kind *kind = kind_of(options);
    if (options->partition->size == 0)
        bytes.moments = 2 * (uint64_t)options->params->size * sizeof(float);
    if (kind->bytes)
        kind->bytes(options, &bytes);
    return bytes;
}

/* ---- opening and closing ---- */

struct gradient_exchange *exchange_open(const struct exchange_options *options, struct model *model)
{
    struct gradient_exchange *x = mem_clear(1, sizeof *x);
    x->kind = kind_of(options);
    x->options = *options;
    x->model = model;
    if (x->kind->open)
        x->kind->open(x);
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
    if (x->kind->join)
        x->kind->join(x, &(struct gradient_sum_options){
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
                         });
}

void exchange_redivide(struct gradient_exchange *x, const uint64_t *borders)
{
    if (x->sums)
        loss_sum_redivide(&x->losses, borders);
}

/* ---- a step ---- */

void exchange_begin(struct gradient_exchange *x, uint64_t number, double loss_scale)
{
    assert(number > 0 && loss_scale > 0);
    if (x->sums)
        loss_sum_begin(&x->losses, number);
    if (x->kind->begin)
        x->kind->begin(x, number, loss_scale);
}

const struct gradient_listener *exchange_listener(struct gradient_exchange *x, const struct batch *batch, bool last)
{
    return x->kind->listener ? x->kind->listener(x, batch, last) : NULL;
}

void exchange_pass(struct gradient_exchange *x, const double sums[STEP_SUMS])
{
    assert(!x->sums || (sums != NULL) == (x->losses.parts > 0));
    if (!sums)
        return;
    loss_sum_pass(&x->losses, sums);
    if (x->kind->pass)
        x->kind->pass(x);
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
    if (x->kind->finish)
        TRY(x->kind->finish(x, &refused, err));
    TRY(loss_sum_finish(&x->losses, refused, sums, err));
    double *host = ops->map(ops->device, x->sums, bytes, MAP_FILL);
    memcpy(host, sums, bytes);
    ops->unmap(ops->device, x->sums, host, bytes, MAP_FILL);
    return 0;
}

int exchange_update(struct gradient_exchange *x, const struct optimizer *optimizer, const struct update_memory *memory,
                    const struct update_work *work, const struct update *update, bool *frozen, struct error *err)
{
    struct update facts = *update;
    const struct exchange_update how = {optimizer, memory, work, &facts};
    const bool was = x->onebit;
    facts.sums = x->sums ? x->sums : model_sums(x->model);
    TRY(x->kind->update(x, &how, err));
    *frozen = x->onebit && !was;
    return 0;
}

const struct gradient_listener *exchange_pass_alone(struct gradient_exchange *x, const struct batch *batch,
                                                    const struct gradient_observer *observer)
{
    return x && x->zero2 ? zero2_alone(x->zero2, batch, observer) : NULL;
}

/* ---- what a step took ---- */

double exchange_waited(const struct gradient_exchange *x)
{
    return x->zero2 ? zero2_waited(x->zero2) : x->sum && !x->onebit ? gradient_sum_waited(x->sum) : 0;
}

uint64_t exchange_wire_bytes(const struct gradient_exchange *x)
{
    const uint64_t sums = x->zero2               ? zero2_wire_bytes(x->zero2)
                          : x->sum && !x->onebit ? gradient_sum_wire_bytes(x->sum)
                                                 : 0;
    return sums + (x->zero ? zero_wire_bytes(x->zero) : 0) + (x->onebit ? onebit_wire_bytes(x->onebit) : 0);
}

const struct bucket_times *exchange_times(const struct gradient_exchange *x, size_t *count)
{
    *count = 0;
    return x->zero2 ? zero2_times(x->zero2, count) : x->sum && !x->onebit ? gradient_sum_times(x->sum, count) : NULL;
}

bool exchange_sums(const struct gradient_exchange *x)
{
    return x->sums;
}

bool exchange_sends_every_pass(const struct gradient_exchange *x)
{
    return x->kind->every_pass;
}

/* ---- second moments that freeze ---- */

struct freeze_state exchange_frozen(const struct gradient_exchange *x)
{
    return x->freeze;
}

void exchange_freeze(struct gradient_exchange *x, const struct freeze_state *freeze, uint64_t updates)
{
    if (x->kind->freeze)
        x->kind->freeze(x, freeze, updates);
}

/* ---- state that no process has as a whole ---- */

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
    return x->kind->serve ? x->kind->serve(x, err) : 0;
}

int exchange_end_serving(struct gradient_exchange *x, struct error *err)
{
    return x->kind->end_serving ? x->kind->end_serving(x, err) : 0;
}

int exchange_take_errors(struct gradient_exchange *x, const char *directory, bool *mean, struct error *err)
{
    *mean = false;
    return x->onebit ? onebit_take_errors(x->onebit, directory, mean, err) : 0;
}
