// room: pipeline
/* In: a list of orders that write a file of bzip2 streams: text, empty streams, zeros, garbage, a cut, flipped bits.
 * (Bytes as they come would never get past a CRC.) Held: the chain of blocks gives the verdict and the text that
 * libbz2 gives, stream by stream. */
#include "tests/fuzz/fuzz.h"

#include "pipeline/dump/chain.h"
#include "pipeline/dump/window.h"
#include "tests/pipeline/dump/libbz2.h"

#include <bzlib.h>

#define FILE_BYTES_MAX 20000u

static void add_stream(struct buf *out, struct str text, int level, size_t block_bytes)
{
    bz_stream stream = LIBBZ2_STREAM;
    int result = BZ2_bzCompressInit(&stream, level, 0, 0);
    assert(result == BZ_OK);
    for (size_t at = 0; result != BZ_STREAM_END;) {
        const size_t size = text.size - at < block_bytes ? text.size - at : block_bytes;
        buf_reserve(out, 2 * size + 1200);
        stream.next_out = out->data + out->size;
        stream.avail_out = (unsigned)(out->capacity - out->size);
        stream.next_in = (char *)(uintptr_t)text.data + at;
        stream.avail_in = (unsigned)size;
        result = BZ2_bzCompress(&stream, at + size == text.size ? BZ_FINISH : BZ_FLUSH);
        assert(result == BZ_STREAM_END || result == BZ_RUN_OK);
        out->size = out->capacity - stream.avail_out;
        at += size;
    }
    BZ2_bzCompressEnd(&stream);
}

static void write_file(struct buf *out, const uint8_t *data, size_t size)
{
    while (size > 0 && out->size < FILE_BYTES_MAX) {
        const unsigned order = take_byte(&data, &size), value = take_byte(&data, &size);
        const size_t text = value < size ? value : size;
        switch (order % 6) {
        case 0:
        case 1:
            add_stream(out, as_str(data, text), (int)(1 + order / 6 % 9), order % 6 ? SIZE_MAX : 1 + value / 2);
            data += text;
            size -= text;
            break;
        case 2:
            for (unsigned i = 0; i < value; i++)
                buf_add_byte(out, 0);
            break;
        case 3:
            buf_add(out, data, text);
            data += text;
            size -= text;
            break;
        case 4:
            out->size -= out->size * value / 256 % (out->size + 1);
            break;
        case 5:
            if (out->size)
                out->data[out->size * take_byte(&data, &size) / 256] ^= (char)value;
            break;
        }
    }
}

static int follow(struct str file, size_t window_bytes, struct buf *out)
{
    struct byte_source source;
    struct error err;
    static struct dump_piece piece; /* kept: it holds 7 MB, and what it was used for must not matter */
    struct chain chain = {0};
    struct str text;
    int result = byte_source_open(&source, fuzz_file(file), &err), more = 1;
    assert(result == 0);
    for (uint64_t window = 0; result == 0 && more > 0; window++) {
        more = piece_read(&source, window, window_bytes, WINDOW_BEYOND, &piece, &err);
        assert(more >= 0);
        if (more == 0) {
            result = chain_end(&chain, &source, &piece, &err);
            break;
        }
        more = 1;
        if (piece_decode(&source, &piece, 9, 1u << 20, &err) < 0)
            result = -1;
        while (result == 0 && (result = chain_next(&chain, &source, &piece, &text, &err)) == CHAIN_TEXT) {
            buf_add_str(out, text);
            result = 0;
        }
    }
    buf_release(&chain.text);
    byte_source_close(&source);
    return result;
}

int fuzz_input(const uint8_t *data, size_t size)
{
    const unsigned window = take_byte(&data, &size);
    SCOPED(buf_release) struct buf file = {0}, ours = {0}, theirs = {0};
    write_file(&file, data, size);
    if (stream_level((const uint8_t *)file.data, file.size) > 0) { /* else it is not taken for bzip2 */
        const int verdict = decode_all(buf_str(&file), &theirs);
        const int result = follow(buf_str(&file), 1 + (size_t)window * 4, &ours);
        assert((result == 0) == (verdict == 0));
        if (result == 0)
            assert(str_equal(buf_str(&ours), buf_str(&theirs)));
    }
    return 0;
}
