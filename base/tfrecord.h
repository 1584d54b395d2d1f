/* TFRecord, the framing of TensorFlow's samples and TensorBoard's events (lib/io/record_writer.h):
 *
 *     record    │ u64 bytes │ u32 CRC of these 8 │ message │ u32 CRC of the message │    little-endian, CRCs masked */
#pragma once

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TFRECORD_BYTES_BEFORE 12u
#define TFRECORD_BYTES_AFTER  4u

/* Frames the message of `bytes` bytes at record + TFRECORD_BYTES_BEFORE; returns the size of the record. */
size_t tfrecord_frame(void *record, size_t bytes);
/* The message of the record at `data`; false if there is no complete record with valid CRCs. */
bool tfrecord_message(struct str data, struct str *message);

/* CRC-32C: Castagnoli's polynomial 0x1EDC6F41, bits reflected, start and end inverted (RFC 3720, appendix B.4). Our own
 * formats use hash.h. */
uint32_t crc32c(const void *data, size_t bytes);
/* As stored in a TFRecord: rotated right by 15 bits, plus a constant, so that a CRC of data that contains CRCs is still
 * sound. */
static inline uint32_t crc32c_masked(const void *data, size_t bytes)
{
    const uint32_t crc = crc32c(data, bytes);
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}
