/* dstrain plan: what a training needs: memory by kind, operations, disk, time; without a model it proposes one. Nothing
 * is written. A training that does not fit is an error. For the time, a model of the same shape but with few layers is
 * opened and measured. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/output.h"
#include "trainer/model/config.h"
#include "trainer/device/machine.h"
#include "trainer/run/console.h"
#include "trainer/run/setup.h"
#include "trainer/verbs/propose.h"

#define PRODUCT_SECONDS 1.0 /* for measuring products */

/* Common sizes of GPU memory in GB, and how much of it may be used. */
#define CARDS 4
static const unsigned card_sizes[CARDS] = {16, 24, 40, 80};
#define CARD_FILLED    0.95
#define CARDS_MOST     1024
#define CARDS_SAY_FROM ((uint64_t)4000000000) /* bytes; a training that needs less fits everywhere */

#define HELD_SAY_FROM 0.05 /* a larger share of the time taken by other programs is reported */

/* What a training takes beside the plan on a CPU: its heap, batches, stacks, and what huge pages round up. Measured:
 * 5.3 to 8.3 MB for models from mini to base. Pages of the dataset are not counted: the system drops them. */
#define PROGRAM_BYTES 6000000

struct needs {
    uint64_t parameters;                                                         /* their number */
    uint64_t weights, gradients, moments, activations, scratch, program, memory; /* bytes; memory is all of them */
    uint64_t measured;  /* bytes to measure ESTIMATE_LAYERS layers */
    uint64_t available; /* bytes of the device, or for this process */
    uint32_t processes;
    uint32_t cards[CARDS]; /* GPUs needed of each size, with --zero 1 or the given stage; 0: no number is enough */
    uint32_t passes;       /* micro-batches of a step in the process that has the most */
    uint64_t sent;         /* bytes that a process sends per step; 0: one process */
    uint64_t checkpoint, disk;
    double flops; /* of a full sequence, forward and backward */
    struct estimate estimate;
    double seconds; /* of all steps, while other programs run as they do now */
    double fewest;  /* of all steps without them; the same if they take little */
    double price;   /* per hour; 0: not given */
    char directory[256];
};

/* The nearest existing directory above `path`. */
static void existing_directory(const char *path, char *out, size_t out_size)
{
    snprintf(out, out_size, "%s", path);
    while (!path_is_directory(out)) {
        char *slash = strrchr(out, '/');
        if (!slash || slash == out) {
            snprintf(out, out_size, "%s", slash ? "/" : ".");
            return;
        }
        *slash = '\0';
    }
}

static void count_memory(const struct engine *engine, struct needs *needs)
{
    const struct model_budget budget = engine_budget(engine, ENGINE_TRAINING);
    SCOPED(mem_free_at) struct model_plan *plan = mem_clear(1, sizeof *plan);
    model_plan(&engine->recipe->config, engine->ops, &budget, plan);
    const struct exchange_bytes exchange = engine_exchange_bytes(engine, &engine->limits);
    needs->moments = exchange.moments;
    for (size_t i = 0; i < plan->count; i++) {
        const char *name = plan->rows[i].name;
        const bool weights = strcmp(name, "params") == 0 || strcmp(name, "weights") == 0;
        uint64_t *kind = weights                          ? &needs->weights
                         : strcmp(name, "gradients") == 0 ? &needs->gradients
                         : strcmp(name, "scratch") == 0   ? &needs->scratch
                                                          : &needs->activations;
        *kind += plan->rows[i].bytes;
    }
    needs->memory = engine_bytes(engine, ENGINE_TRAINING);
    if (engine_divides_gradients(engine))
        needs->gradients = exchange.gradients;
    const uint64_t counted = plan->bytes + needs->moments + (budget.placed ? needs->gradients : 0);
    needs->scratch += needs->memory - counted; /* for updates and integer sums */
    needs->program = engine->ops->memory > 0 ? 0 : PROGRAM_BYTES;
    needs->memory += needs->program;
    needs->available = machine_memory_for(engine->ops);
}

/* For each size of GPU memory the least number of GPUs, a power of two, with which each process's part fits on one. */
static void count_cards(const struct engine *engine, const struct params *params, uint32_t cards[CARDS])
{
    struct engine one = *engine;
    for (uint32_t size = 1, missing = CARDS; size <= CARDS_MOST && missing > 0; size *= 2) {
        one.partition = (struct partition){0};
        if (size > 1)
            engine_partition(engine, params, size, &one.partition);
        const double bytes = (double)engine_bytes(&one, ENGINE_TRAINING);
        for (int i = 0; i < CARDS; i++)
            if (cards[i] == 0 && bytes <= CARD_FILLED * 1e9 * card_sizes[i]) {
                cards[i] = size;
                missing--;
            }
        partition_release(&one.partition);
    }
}

/* Computes what a process sends per step, like comm_wire_bytes and for equal shares: gradients in the type in which
 * they are sent, with --zero 2 in every pass, and with --zero 1 and 2 parameters in their storage type. */
static void count_traffic(const struct engine *engine, const struct params *params, struct needs *needs)
{
    const struct recipe *recipe = engine->recipe;
    const double others = 1 - 1.0 / needs->processes;
    const uint64_t share = (recipe->batch + needs->processes - 1) / needs->processes;
    const size_t gradient = comm_type_bytes(recipe->part > 0 ? COMM_INT64 : recipe->wire_bf16 ? COMM_BF16 : COMM_FLOAT);
    const bool divided = engine_divides(engine);
    needs->passes = (uint32_t)((share + engine->micro_batch - 1) / engine->micro_batch);
    const double sums = divided ? (engine_divides_gradients(engine) ? needs->passes : 1) : 2;
    const double each = sums * (double)gradient + (divided ? (double)engine->ops->storage_size : 0);
    needs->sent = (uint64_t)(others * each * (double)params->size);
}

static uint64_t samples_of(const struct recipe *recipe)
{
    return recipe_samples(recipe, recipe->schedule.steps);
}

/* Measures passes, unless the proposal has, and computes the time of all steps from that. */
static int count_work(const struct setup *setup, struct engine *engine, const struct proposal *proposal,
                      struct needs *needs, struct error *err)
{
    if (proposal->count > 0)
        proposal_estimate(proposal, setup->recipe.batch, &needs->estimate);
    else
        TRY(estimate_make_short(engine, &setup->task.samples, PRODUCT_SECONDS, &needs->estimate, err));
    needs->seconds = (double)samples_of(&setup->recipe) / setup->recipe.batch * needs->estimate.step;
    const double held = needs->estimate.held;
    needs->fewest = held > HELD_SAY_FROM ? (1 - held) * needs->seconds : needs->seconds;
    return 0;
}

static void count_all(const struct setup *setup, const struct engine *engine, struct needs *needs)
{
    struct params params;
    const struct settings *settings = setup->settings;
    params_init(&params, &setup->recipe.config);
    needs->parameters = params.total;
    needs->checkpoint = checkpoint_bytes(&params);
    needs->disk = (settings->keep_last > 0 ? settings->keep_last + 1 : 2) * needs->checkpoint;
    existing_directory(settings->out ? settings->out : "runs", needs->directory, sizeof needs->directory);
    double marks[HEAD_KINDS];
    for (int h = 0; h < HEAD_KINDS; h++)
        marks[h] = setup->task.samples.room.marks[h];
    needs->flops = model_flops(&setup->recipe.config, setup->recipe.seq, marks);
    count_memory(engine, needs);
    needs->processes = settings->processes > 0 ? (uint32_t)settings->processes : 1;
    count_traffic(engine, &params, needs);
    count_cards(engine, &params, needs->cards);
    params_release(&params);
    struct model_config measured = setup->recipe.config;
    measured.layers = measured.layers < ESTIMATE_LAYERS ? measured.layers : ESTIMATE_LAYERS;
    params_init(&params, &measured);
    needs->measured = 4 * sizeof(float) * params.total + needs->activations / (uint64_t)setup->recipe.config.layers *
                                                             (ESTIMATE_LAYERS + 1); /* and those of the heads */
    params_release(&params);
}

/* Several processes may be meant for other machines: what this one lacks does not end their plan. */
static void warn_of_fit(const struct needs *needs, int64_t disk_free)
{
    char need[32], have[32];
    if (needs->memory > needs->available)
        log_warn("a process needs %s of memory, this machine gives at most %s", format_bytes(needs->memory, need),
                 format_bytes(needs->available, have));
    if (disk_free >= 0 && (uint64_t)disk_free < 2 * needs->checkpoint)
        log_warn("%s: two checkpoints take %s, the disk has %s free", needs->directory,
                 format_bytes(2 * needs->checkpoint, need), format_bytes((uint64_t)disk_free, have));
}

static int check_fit(const struct needs *needs, int64_t disk_free, struct error *err)
{
    char need[32], have[32];
    const uint64_t memory = needs->available;
    if (needs->processes > 1 && needs->measured <= memory) {
        warn_of_fit(needs, disk_free);
        return 0;
    }
    if (needs->memory > memory) {
        fail(err, ERR_RESOURCE, "needs %s of memory, this machine gives at most %s", format_bytes(needs->memory, need),
             format_bytes(memory, have));
        return hint(err, "a smaller --micro-batch, activation_checkpointing.number_checkpoints, or a smaller model");
    }
    if (disk_free >= 0 && (uint64_t)disk_free < 2 * needs->checkpoint)
        return fail_at(err, ERR_RESOURCE, needs->directory, ERROR_NO_OFFSET,
                       "two checkpoints take %s, the disk has %s free", format_bytes(2 * needs->checkpoint, need),
                       format_bytes((uint64_t)disk_free, have));
    return 0;
}

/* The command that trains: this one without what only plan takes, with the proposal's options. */
static void add_command(const struct settings *settings, const struct proposal *proposal, struct buf *out)
{
    opts_command(settings->program, settings->result, settings, "train", " dry-run ", out);
    proposal_add_options(proposal, out);
}

static void say(const struct setup *setup, const struct engine *engine, const struct needs *needs, int64_t disk_free)
{
    const struct recipe *recipe = &setup->recipe;
    char a[32], b[32], c[32], d[32], e[32], f[32], g[32], text[160], epochs[40];
    log_say("model      %s, %s parameters, %s · %s", config_name(&recipe->config, a),
            format_count(needs->parameters, b), precision_name(engine->ops->precision), recipe_text(recipe, text));
    log_say("device     %s · batch %" PRIu32 " = %" PRIu32 " × %" PRIu32, engine->ops->name, recipe->batch,
            engine->micro_batch, (recipe->batch + engine->micro_batch - 1) / engine->micro_batch);
    log_say("memory     %s = weights %s + gradients %s + moments %s + activations %s + scratch %s + program %s; "
            "this machine: %s",
            format_bytes(needs->memory, a), format_bytes(needs->weights, b), format_bytes(needs->gradients, c),
            format_bytes(needs->moments, d), format_bytes(needs->activations, e), format_bytes(needs->scratch, f),
            format_bytes(needs->program, g), format_bytes(needs->available, text));
    log_say("disk       a checkpoint is %s, at most %s; %s free", format_bytes(needs->checkpoint, a),
            format_bytes(needs->disk, b), format_bytes(disk_free > 0 ? (uint64_t)disk_free : 0, c));
    log_say("work       %s steps = %s samples = %s; %.4g GFLOP for a full sequence, %.1f of %" PRIu32
            " tokens on average",
            format_count(recipe->schedule.steps, a), format_count(samples_of(recipe), b),
            epochs_text((double)samples_of(recipe) / (double)setup->task.samples.samples, epochs), needs->flops * 1e-9,
            (double)setup->task.samples.tokens / (double)setup->task.samples.samples, recipe->seq);
    console_mixture(setup);
    console_recipe(setup);
}

/* Logs what each of several processes needs, and for large models how many GPUs of each size. */
static void say_processes(const struct setup *setup, const struct engine *engine, const struct needs *needs)
{
    char bytes[32];
    SCOPED(buf_release) struct buf cards = {0};
    if (needs->processes > 1)
        log_say("processes  %" PRIu32 " with --zero %" PRIu32
                ": %s each; bytes per parameter with bf16 or fp16 (fp32): --zero 0 has 18 (16), 1 has 6 + 12/N "
                "(8 + 8/N), 2 has 2 + 16/N (4 + 12/N) and the gradients of %s",
                needs->processes, setup->recipe.zero, format_bytes(needs->memory, bytes),
                engine->ops->memory > 0 ? "the embeddings and a layer or a few small ones"
                                        : "a layer or a few small ones");
    if (needs->sent > 0)
        log_say("traffic    a process sends %s per step%s", format_bytes(needs->sent, bytes),
                setup->recipe.zero < 2 || needs->passes == 1
                    ? ""
                    : "; --zero 2 sends all gradients after every micro-batch, so fewer and larger ones send less");
    for (int i = 0; i < CARDS; i++)
        if (needs->cards[i] > 0)
            buf_addf(&cards, "%s%" PRIu32 " of %u GB", cards.size > 0 ? ", " : "", needs->cards[i], card_sizes[i]);
        else
            buf_addf(&cards, "%s%u GB is too small", cards.size > 0 ? ", " : "", card_sizes[i]);
    if (needs->memory >= CARDS_SAY_FROM || needs->processes > 1)
        log_say("cards      with --zero %d and these micro-batches: %s", setup->recipe.zero > 1 ? 2 : 1,
                buf_text(&cards));
}

/* Reads "2.50/h". */
static int read_price(const char *text, double *price, struct error *err)
{
    const size_t digits = text ? strspn(text, "0123456789.") : 0;
    char *end = NULL;
    *price = 0;
    if (!text)
        return 0;
    *price = strtod(text, &end);
    if (end != text + digits || strcmp(end, "/h") != 0 || !(*price > 0)) {
        fail(err, ERR_USAGE, "--price %.60s: not a price per hour", text);
        return hint(err, "a number above 0 and /h, without a currency: --price 2.50/h");
    }
    return 0;
}

static double cost_of(const struct needs *needs, double seconds)
{
    return needs->price * seconds / 3600;
}

static void say_time(const struct needs *needs)
{
    const struct estimate *estimate = &needs->estimate;
    char time[32], step[32], fewest[32] = "", held[96] = "";
    const bool range = needs->fewest < needs->seconds;
    if (estimate->step < 600)
        snprintf(step, sizeof step, "%.3g s", estimate->step);
    else
        format_seconds(estimate->step, step);
    if (range) {
        snprintf(held, sizeof held, "; threads waited for other programs %.0f %% of that time", 100 * estimate->held);
        format_seconds(needs->fewest, fewest);
    }
    log_say(
        "time       about %s%s%s: %s a step, measured on %d layers at %.3g GFLOP/s; matrix products alone reach %.3g%s",
        fewest, range ? " to " : "", format_seconds(needs->seconds, time), step, ESTIMATE_LAYERS,
        estimate->passes * 1e-9, estimate->products * 1e-9, held);
    if (needs->price > 0 && range)
        log_say("cost       about %.2f to %.2f, at %g an hour", cost_of(needs, needs->fewest),
                cost_of(needs, needs->seconds), needs->price);
    else if (needs->price > 0)
        log_say("cost       about %.2f, at %g an hour", cost_of(needs, needs->seconds), needs->price);
}

static void print_json(const struct setup *setup, const struct engine *engine, const struct needs *needs,
                       int64_t disk_free, const struct proposal *proposal, const char *next)
{
    char name[32];
    json_t *memory = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "weights", (json_int_t)needs->weights, "gradients",
                               (json_int_t)needs->gradients, "moments", (json_int_t)needs->moments, "activations",
                               (json_int_t)needs->activations, "scratch", (json_int_t)needs->scratch, "program",
                               (json_int_t)needs->program);
    json_t *facts = json_pack(
        "{s:s, s:I, s:s, s:I, s:i, s:I, s:I, s:o, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:O, s:s}", "model",
        config_name(&setup->recipe.config, name), "parameters", (json_int_t)needs->parameters, "precision",
        precision_name(engine->ops->precision), "batch", (json_int_t)setup->recipe.batch, "micro_batch",
        (int)engine->micro_batch, "steps", (json_int_t)setup->recipe.schedule.steps, "memory_bytes",
        (json_int_t)needs->memory, "memory", memory, "machine_memory_bytes", (json_int_t)needs->available,
        "checkpoint_bytes", (json_int_t)needs->checkpoint, "disk_bytes", (json_int_t)needs->disk, "disk_free_bytes",
        (json_int_t)disk_free, "flops_per_sequence", needs->flops, "mean_length", needs->estimate.mean_length,
        "products_flops_per_second", needs->estimate.products, "passes_flops_per_second", needs->estimate.passes,
        "seconds_per_step", needs->estimate.step, "seconds", needs->seconds, "run", setup->identity, "next", next);
    json_t *cards = json_object();
    for (int i = 0; i < CARDS; i++) {
        char size[16];
        snprintf(size, sizeof size, "%u", card_sizes[i]);
        json_object_set_new(cards, size, needs->cards[i] > 0 ? json_integer(needs->cards[i]) : json_null());
    }
    json_object_set_new(facts, "seconds_low", json_real(needs->fewest));
    if (needs->price > 0) {
        json_object_set_new(facts, "price_per_hour", json_real(needs->price));
        json_object_set_new(facts, "cost", json_real(cost_of(needs, needs->seconds)));
        json_object_set_new(facts, "cost_low", json_real(cost_of(needs, needs->fewest)));
    }
    json_object_set_new(facts, "processes", json_integer(needs->processes));
    json_object_set_new(facts, "zero", json_integer(setup->recipe.zero));
    json_object_set_new(facts, "wire_bytes", json_integer((json_int_t)needs->sent));
    json_object_set_new(facts, "cards", cards);
    if (proposal->count > 0)
        json_object_set_new(facts, "candidates", proposal_json(proposal));
    output_json(facts, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
}

int dstrain_plan(void *context, struct opt_paths bare, struct error *err)
{
    struct settings chosen = *(const struct settings *)context, *settings = &chosen; /* takes what is proposed */
    struct proposal proposal = {0};
    SCOPED(setup_close) struct setup setup = {0};
    SCOPED(engine_close) struct engine engine = {0};
    SCOPED(origin_release) struct origin origin = {0};
    struct needs needs = {0};
    struct error ignored = {0};
    SCOPED(buf_release) struct buf next = {0};
    (void)bare;
    TRY(read_price(settings->price, &needs.price, err));
    TRY(proposal_wanted(settings) ? proposal_make(&proposal, settings, err) : 0);
    proposal_say(&proposal);
    TRY(setup_open(&setup, settings, &origin, err));
    TRY(engine_choose(&engine, settings, &setup.recipe, &setup.task, err));
    TRY(engine_divide(&engine, 0, settings->processes > 0 ? (uint32_t)settings->processes : 1, err));
    TRY(engine_open(&engine, engine_precision(&engine, NULL), NULL, err));
    count_all(&setup, &engine, &needs);
    const int64_t disk_free = path_free_bytes(needs.directory, &ignored);
    say(&setup, &engine, &needs, disk_free);
    say_processes(&setup, &engine, &needs);
    TRY(check_fit(&needs, disk_free, err)); /* before a model is opened for measuring */
    TRY(count_work(&setup, &engine, &proposal, &needs, err));
    say_time(&needs);
    add_command(settings, &proposal, &next);
    log_say("next       %s", buf_text(&next));
    if (settings->json)
        print_json(&setup, &engine, &needs, disk_free, &proposal, buf_text(&next));
    return 0;
}
