/* Most text is in NFC. What may not be is a stretch from the letter before a loose code point (SPLIT_LOOSE) to the next
 * that is not loose: such a stretch is decomposed, and composed again (Unicode, section 3.11). */
#include "tokenizer/nfc.h"

#include "tokenizer/bpe_words.h"

#include <stdlib.h>

/* Loose code points begin at U+0300, whose UTF-8 begins with CC. */
#define LOOSE_FIRST_BYTE 0xCC

static bool is_loose(const uint8_t *facts, const char *at, unsigned *size)
{
    return facts[split_decode(at, size)] & SPLIT_LOOSE;
}

/* The first loose code point, or the end; *before is the code point before it, or itself. */
static const char *find_loose(const uint8_t *facts, const char *at, const char *end, const char **before)
{
    *before = at;
    for (unsigned size; at < end; at += size) {
        if ((unsigned char)*at < 0x80)
            size = 1;
        else if ((unsigned char)*at < LOOSE_FIRST_BYTE)
            size = 2;
        else if (is_loose(facts, at, &size))
            return at;
        *before = at;
    }
    return end;
}

static int compare_pairs(const void *a, const void *b)
{
    const struct nfc_pair *x = a, *y = b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return (x->second > y->second) - (x->second < y->second);
}

/* What two letters compose to, or 0. Hangul syllables are composed by arithmetic (Unicode, section 3.12). */
static uint32_t composed(uint32_t first, uint32_t second)
{
    if (first >= 0x1100 && first < 0x1113 && second >= 0x1161 && second < 0x1176)
        return 0xAC00 + ((first - 0x1100) * 21 + (second - 0x1161)) * 28;
    if (first >= 0xAC00 && first < 0xD7A4 && (first - 0xAC00) % 28 == 0 && second > 0x11A7 && second < 0x11C3)
        return first + (second - 0x11A7);
    const struct nfc_pair key = {.first = first, .second = second};
    const struct nfc_pair *pair = bsearch(&key, nfc_pairs, nfc_pair_count, sizeof key, compare_pairs);
    return pair ? pair->both : 0;
}

/* Composes the letters in place: a letter joins the last starter unless one between them has its class or a higher. */
static void compose(struct normalizer *normalizer)
{
    uint32_t *const letters = normalizer->letters, *starter = NULL;
    size_t count = 0;
    int between = -1; /* the class of the last letter after the starter; -1: there is none */
    for (size_t i = 0; i < normalizer->count; i++) {
        const int class = (int)(letters[i] >> NORMALIZER_CLASS_SHIFT);
        const uint32_t letter = letters[i] & NORMALIZER_CODE_POINT;
        const uint32_t both = starter && between < class ? composed(*starter, letter) : 0;
        if (both) {
            *starter = both;
            continue;
        }
        letters[count] = letter;
        if (class == 0)
            starter = letters + count;
        between = class == 0 ? -1 : class;
        count++;
    }
    normalizer->count = count;
}

struct str nfc(struct normalizer *normalizer, const uint8_t *facts, struct str text, struct buf *out)
{
    const char *const end = text.data + text.size;
    const char *from, *done = text.data, *at = find_loose(facts, text.data, end, &from);
    if (at == end)
        return text;
    buf_reset(out);
    for (; at < end; at = find_loose(facts, at, end, &from)) {
        unsigned size;
        buf_add(out, done, (size_t)(from - done));
        while (at < end && is_loose(facts, at, &size))
            at += size;
        normalize_nfd(normalizer, str_range(from, at));
        compose(normalizer);
        buf_reserve(out, 4 * normalizer->count);
        for (size_t i = 0; i < normalizer->count; i++)
            out->size += utf8_write(normalizer->letters[i], out->data + out->size);
        done = at;
    }
    buf_add(out, done, (size_t)(end - done));
    return buf_str(out);
}
