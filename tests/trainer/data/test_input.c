/* A user's text line by line: where lines end, what is left out of them, and what is refused. For bzip2:
 * tests/flow/score.sh. */
#include "base/file.h"
#include "tests/unit.h"
#include "trainer/data/input.h"

#define NAME "test_input.txt"

static struct error err;

static struct input opened(struct str text)
{
    struct input input;
    err = (struct error){0};
    assert_int_equal(file_write_all(NAME, text.data, text.size, &err), 0);
    assert_int_equal(input_open(&input, NAME, &err), 0);
    return input;
}

static void closed(struct input *input)
{
    input_close(input);
    unlink(NAME);
}

TEST(lines_have_numbers_and_places)
{
    static const struct {
        const char *line;
        uint64_t offset;
    } lines[] = {{"one", 0}, {"", 7}, {"th\xc3\xa9", 9}, {"\xef\xbb\xbf", 14}, {"four\r", 18}, {"end", 26}};
    struct input input = opened(STR("\xef\xbb\xbfone\n\r\nth\xc3\xa9\n\xef\xbb\xbf\n\xff"
                                    "four\r\r\nend"));
    struct str line;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        assert_int_equal(input_next(&input, &line, &err), 1);
        assert_true(str_equal(line, str_of(lines[i].line)));
        assert_int_equal(input.number, i + 1);
        assert_int_equal(input.offset, lines[i].offset);
    }
    assert_int_equal(input_next(&input, &line, &err), 0);
    assert_int_equal(input.dropped, 1);
    closed(&input);
    input = opened(STR(""));
    assert_int_equal(input_next(&input, &line, &err), 0);
    closed(&input);
}

/* Lines of every length around the size of a step, of which a reader sees only a part at a time. */
TEST(lines_may_be_long_but_not_too_long)
{
    SCOPED(buf_release) struct buf text = {0};
    struct str line;
    static const size_t sizes[] = {INPUT_LINE_BYTES_MAX - 1, 0, 700000, 700000, 1, INPUT_LINE_BYTES_MAX - 2};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        buf_reserve(&text, sizes[i] + 1);
        memset(text.data + text.size, 'a' + (int)i, sizes[i]);
        text.size += sizes[i];
        buf_add_byte(&text, '\n');
    }
    struct input input = opened(buf_str(&text));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_int_equal(input_next(&input, &line, &err), 1);
        assert_int_equal(line.size, sizes[i]);
        for (size_t j = 0; j < line.size; j++)
            if (line.data[j] != 'a' + (int)i)
                fail_msg("line %zu, byte %zu", i, j);
        assert_true(input.text.capacity < 4 * INPUT_LINE_BYTES_MAX); /* however long the text is */
    }
    assert_int_equal(input_next(&input, &line, &err), 0);
    closed(&input);
    buf_reset(&text);
    buf_add_text(&text, "a\n");
    buf_reserve(&text, INPUT_LINE_BYTES_MAX + 1);
    memset(text.data + 2, ' ', INPUT_LINE_BYTES_MAX + 1);
    text.size += INPUT_LINE_BYTES_MAX + 1;
    input = opened(buf_str(&text));
    assert_int_equal(input_next(&input, &line, &err), 1);
    assert_int_equal(input_next(&input, &line, &err), -1);
    assert_int_equal(err.kind, ERR_UNSAFE);
    assert_int_equal(err.offset, 2);
    assert_non_null(strstr(err.text, "line 2 is longer than 1048576 bytes"));
    closed(&input);
}

TEST(all_lines_together_are_bounded)
{
    struct buf out = {0};
    assert_int_equal(file_write_all(NAME, "a\r\nbc", 5, &err), 0);
    assert_int_equal(input_read(NAME, 5, &out, &err), 0);
    assert_true(str_equal(buf_str(&out), STR("a\nbc\n")));
    assert_int_equal(input_read(NAME, 4, &out, &err), -1);
    assert_int_equal(err.kind, ERR_UNSAFE);
    buf_release(&out);
    assert_int_equal(file_write_all(NAME, "\x1f\x8b", 2, &err), 0);
    assert_int_equal(input_read(NAME, 9, &out, &err), -1);
    assert_int_equal(err.kind, ERR_INPUT);
    assert_non_null(strstr(err.text, "gzip cannot unpack it"));
    buf_release(&out);
    unlink(NAME);
    assert_int_equal(input_read("no/such", 9, &out, &err), -1);
    assert_int_equal(err.kind, ERR_USAGE);
}
