/* The directory of a run in fuzz_directory(), with one checkpoint, and what reads it. */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/page.h"

#include "base/file.h"
#include "base/log.h"
#include "trainer/model/config.h"
#include "trainer/keep/checkpoint.h"
#include "base/json.h"
#include "trainer/keep/metrics.h"
#include "trainer/options.h"
#include "trainer/report/run_report.h"
#include "trainer/run/run.h"
#include "trainer/recipe/settings.h"

static struct opt_program program;
static const struct checkpoint_state run_state = {
    .step = 5, .updates = 5, .samples = 50, .tokens = 500, .norm_max = 1.5, .norm_max_step = 2};
static struct model_config run_config;

static void must(int result, const struct error *err)
{
    if (result < 0)
        error_print(err, "fuzz", 0);
    assert(result >= 0);
}

static void write_json(const char *name, json_t *json)
{
    SCOPED(buf_release) struct buf text = {0};
    json_add_text(json, 0, &text);
    fuzz_write(name, buf_str(&text));
    json_decref(json);
}

/* Once, before the first input. */
static void make_run(void)
{
    static const char folder[] = CHECKPOINTS_NAME "/step-00000005";
    struct error err = {0};
    if (program.name)
        return;
    fuzz_hush();
    log_open("fuzz", LOG_QUIET, false);
    char *all = path_join(fuzz_directory(), CHECKPOINTS_NAME), *path = path_join(fuzz_directory(), folder);
    must(path_make_directory(all, &err), &err);
    must(path_make_directory(path, &err), &err);
    must(model_config_named("tiny", &run_config), &err);
    run_config.vocabulary = 100;
    json_t *hashes = json_object(), *identity = json_pack("{si}", "steps", 9);
    write_json(CHECKPOINTS_NAME "/step-00000005/config.json", config_json(&run_config, 0));
    write_json(CHECKPOINTS_NAME "/step-00000005/" STATE_NAME, state_json(&run_state, hashes, identity));
    fuzz_write(LATEST_NAME, STR("step-00000005\n"));
    json_decref(hashes);
    json_decref(identity);
    mem_free(all);
    mem_free(path);
    program = options_program();
    program.print_more = NULL;
}

/* `dstrain show` of a run with one more word: NULL, "--json", or another run to compare it with; false where a file is
 * damaged. */
static bool show_run(const char *word)
{
    const char *argv[] = {"dstrain", "show", fuzz_directory(), word};
    struct settings settings = {0};
    struct opt_result result;
    struct error err = {0};
    must(opts_parse(&program, word ? 4 : 3, (char **)(uintptr_t)argv, &settings, &result, &err), &err);
    settings.program = &program;
    settings.result = &result;
    const int shown = dstrain_show(&settings, result.bare, &err);
    assert(shown >= 0 || (err.kind == ERR_VERIFY && err.text[0]));
    opts_release(&program, &settings, &result);
    return shown >= 0;
}

/* Makes the page of `dstrain report` from the run, repeated `times` times; false where a file is damaged. */
static bool report_run(int times)
{
    struct report report = {0};
    SCOPED(buf_release) struct buf page = {0};
    struct error err = {0};
    int read = 0;
    while (read >= 0 && times-- > 0)
        read = report_add(&report, fuzz_directory(), &err);
    assert(read >= 0 || (err.kind == ERR_VERIFY && err.text[0]));
    if (read >= 0) {
        report_make(&page, &report);
        check_page(buf_str(&page));
    }
    report_release(&report);
    return read >= 0;
}
