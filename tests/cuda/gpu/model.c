/* Whole models on the backend under test: gradients, optimizers, 200 steps compared with the CPU's, the same bits from
 * two runs and from an interrupted one, and nearly the same numbers with other micro-batches. */
#include <math.h>

#include "tests/cuda/gpu/sides.h"
#include "trainer/optim/optimizer.h"

/* ---- gradients ---- */

static const struct model_config small = {
    .layers = 3,
    .hidden = 128,
    .heads = 2,
    .intermediate = 512,
    .vocabulary = 1000,
    .positions = 128,
    .types = 2,
    .gelu = GELU_TANH,
    .task_heads = 1u << HEAD_MASKED | 1u << HEAD_NEXT,
    .norm_epsilon = 1e-12,
    .initializer_range = 0.02,
    .hidden_dropout = 0.1,
    .attention_dropout = 0.1,
};

/* Fills parameters with values far from those at initialization, so that no gradient is close to zero. */
static void fill(struct model *model, struct ops *ops)
{
    const struct params *params = model_table(model);
    const size_t bytes = params->size * ops->real_size;
    float *drawn = mem_clear(params->size, sizeof *drawn);
    params_draw_all(params, 9, drawn);
    draw_again(77);
    for (size_t i = 0; i < params->count; i++)
        for (size_t j = 0; j < params->items[i].count; j++)
            drawn[params->items[i].offset + j] =
                2 * drawn[params->items[i].offset + j] * (params->items[i].init == INIT_ONE ? 0.5f : 1) +
                0.1f * (float)draw();
    void *flat = ops->map(ops->device, model_params(model), bytes, MAP_FILL);
    for (size_t i = 0; i < params->size; i++)
        if (ops->real_size == 8)
            ((double *)flat)[i] = (double)drawn[i];
        else
            ((float *)flat)[i] = drawn[i];
    ops->unmap(ops->device, model_params(model), flat, bytes, MAP_FILL);
    mem_free(drawn);
    model_refresh(model);
}

static double relative(const double *a, const double *b, size_t count)
{
    double error = 0, size = 0;
    for (size_t i = 0; i < count; i++) {
        error += (a[i] - b[i]) * (a[i] - b[i]);
        size += b[i] * b[i];
    }
    return size > 0 ? sqrt(error / size) : sqrt(error);
}

static double *gradients_of(struct model *model, const struct ops *ops)
{
    const size_t size = model_table(model)->size;
    double *out = mem_array(size, sizeof *out);
    const void *flat = ops->map(ops->device, model_gradients(model), size * ops->real_size, MAP_READ);
    for (size_t i = 0; i < size; i++)
        out[i] = ops->real_size == 8 ? ((const double *)flat)[i] : (double)((const float *)flat)[i];
    ops->unmap(ops->device, model_gradients(model), (void *)flat, size * ops->real_size, MAP_READ);
    return out;
}

/* The gradient of the key's bias is noise, because the softmax does not depend on it. Its error is measured relative to
 * the gradient of the key's weight. */
static bool is_noise(const char *name)
{
    return strstr(name, "attention.self.key.bias") != NULL;
}

void check_gradients(const struct model_config *config, const char *what)
{
    static const int32_t lengths[] = {128, 1, 100, 64, 17, 33, 127, 2, 90, 128};
    const struct made_source source = {3, config->vocabulary, 6};
    struct batch batch = made_batch(&source, lengths, 0, 10);
    const struct model_budget budget = made_budget(&batch);
    struct model_metrics metrics[SIDES] = {0};
    double *found[SIDES];
    const struct params *table = NULL;
    struct model *models[SIDES];
    EACH_SIDE (s) {
        models[s] = model_open(config, OPS(s), &budget);
        table = model_table(models[s]);
        fill(models[s], OPS(s));
        const struct step_settings settings = made_step(11, 5, &batch, 2);
        model_begin_step(models[s], &settings);
        model_forward_backward(models[s], &batch, NULL, NULL); /* twice: gradients and sums accumulate */
        model_forward_backward(models[s], &batch, NULL, &metrics[s]);
        found[s] = gradients_of(models[s], OPS(s));
    }
    check(metrics[TESTED].heads[HEAD_MASKED].count == metrics[EXACT].heads[HEAD_MASKED].count &&
              metrics[TESTED].tokens == metrics[EXACT].tokens,
          "%s %s: counts", sides_name(), what);
    compare_numbers(metrics[EXACT].heads[HEAD_MASKED].loss, metrics[HOST].heads[HEAD_MASKED].loss,
                    metrics[TESTED].heads[HEAD_MASKED].loss, 1e-5, "masked loss");
    if (model_has(config, HEAD_NEXT))
        compare_numbers(metrics[EXACT].heads[HEAD_NEXT].loss, metrics[HOST].heads[HEAD_NEXT].loss,
                        metrics[TESTED].heads[HEAD_NEXT].loss, 1e-5, "next loss");
    const bool exact_type = OPS(TESTED)->storage_size == 4;
    for (size_t i = 0; i < table->count; i++) {
        const struct param *param = &table->items[i];
        const double *exact = found[EXACT] + param->offset;
        const double host = relative(found[HOST] + param->offset, exact, param->count);
        const double tested = relative(found[TESTED] + param->offset, exact, param->count);
        const double limit = exact_type ? 1e-4 : 1.5 * host + 5e-3;
        check(is_noise(param->name) || tested <= limit, "%s %s, gradient of %s: relative error %.3g, the CPU's %.3g",
              sides_name(), what, param->name, tested, host);
    }
    EACH_SIDE (s) {
        mem_free(found[s]);
        model_close(models[s]);
    }
    made_batch_release(&batch);
}

void check_models(void)
{
    const int before = checks_failed(), from = checks_done();
    struct model_config config = small;
    check_gradients(&config, "post");
    config.gelu = GELU_ERF;
    config.task_heads = 1u << HEAD_MASKED;
    check_gradients(&config, "erf-GELU");
    config = small;
    config.architecture = ARCHITECTURE_PRE;
    config.layer_drop = (struct layer_drop){.theta = 0.5, .gamma = 0.1};
    check_gradients(&config, "pre, layers dropped");
    config = small;
    config.architecture = ARCHITECTURE_LARGE;
    check_gradients(&config, "large");
    printf("%s %-10s %d of %d checks right\n", sides_name(), "models",
           checks_done() - from - (checks_failed() - before), checks_done() - from);
    fflush(stdout);
}

/* ---- optimizers: ten steps ---- */

/* In three ranges from the last to the first, as processes have them, each with memory that begins at its range. */
static void update_in_ranges(const struct optimizer *optimizer, const struct ops *ops, const struct update_work *work,
                             const struct update_memory *memory, const struct update *update,
                             const struct params *params)
{
    const size_t last = all_chunks(work).to, ends[] = {0, last / 3, last / 2 + 1, last};
    struct update_memory parts[3];
    for (size_t i = 3; i-- > 0;) {
        parts[i] = *memory;
        parts[i].held_from = parts[i].gradients_from = params->chunks[ends[i]].offset;
        parts[i].first = (char *)memory->first + parts[i].held_from * ops->real_size;
        parts[i].second = (char *)memory->second + parts[i].held_from * ops->real_size;
        parts[i].gradients = (const char *)memory->gradients + parts[i].held_from * ops->real_size;
        optimizer_squares(ops, &parts[i], work, (struct chunk_range){ends[i], ends[i + 1]});
    }
    optimizer_factors(optimizer, ops, work, update);
    for (size_t i = 3; i-- > 0;)
        optimizer_moments(optimizer, ops, &parts[i], work, update, (struct chunk_range){ends[i], ends[i + 1]});
    for (size_t i = 3; i-- > 0;)
        optimizer_apply(optimizer, ops, &parts[i], work, update, (struct chunk_range){ends[i], ends[i + 1]});
}

/* One update on one side; every other one of TESTED is in ranges, unless they would cut matrices. Returns the step's
 * record. */
static struct step_record update_side(const struct optimizer *optimizer, enum side s, const struct update_work *work,
                                      const struct update_memory *memory, const struct update *update,
                                      const struct params *params)
{
    struct step_record record;
    const int slot = (int)(update->number % 2);
    if (s == TESTED && slot && !optimizer_kinds[optimizer->kind].matrices)
        update_in_ranges(optimizer, OPS(s), work, memory, update, params);
    else
        optimizer_update(optimizer, OPS(s), memory, work, update);
    OPS(s)->send(OPS(s)->device, slot, work->record, sizeof record);
    OPS(s)->receive(OPS(s)->device, slot, &record, sizeof record);
    return record;
}

static bool is_changed(const struct array *array, enum side s, const double *before)
{
    double *now = mem_array(array->count, sizeof *now);
    array_get(array, s, now);
    const bool changed = memcmp(now, before, array->count * sizeof *now) != 0;
    mem_free(now);
    return changed;
}

/* A step with an infinite gradient changes nothing and halts the steps after it. A NaN loss in a step that does not
 * halt also changes nothing, but later steps go on. */
static void check_skips(const struct optimizer *optimizer, const struct params *params, const struct update_work *work,
                        struct array flat[5])
{
    const enum side s = TESTED;
    struct array *gradients = &flat[3], *sums = &flat[4];
    const struct update_memory memory = {
        .params = AT(flat[0]), .first = AT(flat[1]), .second = AT(flat[2]), .gradients = AT(*gradients)};
    struct update update = {11, 1e-3, 1, 1, true, AT(*sums)};
    double *good = mem_array(params->size, sizeof *good), *before[2], losses[STEP_SUMS] = {1, 2, (double)NAN, 4};
    for (int i = 0; i < 2; i++) {
        before[i] = mem_array(params->size, sizeof *before[i]);
        array_get(&flat[i], s, before[i]);
    }
    array_get(gradients, s, good);
    double *one = &good[params->items[3].offset + 1];
    const double kept = *one;
    *one = INFINITY;
    array_put(gradients, good);
    struct step_record record = update_side(optimizer, s, work, &memory, &update, params);
    check(record.skipped && record.halted && !isfinite(record.norm), "an infinite gradient does not halt");
    *one = kept;
    array_put(gradients, good);
    update.number++;
    record = update_side(optimizer, s, work, &memory, &update, params);
    check(record.skipped && record.halted && isfinite(record.norm), "the step after it is not held back");
    CALL(OPS(s), clear, .memory = work->record, .bytes = sizeof record);
    array_put(sums, losses);
    update.halts = false;
    record = update_side(optimizer, s, work, &memory, &update, params);
    check(record.skipped && !record.halted && isnan(record.sums[2]) && record.sums[3] == 4, "a loss of NaN counts");
    check(!is_changed(&flat[0], s, before[0]) && !is_changed(&flat[1], s, before[1]), "a skipped step changed numbers");
    losses[2] = 3;
    array_put(sums, losses);
    record = update_side(optimizer, s, work, &memory, &update, params);
    check(!record.skipped && is_changed(&flat[0], s, before[0]) && is_changed(&flat[1], s, before[1]),
          "a step that came to a number is skipped");
    for (int i = 0; i < 2; i++)
        mem_free(before[i]);
    mem_free(good);
}

static void optimizer_case(const struct optimizer_type *type, bool ratio_always)
{
    struct model_config config = small; /* the word table has two chunks, the other tensors have one */
    config.layers = 1;
    config.hidden = 64;
    config.intermediate = 256;
    config.vocabulary = 300;
    struct params params;
    params_init(&params, &config);
    struct optimizer optimizer = type->optimizer;
    if (ratio_always)
        optimizer.ratio_always = true;
    if (optimizer.weight_decay == 0)
        optimizer.weight_decay = 0.01;
    struct array flat = array_zero(params.size, REAL), first = array_zero(params.size, REAL);
    struct array second = array_zero(params.size, REAL), gradients = array_zero(params.size, REAL);
    double *values = mem_clear(params.size, sizeof *values), *begun[SIDES];
    draw_again(31);
    for (size_t i = 0; i < params.count; i++)
        for (size_t j = 0; j < params.items[i].count; j++)
            values[params.items[i].offset + j] = 0.05 * draw() + (params.items[i].init == INIT_ONE);
    array_put(&flat, values);
    EACH_SIDE (s) {
        begun[s] = mem_array(params.size, sizeof(double));
        array_get(&flat, s, begun[s]);
    }
    double norms[SIDES];
    struct update_work work[SIDES];
    struct array sums = array_zero(STEP_SUMS, DOUBLE);
    EACH_SIDE (s)
        optimizer_work_init(&work[s], optimizer.kind, OPS(s), &params);
    for (uint64_t update = 1; update <= 10; update++) {
        for (size_t i = 0; i < params.count; i++)
            for (size_t j = 0; j < params.items[i].count; j++)
                values[params.items[i].offset + j] = draw() * draw() * 0.3;
        array_put(&gradients, values);
        EACH_SIDE (s)
            norms[s] = update_side(&optimizer, s, &work[s],
                                   &(struct update_memory){.params = AT(flat),
                                                           .first = AT(first),
                                                           .second = AT(second),
                                                           .gradients = AT(gradients)},
                                   &(struct update){update, 1e-3, 1, 1, true, AT(sums)}, &params)
                           .norm;
    }
    check(fabs(norms[TESTED] / norms[EXACT] - 1) <= 1e-6, "%s: the gradient's norm is %.9g, not %.9g", type->name,
          norms[TESTED], norms[EXACT]);
    double *now[SIDES];
    EACH_SIDE (s) {
        now[s] = mem_array(params.size, sizeof(double));
        array_get(&flat, s, now[s]);
        for (size_t i = 0; i < params.size; i++)
            now[s][i] -= begun[s][i];
    }
    const double tested = relative(now[TESTED], now[EXACT], params.size);
    /* A matrix in 16 bits is off by what PyTorch's Muon loses there (tests/golden/muon.txt). */
    const bool host = sides_count() > HOST;
    const double host_off = host ? relative(now[HOST], now[EXACT], params.size) : 0;
    check(tested <= (OPS(TESTED)->storage_size == 4 ? 1e-4 : 3e-2) && (!host || tested <= 1.5 * host_off + 1e-5),
          "%s: ten updates differ by %.3g, the CPU's by %.3g", type->name, tested, host_off);
    compare(&first, host ? 0.1 : 1, "%s: first moment", type->name);
    compare(&second, host ? 0.1 : 1, "%s: second moment", type->name);
    size_t touched = 0; /* gaps stay zero */
    bool *named = mem_clear(params.size, sizeof *named);
    for (size_t i = 0; i < params.count; i++)
        memset(named + params.items[i].offset, 1, params.items[i].count);
    for (size_t i = 0; i < params.size; i++)
        touched += !named[i] && now[TESTED][i] != 0;
    check(touched == 0, "%s: %zu numbers between tensors were changed", type->name, touched);
    mem_free(named);
    check_skips(&optimizer, &params, &work[TESTED], (struct array[]){flat, first, second, gradients, sums});
    EACH_SIDE (s) {
        optimizer_work_release(&work[s], OPS(s));
        mem_free(begun[s]);
        mem_free(now[s]);
    }
    array_release(&sums);
    mem_free(values);
    array_release(&flat);
    array_release(&first);
    array_release(&second);
    array_release(&gradients);
    params_release(&params);
}

/* In 16 bits those that keep matrices in them. */
void check_optimizers(int passes)
{
    const int before = checks_failed(), from = checks_done();
    for (int pass = 0; pass < passes; pass++) {
        const struct optimizer_type *type;
        begin_pass(pass);
        for (size_t i = 0; (type = optimizer_type_at(i)); i++)
            if (OPS(TESTED)->storage_size == 4 || optimizer_kinds[type->optimizer.kind].matrices)
                optimizer_case(type, false);
        if (OPS(TESTED)->storage_size == 4)
            optimizer_case(optimizer_type("NVLAMB"), true);
    }
    printf("%s %-10s %d of %d checks right\n", sides_name(), "optimizers",
           checks_done() - from - (checks_failed() - before), checks_done() - from);
    fflush(stdout);
}

/* ---- training: the mini model on words that follow each other by a rule ---- */

enum { STEPS = 200, SEQUENCES = 16, LENGTH = 64, WORDS = 24, MASK = 3, VOCABULARY = 1024 };

struct run {
    struct ops *ops;
    struct model *model;
    struct update_memory memory;
    struct update_work work;
    struct model_budget budget;
};

static struct ops *open_ops(enum device_kind device, enum precision precision)
{
    struct error err;
    struct ops *ops =
        backend_open(device, &(struct cpu_options){.precision = precision, .level = cpu_level()}, NULL, &err);
    if (!ops) {
        error_print(&err, "dstrain_cuda_test", 0);
        abort();
    }
    return ops;
}

static void run_open(struct run *run, enum device_kind device, enum precision precision)
{
    struct model_config config;
    model_config_named("mini", &config);
    config.vocabulary = VOCABULARY;
    *run = (struct run){.ops = open_ops(device, precision),
                        .budget = {.token_rows_max = SEQUENCES * LENGTH,
                                   .head_rows_max = {[HEAD_MASKED] = SEQUENCES * 10,
                                                     [HEAD_NEXT] = SEQUENCES,
                                                     [HEAD_CLASS] = SEQUENCES,
                                                     [HEAD_SPAN] = SEQUENCES,
                                                     [HEAD_TOKEN] = SEQUENCES * 10},
                                   .sequences_max = SEQUENCES,
                                   .length_max = LENGTH}};
    struct ops *ops = run->ops;
    run->model = model_open(&config, ops, &run->budget);
    const struct params *params = model_table(run->model);
    const size_t bytes = params->size * sizeof(float);
    float *flat = ops->map(ops->device, model_params(run->model), bytes, MAP_FILL);
    params_draw_all(params, 42, flat);
    ops->unmap(ops->device, model_params(run->model), flat, bytes, MAP_FILL);
    model_refresh(run->model);
    run->memory = (struct update_memory){.params = model_params(run->model),
                                         .first = ops->allocate(ops->device, bytes),
                                         .second = ops->allocate(ops->device, bytes),
                                         .gradients = model_gradients(run->model)};
    optimizer_work_init(&run->work, OPTIMIZER_ADAM, ops, params);
}

static void run_close(struct run *run)
{
    optimizer_work_release(&run->work, run->ops);
    run->ops->release(run->ops->device, run->memory.first);
    run->ops->release(run->ops->device, run->memory.second);
    model_close(run->model);
    run->ops->close(run->ops);
}

/* `count` sequences of a step from number `first` on. The first word of a sequence is random, each other follows from
 * the one before; one in eight is masked; a segment B whose words run backwards has the label "random". */
static struct batch step_batch(uint32_t step, int32_t first, int32_t count)
{
    const struct random_stream stream = random_stream(8, RANDOM_FRESH, step, 0, 0, 0, 0);
    const struct made_source source = {1, VOCABULARY, 8};
    int32_t lengths[SEQUENCES] = {0};
    for (int32_t i = 0; i < count; i++)
        lengths[i] = LENGTH - (int32_t)(random_at(&stream, (uint32_t)(first + i), 1000) % 24);
    struct batch batch = made_batch(&source, lengths, first, count);
    for (int32_t i = 0, masked = 0; i < count; i++) {
        const uint32_t number = (uint32_t)(first + i);
        const bool backwards = random_at(&stream, number, 2000) & 1;
        int32_t word = (int32_t)(random_at(&stream, number, 3000) % WORDS);
        for (int32_t row = batch.starts[i]; row < batch.starts[i + 1]; row++) {
            batch.ids[row] = 10 + word;
            if (masked < batch.heads[HEAD_MASKED].live && batch.heads[HEAD_MASKED].index[masked] == row) {
                batch.heads[HEAD_MASKED].labels[masked++] = batch.ids[row];
                batch.ids[row] = MASK;
            }
            word = (word + (backwards && batch.segments[row] ? WORDS - 7 : 7)) % WORDS;
        }
        batch.heads[HEAD_NEXT].labels[i] = backwards;
    }
    return batch;
}

/* Runs one step of `pieces` micro-batches. Returns the mean masked loss. */
static double run_step(struct run *run, uint32_t step, int32_t pieces)
{
    struct model_metrics metrics = {0};
    struct batch whole = step_batch(step, 0, SEQUENCES);
    const struct step_settings settings = made_step(42, step, &whole, 1);
    model_begin_step(run->model, &settings);
    made_batch_release(&whole);
    for (int32_t piece = 0; piece < pieces; piece++) {
        struct batch batch = step_batch(step, piece * (SEQUENCES / pieces), SEQUENCES / pieces);
        model_forward_backward(run->model, &batch, NULL, piece + 1 == pieces ? &metrics : NULL);
        made_batch_release(&batch);
    }
    const double rate = 1e-3 * (step < 20 ? step / 20.0 : 1);
    optimizer_update(&optimizer_type("AdamW")->optimizer, run->ops, &run->memory, &run->work,
                     &(struct update){step, rate, 1, 1, true, model_sums(run->model)});
    model_refresh(run->model);
    return made_mean(&metrics, HEAD_MASKED);
}

static float *read_flat(struct run *run, void *memory)
{
    const size_t bytes = model_table(run->model)->size * sizeof(float);
    float *out = mem_alloc(bytes);
    void *flat = run->ops->map(run->ops->device, memory, bytes, MAP_READ);
    memcpy(out, flat, bytes);
    run->ops->unmap(run->ops->device, memory, flat, bytes, MAP_READ);
    return out;
}

static void write_flat(struct run *run, void *memory, const float *values)
{
    const size_t bytes = model_table(run->model)->size * sizeof(float);
    void *flat = run->ops->map(run->ops->device, memory, bytes, MAP_FILL);
    memcpy(flat, values, bytes);
    run->ops->unmap(run->ops->device, memory, flat, bytes, MAP_FILL);
}

int make_curve(const char *path)
{
    struct run run;
    FILE *file = fopen(path, "we");
    if (!file)
        return -1;
    fprintf(file, "# Masked loss of %d steps of mini on the CPU in fp32: dstrain_cuda_test --make-curve FILE\n", STEPS);
    run_open(&run, DEVICE_CPU, PRECISION_FP32);
    for (uint32_t step = 1; step <= STEPS; step++)
        fprintf(file, "%.7f\n", run_step(&run, step, 1));
    run_close(&run);
    return fclose(file);
}

/* Largest allowed distance from the CPU's curve: rounding errors grow with the steps. */
static double curve_limit(enum precision precision, int step)
{
    if (precision == PRECISION_FP32)
        return 1e-4 + 2e-5 * step;
    return 0.02 + 1e-4 * step;
}

void check_curve(enum device_kind device, enum precision precision, const char *golden)
{
    const int before = checks_failed(), from = checks_done();
    char line[128];
    struct run run;
    FILE *file = fopen(golden, "re");
    check(file != NULL && fgets(line, sizeof line, file), "%s: cannot be read", golden);
    if (!file)
        return;
    run_open(&run, device, precision);
    double worst = 0, sums[2] = {0, 0}, last = 0;
    for (int step = 1; step <= STEPS && fgets(line, sizeof line, file); step++) {
        const double expected = strtod(line, NULL);
        last = run_step(&run, (uint32_t)step, 1);
        sums[0] += expected;
        sums[1] += last;
        worst = fmax(worst, fabs(last - expected));
        check(fabs(last - expected) <= curve_limit(precision, step), "curve: step %d has loss %.6f, the CPU %.6f", step,
              last, expected);
    }
    fclose(file);
    run_close(&run);
    printf("curve: %d steps end at %.4f; mean %.5f, the CPU's %.5f; largest difference %.3g\n", STEPS, last,
           sums[1] / STEPS, sums[0] / STEPS, worst);
    printf("%-15s %d of %d checks right\n", "curve", checks_done() - from - (checks_failed() - before),
           checks_done() - from);
    fflush(stdout);
}

/* Compares two equal runs, one that is interrupted, and one with four micro-batches per step. */
void check_same_bits(enum device_kind device, enum precision precision)
{
    enum { ALL = 12, HALF = 5 };
    const int before = checks_failed(), from = checks_done();
    float *ends[3], *params, *first, *second;
    size_t bytes = 0;
    for (int round = 0; round < 3; round++) {
        struct run run;
        run_open(&run, device, precision);
        bytes = model_table(run.model)->size * sizeof(float);
        for (uint32_t step = 1; step <= ALL; step++) {
            run_step(&run, step, round == 2 ? 4 : 1);
            if (round == 1 && step == HALF) {
                params = read_flat(&run, run.memory.params);
                first = read_flat(&run, run.memory.first);
                second = read_flat(&run, run.memory.second);
                run_close(&run);
                run_open(&run, device, precision);
                write_flat(&run, run.memory.params, params);
                write_flat(&run, run.memory.first, first);
                write_flat(&run, run.memory.second, second);
                model_refresh(run.model);
                mem_free(params);
                mem_free(first);
                mem_free(second);
            }
        }
        ends[round] = read_flat(&run, run.memory.params);
        run_close(&run);
    }
    check(memcmp(ends[0], ends[1], bytes) == 0, "a run that was interrupted has other bits");
    double error = 0, size = 0;
    for (size_t i = 0; i < bytes / sizeof(float); i++) {
        error += ((double)ends[2][i] - (double)ends[0][i]) * ((double)ends[2][i] - (double)ends[0][i]);
        size += (double)ends[0][i] * (double)ends[0][i];
    }
    check(sqrt(error / size) < (precision == PRECISION_FP32 ? 2e-4 : 2e-2), "four micro-batches a step end %.3g away",
          sqrt(error / size));
    for (int round = 0; round < 3; round++)
        mem_free(ends[round]);
    printf("%-15s %d of %d checks right\n", "same bits", checks_done() - from - (checks_failed() - before),
           checks_done() - from);
    fflush(stdout);
}
