#include "pipeline/pairs/documents.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/random.h"

#include <assert.h>
#include <string.h>

static size_t grown(size_t capacity, size_t needed)
{
    size_t next = capacity ? capacity : 256;
    while (next < needed)
        next += next / 2;
    return next;
}

void documents_begin(struct documents *documents, uint64_t id, bool valid)
{
    if (documents->count == documents->capacity) {
        documents->capacity = grown(documents->capacity, documents->count + 1);
        documents->items = mem_grow(documents->items, documents->capacity, sizeof *documents->items);
    }
    documents->items[documents->count] =
        (struct document){.id = id, .valid = valid, .sentence = (uint32_t)documents->sentence_count};
}

void documents_sentence(struct documents *documents, const uint32_t *ids, size_t count)
{
    if (count == 0)
        return;
    assert(documents->count < documents->capacity); /* a document has begun */
    if (documents->id_count + count > documents->id_capacity) {
        documents->id_capacity = grown(documents->id_capacity, documents->id_count + count);
        documents->ids = mem_grow(documents->ids, documents->id_capacity, sizeof *documents->ids);
    }
    if (documents->sentence_count == documents->sentence_capacity) {
        documents->sentence_capacity = grown(documents->sentence_capacity, documents->sentence_count + 1);
        documents->ends = mem_grow(documents->ends, documents->sentence_capacity, sizeof *documents->ends);
    }
    memcpy(documents->ids + documents->id_count, ids, count * sizeof *ids);
    documents->id_count += count;
    documents->ends[documents->sentence_count++] = documents->id_count;
    documents->items[documents->count].sentence_count++;
}

bool documents_end(struct documents *documents)
{
    const struct document *document = &documents->items[documents->count];
    if (document->sentence_count == 0)
        return false;
    if (documents->count == documents->split_capacity) {
        documents->split_capacity = documents->capacity;
        documents->train = mem_grow(documents->train, documents->split_capacity, sizeof *documents->train);
        documents->held_out = mem_grow(documents->held_out, documents->split_capacity, sizeof *documents->held_out);
    }
    uint32_t index = (uint32_t)documents->count++;
    if (document->valid)
        documents->held_out[documents->held_out_count++] = index;
    else
        documents->train[documents->train_count++] = index;
    assert(documents->train_count + documents->held_out_count == documents->count);
    return true;
}

void documents_reset(struct documents *documents)
{
    documents->count = documents->id_count = documents->sentence_count = 0;
    documents->train_count = documents->held_out_count = 0;
}

void documents_release(struct documents *documents)
{
    mem_free(documents->items);
    mem_free(documents->ids);
    mem_free(documents->ends);
    mem_free(documents->train);
    mem_free(documents->held_out);
    *documents = (struct documents){0};
}

bool document_is_held_out(uint64_t id, uint32_t valid_millionths)
{
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(id >> (8 * i));
    return random_chance((uint32_t)(hash64(bytes, sizeof bytes) >> 32), valid_millionths);
}
