#include "pipeline/text/sentences/sentences_marks.h"

#include "pipeline/text/sentences/sentences_dots.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif
#include <utf8proc.h>

#define CLAUSE_WORDS_MAX 6u /* of "Ram, the brother of the king, said" no more are read */
#define CLAUSE_BYTES_MAX 120u

static bool is_apostrophe(struct str text, size_t at, uint32_t code_point, size_t size)
{
    return (code_point == 0x2019 || code_point == '\'') && at > 0 && at + size < text.size &&
           !blank_at(text, at + size);
}

/* The text up to a blank or a mark, or to the bound. */
static struct str first_word(struct str text)
{
    size_t end = 0;
    for (size_t size; end < text.size && end < CLAUSE_BYTES_MAX && !blank_at(text, end); end += size) {
        const uint32_t code_point = code_point_at(text, end, &size);
        if (marks_of(code_point) && !is_apostrophe(text, end, code_point, size))
            break;
    }
    return (struct str){text.data, end};
}

/* Scripts without blanks between words: such a verb stands anywhere before the next blank or mark, but not before a
 * word for "that", after which the sentence says what was said. */
static bool has_inside(struct str word)
{
    if (words_ending(sayings_that, word) > 0)
        return false;
    for (size_t i = 0; i < sayings_inside.count; i++)
        if (str_find(word, str_of(sayings_inside.items[i])) != SIZE_MAX)
            return true;
    return false;
}

bool saying_follows(struct str text, bool is_whole)
{
    if (text.size == 0 || (unsigned char)text.data[0] < 0xD6) /* Latin, Greek, Cyrillic, Armenian */
        return false;
    if (word_is_one(sayings, text))
        return true;
    if (!is_whole || word_is_one(sayings_nobody, text))
        return false;
    if (has_inside(first_word(text)))
        return true;
    bool last = false, before = false; /* that word is a verb of saying; `before`: the last one is an auxiliary */
    size_t at = 0, size;
    for (unsigned words = 0; words < CLAUSE_WORDS_MAX && at < CLAUSE_BYTES_MAX; words++) {
        const struct str rest = str_from(text, at), word = first_word(rest);
        if (word.size == 0)
            break;
        before = last;
        last = word_is_one(sayings, rest) || has_inside(word) || words_ending(sayings_at_end, word) > 0; /* Chinese */
        for (at += word.size; at < text.size && (size = blank_at(text, at)) > 0;)
            at += size;
    }
    return (last || before) && (at == text.size || marks_of(code_point_at(text, at, &size)) & MARKS_STOP);
}

#define STEP_BYTES 16u   /* looked at together */
#define FIRST_HIGH 0xD6u /* the first bytes of marks beyond ASCII are this or more */

/* clang-format off */
static const uint8_t ascii[128] = {
    ['.'] = MARK_DOT | MARK_GOES_ON, ['!'] = MARK_STRONG | MARK_GOES_ON, ['?'] = MARK_STRONG | MARK_GOES_ON,
    ['"'] = MARK_OPENS | MARK_CLOSES, ['\''] = MARK_OPENS | MARK_CLOSES,
    ['('] = MARK_OPENS, ['['] = MARK_OPENS, ['{'] = MARK_OPENS,
    [')'] = MARK_CLOSES | MARK_GOES_ON, [']'] = MARK_CLOSES | MARK_GOES_ON, ['}'] = MARK_CLOSES | MARK_GOES_ON,
    [','] = MARK_GOES_ON, [';'] = MARK_GOES_ON, [':'] = MARK_GOES_ON, ['%'] = MARK_GOES_ON, ['&'] = MARK_GOES_ON,
    ['/'] = MARK_GOES_ON, ['='] = MARK_GOES_ON, ['-'] = MARK_DASH,
};

/* Ranges of code points. Quotes that open in one language close in another. */
static const struct {
    uint16_t first, last, marks;
} others[] = {
    {0x00A1, 0x00A1, MARK_OPENS},                           /* ¡ */
    {0x00AB, 0x00AB, MARK_OPENS | MARK_CLOSES},             /* « */
    {0x00BB, 0x00BB, MARK_OPENS | MARK_CLOSES},             /* » */
    {0x00BF, 0x00BF, MARK_OPENS},                           /* ¿ */
    {0x0589, 0x0589, MARK_WIDE | MARK_GOES_ON},             /* ։ Armenian */
    {0x060C, 0x060C, MARK_GOES_ON},                         /* ، */
    {0x061B, 0x061B, MARK_GOES_ON},                         /* ؛ */
    {0x061F, 0x061F, MARK_WIDE | MARK_GOES_ON},             /* ؟ */
    {0x06D4, 0x06D4, MARK_WIDE | MARK_GOES_ON},             /* ۔ Urdu */
    {0x0964, 0x0965, MARK_WIDE | MARK_GOES_ON},             /* । ॥ */
    {0x0F0D, 0x0F0E, MARK_WIDE | MARK_GOES_ON},             /* ། ༎ Tibetan */
    {0x104A, 0x104A, MARK_GOES_ON},                         /* ၊ Burmese comma */
    {0x104B, 0x104B, MARK_WIDE | MARK_GOES_ON},             /* ။ Burmese */
    {0x1362, 0x1362, MARK_WIDE | MARK_GOES_ON},             /* ። Ethiopic */
    {0x1367, 0x1368, MARK_WIDE | MARK_GOES_ON},             /* ፧ ፨ */
    {0x17D4, 0x17D5, MARK_WIDE | MARK_GOES_ON},             /* ។ ៕ Khmer */
    {0x1803, 0x1803, MARK_WIDE | MARK_GOES_ON},             /* ᠃ Mongolian */
    {0x1C7E, 0x1C7F, MARK_WIDE | MARK_GOES_ON},             /* ᱾ ᱿ Santali */
    {0x2010, 0x2015, MARK_DASH},                            /* ‐ ‑ ‒ – — ― */
    {0x2018, 0x2019, MARK_OPENS | MARK_CLOSES},             /* ‘ ’ */
    {0x201A, 0x201A, MARK_OPENS},                           /* ‚ */
    {0x201C, 0x201C, MARK_OPENS | MARK_CLOSES | MARK_HOLDS}, /* “ */
    {0x201D, 0x201D, MARK_OPENS | MARK_CLOSES | MARK_RELEASES}, /* ” */
    {0x201E, 0x201E, MARK_OPENS},                           /* „ */
    {0x2026, 0x2026, MARK_STRONG | MARK_GOES_ON},           /* … */
    {0x2039, 0x203A, MARK_OPENS | MARK_CLOSES},             /* ‹ › */
    {0x203C, 0x203D, MARK_STRONG | MARK_GOES_ON},           /* ‼ ‽ */
    {0x2047, 0x2049, MARK_STRONG | MARK_GOES_ON},           /* ⁇ ⁈ ⁉ */
    {0x3001, 0x3001, MARK_GOES_ON},                         /* 、 */
    {0x3002, 0x3002, MARK_WIDE | MARK_GOES_ON},             /* 。 */
    {0x3008, 0x3008, MARK_OPENS},                           /* 〈 */
    {0x3009, 0x3009, MARK_CLOSES},                          /* 〉 */
    {0x300A, 0x300A, MARK_OPENS},                           /* 《 */
    {0x300B, 0x300B, MARK_CLOSES},                          /* 》 */
    {0x300C, 0x300C, MARK_OPENS | MARK_HOLDS},              /* 「 */
    {0x300D, 0x300D, MARK_CLOSES | MARK_RELEASES},          /* 」 */
    {0x300E, 0x300E, MARK_OPENS | MARK_HOLDS},              /* 『 */
    {0x300F, 0x300F, MARK_CLOSES | MARK_RELEASES},          /* 』 */
    {0x3010, 0x3010, MARK_OPENS},                           /* 【 */
    {0x3011, 0x3011, MARK_CLOSES},                          /* 】 */
    {0x3014, 0x3014, MARK_OPENS},                           /* 〔 */
    {0x3015, 0x3015, MARK_CLOSES},                          /* 〕 */
    {0xABEB, 0xABEB, MARK_WIDE | MARK_GOES_ON},             /* ꯫ Meitei */
    {0xFF01, 0xFF01, MARK_WIDE | MARK_GOES_ON},             /* ！ */
    {0xFF08, 0xFF08, MARK_OPENS | MARK_HOLDS},              /* （ */
    {0xFF09, 0xFF09, MARK_CLOSES | MARK_RELEASES},          /* ） */
    {0xFF0C, 0xFF0C, MARK_GOES_ON},                         /* ， */
    {0xFF0E, 0xFF0E, MARK_WIDE | MARK_GOES_ON},             /* ． */
    {0xFF1F, 0xFF1F, MARK_WIDE | MARK_GOES_ON},             /* ？ */
    {0xFF61, 0xFF61, MARK_WIDE | MARK_GOES_ON},             /* ｡ */
};

/* The first bytes of stops, of quotes and of what holds and releases: bit n is set where a second byte 0x80 + n makes
 * it one of them. Bytes of ASCII have all bits. */
#define SECOND(byte) (UINT64_C(1) << ((byte) - 0x80))
static const uint64_t seconds[256] = {
    ['.'] = UINT64_MAX, ['!'] = UINT64_MAX, ['?'] = UINT64_MAX, ['"'] = UINT64_MAX,
    [0xC2] = SECOND(0xAB) | SECOND(0xBB),
    [0xD6] = SECOND(0x89), [0xD8] = SECOND(0x9F), [0xDB] = SECOND(0x94),
    [0xE0] = SECOND(0xA5) | SECOND(0xBC),
    [0xE1] = SECOND(0x81) | SECOND(0x8D) | SECOND(0x9F) | SECOND(0xA0) | SECOND(0xB1),
    [0xE2] = SECOND(0x80) | SECOND(0x81),
    [0xE3] = SECOND(0x80), [0xEA] = SECOND(0xAF),
    [0xEF] = SECOND(0xBC) | SECOND(0xBD),
};
/* clang-format on */

unsigned marks_of(uint32_t code_point)
{
    if (code_point < 0x80)
        return ascii[code_point];
    size_t low = 0, high = sizeof others / sizeof others[0];
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (others[middle].last < code_point)
            low = middle + 1;
        else if (others[middle].first > code_point)
            high = middle;
        else
            return others[middle].marks;
    }
    return 0;
}

/* Bit i tells whether text[i], of STEP_BYTES, can begin one of them: . ! ? " and what begins letters of few scripts. */
#ifdef __SSE2__
static unsigned candidates(const char *text)
{
    const __m128i bytes = _mm_loadu_si128((const __m128i *)text);
    const __m128i stops = _mm_or_si128(
        _mm_cmpeq_epi8(bytes, _mm_set1_epi8('.')),
        _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('!')), _mm_cmpeq_epi8(bytes, _mm_set1_epi8('?'))));
    const __m128i quotes =
        _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')), _mm_cmpeq_epi8(bytes, _mm_set1_epi8((char)0xC2)));
    const __m128i high = _mm_cmpeq_epi8(_mm_max_epu8(bytes, _mm_set1_epi8((char)FIRST_HIGH)), bytes);
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(stops, quotes), high));
}
#else
static unsigned candidates(const char *text)
{
    unsigned bits = 0;
    for (unsigned i = 0; i < STEP_BYTES; i++)
        bits |= (unsigned)(text[i] == '.' || text[i] == '!' || text[i] == '?' || text[i] == '"' ||
                           (unsigned char)text[i] == 0xC2 || (unsigned char)text[i] >= FIRST_HIGH)
                << i;
    return bits;
}
#endif

static bool may_be_mark(struct str text, size_t at)
{
    const uint64_t second = seconds[(unsigned char)text.data[at]];
    return second == UINT64_MAX ||
           (second != 0 && at + 1 < text.size && second >> ((unsigned char)text.data[at + 1] & 0x3F) & 1);
}

size_t marks_next(struct str text, size_t at)
{
    for (; text.size - at >= STEP_BYTES; at += STEP_BYTES)
        for (unsigned bits = candidates(text.data + at); bits != 0; bits &= bits - 1) {
            const size_t found = at + (size_t)__builtin_ctz(bits);
            if (may_be_mark(text, found))
                return found;
        }
    while (at < text.size && !may_be_mark(text, at))
        at++;
    return at;
}

uint32_t code_point_beyond_ascii(struct str text, size_t at, size_t *size)
{
    uint32_t code_point = 0;
    unsigned skip;
    *size = utf8_decode(text.data + at, text.size - at, &code_point, &skip);
    if (*size > 0)
        return code_point;
    *size = skip;
    return 0xFFFD;
}

size_t wide_blank_at(struct str text, size_t at)
{
    /* No-break, thin, narrow no-break and ideographic. */
    LOCAL_WORDS(blanks, "\xC2\xA0", "\xE2\x80\x89", "\xE2\x80\xAF", "\xE3\x80\x80");
    return words_starting(blanks, str_from(text, at));
}

bool is_lower(uint32_t code_point)
{
    if (code_point < 0x80)
        return code_point >= 'a' && code_point <= 'z';
    if (code_point >= 0x10D0 && code_point <= 0x10FF)
        return false; /* Georgian, whose capitals stand in headings only */
    return utf8proc_category((utf8proc_int32_t)code_point) == UTF8PROC_CATEGORY_LL;
}

bool is_upper(uint32_t code_point)
{
    if (code_point < 0x80)
        return code_point >= 'A' && code_point <= 'Z';
    return utf8proc_category((utf8proc_int32_t)code_point) == UTF8PROC_CATEGORY_LU;
}
