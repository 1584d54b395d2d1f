/* Text: views, the growing buffer, and human figures. utf8.c has UTF-8. */
#include "base/str.h"

#include "base/mem.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

bool str_equal_ascii_nocase(struct str a, struct str b)
{
    if (a.size != b.size)
        return false;
    for (size_t i = 0; i < a.size; i++)
        if (ascii_lower(a.data[i]) != ascii_lower(b.data[i]))
            return false;
    return true;
}

bool str_ends_ascii_nocase(struct str text, struct str suffix)
{
    return text.size >= suffix.size &&
           str_equal_ascii_nocase((struct str){text.data + (text.size - suffix.size), suffix.size}, suffix);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct str str_without_mark(struct str text)
{
    const struct str mark = STR("\xef\xbb\xbf");
    return str_starts(text, mark) ? str_from(text, mark.size) : text;
}

struct str str_trim(struct str text)
{
    while (text.size && is_blank(text.data[text.size - 1]))
        text.size--;
    while (text.size && is_blank(text.data[0])) {
        text.data++;
        text.size--;
    }
    return text;
}

int str_compare(struct str a, struct str b)
{
    const size_t common = a.size < b.size ? a.size : b.size;
    const int order = common ? memcmp(a.data, b.data, common) : 0;
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

int text_order(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

size_t str_find(struct str text, struct str part)
{
    if (!part.size)
        return 0;
    if (!text.size)
        return SIZE_MAX;
    const char *found = memmem(text.data, text.size, part.data, part.size);
    return found ? (size_t)(found - text.data) : SIZE_MAX;
}

int hex_digit(char byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    byte = (char)(byte | 0x20);
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

bool hex_read(struct str digits, unsigned char *bytes)
{
    for (size_t i = 0; i + 1 < digits.size; i += 2) {
        const int high = hex_digit(digits.data[i]), low = hex_digit(digits.data[i + 1]);
        if (high < 0 || low < 0)
            return false;
        bytes[i / 2] = (unsigned char)(16 * high + low);
    }
    return digits.size % 2 == 0;
}

char *hex_write(const unsigned char *bytes, size_t size, char *out)
{
    for (size_t i = 0; i < size; i++) {
        out[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
        out[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
    }
    out[2 * size] = '\0';
    return out;
}

unsigned str_distance(struct str a, struct str b)
{
    unsigned row[64]; /* row[j]: distance of the first i bytes of a and the first j of b */
    assert(a.size < 64 && b.size < 64);
    for (unsigned j = 0; j <= b.size; j++)
        row[j] = j;
    for (unsigned i = 1; i <= a.size; i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (unsigned j = 1; j <= b.size; j++) {
            unsigned best = diagonal + (a.data[i - 1] != b.data[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[b.size];
}

void buf_reserve(struct buf *buf, size_t more)
{
    if (buf->capacity - buf->size >= more)
        return;
    size_t need;
    if (__builtin_add_overflow(buf->size, more, &need))
        mem_exhausted(1, more);
    size_t capacity = buf->capacity < SIZE_MAX / 2 ? buf->capacity * 2 : SIZE_MAX;
    if (capacity < need)
        capacity = need;
    if (capacity < 64)
        capacity = 64;
    buf->data = mem_grow(buf->data, capacity, 1);
    buf->capacity = capacity;
}

void buf_add(struct buf *buf, const void *data, size_t size)
{
    if (!size)
        return;
    buf_reserve(buf, size);
    memcpy(buf->data + buf->size, data, size);
    buf->size += size;
}

void buf_add_str(struct buf *buf, struct str text)
{
    buf_add(buf, text.data, text.size);
}

void buf_add_text(struct buf *buf, const char *text)
{
    buf_add(buf, text, strlen(text));
}

void buf_addf(struct buf *buf, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    assert(size >= 0);
    buf_reserve(buf, (size_t)size + 1);
    vsnprintf(buf->data + buf->size, (size_t)size + 1, format, again);
    va_end(again);
    buf->size += (size_t)size;
}

static bool is_json_escaped(unsigned char byte)
{
    return byte < 0x20 || byte == '"' || byte == '\\';
}

/* The bytes of text from `at` on up to the first one that is escaped. */
static size_t json_plain(struct str text, size_t at)
{
    enum { BLOCK = 32 };
    size_t end = at;
    for (bool any = false; text.size - end >= BLOCK; end += BLOCK) { /* the compiler makes vectors of it */
        for (size_t i = 0; i < BLOCK; i++)
            any |= is_json_escaped((unsigned char)text.data[end + i]);
        if (any)
            break;
    }
    while (end < text.size && !is_json_escaped((unsigned char)text.data[end]))
        end++;
    return end - at;
}

void buf_add_json(struct buf *buf, struct str text)
{
    static const char shorts[256] = {
        ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r', ['"'] = '"', ['\\'] = '\\'};
    buf_add_byte(buf, '"');
    for (size_t at = 0; at < text.size; at++) {
        const size_t plain = json_plain(text, at);
        buf_add(buf, text.data + at, plain);
        at += plain;
        if (at == text.size)
            break;
        const unsigned char byte = (unsigned char)text.data[at];
        if (shorts[byte])
            buf_add(buf, (const char[]){'\\', shorts[byte]}, 2);
        else
            buf_addf(buf, "\\u%04X", byte);
    }
    buf_add_byte(buf, '"');
}

const char *buf_text(struct buf *buf)
{
    buf_reserve(buf, 1);
    buf->data[buf->size] = 0;
    return buf->data;
}

void buf_release(struct buf *buf)
{
    mem_free(buf->data);
    *buf = (struct buf){0};
}

char *format_bytes(uint64_t bytes, char out[32])
{
    static const char *const units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
    if (bytes < 1000) {
        snprintf(out, 32, "%u B", (unsigned)bytes);
        return out;
    }
    /* Beyond these limits three digits would round up to four: 999.5 kB is 1.00 MB. */
    double value = (double)bytes / 1000;
    size_t unit = 0;
    while (value >= 999.5) {
        value /= 1000;
        unit++;
    }
    const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    snprintf(out, 32, "%.*f %s", decimals, value, units[unit]);
    return out;
}

char *format_count(uint64_t count, char out[32])
{
    char digits[21];
    const int size = snprintf(digits, sizeof(digits), "%" PRIu64, count);
    char *to = out;
    for (int i = 0; i < size; i++) {
        if (i && (size - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = 0;
    return out;
}

char *format_short(uint64_t count, char out[32])
{
    if (count >= 10000000000)
        snprintf(out, 32, "%.1f G", (double)count / 1e9);
    else if (count >= 10000000)
        snprintf(out, 32, "%.0f M", (double)count / 1e6);
    else if (count >= 1000000)
        snprintf(out, 32, "%.1f M", (double)count / 1e6);
    else if (count >= 10000)
        snprintf(out, 32, "%.1f k", (double)count / 1e3);
    else
        format_count(count, out);
    return out;
}

char *format_counted(uint64_t count, const char *noun, char out[56])
{
    char number[32];
    snprintf(out, 56, "%s %.20s%s", format_count(count, number), noun, count == 1 ? "" : "s");
    return out;
}

char *format_seconds(double seconds, char out[32])
{
    if (!(seconds >= 0)) /* NaN too */
        seconds = 0;
    if (seconds > 1e12)
        seconds = 1e12;
    const uint64_t whole = (uint64_t)(seconds + 0.5);
    const unsigned second = (unsigned)(whole % 60), minute = (unsigned)(whole / 60 % 60);
    const uint64_t hour = whole / 3600;
    char days[32];
    if (hour >= 240)
        snprintf(out, 32, "%.20s days", format_count((whole + 43200) / 86400, days));
    else if (hour >= 48)
        snprintf(out, 32, "%.1f days", (double)whole / 86400);
    else if (hour)
        snprintf(out, 32, "%" PRIu64 ":%02u:%02u", hour, minute, second);
    else
        snprintf(out, 32, "%u:%02u", minute, second);
    return out;
}
