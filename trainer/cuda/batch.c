/* Uploads batches to the GPU. The owner of a batch may change it at once. On the device it comes with the orders that
 * kernels need for sums over tables and for even work (struct cuda_batch).
 *
 *     host batch → pinned block of a slot → (copy stream) → device block of the slot → compute stream
 *
 * All arrays of a batch are in one block, so one copy moves them. SLOTS blocks take turns: a slot is written again when
 * the pass that read it is done, which also limits how far the host runs ahead. */
#include "trainer/cuda/device.h"

#include "base/mem.h"

#define SLOTS 3
#define ALIGN 64 /* bytes on which every array begins */

struct slot {
    struct cuda_batch batch;
    struct cuda_batch read; /* what batch.read points to; it has no orders, because no op needs them */
    char *host, *device;    /* [bytes] each; `host` is pinned */
    size_t bytes;
    cudaEvent_t uploaded, used;
    bool in_use; /* until the event `used` */
};

struct uploader {
    cudaStream_t stream;
    struct slot slots[SLOTS];
    int last; /* slot of the last batch; -1: none yet */
    int32_t *counts;
    size_t counts_size;
};

struct uploader *uploader_open(void)
{
    struct uploader *uploader = mem_clear(1, sizeof *uploader);
    CHECK(cudaStreamCreateWithFlags(&uploader->stream, cudaStreamNonBlocking));
    for (int i = 0; i < SLOTS; i++) {
        CHECK(cudaEventCreateWithFlags(&uploader->slots[i].uploaded, cudaEventDisableTiming));
        CHECK(cudaEventCreateWithFlags(&uploader->slots[i].used, cudaEventDisableTiming));
    }
    uploader->last = -1;
    return uploader;
}

void uploader_close(struct uploader *uploader)
{
    for (int i = 0; i < SLOTS; i++) {
        CHECK(cudaEventDestroy(uploader->slots[i].uploaded));
        CHECK(cudaEventDestroy(uploader->slots[i].used));
        CHECK(cudaFree(uploader->slots[i].device));
        CHECK(cudaFreeHost(uploader->slots[i].host));
    }
    CHECK(cudaStreamDestroy(uploader->stream));
    mem_free(uploader->counts);
    mem_free(uploader);
}

/* Walks over a block: once to count, once to place. */
struct cursor {
    char *host, *device; /* NULL: only count */
    size_t used;
};

/* Room for an array: *there becomes its place on the device, the result is its place on the host. */
static int32_t *place(struct cursor *cursor, int32_t **there, size_t count)
{
    const size_t at = cursor->used;
    cursor->used += (count * sizeof(int32_t) + ALIGN - 1) / ALIGN * ALIGN;
    *there = cursor->device ? (int32_t *)(cursor->device + at) : NULL;
    return cursor->host ? (int32_t *)(cursor->host + at) : NULL;
}

static void copy(struct cursor *cursor, int32_t **there, const void *from, size_t count)
{
    int32_t *to = place(cursor, there, count);
    if (to && count > 0)
        memcpy(to, from, count * sizeof *to);
}

static void clear_counts(struct uploader *uploader, size_t size)
{
    if (size > uploader->counts_size) {
        uploader->counts = mem_grow(uploader->counts, size, sizeof *uploader->counts);
        uploader->counts_size = size;
    }
    memset(uploader->counts, 0, size * sizeof *uploader->counts);
}

static int32_t largest(const int32_t *values, int32_t count)
{
    int32_t most = 0;
    for (int32_t i = 0; i < count; i++)
        most = values[i] > most ? values[i] : most;
    return most;
}

/* Counting sort of the live rows by id. runs [ids + 1] gets where each id that occurs begins; returns how many
 * occur. */
static int32_t sort_rows(struct uploader *uploader, const struct batch *batch, int32_t *order, int32_t *runs)
{
    const int32_t ids = largest(batch->ids, batch->tokens) + 1;
    clear_counts(uploader, (size_t)ids);
    int32_t *counts = uploader->counts, run = 0;
    for (int32_t row = 0; row < batch->tokens; row++) {
        assert(batch->ids[row] >= 0);
        counts[batch->ids[row]]++;
    }
    for (int32_t id = 0, from = 0; id < ids; id++) {
        const int32_t count = counts[id];
        if (count > 0)
            runs[run++] = from;
        counts[id] = from;
        from += count;
    }
    runs[run] = batch->tokens;
    for (int32_t row = 0; row < batch->tokens; row++)
        order[counts[batch->ids[row]]++] = row;
    return run;
}

static int32_t length_of(const struct batch *batch, int32_t sequence)
{
    return batch->starts[sequence + 1] - batch->starts[sequence];
}

static int32_t longest_of(const struct batch *batch)
{
    int32_t longest = 0;
    for (int32_t i = 0; i < batch->sequences; i++)
        longest = length_of(batch, i) > longest ? length_of(batch, i) : longest;
    return longest;
}

/* Counting sort of the sequences by length, the longest first; returns that length. */
static int32_t sort_sequences(struct uploader *uploader, const struct batch *batch, int32_t *order)
{
    const int32_t longest = longest_of(batch);
    clear_counts(uploader, (size_t)longest + 1);
    int32_t *counts = uploader->counts;
    for (int32_t i = 0; i < batch->sequences; i++)
        counts[length_of(batch, i)]++;
    for (int32_t length = longest, from = 0; length >= 0; length--) {
        const int32_t count = counts[length];
        counts[length] = from;
        from += count;
    }
    for (int32_t i = 0; i < batch->sequences; i++)
        order[counts[length_of(batch, i)]++] = i;
    return longest;
}

/* Places the batch of the rows that heads read. */
static void fill_read(struct cursor *cursor, struct slot *slot, const struct batch *batch)
{
    struct batch *there = &slot->batch.batch, *read = &slot->read.batch;
    const size_t rows = (size_t)batch->read->token_rows;
    *read = *batch->read;
    copy(cursor, &read->positions, batch->read->positions, rows);
    copy(cursor, &read->sequence_of, batch->read->sequence_of, rows);
    copy(cursor, &read->starts, batch->read->starts, (size_t)batch->sequences + 1);
    copy(cursor, &there->read_index, batch->read_index, rows);
    read->numbers = there->numbers;
    there->read = read;
    slot->read.longest = longest_of(batch->read);
}

static size_t fill(struct uploader *uploader, struct slot *slot, const struct batch *batch, bool counts_only)
{
    struct cursor cursor = {counts_only ? NULL : slot->host, counts_only ? NULL : slot->device, 0};
    struct cuda_batch *there = &slot->batch;
    const size_t rows = (size_t)batch->token_rows;
    const size_t sequences = (size_t)batch->sequences, tokens = (size_t)batch->tokens;
    there->batch = *batch;
    copy(&cursor, &there->batch.ids, batch->ids, rows);
    copy(&cursor, &there->batch.segments, batch->segments, rows);
    copy(&cursor, &there->batch.positions, batch->positions, rows);
    copy(&cursor, &there->batch.sequence_of, batch->sequence_of, rows);
    copy(&cursor, &there->batch.starts, batch->starts, sequences + 1);
    for (int h = 0; h < HEAD_KINDS; h++) {
        const struct head_batch *head = &batch->heads[h];
        copy(&cursor, &there->batch.heads[h].index, head->index, (size_t)head->total);
        copy(&cursor, &there->batch.heads[h].labels, head->labels, (size_t)head->total);
    }
    int32_t *numbers;
    copy(&cursor, &numbers, batch->numbers, sequences);
    there->batch.numbers = (uint32_t *)numbers;
    if (batch_read(batch) != batch)
        fill_read(&cursor, slot, batch);
    int32_t *order = place(&cursor, &there->order, tokens);
    int32_t *runs = place(&cursor, &there->runs, tokens + 1); /* at most one run a row */
    int32_t *by_length = place(&cursor, &there->by_length, sequences);
    if (!counts_only) {
        there->run_count = sort_rows(uploader, batch, order, runs);
        there->longest = sort_sequences(uploader, batch, by_length);
    }
    return cursor.used;
}

/* Blocks are larger than needed, so that those made for the first full batches serve for the whole run. */
static void make_room(struct slot *slot, size_t bytes)
{
    if (bytes <= slot->bytes)
        return;
    CHECK(cudaFree(slot->device));
    CHECK(cudaFreeHost(slot->host));
    slot->bytes = bytes + bytes / 4;
    CHECK(cudaMalloc((void **)&slot->device, slot->bytes));
    CHECK(cudaMallocHost((void **)&slot->host, slot->bytes));
}

const struct batch *upload(struct device *device, const struct batch *batch)
{
    struct uploader *uploader = device->uploader;
    if (uploader->last >= 0) { /* every op that reads the last batch has been queued */
        CHECK(cudaEventRecord(uploader->slots[uploader->last].used, device->stream));
        uploader->slots[uploader->last].in_use = true;
    }
    uploader->last = (uploader->last + 1) % SLOTS;
    struct slot *slot = &uploader->slots[uploader->last];
    if (slot->in_use)
        CHECK(cudaEventSynchronize(slot->used));
    slot->in_use = false;
    make_room(slot, fill(uploader, slot, batch, true));
    const size_t bytes = fill(uploader, slot, batch, false);
    CHECK(cudaMemcpyAsync(slot->device, slot->host, bytes, cudaMemcpyHostToDevice, uploader->stream));
    CHECK(cudaEventRecord(slot->uploaded, uploader->stream));
    CHECK(cudaStreamWaitEvent(device->stream, slot->uploaded, 0));
    return &slot->batch.batch;
}
