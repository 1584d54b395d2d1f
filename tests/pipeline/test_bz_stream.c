/* A bzip2 file read whole: text of every stream; files cut anywhere, with any bit flipped, or with more text than
 * allowed. */
#include "tests/pipeline/dump_files.h"

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

static int unpack(struct str file, size_t text_max, struct buf *text, struct error *err)
{
    *err = (struct error){0};
    buf_reset(text);
    buf_add_text(text, "kept");
    return bzip2_unpack("x.bz2", file, text_max, text, err);
}

static void all_streams_are_read(void **state)
{
    (void)state;
    struct buf text = {0}, file = {0}, out = {0};
    struct error err;
    make_text(&text, 700000);
    make_file(&file, &text);
    assert_true(bzip2_begins(buf_str(&file)));
    for (int zeros = 0; zeros < 3; zeros++) { /* some tapes and tools append zeros */
        assert_int_equal(unpack(buf_str(&file), text.size, &out, &err), 0);
        assert_same((struct str){out.data + 4, out.size - 4}, buf_str(&text));
        buf_add_byte(&file, 0);
    }
    assert_int_equal(unpack(buf_str(&file), text.size - 1, &out, &err), -1);
    assert_int_equal(err.kind, ERR_UNSAFE);
    assert_int_equal(out.size, 4);
    buf_add_byte(&file, 'x');
    assert_int_equal(unpack(buf_str(&file), text.size, &out, &err), -1);
    assert_int_equal(err.kind, ERR_INPUT);
    assert_int_equal(err.offset, file.size - 1);
    buf_release(&text);
    buf_release(&file);
    buf_release(&out);
}

/* A file cut between streams is accepted, any other cut is an error. A flipped bit never gives a different text. */
static void a_cut_and_a_bit_are_noticed(void **state)
{
    (void)state;
    struct buf text = {0}, file = {0}, out = {0};
    struct error err;
    size_t whole = 0, taken = 0;
    make_text(&text, 300);
    make_file(&file, &text);
    for (size_t size = 1; size < file.size; size++) {
        if (unpack((struct str){file.data, size}, 1 << 20, &out, &err) == 0) {
            whole++;
        } else {
            assert_int_equal(err.kind, ERR_INPUT);
            assert_true(err.offset <= size);
            assert_int_equal(out.size, 4);
        }
    }
    assert_int_equal(whole, 2);
    for (size_t bit = 0; bit < 8 * file.size; bit++) {
        file.data[bit / 8] ^= (char)(0x80 >> bit % 8);
        if (unpack(buf_str(&file), 1 << 20, &out, &err) == 0) {
            assert_same((struct str){out.data + 4, out.size - 4}, buf_str(&text));
            taken++;
        }
        file.data[bit / 8] ^= (char)(0x80 >> bit % 8);
    }
    assert_true(taken > 0 && taken < 60); /* bits of a level, and padding bits */
    buf_release(&text);
    buf_release(&file);
    buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_streams_are_read),
        cmocka_unit_test(a_cut_and_a_bit_are_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
