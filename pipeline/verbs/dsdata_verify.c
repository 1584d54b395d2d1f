/* dsdata verify DIR: compares every byte of a dataset with its hashes (shards/verify.h), and with --sha256 also with a
 * list of sums from a trusted source (shards/sums.h). Damage is printed on stdout, a line for each range, and the exit
 * code is that of ERR_VERIFY. */
#include "shards/verify_say.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/output.h"
#include "pipeline/parts/dsdata_settings.h"
#include "pipeline/build/facts.h"
#include "shards/sums.h"

#include <string.h>

/* As a JSON array in ASCII, so that nobody mistakes it for a command to type, and no byte has a meaning for a
 * terminal. */
static void quote_command(json_t *build)
{
    enum { SHOWN = 400 };
    SCOPED(mem_free_at) char *words = json_dumps(build_words(build), JSON_COMPACT | JSON_ENSURE_ASCII);
    if (words)
        log_say("build.json, which no hash covers, says that it was made by %.*s%s", SHOWN, words,
                strlen(words) > SHOWN ? " …" : "");
}

/* Hints what to do about damage. */
static int hint_rebuild(const char *directory, const struct verify_report *report, struct error *err)
{
    if (strcmp(report->damaged[0].file, MANIFEST_NAME) == 0)
        return hint(err, "copy it again from its source, or build the dataset anew in another directory");
    SCOPED(mem_free_at) char *command = command_text("dsdata build INPUT... --out %s --fresh", directory);
    return hint(err, "rebuild it with the inputs and options that made it: %s", command);
}

/* Writes or compares sums, once the hashes were found right. */
static int settle_sums(const char *directory, const char *path, struct verify_progress progress,
                       struct verify_report *report, struct error *err)
{
    const bool there = path_exists(path);
    TRY(there ? sums_check(directory, path, progress, report, err) : sums_write(directory, path, progress, err));
    if (!there)
        log_say("%s   SHA-256 sums, written now: sign the file, and send it by another way than the dataset", path);
    else if (verify_is_good(report))
        log_say("%s   the SHA-256 sums are those of the dataset", path);
    return 0;
}

static int print_facts(const struct verify_report *report, json_t *build, struct error *err)
{
    json_t *facts = verify_json(report), *words = build_words(build);
    json_object_set_new(facts, "built_by", words ? json_incref(words) : json_null());
    TRY(facts_print(facts, err));
    return verify_is_good(report) ? 0 : ERR_VERIFY; /* the object has reported it */
}

static int say(const char *directory, const struct verify_report *report, json_t *build, struct error *err)
{
    const int result = verify_say(directory, report, err);
    if (report->count > 0) {
        quote_command(build);
        return hint_rebuild(directory, report, err);
    }
    if (result == 0)
        say_next(command_text("dsdata report %s", directory));
    return result;
}

int dsdata_verify(void *data, struct opt_paths bare, struct error *err)
{
    const struct dsdata_settings *settings = data;
    const char *directory = bare.items[0];
    SCOPED(verify_release) struct verify_report report = {0};
    struct progress progress;
    if (settings->sha256 && strcmp(settings->sha256, "-") == 0)
        return fail(err, ERR_USAGE, "--sha256 -: the sums are read from a file, or written to one");
    stop_on_signals();
    progress_open(&progress);
    int result = dataset_verify(directory, verify_shown(&progress), &report, err);
    if (result == 0 && settings->sha256 && verify_is_good(&report))
        result = settle_sums(directory, settings->sha256, verify_shown(&progress), &report, err);
    progress_close(&progress);
    TRY(result);
    json_auto_t *build = build_memory(directory);
    return settings->json ? print_facts(&report, build, err) : say(directory, &report, build, err);
}
