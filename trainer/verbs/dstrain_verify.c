/* dstrain verify: what is damaged in a dataset (shards/verify.h), a checkpoint or all checkpoints of a run, in the form
 * of `dsdata verify`. */
#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/output.h"
#include "shards/manifest.h"
#include "shards/verify_say.h"
#include "trainer/run/run.h"
#include "trainer/recipe/settings.h"
#include "trainer/verbs/proof.h"

static bool holds(const char *directory, const char *name)
{
    SCOPED(mem_free_at) char *path = path_join(directory, name);
    return path_exists(path);
}

static bool holds_weights(const char *directory)
{
    SCOPED(mem_free_at) char *path = safetensors_locate(directory, WEIGHTS_NAME);
    return path != NULL;
}

/* Checks that `latest`, and `best` if it exists, name existing checkpoints. */
static int survey_pointers(const char *run, struct verify_report *report, struct error *err)
{
    enum model_source source;
    struct error found = {0};
    char *files;
    int result = checkpoint_locate(run, &source, &files, &found);
    if (result < 0 && found.kind != ERR_VERIFY)
        *err = found;
    else if (result < 0 || !path_is_directory(files))
        verify_note(report, LATEST_NAME, 0, 0, "names no checkpoint of the run");
    if (holds(run, BEST_NAME) && checkpoint_best(run) == 0)
        verify_note(report, BEST_NAME, 0, 0, "names no checkpoint of the run");
    mem_free(files);
    return result < 0 && found.kind != ERR_VERIFY ? -1 : 0;
}

static int survey_run(const char *run, struct verify_progress progress, struct verify_report *report, struct error *err)
{
    SCOPED(path_list_release) struct path_list list = {0};
    SCOPED(mem_free_at) char *checkpoints = path_join(run, CHECKPOINTS_NAME);
    if (holds(run, LATEST_NAME))
        TRY(survey_pointers(run, report, err));
    if (path_is_directory(checkpoints))
        TRY(path_list(&list, checkpoints, err));
    for (size_t i = 0; i < list.count; i++) {
        char prefix[64];
        if (!state_is_step_name(list.names[i]))
            continue; /* left by a crash; the next save removes it */
        SCOPED(mem_free_at) char *directory = path_join(checkpoints, list.names[i]);
        snprintf(prefix, sizeof prefix, "%s/%.40s/", CHECKPOINTS_NAME, list.names[i]);
        TRY(checkpoint_survey(directory, prefix, progress, report, err));
    }
    if (report->files == 0 && report->count == 0)
        return fail_at(err, ERR_USAGE, run, ERROR_NO_OFFSET, "has no checkpoint yet: there is nothing to verify");
    return 0;
}

static int survey(const char *directory, struct verify_progress progress, struct verify_report *report,
                  struct error *err)
{
    if (holds(directory, RUN_NAME) || holds(directory, LATEST_NAME))
        return survey_run(directory, progress, report, err);
    if (holds(directory, STATE_NAME) || holds(directory, MOMENTS_NAME))
        return checkpoint_survey(directory, "", progress, report, err);
    if (holds_weights(directory))
        return fail_at(err, ERR_USAGE, directory, ERROR_NO_OFFSET,
                       "is a Hugging Face directory: it has no hashes to compare its files with");
    return dataset_verify(directory, progress, report, err);
}

/* Refuses options that only --replay takes. */
static int refuse_options(const struct settings *settings, struct error *err)
{
    static const char *const names[] = {"from",       "to",   "shards", "device", "cpu",          "threads",
                                        "processes",  "gpus", "rank",   "share",  "peer-timeout", "world-size",
                                        "rendezvous", "key",  "bind",   "comm"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (settings_given(settings, names[i]))
            return fail(err, ERR_USAGE, "--%s belongs to verify --replay", names[i]);
    return 0;
}

/* --provenance without --replay: whether the checkpoints are those whose hashes were published. */
static int compare(const char *directory, const struct settings *settings, struct error *err)
{
    json_auto_t *provenance = NULL;
    size_t count = 0;
    uint64_t last = 0;
    char weights[17] = "";
    TRY(proof_read(settings->provenance, &provenance, err));
    if (!path_is_directory(directory))
        return checkpoint_refuse(directory, "no such directory", err);
    TRY(proof_compare(provenance, settings->provenance, directory, 0, UINT64_MAX, &count, &last, weights, err));
    const bool model = count == 0 && holds(directory, WEIGHTS_NAME);
    if (model)
        TRY(proof_compare_model(provenance, settings->provenance, directory, &last, weights, err));
    else if (count == 0)
        return fail_at(err, ERR_VERIFY, directory, ERROR_NO_OFFSET,
                       "has none of the checkpoints that %.80s names, as " CHECKPOINTS_NAME "/step-%08" PRIu64,
                       settings->provenance, proof_last(provenance));
    if (settings->json)
        output_json(json_pack("{s:b, s:i, s:I, s:s}", "ok", 1, "checkpoints", (int)count, "step", (json_int_t)last,
                              "weights", weights),
                    0);
    else if (model)
        output_line("%s: its weights are those of step %" PRIu64 " in %s, XXH3 %s", directory, last,
                    settings->provenance, weights);
    else
        output_line("%s: checkpoints that are those of %s: %zu; the weights of step %" PRIu64 " have XXH3 %s",
                    directory, settings->provenance, count, last, weights);
    say_next(
        command_text("dstrain verify %s --replay --provenance %s", model ? "RUN" : directory, settings->provenance));
    return 0;
}

int dstrain_verify(void *context, struct opt_paths bare, struct error *err)
{
    const struct settings *settings = context;
    if (settings->replay)
        return dstrain_replay(context, bare, err);
    TRY(refuse_options(settings, err));
    const char *directory = bare.items[0];
    if (settings->provenance)
        return compare(directory, settings, err);
    SCOPED(verify_release) struct verify_report report = {0};
    struct progress progress;
    stop_on_signals();
    progress_open(&progress);
    int result = survey(directory, verify_shown(&progress), &report, err);
    progress_close(&progress);
    if (result == 0 && settings->json) {
        output_json(verify_json(&report), 0);
        if (!verify_is_good(&report))
            result = ERR_VERIFY; /* only the exit code: the object has the message */
    } else if (result == 0) {
        result = verify_say(directory, &report, err);
        if (report.count > 0 && holds(directory, MANIFEST_NAME))
            hint_command(err, "dsdata verify %s says how to rebuild it", directory);
        else if (report.count > 0)
            hint(err, "dstrain --skip-damaged goes on from the newest checkpoint that is intact");
        else if (result == 0)
            say_next(holds(directory, MANIFEST_NAME) ? command_text("dstrain plan --shards %s", directory)
                                                     : command_text("dstrain show %s", directory));
    }
    return result;
}
