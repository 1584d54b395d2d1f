/* Which model and how many steps a plan proposes, for sizes of data and speeds of machines. */
#include "tests/unit.h"
#include "trainer/verbs/choice.h"

#define MODELS 6
static const char *const names[MODELS] = {"tiny", "mini", "small", "medium", "base", "large"};
static const double weights[MODELS] = {0.393e6, 3.15e6, 12.6e6, 25.2e6, 84.9e6, 302e6};
static const double parameters[MODELS] = {4.4e6, 11.2e6, 28.8e6, 41.4e6, 110e6, 336e6};
static const double flops[MODELS] = {0.7e9, 3.1e9, 10e9, 17e9, 66e9, 234e9}; /* of a full sample of length 128 */

struct machine {
    double flops, updates; /* per second */
};
static const struct machine laptop = {2.5e11, 5e8}, gpu = {4e14, 5e10}, slow = {1e10, 1e8};

#define DAY 86400.0

/* What is chosen among all models, of which those after the first that is not enough are not measured. */
static struct choice_made choose(const struct machine *machine, const struct choice_limits *limits, const char **name)
{
    struct choice_made choices[MODELS];
    size_t count = 0;
    do {
        const struct choice_model model = {names[count], (uint64_t)parameters[count], (uint64_t)weights[count],
                                           flops[count] * limits->length / 128 / machine->flops,
                                           parameters[count] / machine->updates};
        choices[count] = choice_make(&model, limits);
    } while (choice_enough(&choices[count++]) && count < MODELS);
    *name = names[choice_best(choices, count)];
    return choices[choice_best(choices, count)];
}

TEST(every_size_of_data_gets_a_model)
{
    static const struct {
        const char *data;
        double samples, length;
        const struct machine *machine;
        double seconds;
        const char *model;
        uint64_t steps;
        uint32_t batch;
        enum choice_bound bound;
        int enough;
    } rows[] = {
        {"72 kB of text", 170, 108, &laptop, DAY, "tiny", 420, 16, CHOICE_BY_EPOCHS, 0},
        {"72 kB, on a GPU", 170, 108, &gpu, DAY, "tiny", 420, 16, CHOICE_BY_EPOCHS, 0},
        {"72 kB, packed", 144, 128, &laptop, DAY, "tiny", 360, 16, CHOICE_BY_EPOCHS, 0},
        {"one sample", 1, 60, &laptop, DAY, "tiny", 2, 16, CHOICE_BY_EPOCHS, 0},
        {"a small wiki", 90000, 110, &laptop, DAY, "mini", 14000, 256, CHOICE_BY_EPOCHS, 1},
        {"a small wiki, in an hour", 90000, 110, &laptop, 3600, "tiny", 5100, 256, CHOICE_BY_TIME, 1},
        {"a small wiki, length 512", 24000, 450, &laptop, DAY, "mini", 3700, 256, CHOICE_BY_EPOCHS, 1},
        {"a small wiki, on a GPU", 90000, 110, &gpu, DAY, "mini", 14000, 256, CHOICE_BY_EPOCHS, 1},
        {"1 GB of text", 2000000, 110, &laptop, DAY, "mini", 28000, 256, CHOICE_BY_TIME, 1},
        {"1 GB of text, on a GPU", 2000000, 110, &gpu, DAY, "base", 310000, 256, CHOICE_BY_EPOCHS, 1},
        {"1 GB of text, slow", 2000000, 110, &slow, DAY, "tiny", 5000, 256, CHOICE_BY_TIME, 1},
        {"1 GB of text, a minute", 2000000, 110, &laptop, 60, "tiny", 1100, 16, CHOICE_BY_TIME, 0},
        {"all of a large wiki", 40e6, 110, &laptop, DAY, "mini", 28000, 256, CHOICE_BY_TIME, 1},
        {"all of a large wiki, on a GPU", 40e6, 110, &gpu, DAY, "large", 570000, 256, CHOICE_BY_TIME, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *name;
        const struct choice_limits limits = {
            .samples = rows[i].samples, .length = rows[i].length, .epochs = 40, .seconds = rows[i].seconds};
        const struct choice_made choice = choose(rows[i].machine, &limits, &name);
        assert_string_equal(name, rows[i].model);
        assert_int_equal(choice.steps, rows[i].steps);
        assert_int_equal(choice.batch, rows[i].batch);
        assert_int_equal(choice.bound, rows[i].bound);
        assert_int_equal(choice_enough(&choice), rows[i].enough);
        assert_true(choice.epochs <= 40 && choice.seconds <= rows[i].seconds && !choice.late);
    }
}

/* Given steps and batches stay; a model that cannot finish them in time is not chosen. */
TEST(what_is_given_stays)
{
    const char *name;
    struct choice_limits limits = {.samples = 2e6, .length = 110, .epochs = 40, .seconds = DAY, .steps = 20000};
    struct choice_made choice = choose(&laptop, &limits, &name);
    assert_string_equal(name, "mini");
    assert_int_equal(choice.steps, 20000);
    assert_int_equal(choice.batch, 256);
    assert_int_equal(choice.bound, CHOICE_BY_STEPS);
    limits.steps = 1234567;
    choice = choose(&laptop, &limits, &name);
    assert_string_equal(name, "tiny");
    assert_int_equal(choice.steps, 1234567);
    assert_true(choice.late && !choice_enough(&choice));
    limits = (struct choice_limits){.samples = 170, .length = 108, .epochs = 40, .seconds = DAY, .batch = 512};
    choice = choose(&laptop, &limits, &name);
    assert_int_equal(choice.batch, 512);
    assert_int_equal(choice.steps, 13);
}

/* Forty epochs count as fifteen; the first counts in full; more never count less. */
TEST(repeated_tokens_count_less)
{
    const struct choice_model model = {"x", 2000, 1000, 1e-9, 0};
    double before = 0;
    for (double epochs = 0.25; epochs <= 64; epochs *= 2) {
        const struct choice_limits limits = {
            .samples = 64000, .length = 1, .epochs = epochs, .seconds = DAY, .batch = 1};
        const struct choice_made choice = choice_make(&model, &limits);
        assert_true(choice.each > before);
        assert_true(choice.each <= 64 * choice.epochs * 1.0001);
        if (epochs <= 1)
            assert_float_equal(choice.each, 64 * choice.epochs, 1e-9);
        before = choice.each;
    }
    assert_true(before < 64 * 16.0 && before > 64 * 15.0);
}
