#include "base/tfrecord.h"

#include <endian.h>

/* remainder_of[n]: the remainder of four bits by the polynomial 0x82F63B78 (0x1EDC6F41 reflected). */
static const uint32_t remainder_of[16] = {0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
                                          0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
                                          0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75};

uint32_t crc32c(const void *data, size_t bytes)
{
    const uint8_t *byte = data;
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < bytes; i++) {
        crc ^= byte[i];
        for (int half = 0; half < 2; half++)
            crc = crc >> 4 ^ remainder_of[crc & 15];
    }
    return ~crc;
}

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
