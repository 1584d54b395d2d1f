#include "base/tfrecord.h"

#include "base/crc32c.h"

#include <endian.h>
#include <stdint.h>

static void put_crc(char *at, const char *data, size_t bytes)
{
    const uint32_t crc = htole32(crc32c_masked(data, bytes));
    memcpy(at, &crc, sizeof crc);
}

static bool crc_stands_after(const char *data, size_t bytes)
{
    char crc[4];
    put_crc(crc, data, bytes);
    return memcmp(data + bytes, crc, sizeof crc) == 0;
}

size_t tfrecord_frame(void *record, size_t bytes)
{
    char *at = record, *message = at + TFRECORD_BYTES_BEFORE;
    const uint64_t length = htole64(bytes);
    memcpy(at, &length, sizeof length);
    put_crc(at + sizeof length, at, sizeof length);
    put_crc(message + bytes, message, bytes);
    return TFRECORD_BYTES_BEFORE + bytes + TFRECORD_BYTES_AFTER;
}

bool tfrecord_message(struct str data, struct str *message)
{
    uint64_t length;
    if (data.size < TFRECORD_BYTES_BEFORE + TFRECORD_BYTES_AFTER)
        return false;
    memcpy(&length, data.data, sizeof length);
    length = le64toh(length);
    if (length > data.size - TFRECORD_BYTES_BEFORE - TFRECORD_BYTES_AFTER)
        return false;
    *message = (struct str){data.data + TFRECORD_BYTES_BEFORE, (size_t)length};
    return crc_stands_after(data.data, sizeof length) && crc_stands_after(message->data, message->size);
}
