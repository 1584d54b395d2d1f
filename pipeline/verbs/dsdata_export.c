/* dsdata export DIR: writes the samples of one length and split in formats of other trainers. Files are written in
 * parallel, each by one thread from its first sample to its last; memory does not grow with their number. */
#include "base/cores.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/output.h"
#include "base/parallel.h"
#include "base/progress.h"
#include "pipeline/dump/codecs.h"
#include "pipeline/parts/dsdata_settings.h"
#include "pipeline/verbs/export_formats.h"
#include "pipeline/verbs/output_file.h"
#include "shards/order.h"

#include <inttypes.h>
#include <stdio.h>

#define WRITE_BYTES ((size_t)1 << 20)

/* ---- samples in order ---- */

static struct mask_rules rules_of(const struct dataset *dataset)
{
    const struct manifest *manifest = &dataset->manifest;
    return (struct mask_rules){
        .vocab_size = manifest->vocab_size,
        .cls = manifest->special.cls,
        .sep = manifest->special.sep,
        .mask = manifest->special.mask,
        .millionths = manifest->mask_millionths,
        .predictions = dataset->layout.predictions,
        .split = MASK_SPLIT_BERT,
        .words = dataset->words,
    };
}

static int read_sample(const struct export_work *work, uint64_t place, struct sample *sample, struct error *err)
{
    const struct dataset *dataset = work->dataset;
    const struct order order = {dataset->samples, dataset->length->shards, work->seed, true};
    const uint64_t index = work->in_epoch ? order_sample(&order, work->epoch, place) : place;
    TRY(dataset_sample(dataset, index, sample, err));
    if (work->masks == EXPORT_UNMASKED)
        mask_restore(sample);
    if (work->masks == EXPORT_FRESH) {
        const struct mask_rules rules = rules_of(dataset);
        mask_anew(work->seed, work->epoch, index, dataset->layout.seq, &rules, sample);
    }
    return 0;
}

int export_each(struct export_file *file, int (*take)(void *context, const struct sample *sample, struct error *err),
                void *context, struct error *err)
{
    SCOPED(sample_release) struct sample sample = sample_make(&file->work->dataset->layout);
    for (uint64_t i = 0; i < file->count; i++) {
        TRY(read_sample(file->work, file->first + i, &sample, err));
        TRY(take(context, &sample, err));
        if (i % 1024 == 0 && stop_requested())
            return fail(err, ERR_STOPPED, "stopped on request; no unfinished file was left");
        atomic_fetch_add_explicit(&file->work->done, 1, memory_order_relaxed);
    }
    return 0;
}

/* ---- records one after the other ---- */

/* An output file, which gets its final name at the end; or standard output. */
struct sink {
    const struct export_format *format;
    const struct shard_layout *layout;
    size_t record_bytes;
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
    return output_write((struct str){sink->buf.data, bytes}, err);
}

static int sink_take(void *context, const struct sample *sample, struct error *err)
{
    struct sink *sink = context;
    buf_reserve(&sink->buf, sink->record_bytes);
    sink->buf.size += sink->format->put(sink->buf.data + sink->buf.size, sink->layout, sample);
    return sink->buf.size < WRITE_BYTES ? 0 : sink_flush(sink, err);
}

static void sink_release(struct sink *sink)
{
    file_close(&sink->file);
    buf_release(&sink->buf);
}

static int write_records(const struct export_format *format, struct export_file *file, struct error *err)
{
    const struct shard_layout *layout = &file->work->dataset->layout;
    SCOPED(sink_release) struct sink sink = {format, layout, format->bytes_max(layout), FILE_CLOSED, {0}};
    if (file->path)
        TRY(file_create(&sink.file, file->path, err));
    TRY(export_each(file, sink_take, &sink, err));
    TRY(sink_flush(&sink, err));
    return file->path ? file_commit(&sink.file, err) : 0;
}

/* ---- files ---- */

struct pool {
    const struct export_format *format;
    struct export_file *files;
    struct error *errors; /* [files] kind ERR_NONE: none */
    uint64_t count;
    struct progress *progress;
    atomic_bool failed;
};

static void write_file(const void *context, size_t task, int thread)
{
    struct pool *pool = (struct pool *)context;
    struct export_file *file = &pool->files[task];
    const uint64_t all = file->work->dataset->samples;
    if (atomic_load(&pool->failed))
        return;
    const int result = pool->format->write ? pool->format->write(file, &pool->errors[task])
                                           : write_records(pool->format, file, &pool->errors[task]);
    if (result < 0)
        atomic_store(&pool->failed, true);
    if (thread == 0 && progress_due(pool->progress))
        progress_show(pool->progress, (double)atomic_load(&file->work->done) / (double)all,
                      "exported  %" PRIuFAST64 " of %" PRIu64 " samples", atomic_load(&file->work->done), all);
}

static int write_files(struct pool *pool, const struct dsdata_settings *settings, struct error *err)
{
    parallel_set_threads((int)(settings->threads ? settings->threads : cores_allowed()));
    parallel(pool->count, write_file, pool);
    for (uint64_t i = 0; i < pool->count; i++)
        if (pool->errors[i].kind != ERR_NONE) {
            *err = pool->errors[i];
            return -1;
        }
    return 0;
}

static char *path_of(const struct export_format *format, const struct export_work *work, const char *out,
                     uint64_t index, uint64_t count)
{
    char name[64];
    if (!out)
        return NULL;
    if (!format->folder)
        return output_file_numbered(out, index, count);
    format->name_file(work, index, count, name);
    return path_join(out, name);
}

/* Warns if an earlier export into another number of files left some beside ours: a pattern like valid-*.jsonl would
 * take both. */
static void warn_left_over(const char *out, uint64_t count)
{
    SCOPED(mem_free_at) char *folder = path_parent(out);
    const char *slash = strrchr(out, '/'), *stem = slash ? slash + 1 : out;
    const size_t stem_bytes = output_file_stem(out) - (size_t)(stem - out);
    struct error ignored;
    SCOPED(path_list_release) struct path_list list = {0};
    path_list(&list, folder, &ignored);
    for (size_t i = 0; i < list.count; i++) {
        const char *name = list.names[i];
        unsigned long long index, of;
        int end = 0;
        if (strncmp(name, stem, stem_bytes) != 0 ||
            sscanf(name + stem_bytes, "-%5llu-of-%5llu%n", &index, &of, &end) != 2 ||
            strcmp(name + stem_bytes + end, stem + stem_bytes) != 0 || of == count)
            continue;
        log_warn("%s is there too, from an export into %llu files: a pattern may take both", name, of);
        return;
    }
}

/* Writes the files, and completes their folder if they have one. */
static int write_all(struct pool *pool, const struct dsdata_settings *settings, const char *out,
                     struct target_folder *folder, struct error *err)
{
    const struct export_format *format = pool->format;
    for (uint64_t i = 0; i < pool->count && !format->folder; i++)
        TRY(output_file_check(settings, (struct opt_paths){0}, pool->files[i].path, &format->form, err));
    TRY(write_files(pool, settings, err));
    if (format->finish)
        TRY(format->finish(out, pool->files, pool->count, err));
    return format->folder ? target_folder_done(folder, err) : 0;
}

static int export_all(const struct export_format *format, struct export_work *work,
                      const struct dsdata_settings *settings, const char *out, struct error *err)
{
    struct progress progress;
    char samples[32];
    uint64_t count = settings->files ? settings->files : format->files ? format->files(work) : 1;
    if (count > work->dataset->samples)
        count = work->dataset->samples ? work->dataset->samples : 1;
    struct pool pool = {.format = format, .count = count, .progress = &progress};
    struct target_folder folder = {
        .path = out, .ours = format->ours, .forms = &format->form, .form_count = 1, .key = format->key};
    if (format->folder)
        TRY(target_folder_open(&folder, err));
    pool.files = mem_clear(count, sizeof *pool.files);
    pool.errors = mem_clear(count, sizeof *pool.errors);
    for (uint64_t i = 0; i < count; i++)
        pool.files[i] = (struct export_file){.work = work,
                                             .path = path_of(format, work, out, i, count),
                                             .first = shard_first(work->dataset->samples, count, i),
                                             .count = shard_records(work->dataset->samples, count, i)};
    progress_open(&progress);
    const int result = write_all(&pool, settings, out, &folder, err);
    progress_close(&progress);
    if (result < 0 && format->folder)
        target_folder_undo(&folder);
    for (uint64_t i = 0; i < count; i++)
        mem_free((char *)pool.files[i].path);
    mem_free(pool.files);
    mem_free(pool.errors);
    TRY(result);
    if (out)
        log_say("%s samples of length %u in %s, %" PRIu64 " file%s", format_count(work->dataset->samples, samples),
                work->dataset->layout.seq, out, count, count == 1 ? "" : "s");
    if (out && !format->folder && count > 1)
        warn_left_over(out, count);
    return 0;
}

/* --------------------------------------------------------------------------------------- the command line */

#define FORMAT_ROW(NAME, row, typed)  [EXPORT_##NAME] = &export_##row,
#define FORMAT_NAME(NAME, row, typed) [EXPORT_##NAME] = typed,
static const struct export_format *const formats[EXPORT_FORMATS] = {EXPORT_FORMAT_LIST(FORMAT_ROW)};
const char *const export_format_names[EXPORT_FORMATS] = {EXPORT_FORMAT_LIST(FORMAT_NAME)};

/* The Python package writes it. */
static const char *const parquet_endings[] = {".parquet", NULL};
const struct export_format export_parquet = {.endings = parquet_endings};

static enum export_masks masks_of(const struct dsdata_settings *settings)
{
    if (settings->masks != EXPORT_AUTO)
        return (enum export_masks)settings->masks;
    if (formats[settings->format]->unmasked)
        return EXPORT_UNMASKED;
    return settings_given(settings, "epoch") && settings->epoch > 0 ? EXPORT_FRESH : EXPORT_STORED;
}

/* The format whose files have such names, or -1. */
static int format_of(const char *out)
{
    size_t size = strlen(out);
    while (size > 1 && out[size - 1] == '/')
        size--;
    for (int format = 0; format < EXPORT_FORMATS; format++)
        for (const char *const *ending = formats[format]->endings; *ending; ending++)
            if (str_ends_ascii_nocase((struct str){out, size}, str_of(*ending)))
                return format;
    return -1;
}

/* This command with another --format; for Parquet, that of the Python package, which has the same options. */
static char *command_with(const struct dsdata_settings *settings, enum export_format_name format)
{
    const char *out = settings_out(settings);
    const bool parquet = format == EXPORT_PARQUET;
    struct buf command = settings_command(settings, "export", parquet ? " format out masks threads " : " format out ");
    command_option(&command, "format", export_format_names[format]);
    command_option(&command, "out", out ? out : "samples.parquet");
    if (parquet) {
        struct buf python = {0};
        buf_addf(&python, "python3 -m dsshards%s", buf_text(&command) + strlen("dsdata"));
        buf_release(&command);
        command = python;
    }
    buf_text(&command);
    return command.data;
}

/* A file whose name promises another format would not be read by anything. */
static int check_ending(const struct dsdata_settings *settings, struct error *err)
{
    for (enum container packed = CONTAINER_NONE + 1; settings->out && packed < CONTAINERS; packed++)
        if (str_ends_ascii_nocase(str_of(settings->out), str_of(codec_of(packed)->extension))) {
            fail_at(err, ERR_USAGE, settings->out, ERROR_NO_OFFSET,
                    "is the name of a compressed file, and an export is not compressed");
            return hint(err, "%s", "give --out without that ending, and compress the file afterwards");
        }
    const int wanted = settings->out ? format_of(settings->out) : -1;
    if (wanted < 0 || wanted == settings->format)
        return 0;
    SCOPED(mem_free_at) char *command = command_with(settings, (enum export_format_name)wanted);
    fail_at(err, ERR_USAGE, settings->out, ERROR_NO_OFFSET,
            "is the name of a file of the format %s, but --format is %s", export_format_names[wanted],
            export_format_names[settings->format]);
    return hint(err, "%s", command);
}

static int check(const struct dsdata_settings *settings, const struct export_format *format, struct error *err)
{
    const bool to_stdout = !settings_out(settings);
    TRY(check_ending(settings, err));
    if (!format->put && !format->write) {
        SCOPED(mem_free_at) char *command = command_with(settings, EXPORT_PARQUET);
        fail(err, ERR_UNSAFE, "Parquet is written by the Python package in python/ (pip install ./python pyarrow)");
        return hint(err, "%s", command);
    }
    if (to_stdout && format->folder)
        return fail(err, ERR_USAGE, "--format %s makes a folder: say --out DIR", export_format_names[settings->format]);
    if (to_stdout && settings->files > 1)
        return fail(err, ERR_USAGE, "--files needs --out FILE: standard output is one file");
    if (settings_given(settings, "seed") && !settings_given(settings, "epoch") && settings->masks != EXPORT_FRESH)
        return fail(err, ERR_USAGE, "--seed names the order of an epoch: say --epoch too");
    return 0;
}

/* After the training samples, the command for the held-out ones, if there are some. */
static void say_next_split(const struct dsdata_settings *settings, const struct export_format *format,
                           const struct dataset *dataset)
{
    const uint32_t seq = dataset->layout.seq;
    const struct manifest_length *valid = manifest_find(&dataset->manifest, seq, SPLIT_VALID);
    char length[16];
    snprintf(length, sizeof length, "%u", seq);
    if (settings->split == SPLIT_TRAIN && valid && valid->samples > 0)
        say_next(command_text("dsdata export %s --seq %s --split valid --format %s --out %s", dataset->directory,
                              length, export_format_names[settings->format], format->folder ? "DIR" : "FILE"));
    else
        say_next(command_text("dsdata report %s", dataset->directory));
}

int dsdata_export(void *data, struct opt_paths bare, struct error *err)
{
    const struct dsdata_settings *settings = data;
    const struct export_format *format = formats[settings->format];
    SCOPED(dataset_close) struct dataset dataset = {0};
    stop_on_signals();
    TRY(check(settings, format, err));
    TRY(dataset_open(&dataset, bare.items[0], (uint32_t)settings->seq_one, (enum split)settings->split, err));
    if (dataset.samples == 0)
        log_warn("the %s split of length %u is empty", split_names[settings->split], dataset.layout.seq);
    struct export_work work = {.dataset = &dataset,
                               .in_epoch = settings_given(settings, "epoch"),
                               .epoch = settings->epoch,
                               .seed = settings->seed,
                               .masks = masks_of(settings)};
    const char *out = settings_out(settings);
    TRY(export_all(format, &work, settings, out, err));
    if (out)
        say_next_split(settings, format, &dataset);
    return 0;
}
