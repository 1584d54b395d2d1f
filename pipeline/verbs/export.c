/* dsdata export DIR: the samples of one length and split, one after the other, as other trainers read them. Their order
 * is that of shards and records; memory does not grow with their number. */
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/progress.h"
#include "pipeline/settings.h"
#include "pipeline/verbs/export_formats.h"
#include "shards/dataset.h"

#include <inttypes.h>
#include <stdio.h>

#define WRITE_BYTES ((size_t)1 << 20)

/* A file under its final name at the end, or standard output. */
struct sink {
    struct file file; /* closed: standard output */
    struct buf buf;
};

static int sink_flush(struct sink *sink, struct error *err)
{
    const size_t bytes = sink->buf.size;
    buf_reset(&sink->buf);
    if (bytes == 0)
        return 0;
    if (sink->file.fd >= 0)
        return file_write(&sink->file, sink->buf.data, bytes, err);
    if (fwrite(sink->buf.data, 1, bytes, stdout) != bytes || fflush(stdout) != 0)
        return fail_errno(err, "standard output", "cannot be written");
    return 0;
}

static int write_samples(const struct dataset *dataset, const struct export_format *format, struct sink *sink,
                         struct progress *progress, struct error *err)
{
    const size_t record_bytes = format->bytes_max(&dataset->layout);
    struct sample sample = sample_make(&dataset->layout);
    int result = 0;
    for (uint64_t i = 0; i < dataset->samples && result == 0; i++) {
        result = dataset_sample(dataset, i, &sample, err);
        if (result < 0)
            break;
        buf_reserve(&sink->buf, record_bytes);
        sink->buf.size += format->put(sink->buf.data + sink->buf.size, &dataset->layout, &sample);
        if (sink->buf.size < WRITE_BYTES)
            continue;
        result = sink_flush(sink, err);
        if (result == 0 && stop_requested())
            result = fail(err, ERR_STOPPED, "stopped on request; nothing was left behind");
        if (progress_due(progress))
            progress_show(progress, (double)i / (double)dataset->samples,
                          "exported  %" PRIu64 " of %" PRIu64 " samples", i, dataset->samples);
    }
    sample_release(&sample);
    return result < 0 ? result : sink_flush(sink, err);
}

int verb_export(void *data, struct opt_paths bare, struct error *err)
{
    const struct settings *settings = data;
    static const struct export_format *const formats[] = {
        [EXPORT_JSONL] = &export_jsonl, [EXPORT_TFRECORD] = &export_tfrecord};
    const bool to_file = settings->out && strcmp(settings->out, "-") != 0;
    struct sink sink = {.file = FILE_CLOSED};
    struct dataset dataset;
    struct progress progress;
    stop_on_signals();
    TRY(dataset_open(&dataset, bare.items[0], (uint32_t)settings->seq_one, (enum split)settings->split, err));
    if (dataset.samples == 0)
        log_warn("the %s split of length %u is empty", split_names[settings->split], dataset.layout.seq);
    progress_open(&progress);
    int result = to_file ? file_create(&sink.file, settings->out, err) : 0;
    if (result == 0)
        result = write_samples(&dataset, formats[settings->format], &sink, &progress, err);
    if (result == 0 && to_file)
        result = file_commit(&sink.file, err);
    progress_close(&progress);
    if (result == 0 && to_file)
        log_say("%" PRIu64 " samples of length %u in %s", dataset.samples, dataset.layout.seq, settings->out);
    file_close(&sink.file);
    buf_release(&sink.buf);
    dataset_close(&dataset);
    return result;
}
