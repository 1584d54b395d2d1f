/* dstrain bench: the speed of a model's shape on this machine, each line as soon as it is known: a table of every
 * operation with the limits of the machine's products and memory, then passes, updates and whole steps, all on random
 * batches of full sequences. With --tune it first times the algorithms of products, writes their table, and uses it. */
#include <inttypes.h>

#include "base/cores.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/output.h"
#include "base/progress.h"
#include "base/target.h"
#include "trainer/device/backend.h"
#include "trainer/model/config.h"
#include "trainer/device/machine.h"
#include "trainer/model/model.h"
#include "trainer/recipe/recipe.h"
#include "trainer/device/timings.h"

#define SECONDS        3.0 /* per measurement, which has at least REPEATS repetitions */
#define REPEATS        4
#define WARM_UP        3
#define ACCUMULATION   16
#define WHOLE_PRODUCT  8192 /* rows and columns of the product that determines the machine's rate, on a GPU */
#define HOST_PRODUCT   2048 /* the same on a CPU */
#define MASKED_PERCENT 15

struct bench {
    const struct settings *settings;
    enum device_kind device;
    struct model_config config;
    int32_t seq, sequences, masked; /* tokens of a sequence, sequences of a micro-batch, masked tokens of a sequence */
    struct ops *ops;
    struct batch batch;
    struct model *model;
    struct optimizer optimizer;
    struct update_work work;
    struct update_memory memory;
    bool sent;      /* a record was sent and not yet received */
    uint32_t steps; /* done */
};

struct bench_result {
    double products, bandwidth; /* the machine's FLOP/s and bytes/s */
    double flops;               /* of a sequence */
    double pass, update;        /* seconds of a micro-batch forward and backward, of an update */
    double step, long_step;     /* seconds of a step of one and of ACCUMULATION micro-batches */
};

/* Random pieces, of which evenly spaced ones are masked. */
static void make_sequence(const struct bench *b, uint32_t number, struct sequence *sequence)
{
    const struct random_stream stream = random_stream(1, RANDOM_FRESH, 0, 0, 0, 0, 0);
    struct marks *masked = &sequence->marks[HEAD_MASKED], *next = &sequence->marks[HEAD_NEXT];
    sequence->length = (uint32_t)b->seq;
    sequence->a_length = (uint32_t)b->seq / 2;
    masked->count = (uint32_t)b->masked;
    next->count = 1;
    next->labels[0] = number % 2;
    for (uint32_t i = 0; i < sequence->length; i++)
        sequence->ids[i] = random_below(random_at(&stream, number, i), (uint32_t)b->config.vocabulary);
    for (uint32_t i = 0; i < masked->count; i++) {
        masked->tokens[i] = 1 + i * (sequence->length - 1) / masked->count;
        masked->labels[i] = sequence->ids[masked->tokens[i] - 1];
    }
}

static struct pack_limits limits_of(const struct bench *b)
{
    return (struct pack_limits){
        .tokens = b->seq * b->sequences,
        .sequences = b->sequences,
        .marks = {[HEAD_MASKED] = b->masked * b->sequences, [HEAD_NEXT] = b->sequences},
    };
}

static void make_batch(struct bench *b)
{
    const struct sequence_room room = {(uint32_t)b->seq, {[HEAD_MASKED] = (uint32_t)b->masked, [HEAD_NEXT] = 1}};
    const struct pack_limits limits = limits_of(b);
    SCOPED(sequence_release) struct sequence sequence = sequence_make(&room);
    pack_init(&b->batch, &limits);
    pack_clear(&b->batch);
    for (int32_t i = 0; i < b->sequences; i++) {
        make_sequence(b, (uint32_t)i, &sequence);
        pack_add(&b->batch, &limits, &sequence, (uint32_t)i);
    }
    pack_finish(&b->batch, &limits);
}

static struct model_budget budget_of(const struct bench *b)
{
    return (struct model_budget){
        .token_rows_max = b->seq * b->sequences,
        .head_rows_max = {[HEAD_MASKED] = b->masked * b->sequences, [HEAD_NEXT] = b->sequences},
        .sequences_max = b->sequences,
        .length_max = b->seq,
    };
}

/* Weights that give the same speed as initial ones: uniform instead of normally distributed, which is much faster to
 * draw. */
static void fill_params(const struct params *params, float *flat)
{
    uint32_t state = 1;
    for (size_t i = 0; i < params->count; i++) {
        const struct param *param = &params->items[i];
        for (size_t j = 0; j < param->count; j++) {
            const float even = random_quick(&state);
            flat[param->offset + j] = param->init == INIT_NORMAL ? 1.7f * (float)param->deviation * even
                                      : param->init == INIT_ONE  ? 1
                                                                 : 0;
        }
    }
}

static void open_model(struct bench *b)
{
    const struct model_budget budget = budget_of(b);
    const struct ops *ops = b->ops;
    b->model = model_open(&b->config, ops, &budget);
    const struct params *params = model_table(b->model);
    const size_t bytes = params->size * sizeof(float);
    float *flat = ops->map(ops->device, model_params(b->model), bytes, MAP_FILL);
    fill_params(params, flat);
    ops->unmap(ops->device, model_params(b->model), flat, bytes, MAP_FILL);
    model_refresh(b->model);
    b->memory = (struct update_memory){.params = model_params(b->model),
                                       .first = ops->allocate(ops->device, bytes),
                                       .second = ops->allocate(ops->device, bytes),
                                       .gradients = model_gradients(b->model)};
    optimizer_work_init(&b->work, b->optimizer.kind, ops, params);
}

static void close_model(struct bench *b)
{
    optimizer_work_release(&b->work, b->ops);
    b->ops->release(b->ops->device, b->memory.first);
    b->ops->release(b->ops->device, b->memory.second);
    model_close(b->model);
}

static void begin(struct bench *b, int accumulation)
{
    model_begin_step(b->model, &(struct step_settings){
                                   .seed = 1,
                                   .step = ++b->steps,
                                   .loss_scale = 1,
                                   .counts =
                                       {
                                           [HEAD_MASKED] = (int64_t)b->masked * b->sequences * accumulation,
                                           [HEAD_NEXT] = (int64_t)b->sequences * accumulation,
                                       },
                               });
}

static void update(struct bench *b)
{
    optimizer_update(&b->optimizer, b->ops, &b->memory, &b->work,
                     &(struct update){
                         .number = b->steps,
                         .rate = 1e-5,
                         .norm_max = 1,
                         .loss_scale = 1,
                         .sums = model_sums(b->model),
                     });
    model_refresh(b->model);
}

/* One step as in training: its record is received after the next step is queued. */
static void steps(struct bench *b, int accumulation)
{
    struct step_record record;
    begin(b, accumulation);
    for (int i = 0; i < accumulation; i++)
        model_forward_backward(b->model, &b->batch, NULL, NULL);
    update(b);
    b->ops->send(b->ops->device, (int)(b->steps % 2), b->work.record, sizeof record);
    if (b->sent)
        b->ops->receive(b->ops->device, (int)((b->steps - 1) % 2), &record, sizeof record);
    b->sent = true;
}

static void passes(struct bench *b, int accumulation)
{
    (void)accumulation;
    model_forward_backward(b->model, &b->batch, NULL, NULL);
}

static void updates(struct bench *b, int accumulation)
{
    (void)accumulation;
    begin(b, 1);
    update(b);
    b->sent = false;
}

/* Mean seconds of `work`, including everything that it queued. */
static double measure(struct bench *b, void (*work)(struct bench *, int), int accumulation)
{
    for (int i = 0; i < (accumulation > 1 ? 1 : WARM_UP); i++)
        work(b, accumulation);
    b->ops->wait(b->ops->device);
    const double from = clock_now();
    int done = 0;
    while (done < (accumulation > 1 ? 1 : REPEATS) || clock_now() - from < SECONDS) {
        work(b, accumulation);
        done++;
        if (done % REPEATS == 0)
            b->ops->wait(b->ops->device); /* so that the clock measures computing, not queueing */
    }
    b->ops->wait(b->ops->device);
    return (clock_now() - from) / done;
}

static void say_machine(const struct bench *b, const struct bench_result *r)
{
    char name[32], count[32];
    struct params params;
    params_init(&params, &b->config);
    log_say("model      %s, %s parameters · %s · dropout %g", config_name(&b->config, name),
            format_count(params.total, count), optimizer_kinds[b->optimizer.kind].name, b->config.hidden_dropout);
    params_release(&params);
    log_say("device     %s", b->ops->name);
    log_say("batch      %" PRId32 " sequences of %" PRId32 ", %" PRId32 " masked each: %.4g GFLOP per sequence",
            b->sequences, b->seq, b->masked, r->flops * 1e-9);
    log_say("limits     measured here: products %.2f TFLOP/s, memory %.0f GB/s", r->products * 1e-12,
            r->bandwidth * 1e-9);
}

/* Logs `seconds` for `micro` micro-batches; 0: for an update alone. */
static void say_time(const struct bench *b, const struct bench_result *r, const char *name, double seconds, int micro)
{
    const double sequences = (double)micro * b->sequences, flops = r->flops * sequences / seconds;
    if (micro > 0)
        log_say("%s %9.3f ms  %9.1f seq/s  %7.2f TFLOP/s, %.1f %% of products", name, seconds * 1e3,
                sequences / seconds, flops * 1e-12, 100 * flops / r->products);
    else
        log_say("%s %9.3f ms", name, seconds * 1e3);
}

static void print_json(const struct bench *b, const struct bench_result *r)
{
    char name[32];
    json_t *facts = json_pack(
        "{s:s, s:s, s:s, s:i, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "model",
        config_name(&b->config, name), "device", b->ops->name, "precision", precision_name(b->ops->precision), "seq",
        (int)b->seq, "micro_batch", (int)b->sequences, "masked", (int)b->masked, "products_flops_per_second",
        r->products, "bytes_per_second", r->bandwidth, "flops_per_sequence", r->flops, "pass_seconds", r->pass,
        "update_seconds", r->update, "step_seconds", r->step, "long_step_seconds", r->long_step, "sequences_per_second",
        b->sequences / r->step, "long_sequences_per_second", ACCUMULATION * b->sequences / r->long_step);
    output_json(facts, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
}

/* Chooses model, device and micro-batch: --micro-batch, or a full one for the device. */
static int choose(struct bench *b, struct error *err)
{
    const struct settings *settings = b->settings;
    TRY(config_choose(settings->model ? settings->model : "base", &b->config, err));
    if (settings_given(settings, "dropout"))
        model_set_dropout(&b->config, settings->dropout);
    TRY(model_config_check(&b->config, err));
    b->seq = settings->seq > 0 ? (int32_t)settings->seq : 128;
    if (b->seq > b->config.positions)
        return fail(err, ERR_MISMATCH, "the model has %" PRId32 " positions, --seq is %" PRId32, b->config.positions,
                    b->seq);
    b->masked = (b->seq * MASKED_PERCENT + 399) / 400 * 4; /* as dsdata build rounds it */
    b->device = settings_given(settings, "device") ? (enum device_kind)settings->device : backend_default();
    b->sequences = (int32_t)settings->micro_batch;
    if (b->sequences == 0)
        b->sequences = b->device == DEVICE_CUDA ? 32768 / b->seq : (int32_t)recipe_micro_batch(0, 1 << 16, b->seq);
    b->optimizer = optimizer_kinds[settings->optimizer].type.optimizer;
    TRY(backend_probe(b->device, NULL, err));
    TRY(backend_fits(b->device, &b->config, err));
    TRY(target_check(&(struct target){.option = "tune", .path = settings->tune, .force = settings->force}, err));
    if (b->device != DEVICE_CUDA && settings->tune)
        return fail(err, ERR_USAGE, "--tune times product algorithms of CUDA; this computes on the CPU");
    return 0;
}

static int open_ops(struct bench *b, struct error *err)
{
    const struct settings *settings = b->settings;
    const enum cpu_level level = settings_given(settings, "cpu") ? (enum cpu_level)settings->cpu : cpu_level();
    const struct cpu_options options = {
        .precision = settings_given(settings, "precision") ? (enum precision)settings->precision
                                                           : backend_default_precision(b->device, level),
        .level = level,
        .threads = settings->threads > 0 ? (unsigned)settings->threads : cores_allowed(),
    };
    b->ops = backend_open(b->device, &options, NULL, err);
    return b->ops ? 0 : -1;
}

static void say_tuned(const char *path)
{
    SCOPED(mem_free_at) char *command = command_text("dstrain --tune %s", path);
    log_say("tuned      %s: %s uses it", path, command);
}

/* Chooses product algorithms by time, as a training does; with --tune among all algorithms, and writes the table. */
static int tune(struct bench *b, struct error *err)
{
    const char *path = b->settings->tune;
    const struct pack_limits limits = limits_of(b);
    SCOPED(buf_release) struct buf table = {0};
    if (b->device != DEVICE_CUDA)
        return 0;
    TRY(backend_tune(b->ops, &b->config, &limits, path != NULL, &table, err));
    if (!path)
        return 0;
    TRY(file_write_all(path, table.data, table.size, err));
    say_tuned(path);
    return 0;
}

static void profile(struct bench *b, const struct bench_result *r)
{
    static const struct timings_beside nothing[] = {{NULL, 0}};
    const struct timings_limits limits = {r->products, r->bandwidth};
    b->ops = timings_open(b->ops);
    open_model(b);
    steps(b, 1);
    timings_clear(b->ops);
    const double from = clock_now();
    for (int i = 0; i < REPEATS; i++)
        steps(b, 1);
    timings_say(b->ops, clock_now() - from, &limits, nothing);
    close_model(b);
    b->ops = timings_end(b->ops);
}

int dstrain_bench(void *context, struct opt_paths bare, struct error *err)
{
    struct bench b = {.settings = context};
    struct bench_result r = {0};
    (void)bare;
    TRY(choose(&b, err));
    TRY(open_ops(&b, err));
    TRY(tune(&b, err));
    make_batch(&b);
    const int32_t size = b.device == DEVICE_CUDA ? WHOLE_PRODUCT : HOST_PRODUCT;
    r.products = machine_product_rate(b.ops, size, size, size, SECONDS / 3, (struct machine_room){0});
    r.bandwidth = machine_bandwidth(b.ops);
    r.flops = model_flops(&b.config, b.seq, (const double[HEAD_KINDS]){[HEAD_MASKED] = b.masked, [HEAD_NEXT] = 1});
    say_machine(&b, &r);
    profile(&b, &r);
    open_model(&b);
    begin(&b, 1);
    r.pass = measure(&b, passes, 1);
    say_time(&b, &r, "pass      ", r.pass, 1);
    r.update = measure(&b, updates, 1);
    say_time(&b, &r, "update    ", r.update, 0);
    r.step = measure(&b, steps, 1);
    say_time(&b, &r, "step × 1  ", r.step, 1);
    r.long_step = measure(&b, steps, ACCUMULATION);
    say_time(&b, &r, "step × 16 ", r.long_step, ACCUMULATION);
    close_model(&b);
    if (b.settings->json)
        print_json(&b, &r);
    b.ops->close(b.ops);
    pack_release(&b.batch);
    say_next(command_text("dstrain plan --shards DIR --model %s", b.settings->model ? b.settings->model : "base"));
    return 0;
}
