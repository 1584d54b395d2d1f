/* A bzip2 file read block by block: text of every stream; files cut anywhere, with any bit flipped, or longer than the
 * window. */
#include "tests/pipeline/dump/dump_files.h"

#include "base/bz/stream.h"

static void make_text(struct buf *text, size_t size)
{
    uint64_t random = 5;
    while (text->size < size)
        buf_add_byte(text, (char)('a' + test_random(&random) % 26));
}

static void make_file(struct buf *file, const struct buf *text)
{
    const size_t third = text->size / 3;
    add_stream(file, (struct str){text->data, third}, 1, third / 2);
    add_stream(file, STR(""), 9, 0);
    add_stream(file, (struct str){text->data + third, text->size - third}, 3, 0);
}

/* Reads all blocks; what precedes an error counts as lost. */
static int unpack(struct str bytes, struct buf *text, struct error *err)
{
    int more = 1;
    *err = (struct error){0};
    buf_reset(text);
    buf_add_text(text, "kept");
    struct bzip2_stream *stream = bzip2_stream_open("x.bz2", bytes, NULL);
    while (more > 0) {
        const size_t before = text->size;
        more = bzip2_stream_next(stream, text, err);
        assert_true(more > 0 || text->size == before);
    }
    bzip2_stream_close(stream);
    return more;
}

TEST(all_streams_are_read)
{
    SCOPED(buf_release) struct buf text = {0}, file = {0}, out = {0};
    struct error err;
    make_text(&text, 700000);
    make_file(&file, &text);
    assert_true(bzip2_begins(buf_str(&file)));
    for (int zeros = 0; zeros < 3; zeros++) { /* some tapes and tools append zeros */
        assert_int_equal(unpack(buf_str(&file), &out, &err), 0);
        assert_same((struct str){out.data + 4, out.size - 4}, buf_str(&text));
        buf_add_byte(&file, 0);
    }
    buf_add_byte(&file, 'x');
    assert_int_equal(unpack(buf_str(&file), &out, &err), -1);
    assert_int_equal(err.kind, ERR_INPUT);
    assert_int_equal(err.offset, file.size - 1);
}

/* A file cut between streams is accepted, any other cut is an error. A flipped bit never gives a different text. */
TEST(a_cut_and_a_bit_are_noticed)
{
    SCOPED(buf_release) struct buf text = {0}, file = {0}, out = {0};
    struct error err;
    size_t whole = 0, taken = 0;
    make_text(&text, 300);
    make_file(&file, &text);
    for (size_t size = 1; size < file.size; size++) {
        if (unpack((struct str){file.data, size}, &out, &err) == 0) {
            whole++;
        } else {
            assert_int_equal(err.kind, ERR_INPUT);
            assert_true(err.offset <= size);
        }
    }
    assert_int_equal(whole, 2);
    for (size_t bit = 0; bit < 8 * file.size; bit++) {
        file.data[bit / 8] ^= (char)(0x80 >> bit % 8);
        if (unpack(buf_str(&file), &out, &err) == 0) {
            assert_same((struct str){out.data + 4, out.size - 4}, buf_str(&text));
            taken++;
        }
        file.data[bit / 8] ^= (char)(0x80 >> bit % 8);
    }
    assert_true(taken > 0 && taken < 60); /* bits of a level, and padding bits */
}

/* Longer than the window, so that it is refilled, in the zeros at the end too. */
TEST(a_long_file_is_read_in_windows)
{
    static const char name[] = "test_bz_stream.bz2";
    SCOPED(buf_release) struct buf text = {0}, one = {0}, file = {0}, out = {0};
    struct error err;
    make_text(&text, 3 << 20);
    make_file(&one, &text);
    while (file.size < (7u << 20))
        buf_add_str(&file, buf_str(&one));
    for (int odd = 0; odd < 2; odd++) { /* the second time with a byte after zeros, which begins a stream */
        struct file opened;
        int more = 1;
        size_t count = 0;
        assert_int_equal(file_write_all(name, file.data, file.size, &err), 0);
        assert_int_equal(file_open_input(&opened, name, &err), 0);
        struct bzip2_stream *stream = bzip2_stream_open(name, STR(""), &opened);
        while (more > 0) {
            more = bzip2_stream_next(stream, &out, &err);
            for (; out.size >= text.size; count++) {
                assert_same((struct str){out.data, text.size}, buf_str(&text));
                memmove(out.data, out.data + text.size, out.size -= text.size);
            }
        }
        assert_true(count > 3 && out.size == 0 && more == -odd);
        assert_true(!odd || err.offset == file.size - one.size);
        bzip2_stream_close(stream);
        file_close(&opened);
        for (size_t i = 0; i < (7u << 20); i++)
            buf_add_byte(&file, 0);
        buf_add_str(&file, buf_str(&one));
    }
    unlink(name);
}
