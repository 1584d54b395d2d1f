// room: pipeline
// bytes: 4096
/* In: a converter, a separator, how many bytes are taken at a time, and the text. Held: JSON lines are the same however
 * the text is divided; those of tables, numbered sentences and web archives are objects, whatever the text holds. */
#include "tests/fuzz/fuzz.h"

#include "pipeline/dump/converters.h"
#include "pipeline/input/json_line.h"

struct rest {
    const char *data;
    size_t size;
};

static int64_t next(void *context, void *out, size_t bytes, struct error *err)
{
    (void)err;
    struct rest *rest = context;
    const size_t part = rest->size < bytes ? rest->size : bytes;
    if (part > 0)
        memcpy(out, rest->data, part);
    rest->data += part;
    rest->size -= part;
    return (int64_t)part;
}

/* Reads all of it; the error, if there is one, is the end of the result. */
static void convert_all(const struct conversion *conversion, struct str text, struct buf *out)
{
    struct rest rest = {text.data, text.size};
    const struct str start = {text.data, text.size / 3};
    struct error err = {0};
    rest.data += start.size;
    rest.size -= start.size;
    struct convert *convert = convert_open(conversion, "input", start, next, &rest);
    int64_t got = 1;
    while (got > 0) {
        buf_reserve(out, 100);
        got = convert_read(convert, out->data + out->size, 100, &err);
        out->size += got > 0 ? (size_t)got : 0;
    }
    if (got < 0)
        buf_reset(out); /* what came before an error depends on the division */
    convert_close(convert);
    if (got < 0)
        buf_addf(out, "%llu %s", (unsigned long long)err.offset, err.text);
}

static void check_objects(struct str lines)
{
    static struct json_line scratch;
    struct arena arena = {0};
    if (lines.size == 0 || lines.data[0] != '{') /* an error */
        return;
    while (lines.size > 0) {
        const char *end = lines.data + lines.size, *stop = memchr(lines.data, '\n', lines.size);
        struct json_member text = {.name = "text"};
        uint32_t repairs = 0;
        assert(stop);
        const bool object = json_line_read(&scratch, str_range(lines.data, stop), &text, 1, &arena, &repairs);
        assert(object);
        lines = str_range(stop + 1, end);
        arena_reset(&arena);
    }
    arena_release(&arena);
}

int fuzz_input(const uint8_t *data, size_t size)
{
    static const char separators[] = ",;\t";
    const unsigned row = take_byte(&data, &size) % 6, step = take_byte(&data, &size) % 16 + 1;
    const unsigned separator = take_byte(&data, &size);
    struct conversion conversion = {
        converter_at(row), {true, separators[separator % 3], separator & 128, separator & 64, 0, 0}, "%", 0};
    const struct str text = {(const char *)data, size};
    SCOPED(buf_release) struct buf whole = {0}, parts = {0};
    assert(conversion.converter && !converter_at(6));
    conversion_find(text);
    convert_all(&conversion, text, &whole);
    conversion.step = step + 3; /* a byte order mark is whole */
    convert_all(&conversion, text, &parts);
    assert(str_equal(buf_str(&whole), buf_str(&parts)));
    if (row == 0 || row == 1 || row > 3)
        check_objects(buf_str(&whole));
    return 0;
}
