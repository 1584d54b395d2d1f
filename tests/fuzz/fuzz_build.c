// room: pipeline
// bytes: 65536
/* In: the build.json of a finished dataset. Held: `dsdata show` and its facts, which do not depend on it, never fail;
 * the page of `dsdata report` has its form (page.h); a build of another identity is refused with a message, and the one
 * that the file names is found finished. */
#include "tests/fuzz/dataset.h"
#include "tests/fuzz/page.h"

#include "base/log.h"
#include "pipeline/build/directory.h"
#include "pipeline/dsdata_options.h"
#include "pipeline/parts/dsdata_settings.h"
#include "pipeline/report/corpus_report.h"
#include "pipeline/build/facts.h"

static struct opt_program program;

static void make_dataset(void)
{
    SCOPED(manifest_release) struct manifest m = MANIFEST_PLAIN;
    fuzz_hush();
    log_open("fuzz", LOG_QUIET, false);
    program = dsdata_program();
    manifest_add_option(&m, "lang", "en");
    manifest_add_source(&m, (struct manifest_source){.bytes = 5, .hash = 6});
    manifest_add_source(&m, (struct manifest_source){.bytes = 7, .hash = 8});
    m.unknown = (struct manifest_unknown){.count = 100, .bytes = 10000, .characters = 9000};
    dataset_write(&m, STR(SPECIAL_PIECES));
}

static void check_show(const char *json)
{
    const char *argv[] = {"dsdata", "show", fuzz_directory(), json};
    struct dsdata_settings settings = {0};
    struct opt_result result;
    struct error err = {0};
    must(opts_parse(&program, json ? 4 : 3, (char **)(uintptr_t)argv, &settings, &result, &err), &err);
    settings.program = &program;
    settings.result = &result;
    must(dsdata_show(&settings, result.bare, &err), &err);
    opts_release(&program, &settings, &result);
}

static void check_facts(json_t *build)
{
    struct manifest manifest;
    struct error err = {0};
    struct build_template row;
    size_t i = 0;
    must(manifest_read(&manifest, fuzz_directory(), &err), &err);
    json_t *facts = facts_json(&manifest, build);
    char *text = json_dumps(facts, 0);
    assert(text);
    free(text);
    json_decref(facts);
    while (build_template(build, i, &row))
        assert(row.name && ++i <= BUILD_TEMPLATES_MAX);
    assert(json_array_size(build_words(build)) != 0 || !build_words(build));
    manifest_release(&manifest);
}

static void check_look(const json_t *identity, bool same)
{
    struct journal journal;
    struct error err = {0};
    const int found = directory_look(fuzz_directory(), identity, &journal, &err);
    assert(same ? found == DIRECTORY_FINISHED
                : found == DIRECTORY_FINISHED || (err.kind == ERR_MISMATCH && err.text[0]));
    journal_release(&journal);
}

int fuzz_input(const uint8_t *data, size_t size)
{
    SCOPED(buf_release) struct buf page = {0};
    struct error err = {0};
    if (!program.name)
        make_dataset();
    fuzz_named_file(BUILD_NAME, as_str(data, size));
    json_t *build = build_memory(fuzz_directory()), *identity = json_object_get(build, "identity");
    json_auto_t *other = json_pack("{s[] so s{ss}}", "inputs", "vocabulary", json_null(), "recipe", "lang", "en");
    check_show(NULL);
    check_show("--json");
    check_facts(build);
    check_look(other, false);
    if (json_object_get(identity, "inputs") && json_object_get(identity, "vocabulary"))
        check_look(identity, true);
    must(corpus_report_make(&page, fuzz_directory(), &err), &err);
    check_page(buf_str(&page));
    json_decref(build);
    return 0;
}
