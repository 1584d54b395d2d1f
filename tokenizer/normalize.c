/* Normalises a run of UTF-8 to code points. Each letter in progress carries its canonical combining class in the top
 * byte, so that ordering and dropping marks need no second look-up:
 *
 *     bytes → decode, delete, decompose → [class | code point] … → order the marks → drop nonspacing ones, lower
 *
 * Hostile text may be a megabyte of combining marks, so long rows of them are sorted by counting, not by insertion. */
#include "tokenizer/normalize.h"

#include "base/mem.h"

#include <assert.h>

#define INSERTION_MAX 16 /* longer rows are sorted by counting */

static void reserve(struct normalizer *normalizer, size_t more)
{
    normalizer->letters =
        mem_room(normalizer->letters, normalizer->count + more, &normalizer->capacity, sizeof *normalizer->letters);
}

static inline void put(struct normalizer *normalizer, uint32_t code_point, uint8_t combining_class)
{
    normalizer->letters[normalizer->count++] = code_point | (uint32_t)combining_class << NORMALIZER_CLASS_SHIFT;
}

/* Decomposes a Hangul syllable into its two or three letters (Unicode, section 3.12). */
static bool put_hangul(struct normalizer *normalizer, uint32_t code_point)
{
    if (code_point < 0xAC00 || code_point > 0xD7A3)
        return false;
    const uint32_t index = code_point - 0xAC00;
    put(normalizer, 0x1100 + index / 588, 0);
    put(normalizer, 0x1161 + index % 588 / 28, 0);
    if (index % 28)
        put(normalizer, 0x11A7 + index % 28, 0);
    return true;
}

/* Appends the full canonical decomposition of a letter. */
static void decompose(struct normalizer *normalizer, uint32_t code_point, const struct letter *letter)
{
    reserve(normalizer, (size_t)letter->decomposition_count + 3);
    if (letter->decomposition_count == 0) {
        if (!put_hangul(normalizer, code_point))
            put(normalizer, code_point, letter->combining_class);
        return;
    }
    for (unsigned i = 0; i < letter->decomposition_count; i++) {
        const uint32_t part = unicode_decompositions[letter->decomposition + i];
        put(normalizer, part, unicode_letter(normalizer->unicode, part)->combining_class);
    }
}

/* Sorts a row of combining letters by class; equal classes keep their order. */
static void order_row(struct normalizer *normalizer, uint32_t *row, size_t count)
{
    if (count <= INSERTION_MAX) {
        for (size_t i = 1; i < count; i++) {
            const uint32_t letter = row[i];
            size_t to = i;
            for (; to && row[to - 1] >> NORMALIZER_CLASS_SHIFT > letter >> NORMALIZER_CLASS_SHIFT; to--)
                row[to] = row[to - 1];
            row[to] = letter;
        }
        return;
    }
    normalizer->sorted = mem_room(normalizer->sorted, count, &normalizer->sorted_capacity, sizeof *normalizer->sorted);
    size_t start[257] = {0};
    for (size_t i = 0; i < count; i++)
        start[(row[i] >> NORMALIZER_CLASS_SHIFT) + 1]++;
    for (size_t class = 0; class < 256; class ++)
        start[class + 1] += start[class];
    for (size_t i = 0; i < count; i++)
        normalizer->sorted[start[row[i] >> NORMALIZER_CLASS_SHIFT]++] = row[i];
    memcpy(row, normalizer->sorted, count * sizeof *row);
}

static void order_marks(struct normalizer *normalizer)
{
    uint32_t *const letters = normalizer->letters;
    for (size_t i = 0; i < normalizer->count;) {
        size_t end = i;
        while (end < normalizer->count && letters[end] >> NORMALIZER_CLASS_SHIFT)
            end++;
        if (end - i > 1)
            order_row(normalizer, letters + i, end - i);
        i = end + 1;
    }
}

static void drop_marks(struct normalizer *normalizer)
{
    size_t kept = 0;
    for (size_t i = 0; i < normalizer->count; i++) {
        const uint32_t code_point = normalizer->letters[i] & NORMALIZER_CODE_POINT;
        if (!unicode_letter(normalizer->unicode, code_point)->mark)
            normalizer->letters[kept++] = code_point;
    }
    normalizer->count = kept;
}

/* The only lowercase mapping that is longer: U+0130 becomes i and U+0307. */
static void insert_dots(struct normalizer *normalizer, size_t dots)
{
    reserve(normalizer, dots);
    uint32_t *const letters = normalizer->letters;
    size_t to = normalizer->count + dots;
    for (size_t i = normalizer->count; i-- > 0;) {
        if (letters[i] == 0x130)
            letters[--to] = 0x307;
        letters[--to] = letters[i];
    }
    assert(to == 0);
    normalizer->count += dots;
}

static void lower(struct normalizer *normalizer)
{
    size_t dots = 0;
    for (size_t i = 0; i < normalizer->count; i++)
        dots += normalizer->letters[i] == 0x130;
    if (dots)
        insert_dots(normalizer, dots);
    for (size_t i = 0; i < normalizer->count; i++) {
        const uint32_t code_point = normalizer->letters[i];
        normalizer->letters[i] = code_point + (uint32_t)unicode_letter(normalizer->unicode, code_point)->lower;
    }
}

void normalize_nfd(struct normalizer *normalizer, struct str text)
{
    normalizer->count = 0;
    for (size_t at = 0; at < text.size;) {
        uint32_t code_point;
        unsigned skip;
        at += utf8_decode(text.data + at, text.size - at, &code_point, &skip);
        decompose(normalizer, code_point, unicode_letter(normalizer->unicode, code_point));
    }
    order_marks(normalizer);
}

void normalize_run(struct normalizer *normalizer, struct str run)
{
    normalizer->count = 0;
    bool marks = false;
    for (size_t at = 0; at < run.size;) {
        uint32_t code_point;
        unsigned skip;
        const unsigned size = utf8_decode(run.data + at, run.size - at, &code_point, &skip);
        at += size ? size : skip;
        if (!size)
            continue;
        const struct letter *letter = unicode_letter(normalizer->unicode, code_point);
        if (letter->kind == LETTER_DROP)
            continue;
        if (normalizer->strip) {
            decompose(normalizer, code_point, letter);
            marks |= letter->mark || letter->combining_class || letter->decomposition_count;
        } else {
            reserve(normalizer, 1);
            put(normalizer, code_point, 0);
        }
    }
    if (marks) {
        order_marks(normalizer);
        drop_marks(normalizer);
    }
    if (normalizer->lower)
        lower(normalizer);
}

void normalizer_release(struct normalizer *normalizer)
{
    mem_free(normalizer->letters);
    mem_free(normalizer->sorted);
    normalizer->letters = normalizer->sorted = NULL;
    normalizer->count = normalizer->capacity = normalizer->sorted_capacity = 0;
}

/* ---- capital sigmas ---- */

#define SIGMA_CAPITAL 0x3A3u
#define SIGMA_SMALL   "\xCF\x83"
#define SIGMA_FINAL   "\xCF\x82"

/* Both small sigmas take two bytes like the capital, so they overwrite it. One that may be final is written as final,
 * and corrected when a cased letter follows. */
struct str sigma_lower(const struct unicode *unicode, struct str text, struct buf *scratch)
{
    if (!text.size || !memmem(text.data, text.size, "\xCE\xA3", 2))
        return text;
    buf_reset(scratch);
    buf_add_str(scratch, text);
    char *final = NULL;       /* the last sigma, while only ignorable letters follow it */
    bool after_cased = false; /* the word's last letter that is not ignorable is cased */
    unsigned size, skip;
    for (size_t at = 0; at < text.size; at += size ? size : skip) {
        uint32_t code_point;
        size = utf8_decode(text.data + at, text.size - at, &code_point, &skip);
        if (!size)
            continue;
        const struct letter *letter = unicode_letter(unicode, code_point);
        if (letter->kind == LETTER_SPACE || letter->kind == LETTER_IDEOGRAPH) {
            final = NULL;
            after_cased = false;
        } else if (letter->kind != LETTER_DROP && letter->sigma != SIGMA_IGNORABLE) {
            const bool cased = letter->sigma == SIGMA_CASED;
            if (final && cased)
                memcpy(final, SIGMA_SMALL, 2);
            final = NULL;
            if (code_point == SIGMA_CAPITAL) {
                memcpy(scratch->data + at, after_cased ? SIGMA_FINAL : SIGMA_SMALL, 2);
                final = after_cased ? scratch->data + at : NULL;
            }
            after_cased = cased;
        }
    }
    return buf_str(scratch);
}
