/* Decoders for bzip2, gzip (RFC 1952), Zstandard (RFC 8878) and xz ("The .xz File Format" 1.1.0). The libraries verify
 * the checksums that the formats have. */
#include "pipeline/dump/codecs.h"

#include "base/error.h"
#include "base/mem.h"

#include <assert.h>
#include <bzlib.h>
#include <limits.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#define WINDOW_LOG_MAX 27               /* of Zstandard: CODEC_BYTES_MAX */
#define GZIP_BITS      (16 + MAX_WBITS) /* tells zlib to read gzip headers */

static void no_memory(void)
{
    die(ERR_RESOURCE, "out of memory for a decoder");
}

static bool begins_with(const uint8_t *bytes, size_t size, const char *magic, size_t magic_bytes)
{
    return size > 0 && memcmp(bytes, magic, size < magic_bytes ? size : magic_bytes) == 0;
}

/* ----------------------------------------------------------------------------------------------------- bzip2 */

/* The header and the magic number of a block, or of an empty stream's end. */
static bool bzip2_begins(const uint8_t *bytes, size_t size)
{
    return begins_with(bytes, size, "BZh", 3) && (size < 4 || (bytes[3] >= '1' && bytes[3] <= '9')) &&
           (size < 6 || memcmp(bytes + 4, "1A", 2) == 0 || memcmp(bytes + 4, "\x17\x72", 2) == 0);
}

static void bzip2_begin(bz_stream *stream)
{
    *stream = (bz_stream){0};
    if (BZ2_bzDecompressInit(stream, 0, 0) != BZ_OK)
        no_memory();
}

static void *bzip2_open(void)
{
    bz_stream *stream = mem_alloc(sizeof *stream);
    bzip2_begin(stream);
    return stream;
}

static enum codec_result bzip2_step(void *decoder, struct codec_step *step)
{
    bz_stream *stream = decoder;
    assert(step->in_bytes <= UINT_MAX && step->out_bytes <= UINT_MAX);
    stream->next_in = (char *)(uintptr_t)step->in;
    stream->avail_in = (unsigned)step->in_bytes;
    stream->next_out = (char *)step->out;
    stream->avail_out = (unsigned)step->out_bytes;
    const int result = BZ2_bzDecompress(stream);
    *step = (struct codec_step){(const uint8_t *)stream->next_in, stream->avail_in, (uint8_t *)stream->next_out,
                                stream->avail_out};
    if (result == BZ_MEM_ERROR)
        no_memory();
    if (result == BZ_STREAM_END)
        return CODEC_END;
    return result == BZ_OK ? CODEC_MORE : CODEC_DAMAGED;
}

static void bzip2_again(void *decoder)
{
    BZ2_bzDecompressEnd(decoder);
    bzip2_begin(decoder);
}

static size_t bzip2_memory(const void *decoder)
{
    (void)decoder;
    return (size_t)3700 << 10; /* bzip2's manual: 100 kB and 4 times 900 kB */
}

static void bzip2_close(void *decoder)
{
    if (decoder)
        BZ2_bzDecompressEnd(decoder);
    mem_free(decoder);
}

/* ------------------------------------------------------------------------------------------------------ gzip */

/* Method 8, and flags of which the highest three are zero. */
static bool gzip_begins(const uint8_t *bytes, size_t size)
{
    return begins_with(bytes, size, "\x1f\x8b\x08", 3) && (size < 4 || bytes[3] < 0x20);
}

/* bgzip (SAM/BAM specification, 4.1 "The BGZF compression format") stores the size of a member, minus one, in its
 * header. */
static bool gzip_measure(const uint8_t *in, size_t size, size_t *bytes)
{
    if (size < 12 || in[0] != 0x1f || in[1] != 0x8b || !(in[3] & 4))
        return false;
    const size_t end = 12 + in[10] + ((size_t)in[11] << 8);
    for (size_t at = 12; at + 4 <= end && end <= size; at += 4 + in[at + 2] + ((size_t)in[at + 3] << 8))
        if (in[at] == 'B' && in[at + 1] == 'C' && in[at + 2] == 2 && in[at + 3] == 0 && at + 6 <= end) {
            *bytes = in[at + 4] + ((size_t)in[at + 5] << 8) + 1;
            return *bytes > end && *bytes <= size;
        }
    return false;
}

static void *gzip_open(void)
{
    z_stream *stream = mem_clear(1, sizeof *stream);
    if (inflateInit2(stream, GZIP_BITS) != Z_OK)
        no_memory();
    return stream;
}

static enum codec_result gzip_step(void *decoder, struct codec_step *step)
{
    z_stream *stream = decoder;
    assert(step->in_bytes <= UINT_MAX && step->out_bytes <= UINT_MAX);
    stream->next_in = (Bytef *)(uintptr_t)step->in;
    stream->avail_in = (uInt)step->in_bytes;
    stream->next_out = step->out;
    stream->avail_out = (uInt)step->out_bytes;
    const int result = inflate(stream, Z_NO_FLUSH);
    *step = (struct codec_step){stream->next_in, stream->avail_in, stream->next_out, stream->avail_out};
    if (result == Z_MEM_ERROR)
        no_memory();
    if (result == Z_STREAM_END)
        return CODEC_END;
    return result == Z_OK || result == Z_BUF_ERROR ? CODEC_MORE : CODEC_DAMAGED;
}

static void gzip_again(void *decoder)
{
    inflateReset(decoder);
}

static size_t gzip_memory(const void *decoder)
{
    (void)decoder;
    return (size_t)48 << 10; /* zlib.h says 32 KiB and 7 KB */
}

static void gzip_close(void *decoder)
{
    if (decoder)
        inflateEnd(decoder);
    mem_free(decoder);
}

/* ------------------------------------------------------------------------------------------------- Zstandard */

/* A frame, or one that is skipped. */
static bool zstd_begins(const uint8_t *bytes, size_t size)
{
    const bool skippable =
        size > 0 && (bytes[0] & 0xf0) == 0x50 && (size == 1 || begins_with(bytes + 1, size - 1, "\x2a\x4d\x18", 3));
    return skippable || begins_with(bytes, size, "\x28\xb5\x2f\xfd", 4);
}

/* RFC 8878, 3.1.1.1: in the byte after the magic a flag says that the window is as large as the content. Otherwise the
 * next byte has the binary logarithm of the window, minus 10. Frames with a window above 16 MiB are treated as not
 * measurable, because every thread would need that much. */
static bool zstd_measure(const uint8_t *in, size_t size, size_t *bytes)
{
    const bool skippable = size > 6 && (in[0] & 0xf0) == 0x50;
    if (size <= 6 || (!skippable && !(in[4] & 0x20) && in[5] >> 3 > 13) ||
        (!skippable && (in[4] & 0x20) && ZSTD_getFrameContentSize(in, size) > (16u << 20)))
        return false;
    *bytes = ZSTD_findFrameCompressedSize(in, size);
    return !ZSTD_isError(*bytes);
}

static void *zstd_open(void)
{
    ZSTD_DCtx *context = ZSTD_createDCtx();
    if (!context)
        no_memory();
    ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
    return context;
}

static enum codec_result zstd_step(void *decoder, struct codec_step *step)
{
    ZSTD_inBuffer in = {step->in, step->in_bytes, 0};
    ZSTD_outBuffer out = {step->out, step->out_bytes, 0};
    const size_t result = ZSTD_decompressStream(decoder, &out, &in);
    *step =
        (struct codec_step){step->in + in.pos, step->in_bytes - in.pos, step->out + out.pos, step->out_bytes - out.pos};
    if (!ZSTD_isError(result))
        return result == 0 ? CODEC_END : CODEC_MORE;
    const ZSTD_ErrorCode code = ZSTD_getErrorCode(result);
    if (code == ZSTD_error_memory_allocation)
        no_memory();
    return code == ZSTD_error_frameParameter_windowTooLarge ? CODEC_LARGE : CODEC_DAMAGED;
}

static void zstd_again(void *decoder)
{
    ZSTD_DCtx_reset(decoder, ZSTD_reset_session_only);
}

static size_t zstd_memory(const void *decoder)
{
    return ZSTD_sizeof_DCtx(decoder);
}

static void zstd_close(void *decoder)
{
    ZSTD_freeDCtx(decoder);
}

/* -------------------------------------------------------------------------------------------------------- xz */

static bool xz_begins(const uint8_t *bytes, size_t size)
{
    return begins_with(bytes, size,
                       "\xfd"
                       "7zXZ\0",
                       MAGIC_BYTES_MAX);
}

static void xz_begin(lzma_stream *stream)
{
    if (lzma_stream_decoder(stream, CODEC_BYTES_MAX, 0) != LZMA_OK)
        no_memory();
}

static void *xz_open(void)
{
    lzma_stream *stream = mem_clear(1, sizeof *stream);
    *stream = (lzma_stream)LZMA_STREAM_INIT;
    xz_begin(stream);
    return stream;
}

static enum codec_result xz_step(void *decoder, struct codec_step *step)
{
    lzma_stream *stream = decoder;
    stream->next_in = step->in;
    stream->avail_in = step->in_bytes;
    stream->next_out = step->out;
    stream->avail_out = step->out_bytes;
    const lzma_ret result = lzma_code(stream, LZMA_RUN);
    *step = (struct codec_step){stream->next_in, stream->avail_in, stream->next_out, stream->avail_out};
    if (result == LZMA_MEM_ERROR)
        no_memory();
    if (result == LZMA_STREAM_END)
        return CODEC_END;
    if (result == LZMA_MEMLIMIT_ERROR)
        return CODEC_LARGE;
    return result == LZMA_OK || result == LZMA_BUF_ERROR ? CODEC_MORE : CODEC_DAMAGED;
}

static void xz_again(void *decoder)
{
    xz_begin(decoder);
}

static size_t xz_memory(const void *decoder)
{
    return (size_t)lzma_memusage(decoder);
}

static void xz_close(void *decoder)
{
    if (decoder)
        lzma_end(decoder);
    mem_free(decoder);
}

/* ----------------------------------------------------------------------------------------------------- table */

static const struct codec codecs[CONTAINERS] = {
    [CONTAINER_BZIP2] = {.name = "bzip2",
                         .unit = "stream",
                         .tool = "bzip2",
                         .extension = ".bz2",
                         .expansion_percent = 430,
                         .padded = true,
                         .magic_bytes = MAGIC_BYTES_MAX,
                         .begins = bzip2_begins,
                         .open = bzip2_open,
                         .step = bzip2_step,
                         .again = bzip2_again,
                         .memory = bzip2_memory,
                         .close = bzip2_close},
    [CONTAINER_GZIP] = {.name = "gzip",
                        .unit = "member",
                        .tool = "gzip",
                        .extension = ".gz",
                        .expansion_percent = 320,
                        .padded = true,
                        .magic_bytes = 4,
                        .begins = gzip_begins,
                        .measure = gzip_measure,
                        .open = gzip_open,
                        .step = gzip_step,
                        .again = gzip_again,
                        .memory = gzip_memory,
                        .close = gzip_close},
    [CONTAINER_ZSTD] = {.name = "Zstandard",
                        .unit = "frame",
                        .tool = "zstd",
                        .extension = ".zst",
                        .expansion_percent = 350,
                        .padded = false,
                        .magic_bytes = 4,
                        .begins = zstd_begins,
                        .measure = zstd_measure,
                        .open = zstd_open,
                        .step = zstd_step,
                        .again = zstd_again,
                        .memory = zstd_memory,
                        .close = zstd_close},
    [CONTAINER_XZ] = {.name = "xz",
                      .unit = "stream",
                      .tool = "xz",
                      .extension = ".xz",
                      .expansion_percent = 420,
                      .padded = true,
                      .magic_bytes = MAGIC_BYTES_MAX,
                      .begins = xz_begins,
                      .open = xz_open,
                      .step = xz_step,
                      .again = xz_again,
                      .memory = xz_memory,
                      .close = xz_close},
};

const struct codec *codec_of(enum container container)
{
    assert(container < CONTAINERS);
    return container == CONTAINER_NONE ? NULL : &codecs[container];
}

bool codec_cut_extension(struct str *name)
{
    for (enum container packed = CONTAINER_NONE + 1; packed < CONTAINERS; packed++) {
        const struct str extension = str_of(codecs[packed].extension);
        if (name->size > extension.size && str_ends(*name, extension)) {
            name->size -= extension.size;
            return true;
        }
    }
    return false;
}
