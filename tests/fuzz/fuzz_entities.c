// room: pipeline
/* In: text. Held, at every '&': a reference takes no more bytes than there are, ends in ';' and gives a character;
 * what stands after it does not matter; numbers are those that a plain reading gives. */
#include "tests/fuzz/fuzz.h"

#include "pipeline/text/markup/entities.h"

/* Digits of a number up to the ';', or UINT64_MAX. */
static uint64_t read_number(struct str text)
{
    const bool hex = text.size > 2 && (text.data[2] == 'x' || text.data[2] == 'X');
    uint64_t value = 0;
    for (size_t at = hex ? 3 : 2; at < text.size - 1; at++) {
        const char byte = text.data[at];
        const int digit = byte >= '0' && byte <= '9'          ? byte - '0'
                          : hex && byte >= 'a' && byte <= 'f' ? byte - 'a' + 10
                          : hex && byte >= 'A' && byte <= 'F' ? byte - 'A' + 10
                                                              : -1;
        if (digit < 0)
            return UINT64_MAX;
        value = value * (hex ? 16 : 10) + (unsigned)digit;
    }
    return value;
}

static void check_reference(struct str text)
{
    struct entity_shown shown = {0}, again = {0};
    const size_t size = entity_decode(text, &shown);
    if (size == 0)
        return;
    assert(size >= 3 && size <= ENTITY_BYTES_MAX + 1 && size <= text.size && text.data[size - 1] == ';');
    assert(shown.size >= 1 && shown.size <= sizeof shown.bytes);
    assert(utf8_valid((struct str){shown.bytes, shown.size}));
    assert(entity_decode((struct str){text.data, size}, &again) == size);
    assert(again.size == shown.size && memcmp(again.bytes, shown.bytes, shown.size) == 0);
    assert(entity_decode((struct str){text.data, size - 1}, &again) == 0);
    if (text.data[1] != '#')
        return;
    const uint64_t value = read_number((struct str){text.data, size});
    assert(value <= 0x10FFFF && (value < 0xD800 || value >= 0xE000));
    const bool blank = value == '\t' || value == '\n' || value == '\r';
    char bytes[4];
    const size_t plain = utf8_write(blank ? ' ' : (uint32_t)value, bytes);
    assert(shown.size == plain && memcmp(shown.bytes, bytes, plain) == 0);
}

int fuzz_input(const uint8_t *data, size_t size)
{
    for (size_t at = 0; at < size; at++)
        if (data[at] == '&')
            check_reference(as_str(data + at, size - at));
    return 0;
}
