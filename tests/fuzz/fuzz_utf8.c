// room: base
/* In: bytes. Held: what is decoded, refused and removed as UTF-8 is what the table of well-formed sequences says
 * (Unicode 3.9, table 3-7), read literally; what is left is well-formed, and encodes back to itself; what is made safe
 * for a terminal holds nothing that a terminal obeys. */
#include "tests/fuzz/fuzz.h"

#include "base/log.h"

/* First bytes and what may stand after them. */
static const struct row {
    uint8_t from, to, second_from, second_to;
    unsigned size;
} rows[] = {
    {0x00, 0x7F, 0x00, 0x00, 1}, {0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3},
    {0xE1, 0xEC, 0x80, 0xBF, 3}, {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3},
    {0xF0, 0xF0, 0x90, 0xBF, 4}, {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4},
};

/* The bytes at the front that belong together; *whole: they are a character. */
static unsigned sequence(const uint8_t *bytes, size_t size, bool *whole)
{
    *whole = false;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *row = &rows[i];
        if (bytes[0] < row->from || bytes[0] > row->to)
            continue;
        unsigned at = 1;
        for (; at < row->size && at < size; at++)
            if (bytes[at] < (at == 1 ? row->second_from : 0x80) || bytes[at] > (at == 1 ? row->second_to : 0xBF))
                break;
        *whole = at == row->size;
        return at;
    }
    return 1;
}

static void check_safe(const char *text)
{
    char safe[64];
    log_safe(text, safe, sizeof safe);
    assert(utf8_valid(str_of(safe)));
    for (size_t at = 0; safe[at];) {
        uint32_t code_point;
        unsigned skip;
        at += utf8_decode(safe + at, strlen(safe + at), &code_point, &skip);
        assert(code_point >= ' ' && (code_point < 0x7F || code_point >= 0xA0));
        assert((code_point < 0x202A || code_point > 0x202E) && (code_point < 0x2066 || code_point > 0x2069));
    }
}

int fuzz_input(const uint8_t *data, size_t size)
{
    SCOPED(buf_release) struct buf kept = {0};
    bool valid = true;
    for (size_t at = 0; at < size;) {
        uint32_t code_point = 0;
        unsigned skip = 0;
        bool whole;
        char bytes[4];
        const unsigned expected = sequence(data + at, size - at, &whole);
        const unsigned got = utf8_decode((const char *)data + at, size - at, &code_point, &skip);
        assert(got == (whole ? expected : 0) && (whole || skip == expected));
        if (whole) {
            assert(utf8_write(code_point, bytes) == expected && memcmp(bytes, data + at, expected) == 0);
            buf_add(&kept, data + at, expected);
        }
        valid &= whole;
        at += expected;
    }
    SCOPED(mem_free_at) char *text = mem_clear(size + 1, 1);
    if (size)
        memcpy(text, data, size);
    check_safe(text);
    uint64_t dropped = 0;
    assert(utf8_valid(as_str(data, size)) == valid);
    const size_t left = utf8_repair(text, size, &dropped);
    assert(str_equal((struct str){text, left}, buf_str(&kept)) && dropped == size - left);
    return 0;
}
