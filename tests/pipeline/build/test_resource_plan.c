/* Threads, depth of the belt and loads of the seal that fit into --memory. */
#include "pipeline/build/resource_plan.h"
#include "tests/unit.h"

#define MIB (1ull << 20)

static const struct inputs none; /* inputs that need no memory */

static struct resource_plan plan_of(size_t threads, uint64_t memory)
{
    const struct dsdata_settings settings = {.threads = threads, .memory = memory};
    struct resource_plan plan;
    struct error err = {0};
    assert_int_equal(resource_plan_threads(&settings, &none, &plan, &err), 0);
    return plan;
}

TEST(too_little_memory_is_refused)
{
    const struct dsdata_settings settings = {.threads = 1, .memory = 288 * MIB - 1};
    struct resource_plan plan;
    struct error err = {0};
    assert_int_equal(resource_plan_threads(&settings, &none, &plan, &err), -1);
    assert_int_equal(err.kind, ERR_USAGE);
    assert_non_null(strstr(err.hint, "--memory 288M"));
}

TEST(the_least_is_one_thread_and_one_job)
{
    const struct resource_plan plan = plan_of(4, 288 * MIB);
    assert_int_equal(plan.threads, 1);
    assert_int_equal(plan.depth, 1);
}

TEST(depth_shrinks_before_the_crew)
{
    assert_int_equal(plan_of(4, 4096 * MIB).depth, 8);
    const struct resource_plan plan = plan_of(4, (224 + 4 * 24 + 5 * 40) * MIB); /* five jobs for four threads */
    assert_int_equal(plan.threads, 4);
    assert_int_equal(plan.depth, 5);
}

TEST(a_load_is_an_eighth_of_memory)
{
    assert_int_equal(plan_of(2, 1024 * MIB).load_bytes_max, 128 * MIB);
    assert_int_equal(plan_of(2, 8192 * MIB).load_bytes_max, 1024 * MIB);
}

/* Their memory is not that of the threads: added to what is chosen, taken from what is typed. */
TEST(templates_have_memory_of_their_own)
{
    SCOPED(buf_release) struct buf file = {0};
    struct error err = {0};
    struct inputs inputs = {0};
    char hash[17];
    buf_add_text(&file, "long = @wikitext ");
    for (unsigned i = 0; i < 3 << 20; i++)
        buf_add_byte(&file, 'x');
    assert_int_equal(templates_parse(&inputs.templates, buf_str(&file), "made", hash, &err), 0);
    const uint64_t templates = templates_memory(inputs.templates) / MIB * MIB;
    assert_in_range(templates, 12 * MIB, 24 * MIB);
    struct dsdata_settings settings = {.threads = 1};
    struct resource_plan plan;
    assert_int_equal(resource_plan_threads(&settings, &inputs, &plan, &err), 0);
    assert_int_equal(plan.memory, 1024 * MIB + templates);
    assert_int_equal(plan.room_bytes, (1024 - 224) * MIB);
    settings.memory = 288 * MIB + templates;
    assert_int_equal(resource_plan_threads(&settings, &inputs, &plan, &err), 0);
    settings.memory--;
    assert_int_equal(resource_plan_threads(&settings, &inputs, &plan, &err), -1);
    templates_free(inputs.templates);
}
