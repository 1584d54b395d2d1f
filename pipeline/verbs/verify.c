/* dsdata verify DIR: every byte of a dataset against its hashes (shards/verify.h). What is damaged goes to stdout, a
 * line for each range; the exit code is that of ERR_VERIFY. */
#include "shards/verify_say.h"

#include "base/log.h"
#include "base/output.h"
#include "pipeline/settings.h"
#include "pipeline/verbs/facts.h"

/* What to type; never empty. */
static void rebuilding_command(const char *directory, struct buf *out)
{
    json_t *build = build_memory(directory);
    if (!build_command(build, out)) {
        buf_reset(out);
        buf_addf(out, "dsdata build INPUT... --out %s --fresh, with the inputs and options that made it", directory);
    }
    json_decref(build);
    buf_text(out);
}

int verb_verify(void *data, struct opt_paths bare, struct error *err)
{
    const struct settings *settings = data;
    const char *directory = bare.items[0];
    struct verify_report report = {0};
    struct progress progress;
    struct buf command = {0};
    stop_on_signals();
    progress_open(&progress);
    int result = dataset_verify(directory, verify_shown(&progress), &report, err);
    progress_close(&progress);
    rebuilding_command(directory, &command);
    if (result == 0 && settings->json) {
        json_t *facts = verify_json(&report);
        json_object_set_new(facts, "rebuild", report.count ? json_string(command.data) : json_null());
        result = facts_print(facts, err);
        if (result == 0 && report.count)
            result = ERR_VERIFY; /* the object has said it */
    } else if (result == 0) {
        result = verify_say(directory, &report, err);
        if (result < 0)
            hint(err, "rebuild it: %s", command.data);
        else
            say_next(command_of("dsdata", "report", directory, NULL));
    }
    buf_release(&command);
    verify_release(&report);
    return result;
}
