/* Energy of a fake machine: a folder like Linux's powercap, and a stub of NVML. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "trainer/device/energy.h"

#define STUB BINARY_DIR "/tests/libnvml_stub.so"

static char folder[64];

static void put(const char *zone, const char *file, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, zone);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/%s/%s", folder, zone, file);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fprintf(out, "%s\n", text);
    assert_int_equal(fclose(out), 0);
}

static void count(const char *zone, uint64_t microjoules)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, microjoules);
    put(zone, "energy_uj", text);
}

static void make_zone(const char *zone, const char *name, const char *range, uint64_t microjoules)
{
    put(zone, "name", name);
    put(zone, "max_energy_range_uj", range);
    count(zone, microjoules);
}

static int set_up(void **state)
{
    (void)state;
    unsetenv("DS_STUB_GPUS");
    unsetenv("DS_STUB_FAILS");
    snprintf(folder, sizeof folder, "/tmp/energy.XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static void assert_joules(struct energy *energy, double joules)
{
    const double found = energy_joules(energy);
    if (!(fabs(found - joules) <= 1e-9))
        fail_msg("%.9g joules, not %.9g", found, joules);
}

static void packages_and_their_memory_add_up(void **state)
{
    (void)state;
    struct energy energy;
    char who[64];
    make_zone("intel-rapl:0", "package-0", "262143328850", 5000000);
    make_zone("intel-rapl:0:0", "core", "262143328850", 1);
    make_zone("intel-rapl:0:1", "dram", "65712999613", 100);
    make_zone("intel-rapl:1", "package-1", "262143328850", 0);
    make_zone("intel-rapl:2", "psys", "262143328850", 7);
    make_zone("intel-rapl-mmio:0", "package-0", "262143328850", 8);
    make_zone("dtpm", "package-0", "262143328850", 9);
    energy_open(&energy, folder, NULL);
    assert_int_equal(energy.zones, 3);
    assert_joules(&energy, 0);
    count("intel-rapl:0", 7500000);
    count("intel-rapl:0:0", 900000000);
    count("intel-rapl:0:1", 250100);
    count("intel-rapl:1", 1000000);
    count("intel-rapl:2", 900000000);
    count("intel-rapl-mmio:0", 900000000);
    assert_joules(&energy, 2.5 + 0.25 + 1);
    assert_string_equal(energy_who(&energy, who), "2 processors");
    assert_joules(&energy, 3.75);
    energy_close(&energy);
    assert_true(isnan(energy_joules(&energy)));
}

static void a_counter_that_wraps_around_continues(void **state)
{
    (void)state;
    struct energy energy;
    make_zone("intel-rapl:0", "package-0", "262143328850", 262143000000);
    energy_open(&energy, folder, NULL);
    count("intel-rapl:0", 671150);
    assert_joules(&energy, 1.0);
    count("intel-rapl:0", 262143328850); /* the largest value is valid */
    assert_joules(&energy, 1.0 + 262142.6577);
    count("intel-rapl:0", 0);
    assert_joules(&energy, 1.0 + 262142.6577);
    energy_close(&energy);
}

static void a_poll_sees_a_second_round(void **state)
{
    (void)state;
    struct energy energy;
    make_zone("intel-rapl:0", "package-0", "1000000", 0);
    energy_open(&energy, folder, NULL);
    count("intel-rapl:0", 900000);
    energy_poll(&energy); /* too soon: not read */
    assert_true(energy.items[0].last == 0);
    energy.polled -= 1;
    energy_poll(&energy);
    assert_true(energy.items[0].last == 900000);
    count("intel-rapl:0", 100000);
    energy.polled -= 1;
    energy_poll(&energy);
    count("intel-rapl:0", 200000);
    assert_joules(&energy, 1.2);
    energy_close(&energy);
}

static void assert_silent(const char *powercap, const char *nvml)
{
    struct energy energy;
    energy_open(&energy, powercap, nvml);
    assert_int_equal(energy.zones + energy.packages + energy.gpus, 0);
    assert_true(isnan(energy_joules(&energy)));
    energy_poll(&energy);
    energy_close(&energy);
}

static void what_cannot_be_read_is_silent(void **state)
{
    (void)state;
    char path[256];
    static const char *const wrong[] = {"", "x", "-1", "12a", "1000000000001"};
    assert_silent(NULL, NULL);
    assert_silent("/nowhere", "libnowhere.so.1");
    assert_silent(folder, NULL);
    make_zone("intel-rapl:0", "package-0", "1000000000000", 1);
    make_zone("intel-rapl:1", "package-1", "1000000000000", 1);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        put("intel-rapl:1", "energy_uj", wrong[i]);
        assert_silent(folder, NULL);
    }
    count("intel-rapl:1", 1);
    put("intel-rapl:1", "max_energy_range_uj", "0");
    assert_silent(folder, NULL);
    put("intel-rapl:1", "max_energy_range_uj", "1000000000000");
    snprintf(path, sizeof path, "%s/intel-rapl:1/energy_uj", folder);
    assert_int_equal(chmod(path, 0), 0); /* unreadable, as for users other than root */
    if (geteuid() != 0)
        assert_silent(folder, NULL);
    assert_int_equal(remove(path), 0); /* root can read it anyway, so it is removed */
    assert_silent(folder, NULL);
    assert_int_equal(mkdir(path, 0777), 0);
    assert_silent(folder, NULL);
}

static void memory_alone_is_no_processor(void **state)
{
    (void)state;
    make_zone("intel-rapl:0:0", "dram", "1000000", 1);
    assert_silent(folder, NULL);
}

static void what_no_longer_answers_is_silent(void **state)
{
    (void)state;
    struct energy energy;
    char path[256];
    make_zone("intel-rapl:0", "package-0", "1000000", 1);
    setenv("DS_STUB_GPUS", "1", 1);
    energy_open(&energy, folder, STUB);
    assert_joules(&energy, 1.5);
    snprintf(path, sizeof path, "%s/intel-rapl:0/energy_uj", folder);
    assert_int_equal(remove(path), 0);
    energy.polled -= 1;
    energy_poll(&energy);
    count("intel-rapl:0", 2);
    assert_true(isnan(energy_joules(&energy)));
    energy_close(&energy);
}

static void gpus_add_up(void **state)
{
    (void)state;
    struct energy energy;
    char who[64];
    setenv("DS_STUB_GPUS", "2", 1);
    energy_open(&energy, NULL, STUB);
    assert_joules(&energy, 3);
    assert_joules(&energy, 6);
    assert_string_equal(energy_who(&energy, who), "2 GPUs");
    energy_close(&energy);
    make_zone("intel-rapl:0", "package-0", "1000000", 0);
    setenv("DS_STUB_GPUS", "1", 1);
    energy_open(&energy, folder, STUB);
    count("intel-rapl:0", 250000);
    assert_joules(&energy, 1.75);
    assert_string_equal(energy_who(&energy, who), "1 processor and 1 GPU");
    setenv("DS_STUB_FAILS", "energy", 1);
    assert_true(isnan(energy_joules(&energy)));
    unsetenv("DS_STUB_FAILS");
    assert_true(isnan(energy_joules(&energy)));
    energy_close(&energy);
    energy_open(&energy, folder, STUB);
    setenv("DS_STUB_FAILS", "back", 1);
    assert_true(isnan(energy_joules(&energy)));
    energy_close(&energy);
}

static void a_library_that_fails_is_silent(void **state)
{
    (void)state;
    static const char *const calls[] = {"init", "count", "device", "energy"};
    assert_silent(NULL, STUB); /* no device */
    setenv("DS_STUB_GPUS", "65", 1);
    assert_silent(NULL, STUB);
    setenv("DS_STUB_GPUS", "1", 1);
    assert_silent(NULL, "libm.so.6"); /* a library without these functions */
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        setenv("DS_STUB_FAILS", calls[i], 1);
        assert_silent(NULL, STUB);
    }
}

static void units(void **state)
{
    (void)state;
    char text[64];
    const struct energy energy = {.packages = 2, .gpus = 1};
    assert_string_equal(energy_text(811.6, text), "812 J");
    assert_string_equal(energy_text(35999, text), "35,999 J");
    assert_string_equal(energy_text(36000, text), "0.01 kWh (36,000 J)");
    assert_string_equal(energy_text(4428000, text), "1.23 kWh (4,428,000 J)");
    json_t *facts = energy_json(&energy, 7.2e6, 250);
    char *dumped = json_dumps(facts, JSON_COMPACT | JSON_REAL_PRECISION(6));
    assert_string_equal(dumped, "{\"joules\":7.2e6,\"kwh\":2.0,\"watts\":250.0,\"processors\":2,\"gpus\":1}");
    free(dumped);
    json_decref(facts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(packages_and_their_memory_add_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_counter_that_wraps_around_continues, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_poll_sees_a_second_round, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_read_is_silent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(memory_alone_is_no_processor, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_no_longer_answers_is_silent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(gpus_add_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_library_that_fails_is_silent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(units, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
