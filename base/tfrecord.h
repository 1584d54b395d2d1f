/* TFRecord, the framing of TensorFlow's samples and TensorBoard's events (lib/io/record_writer.h):
 *
 *     record    │ u64 bytes │ u32 CRC of these 8 │ message │ u32 CRC of the message │    little-endian, CRCs masked */
#pragma once

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

#define TFRECORD_BYTES_BEFORE 12u
#define TFRECORD_BYTES_AFTER  4u

/* Frames the message of `bytes` bytes at record + TFRECORD_BYTES_BEFORE; returns the size of the record. */
size_t tfrecord_frame(void *record, size_t bytes);
/* The message of the record at `data`; false if there is no complete record with valid CRCs. */
bool tfrecord_message(struct str data, struct str *message);
