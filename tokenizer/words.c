/* Cuts text into runs, and a run into words. Cutting before normalising gives the same words as BertNormalizer on the
 * whole text followed by BertPreTokenizer, because normalisation never changes the kind of white space, punctuation or
 * ideographs, none of these has a combining class (scripts/unicode_tables.py asserts it), and nothing becomes white
 * space or an ideograph. What becomes punctuation (U+2260 is = and a stroke) is found after normalisation. */
#include "tokenizer/words.h"

enum byte_kind { LETTER, SPACE, PUNCTUATION, CONTROL, HIGH };

/* By byte: ASCII as BERT classifies it (controls are deleted); 0x80 and above are HIGH. */
static const uint8_t kind_of_byte[256] = {
    [0 ... 8] = CONTROL,
    ['\t'] = SPACE,
    ['\n'] = SPACE,
    [11 ... 12] = CONTROL,
    ['\r'] = SPACE,
    [14 ... 31] = CONTROL,
    [' '] = SPACE,
    [33 ... 47] = PUNCTUATION,
    [58 ... 64] = PUNCTUATION,
    [91 ... 96] = PUNCTUATION,
    [123 ... 126] = PUNCTUATION,
    [127] = CONTROL,
    [128 ... 255] = HIGH,
};

static inline enum byte_kind kind_at(const char *at)
{
    return (enum byte_kind)kind_of_byte[(unsigned char)*at];
}

/* utf8_decode with a fast path for well-formed letters of two or three bytes, which are most. */
static inline unsigned decode(const char *at, const char *end, uint32_t *code_point, unsigned *skip)
{
    const unsigned char *const byte = (const unsigned char *)at;
    if (end - at >= 3 && (byte[1] & 0xC0) == 0x80) {
        if (byte[0] >= 0xC2 && byte[0] < 0xE0) {
            *code_point = (byte[0] & 0x1Fu) << 6 | (byte[1] & 0x3Fu);
            return 2;
        }
        *code_point = (byte[0] & 0x0Fu) << 12 | (byte[1] & 0x3Fu) << 6 | (byte[2] & 0x3Fu);
        if (byte[0] >> 4 == 0xE && (byte[2] & 0xC0) == 0x80 && *code_point >= 0x800 && *code_point >> 11 != 0x1B)
            return 3;
    }
    return utf8_decode(at, (size_t)(end - at), code_point, skip);
}

/* The kind of the character at `at`, a HIGH byte, and its bytes in *size. Ill-formed bytes are LETTER_DROP. */
static enum letter_kind high_kind(const struct unicode *unicode, bool joined, const char *at, const char *end,
                                  unsigned *size)
{
    uint32_t code_point;
    unsigned skip;
    *size = decode(at, end, &code_point, &skip);
    if (*size) {
        const enum letter_kind kind = (enum letter_kind)unicode_letter(unicode, code_point)->kind;
        return joined && kind == LETTER_IDEOGRAPH ? LETTER_WORD : kind;
    }
    *size = skip;
    return LETTER_DROP;
}

/* The end of a run that continues at `at` with a byte that is not an ASCII letter. */
static const char *other_end(const struct unicode *unicode, bool joined, const char *at, const char *end)
{
    while (at < end) {
        unsigned size = 1;
        switch (kind_at(at)) {
        case SPACE:
        case PUNCTUATION:
            return at;
        case LETTER:
        case CONTROL:
            break;
        case HIGH: {
            const enum letter_kind kind = high_kind(unicode, joined, at, end, &size);
            if (kind != LETTER_WORD && kind != LETTER_DROP)
                return at;
            break;
        }
        }
        at += size;
    }
    return at;
}

enum text_run_kind run_next(const struct unicode *unicode, bool joined, struct str *rest, struct str *run)
{
    const char *at = rest->data, *const end = at + rest->size;
    enum text_run_kind kind = RUN_END;
    const char *start = at;
    while (kind == RUN_END && at < end) {
        unsigned size = 1;
        start = at;
        switch (kind_at(at)) {
        case SPACE:
            at++;
            break;
        case PUNCTUATION:
            at++;
            kind = RUN_PUNCTUATION;
            break;
        case LETTER:
            while (++at < end && kind_at(at) == LETTER)
                ;
            kind = RUN_ASCII;
            /* Most words end here and need no tables. Where other bytes follow directly, they belong to the word,
             * unless the first of them ends it. */
            if (at < end && kind_at(at) >= CONTROL) {
                const char *const ascii_end = at;
                at = other_end(unicode, joined, at, end);
                kind = at > ascii_end ? RUN_OTHER : RUN_ASCII;
            }
            break;
        case CONTROL:
            at = other_end(unicode, joined, at, end);
            kind = RUN_OTHER;
            break;
        case HIGH:
            switch (high_kind(unicode, joined, at, end, &size)) {
            case LETTER_SPACE:
                at += size;
                break;
            case LETTER_PUNCTUATION:
            case LETTER_IDEOGRAPH:
                at += size;
                kind = RUN_OTHER;
                break;
            case LETTER_WORD:
            case LETTER_DROP:
                at = other_end(unicode, joined, at, end);
                kind = RUN_OTHER;
                break;
            }
            break;
        }
    }
    *rest = str_range(at, end);
    *run = str_range(start, at);
    return kind;
}

void run_words(struct normalizer *normalizer, struct buf *scratch, struct str run,
               void (*word)(void *context, struct str word), void *context)
{
    normalize_run(normalizer, run);
    buf_reset(scratch);
    buf_reserve(scratch, 4 * normalizer->count);
    for (size_t i = 0; i < normalizer->count; i++) {
        const uint32_t letter = normalizer->letters[i];
        const bool alone = unicode_letter(normalizer->unicode, letter)->kind == LETTER_PUNCTUATION;
        if (alone && scratch->size) {
            word(context, buf_str(scratch));
            buf_reset(scratch);
        }
        scratch->size += utf8_write(letter, scratch->data + scratch->size);
        if (alone) {
            word(context, buf_str(scratch));
            buf_reset(scratch);
        }
    }
    if (scratch->size)
        word(context, buf_str(scratch));
}

static void add_normal(struct normalizer *normalizer, struct str run, struct buf *out)
{
    normalize_run(normalizer, run);
    buf_reserve(out, 4 * normalizer->count);
    for (size_t i = 0; i < normalizer->count; i++)
        out->size += utf8_write(normalizer->letters[i] & NORMALIZER_CODE_POINT, out->data + out->size);
}

/* The end of characters that are neither printed ASCII, white space nor ideographs. Marks are put in order among these
 * only, because all others have no combining class. */
static const char *loose_end(const struct unicode *unicode, bool joined, const char *at, const char *end)
{
    unsigned size = 1;
    for (; at < end && kind_at(at) >= CONTROL; at += size) {
        if (kind_at(at) == CONTROL) {
            size = 1;
            continue;
        }
        const enum letter_kind kind = high_kind(unicode, joined, at, end, &size);
        if (kind == LETTER_SPACE || kind == LETTER_IDEOGRAPH)
            break;
    }
    return at;
}

void normalize_text(struct normalizer *normalizer, bool joined, struct str text, struct buf *out)
{
    const struct unicode *const unicode = normalizer->unicode;
    for (const char *at = text.data, *const end = at + text.size, *stop; at < end; at = stop) {
        const enum byte_kind kind = kind_at(at);
        stop = at + 1;
        if (kind < CONTROL) {
            const bool capital = normalizer->lower && *at >= 'A' && *at <= 'Z';
            buf_add_byte(out, kind == SPACE ? ' ' : (char)(capital ? *at | 0x20 : *at));
            continue;
        }
        stop = loose_end(unicode, joined, at, end);
        if (stop > at) {
            add_normal(normalizer, str_range(at, stop), out);
            continue;
        }
        unsigned size;
        const bool ideograph = high_kind(unicode, joined, at, end, &size) == LETTER_IDEOGRAPH;
        stop = at + size;
        buf_add_byte(out, ' ');
        if (ideograph) {
            add_normal(normalizer, str_range(at, stop), out);
            buf_add_byte(out, ' ');
        }
    }
}
