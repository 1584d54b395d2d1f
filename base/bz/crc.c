/* CRC-32 as bzip2 defines it: the highest bit first, inverted at the start and the end. Eight bytes at a time by
 * tables. */
#include "base/bz/block.h"

#define POLYNOMIAL 0x04c11db7u /* and x^32 */

/* remainder · x^bits */
static uint32_t times_x(uint32_t remainder, unsigned bits)
{
    for (; bits > 0; bits--)
        remainder = remainder << 1 ^ (remainder >> 31 ? POLYNOMIAL : 0);
    return remainder;
}

void crc_fill(struct crc_tables *tables)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t remainder = times_x(byte << 24, 8);
        for (unsigned zeros = 0; zeros < 8; zeros++, remainder = times_x(remainder, 8))
            tables->of_byte[zeros][byte] = remainder;
    }
    for (unsigned half = 0; half < 2; half++) {
        tables->fold_1[half] = times_x(1, 128 + 64 * half);
        tables->fold_4[half] = times_x(1, 512 + 64 * half);
    }
}

uint32_t crc_more(const struct crc_tables *tables, uint32_t crc, const uint8_t *bytes, size_t size)
{
    const uint32_t(*of)[256] = tables->of_byte;
    for (; size >= 8; bytes += 8, size -= 8) {
        uint64_t word;
        memcpy(&word, bytes, 8);
        word = be64toh(word) ^ (uint64_t)crc << 32;
        crc = of[7][word >> 56] ^ of[6][word >> 48 & 255] ^ of[5][word >> 40 & 255] ^ of[4][word >> 32 & 255] ^
              of[3][word >> 24 & 255] ^ of[2][word >> 16 & 255] ^ of[1][word >> 8 & 255] ^ of[0][word & 255];
    }
    for (; size > 0; bytes++, size--)
        crc = crc << 8 ^ of[0][crc >> 24 ^ *bytes];
    return crc;
}

uint32_t crc_by_tables(const struct crc_tables *tables, const uint8_t *bytes, size_t size)
{
    return ~crc_more(tables, UINT32_MAX, bytes, size);
}
