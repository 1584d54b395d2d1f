#include "pipeline/google/google_lines.h"

#include <stdint.h>

/* str.isspace() of Python 3. */
static bool is_space(uint32_t c)
{
    return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

struct str python_strip(struct str text)
{
    uint32_t c;
    unsigned bytes, skip;
    while (text.size > 0 && (bytes = utf8_decode(text.data, text.size, &c, &skip)) > 0 && is_space(c)) {
        text.data += bytes;
        text.size -= bytes;
    }
    while (text.size > 0) {
        size_t start = text.size - 1;
        while (start > 0 && ((unsigned char)text.data[start] & 0xc0) == 0x80)
            start--;
        if (utf8_decode(text.data + start, text.size - start, &c, &skip) == 0 || !is_space(c))
            break;
        text.size = start;
    }
    return text;
}
