/* Undoes the first run-length coding of a block: four equal bytes are followed by a count of how many more there
 * were. */
#pragma once

#include "base/bz/block.h"

#define EQUALS 4
#if defined(__AVX512BW__) /* bytes of a register */
#define WIDE 64u
#elif defined(__AVX2__)
#define WIDE 32u
#else
#define WIDE 16u
#endif

typedef int8_t byte_vector __attribute__((vector_size(WIDE), aligned(1), may_alias));

/* True if four equal bytes begin anywhere in text[0..WIDE). */
static inline bool has_equals(const uint8_t *text)
{
    const byte_vector *first = (const byte_vector *)text;
    const byte_vector equal = (*first == *(const byte_vector *)(text + 1)) &
                              (*first == *(const byte_vector *)(text + 2)) &
                              (*first == *(const byte_vector *)(text + 3));
    uint64_t words[WIDE / 8], any = 0;
    memcpy(words, &equal, WIDE);
    for (unsigned i = 0; i < WIDE / 8; i++)
        any |= words[i];
    return any != 0;
}

/* The first offset from `at` on where four equal bytes begin, or `size`. Reads beyond the end of the text. */
static size_t find_equals(const uint8_t *text, size_t at, size_t size)
{
    while (at < size && !has_equals(text + at))
        at += WIDE;
    for (; at + EQUALS <= size; at++)
        if (text[at] == text[at + 1] && text[at] == text[at + 2] && text[at] == text[at + 3])
            return at;
    return size;
}

static enum bzip2_result unroll(const struct block_space *space, size_t text_max, struct buf *out)
{
    const size_t size = space->size, before = out->size;
    const uint8_t *text = space->text;
    buf_reserve(out, size < text_max ? size : text_max);
    for (size_t at = 0; at < size;) {
        const size_t equals = find_equals(text, at, size), plain = equals - at;
        const size_t room = text_max - (out->size - before);
        const size_t count = equals + EQUALS < size ? EQUALS + (size_t)text[equals + EQUALS] : 0;
        if (equals < size && count == 0)
            return BZIP2_DAMAGED; /* the count is missing */
        if (plain + count > room)
            return BZIP2_LONG;
        buf_reserve(out, plain + count);
        memcpy(out->data + out->size, text + at, plain);
        memset(out->data + out->size + plain, count ? text[equals] : 0, count);
        out->size += plain + count;
        at = equals + EQUALS + 1;
    }
    return BZIP2_DONE;
}
