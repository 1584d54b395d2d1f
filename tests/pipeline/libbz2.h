/* Decodes with libbz2, the reference for our decoder. */
#ifndef TESTS_PIPELINE_LIBBZ2_H
#define TESTS_PIPELINE_LIBBZ2_H

#include "base/mem.h"
#include "base/str.h"

#include <bzlib.h>

/* Decodes a file of streams with libbz2. Returns 0 and the text, or -1. Zero bytes may follow the streams. */
__attribute__((unused)) static int decode_all(struct str bytes, struct buf *text)
{
    size_t at = 0;
    while (at < bytes.size && (at == 0 || bytes.data[at] != 0)) {
        bz_stream stream = {0};
        BZ2_bzDecompressInit(&stream, 0, 0);
        stream.next_in = (char *)(uintptr_t)bytes.data + at;
        stream.avail_in = (unsigned)(bytes.size - at);
        int result = BZ_OK;
        while (result == BZ_OK) {
            buf_reserve(text, 65536);
            stream.next_out = text->data + text->size;
            stream.avail_out = 65536;
            result = BZ2_bzDecompress(&stream);
            text->size += 65536 - stream.avail_out;
            if (result == BZ_OK && stream.avail_in == 0 && stream.avail_out > 0)
                result = BZ_UNEXPECTED_EOF;
        }
        at = bytes.size - stream.avail_in;
        BZ2_bzDecompressEnd(&stream);
        if (result != BZ_STREAM_END)
            return -1;
    }
    while (at < bytes.size && bytes.data[at] == 0)
        at++;
    return at == bytes.size ? 0 : -1;
}

#endif
