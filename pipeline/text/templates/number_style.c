#include "pipeline/text/templates/number_style.h"

static bool names(const char *codes, struct str code)
{
    for (const char *at = codes; code.size > 0 && *at;) {
        const size_t size = strcspn(at, ",");
        if (str_equal((struct str){at, size}, code))
            return true;
        at += size + (at[size] == ',');
    }
    return false;
}

const struct number_style *number_style_find(struct str code)
{
    for (int whole = 1; whole >= 0; whole--) {
        for (size_t i = 1; i < number_style_count; i++)
            if (names(number_styles[i].codes, code))
                return &number_styles[i];
        const char *dash = memchr(code.data, '-', code.size);
        code.size = dash ? (size_t)(dash - code.data) : 0;
    }
    return &number_styles[0];
}

static size_t add(char out[NUMBER_BYTES_MAX], size_t size, struct str text)
{
    if (size + text.size > NUMBER_BYTES_MAX)
        return size;
    memcpy(out + size, text.data, text.size);
    return size + text.size;
}

struct str number_localise(const struct number_style *style, struct str plain, char out[NUMBER_BYTES_MAX])
{
    size_t size = 0, whole = 0;
    if (style == &number_styles[0])
        return plain;
    const char *point = memchr(plain.data, '.', plain.size);
    const size_t end = point ? (size_t)(point - plain.data) : plain.size;
    for (size_t at = 0; at < end; at++)
        whole += ascii_is_digit(plain.data[at]);
    size_t left = whole;
    for (size_t at = 0; at < plain.size; at++) {
        const char byte = plain.data[at];
        if (byte == ',' && at < end)
            continue;
        if (byte == '.') {
            size = add(out, size, str_of(style->decimal));
        } else if (!ascii_is_digit(byte)) {
            size = add(out, size, (struct str){&plain.data[at], 1});
        } else {
            char digit[4];
            const bool in_whole = at < end, first = left == whole;
            const bool due = left == 3 || (left > 3 && (left - 3) % style->group_size == 0);
            if (in_whole && !first && due && whole >= style->least)
                size = add(out, size, str_of(style->group));
            left -= in_whole;
            size = add(out, size, (struct str){digit, utf8_write(style->zero + (uint32_t)(byte - '0'), digit)});
        }
    }
    return (struct str){out, size};
}

/* True if all marks of this kind stand before groups of three digits, so that they may group. Another ends them. */
static bool may_group(struct str text, char mark)
{
    size_t run = 0, marks = 0;
    for (size_t at = 0; at <= text.size; at++) {
        if (at < text.size && ascii_is_digit(text.data[at])) {
            run++;
            continue;
        }
        const bool is_mark = at < text.size && text.data[at] == mark;
        if (marks > 0 && run != 3)
            return false;
        if (marks > 0 && !is_mark)
            return true;
        marks += is_mark;
        run = 0;
    }
    return marks > 0;
}

struct str number_plain(const struct number_style *style, struct str typed, char out[NUMBER_BYTES_MAX])
{
    size_t size = 0;
    for (size_t at = 0; at < typed.size;) { /* their digits and marks as European ones, blanks that group go */
        uint32_t code_point;
        unsigned skip;
        const unsigned length = utf8_decode(typed.data + at, typed.size - at, &code_point, &skip);
        char encoded[4];
        if (length == 0)
            return typed;
        if (code_point >= style->zero && code_point < style->zero + 10)
            code_point = '0' + (code_point - style->zero);
        else if (code_point == 0x66B)
            code_point = '.';
        else if (code_point == 0x66C)
            code_point = ',';
        at += length;
        const bool is_blank = code_point == ' ' || code_point == 0xA0 || code_point == 0x202F || code_point == 0x2009;
        if (is_blank && size > 0 && ascii_is_digit(out[size - 1]) && at < typed.size)
            continue;
        if (size + 4 > NUMBER_BYTES_MAX)
            return typed;
        size = add(out, size, (struct str){encoded, utf8_write(code_point, encoded)});
    }
    struct str text = {out, size};
    if (size > 0 && out[0] != '-' && out[0] != '+' && !ascii_is_digit(out[0]) && (unsigned char)out[0] < 0x80)
        return typed;
    if (style->decimal[0] != ',')
        return text;
    /* A comma is the decimal mark, a full stop groups or is typed for the comma. */
    const bool has_comma = memchr(out, ',', size), has_stop = memchr(out, '.', size);
    const bool stops_group =
        has_stop && may_group(text, '.') && (has_comma || memrchr(out, '.', size) != memchr(out, '.', size));
    const bool commas_group = has_comma && has_stop && !stops_group && may_group(text, ',');
    size_t kept = 0;
    for (size_t at = 0; at < size; at++) {
        if ((out[at] == '.' && stops_group) || (out[at] == ',' && commas_group))
            continue;
        out[kept++] = out[at] == ',' ? '.' : out[at];
    }
    return (struct str){out, kept};
}
