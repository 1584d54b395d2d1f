#include "pipeline/store/seal.h"

#include "base/belt.h"
#include "base/mem.h"
#include "base/progress.h"
#include "shards/writer.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READ_BYTES (1u << 20)

/* A run of keys of one bucket that fits into memory. */
struct load {
    size_t set;
    uint32_t bucket;
    uint64_t first, last; /* keys */
    struct buf entries;
    const char **sorted; /* [count] into entries */
    size_t count, capacity;
    char *block; /* [READ_BYTES rounded up to an entry] */
    size_t block_bytes;
};

struct sealer {
    const struct seal_options *options;
    /* where the source is */
    size_t set;
    uint32_t bucket;
    uint64_t slice;
    /* where the writer is */
    size_t writing_set;
    uint32_t shard;
    uint64_t in_shard;
    struct shard_writer writer;
};

static uint64_t bucket_bytes(const struct sealer *sealer)
{
    return sealer->options->spill->buckets[sealer->set][sealer->bucket].bytes;
}

/* A bucket that is larger than a load is taken in 2^bits slices by the next bits of the key. */
static uint32_t slice_bits(const struct sealer *sealer)
{
    const uint32_t bucket_bits = sealer->options->spill->sets[sealer->set].bucket_bits;
    uint32_t bits = 0;
    while (bits < 24 - bucket_bits && bucket_bytes(sealer) >> bits > sealer->options->load_bytes_max / 4 * 3)
        bits++;
    return bucket_bytes(sealer) > sealer->options->load_bytes_max ? bits : 0;
}

static int next_load(void *context, void *job, uint64_t number, struct error *err)
{
    struct sealer *sealer = context;
    const struct spill *spill = sealer->options->spill;
    struct load *load = job;
    (void)number;
    if (stop_requested())
        return fail(err, ERR_STOPPED, "stopped on request while sealing");
    if (sealer->set == spill->set_count)
        return BELT_END;

    const uint32_t bits = spill->sets[sealer->set].bucket_bits, more = slice_bits(sealer);
    const uint64_t range = (uint64_t)sealer->bucket << more | sealer->slice;
    load->set = sealer->set;
    load->bucket = sealer->bucket;
    load->first = bits + more == 0 ? 0 : range << (64 - bits - more);
    load->last = bits + more == 0 ? UINT64_MAX : load->first + (UINT64_MAX >> (bits + more));

    if (++sealer->slice < 1ull << more)
        return BELT_NEXT;
    sealer->slice = 0;
    if (++sealer->bucket < 1u << bits)
        return BELT_NEXT;
    sealer->bucket = 0;
    sealer->set++;
    return BELT_NEXT;
}

static uint64_t key_of(const char *entry)
{
    uint64_t key;
    memcpy(&key, entry, sizeof key);
    return key;
}

/* The total order: key, then file, window, part, copy, index (five uint32_t behind the key). */
static int compare_entries(const void *left, const void *right)
{
    const char *a = *(const char *const *)left, *b = *(const char *const *)right;
    if (key_of(a) != key_of(b))
        return key_of(a) < key_of(b) ? -1 : 1;
    uint32_t names[2][5];
    memcpy(names[0], a + 8, sizeof names[0]);
    memcpy(names[1], b + 8, sizeof names[1]);
    for (int i = 0; i < 5; i++)
        if (names[0][i] != names[1][i])
            return names[0][i] < names[1][i] ? -1 : 1;
    return 0;
}

/* Reads the entries of the load's keys and sorts them. */
static int sort_load(void *context, void *job, uint64_t number, struct error *err)
{
    const struct sealer *sealer = context;
    const struct spill *spill = sealer->options->spill;
    struct load *load = job;
    (void)number;
    const size_t entry_bytes = spill->sets[load->set].entry_bytes;
    const size_t block_bytes = (READ_BYTES + entry_bytes - 1) / entry_bytes * entry_bytes;
    if (load->block_bytes < block_bytes) {
        mem_free(load->block);
        load->block = mem_alloc(block_bytes);
        load->block_bytes = block_bytes;
    }
    const struct file *file = &spill->buckets[load->set][load->bucket].file;
    const uint64_t bytes = spill->buckets[load->set][load->bucket].bytes;
    buf_reset(&load->entries);
    buf_reserve(&load->entries, bytes < sealer->options->load_bytes_max ? bytes : sealer->options->load_bytes_max);
    for (uint64_t at = 0; at < bytes;) {
        size_t wanted = bytes - at < block_bytes ? (size_t)(bytes - at) : block_bytes;
        int64_t got = file_read_at(file, load->block, wanted, at, err);
        if (got < 0)
            return -1;
        if ((size_t)got != wanted)
            return fail_at(err, ERR_VERIFY, file->path, at, "a spill ends too early");
        for (size_t i = 0; i < wanted; i += entry_bytes)
            if (key_of(load->block + i) >= load->first && key_of(load->block + i) <= load->last)
                buf_add(&load->entries, load->block + i, entry_bytes);
        at += wanted;
    }
    load->count = load->entries.size / entry_bytes;
    if (load->count > load->capacity) {
        load->capacity = load->count;
        load->sorted = mem_grow(load->sorted, load->capacity, sizeof *load->sorted);
    }
    for (size_t i = 0; i < load->count; i++)
        load->sorted[i] = load->entries.data + i * entry_bytes;
    if (load->count > 0)
        qsort(load->sorted, load->count, sizeof *load->sorted, compare_entries);
    return BELT_NEXT;
}

static int open_shard(struct sealer *sealer, struct error *err)
{
    const struct seal_options *options = sealer->options;
    const struct manifest_length *length = &options->manifest->lengths[sealer->writing_set];
    char name[SHARD_NAME_BYTES];
    struct shard_header header;
    manifest_shard_header(options->manifest, length, sealer->shard, &header);
    char *path = path_join(options->directory, manifest_shard_name(length, sealer->shard, name));
    char *folder = mem_copy_text(path);
    *strrchr(folder, '/') = '\0';
    int result = path_make_directory(folder, err);
    if (result == 0)
        result = writer_open(&sealer->writer, path, &header, err);
    mem_free(folder);
    mem_free(path);
    return result;
}

static int write_record(struct sealer *sealer, const uint8_t *record, struct error *err)
{
    struct manifest_length *length = &sealer->options->manifest->lengths[sealer->writing_set];
    if (sealer->shard == length->shards)
        return fail(err, ERR_VERIFY, "the spills hold more samples than were counted");
    if (sealer->in_shard == 0)
        TRY(open_shard(sealer, err));
    TRY(writer_add(&sealer->writer, record, err));
    if (++sealer->in_shard < shard_records(length->samples, length->shards, sealer->shard))
        return 0;
    TRY(writer_commit(&sealer->writer, &length->hashes[sealer->shard], NULL, err));
    sealer->in_shard = 0;
    sealer->shard++;
    return 0;
}

/* Have all samples of the set before been written? */
static int finish_set(struct sealer *sealer, struct error *err)
{
    if (sealer->shard < sealer->options->manifest->lengths[sealer->writing_set].shards)
        return fail(err, ERR_VERIFY, "the spills hold fewer samples than were counted");
    sealer->shard = 0;
    sealer->writing_set++;
    return 0;
}

static int write_load(void *context, void *job, uint64_t number, struct error *err)
{
    struct sealer *sealer = context;
    const struct load *load = job;
    (void)number;
    while (sealer->writing_set < load->set)
        TRY(finish_set(sealer, err));
    for (size_t i = 0; i < load->count; i++)
        TRY(write_record(sealer, (const uint8_t *)load->sorted[i] + sealer->options->key_bytes, err));
    if (sealer->options->progress)
        sealer->options->progress(sealer->options->context, load->count);
    return BELT_NEXT;
}

static void release_load(void *job)
{
    struct load *load = job;
    buf_release(&load->entries);
    mem_free(load->sorted);
    mem_free(load->block);
}

int seal(const struct seal_options *options, struct error *err)
{
    static const struct belt_step steps[] = {{"pick", 1, next_load}, {"sort", 0, sort_load}, {"write", 1, write_load}};
    assert(options->spill->set_count == options->manifest->length_count);
    struct sealer sealer = {.options = options, .writer = WRITER_CLOSED};
    const struct belt_options belt = {.steps = steps,
                                      .step_count = sizeof steps / sizeof *steps,
                                      .depth = options->threads > 1 ? 2 : 1,
                                      .threads = options->threads,
                                      .job_size = sizeof(struct load),
                                      .job_release = release_load,
                                      .context = &sealer};
    int result = belt_run(&belt, NULL, err);
    while (result == 0 && sealer.writing_set < options->manifest->length_count)
        result = finish_set(&sealer, err);
    writer_close(&sealer.writer);
    return result;
}
