#include "base/json_write.h"

#include <assert.h>

#include "base/file.h"

int json_file_write(const char *path, const json_t *value, struct error *err)
{
    struct buf text = {0};
    json_add_text(value, JSON_INDENT(2), &text);
    buf_add_byte(&text, '\n');
    const int result = file_write_all(path, text.data, text.size, err);
    buf_release(&text);
    return result;
}

static int add_part(const char *part, size_t size, void *out)
{
    buf_add(out, part, size);
    return 0;
}

void json_add_text(const json_t *value, size_t flags, struct buf *out)
{
    /* 15 digits: every decimal of that many digits is written back as it was read, 0.1 and not 0.10000000000000001. */
    const int result = json_dump_callback(value, add_part, out, flags | JSON_REAL_PRECISION(15));
    assert(result == 0); /* fails only on values that are not JSON */
}
