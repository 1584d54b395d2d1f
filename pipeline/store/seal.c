/*              ordered     parallel     ordered     parallel     ordered     parallel
 *   spills ─► │ pick │ ─► │ sort │ ─► │ enter │ ─► │ place │ ─► │ join │ ─► │ commit │ ─► shards
 *
 * The number of a load's first record determines everything: each record's bytes have a known place in a known shard.
 * So whole blocks are hashed and written by any free thread; only a block shared by two loads is assembled by `join`,
 * in order. A load passes the steps once for every shard that has records of it. */
#include "pipeline/store/seal.h"

#include "base/belt.h"
#include "base/mem.h"
#include "base/progress.h"
#include "shards/writer.h"

#include <assert.h>

/* A shard that is being written. */
struct open_shard {
    size_t set;
    uint32_t number;
    struct shard_writer writer;
};

struct job {
    struct load load;
    bool is_first;   /* of the loads of its bucket */
    uint64_t record; /* in the set: of the bucket's first record; from `enter` on, of the load's */
    bool entered;
    uint64_t next; /* in the set: where the next round continues */
    /* This round: entries [from, to) are records first, first + 1, … of a shard. */
    size_t from, to;
    uint64_t first;
    struct open_shard *shard; /* NULL: nothing to write */
    uint8_t *block;           /* [SHARD_BLOCK_BYTES] */
    bool fills;               /* the shard; `commit` then finds it in `full` */
    struct open_shard full;
};

struct sealer {
    const struct seal_options *options;
    /* position of the source */
    size_t set;
    uint32_t bucket;
    uint64_t slice;
    uint64_t bucket_record; /* in the set: number of the bucket's first record */
    /* position of `enter` */
    size_t entering_set;
    uint64_t record; /* in the set: number of the next record */
    uint32_t shard;
    uint64_t in_shard;
    /* At most as many shards are open as jobs are in flight, plus one that waits for the next job. */
    struct open_shard open[SEAL_LOADS_MAX + 1];
    size_t newest;
};

static uint64_t bucket_bytes(const struct sealer *sealer)
{
    return spills_bytes(&sealer->options->spills, sealer->set, sealer->bucket);
}

/* The first shard of a set that does not belong to a share before `share`. */
static uint32_t first_shard(const struct seal_options *options, size_t set, uint32_t share)
{
    return (uint32_t)((uint64_t)options->manifest->lengths[set].shards * share / options->shares);
}

static uint64_t first_record(const struct seal_options *options, size_t set, uint32_t shard)
{
    const struct manifest_length *length = &options->manifest->lengths[set];
    const uint64_t more = length->shards ? length->samples % length->shards : 0; /* shards with one extra record */
    assert(shard <= length->shards);
    return length->shards ? length->samples / length->shards * shard + (shard < more ? shard : more) : 0;
}

/* Our share of the set: records [from, to). */
static void share_of(const struct seal_options *options, size_t set, uint64_t *from, uint64_t *to)
{
    *from = first_record(options, set, first_shard(options, set, options->share));
    *to = first_record(options, set, first_shard(options, set, options->share + 1));
    assert(*from <= *to && *to <= options->manifest->lengths[set].samples);
}

/* ------------------------------------------------------------------------------------------------------- pick */

/* A bucket that is larger than a load is divided into 2^bits slices by the next bits of the key. */
static uint32_t slice_bits(const struct sealer *sealer)
{
    const uint32_t bucket_bits = sealer->options->spills.sets[sealer->set].bucket_bits;
    uint32_t bits = 0;
    while (bits < 24 - bucket_bits && bucket_bytes(sealer) >> bits > sealer->options->load_bytes_max / 4 * 3)
        bits++;
    return bucket_bytes(sealer) > sealer->options->load_bytes_max ? bits : 0;
}

static void next_bucket(struct sealer *sealer)
{
    const struct spill_set *set = &sealer->options->spills.sets[sealer->set];
    sealer->slice = 0;
    sealer->bucket_record += bucket_bytes(sealer) / set->entry_bytes;
    if (++sealer->bucket < 1u << set->bucket_bits)
        return;
    sealer->bucket = 0;
    sealer->bucket_record = 0;
    sealer->set++;
}

/* True if the source's bucket contains a record of our share. */
static bool is_ours(const struct sealer *sealer)
{
    uint64_t from, to;
    share_of(sealer->options, sealer->set, &from, &to);
    const uint64_t records = bucket_bytes(sealer) / sealer->options->spills.sets[sealer->set].entry_bytes;
    return sealer->bucket_record < to && sealer->bucket_record + records > from;
}

static int pick(void *context, void *slot, uint64_t number, struct error *err)
{
    struct sealer *sealer = context;
    struct job *job = slot;
    const size_t sets = sealer->options->spills.set_count;
    (void)number;
    if (stop_requested())
        return fail(err, ERR_STOPPED, "stopped on request while sealing");
    while (sealer->set < sets && !is_ours(sealer))
        next_bucket(sealer);
    if (sealer->set == sets)
        return BELT_END;

    const uint32_t bits = sealer->options->spills.sets[sealer->set].bucket_bits, more = slice_bits(sealer);
    const uint64_t range = (uint64_t)sealer->bucket << more | sealer->slice;
    assert(sealer->slice < 1ull << more); /* every slice of a bucket sees the same number of bits */
    struct load *load = &job->load;
    load->set = sealer->set;
    load->bucket = sealer->bucket;
    load->first = bits + more == 0 ? 0 : range << (64 - bits - more);
    load->last = bits + more == 0 ? UINT64_MAX : load->first + (UINT64_MAX >> (bits + more));
    job->record = sealer->bucket_record;
    job->is_first = sealer->slice == 0;
    job->entered = false;

    if (++sealer->slice == 1ull << more)
        next_bucket(sealer);
    return BELT_NEXT;
}

static int sort(void *context, void *slot, uint64_t number, struct error *err)
{
    const struct sealer *sealer = context;
    struct job *job = slot;
    (void)number;
    return load_read(&job->load, &sealer->options->spills, sealer->options->load_bytes_max, err);
}

/* ------------------------------------------------------------------------------------------------------ enter */

static int open_shard(struct sealer *sealer, struct error *err)
{
    const struct seal_options *options = sealer->options;
    const struct manifest_length *length = &options->manifest->lengths[sealer->entering_set];
    char name[SHARD_NAME_BYTES];
    struct shard_header header;
    manifest_shard_header(options->manifest, length, sealer->shard, &header);
    SCOPED(mem_free_at)
    char *path = path_join(options->spills.directory, manifest_shard_name(length, sealer->shard, name));
    SCOPED(mem_free_at) char *folder = mem_copy_text(path);
    *strrchr(folder, '/') = '\0';
    sealer->newest = (sealer->newest + 1) % (SEAL_LOADS_MAX + 1);
    struct open_shard *shard = &sealer->open[sealer->newest];
    assert(shard->writer.file.fd < 0);
    shard->set = sealer->entering_set;
    shard->number = sealer->shard;
    TRY(path_make_directory(folder, err));
    return writer_open(&shard->writer, path, &header, err);
}

/* Moves `enter` to the first record of our share of a set. */
static void enter_set(struct sealer *sealer)
{
    if (sealer->entering_set < sealer->options->spills.set_count)
        sealer->shard = first_shard(sealer->options, sealer->entering_set, sealer->options->share);
}

/* Checks that all samples of our share of the previous set have arrived. */
static int finish_set(struct sealer *sealer, struct error *err)
{
    if (sealer->shard < first_shard(sealer->options, sealer->entering_set, sealer->options->share + 1))
        return fail(err, ERR_VERIFY, "the spills hold other samples than were counted");
    sealer->entering_set++;
    enter_set(sealer);
    return 0;
}

/* Prepares the next round of a load: its records in the next shard, as far as they belong to our share. */
static int enter(void *context, void *slot, uint64_t number, struct error *err)
{
    struct sealer *sealer = context;
    struct job *job = slot;
    const struct load *load = &job->load;
    (void)number;
    while (sealer->entering_set < load->set)
        TRY(finish_set(sealer, err));
    assert(sealer->entering_set == load->set); /* loads come in the order of the sets */
    uint64_t first, end;
    share_of(sealer->options, load->set, &first, &end);
    if (!job->entered) {
        job->record = job->is_first ? job->record : sealer->record;
        job->next = job->record > first ? job->record : first;
        job->entered = true;
        sealer->record = job->record + load->count;
    }
    end = end < job->record + load->count ? end : job->record + load->count;
    job->shard = NULL;
    if (job->next >= end)
        return BELT_NEXT;

    const struct manifest_length *length = &sealer->options->manifest->lengths[load->set];
    const uint64_t room = shard_records(length->samples, length->shards, sealer->shard) - sealer->in_shard;
    const uint64_t count = end - job->next < room ? end - job->next : room;
    assert(count > 0 && job->next >= job->record);
    if (sealer->in_shard == 0)
        TRY(open_shard(sealer, err));
    job->shard = &sealer->open[sealer->newest];
    job->first = sealer->in_shard;
    job->from = (size_t)(job->next - job->record);
    job->to = job->from + (size_t)count;
    job->next += count;
    sealer->in_shard += count;
    if (count == room) {
        sealer->in_shard = 0;
        sealer->shard++;
    }
    return job->next < end ? BELT_MORE : BELT_NEXT;
}

/* ---------------------------------------------------------------------------------------------- place and join */

/* The part of a shard's record area that one round covers: bytes [from, to), and the blocks [block, block_end)
 * completely inside. */
struct stretch {
    uint64_t from, to;
    uint64_t block, block_end;
};

static struct stretch stretch_of(const struct job *job)
{
    const struct shard_header *header = &job->shard->writer.header;
    struct stretch stretch = {.from = job->first * header->record_bytes,
                              .to = (job->first + (job->to - job->from)) * header->record_bytes};
    stretch.block = (stretch.from + SHARD_BLOCK_BYTES - 1) / SHARD_BLOCK_BYTES;
    stretch.block_end =
        stretch.to == shard_area_bytes(header) ? shard_block_count(header) : stretch.to / SHARD_BLOCK_BYTES;
    if (stretch.block_end < stretch.block)
        stretch.block_end = stretch.block; /* it is all in one block */
    assert(stretch.from < stretch.to && stretch.to <= shard_area_bytes(header));
    return stretch;
}

/* The bytes of one record from byte `at` of the record area on, but before `end`. Returns how many. */
static size_t piece_at(const struct sealer *sealer, const struct job *job, uint64_t at, uint64_t end,
                       const uint8_t **bytes)
{
    const size_t record_bytes = job->shard->writer.header.record_bytes, inside = (size_t)(at % record_bytes);
    assert(at / record_bytes >= job->first && at / record_bytes - job->first < job->to - job->from);
    const struct keyed *keyed = &job->load.sorted[job->from + (size_t)(at / record_bytes - job->first)];
    *bytes = (const uint8_t *)keyed->entry + sealer->options->key_bytes + inside;
    return end - at < record_bytes - inside ? (size_t)(end - at) : record_bytes - inside;
}

static int place(void *context, void *slot, uint64_t number, struct error *err)
{
    const struct sealer *sealer = context;
    struct job *job = slot;
    (void)number;
    if (!job->shard)
        return BELT_NEXT;
    const struct stretch stretch = stretch_of(job);
    const uint8_t *bytes;
    if (!job->block)
        job->block = mem_alloc(SHARD_BLOCK_BYTES);
    for (uint64_t block = stretch.block; block < stretch.block_end; block++) {
        const uint64_t from = block * SHARD_BLOCK_BYTES;
        const uint64_t to = from + shard_block_bytes(&job->shard->writer.header, block);
        for (uint64_t at = from, size; at < to; at += size) {
            size = piece_at(sealer, job, at, to, &bytes);
            memcpy(job->block + (at - from), bytes, size);
        }
        TRY(writer_put_block(&job->shard->writer, block, job->block, err));
    }
    return BELT_NEXT;
}

static int add(const struct sealer *sealer, const struct job *job, uint64_t from, uint64_t to, struct error *err)
{
    const uint8_t *bytes;
    for (uint64_t at = from, size; at < to; at += size) {
        size = piece_at(sealer, job, at, to, &bytes);
        TRY(writer_add(&job->shard->writer, bytes, size, err));
    }
    return 0;
}

static int join(void *context, void *slot, uint64_t number, struct error *err)
{
    const struct sealer *sealer = context;
    struct job *job = slot;
    (void)number;
    if (!job->shard)
        return BELT_NEXT;
    struct shard_writer *writer = &job->shard->writer;
    const struct stretch stretch = stretch_of(job);
    const uint64_t placed = stretch.block * SHARD_BLOCK_BYTES;
    TRY(add(sealer, job, stretch.from, placed < stretch.to ? placed : stretch.to, err));
    writer_skip(writer, stretch.block_end - stretch.block);
    TRY(add(sealer, job, stretch.block_end * SHARD_BLOCK_BYTES, stretch.to, err));
    assert(!job->fills); /* the shard that an earlier round of the job filled was committed */
    job->fills = writer_full(writer);
    if (job->fills) {
        job->full = *job->shard;
        *writer = WRITER_CLOSED;
    }
    if (sealer->options->progress)
        sealer->options->progress(sealer->options->context, job->to - job->from);
    return BELT_NEXT;
}

static int commit(void *context, void *slot, uint64_t number, struct error *err)
{
    const struct sealer *sealer = context;
    struct job *job = slot;
    struct open_shard *full = &job->full;
    (void)number;
    if (!job->fills)
        return BELT_NEXT;
    job->fills = false;
    return writer_commit(&full->writer, &sealer->options->manifest->lengths[full->set].hashes[full->number], NULL, err);
}

/* ------------------------------------------------------------------------------------------------------- seal */

/* Checks that the spills hold as many samples as the manifest says. */
static int check_samples(const struct seal_options *options, struct error *err)
{
    const struct spills *spills = &options->spills;
    for (size_t set = 0; set < spills->set_count; set++) {
        uint64_t bytes = 0;
        for (uint32_t bucket = 0; bucket < 1u << spills->sets[set].bucket_bits; bucket++)
            bytes += spills_bytes(spills, set, bucket);
        if (bytes != options->manifest->lengths[set].samples * spills->sets[set].entry_bytes)
            return fail(err, ERR_VERIFY, "the spills hold other samples than were counted");
    }
    return 0;
}

static void release_job(void *slot)
{
    struct job *job = slot;
    load_release(&job->load);
    mem_free(job->block);
    writer_close(&job->full.writer);
}

int seal(const struct seal_options *options, struct error *err)
{
    static const struct belt_step steps[] = {{"pick", 1, pick},   {"sort", 0, sort}, {"enter", 1, enter},
                                             {"place", 0, place}, {"join", 1, join}, {"commit", 0, commit}};
    assert(options->share < options->shares && options->spills.set_count == options->manifest->length_count);
    TRY(check_samples(options, err));
    struct sealer sealer = {.options = options};
    for (size_t i = 0; i < sizeof sealer.open / sizeof *sealer.open; i++)
        sealer.open[i].writer = WRITER_CLOSED;
    enter_set(&sealer);
    const size_t depth = options->threads == 1 ? 1 : options->threads + 1;
    const struct belt_options belt = {.steps = steps,
                                      .step_count = sizeof steps / sizeof *steps,
                                      .depth = depth < SEAL_LOADS_MAX ? depth : SEAL_LOADS_MAX,
                                      .threads = options->threads,
                                      .job_size = sizeof(struct job),
                                      .job_release = release_job,
                                      .context = &sealer};
    int result = belt_run(&belt, NULL, err);
    while (result == 0 && sealer.entering_set < options->spills.set_count)
        result = finish_set(&sealer, err);
    for (size_t i = 0; i < sizeof sealer.open / sizeof *sealer.open; i++) {
        assert(result < 0 || sealer.open[i].writer.file.fd < 0); /* every shard was filled and handed to commit */
        writer_close(&sealer.open[i].writer);
    }
    return result;
}
