/* Decoding of bzip2 blocks, ours at each CPU level against libbz2, alternating on one thread: the least CPU time of
 * several runs over all blocks of a file in memory, in ns and as a ratio; also the time of each stage.
 *
 *     bench_bzip2 FILE.bz2 [RUNS] */
#include "base/bz/block.h"
#include "base/mem.h"
#include "pipeline/dump/bzip2.h"

#include <bzlib.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BLOCKS_MAX 4096

static const char *const stage_names[] = {"head", "symbols", "rows", "unroll", "crc"};
#define STAGES 5

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static struct buf read_file(const char *path)
{
    struct buf bytes = {0};
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(2);
    }
    for (size_t got = 1; got > 0; bytes.size += got) {
        buf_reserve(&bytes, 1 << 20);
        got = fread(bytes.data + bytes.size, 1, 1 << 20, file);
    }
    fclose(file);
    return bytes;
}

/* Decodes all streams of the file. Returns the bytes of text. */
static size_t decode_by_libbz2(const struct buf *file, struct buf *text)
{
    size_t at = 0;
    text->size = 0;
    while (at < file->size) {
        bz_stream stream = {.next_in = file->data + at, .avail_in = (unsigned)(file->size - at)};
        int result = BZ2_bzDecompressInit(&stream, 0, 0);
        while (result == BZ_OK) {
            buf_reserve(text, 1 << 20);
            stream.next_out = text->data + text->size;
            stream.avail_out = 1 << 20;
            result = BZ2_bzDecompress(&stream);
            text->size += (1 << 20) - stream.avail_out;
        }
        at = file->size - stream.avail_in;
        BZ2_bzDecompressEnd(&stream);
        if (result != BZ_STREAM_END)
            break;
    }
    return text->size;
}

/* One pass over all blocks; the least time of each stage of each block is kept in least[][]. Returns the total time. */
static uint64_t pass(const struct block_stages *stages, struct block_space *space, const struct buf *file,
                     const uint64_t *blocks, size_t count, uint64_t least[][STAGES], struct buf *text)
{
    const uint8_t *bytes = (const uint8_t *)file->data;
    uint64_t all = 0;
    text->size = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t before = text->size;
        uint64_t times[STAGES + 1];
        times[0] = now();
        struct bits in = bits_from(bytes, file->size, blocks[i] + 48);
        enum bzip2_result result = block_head(space, &in);
        times[1] = now();
        if (result == BZIP2_DONE)
            result = stages->symbols(space, &in);
        times[2] = now();
        if (result == BZIP2_DONE)
            result = stages->rows(space, BLOCK_BYTES_MAX);
        times[3] = now();
        if (result == BZIP2_DONE)
            result = stages->unroll(space, SIZE_MAX / 2, text);
        times[4] = now();
        const uint32_t crc = stages->crc(&space->crcs, (uint8_t *)text->data + before, text->size - before);
        times[5] = now();
        if (result != BZIP2_DONE || crc != space->crc) {
            fprintf(stderr, "block %zu: %s\n", i, result == BZIP2_DONE ? "wrong CRC" : "not decoded");
            exit(1);
        }
        for (size_t stage = 0; stage < STAGES; stage++)
            if (times[stage + 1] - times[stage] < least[i][stage])
                least[i][stage] = times[stage + 1] - times[stage];
        all += times[STAGES] - times[0];
    }
    return all;
}

int main(int argc, char **argv)
{
    static uint64_t blocks[BLOCKS_MAX], least[VECTOR_AVX512 + 1][BLOCKS_MAX][STAGES];
    static const char *const names[] = {"base", "avx2", "avx512"};
    if (argc < 2) {
        fprintf(stderr, "usage: bench_bzip2 FILE.bz2 [RUNS]\n");
        return 2;
    }
    const int runs = argc > 2 ? atoi(argv[2]) : 5;
    const enum vector_level most = vector_level();
    SCOPED(buf_release) struct buf file = read_file(argv[1]), text = {0}, expected = {0};
    SCOPED(mem_free_at) struct block_space *space = block_space_new();
    size_t count = 0;
    for (uint64_t bit = 0; count < BLOCKS_MAX; bit++) {
        bit = bzip2_find((const uint8_t *)file.data, file.size, bit, UINT64_MAX);
        if (bit == UINT64_MAX)
            break;
        blocks[count++] = bit;
    }
    uint64_t whole[VECTOR_AVX512 + 1], peer = UINT64_MAX;
    memset(least, 0xff, sizeof least);
    memset(whole, 0xff, sizeof whole);
    for (int run = 0; run < runs; run++) {
        uint64_t begun = now();
        decode_by_libbz2(&file, &expected);
        uint64_t took = now() - begun;
        peer = took < peer ? took : peer;
        for (unsigned level = VECTOR_BASE; level <= most; level++) {
            took = pass(block_stages(level), space, &file, blocks, count, least[level], &text);
            whole[level] = took < whole[level] ? took : whole[level];
            if (!str_equal(buf_str(&text), buf_str(&expected))) {
                fprintf(stderr, "%s: not the text of libbz2\n", names[level]);
                return 1;
            }
        }
    }
    const double bytes = (double)text.size;
    printf("%zu blocks, %.1f MB of text, %d runs; CPU time in ns per byte of text\n", count, bytes / 1e6, runs);
    printf("%-8s %7s %7s", "", "ns", "ratio");
    for (size_t stage = 0; stage < STAGES; stage++)
        printf(" %8s", stage_names[stage]);
    printf("\n%-8s %7.2f %7.1f\n", "libbz2", (double)peer / bytes, 1.0);
    for (unsigned level = VECTOR_BASE; level <= most; level++) {
        printf("%-8s %7.2f %7.1f", names[level], (double)whole[level] / bytes, (double)peer / (double)whole[level]);
        for (size_t stage = 0; stage < STAGES; stage++) {
            uint64_t sum = 0;
            for (size_t i = 0; i < count; i++)
                sum += least[level][i][stage];
            printf(" %8.2f", (double)sum / bytes);
        }
        printf("\n");
    }
    return 0;
}
