/* UTF-8 to the letter of the Unicode standard: table 3-7 says what is well-formed. Ill-formed sequences are dropped, or
 * replaced by U+FFFD, by their "maximal subparts" (section 3.9, table 3-8). */
#include "base/str.h"

#include <assert.h>

/* The number of bytes that `lead` announces (0: it starts no character) and the range of the second byte: table 3-7. */
static unsigned announced(unsigned char lead, unsigned char *low, unsigned char *high)
{
    *low = 0x80;
    *high = 0xBF;
    if (lead < 0x80)
        return 1;
    if (lead < 0xC2)
        return 0; /* continuation bytes, and C0, C1, which would be overlong */
    if (lead < 0xE0)
        return 2;
    if (lead < 0xF0) {
        if (lead == 0xE0)
            *low = 0xA0; /* overlong */
        if (lead == 0xED)
            *high = 0x9F; /* surrogates */
        return 3;
    }
    if (lead < 0xF5) {
        if (lead == 0xF0)
            *low = 0x90; /* overlong */
        if (lead == 0xF4)
            *high = 0x8F; /* above U+10FFFF */
        return 4;
    }
    return 0;
}

unsigned utf8_decode(const char *text, size_t size, uint32_t *code_point, unsigned *skip)
{
    assert(size);
    unsigned char low, high;
    const unsigned char lead = (unsigned char)text[0];
    const unsigned length = announced(lead, &low, &high);
    *skip = 1;
    if (!length)
        return 0;
    uint32_t value = length == 1 ? lead : lead & (0x7Fu >> length);
    for (unsigned i = 1; i < length; i++) {
        const unsigned char byte = i < size ? (unsigned char)text[i] : 0;
        if (byte < low || byte > high) {
            *skip = i;
            return 0;
        }
        value = value << 6 | (byte & 0x3F);
        low = 0x80;
        high = 0xBF;
    }
    *code_point = value;
    return length;
}

unsigned utf8_write(uint32_t code_point, char out[4])
{
    assert(code_point <= 0x10FFFF && (code_point < 0xD800 || code_point > 0xDFFF));
    if (code_point < 0x80) {
        out[0] = (char)code_point;
        return 1;
    }
    const unsigned length = code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
    for (unsigned i = length - 1; i; i--, code_point >>= 6)
        out[i] = (char)(0x80 | (code_point & 0x3F));
    out[0] = (char)((0xF00u >> length & 0xFF) | code_point);
    return length;
}

#define HIGH_BITS UINT64_C(0x8080808080808080)

/* The first byte at or after `at` that is not ASCII, or `size`. */
static size_t skip_ascii(const char *text, size_t at, size_t size)
{
    uint64_t bytes[4];
    for (; size - at >= sizeof bytes; at += sizeof bytes) {
        memcpy(bytes, text + at, sizeof bytes);
        if ((bytes[0] | bytes[1] | bytes[2] | bytes[3]) & HIGH_BITS)
            break;
    }
    while (at < size && (unsigned char)text[at] < 0x80)
        at++;
    return at;
}

static bool goes_on(char byte)
{
    return ((unsigned char)byte & 0xC0) == 0x80;
}

/* The length of the character at text[0..size) in the simple cases, where any continuation byte may follow the lead
 * byte; else 0. */
static unsigned plain_bytes(const char *text, size_t size)
{
    const unsigned char lead = (unsigned char)text[0];
    if (lead >= 0xE1 && lead <= 0xEF && lead != 0xED && size > 2 && goes_on(text[1]) && goes_on(text[2]))
        return 3;
    return lead >= 0xC2 && lead <= 0xDF && size > 1 && goes_on(text[1]) ? 2 : 0;
}

static size_t valid_bytes(const char *text, size_t size, unsigned *skip)
{
    uint32_t code_point;
    size_t at = 0;
    while ((at = skip_ascii(text, at, size)) < size) {
        do {
            unsigned length = plain_bytes(text + at, size - at);
            if (!length)
                length = utf8_decode(text + at, size - at, &code_point, skip);
            if (!length)
                return at;
            at += length;
        } while (at < size && (unsigned char)text[at] >= 0x80);
    }
    return at;
}

size_t utf8_good(struct str text, unsigned *skip)
{
    const size_t good = valid_bytes(text.data, text.size, skip);
    if (good == text.size)
        *skip = 0;
    return good;
}

size_t utf8_characters(struct str text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.size; i++)
        count += ((unsigned char)text.data[i] & 0xC0) != 0x80;
    return count;
}

bool utf8_valid(struct str text)
{
    unsigned skip;
    return valid_bytes(text.data, text.size, &skip) == text.size;
}

void utf8_replace(struct str text, struct buf *out)
{
    unsigned skip;
    while (text.size > 0) {
        const size_t good = valid_bytes(text.data, text.size, &skip);
        buf_add(out, text.data, good);
        if (good == text.size)
            return;
        buf_add_text(out, "\xef\xbf\xbd");
        text = str_range(text.data + good + skip, text.data + text.size);
    }
}

size_t utf8_repair(char *text, size_t size, uint64_t *dropped)
{
    unsigned skip = 0;
    size_t from = valid_bytes(text, size, &skip), to = from;
    while (from < size) {
        from += skip;
        if (dropped)
            *dropped += skip;
        const size_t good = valid_bytes(text + from, size - from, &skip);
        memmove(text + to, text + from, good);
        from += good;
        to += good;
    }
    return to;
}

static bool is_blank(uint32_t c)
{
    if (c < 0x80)
        return c == ' ' || (c >= '\t' && c <= '\r');
    switch (c) {
    case 0x85:
    case 0xA0:
    case 0x61C: /* marks of direction: this one, 200E, 200F, 202A to 202E, 2066 to 2069 */
    case 0x1680:
    case 0x180E: /* white space until Unicode 6.3 */
    case 0x205F:
    case 0x2060:
    case 0x3000:
    case 0xFEFF:
        return true;
    default:
        return (c >= 0x2000 && c <= 0x200F) || (c >= 0x2028 && c <= 0x202F) || (c >= 0x2066 && c <= 0x2069);
    }
}

unsigned utf8_blank(unsigned state, struct str part)
{
    for (size_t i = 0; i < part.size && state; i++) {
        const unsigned char byte = (unsigned char)part.data[i];
        if (state == BLANK_SO_FAR && byte < 0x80) {
            state = is_blank(byte);
        } else if (state == BLANK_SO_FAR) { /* no blank takes more than three bytes */
            state = byte >= 0xC2 && byte < 0xF0 && byte != 0xE0 ? byte : 0;
        } else {
            const bool second = state < 0x100;
            state = byte >= 0x80 && byte < 0xC0 ? state << 8 | byte : 0;
            if (state && second && state < 0xE000)
                state = is_blank((state >> 8 & 0x1F) << 6 | (byte & 0x3F));
            else if (state && !second)
                state = is_blank((state >> 16 & 0x0F) << 12 | (state >> 8 & 0x3F) << 6 | (byte & 0x3F));
        }
    }
    return state;
}
