// room: trainer EXPAT::EXPAT
// bytes: 65536
/* In: run.json, the record of a run. Held: `dstrain show`, `report` (whose page has its form, page.h), `verify
 * --replay` and a start that resumes refuse it as damaged, or all of them read it; the run is then that of its
 * identity, and what a save and the end record can be read again; a model's card is made whatever is in it. */
#include "tests/fuzz/run.h"

#include "trainer/verbs/export_files.h"
#include "trainer/verbs/stretch.h"

static void make_metrics(void)
{
    if (program.name)
        return;
    make_run();
    fuzz_write(METRICS_NAME, STR("{\"step\":1,\"loss\":2.5,\"samples\":10,\"seconds\":2.0}\n"
                                 "{\"step\":5,\"split\":\"valid\",\"loss\":2.25,\"datasets\":[{\"loss\":2.5}]}\n"));
}

static bool open_run(struct run *run, const json_t *identity, struct error *err)
{
    char *moved = NULL;
    const int opened = run_open(run, fuzz_directory(), identity, false, &moved, err);
    assert(!moved);
    return opened >= 0;
}

/* What a start that goes on, its save and its end do. */
static void resume(const json_t *identity)
{
    struct run run;
    struct error err = {0};
    const char *why;
    if (!open_run(&run, identity, &err)) {
        error_print(&err, "fuzz", false);
        assert(!"a run of this identity");
    }
    const size_t starts = run_starts(&run);
    assert(run.kind != RUN_NEW && (starts == 0) == (run_last_start(&run) == NULL));
    run_precision(&run);
    run_seconds(&run, 5);
    run_since(&run, 5);
    run_ended(&run, &why);
    must(run_start(&run, 5, "fp32", json_pack("{ss}", "device", "cpu"), json_object(), &err), &err);
    must(run_saved(&run, 7, 2.5, NULL, &err), &err);
    assert(run_starts(&run) == starts + 1 && run_seconds(&run, 7) == 2.5);
    must(run_finish(&run, 7, "patience", &err), &err);
    assert(run_ended(&run, &why) == 7);
    run_close(&run);
    const bool again = open_run(&run, identity, &err);
    assert(again && run.kind == RUN_FINISHED && run_starts(&run) == starts + 1);
    run_close(&run);
}

static void check_other(const json_t *identity)
{
    struct run run;
    struct error err = {0};
    json_auto_t *other = json_pack("{si ss}", "steps", 9, "optimizer", "adam");
    const bool opened = open_run(&run, other, &err);
    assert(opened ? identity != NULL : err.kind == ERR_MISMATCH || err.kind == ERR_VERIFY);
    run_close(&run);
}

static void check_replay(void)
{
    const char *argv[] = {"dstrain", "verify", fuzz_directory(), "--replay"};
    struct settings settings = {0};
    struct opt_result result;
    struct error err = {0};
    json_t *record = NULL, *plan = NULL;
    must(opts_parse(&program, 4, (char **)(uintptr_t)argv, &settings, &result, &err), &err);
    settings.program = &program;
    settings.result = &result;
    if (stretch_plan(fuzz_directory(), &settings, &record, &plan, &err) == 0)
        assert(json_array_size(json_object_get(plan, "command")) > 0);
    else
        assert(err.kind == ERR_VERIFY && err.text[0]);
    json_decref(record);
    json_decref(plan);
    opts_release(&program, &settings, &result);
}

static void check_card(const json_t *identity)
{
    SCOPED(buf_release) struct buf card = {0};
    struct error err = {0};
    const struct settings settings = {.out = "model"};
    struct about about;
    about_open(&about, fuzz_directory(), SOURCE_RUN, fuzz_directory(), identity, &run_config);
    const struct use use = use_of(fuzz_directory());
    const struct export_job job = {.settings = &settings,
                                   .from = fuzz_directory(),
                                   .config = &run_config,
                                   .about = &about,
                                   .use = &use,
                                   .state = &run_state,
                                   .identity = identity};
    must(card_make(&job, &card, &err), &err);
    assert(utf8_valid(buf_str(&card)));
    about_close(&about);
}

int fuzz_input(const uint8_t *data, size_t size)
{
    struct error err = {0};
    json_t *record = NULL;
    make_metrics();
    fuzz_write(RUN_NAME, as_str(data, size));
    const bool read = run_read(fuzz_directory(), &record, &err) == 0;
    const json_t *identity = json_object_get(record, "identity");
    assert(read ? json_is_object(identity) : !record && err.kind == ERR_VERIFY && err.text[0]);
    const bool reported = report_run(1 + size % 2);
    assert(reported == read);
    show_run(size % 3 == 0 ? "--json" : size % 3 == 1 ? fuzz_directory() : NULL);
    check_replay();
    check_card(identity);
    check_other(identity);
    if (read)
        resume(identity);
    json_decref(record);
    return 0;
}
