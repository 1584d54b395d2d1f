/* Compares ModernBERTs on the backend under test with the CPU: gradients, and a short training with StableAdamW. */
#include <math.h>

#include "tests/cuda/gpu/sides.h"
#include "trainer/optim/optimizer.h"

enum { STEPS = 12, LENGTHS = 6 };
static const int32_t lengths[LENGTHS] = {128, 1, 100, 64, 17, 33};

/* Three layers of 2 heads; all layers but the first see windows. */
static struct model_config small_modern(int32_t window, enum gelu gelu)
{
    struct model_config config;
    model_config_named("modern-mini", &config);
    config.layers = 3;
    config.hidden = 128;
    config.heads = 2;
    config.intermediate = 192;
    config.vocabulary = 1000;
    config.window = window;
    config.gelu = gelu;
    config.hidden_dropout = 0.1;
    config.attention_dropout = 0.1;
    return config;
}

/* Repeated training on one batch: the loss of each step, and the change of each parameter. */
struct trained {
    double losses[STEPS];
    double *changes;
};

static void train(const struct model_config *config, struct ops *ops, struct trained *out)
{
    const struct optimizer_type *type = optimizer_type("StableAdamW");
    const struct made_source source = {3, config->vocabulary, 4};
    struct batch batch = made_batch(&source, lengths, 0, LENGTHS);
    const struct model_budget budget = made_budget(&batch);
    struct model *model = model_open(config, ops, &budget);
    const struct params *params = model_table(model);
    const size_t bytes = params->size * ops->real_size;
    float *drawn = mem_clear(params->size, sizeof *drawn);
    params_draw_all(params, 9, drawn);
    void *flat = ops->map(ops->device, model_params(model), bytes, MAP_FILL);
    for (size_t i = 0; i < params->size; i++)
        if (ops->real_size == sizeof(double))
            ((double *)flat)[i] = (double)drawn[i];
        else
            ((float *)flat)[i] = drawn[i];
    ops->unmap(ops->device, model_params(model), flat, bytes, MAP_FILL);
    model_refresh(model);
    const struct update_memory memory = {.params = model_params(model),
                                         .first = ops->allocate(ops->device, bytes),
                                         .second = ops->allocate(ops->device, bytes),
                                         .gradients = model_gradients(model)};
    struct update_work work;
    optimizer_work_init(&work, type->optimizer.kind, ops, params);
    for (uint32_t step = 1; step <= STEPS; step++) {
        struct model_metrics metrics = {0};
        const struct step_settings settings = made_step(11, step, &batch, 1);
        model_begin_step(model, &settings);
        model_forward_backward(model, &batch, NULL, &metrics);
        out->losses[step - 1] = made_mean(&metrics, HEAD_MASKED);
        optimizer_update(&type->optimizer, ops, &memory, &work,
                         &(struct update){step, 1e-3, 1, 1, true, model_sums(model)});
        model_refresh(model);
    }
    out->changes = mem_array(params->size, sizeof *out->changes);
    flat = ops->map(ops->device, model_params(model), bytes, MAP_READ);
    for (size_t i = 0; i < params->size; i++)
        out->changes[i] =
            (ops->real_size == sizeof(double) ? ((double *)flat)[i] : (double)((float *)flat)[i]) - (double)drawn[i];
    ops->unmap(ops->device, model_params(model), flat, bytes, MAP_READ);
    optimizer_work_release(&work, ops);
    ops->release(ops->device, memory.first);
    ops->release(ops->device, memory.second);
    mem_free(drawn);
    model_close(model);
    made_batch_release(&batch);
}

static void training_case(const struct model_config *config)
{
    struct trained trained[SIDES];
    struct params params;
    params_init(&params, config);
    EACH_SIDE (s)
        train(config, OPS(s), &trained[s]);
    for (int step = 0; step < STEPS; step++)
        compare_numbers(trained[EXACT].losses[step], trained[HOST].losses[step], trained[TESTED].losses[step], 1e-5,
                        "loss of a ModernBERT in training");
    check(trained[TESTED].losses[STEPS - 1] < trained[TESTED].losses[0], "%s: a ModernBERT does not learn",
          sides_name());
    double errors[2] = {0, 0}, size = 0;
    for (size_t i = 0; i < params.size; i++) {
        const double exact = trained[EXACT].changes[i];
        for (int k = 0; k < 2; k++) {
            const double distance = trained[k ? TESTED : HOST].changes[i] - exact;
            errors[k] += distance * distance;
        }
        size += exact * exact;
    }
    const double host = sqrt(errors[0] / size), tested = sqrt(errors[1] / size);
    check(tested <= 1.5 * host + 5e-3, "%s: %d steps of a ModernBERT change it by %.3g otherwise, the CPU's by %.3g",
          sides_name(), STEPS, tested, host);
    EACH_SIDE (s)
        mem_free(trained[s].changes);
    params_release(&params);
}

void check_modern(void)
{
    const int before = checks_failed(), from = checks_done();
    struct model_config config = small_modern(32, GELU_ERF);
    check_gradients(&config, "ModernBERT");
    training_case(&config);
    config = small_modern(7, SILU);
    config.lacks = 1u << OPTIONAL_POSITION_TABLE | 1u << OPTIONAL_TYPE_TABLE | 1u << OPTIONAL_ENTRY_NORM;
    check_gradients(&config, "ModernBERT with biases and SiLU");
    config = small_modern(32, GELU_TANH);
    config.global_layers[0] = 1u << 2;
    check_gradients(&config, "ModernBERT whose last layer sees all");
    printf("%s %-10s %d of %d checks right\n", sides_name(), "modern",
           checks_done() - from - (checks_failed() - before), checks_done() - from);
    fflush(stdout);
}
