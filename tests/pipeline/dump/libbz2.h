/* Decodes with libbz2, the reference for our decoder. */
#pragma once

#include "base/mem.h"
#include "base/str.h"

#include <bzlib.h>
#include <stdlib.h>

/* A stream of libbz2 takes megabytes. They are kept for the next stream: to take them anew took most of the time of a
 * fuzz target. */
struct libbz2_block {
    struct libbz2_block *next;
    size_t bytes;
};
static struct libbz2_block *libbz2_kept;

static void *libbz2_take(void *context, int count, int size)
{
    const size_t bytes = (size_t)count * (size_t)size;
    struct libbz2_block **at = &libbz2_kept;
    (void)context;
    while (*at && (*at)->bytes != bytes)
        at = &(*at)->next;
    struct libbz2_block *block = *at;
    if (block)
        *at = block->next;
    else if (!(block = malloc(sizeof *block + bytes)))
        return NULL;
    block->bytes = bytes;
    return block + 1;
}

static void libbz2_give(void *context, void *memory)
{
    (void)context;
    if (!memory)
        return;
    struct libbz2_block *block = (struct libbz2_block *)memory - 1;
    block->next = libbz2_kept;
    libbz2_kept = block;
}

/* What a stream begins as. */
#define LIBBZ2_STREAM ((bz_stream){.bzalloc = libbz2_take, .bzfree = libbz2_give})

/* Decodes a file of streams with libbz2. Returns 0 and the text, or -1. Zero bytes may follow the streams. */
__attribute__((unused)) static int decode_all(struct str bytes, struct buf *text)
{
    size_t at = 0;
    while (at < bytes.size && (at == 0 || bytes.data[at] != 0)) {
        bz_stream stream = LIBBZ2_STREAM;
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
