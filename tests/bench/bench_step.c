/* Steps of training on made-up batches, without data, optimizer excepted: what a model makes of this machine.
 *     bench_step [MODEL [LENGTH [BATCH [PRECISION [THREADS]]]]]       bench_step mini 128 32 bf16 2
 * Prints sequences/s of forward and backward, of whole steps, and the rate in GFLOP/s that the model's arithmetic is.
 * */
#include "base/mem.h"
#include "base/progress.h"
#include "tests/trainer/made.h"
#include "trainer/optim/optimizer.h"

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "mini";
    const int32_t length = argc > 2 ? atoi(argv[2]) : 128, sequences = argc > 3 ? atoi(argv[3]) : 32;
    const enum precision precision =
        argc > 4 ? strcmp(argv[4], "fp32") == 0 ? PRECISION_FP32 : PRECISION_BF16 : cpu_default_precision(cpu_level());
    struct ops *ops = made_ops(precision, cpu_level(), argc > 5 ? (unsigned)atoi(argv[5]) : 0);
    struct model_config config;
    if (model_config_named(name, &config) < 0)
        return 2;

    int32_t *lengths = mem_array((size_t)sequences, sizeof *lengths);
    for (int32_t i = 0; i < sequences; i++)
        lengths[i] = length;
    const struct made_source source = {1, config.vocabulary, 13};
    struct batch batch = made_batch(&source, lengths, 0, sequences);
    const struct model_budget budget = made_budget(&batch);
    struct model *model = model_open(&config, ops, &budget);
    const struct params *params = model_table(model);
    params_draw_all(params, 42, model_params(model));
    model_refresh(model);
    struct update_memory memory = {model_params(model), mem_aligned(params->size * 4), mem_aligned(params->size * 4),
                                   model_gradients(model)};
    struct update_work work;
    optimizer_work_init(&work, ops, params);
    struct model_plan plan;
    model_plan(&config, ops, &budget, &plan);
    const double flops = model_flops(&config, length, (double)batch.masked / sequences) * sequences;
    printf("%s, %s: %d sequences of %d, %d masked, %.0f MB\n", name, ops->name, sequences, length, batch.masked,
           (double)plan.bytes * 1e-6);

    double best_pass = 1e9, best_step = 1e9;
    const double started = clock_now();
    for (uint32_t step = 0; step < 3 || (clock_now() - started < 8 && step < 200); step++) {
        struct model_metrics metrics = {0};
        const double t0 = clock_now();
        model_begin_step(model, &(struct step_settings){42, step, true, batch.masked, sequences, 1});
        const double t1 = clock_now();
        model_forward_backward(model, &batch, &metrics);
        const double t2 = clock_now();
        optimizer_update(&optimizer_type("Adam")->optimizer, ops, &memory, &work,
                         &(struct update){step + 1, 1e-4, 1, 1, true, model_sums(model)});
        model_refresh(model);
        const double t3 = clock_now();
        best_pass = t2 - t1 < best_pass ? t2 - t1 : best_pass;
        best_step = t3 - t0 < best_step ? t3 - t0 : best_step;
        if (step == 0)
            printf("first loss %.4f + %.4f, |g| %.3f\n", metrics.mlm_loss / (double)metrics.masked,
                   metrics.next_loss / (double)metrics.sequences, work.record->norm);
    }
    printf("forward and backward %.1f ms: %.1f sequences/s, %.0f GFLOP/s; with update %.1f ms: %.1f sequences/s\n",
           best_pass * 1e3, sequences / best_pass, flops / best_pass * 1e-9, best_step * 1e3, sequences / best_step);
    mem_free(memory.first);
    mem_free(memory.second);
    optimizer_work_release(&work, ops);
    model_close(model);
    ops->close(ops);
    made_batch_release(&batch);
    mem_free(lengths);
    return 0;
}
