/* The stages in plain C, for any machine; the reference for the lists of the other levels. */
#include "base/bz/block.h"
#include "base/bz/moves.h"

#define PLACES 16 /* in two words; 8 of 100 symbols move a byte from after them */

struct list_memory {
    uint8_t bytes[256]; /* from place PLACES on */
};

/* The first byte is the lowest. */
struct list {
    uint64_t low, high;
    struct list_memory *memory;
};

static inline struct list list_open(struct list_memory *memory, const uint8_t bytes[256])
{
    struct list list = {0, 0, memory};
    for (unsigned i = 0; i < 8; i++) {
        list.low |= (uint64_t)bytes[i] << 8 * i;
        list.high |= (uint64_t)bytes[i + 8] << 8 * i;
    }
    memcpy(memory->bytes, bytes, 256);
    return list;
}

/* Replaces the bytes [0, n) of a word by those of `moved`. */
static inline uint64_t word_mix(uint64_t word, uint64_t moved, unsigned n)
{
    const uint64_t stay = n < 8 ? UINT64_MAX << 8 * n : 0;
    return (word & stay) | (moved & ~stay);
}

static inline uint32_t list_step(struct list *list, unsigned symbol)
{
    if (symbol >= 2) {
        const unsigned place = symbol - 1;
        uint64_t front;
        if (place < 8) {
            front = list->low >> 8 * place & 255;
        } else if (place < PLACES) {
            front = list->high >> 8 * (place - 8) & 255;
        } else {
            front = moves_far(list->memory->bytes, PLACES, symbol, (uint8_t)(list->high >> 56));
        }
        const uint64_t last = list->low >> 56;
        list->low = word_mix(list->low, list->low << 8 | front, place < 8 ? place + 1 : 8);
        if (place >= 8)
            list->high = word_mix(list->high, list->high << 8 | last, place < PLACES ? place - 7 : 8);
    }
    return list->low & 255;
}

#include "base/bz/bz_rows.h"
#include "base/bz/symbols.h"
#include "base/bz/unroll.h"

const struct block_stages block_stages_base = {decode_symbols, decode_rows, unroll, crc_by_tables};
