/* Text: a view that owns nothing (struct str) and a buffer that grows (struct buf). Both hold bytes, may contain
 * NUL and are UTF-8 where they hold text. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str {
    const char *data;
    size_t size;
};

#define STR(literal) ((struct str){(literal), sizeof(literal) - 1})

static inline struct str str_of(const char *text)
{
    return (struct str){text, strlen(text)};
}

static inline struct str str_range(const char *from, const char *to)
{
    return (struct str){from, (size_t)(to - from)};
}

/* text[from, to), and what is left of the text without its first `from` bytes. */
static inline struct str str_part(struct str text, size_t from, size_t to)
{
    return (struct str){text.data + from, to - from};
}

static inline struct str str_from(struct str text, size_t from)
{
    return (struct str){text.data + from, text.size - from};
}

static inline bool str_equal(struct str a, struct str b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static inline bool str_starts(struct str text, struct str prefix)
{
    return text.size >= prefix.size && str_equal((struct str){text.data, prefix.size}, prefix);
}

static inline bool str_ends(struct str text, struct str suffix)
{
    return text.size >= suffix.size &&
           str_equal((struct str){text.data + (text.size - suffix.size), suffix.size}, suffix);
}

/* ASCII's digits and letters, in any locale. */
static inline bool ascii_is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static inline char ascii_lower(char byte)
{
    return byte >= 'A' && byte <= 'Z' ? (char)(byte | 0x20) : byte;
}

static inline bool ascii_is_letter(char byte)
{
    return ascii_lower(byte) >= 'a' && ascii_lower(byte) <= 'z';
}

static inline bool str_has(struct str text, char byte)
{
    return memchr(text.data, byte, text.size) != NULL;
}

bool str_equal_ascii_nocase(struct str a, struct str b);
bool str_ends_ascii_nocase(struct str text, struct str suffix);
struct str str_without_mark(struct str text);      /* without a UTF-8 mark (U+FEFF) at its start */
struct str str_trim(struct str text);              /* without ASCII blanks, tabs, CR and LF at both ends */
int str_compare(struct str a, struct str b);       /* bytewise order, shorter first: <0, 0, >0 */
int text_order(const void *a, const void *b);      /* the same of elements of a const char *[], for qsort and bsearch */
size_t str_find(struct str text, struct str part); /* first position, or SIZE_MAX */

/* Hexadecimal digits, read in either case and written in lower case. hex_digit: the value, or -1. hex_read: two digits
 * per byte; false: their number is odd, or one is no digit. hex_write: 2 * size digits and a NUL; returns out. */
int hex_digit(char byte);
bool hex_read(struct str digits, unsigned char *bytes);
char *hex_write(const unsigned char *bytes, size_t size, char *out);

/* Levenshtein distance of two short names (at most 63 bytes each), for "did you mean". */
unsigned str_distance(struct str a, struct str b);

/* A growing buffer. A zeroed one is ready to use; the holder releases it. data may be NULL while size is 0. */
struct buf {
    char *data;
    size_t size;
    size_t capacity;
};

void buf_reserve(struct buf *buf, size_t more); /* room for `more` bytes after size */
void buf_add(struct buf *buf, const void *data, size_t size);
void buf_add_str(struct buf *buf, struct str text);
void buf_add_text(struct buf *buf, const char *text);
__attribute__((format(printf, 2, 3))) void buf_addf(struct buf *buf, const char *format, ...);
static inline void buf_add_byte(struct buf *buf, char byte)
{
    if (buf->size == buf->capacity)
        buf_reserve(buf, 1);
    buf->data[buf->size++] = byte;
}
void buf_add_json(struct buf *buf, struct str text); /* text, well-formed UTF-8, as jansson writes a string */
const char *buf_text(struct buf *buf);               /* with a NUL after it that size does not count */
static inline struct str buf_str(const struct buf *buf)
{
    return (struct str){buf->data, buf->size};
}
static inline void buf_reset(struct buf *buf)
{
    buf->size = 0; /* the memory is kept */
}
void buf_release(struct buf *buf);

/* UTF-8 (RFC 3629: no overlong forms, no surrogates, at most U+10FFFF). */

/* Decodes the code point at text[0..size), size > 0. Returns the bytes it takes (1 to 4), or 0 where the bytes there
 * are ill-formed; then *skip is the length of the maximal ill-formed part (1 to 3, Unicode 3.9 table 3-8) to drop. */
unsigned utf8_decode(const char *text, size_t size, uint32_t *code_point, unsigned *skip);
unsigned utf8_write(uint32_t code_point, char out[4]); /* bytes written, 1 to 4 */
bool utf8_valid(struct str text);
size_t utf8_characters(struct str text); /* of well-formed text */
/* Appends the text with U+FFFD in the place of each maximal ill-formed part, as Python's errors="replace" does. */
void utf8_replace(struct str text, struct buf *out);
/* The number of well-formed bytes at the start of the text, and of the ill-formed part that follows (utf8_decode). */
size_t utf8_good(struct str text, unsigned *skip);
/* Removes ill-formed bytes in place; returns the new size and adds the removed bytes to *dropped (may be NULL). */
size_t utf8_repair(char *text, size_t size, uint64_t *dropped);

/* Blank text shows nothing: Unicode's White_Space, and the characters without width (U+200B to U+200F, U+FEFF …). Ill-
 * formed bytes are not blank. Text may come in parts of any size: `state` is BLANK_SO_FAR at first, then what the part
 * before gave. The result is BLANK_SO_FAR, or 0 if something shows, or else, below 2^16, an incomplete character. */
enum { BLANK_SO_FAR = 1 };
unsigned utf8_blank(unsigned state, struct str part);
static inline bool str_is_blank(struct str text)
{
    return utf8_blank(BLANK_SO_FAR, text) == BLANK_SO_FAR;
}

/* Figures for people, into a caller's buffer of at least 32 bytes; each returns out. */
char *format_bytes(uint64_t bytes, char out[32]); /* "1.02 GB": decimal units, three digits */
char *format_count(uint64_t count, char out[32]); /* "1,412,870" */
char *format_short(uint64_t count, char out[32]); /* "9,330", "86.9 k", "1.2 M", "189 M", "12.3 G" */
/* "1 thread", "1,042 threads": a noun of at most 20 bytes, whose plural has an s. */
char *format_counted(uint64_t count, const char *noun, char out[56]);
char *format_seconds(double seconds, char out[32]); /* "0:18", "1:02:03"; from 48 h on "3.5 days" */
