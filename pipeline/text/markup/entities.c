#include "pipeline/text/markup/entities.h"

static void show(uint32_t code_point, struct entity_shown *shown)
{
    shown->size += utf8_write(code_point < ' ' ? ' ' : code_point, shown->bytes + shown->size);
}

static size_t decode_named(struct str text, struct entity_shown *shown)
{
    size_t size = 1;
    while (size < text.size && size < ENTITY_BYTES_MAX && text.data[size] != ';')
        size++;
    if (size == text.size || size == ENTITY_BYTES_MAX)
        return 0;
    const struct str name = {text.data + 1, size - 1};
    size_t low = 0, high = entity_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = str_compare(str_of(entities[middle].name), name);
        if (order == 0) {
            for (size_t i = 0; i < 2 && entities[middle].code_points[i]; i++)
                show(entities[middle].code_points[i], shown);
            return size + 1;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

static int digit_of(char byte, unsigned base)
{
    return base == 16 || ascii_is_digit(byte) ? hex_digit(byte) : -1;
}

static size_t decode_numeric(struct str text, struct entity_shown *shown)
{
    const unsigned base = text.size > 2 && (text.data[2] | 0x20) == 'x' ? 16 : 10;
    const size_t first = base == 16 ? 3 : 2;
    size_t at = first;
    uint32_t value = 0;
    for (; at < text.size && at < ENTITY_BYTES_MAX && digit_of(text.data[at], base) >= 0; at++)
        value = value > 0x10FFFF ? value : value * base + (uint32_t)digit_of(text.data[at], base);
    if (at == first || at >= text.size || text.data[at] != ';')
        return 0;
    const bool is_control = (value < 0x20 && value != '\t' && value != '\n') || (value >= 0x7F && value < 0xA0);
    if (is_control || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000) || value == 0xFFFE || value == 0xFFFF)
        return 0; /* MediaWiki shows the reference as typed */
    show(value, shown);
    return at + 1;
}

size_t entity_decode(struct str text, struct entity_shown *shown)
{
    shown->size = 0;
    if (text.size < 3)
        return 0;
    return text.data[1] == '#' ? decode_numeric(text, shown) : decode_named(text, shown);
}
