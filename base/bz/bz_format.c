/* Reads bits at any position. */
#include "base/bz/bz_format.h"

#include <assert.h>

uint64_t bzip2_bits(const uint8_t *bytes, size_t size, uint64_t bit, unsigned count)
{
    assert(count <= 56 && bit + count <= (uint64_t)size * 8);
    size_t at = (size_t)(bit / 8);
    uint64_t word = 0;
    for (size_t i = at; i < at + 8; i++)
        word = word << 8 | (i < size ? bytes[i] : 0u);
    return word << bit % 8 >> (64 - count);
}
