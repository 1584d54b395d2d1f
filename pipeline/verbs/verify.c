/* dsdata verify DIR: every byte of a dataset against its hashes (shards/verify.h). What is damaged goes to stdout, a
 * line for each range; the exit code is that of ERR_VERIFY. */
#include "shards/verify.h"

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/progress.h"
#include "pipeline/settings.h"
#include "pipeline/verbs/facts.h"

#include <inttypes.h>
#include <stdio.h>

static int told(void *context, uint64_t done, uint64_t total)
{
    struct progress *progress = context;
    char bytes[32], all[32];
    if (progress_due(progress))
        progress_show(progress, total ? (double)done / (double)total : 1, "verified  %s of %s",
                      format_bytes(done, bytes), format_bytes(total, all));
    return stop_requested() ? -1 : 0;
}

static json_t *report_json(const struct verify_report *report, const char *command)
{
    json_t *object = json_object(), *damaged = json_array();
    for (size_t i = 0; i < report->count; i++) {
        const struct damage *d = &report->damaged[i];
        json_t *range = json_object();
        json_object_set_new(range, "file", json_string(d->file));
        json_object_set_new(range, "from", json_integer((json_int_t)d->from));
        json_object_set_new(range, "to", json_integer((json_int_t)d->to));
        json_object_set_new(range, "what", json_string(d->what));
        json_array_append_new(damaged, range);
    }
    json_object_set_new(object, "ok", json_boolean(report->count == 0));
    json_object_set_new(object, "files", json_integer((json_int_t)report->files));
    json_object_set_new(object, "bytes", json_integer((json_int_t)report->bytes));
    json_object_set_new(object, "damaged", damaged);
    json_object_set_new(object, "rebuild", report->count ? json_string(command) : json_null());
    return object;
}

static int say_damage(const char *directory, const struct verify_report *report, const char *command, struct error *err)
{
    const struct damage *first = &report->damaged[0];
    char *path = path_join(directory, first->file);
    for (size_t i = 0; i < report->count; i++) {
        const struct damage *d = &report->damaged[i];
        printf("%s: bytes %" PRIu64 " to %" PRIu64 ": %s\n", d->file, d->from, d->to, d->what);
    }
    fail_at(err, ERR_VERIFY, path, first->from, "%s, up to byte %" PRIu64 "; damaged ranges in all: %zu", first->what,
            first->to, report->count);
    mem_free(path);
    return hint(err, "rebuild it: %s", command);
}

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
    char bytes[32];
    stop_on_signals();
    progress_open(&progress);
    int result = dataset_verify(directory, (struct verify_progress){told, &progress}, &report, err);
    progress_close(&progress);
    rebuilding_command(directory, &command);
    if (result == 0 && settings->json) {
        result = facts_print(report_json(&report, command.data), err);
        if (result == 0 && report.count)
            result = ERR_VERIFY; /* the object has said it */
    } else if (result == 0 && report.count) {
        result = say_damage(directory, &report, command.data, err);
    } else if (result == 0) {
        printf("%s: %" PRIu64 " files, %s: every byte is as it was written\n", directory, report.files,
               format_bytes(report.bytes, bytes));
        log_say("next       dsdata report %s", directory);
    }
    buf_release(&command);
    verify_release(&report);
    return result;
}
