/* Counts words. Entries are in order of appearance, their bytes one after the other in one buffer; a hash table with
 * open addressing finds them. A slot holds the upper half of the hash beside the entry's number, so other words are
 * seldom compared, and growing the table computes no hashes. */
#include "tokenizer/word_counts.h"

#include "base/hash.h"
#include "base/mem.h"

#include <assert.h>

#define BYTES_MIN ((size_t)64 << 10)
#define SLOT_BITS 10    /* initially */
#define RARE      4096u /* lower counts have a sum each, for choosing which words to forget */

struct counted {
    uint64_t count;
    uint32_t offset, size; /* of its bytes in `text` */
};

/* Memory of an entry besides its bytes: the entry and its slots (at most half are taken), when the arrays have just
 * grown. */
#define ENTRY_BYTES (2 * (sizeof(struct counted) + 2 * sizeof(uint64_t)))

struct word_counts {
    struct counted *entries;
    size_t count, capacity;
    uint64_t *slots; /* [1 << slot_bits]: upper half of the hash, entry + 1; 0 is empty */
    unsigned slot_bits;
    struct buf text;
    size_t bytes_max;
    uint64_t forgotten;
};

struct word_counts *word_counts_open(size_t bytes_max)
{
    struct word_counts *counts = mem_clear(1, sizeof *counts);
    const size_t most = (size_t)UINT32_MAX; /* offsets have 32 bits */
    counts->bytes_max = bytes_max < BYTES_MIN ? BYTES_MIN : bytes_max > most ? most : bytes_max;
    counts->slot_bits = SLOT_BITS;
    counts->slots = mem_clear((size_t)1 << SLOT_BITS, sizeof *counts->slots);
    return counts;
}

void word_counts_close(struct word_counts *counts)
{
    if (!counts)
        return;
    mem_free(counts->entries);
    mem_free(counts->slots);
    buf_release(&counts->text);
    mem_free(counts);
}

size_t word_counts_size(const struct word_counts *counts)
{
    return counts->count;
}

struct str word_counts_word(const struct word_counts *counts, size_t index, uint64_t *n)
{
    assert(index < counts->count);
    const struct counted *entry = &counts->entries[index];
    *n = entry->count;
    return (struct str){counts->text.data + entry->offset, entry->size};
}

uint64_t word_counts_forgotten(const struct word_counts *counts)
{
    return counts->forgotten;
}

void word_counts_reset(struct word_counts *counts)
{
    memset(counts->slots, 0, sizeof *counts->slots << counts->slot_bits);
    counts->count = 0;
    counts->forgotten = 0;
    buf_reset(&counts->text);
}

static size_t entry_cost(const struct counted *entry)
{
    return ENTRY_BYTES + 2 * (size_t)entry->size;
}

static size_t bytes_used(const struct word_counts *counts)
{
    return ENTRY_BYTES * counts->count + 2 * counts->text.size;
}

/* Puts a slot's value where a search will find it. */
static void place(struct word_counts *counts, uint64_t slot)
{
    const size_t mask = ((size_t)1 << counts->slot_bits) - 1;
    size_t at = (size_t)(slot >> 32) & mask;
    while (counts->slots[at])
        at = (at + 1) & mask;
    counts->slots[at] = slot;
}

static void grow_slots(struct word_counts *counts)
{
    uint64_t *const old = counts->slots;
    const size_t old_count = (size_t)1 << counts->slot_bits++;
    assert(counts->slot_bits <= 32);
    counts->slots = mem_clear((size_t)1 << counts->slot_bits, sizeof *counts->slots);
    for (size_t i = 0; i < old_count; i++)
        if (old[i])
            place(counts, old[i]);
    mem_free(old);
}

static uint64_t slot_value(uint64_t hash, size_t entry)
{
    return (hash >> 32) << 32 | (entry + 1);
}

/* The count below which words must be forgotten so that the rest fills at most half of the memory. */
static uint64_t rare_count(const struct word_counts *counts)
{
    size_t *const bytes = mem_clear(RARE, sizeof *bytes);
    size_t kept = bytes_used(counts);
    for (size_t i = 0; i < counts->count; i++)
        if (counts->entries[i].count < RARE)
            bytes[counts->entries[i].count] += entry_cost(&counts->entries[i]);
    uint64_t rare = 0;
    while (rare < RARE && kept > counts->bytes_max / 2)
        kept -= bytes[rare++];
    mem_free(bytes);
    return kept > counts->bytes_max / 2 ? UINT64_MAX : rare; /* exclusive; UINT64_MAX: all */
}

/* Forgets the rarest words. */
static void make_room(struct word_counts *counts)
{
    const uint64_t rare = rare_count(counts);
    size_t kept = 0, bytes = 0;
    memset(counts->slots, 0, sizeof *counts->slots << counts->slot_bits);
    for (size_t i = 0; i < counts->count; i++) {
        struct counted entry = counts->entries[i];
        if (entry.count < rare) {
            counts->forgotten += entry.count;
            continue;
        }
        assert(bytes <= entry.offset); /* entries are in the order of their text, so none is overwritten */
        memmove(counts->text.data + bytes, counts->text.data + entry.offset, entry.size);
        entry.offset = (uint32_t)bytes;
        bytes += entry.size;
        place(counts, slot_value(hash64(counts->text.data + entry.offset, entry.size), kept));
        counts->entries[kept++] = entry;
    }
    assert(bytes <= counts->text.size);
    counts->count = kept;
    counts->text.size = bytes;
}

static void append(struct word_counts *counts, struct str word, uint64_t n, uint64_t hash)
{
    if (bytes_used(counts) + ENTRY_BYTES + 2 * word.size > counts->bytes_max)
        make_room(counts);
    if (2 * (counts->count + 1) > (size_t)1 << counts->slot_bits)
        grow_slots(counts);
    counts->entries = mem_room(counts->entries, counts->count + 1, &counts->capacity, sizeof *counts->entries);
    assert(counts->text.size <= UINT32_MAX);
    place(counts, slot_value(hash, counts->count));
    counts->entries[counts->count++] = (struct counted){n, (uint32_t)counts->text.size, (uint32_t)word.size};
    buf_add_str(&counts->text, word);
}

void word_counts_add(struct word_counts *counts, struct str word, uint64_t n)
{
    if (word.size == 0 || word.size > COUNTED_WORD_BYTES_MAX || n == 0)
        return;
    const uint64_t hash = hash64(word.data, word.size);
    const size_t mask = ((size_t)1 << counts->slot_bits) - 1;
    for (size_t at = (size_t)(hash >> 32) & mask; counts->slots[at]; at = (at + 1) & mask) {
        const uint64_t slot = counts->slots[at];
        if (slot >> 32 != hash >> 32)
            continue;
        struct counted *entry = &counts->entries[(uint32_t)slot - 1];
        if (str_equal(word, (struct str){counts->text.data + entry->offset, entry->size})) {
            entry->count += n;
            return;
        }
    }
    append(counts, word, n, hash);
}

void word_counts_merge(struct word_counts *into, const struct word_counts *from)
{
    assert(into != from);
    for (size_t i = 0; i < from->count; i++) {
        uint64_t n;
        const struct str word = word_counts_word(from, i, &n);
        word_counts_add(into, word, n);
    }
    into->forgotten += from->forgotten;
}
