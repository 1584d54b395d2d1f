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
    uint64_t record;      /* of the set: the first one of the bucket */
    bool is_first;        /* of the bucket's loads */
    uint64_t first, last; /* keys */
    struct buf entries;
    struct place *places;       /* [2 * capacity] of entries, and room for as many */
    const struct place *sorted; /* [count] in places */
    size_t count, capacity;
};

struct place {
    uint64_t key;
    const char *entry;
};

struct sealer {
    const struct seal_options *options;
    /* where the source is */
    size_t set;
    uint32_t bucket;
    uint64_t slice;
    uint64_t bucket_record; /* of the set: the first one of the bucket */
    /* where the writer is */
    size_t writing_set;
    uint64_t record; /* of the set, to come next */
    uint32_t shard;
    uint64_t in_shard;
    struct shard_writer writer;
};

static size_t set_count(const struct seal_options *options)
{
    return options->manifest->length_count;
}

static uint64_t bytes_of(const struct seal_options *options, const struct seal_extent *extent, size_t set,
                         uint32_t bucket)
{
    return extent->bytes[spill_bucket_count(options->sets, set) + bucket];
}

/* Of the source's bucket, over all extents. */
static uint64_t bucket_bytes(const struct sealer *sealer)
{
    const struct seal_options *options = sealer->options;
    uint64_t sum = 0;
    for (size_t i = 0; i < options->extent_count; i++)
        sum += bytes_of(options, &options->extents[i], sealer->set, sealer->bucket);
    return sum;
}

/* The first shard of a set that is not in shares before `share`. */
static uint32_t first_shard(const struct seal_options *options, size_t set, uint32_t share)
{
    return (uint32_t)((uint64_t)options->manifest->lengths[set].shards * share / options->shares);
}

static uint64_t first_record(const struct seal_options *options, size_t set, uint32_t shard)
{
    const struct manifest_length *length = &options->manifest->lengths[set];
    const uint64_t more = length->shards ? length->samples % length->shards : 0; /* shards that hold one more */
    return length->shards ? length->samples / length->shards * shard + (shard < more ? shard : more) : 0;
}

/* A bucket that is larger than a load is taken in 2^bits slices by the next bits of the key. */
static uint32_t slice_bits(const struct sealer *sealer)
{
    const uint32_t bucket_bits = sealer->options->sets[sealer->set].bucket_bits;
    uint32_t bits = 0;
    while (bits < 24 - bucket_bits && bucket_bytes(sealer) >> bits > sealer->options->load_bytes_max / 4 * 3)
        bits++;
    return bucket_bytes(sealer) > sealer->options->load_bytes_max ? bits : 0;
}

static void next_bucket(struct sealer *sealer)
{
    const struct spill_set *set = &sealer->options->sets[sealer->set];
    sealer->slice = 0;
    sealer->bucket_record += bucket_bytes(sealer) / set->entry_bytes;
    if (++sealer->bucket < 1u << set->bucket_bits)
        return;
    sealer->bucket = 0;
    sealer->bucket_record = 0;
    sealer->set++;
}

/* Has the source's bucket a record of our share? */
static bool is_ours(const struct sealer *sealer)
{
    const struct seal_options *options = sealer->options;
    const uint64_t from = first_record(options, sealer->set, first_shard(options, sealer->set, options->share));
    const uint64_t to = first_record(options, sealer->set, first_shard(options, sealer->set, options->share + 1));
    const uint64_t records = bucket_bytes(sealer) / options->sets[sealer->set].entry_bytes;
    return sealer->bucket_record < to && sealer->bucket_record + records > from;
}

static int next_load(void *context, void *job, uint64_t number, struct error *err)
{
    struct sealer *sealer = context;
    struct load *load = job;
    (void)number;
    if (stop_requested())
        return fail(err, ERR_STOPPED, "stopped on request while sealing");
    while (sealer->set < set_count(sealer->options) && !is_ours(sealer))
        next_bucket(sealer);
    if (sealer->set == set_count(sealer->options))
        return BELT_END;

    const uint32_t bits = sealer->options->sets[sealer->set].bucket_bits, more = slice_bits(sealer);
    const uint64_t range = (uint64_t)sealer->bucket << more | sealer->slice;
    load->set = sealer->set;
    load->bucket = sealer->bucket;
    load->record = sealer->bucket_record;
    load->is_first = sealer->slice == 0;
    load->first = bits + more == 0 ? 0 : range << (64 - bits - more);
    load->last = bits + more == 0 ? UINT64_MAX : load->first + (UINT64_MAX >> (bits + more));

    if (++sealer->slice == 1ull << more)
        next_bucket(sealer);
    return BELT_NEXT;
}

static uint64_t key_of(const char *entry)
{
    uint64_t key;
    memcpy(&key, entry, sizeof key);
    return key;
}

/* By the names of two entries of one key: file, window, part, copy, index (five uint32_t behind the key). */
static int compare_names(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    uint32_t names[2][5];
    memcpy(names[0], a->entry + 8, sizeof names[0]);
    memcpy(names[1], b->entry + 8, sizeof names[1]);
    for (int i = 0; i < 5; i++)
        if (names[0][i] != names[1][i])
            return names[0][i] < names[1][i] ? -1 : 1;
    return 0;
}

/* The same places, by the byte of their keys at `shift`, else as they were. Returns where they are: `to`, or `from` if
 * all have the same byte. */
static struct place *sort_by_byte(struct place *from, struct place *to, size_t count, unsigned shift)
{
    size_t ends[256] = {0};
    for (size_t i = 0; i < count; i++)
        ends[from[i].key >> shift & 0xFF]++;
    if (ends[from[0].key >> shift & 0xFF] == count)
        return from;
    size_t end = count;
    for (unsigned byte = 256; byte-- > 0;)
        ends[byte] = end -= ends[byte]; /* where it begins */
    for (size_t i = 0; i < count; i++)
        to[ends[from[i].key >> shift & 0xFF]++] = from[i];
    return to;
}

/* Into the total order: by key, byte by byte from the lowest, then by name. Keys are random: few are equal. */
static struct place *sort_places(struct place *places, struct place *room, size_t count)
{
    struct place *sorted = places;
    for (unsigned shift = 0; shift < 64 && count > 0; shift += 8)
        sorted = sort_by_byte(sorted, sorted == places ? room : places, count, shift);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && sorted[end].key == sorted[i].key;)
            end++;
        if (end - i > 1)
            qsort(sorted + i, end - i, sizeof *sorted, compare_names);
    }
    return sorted;
}

/* Of the entries in `entries` behind `from`, those of the load's keys stay. */
static void keep_own(struct load *load, size_t from, size_t entry_bytes)
{
    char *data = load->entries.data;
    size_t to = from;
    for (size_t at = from; at < load->entries.size; at += entry_bytes) {
        if (key_of(data + at) < load->first || key_of(data + at) > load->last)
            continue;
        if (to < at)
            memcpy(data + to, data + at, entry_bytes);
        to += entry_bytes;
    }
    load->entries.size = to;
}

/* Adds the entries of the load's keys that stand in `file`. */
static int read_entries(struct load *load, size_t entry_bytes, const struct file *file, uint64_t bytes,
                        struct error *err)
{
    const size_t block_bytes = (READ_BYTES + entry_bytes - 1) / entry_bytes * entry_bytes;
    struct buf *entries = &load->entries;
    for (uint64_t at = 0; at < bytes;) {
        const size_t wanted = bytes - at < block_bytes ? (size_t)(bytes - at) : block_bytes, from = entries->size;
        buf_reserve(entries, wanted);
        const int64_t got = file_read_at(file, entries->data + from, wanted, at, err);
        if (got < 0)
            return -1;
        if ((size_t)got != wanted)
            return fail_at(err, ERR_VERIFY, file->path, at, "a spill ends too early");
        entries->size += wanted;
        keep_own(load, from, entry_bytes);
        at += wanted;
    }
    return 0;
}

/* Those of all extents. */
static int read_extents(const struct seal_options *options, struct load *load, struct error *err)
{
    const size_t entry_bytes = options->sets[load->set].entry_bytes;
    buf_reset(&load->entries);
    uint64_t all = 0;
    for (size_t i = 0; i < options->extent_count; i++)
        all += bytes_of(options, &options->extents[i], load->set, load->bucket);
    buf_reserve(&load->entries, all < options->load_bytes_max ? all : options->load_bytes_max);
    for (size_t i = 0; i < options->extent_count; i++) {
        const struct seal_extent *extent = &options->extents[i];
        const uint64_t bytes = bytes_of(options, extent, load->set, load->bucket);
        char *path = spill_path(options->directory, extent->extent, load->set, load->bucket);
        struct file file = FILE_CLOSED;
        int result = bytes > 0 ? file_open_read(&file, path, err) : 0;
        if (result == 0)
            result = read_entries(load, entry_bytes, &file, bytes, err);
        file_close(&file);
        mem_free(path);
        TRY(result);
    }
    return 0;
}

/* Reads the entries of the load's keys and sorts them. */
static int sort_load(void *context, void *job, uint64_t number, struct error *err)
{
    const struct sealer *sealer = context;
    struct load *load = job;
    (void)number;
    const size_t entry_bytes = sealer->options->sets[load->set].entry_bytes;
    const struct buf *entries = &load->entries;
    TRY(read_extents(sealer->options, load, err));
    load->count = entries->size / entry_bytes;
    if (load->count > load->capacity) {
        load->capacity = load->count;
        mem_free(load->places);
        load->places = mem_array(2 * load->capacity, sizeof *load->places);
    }
    for (size_t i = 0; i < load->count; i++)
        load->places[i] = (struct place){key_of(entries->data + i * entry_bytes), entries->data + i * entry_bytes};
    load->sorted = sort_places(load->places, load->places + load->count, load->count);
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

/* Before the first record of a set: puts the writer to its first shard of our share. */
static void enter_set(struct sealer *sealer)
{
    if (sealer->writing_set < set_count(sealer->options))
        sealer->shard = first_shard(sealer->options, sealer->writing_set, sealer->options->share);
}

/* Have all samples of our share of the set before been written? */
static int finish_set(struct sealer *sealer, struct error *err)
{
    if (sealer->shard < first_shard(sealer->options, sealer->writing_set, sealer->options->share + 1))
        return fail(err, ERR_VERIFY, "the spills hold other samples than were counted");
    sealer->writing_set++;
    enter_set(sealer);
    return 0;
}

/* Do the spills hold as many samples as the manifest says? */
static int check_samples(const struct seal_options *options, struct error *err)
{
    for (size_t set = 0; set < set_count(options); set++) {
        uint64_t bytes = 0;
        for (size_t i = 0; i < options->extent_count; i++)
            for (uint32_t bucket = 0; bucket < 1u << options->sets[set].bucket_bits; bucket++)
                bytes += bytes_of(options, &options->extents[i], set, bucket);
        if (bytes != options->manifest->lengths[set].samples * options->sets[set].entry_bytes)
            return fail(err, ERR_VERIFY, "the spills hold other samples than were counted");
    }
    return 0;
}

static int write_load(void *context, void *job, uint64_t number, struct error *err)
{
    struct sealer *sealer = context;
    const struct load *load = job;
    (void)number;
    while (sealer->writing_set < load->set)
        TRY(finish_set(sealer, err));
    const uint32_t from = first_shard(sealer->options, load->set, sealer->options->share),
                   to = first_shard(sealer->options, load->set, sealer->options->share + 1);
    const uint64_t first = first_record(sealer->options, load->set, from),
                   end = first_record(sealer->options, load->set, to);
    if (load->is_first)
        sealer->record = load->record;
    for (size_t i = 0; i < load->count; i++, sealer->record++)
        if (sealer->record >= first && sealer->record < end)
            TRY(write_record(sealer, (const uint8_t *)load->sorted[i].entry + sealer->options->key_bytes, err));
    if (sealer->options->progress)
        sealer->options->progress(sealer->options->context, load->count);
    return BELT_NEXT;
}

static void release_load(void *job)
{
    struct load *load = job;
    buf_release(&load->entries);
    mem_free(load->places);
}

int seal(const struct seal_options *options, struct error *err)
{
    static const struct belt_step steps[] = {{"pick", 1, next_load}, {"sort", 0, sort_load}, {"write", 1, write_load}};
    assert(options->share < options->shares);
    TRY(check_samples(options, err));
    struct sealer sealer = {.options = options, .writer = WRITER_CLOSED};
    enter_set(&sealer);
    const struct belt_options belt = {.steps = steps,
                                      .step_count = sizeof steps / sizeof *steps,
                                      .depth = options->threads > 1 ? 2 : 1,
                                      .threads = options->threads,
                                      .job_size = sizeof(struct load),
                                      .job_release = release_load,
                                      .context = &sealer};
    int result = belt_run(&belt, NULL, err);
    while (result == 0 && sealer.writing_set < set_count(options))
        result = finish_set(&sealer, err);
    writer_close(&sealer.writer);
    return result;
}
