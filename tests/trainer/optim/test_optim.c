/* Optimizers, schedules, clipping and the loss scale against precomputed numbers in double. */
#include "tests/trainer/made.h"
#include "tests/unit.h"
#include "trainer/optim/freeze.h"
#include "trainer/optim/optimizer.h"
#include "trainer/optim/scaler.h"
#include "trainer/optim/schedule.h"
#include "trainer/options.h"
#include "trainer/recipe/settings.h"

static const struct optimizer *plain(const char *type)
{
    return &optimizer_type(type)->optimizer;
}

static const double no_losses[STEP_SUMS];

/* ---- the golden file (scripts/golden_optim.py) ---- */

enum { TENSORS = 4, LONG = 16390, FLAT = 64 + LONG + 10 };
static struct param tensors[TENSORS] = {
    {.name = "matrix", .shape = {3, 1}, .count = 3, .trained = 3, .offset = 0, .decay = true, .hidden = true},
    {.name = "bias", .count = 2, .trained = 2, .offset = 16},
    {.name = "zero", .count = 2, .trained = 2, .offset = 32, .decay = true},
    {.name = "long",
     .shape = {10, LONG / 10},
     .count = LONG,
     .trained = LONG,
     .offset = 64,
     .decay = true,
     .hidden = true},
};
static struct param_chunk chunks[] = {
    {0, 3, 0, true},
    {16, 2, 1, false},
    {32, 2, 2, true},
    {64, PARAM_CHUNK, 3, true},
    {64 + PARAM_CHUNK, LONG - PARAM_CHUNK, 3, true},
};
static const struct params four = {
    .items = tensors, .count = TENSORS, .size = FLAT, .chunks = chunks, .chunk_count = 5};
static const size_t seen[] = {0, 2, 17, 32, 64, 64 + 16383, 64 + 16384, 64 + 16389};

struct golden {
    const struct optimizer_type *type; /* NULL for a schedule */
    struct optimizer optimizer;
    double clipping;
    struct schedule schedule;
};

static void set_field(const struct json_field *fields, void *holder, const char *key, const char *text)
{
    const struct json_field *found = json_field_named(fields, key);
    if (!found)
        fail_msg("unknown key %s", key);
    void *field = (char *)holder + found->field;
    const char *const *words = json_field_words(found->type);
    if (found->type == FIELD_REAL)
        *(double *)field = strtod(text, NULL);
    else
        *(bool *)field = strcmp(text, words ? words[1] : "1") == 0;
}

/* Sets a "key=value" of an optimizer in the golden file; keys of one kind are in the kind's table. */
static void set_optimizer(struct golden *golden, const char *key, const char *text)
{
    static const struct json_field common[] = {
        {"beta1", FIELD_REAL, offsetof(struct golden, optimizer.beta1), 0, 0, 0},
        {"beta2", FIELD_REAL, offsetof(struct golden, optimizer.beta2), 0, 0, 0},
        {"eps", FIELD_REAL, offsetof(struct golden, optimizer.epsilon), 0, 0, 0},
        {"weight_decay", FIELD_REAL, offsetof(struct golden, optimizer.weight_decay), 0, 0, 0},
        {"bias_correction", FIELD_FLAG, offsetof(struct golden, optimizer.bias_correction), 0, 0, 0},
        {"gradient_clipping", FIELD_REAL, offsetof(struct golden, clipping), 0, 0, 0},
        {"tensor_norm", FIELD_REAL, offsetof(struct golden, optimizer.tensor_norm), 0, 0, 0},
        {.key = NULL},
    };
    if (json_field_named(common, key))
        set_field(common, golden, key, text);
    else
        set_field(optimizer_kinds[golden->optimizer.kind].params, &golden->optimizer, key, text);
}

static void set_schedule(struct schedule *schedule, const char *key, const char *text)
{
    if (strcmp(key, "rate") == 0)
        schedule->rate = strtod(text, NULL);
    else if (strcmp(key, "steps") == 0)
        schedule->steps = (uint64_t)atoi(text);
    else if (strcmp(key, "warmup") == 0 && schedule_types[schedule->kind].ours)
        schedule->warmup = strtod(text, NULL);
    else if (strcmp(key, "decay_shape") == 0)
        schedule->decay_root = strcmp(text, "sqrt") == 0;
    else
        set_field(schedule_types[schedule->kind].params, schedule, key, text);
}

/* Reads "KIND NAME key=value…". */
static void begin_case(char *line, struct golden *golden)
{
    char *rest, *kind = strtok_r(line, " \n", &rest), *name = strtok_r(NULL, " \n", &rest);
    const bool optimizer = strcmp(kind, "optimizer") == 0;
    *golden = (struct golden){.type = optimizer ? optimizer_type(name) : NULL, .schedule.steps = 1};
    if (optimizer)
        golden->optimizer = *plain(name);
    else
        schedule_defaults(&golden->schedule, (enum schedule_kind)(schedule_type(name) - schedule_types));
    for (char *word; (word = strtok_r(NULL, " \n", &rest));) {
        char *equals = strchr(word, '=');
        *equals = '\0';
        if (optimizer)
            set_optimizer(golden, word, equals + 1);
        else
            set_schedule(&golden->schedule, word, equals + 1);
    }
}

/* The synthetic weights and gradients of the script, in double and in float. */
struct trial {
    struct ops *ops;
    double *p, *g, *m, *v;
    struct update_work work;
};

static void trial_begin(struct trial *trial, enum optimizer_kind kind)
{
    optimizer_work_release(&trial->work, trial->ops);
    optimizer_work_init(&trial->work, kind, trial->ops, &four);
    for (int t = 0; t < TENSORS; t++)
        for (int i = 0; i < (int)tensors[t].count; i++) {
            const size_t at = tensors[t].offset + (size_t)i;
            trial->p[at] = t == 2 ? 0 : ((5 * i + t) % 11 - 5) / 4.0;
            trial->m[at] = trial->v[at] = 0;
        }
}

static void trial_update(struct trial *trial, const struct golden *golden, int step)
{
    for (int t = 0; t < TENSORS; t++)
        for (int i = 0; i < (int)tensors[t].count; i++)
            trial->g[tensors[t].offset + (size_t)i] = ((7 * i + 11 * step + 3 * t) % 13 - 6) / 64.0 * (1 + t);
    optimizer_update(
        &golden->optimizer, trial->ops,
        &(struct update_memory){.params = trial->p, .first = trial->m, .second = trial->v, .gradients = trial->g},
        &trial->work, &(struct update){(uint64_t)step, 0.02, golden->clipping, 1, true, no_losses});
}

#define TYPES_MAX 32
static size_t type_index(const struct optimizer_type *type)
{
    size_t i = 0;
    while (optimizer_type_at(i) != type)
        i++;
    assert_true(i < TYPES_MAX);
    return i;
}

TEST(every_formula_gives_the_scripts_numbers)
{
    FILE *file = fopen(SOURCE_DIR "/tests/golden/optimizers.txt", "r");
    assert_non_null(file);
    struct trial trial = {.ops = made_ops(PRECISION_FP64, CPU_BASE, 1)};
    double **all[] = {&trial.p, &trial.g, &trial.m, &trial.v};
    for (int i = 0; i < 4; i++)
        *all[i] = mem_aligned(FLAT * sizeof(double));
    struct golden golden = {0};
    int types[TYPES_MAX] = {0}, schedules[SCHEDULE_KINDS] = {0}; /* count of golden rows of each */
    for (char line[1000], name[1000]; fgets(line, sizeof line, file);) {
        if (line[0] > '9') {
            strcpy(name, line);
            begin_case(line, &golden);
            trial_begin(&trial, golden.optimizer.kind);
            continue;
        }
        char *at;
        const long update = strtol(line, &at, 10);
        const bool optimizer = golden.type != NULL;
        ++*(optimizer ? &types[type_index(golden.type)] : &schedules[golden.schedule.kind]);
        if (optimizer)
            trial_update(&trial, &golden, (int)update);
        for (size_t i = 0; i < (optimizer ? sizeof seen / sizeof *seen : 1); i++) {
            const double expected = strtod(at, &at);
            const double is = optimizer ? trial.p[seen[i]] : schedule_rate(&golden.schedule, (uint64_t)update);
            if (!(fabs(is - expected) <= 1e-11 * (optimizer ? 1 : fmax(fabs(expected), 1e-6))))
                fail_msg("%supdate %ld, number %zu: %.17g is not %.17g", name, update, i, is, expected);
        }
    }
    fclose(file);
    for (size_t i = 0; optimizer_type_at(i); i++)
        if (types[i] < 20)
            fail_msg("no golden numbers for %s: scripts/golden_optim.py makes them", optimizer_type_at(i)->name);
    for (int kind = 0; kind < SCHEDULE_KINDS; kind++)
        if (schedules[kind] < 20)
            fail_msg("no golden numbers for %s: scripts/golden_optim.py makes them", schedule_types[kind].name);
    for (int i = 0; i < 4; i++)
        mem_free(*all[i]);
    optimizer_work_release(&trial.work, trial.ops);
    trial.ops->close(trial.ops);
}

/* ---- numbers of torch.optim.Muon (scripts/golden_muon.py) ---- */

enum { MUON_MAX = 1024 };
struct muon_case {
    int rows, columns, steps;
    double rate, error; /* error: relative, of PyTorch's bf16 */
    struct optimizer optimizer;
    double wanted[MUON_MAX];
};

static double muon_made(uint32_t index, uint32_t step)
{
    uint32_t x = (index + 100003 * step + 1) * 2654435761u;
    x = (x ^ x >> 15) * 739982445u;
    x = (x ^ x >> 12) * 695872825u;
    return (x >> 8) / 8388608.0 - 1;
}

static bool muon_read(FILE *file, struct muon_case *c)
{
    int nesterov, match;
    c->optimizer = *plain("Muon");
    if (fscanf(file, " muon %d %d %d %lf %lf %d %lf %d %lf", &c->rows, &c->columns, &c->steps, &c->rate,
               &c->optimizer.momentum, &nesterov, &c->optimizer.weight_decay, &match, &c->error) != 9)
        return false;
    c->optimizer.nesterov = nesterov;
    c->optimizer.match_rms = match;
    assert_true(c->rows * c->columns <= MUON_MAX);
    for (int i = 0; i < c->rows * c->columns; i++)
        assert_int_equal(fscanf(file, "%lf", &c->wanted[i]), 1);
    return true;
}

/* Error of the changes of a matrix, relative to their size. */
static double muon_error(const struct muon_case *c, enum precision precision, enum cpu_level level)
{
    const size_t count = (size_t)c->rows * (size_t)c->columns;
    struct param matrix = {
        .shape = {c->rows, c->columns}, .count = count, .trained = count, .decay = true, .hidden = true};
    struct param_chunk whole = {.count = (int32_t)count, .decay = true};
    const struct params params = {
        .items = &matrix, .count = 1, .size = count, .total = count, .chunks = &whole, .chunk_count = 1};
    SCOPED(ops_close_at) struct ops *ops = made_ops(precision, level, 2);
    struct update_work work;
    void *flat[4];
    for (int i = 0; i < 4; i++)
        flat[i] = mem_aligned(count * ops->real_size);
    optimizer_work_init(&work, OPTIMIZER_MUON, ops, &params);
    for (uint32_t step = 0; step <= (uint32_t)c->steps; step++) {
        for (uint32_t i = 0; i < count; i++)
            if (precision == PRECISION_FP64)
                ((double *)flat[step == 0 ? 0 : 3])[i] = muon_made(i, step);
            else
                ((float *)flat[step == 0 ? 0 : 3])[i] = (float)muon_made(i, step);
        if (step > 0)
            optimizer_update(
                &c->optimizer, ops,
                &(struct update_memory){.params = flat[0], .first = flat[1], .second = flat[2], .gradients = flat[3]},
                &work, &(struct update){step, c->rate, 0, 1, true, no_losses});
    }
    double off = 0, change = 0;
    for (uint32_t i = 0; i < count; i++) {
        const double is = precision == PRECISION_FP64 ? ((double *)flat[0])[i] : (double)((float *)flat[0])[i];
        off += (is - c->wanted[i]) * (is - c->wanted[i]);
        change += (c->wanted[i] - muon_made(i, 0)) * (c->wanted[i] - muon_made(i, 0));
    }
    for (int i = 0; i < 4; i++)
        mem_free(flat[i]);
    optimizer_work_release(&work, ops);
    return sqrt(off / change);
}

/* In double, the numbers of PyTorch. In bf16, at most twice the error of PyTorch's bf16, because PyTorch rounds a
 * product and its addend once, and we round twice. */
TEST(muon_is_pytorchs)
{
    int cases = 0;
    FILE *file = fopen(SOURCE_DIR "/tests/golden/muon.txt", "r");
    assert_non_null(file);
    for (struct muon_case c; muon_read(file, &c); cases++) {
        const double exact = muon_error(&c, PRECISION_FP64, CPU_BASE);
        if (!(exact < 1e-9))
            fail_msg("%d x %d: %g off", c.rows, c.columns, exact);
        for (int level = (int)cpu_level(); level >= CPU_BASE; level--) {
            const struct {
                enum precision precision;
                double most;
            } yardsticks[] = {{PRECISION_FP32, 1e-4}, {PRECISION_BF16, 2 * c.error}, {PRECISION_FP16, 0.25 * c.error}};
            for (int i = 0; i < 3; i++) {
                const double off = muon_error(&c, yardsticks[i].precision, (enum cpu_level)level);
                if (!(off <= yardsticks[i].most))
                    fail_msg("%d x %d, %s: %g off, PyTorch's bf16 %g", c.rows, c.columns,
                             precision_name(yardsticks[i].precision), off, c.error);
            }
        }
    }
    assert_int_equal(cases, 4);
    fclose(file);
}

/* ---- bits ---- */

/* Every optimizer in float: the same bits from one thread and from three, and with same_bits at every level. */
TEST(bits_do_not_depend_on_threads_or_levels)
{
    const struct optimizer_type *type;
    for (size_t at = 0; (type = optimizer_type_at(at)); at++) {
        float *p[2 + CPU_LEVELS] = {NULL};
        const int turns = 3 + (int)cpu_level();
        for (int turn = 0; turn < turns; turn++) {
            SCOPED(ops_close_at)
            struct ops *ops = made_backend(&(struct cpu_options){
                .precision = PRECISION_FP32,
                .level = turn < 2 ? cpu_level() : (enum cpu_level)(turn - 2),
                .threads = turn == 1 ? 3 : 1,
                .same_bits = true,
            });
            struct update_work work;
            SCOPED(mem_free_at)
            float *g = mem_aligned(FLAT * sizeof *g), *m = mem_aligned(FLAT * sizeof *m),
                  *v = mem_aligned(FLAT * sizeof *v);
            p[turn] = mem_aligned(FLAT * sizeof(float));
            optimizer_work_init(&work, type->optimizer.kind, ops, &four);
            for (int i = 0; i < FLAT; i++)
                p[turn][i] = (float)(i % 23) * 0.1f - 1;
            for (uint64_t update = 1; update <= 3; update++) {
                for (int i = 0; i < FLAT; i++)
                    g[i] = (float)((i * 7 + (int)update) % 31) * 0.01f - 0.15f;
                optimizer_update(&type->optimizer, ops,
                                 &(struct update_memory){.params = p[turn], .first = m, .second = v, .gradients = g},
                                 &work, &(struct update){update, 0.01, 1, 1, true, no_losses});
            }
            optimizer_work_release(&work, ops);
        }
        for (int turn = 1; turn < turns; turn++) {
            if (memcmp(p[0], p[turn], FLAT * sizeof(float)) != 0)
                fail_msg("%s: turn %d has other bits", type->name, turn);
            mem_free(p[turn]);
        }
        mem_free(p[0]);
    }
}

/* ---- ranges ---- */

/* The parts of four processes, one of them empty. One border is inside a tensor, except for optimizers that update
 * whole matrices. Each process has only the moments and gradients of its part, in memory of that size; squares and sums
 * of the other parts are exchanged. */
enum { PARTS = 4 };
static const struct chunk_range *parts_of(const struct optimizer *optimizer)
{
    static const struct chunk_range within[PARTS] = {{4, 5}, {1, 1}, {1, 4}, {0, 1}};
    static const struct chunk_range between[PARTS] = {{3, 5}, {1, 1}, {1, 3}, {0, 1}};
    return optimizer_kinds[optimizer->kind].matrices ? between : within;
}

struct part {
    struct update_work work;
    struct update_memory memory;
    size_t held; /* count of moments, and of gradients */
};

static void part_begin(struct part *part, enum optimizer_kind kind, const struct ops *ops, struct chunk_range range,
                       float *p)
{
    const size_t from = chunks[range.from].offset;
    const size_t to = range.to > range.from ? chunks[range.to - 1].offset + (size_t)chunks[range.to - 1].count : from;
    *part = (struct part){.memory = {.params = p,
                                     .first = mem_clear(to - from + 1, sizeof *p),
                                     .second = mem_clear(to - from + 1, sizeof *p),
                                     .gradients = mem_aligned((to - from + 1) * sizeof *p),
                                     .held_from = from,
                                     .gradients_from = from}};
    part->held = to - from;
    optimizer_work_init(&part->work, kind, ops, &four);
}

static void part_end(struct part *part, const struct ops *ops)
{
    optimizer_work_release(&part->work, ops);
    mem_free(part->memory.first);
    mem_free(part->memory.second);
    mem_free((void *)part->memory.gradients);
}

/* Copies the results of each process for its chunks, `each` doubles per chunk, to all processes; chunks without a
 * result become NaN. */
static void exchange(const struct chunk_range *parts, double *const of_parts[PARTS], size_t each)
{
    double all[15];
    for (size_t i = 0; i < 5 * each; i++)
        all[i] = NAN;
    for (int i = 0; i < PARTS; i++)
        memcpy(all + parts[i].from * each, of_parts[i] + parts[i].from * each,
               (parts[i].to - parts[i].from) * each * sizeof *all);
    for (int i = 0; i < PARTS; i++)
        memcpy(of_parts[i], all, 5 * each * sizeof *all);
}

static void update_in_parts(const struct optimizer *optimizer, const struct ops *ops, struct part all[PARTS],
                            const struct update *update)
{
    const struct chunk_range *parts = parts_of(optimizer);
    double *squares[PARTS], *sums[PARTS];
    for (int i = 0; i < PARTS; i++) {
        optimizer_squares(ops, &all[i].memory, &all[i].work, parts[i]);
        squares[i] = all[i].work.squares;
        sums[i] = all[i].work.sums;
    }
    exchange(parts, squares, 1);
    for (int i = 0; i < PARTS; i++) {
        optimizer_factors(optimizer, ops, &all[i].work, update);
        optimizer_moments(optimizer, ops, &all[i].memory, &all[i].work, update, parts[i]);
    }
    exchange(parts, sums, 3);
    for (int i = 0; i < PARTS; i++)
        optimizer_apply(optimizer, ops, &all[i].memory, &all[i].work, update, parts[i]);
}

/* Muon: five steps, each with the products [n, w] [w, n], [n, n] [n, n] and [n, n] [n, w] of a matrix of n x w. */
TEST(the_products_of_an_update_are_counted)
{
    assert_float_equal(optimizer_flops(OPTIMIZER_ADAM, &four), 0, 0);
    assert_float_equal(optimizer_flops(OPTIMIZER_MUON, &four),
                       5 * 2 * (3 + 1 + 3 + 10. * 10 * 1639 + 10 * 10 * 10 + 10 * 10 * 1639), 1e-6);
}

/* Three updates by every optimizer, whole and in parts, from the same numbers: the bits are equal. */
TEST(parts_give_the_bits_of_the_whole)
{
    const struct optimizer_type *type;
    SCOPED(ops_close_at) struct ops *ops = made_ops(PRECISION_FP32, cpu_level(), 2);
    for (size_t at = 0; (type = optimizer_type_at(at)); at++) {
        const struct chunk_range *parts = parts_of(&type->optimizer);
        struct update_work work;
        struct part all[PARTS];
        float *p = mem_aligned(FLAT * sizeof *p), *g = mem_aligned(FLAT * sizeof *g),
              *m = mem_aligned(FLAT * sizeof *m), *v = mem_aligned(FLAT * sizeof *v),
              *in_parts = mem_aligned(FLAT * sizeof *p);
        const struct update_memory memory = {.params = p, .first = m, .second = v, .gradients = g};
        for (int i = 0; i < FLAT; i++)
            p[i] = in_parts[i] = (float)(i % 23) * 0.1f - 1;
        optimizer_work_init(&work, type->optimizer.kind, ops, &four);
        for (int i = 0; i < PARTS; i++)
            part_begin(&all[i], type->optimizer.kind, ops, parts[i], in_parts);
        for (uint64_t number = 1; number <= 3; number++) {
            const struct update update = {number, 0.01, 1, 1, true, no_losses};
            for (int i = 0; i < FLAT; i++)
                g[i] = (float)((i * 7 + (int)number) % 31) * 0.01f - 0.15f;
            for (int i = 0; i < PARTS; i++)
                memcpy((float *)all[i].memory.gradients, g + all[i].memory.gradients_from, all[i].held * sizeof *g);
            optimizer_update(&type->optimizer, ops, &memory, &work, &update);
            update_in_parts(&type->optimizer, ops, all, &update);
        }
        assert_memory_equal(p, in_parts, FLAT * sizeof *p);
        for (int i = 0; i < PARTS; i++)
            for (size_t k = parts[i].from; k < parts[i].to; k++) {
                const size_t from = chunks[k].offset, held = from - all[i].memory.held_from;
                const size_t bytes = (size_t)chunks[k].count * sizeof *m;
                assert_memory_equal(m + from, (float *)all[i].memory.first + held, bytes);
                assert_memory_equal(v + from, (float *)all[i].memory.second + held, bytes);
            }
        for (int i = 0; i < PARTS; i++)
            part_end(&all[i], ops);
        optimizer_work_release(&work, ops);
        float *memories[] = {p, g, m, v, in_parts};
        for (size_t i = 0; i < sizeof memories / sizeof *memories; i++)
            mem_free(memories[i]);
    }
}

/* ---- the tables ---- */

static void assert_option(const struct opt_program *program, const char *option, const char *name, int value)
{
    struct error err = {0};
    struct opt_result parsed = {0};
    struct settings settings = {0};
    char line[80], program_name[] = "dstrain", *argv[] = {program_name, line};
    snprintf(line, sizeof line, "--%s=%s", option, name);
    if (opts_parse(program, 2, argv, &settings, &parsed, &err) < 0)
        fail_msg("%s: %s", line, err.text);
    assert_int_equal(strcmp(option, "schedule") == 0 ? settings.schedule : settings.optimizer, value);
    json_auto_t *options = opts_json(program, parsed.verb, &settings);
    assert_string_equal(json_string_value(json_object_get(options, option)), name);
    opts_release(program, &settings, &parsed);
}

/* The row of each kind names this kind, the command line's choice of that name selects it, and its record names it. */
TEST(every_kind_has_its_row)
{
    const struct opt_program program = options_program();
    for (int kind = 0; kind < OPTIMIZER_KINDS; kind++) {
        const struct optimizer_facts *facts = &optimizer_kinds[kind];
        if (!facts->name || !facts->help || !facts->type.name)
            fail_msg("optimizer %d has no row in optimizer_kinds", kind);
        assert_int_equal(facts->type.optimizer.kind, kind);
        assert_ptr_equal(optimizer_type(facts->type.name), &facts->type);
        assert_null(facts->params[OPTIMIZER_PARAMS_MAX - 1].key);
        assert_option(&program, "optimizer", facts->name, kind);
    }
    for (int kind = 0; kind < SCHEDULE_KINDS; kind++) {
        const struct schedule_type *type = &schedule_types[kind];
        if (!type->name)
            fail_msg("schedule %d has no row in schedule_types", kind);
        assert_ptr_equal(schedule_type(type->name), type);
        assert_true(type->ours || type->params[0].key);
        assert_null(type->params[SCHEDULE_PARAMS_MAX - 1].key);
        if (type->ours)
            assert_option(&program, "schedule", type->name, kind);
    }
}

/* ---- norms and clipping ---- */

/* The device's record for gradients, without an update. */
static struct step_record record_of(const struct ops *ops, const struct update_work *work, const void *gradients)
{
    const struct update_step step = {.loss_scale = 1};
    CALL(ops, squares, .work = work, .range = all_chunks(work), .values = gradients);
    CALL(ops, factors, .work = work, .step = &step, .sums = no_losses);
    return *work->record;
}

TEST(norm_is_that_of_all_parameters)
{
    struct model_config config;
    assert_int_equal(model_config_named("tiny", &config), 0);
    config.vocabulary = 1000;
    struct params params;
    params_init(&params, &config);
    SCOPED(mem_free_at) float *values = mem_aligned(params.size * sizeof *values);
    double sum = 0;
    for (size_t i = 0; i < params.count; i++)
        for (size_t j = 0; j < params.items[i].count; j++) {
            const size_t at = params.items[i].offset + j;
            values[at] = (float)(at % 1000) * 1e-3f - 0.3f;
            sum += (double)values[at] * (double)values[at];
        }
    double first = 0;
    for (unsigned threads = 1; threads <= 3; threads++) {
        SCOPED(ops_close_at) struct ops *ops = made_ops(PRECISION_FP32, cpu_level(), threads);
        struct update_work work;
        optimizer_work_init(&work, OPTIMIZER_ADAM, ops, &params);
        const double norm = record_of(ops, &work, values).norm;
        assert_true(fabs(norm / sqrt(sum) - 1) < 1e-12);
        assert_true(threads == 1 || norm == first);
        first = norm;
        if (threads == 3) {
            values[params.items[7].offset + 5] = NAN;
            const struct step_record record = record_of(ops, &work, values);
            assert_true(isnan(record.norm) && record.skipped && !record.halted);
        }
        optimizer_work_release(&work, ops);
    }
    params_release(&params);
}

/* The factor for gradients of this norm, which include the loss scale. */
static double clip_factor(double norm, double norm_max, double loss_scale)
{
    struct step_record record = {0};
    const struct update_step step = {.loss_scale = loss_scale, .norm_max = norm_max};
    record_step(&record, &step, norm * loss_scale * norm * loss_scale, no_losses);
    assert_true(!record.skipped && record.norm == norm);
    return record.factor;
}

TEST(clipping_scales_down_only)
{
    assert_true(clip_factor(0.5, 1, 1) == 1);
    assert_true(clip_factor(5, 0, 1) == 1);
    assert_true(fabs(clip_factor(4, 1, 1) - 1 / 4.000001) < 1e-15);
    assert_true(fabs(clip_factor(4, 2, 1024) - 2 / 4.000001 / 1024) < 1e-15);
    assert_true(clip_factor(0, 1, 64) == 1.0 / 64);
}

/* ---- schedules: cases that are not in the golden file ---- */

static double rate_at(enum schedule_kind kind, double warmup, uint64_t steps, uint64_t update)
{
    const struct schedule schedule = {.kind = kind, .rate = 2, .warmup = warmup, .steps = steps};
    return schedule_rate(&schedule, update);
}

TEST(our_schedules_end_well)
{
    assert_true(fabs(rate_at(SCHEDULE_LINEAR, 0.1, 1000, 1) - 0.02) < 1e-15); /* counted from 1, so the first rate is
                                                                               * not 0 */
    assert_true(fabs(rate_at(SCHEDULE_LINEAR, 100, 1000, 50) - 1) < 1e-15);   /* a warm-up in steps */
    assert_true(rate_at(SCHEDULE_LINEAR, 0.1, 1000, 1000) == 0);
    assert_true(rate_at(SCHEDULE_LINEAR, 0.1, 1000, 1500) == 0);
    assert_true(fabs(rate_at(SCHEDULE_LINEAR, 0, 1000, 1) - 2 * 0.999) < 1e-14);
    assert_true(fabs(rate_at(SCHEDULE_COSINE, 0.1, 1000, 1000)) < 1e-14);
    assert_true(fabs(rate_at(SCHEDULE_LINEAR, 1000, 1000, 1000) - 2) < 1e-14); /* warm-up to the last step */
    assert_true(fabs(rate_at(SCHEDULE_LINEAR, 4000, 1000, 1000) - 0.5) < 1e-14);
    assert_true(fabs(rate_at(SCHEDULE_LINEAR, 0.6, 1000, 800) - 1) < 1e-14); /* half of the remaining steps */

    struct schedule wsd = {.kind = SCHEDULE_WSD, .rate = 2, .warmup = 0.1, .decay = 100, .steps = 1000};
    assert_true(fabs(schedule_rate(&wsd, 50) - 1) < 1e-15);
    assert_true(schedule_rate(&wsd, 100) == 2 && fabs(schedule_rate(&wsd, 900) - 2) < 1e-14); /* a decay in steps */
    assert_true(fabs(schedule_rate(&wsd, 950) - 1) < 1e-14);
    assert_true(schedule_rate(&wsd, 1000) == 0 && schedule_rate(&wsd, 1100) == 0);
    wsd.decay = 0;
    assert_true(schedule_rate(&wsd, 1000) == 2);
}

/* The second moments of 1-bit Adam freeze after the given update, or when their norm stops changing, which is not
 * checked during warm-up. */
TEST(moments_freeze_when_they_stop_changing)
{
    struct optimizer named = optimizer_kinds[OPTIMIZER_ONEBIT].type.optimizer, waits = named;
    const struct schedule schedule = {.kind = SCHEDULE_CONSTANT, .rate = 1, .warmup = 2500, .steps = 100000};
    struct freeze_state freeze = {0};
    named.freeze_step = 7;
    for (uint64_t update = 1; update <= 6; update++)
        freeze_after(&freeze, &named, &schedule, update, 1);
    assert_int_equal(freeze.update, 0);
    freeze_after(&freeze, &named, &schedule, 7, 1);
    assert_int_equal(freeze.update, 7);

    waits.freeze_step = 0;
    waits.freeze_ratio = 0.96;
    waits.beta2 = 0.999; /* checks every 1,000th update */
    freeze = (struct freeze_state){0};
    static const double norms[] = {1, 1, 2, 2.01};
    for (uint64_t i = 0; i < 4; i++) {
        assert_int_equal(freeze.update, 0);
        assert_true(freeze_looks(&waits, &freeze, 1000 * (i + 1)) && !freeze_looks(&waits, &freeze, 1000 * i + 999));
        freeze_after(&freeze, &waits, &schedule, 1000 * (i + 1), norms[i]);
    }
    assert_int_equal(freeze.update, 4000);
}

static void check_rate(const struct schedule *schedule, uint64_t update, double expected, double relative)
{
    const double is = schedule_rate(schedule, update);
    if (!(fabs(is - expected) <= relative * expected))
        fail_msg("%s at %d: %.12g is not %.12g", schedule_types[schedule->kind].name, (int)update, is, expected);
}

/* Golden numbers, computed by hand from the original formulas; bing_bert's step n is update n + 1, DeepSpeed's index i
 * is update i + 2. */
TEST(schedules_of_others_give_their_numbers)
{
    struct schedule s = {.kind = SCHEDULE_BING_LINEAR_EXP,
                         .rate = 1,
                         .warmup = 0.06,
                         .total = 7500,
                         .decay_rate = 0.9,
                         .decay_step = 250,
                         .steps = 7500};
    check_rate(&s, 1 + 1, .00222222, 1e-5);
    check_rate(&s, 100 + 1, .22222222, 1e-7);
    check_rate(&s, 450 + 1, 1, 1e-12);
    check_rate(&s, 700 + 1, .9, 1e-12);
    check_rate(&s, 2000 + 1, .5203595848, 1e-9);
    check_rate(&s, 7499 + 1, .0512650985, 1e-8);
    assert_true(schedule_rate(&s, 1) == 0);
    s.kind = SCHEDULE_BING_EXP_EXP;
    check_rate(&s, 1 + 1, 4.9382716e-6, 1e-7);
    check_rate(&s, 100 + 1, .0493827, 1e-6);
    s = (struct schedule){.kind = SCHEDULE_BING_LINEAR_EXP,
                          .rate = 4e-3,
                          .warmup = 0.02,
                          .total = 187000,
                          .decay_rate = 0.9,
                          .decay_step = 1000,
                          .steps = 187000};
    check_rate(&s, 3739 + 1, .00399893, 1e-6);
    check_rate(&s, 3740 + 1, .004, 1e-12);
    check_rate(&s, 4740 + 1, .0036, 1e-12);
    check_rate(&s, 24430 + 1, .000452207, 1e-6);
    s.offset = 10e-4;
    check_rate(&s, 1, 10e-4, 1e-12);

    s = (struct schedule){.kind = SCHEDULE_WARMUP, .rate = 1e-3, .warmup = 1000, .steps = 1};
    assert_true(schedule_rate(&s, 1) == 0 && schedule_rate(&s, 2) == 0);
    check_rate(&s, 1 + 2, 1.0034e-4, 1e-4);
    s.warmup = 1; /* same as 2, because there is no logarithm to base 1 */
    assert_true(schedule_rate(&s, 2) == 0 && schedule_rate(&s, 1 + 2) == 1e-3);
    s.warmup = 1000;
    check_rate(&s, 10 + 2, 3.47131e-4, 1e-5);
    check_rate(&s, 500 + 2, 8.99946e-4, 1e-5);
    check_rate(&s, 999 + 2, 1e-3, 1e-9);
    check_rate(&s, 5000, 1e-3, 0);

    s = (struct schedule){.kind = SCHEDULE_POLY_WARM_UP,
                          .rate = 6e-3,
                          .warmup = 0.2843,
                          .total = 7038,
                          .power = 0.5,
                          .constant = -1,
                          .steps = 7038};
    check_rate(&s, 2000, .0059973, 1e-5);
    check_rate(&s, 2001, .0050759, 1e-5);
    s = (struct schedule){.kind = SCHEDULE_POLY_WARM_UP,
                          .rate = 1.5e-3,
                          .warmup = 0.05,
                          .total = 155000,
                          .power = 1,
                          .constant = 0.25,
                          .steps = 155000};
    check_rate(&s, 1, 1.93548e-7, 1e-5);
    check_rate(&s, 7750, .0015, 1e-12);
    check_rate(&s, 46500, .0015, 1e-12);
    check_rate(&s, 46501, .00149998618, 1e-8);
    check_rate(&s, 100000, .00076036866, 1e-8);
    check_rate(&s, 154999, 1.38249e-8, 1e-5);
}

TEST(schedules_bring_their_defaults)
{
    struct schedule s = {.rate = 3, .steps = 500};
    schedule_defaults(&s, SCHEDULE_BING_LINEAR_EXP);
    assert_true(s.total == 500 && s.warmup == 0.002 && isnan(s.decay_rate) && isnan(s.decay_step) && s.rate == 3);
    schedule_defaults(&s, SCHEDULE_POLY_WARM_UP);
    assert_true(s.power == 0.5 && s.constant == -1 && isnan(s.warmup) && s.total == 500);
    schedule_defaults(&s, SCHEDULE_WARMUP);
    assert_true(s.rate == 0.001 && s.warmup == 1000 && s.minimum == 0 && !s.linear_warmup);
    assert_null(schedule_type("warmuplr"));
}

TEST(rewarmup_counts_from_where_it_begins)
{
    struct schedule s = {.rate = 1, .warmup = 10, .steps = 100}, fresh = s;
    s.begins = 40;
    for (uint64_t update = 41; update < 60; update++)
        assert_true(schedule_rate(&s, update) == schedule_rate(&fresh, update - 40));
}

TEST(one_cycle_moves_the_momentum)
{
    struct schedule s = {.steps = 100};
    double beta1 = 0, beta2 = 0;
    assert_false(schedule_momentum(&s, 1, &beta1, &beta2));
    schedule_defaults(&s, SCHEDULE_ONE_CYCLE);
    s.first = 10;
    s.second = 20;
    assert_true(schedule_momentum(&s, 1, &beta1, &beta2) && beta1 == 0.8 && beta2 == 0.99);
    assert_true(schedule_momentum(&s, 6, &beta1, &beta2) && fabs(beta1 - 0.85) < 1e-12);
    assert_true(schedule_momentum(&s, 11, &beta1, &beta2) && fabs(beta1 - 0.8) < 1e-12);
    assert_true(schedule_momentum(&s, 21, &beta1, &beta2) && fabs(beta1 - 0.85) < 1e-12);
    assert_true(schedule_momentum(&s, 99, &beta1, &beta2) && fabs(beta1 - 0.9) < 1e-12);
}

/* ---- loss scale ---- */

/* Plays "+" (good) and "x" (overflow); returns the scale as a power of two after every step. */
static void play(struct scaler_settings settings, const char *steps, const int *powers)
{
    struct scaler_state scaler = scaler_begin(&settings);
    for (uint64_t step = 0; steps[step]; step++) {
        scaler_update(&settings, &scaler, step, steps[step] == 'x');
        if (scaler.scale != exp2(powers[step]))
            fail_msg("%s, step %d: %g is not 2^%d", steps, (int)step, scaler.scale, powers[step]);
    }
}

TEST(scales_halve_and_double)
{
    struct scaler_settings plain_rule = scaler_defaults(), patient, still;
    plain_rule.window = 3;
    /* Good steps are counted from the last overflow; before any, step 3 doubles. Hysteresis is not used. */
    play(plain_rule, "+++++++", (const int[]){16, 16, 16, 17, 17, 17, 18});
    play(plain_rule, "x++++x+", (const int[]){15, 15, 15, 15, 16, 15, 15});
    patient = plain_rule;
    patient.patient = true;
    /* The first overflow is forgiven once; doubling forgives again. */
    play(patient, "+++", (const int[]){16, 16, 17});
    play(patient, "xx+++xx", (const int[]){16, 15, 15, 15, 16, 16, 15});
    play(patient, "x+x", (const int[]){16, 16, 15});
    patient.consecutive = true;
    play(patient, "x+x", (const int[]){16, 16, 16});
    patient.hysteresis = 1;
    play(patient, "x+x", (const int[]){15, 15, 14});
    still = plain_rule;
    still.loss_scale = 128;
    play(still, "x++++x", (const int[]){7, 7, 7, 7, 7, 7});
    plain_rule.initial_power = 1;
    play(plain_rule, "xxx", (const int[]){0, 0, 0}); /* never below the minimum */
}

TEST(only_the_patient_rule_gives_up)
{
    struct scaler_settings settings = scaler_defaults();
    settings.initial_power = 0;
    struct scaler_state scaler = scaler_begin(&settings);
    assert_false(scaler_exhausted(&settings, &scaler));
    settings.patient = true;
    assert_false(scaler_exhausted(&settings, &scaler)); /* one more overflow is allowed */
    scaler_update(&settings, &scaler, 0, true);
    assert_true(scaler_exhausted(&settings, &scaler));
}
