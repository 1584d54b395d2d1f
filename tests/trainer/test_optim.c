/* Optimizer, clipping and schedule against numbers worked out beforehand in double. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/trainer/made.h"
#include "trainer/optim/adam.h"
#include "trainer/optim/clip.h"
#include "trainer/optim/schedule.h"

/* A table of one tensor of three numbers. */
static struct param_chunk chunk = {.offset = 0, .count = 3, .tensor = 0, .decay = true};
static struct param item = {.name = "weight", .dimensions = 1, .shape = {3, 1}, .count = 3, .decay = true};
static const struct params table = {
    .items = &item, .count = 1, .size = 16, .total = 3, .chunks = &chunk, .chunk_count = 1};

/* One update of p = (1, -2, 3) by g = (.1, -.2, .4), rate 1e-3, decay .01. */
static void check_update(bool bias_correction, const double expected[3])
{
    const double start[3] = {1, -2, 3}, slopes[3] = {0.1, -0.2, 0.4};
    struct adam adam = adam_defaults();
    adam.bias_correction = bias_correction;
    struct ops *ops = made_ops(PRECISION_FP64, CPU_BASE, 1);
    double p[16] = {0}, g[16] = {0}, m[16] = {0}, v[16] = {0};
    for (int i = 0; i < 3; i++) {
        p[i] = start[i];
        g[i] = 8 * slopes[i];
    }
    p[3] = 77;
    adam_update(&adam, ops, &table, &(struct adam_memory){p, m, v, g}, 1e-3, 1, 0.125);
    for (int i = 0; i < 3; i++) {
        assert_true(fabs(p[i] - expected[i]) < 1e-13);
        assert_true(fabs(m[i] - 0.1 * slopes[i]) < 1e-15 && fabs(v[i] - 0.001 * slopes[i] * slopes[i]) < 1e-15);
    }
    assert_true(p[3] == 77); /* outside of every chunk */
    ops->close(ops);
    for (int level = (int)cpu_level(); level >= CPU_BASE; level--) {
        ops = made_ops(PRECISION_FP32, (enum cpu_level)level, 1);
        float fp[16] = {1, -2, 3}, fg[16] = {0.1f, -0.2f, 0.4f}, fm[16] = {0}, fv[16] = {0};
        adam_update(&adam, ops, &table, &(struct adam_memory){fp, fm, fv, fg}, 1e-3, 1, 1);
        for (int i = 0; i < 3; i++)
            assert_true(fabs((double)fp[i] - expected[i]) < 3e-7);
        ops->close(ops);
    }
}

static void adam_matches_golden_numbers(void **state)
{
    (void)state;
    check_update(false, (const double[]){.9968277323398, -1.9968177273398238, 2.9968077248398295});
    check_update(true, (const double[]){.9989900000999999, -1.99898000005, 2.998970000025});
}

/* L2 mode: the decay enters the moments. */
static void adam_can_decay_through_the_gradient(void **state)
{
    (void)state;
    struct adam adam = adam_defaults();
    adam.decoupled = false;
    struct ops *ops = made_ops(PRECISION_FP64, CPU_BASE, 1);
    double p[16] = {1, -2, 3}, g[16] = {0.1, -0.2, 0.4}, m[16] = {0}, v[16] = {0};
    for (uint64_t update = 1; update <= 2; update++)
        adam_update(&adam, ops, &table, &(struct adam_memory){p, m, v, g}, 1e-3, update, 1);
    double q = -2, qm = 0, qv = 0;
    for (int t = 1; t <= 2; t++) {
        const double slope = -0.2 + 0.01 * q;
        qm = 0.9 * qm + 0.1 * slope;
        qv = 0.999 * qv + 0.001 * slope * slope;
        q -= 1e-3 * (qm / (1 - pow(0.9, t))) / (sqrt(qv / (1 - pow(0.999, t))) + 1e-8);
    }
    assert_true(fabs(p[1] - q) < 1e-14);
    ops->close(ops);
}

static void decay_spares_vectors(void **state)
{
    (void)state;
    const struct adam adam = adam_defaults();
    struct ops *ops = made_ops(PRECISION_FP64, CPU_BASE, 1);
    double p[16] = {1, -2, 3}, g[16] = {0}, m[16] = {0}, v[16] = {0};
    chunk.decay = false;
    adam_update(&adam, ops, &table, &(struct adam_memory){p, m, v, g}, 1, 1, 1);
    assert_true(p[0] == 1 && p[1] == -2 && p[2] == 3);
    chunk.decay = true;
    adam_update(&adam, ops, &table, &(struct adam_memory){p, m, v, g}, 1, 1, 1);
    assert_true(fabs(p[0] - 0.99) < 1e-15 && fabs(p[1] + 1.98) < 1e-15);
    ops->close(ops);
}

static void norm_is_that_of_all_parameters(void **state)
{
    (void)state;
    struct model_config config;
    assert_int_equal(model_config_named("tiny", &config), 0);
    config.vocabulary = 1000;
    struct params params;
    params_init(&params, &config);
    float *values = mem_aligned(params.size * sizeof *values);
    double sum = 0;
    for (size_t i = 0; i < params.count; i++)
        for (size_t j = 0; j < params.items[i].count; j++) {
            const size_t at = params.items[i].offset + j;
            values[at] = (float)(at % 1000) * 1e-3f - 0.3f;
            sum += (double)values[at] * (double)values[at];
        }
    double *squares = mem_array(params.chunk_count, sizeof *squares);
    double first = 0;
    for (unsigned threads = 1; threads <= 3; threads++) {
        struct ops *ops = made_ops(PRECISION_FP32, cpu_level(), threads);
        const double norm = gradient_norm(ops, &params, values, squares);
        assert_true(fabs(norm / sqrt(sum) - 1) < 1e-12);
        assert_true(threads == 1 || norm == first);
        first = norm;
        if (threads == 3) {
            values[params.items[7].offset + 5] = NAN;
            assert_true(isnan(gradient_norm(ops, &params, values, squares)));
        }
        ops->close(ops);
    }
    mem_free(squares);
    mem_free(values);
    params_release(&params);
}

static void clipping_scales_down_only(void **state)
{
    (void)state;
    assert_true(clip_factor(0.5, 1, 1) == 1);
    assert_true(clip_factor(5, 0, 1) == 1);
    assert_true(fabs(clip_factor(4, 1, 1) - 1 / 4.000001) < 1e-15);
    assert_true(fabs(clip_factor(4, 2, 1024) - 2 / 4.000001 / 1024) < 1e-15);
    assert_true(clip_factor(0, 1, 64) == 1.0 / 64);
}

static double rate_at(enum schedule_kind kind, double warmup, uint64_t steps, uint64_t update)
{
    const struct schedule schedule = {kind, 2, warmup, steps};
    return schedule_rate(&schedule, update);
}

static void schedule_follows_its_formula(void **state)
{
    (void)state;
    assert_true(fabs(rate_at(SCHEDULE_LINEAR, 0.1, 1000, 1) - 0.02) < 1e-15); /* counted from 1: never 0 at first */
    assert_true(fabs(rate_at(SCHEDULE_LINEAR, 0.1, 1000, 50) - 1) < 1e-15);
    assert_true(fabs(rate_at(SCHEDULE_LINEAR, 0.1, 1000, 100) - 2) < 1e-14);
    assert_true(fabs(rate_at(SCHEDULE_LINEAR, 100, 1000, 50) - 1) < 1e-15); /* the same in steps */
    assert_true(fabs(rate_at(SCHEDULE_LINEAR, 0.1, 1000, 550) - 1) < 1e-14);
    assert_true(rate_at(SCHEDULE_LINEAR, 0.1, 1000, 1000) == 0);
    assert_true(rate_at(SCHEDULE_LINEAR, 0.1, 1000, 1500) == 0);
    assert_true(fabs(rate_at(SCHEDULE_LINEAR, 0, 1000, 1) - 2 * 0.999) < 1e-14);
    assert_true(rate_at(SCHEDULE_CONSTANT, 0.1, 1000, 999) == 2);
    assert_true(fabs(rate_at(SCHEDULE_COSINE, 0.1, 1000, 550) - 1) < 1e-14);
    assert_true(fabs(rate_at(SCHEDULE_COSINE, 0.1, 1000, 100) - 2) < 1e-14);
    assert_true(fabs(rate_at(SCHEDULE_COSINE, 0.1, 1000, 1000)) < 1e-14);
    assert_true(fabs(rate_at(SCHEDULE_POLY, 0.1, 1000, 775) - 1) < 1e-14);
    assert_true(fabs(rate_at(SCHEDULE_LINEAR, 1000, 1000, 1000) - 2) < 1e-14); /* warm-up to the last step */
    assert_true(fabs(rate_at(SCHEDULE_LINEAR, 4000, 1000, 1000) - 0.5) < 1e-14);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adam_matches_golden_numbers), cmocka_unit_test(adam_can_decay_through_the_gradient),
        cmocka_unit_test(decay_spares_vectors),        cmocka_unit_test(norm_is_that_of_all_parameters),
        cmocka_unit_test(clipping_scales_down_only),   cmocka_unit_test(schedule_follows_its_formula),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
