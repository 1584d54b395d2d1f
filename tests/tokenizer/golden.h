/* Reading the golden files of tokenizers: lines of cases, and checksums of what is made of every code point. */
#pragma once

#include "tests/tokenizer/help.h"

#define BLOCK 0x1000u

UNUSED static struct buf golden(const char *name)
{
    char path[1024];
    struct buf text = {0};
    struct error err;
    snprintf(path, sizeof path, "%s/tests/golden/%s", SOURCE_DIR, name);
    assert_int_equal(file_read_all(path, 16 << 20, &text, &err), 0);
    return text;
}

/* The next line after *at, with its LF replaced by a NUL; NULL at the end. */
UNUSED static char *next_line(char **at)
{
    char *line = *at, *newline = line ? strchr(line, '\n') : NULL;
    if (!newline)
        return NULL;
    *newline = 0;
    *at = newline + 1;
    return line;
}

/* Replaces \\ and \xHH, in place. */
UNUSED static struct str unescape(char *text)
{
    char *to = text;
    for (const char *at = text; *at;) {
        unsigned byte = (unsigned char)*at++;
        if (byte == '\\' && *at == 'x') {
            assert_int_equal(sscanf(at + 1, "%2x", &byte), 1);
            at += 3;
        } else if (byte == '\\') {
            at++;
        }
        *to++ = (char)byte;
    }
    return str_range(text, to);
}

/* Compares what `ids_of` writes for each text of a file of cases, in each of `count` modes, with the file's columns. */
UNUSED static void check_columns(const char *name, size_t count,
                                 void (*ids_of)(void *context, size_t mode, struct str text, struct buf *out),
                                 void *context)
{
    SCOPED(buf_release) struct buf file = golden(name);
    char *at = (char *)buf_text(&file), *line;
    size_t cases = 0, different = 0;
    next_line(&at);
    next_line(&at);
    for (; (line = next_line(&at)); cases++) {
        char *const start = strsep(&line, "\t");
        const struct str text = unescape(start);
        const char *expected = "";
        for (size_t mode = 0; mode < count; mode++) {
            const char *column = strsep(&line, "\t");
            assert_non_null(column);
            expected = strcmp(column, "=") ? column : expected;
            SCOPED(buf_release) struct buf got = {0};
            ids_of(context, mode, text, &got);
            if (strcmp(buf_text(&got), expected)) {
                print_error("case %zu, mode %zu: expected %s, got %s\n", cases, mode, expected, buf_text(&got));
                different++;
            }
        }
    }
    assert_true(cases > 1500);
    assert_int_equal(different, 0);
}

UNUSED static void add_ids(const struct ids *ids, struct buf *out)
{
    for (size_t i = 0; i < ids->count; i++)
        buf_addf(out, i ? " %u" : "%u", ids->data[i]);
}

/* CRC-32 as in zlib. */
static uint32_t crc_table[256];

UNUSED static void make_crc_table(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
        crc_table[i] = crc;
    }
}

UNUSED static void add_bytes(uint32_t *crc, const char *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        *crc = *crc >> 8 ^ crc_table[(*crc ^ (unsigned char)data[i]) & 255];
}

UNUSED static void add_word(void *crc, struct str word)
{
    add_bytes(crc, word.data, word.size);
    add_bytes(crc, "\n", 1);
}

/* As point_text() in the scripts: the code point is put between these. */
UNUSED static const char *const between_hf[] = {"", " a", "b ", "\u0327\u0301", " E\u0301", NULL};
UNUSED static size_t point_text(uint32_t point, const char *const *between, const char *end, char *text)
{
    char letter[5] = {0};
    utf8_write(point, letter);
    const unsigned size = point ? (unsigned)strlen(letter) : 1;
    char *at = text;
    for (; *between; between++) {
        at = stpcpy(at, *between);
        memcpy(at, letter, size);
        at += size;
    }
    return (size_t)(stpcpy(at, end) - text);
}
