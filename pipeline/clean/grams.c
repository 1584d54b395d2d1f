#include "pipeline/clean/grams.h"

#include "base/hash.h"

#include <assert.h>
#include <utf8proc.h>

void gram_scratch_release(struct gram_scratch *scratch)
{
    buf_release(&scratch->word);
    buf_release(&scratch->runes);
    buf_release(&scratch->words);
    buf_release(&scratch->grams);
}

static void end_word(struct gram_scratch *scratch)
{
    if (scratch->word.size == 0)
        return;
    const uint64_t hash = hash64(scratch->word.data, scratch->word.size);
    buf_add(&scratch->words, &hash, sizeof hash);
    buf_reset(&scratch->word);
}

static bool is_alone(int32_t rune)
{
    return (rune >= 0x3040 && rune <= 0x30FF) || (rune >= 0x3400 && rune <= 0x9FFF);
}

static void add_rune(struct gram_scratch *scratch, int32_t rune)
{
    const utf8proc_category_t category = utf8proc_category(rune);
    if (!(category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO) && category != UTF8PROC_CATEGORY_ND) {
        end_word(scratch);
        return;
    }
    char bytes[4];
    const bool alone = is_alone(rune);
    if (alone)
        end_word(scratch);
    buf_add(&scratch->word, bytes, utf8_write((uint32_t)utf8proc_tolower(rune), bytes));
    if (alone)
        end_word(scratch);
}

/* Adds text between two ASCII blanks, across which no characters compose. */
static void add_normalized(struct gram_scratch *scratch, struct str text)
{
    struct buf *runes = &scratch->runes;
    const utf8proc_option_t options = UTF8PROC_COMPAT | UTF8PROC_COMPOSE;
    buf_reset(runes);
    /* Most texts fit at once; the longest decomposition is of 18 characters (U+FDFA). */
    buf_reserve(runes, 2 * text.size * sizeof(int32_t));
    utf8proc_ssize_t count =
        utf8proc_decompose((const utf8proc_uint8_t *)text.data, (utf8proc_ssize_t)text.size,
                           (utf8proc_int32_t *)(void *)runes->data, (utf8proc_ssize_t)(2 * text.size), options);
    if (count > (utf8proc_ssize_t)(2 * text.size)) {
        buf_reserve(runes, (size_t)count * sizeof(int32_t));
        count = utf8proc_decompose((const utf8proc_uint8_t *)text.data, (utf8proc_ssize_t)text.size,
                                   (utf8proc_int32_t *)(void *)runes->data, count, options);
    }
    assert(count >= 0); /* the text is well-formed */
    count = utf8proc_normalize_utf32((utf8proc_int32_t *)(void *)runes->data, count, options);
    for (utf8proc_ssize_t i = 0; i < count; i++)
        add_rune(scratch, ((const int32_t *)(const void *)runes->data)[i]);
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\n';
}

/* Reads up to the next blank. ASCII, most of most texts, needs no tables. */
static const char *add_part(struct gram_scratch *scratch, const char *from, const char *end)
{
    const char *stop = from;
    unsigned char all = 0;
    while (stop < end && !is_blank(*stop))
        all |= (unsigned char)*stop++;
    if (all >= 0x80) {
        add_normalized(scratch, str_range(from, stop));
        return stop;
    }
    for (const char *at = from; at < stop; at++) {
        if (ascii_is_letter(*at) || ascii_is_digit(*at))
            buf_add_byte(&scratch->word, ascii_lower(*at));
        else
            end_word(scratch);
    }
    return stop;
}

struct grams grams_of(struct gram_scratch *scratch, struct str text, size_t n)
{
    assert(n > 0);
    text = text.size > 0 ? text : STR(""); /* of no bytes, NULL */
    buf_reset(&scratch->words);
    buf_reset(&scratch->grams);
    for (const char *at = text.data, *end = text.data + text.size; at < end; at++) {
        at = add_part(scratch, at, end);
        end_word(scratch);
        if (at == end)
            break;
    }
    const size_t words = scratch->words.size / sizeof(uint64_t), count = words < n ? 0 : words - n + 1;
    const uint64_t *hashes = (const uint64_t *)(const void *)scratch->words.data;
    buf_reserve(&scratch->grams, count * sizeof(uint64_t));
    for (size_t i = 0; i < count; i++) {
        const uint64_t hash = hash64(hashes + i, n * sizeof *hashes);
        buf_add(&scratch->grams, &hash, sizeof hash);
    }
    return (struct grams){(const uint64_t *)(const void *)scratch->grams.data, count};
}
