/* dsdata export DIR --format jsonl: one JSON object a line per sample, with the keys of Google's records, padded with
 * zeros as Google pads. Numbers are written by hand: a sample has hundreds, and printf would be the slowest part by
 * far. */
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/progress.h"
#include "pipeline/settings.h"
#include "shards/dataset.h"

#include <inttypes.h>
#include <stdio.h>

#define WRITE_BYTES ((size_t)1 << 20)

/* ------------------------------------------------------------------------------------------- one sample */

static char *put_text(char *at, struct str text)
{
    memcpy(at, text.data, text.size);
    return at + text.size;
}

static char *put_number(char *at, uint64_t number)
{
    char digits[20];
    size_t count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while (number /= 10);
    while (count)
        *at++ = digits[--count];
    return at;
}

/* `used` numbers, or the text `one` in the place of each where numbers is NULL; then `zero` up to `count` of them. */
static char *put_list(char *at, struct str key, const uint32_t *numbers, struct str one, uint32_t used, struct str zero,
                      uint32_t count)
{
    at = put_text(at, key);
    *at++ = '[';
    for (uint32_t i = 0; i < count; i++) {
        if (i >= used)
            at = put_text(at, zero);
        else
            at = numbers ? put_number(at, numbers[i]) : put_text(at, one);
        *at++ = ',';
    }
    at[-1] = ']'; /* count is at least 1 */
    return at;
}

/* Ids have at most 8 digits, positions 4; keys and the rest fit into 512. */
static size_t line_bytes_max(const struct shard_layout *layout)
{
    return 512 + (size_t)layout->seq * (9 + 2 + 2) + (size_t)layout->predictions * (5 + 9 + 4);
}

static char *put_sample(char *at, const struct shard_layout *layout, const struct sample *sample)
{
    const uint32_t seq = layout->seq, places = layout->predictions;
    at = put_list(at, STR("{\"input_ids\":"), sample->ids, STR(""), sample->length, STR("0"), seq);
    at = put_list(at, STR(",\"input_mask\":"), NULL, STR("1"), sample->length, STR("0"), seq);
    at = put_text(at, STR(",\"segment_ids\":["));
    for (uint32_t i = 0; i < seq; i++) {
        *at++ = i >= sample->a_length && i < sample->length ? '1' : '0';
        *at++ = i + 1 < seq ? ',' : ']';
    }
    at = put_list(at, STR(",\"masked_lm_positions\":"), sample->positions, STR(""), sample->masked, STR("0"), places);
    at = put_list(at, STR(",\"masked_lm_ids\":"), sample->labels, STR(""), sample->masked, STR("0"), places);
    at = put_list(at, STR(",\"masked_lm_weights\":"), NULL, STR("1.0"), sample->masked, STR("0.0"), places);
    at = put_text(at, STR(",\"next_sentence_labels\":"));
    at = put_number(at, sample->is_random_next);
    at = put_text(at, STR(",\"page_id\":"));
    at = put_number(at, sample->document_a);
    return put_text(at, STR("}\n"));
}

/* ------------------------------------------------------------------------------------------ all of them */

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

static int write_samples(const struct dataset *dataset, struct sink *sink, struct progress *progress, struct error *err)
{
    const size_t line_bytes = line_bytes_max(&dataset->layout);
    struct sample sample = sample_make(&dataset->layout);
    int result = 0;
    for (uint64_t i = 0; i < dataset->samples && result == 0; i++) {
        result = dataset_sample(dataset, i, &sample, err);
        if (result < 0)
            break;
        buf_reserve(&sink->buf, line_bytes);
        char *line = sink->buf.data + sink->buf.size;
        sink->buf.size += (size_t)(put_sample(line, &dataset->layout, &sample) - line);
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
        result = write_samples(&dataset, &sink, &progress, err);
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
