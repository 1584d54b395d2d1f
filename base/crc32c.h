/* CRC-32C, the checksum of TFRecord files (TensorFlow's samples, TensorBoard's events): Castagnoli's polynomial
 * 0x1EDC6F41, bits reflected, start and end inverted (RFC 3720, appendix B.4). Our own formats use hash.h. */
#pragma once

#include <stddef.h>
#include <stdint.h>

uint32_t crc32c(const void *data, size_t bytes);

/* As stored in a TFRecord: rotated right by 15 bits, plus a constant, so that a CRC of data that contains CRCs is still
 * sound. */
static inline uint32_t crc32c_masked(const void *data, size_t bytes)
{
    const uint32_t crc = crc32c(data, bytes);
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}
