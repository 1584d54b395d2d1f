/* The stories of dsdata demo: every word and sentence of data/demo.txt comes up; a number gives one story. */
#include "pipeline/verbs/demo_text.h"
#include "tests/unit.h"

#include <ctype.h>

static struct buf text;

static int write_all(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 6000; i++)
        if (!demo_story(&text, i))
            return -1; /* a slot without a set, or without that word */
    return 0;
}

static int release(void **state)
{
    (void)state;
    buf_release(&text);
    return 0;
}

static bool is_written(struct str part)
{
    return str_find(buf_str(&text), part) != SIZE_MAX;
}

/* The longest piece of a sentence between its slots; its first letter may be a capital in the text. */
static struct str longest_piece(const char *form, size_t size)
{
    struct str longest = STR("");
    for (size_t i = 0; i < size; i++) {
        const size_t start = i;
        while (i < size && form[i] != '{')
            i++;
        if (i - start > longest.size)
            longest = (struct str){form + start, i - start};
        while (i < size && form[i] != '}')
            i++;
    }
    return longest;
}

TEST(test_everything_comes_up)
{
    for (size_t i = 0; i < demo_lines.count; i++) {
        const char *line = demo_lines.items[i], *set = strstr(line, " = "), *mark = set ? "/" : " | ";
        for (const char *at = set ? set + 3 : line, *end; strcmp(line, "story") != 0 && *at; at = end) {
            end = strstr(at, mark) ? strstr(at, mark) : at + strlen(at);
            const char *row = strstr(at, " | ");
            if (row && row < end)
                end = row;
            const struct str part = set ? str_range(at, end) : longest_piece(at, (size_t)(end - at));
            if (part.size > 0 && !is_written((struct str){part.data + 1, part.size - 1}))
                fail_msg("never written: %.*s", (int)part.size, part.data);
            end += *end == '/' ? 1 : *end ? 3 : 0;
        }
    }
}

TEST(test_stories_are_whole)
{
    assert_false(is_written(STR("{")) || is_written(STR("}")) || is_written(STR(" | ")));
    size_t lines = 0;
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] == '\n') {
            assert_non_null(strchr(".?!\"", text.data[i - 1]));
            assert_true(i + 1 == text.size || isupper((unsigned char)text.data[i + 1]) || text.data[i + 1] == '"');
            lines++;
        }
    assert_int_equal(lines, 6000);
    SCOPED(buf_release) struct buf again = {0};
    assert_true(demo_story(&again, 0));
    assert_memory_equal(text.data, again.data, again.size);
}

GROUP(write_all, release)
