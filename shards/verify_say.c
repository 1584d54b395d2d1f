#include "shards/verify_say.h"

#include "base/mem.h"
#include "base/output.h"

#include <inttypes.h>
#include <stdio.h>

static int report_progress(void *context, uint64_t done, uint64_t total)
{
    struct progress *progress = context;
    char bytes[32], all[32];
    if (progress_due(progress) && total == 0)
        progress_show(progress, -1, "verified  %s", format_bytes(done, bytes));
    else if (progress_due(progress))
        progress_show(progress, (double)done / (double)total, "verified  %s of %s", format_bytes(done, bytes),
                      format_bytes(total, all));
    return stop_requested() ? -1 : 0;
}

struct verify_progress verify_shown(struct progress *progress)
{
    return (struct verify_progress){report_progress, progress};
}

json_t *verify_json(const struct verify_report *report)
{
    json_t *damaged = json_array(), *unnamed = json_array();
    for (size_t i = 0; i < report->count; i++) {
        const struct damage *d = &report->damaged[i];
        json_array_append_new(damaged, json_pack("{so sI sI ss}", "file", json_name(d->file), "from",
                                                 (json_int_t)d->from, "to", (json_int_t)d->to, "what", d->what));
    }
    for (size_t i = 0; i < report->unnamed.count; i++)
        json_array_append_new(unnamed, json_name(report->unnamed.names[i]));
    return json_pack("{sb sI sI so so}", "ok", (int)verify_is_good(report), "files", (json_int_t)report->files, "bytes",
                     (json_int_t)report->bytes, "damaged", damaged, "unnamed", unnamed);
}

int verify_say(const char *directory, const struct verify_report *report, struct error *err)
{
    char bytes[32];
    if (verify_is_good(report)) {
        output_line("%s: %" PRIu64 " files, %s: every byte is as it was written", directory, report->files,
                    format_bytes(report->bytes, bytes));
        return 0;
    }
    for (size_t i = 0; i < report->count; i++) {
        const struct damage *d = &report->damaged[i];
        output_line("%s: bytes %" PRIu64 " to %" PRIu64 ": %s", d->file, d->from, d->to, d->what);
    }
    for (size_t i = 0; i < report->unnamed.count; i++)
        output_line("%s: not named by the manifest", report->unnamed.names[i]);
    if (report->count == 0) {
        fail_at(
            err, ERR_VERIFY, directory, ERROR_NO_OFFSET,
            "every byte of the dataset is as it was written, but the manifest does not name %s; such names in all: %zu",
            report->unnamed.names[0], report->unnamed.count);
        return hint(err, "it is not part of the dataset: move it away before another program reads it as a shard");
    }
    const struct damage *first = &report->damaged[0];
    SCOPED(mem_free_at) char *path = path_join(directory, first->file);
    return fail_at(err, ERR_VERIFY, path, first->from, "%s, up to byte %" PRIu64 "; damaged ranges in all: %zu",
                   first->what, first->to, report->count);
}
