/* dsdata show DIR|SHARD: describes a dataset or a shard, on a screen or as JSON. One sample: show_sample.c. */
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/output.h"
#include "base/random.h"
#include "pipeline/parts/counts.h"
#include "pipeline/parts/dsdata_settings.h"
#include "pipeline/build/facts.h"
#include "pipeline/verbs/show_difference.h"
#include "pipeline/verbs/show_sample.h"
#include "shards/dataset.h"

#include <inttypes.h>
#include <stdio.h>

#define LEAKS_SHOWN   5u
#define SOURCES_SHOWN 3u

/* ---------------------------------------------------------------------------------------------- a dataset */

static void print_pages(const struct manifest *m)
{
    char count[32];
    SCOPED(buf_release) struct buf dropped = {0};
    for (size_t i = 0; i < m->dropped_count; i++)
        if (m->dropped[i].pages) {
            buf_add_text(&dropped, dropped.size ? ", " : "; dropped ");
            page_fate_add(m->dropped[i].name, m->dropped[i].pages, &dropped);
        }
    output_line("%-10s %s kept%s", manifest_of_pages(m) ? "pages" : "documents", format_count(m->pages_kept, count),
                buf_text(&dropped));
}

static void print_repairs(const struct manifest *m, const json_t *build)
{
    char count[32];
    SCOPED(buf_release) struct buf repaired = {0}, worst = {0};
    struct build_template row;
    for (size_t i = 0; i < m->repaired_count; i++)
        buf_addf(&repaired, "%s%s %s", i ? ", " : "", format_count(m->repaired[i].documents, count),
                 repair_words_of(m->repaired[i].name));
    if (m->repaired_documents > 0)
        output_line("repaired   %s: %s", format_count(m->repaired_documents, count), buf_text(&repaired));
    for (size_t i = 0; i < LEAKS_SHOWN && build_name(build, "leaks", i, &row); i++)
        buf_addf(&worst, "%s%s %" PRIu64, i ? ", " : "; worst: ", row.name, row.count);
    if (m->leaks > 0)
        output_line("leaks      %s%s", format_count(m->leaks, count), buf_text(&worst));
}

static void print_length(const struct manifest *m, const struct manifest_length *l)
{
    char name[16], samples[56], tokens[56], bytes[32], filled[128] = "";
    snprintf(name, sizeof(name), "seq%u", l->seq);
    if (l->samples)
        snprintf(filled, sizeof(filled), ", %s, %.1f %% filled, %u shard%s, %s",
                 format_counted(l->tokens, "token", tokens), manifest_filled(l) / 1e4, l->shards,
                 l->shards == 1 ? "" : "s", format_bytes(manifest_length_bytes(m, l), bytes));
    output_line("%-10s %s  %s%s", l->split == SPLIT_TRAIN ? name : "", split_names[l->split],
                format_counted(l->samples, "sample", samples), filled);
}

static void print_source(const struct manifest *m, const json_t *build, size_t i, const char *label)
{
    char hash[17], bytes[32];
    const char *name = build_source_name(build, i);
    output_line("%-10s %s   %s   %s", label, name ? name : "(name not known)", format_bytes(m->sources[i].bytes, bytes),
                hash_text(m->sources[i].hash, hash));
}

/* A line for each, or one for all if there are many. */
static void print_sources(const struct manifest *m, const json_t *build, bool all)
{
    char count[32], bytes[32];
    uint64_t sum = 0;
    const char *name = build_source_name(build, 0);
    for (size_t i = 0; i < m->source_count; i++) {
        sum += m->sources[i].bytes;
        if (all || m->source_count <= SOURCES_SHOWN)
            print_source(m, build, i, i ? "" : "sources");
    }
    if (!all && m->source_count > SOURCES_SHOWN)
        output_line("%-10s %s and %s more   %s   (-v lists them)", "sources", name ? name : "(name not known)",
                    format_count(m->source_count - 1, count), format_bytes(sum, bytes));
}

static void print_dataset(const char *directory, const struct manifest *m, const json_t *build, bool all)
{
    char hash[17], count[32], bytes[32];
    uint64_t total = 0;
    for (size_t i = 0; i < m->length_count; i++)
        total += manifest_length_bytes(m, &m->lengths[i]);
    output_line("%s   %s", directory, format_bytes(total, bytes));
    output_line("root       %s   format_version %u   text_version %u", hash_text(m->root_hash, hash), m->format_version,
                m->text_version);
    print_sources(m, build, all);
    print_pages(m);
    print_repairs(m, build);
    if (manifest_of_pages(m))
        output_line("documents  %s", format_count(m->documents, count));
    if (*manifest_valid_by(m))
        output_line("held out   by %s", manifest_valid_by(m));
    output_line("vocab      %s pieces, %s, accents %s   %s", format_count(m->vocab_size, count),
                m->cased ? "cased" : "uncased", m->accents_kept ? "kept" : "stripped", hash_text(m->vocab_hash, hash));
    output_line("masks      %g %% of tokens, by %s; pairs %s; seed %" PRIu64, m->mask_millionths / 1e4,
                mask_names[m->masking], pair_names[m->pairs], m->seed);
    for (size_t i = 0; i < m->length_count; i++)
        print_length(m, &m->lengths[i]);
}

static int show_dataset(const struct dsdata_settings *settings, const char *directory, struct error *err)
{
    SCOPED(manifest_release) struct manifest manifest = {0};
    if (settings->seq_one) { /* a length that the dataset does not have is an error */
        struct dataset dataset;
        TRY(dataset_open(&dataset, directory, (uint32_t)settings->seq_one, (enum split)settings->split, err));
        dataset_close(&dataset);
    }
    TRY(manifest_read(&manifest, directory, err));
    json_auto_t *build = build_memory(directory);
    if (settings->json)
        return facts_print(facts_json(&manifest, build), err);
    print_dataset(directory, &manifest, build, settings->verbose);
    say_next(command_text("dsdata show %s --sample 0", directory));
    return 0;
}

/* ------------------------------------------------------------------------------------------------ a shard */

static json_t *shard_json(const struct shard *shard)
{
    const struct shard_header *h = &shard->header;
    char hash[17], vocab[17], seed[24];
    snprintf(seed, sizeof(seed), "%" PRIu64, h->seed);
    return json_pack("{ss sI sI sI ss sI ss sI sI ss ss sf ss sI sI sI sI}", "hash", hash_text(shard->hash, hash),
                     "format_version", (json_int_t)h->format_version, "text_version", (json_int_t)h->text_version,
                     "vocab_size", (json_int_t)h->vocab_size, "vocab_hash", hash_text(h->vocab_hash, vocab), "seq",
                     (json_int_t)h->seq, "split", split_names[h->split], "shard", (json_int_t)h->shard, "shards",
                     (json_int_t)h->shard_count, "pairs", pair_names[h->pairs], "masking", mask_names[h->masking],
                     "mask_prob", h->mask_millionths / (double)MILLION, "seed", seed, "predictions",
                     (json_int_t)h->predictions, "samples", (json_int_t)h->record_count, "record_bytes",
                     (json_int_t)h->record_bytes, "bytes", (json_int_t)shard_file_bytes(h));
}

static void print_shard(const struct shard *shard)
{
    const struct shard_header *h = &shard->header;
    char hash[17], count[32], bytes[32];
    output_line("%s   %s", shard->path, format_bytes(shard_file_bytes(h), bytes));
    output_line("shard      %u of %u of split %s   format_version %u   text_version %u   %s", h->shard, h->shard_count,
                split_names[h->split], h->format_version, h->text_version, hash_text(shard->hash, hash));
    output_line("samples    %s of length %u, at most %u masked, %u bytes each", format_count(h->record_count, count),
                h->seq, h->predictions, h->record_bytes);
    output_line("vocab      %s pieces   %s", format_count(h->vocab_size, count), hash_text(h->vocab_hash, hash));
    output_line("masks      %g %% of tokens, by %s; pairs %s; seed %" PRIu64, h->mask_millionths / 1e4,
                mask_names[h->masking], pair_names[h->pairs], h->seed);
}

static int show_shard(const struct dsdata_settings *settings, const char *path, struct error *err)
{
    SCOPED(shard_close) struct shard shard = {0};
    TRY(shard_open(&shard, path, err));
    if (settings->json)
        return facts_print(shard_json(&shard), err);
    print_shard(&shard);
    say_next(command_text("dsdata show %s --sample 0", path));
    return 0;
}

int dsdata_show(void *data, struct opt_paths bare, struct error *err)
{
    const struct dsdata_settings *settings = data;
    const char *path = bare.items[0];
    const bool directory = path_is_directory(path) || !path_exists(path);
    if (bare.count == 2 && settings_given(settings, "sample"))
        return fail(err, ERR_USAGE, "--sample takes one dataset");
    if (!directory && !str_ends(str_of(path), STR(".dss"))) {
        fail_at(err, ERR_USAGE, path, ERROR_NO_OFFSET, "is neither a dataset's directory nor a shard (.dss)");
        return hint(err, "dsdata show takes these two only");
    }
    if (bare.count == 2)
        return show_difference(settings, path, bare.items[1], err);
    if (settings_given(settings, "sample"))
        return directory ? show_sample_of_dataset(settings, path, err) : show_sample_of_shard(settings, path, err);
    return directory ? show_dataset(settings, path, err) : show_shard(settings, path, err);
}
