/* In: the head of an input, raw. Out: its text, well formed, and what is to be seen in it. */
#include "pipeline/look.h"

#include "base/arena.h"
#include "pipeline/json_line.h"
#include "pipeline/text/guess.h"

/* The whole lines of the head, without what is no UTF-8, NUL bytes and a byte order mark. */
static void head_lines(const struct dump *dump, struct buf *out)
{
    struct str head = dump_head(dump);
    if (head.size == DUMP_HEAD_BYTES) {
        size_t size = head.size;
        while (size > 0 && head.data[size - 1] != '\n')
            size--;
        head.size = size > 0 ? size : head.size;
    }
    if (str_starts(head, STR("\xef\xbb\xbf")))
        head = (struct str){head.data + 3, head.size - 3};
    for (size_t at = 0; at < head.size; at++)
        if (head.data[at])
            buf_add_byte(out, head.data[at]);
    out->size = utf8_repair(out->data, out->size, NULL);
}

/* The texts of JSON lines, a line each. */
static void add_texts(struct str lines, struct buf *out)
{
    struct json_line scratch = {0};
    struct arena arena = {0};
    for (const char *at = lines.data, *end = lines.data + lines.size; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        struct json_member member = {.name = "text"};
        if (json_line_read(&scratch, str_range(at, stop), &member, 1, &arena) && member.kind == MEMBER_TEXT) {
            buf_add_str(out, member.text);
            buf_add_byte(out, '\n');
        }
        arena_reset(&arena);
        at = stop + 1;
    }
    arena_release(&arena);
    json_line_release(&scratch);
}

const char *look_language(const struct dump *dump)
{
    struct buf lines = {0}, texts = {0};
    head_lines(dump, &lines);
    if (dump_kind(dump) == INPUT_JSONL)
        add_texts(buf_str(&lines), &texts);
    const char *language = language_guess(buf_str(dump_kind(dump) == INPUT_JSONL ? &texts : &lines));
    buf_release(&lines);
    buf_release(&texts);
    return language;
}
