/* Reads bits, the highest of a byte first. After the end of the bytes it reads zeros without limit, so the caller must
 * check in time whether bits_place has passed the end. */
#pragma once

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define BITS_FILLED 56 /* the least number of bits after bits_fill */

#define RARE(condition) __builtin_expect((condition), 0)

struct bits {
    const uint8_t *bytes;
    size_t size;
    size_t next;   /* first byte that has no bit counted in `have` */
    uint64_t word; /* the next bits, from the highest on; bits after the first `have` are from bytes[next..) */
    unsigned have;
};

/* bytes[next..next + 8), with zeros for those that do not exist. */
__attribute__((noinline, cold)) static uint64_t bits_tail(const uint8_t *bytes, size_t size, size_t next)
{
    uint64_t word = 0;
    for (size_t i = next; i < next + 8; i++)
        word = word << 8 | (i < size ? bytes[i] : 0u);
    return word;
}

static inline __attribute__((always_inline)) void bits_fill(struct bits *bits)
{
    uint64_t word;
    if (!RARE(bits->next + 8 > bits->size)) {
        memcpy(&word, bits->bytes + bits->next, 8);
        word = be64toh(word);
    } else {
        word = bits_tail(bits->bytes, bits->size, bits->next);
    }
    bits->word |= word >> bits->have;
    bits->next += (63 - bits->have) / 8;
    bits->have |= BITS_FILLED;
}

static inline struct bits bits_from(const uint8_t *bytes, size_t size, uint64_t bit)
{
    struct bits bits = {.bytes = bytes, .size = size, .next = (size_t)(bit / 8)};
    bits_fill(&bits);
    bits.word <<= bit % 8;
    bits.have -= (unsigned)(bit % 8);
    return bits;
}

/* The position of the next bit, counted from bytes[0]. */
static inline uint64_t bits_place(const struct bits *bits)
{
    return (uint64_t)bits->next * 8 - bits->have;
}

static inline uint32_t bits_take(struct bits *bits, unsigned count) /* count is 1 to 32 and at most `have` */
{
    uint32_t value = (uint32_t)(bits->word >> (64 - count));
    bits->word <<= count;
    bits->have -= count;
    return value;
}
