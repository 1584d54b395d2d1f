#include "pipeline/text/sentences.h"

#include "base/mem.h"

#include <utf8proc.h>

#define WORD_BYTES_MAX     40u  /* of an abbreviation, or of a word that begins a sentence */
#define QUOTE_BYTES_MAX    600u /* a bracket or quotation that is longer does not keep sentences together */
#define ORDINAL_DIGITS_MAX 2u

/* What ends a sentence. */
enum stop {
    STOP_NONE,
    STOP_DOT,    /* .  which ends other things too */
    STOP_STRONG, /* ! ? … and several dots: ends one if a blank and no lower case follows */
    STOP_WIDE,   /* 。 ؟ । ends one, blank or not */
};

/* The bytes that may begin a stop or a wide bracket; all else is passed over. */
static const bool stops[256] = {
    ['.'] = true,  ['!'] = true,  ['?'] = true,  [0xD6] = true, [0xD8] = true, [0xDB] = true,
    [0xE0] = true, [0xE1] = true, [0xE2] = true, [0xE3] = true, [0xEF] = true,
};

struct splitter {
    const struct language *language;
    const char *text; /* of the line */
    size_t size;
    struct sentences *out;
    size_t start;     /* of the sentence that is open */
    size_t wide_open; /* where the outermost open 「 or （ is */
    unsigned wide_depth;
};

/* The code point at `at`, 0 at the end of the line. */
static uint32_t code_point_at(const struct splitter *splitter, size_t at, size_t *size)
{
    *size = 0;
    if (at >= splitter->size)
        return 0;
    uint32_t code_point = 0;
    unsigned skip;
    *size = utf8_decode(splitter->text + at, splitter->size - at, &code_point, &skip);
    if (*size == 0) {
        *size = skip;
        code_point = 0xFFFD;
    }
    return code_point;
}

static enum stop stop_of(uint32_t code_point)
{
    switch (code_point) {
    case '.':
        return STOP_DOT;
    case '!':
    case '?':
    case 0x2026: /* … */
    case 0x203C: /* ‼ */
    case 0x2047: /* ⁇ */
    case 0x2048: /* ⁈ */
    case 0x2049: /* ⁉ */
        return STOP_STRONG;
    case 0x3002: /* 。 */
    case 0xFF61: /* ｡ */
    case 0xFF0E: /* ． */
    case 0xFF01: /* ！ */
    case 0xFF1F: /* ？ */
    case 0x061F: /* ؟ */
    case 0x06D4: /* ۔ Urdu */
    case 0x0964: /* । */
    case 0x0965: /* ॥ */
    case 0x0589: /* ։ Armenian */
    case 0x1362: /* ። Ethiopic */
    case 0x17D4: /* ។ Khmer */
    case 0x104B: /* ။ Burmese */
        return STOP_WIDE;
    default:
        return STOP_NONE;
    }
}

static bool is_closing(uint32_t code_point)
{
    switch (code_point) {
    case '"':
    case '\'':
    case ')':
    case ']':
    case 0x00BB: /* » */
    case 0x2019: /* ’ */
    case 0x201D: /* ” */
    case 0x203A: /* › */
    case 0x3009: /* 〉 */
    case 0x300B: /* 》 */
    case 0x300D: /* 」 */
    case 0x300F: /* 』 */
    case 0x3011: /* 】 */
    case 0xFF09: /* ） */
        return true;
    default:
        return false;
    }
}

static bool is_opening(uint32_t code_point)
{
    switch (code_point) {
    case '"':
    case '\'':
    case '(':
    case '[':
    case 0x00A1: /* ¡ */
    case 0x00AB: /* « */
    case 0x00BF: /* ¿ */
    case 0x2018: /* ‘ */
    case 0x201C: /* “ */
    case 0x201E: /* „ */
    case 0x2039: /* ‹ */
        return true;
    default:
        return false;
    }
}

static bool is_lower(uint32_t code_point)
{
    if (code_point < 0x80)
        return code_point >= 'a' && code_point <= 'z';
    return utf8proc_category((utf8proc_int32_t)code_point) == UTF8PROC_CATEGORY_LL;
}

static bool is_upper(uint32_t code_point)
{
    if (code_point < 0x80)
        return code_point >= 'A' && code_point <= 'Z';
    return utf8proc_category((utf8proc_int32_t)code_point) == UTF8PROC_CATEGORY_LU;
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

/* What stands in front of the dot at `dot`: back to a blank, a bracket, a quote or a dash. */
static struct str word_before(const struct splitter *splitter, size_t dot)
{
    size_t at = dot;
    while (at > splitter->start && dot - at <= WORD_BYTES_MAX) {
        const char byte = splitter->text[at - 1];
        if (is_blank(byte) || byte == '(' || byte == '[' || byte == '"' || byte == '/')
            break;
        /* No-break space C2 A0; quotes and dashes are E2 80 xx. */
        if (at >= 2 && (unsigned char)splitter->text[at - 2] == 0xC2 && (unsigned char)byte == 0xA0)
            break;
        if (at >= 3 && memcmp(splitter->text + at - 3, "\xE2\x80", 2) == 0)
            break;
        at--;
    }
    return str_range(splitter->text + at, splitter->text + dot);
}

/* Does the word at `at` begin sentences? Initials do not: "J. A. Smith". */
static bool is_starter(const struct splitter *splitter, size_t at)
{
    size_t end = at;
    while (end < splitter->size && end - at < WORD_BYTES_MAX) {
        const unsigned char byte = (unsigned char)splitter->text[end];
        const bool is_letter = byte >= 0x80 || ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z') || byte == '\'';
        if (!is_letter)
            break;
        end++;
    }
    size_t first;
    code_point_at(splitter, at, &first);
    if (end - at <= first && (end == splitter->size || splitter->text[end] == '.'))
        return false;
    char folded[NAME_BYTES_MAX];
    const struct str word = name_fold(str_range(splitter->text + at, splitter->text + end), folded);
    return words_have(splitter->language->starters, word);
}

/* Letters with dots between, none longer than two: U.S, e.g, Ph.D. */
static bool is_acronym(struct str word)
{
    size_t letters = 0;
    bool dots = false;
    for (size_t i = 0; i < word.size; i++) {
        if (word.data[i] == '.') {
            if (letters == 0)
                return false;
            dots = true;
            letters = 0;
        } else if (((unsigned char)word.data[i] & 0xC0) != 0x80 && (is_digit(word.data[i]) || ++letters > 2)) {
            return false;
        }
    }
    return dots && letters > 0;
}

static bool is_number(struct str word)
{
    for (size_t i = 0; i < word.size; i++)
        if (!is_digit(word.data[i]))
            return false;
    return word.size > 0;
}

/* Does a single letter with its dot stand before the word: "z. B.", "A. A. Milne"? */
static bool is_chained(const struct splitter *splitter, struct str word)
{
    const char *start = splitter->text + splitter->start;
    if (word.data - start < 3 || !is_blank(word.data[-1]) || word.data[-2] != '.')
        return false;
    return str_equal(word_before(splitter, (size_t)(word.data - 2 - splitter->text)), (struct str){word.data - 3, 1});
}

/* Does a single full stop at `dot` end a sentence, if a blank and something not in lower case follows, at `next`? */
static bool dot_ends(const struct splitter *splitter, size_t dot, size_t next)
{
    const struct language *language = splitter->language;
    const struct str word = word_before(splitter, dot);
    if (word.size == 0 || word.size > WORD_BYTES_MAX)
        return true;
    if (is_number(word)) {
        if (word.data == splitter->text + splitter->start)
            return false; /* "1. Item" */
        return !language->ordinal_dot || word.size > ORDINAL_DIGITS_MAX || is_starter(splitter, next);
    }
    uint32_t letter = 0;
    unsigned skip;
    if (utf8_decode(word.data, word.size, &letter, &skip) == word.size && is_upper(letter))
        return !is_chained(splitter, word) && is_starter(splitter, next); /* an initial, or "vitamin C. The" */
    char folded[NAME_BYTES_MAX];
    const struct str name = name_fold(word, folded);
    if (words_have(language->endings, name) || is_acronym(word))
        return is_starter(splitter, next);
    if (words_have(language->abbreviations, name))
        return false;
    return !(words_have(language->numbered, name) && is_digit(splitter->text[next]));
}

/* Cuts what is too long; each cut leaves at least half of the bound, so the work stays linear. */
static void add_sentence(struct splitter *splitter, size_t end)
{
    struct str rest = str_trim(str_range(splitter->text + splitter->start, splitter->text + end));
    while (rest.size > SENTENCE_BYTES_MAX) {
        size_t cut = 0, blank = 0;
        for (size_t at = SENTENCE_BYTES_MAX; at > SENTENCE_BYTES_MAX / 2 && cut == 0; at--) {
            if (rest.data[at] == ' ' && rest.data[at - 1] == ';')
                cut = at;
            else if (rest.data[at] == ' ' && blank == 0)
                blank = at;
        }
        if (cut == 0)
            cut = blank;
        if (cut == 0)
            for (cut = SENTENCE_BYTES_MAX; ((unsigned char)rest.data[cut] & 0xC0) == 0x80; cut--)
                continue;
        sentences_add(splitter->out, str_trim(str_range(rest.data, rest.data + cut)));
        rest = str_trim(str_range(rest.data + cut, rest.data + rest.size));
    }
    if (rest.size > 0)
        sentences_add(splitter->out, rest);
}

/* Behind the closing quotes and brackets at `at`. In French a blank stands before », in German “ closes, in Chinese it
 * opens. */
static size_t skip_closings(const struct splitter *splitter, size_t at, enum stop stop)
{
    for (;;) {
        size_t size, behind;
        const uint32_t code_point = code_point_at(splitter, at, &size);
        if (is_closing(code_point) || (code_point == 0x201C && stop != STOP_WIDE))
            at += size;
        else if ((code_point == ' ' || code_point == 0xA0 || code_point == 0x202F) &&
                 code_point_at(splitter, at + size, &behind) == 0xBB)
            at += size + behind;
        else
            return at;
    }
}

/* Keeps what 「…。…」 and （…。…） hold in one sentence. */
static void note_bracket(struct splitter *splitter, uint32_t code_point, size_t at)
{
    const bool opens = code_point == 0x300C || code_point == 0x300E || code_point == 0xFF08;
    const bool closes = code_point == 0x300D || code_point == 0x300F || code_point == 0xFF09;
    if (opens && splitter->wide_depth++ == 0)
        splitter->wide_open = at;
    if (closes && splitter->wide_depth > 0)
        splitter->wide_depth--;
}

static bool is_hiragana(uint32_t code_point)
{
    return code_point >= 0x3041 && code_point <= 0x309F;
}

/* A wide stop ends a sentence unless a quotation goes on around it, or the sentence behind it: 「はい。」と言った。 */
static bool wide_ends(const struct splitter *splitter, size_t behind_stop, size_t behind)
{
    size_t size;
    if (splitter->wide_depth > 0 && behind_stop - splitter->wide_open < QUOTE_BYTES_MAX && behind == behind_stop)
        return false;
    return behind == behind_stop || !is_hiragana(code_point_at(splitter, behind, &size));
}

/* Looks at the stop or bracket at `at` and returns where to go on. */
static size_t read_stop(struct splitter *splitter, size_t at)
{
    size_t size, end = at, count = 0;
    uint32_t code_point = code_point_at(splitter, at, &size);
    enum stop stop = STOP_NONE;
    for (enum stop each = stop_of(code_point); each != STOP_NONE; each = stop_of(code_point)) {
        stop = each > stop ? each : stop;
        end += size;
        count++;
        code_point = code_point_at(splitter, end, &size);
    }
    if (stop == STOP_NONE) {
        note_bracket(splitter, code_point, at);
        return at + size;
    }
    if (stop == STOP_DOT && count > 1)
        stop = STOP_STRONG;
    const size_t behind = skip_closings(splitter, end, stop);
    if (stop == STOP_WIDE) {
        const bool ends = wide_ends(splitter, end, behind);
        for (size_t closing = end; closing < behind; closing += size)
            note_bracket(splitter, code_point_at(splitter, closing, &size), closing);
        if (ends) {
            add_sentence(splitter, behind);
            splitter->start = behind;
            splitter->wide_depth = 0;
        }
        return behind;
    }
    if (behind == splitter->size || !is_blank(splitter->text[behind]))
        return behind;
    size_t next = behind;
    while (next < splitter->size && is_blank(splitter->text[next]))
        next++;
    size_t letter = next;
    while (is_opening(code_point = code_point_at(splitter, letter, &size)))
        letter += size;
    const bool goes_on = code_point == ',' || code_point == ';' || code_point == ':' || stop_of(code_point);
    if (code_point == 0 || goes_on || is_lower(code_point))
        return next;
    if (stop == STOP_DOT && behind == end && !dot_ends(splitter, at, letter))
        return next;
    add_sentence(splitter, behind);
    splitter->start = next;
    return next;
}

static void split_line(const struct language *language, struct str line, struct sentences *out)
{
    struct splitter splitter = {.language = language, .text = line.data, .size = line.size, .out = out};
    for (size_t at = 0; at < line.size;) {
        if (stops[(unsigned char)line.data[at]])
            at = read_stop(&splitter, at);
        else
            at++;
    }
    add_sentence(&splitter, line.size);
}

void sentences_split(const struct language *language, struct str paragraphs, struct sentences *out)
{
    for (const char *at = paragraphs.data, *end = at + paragraphs.size; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        split_line(language, str_range(at, stop), out);
        at = stop + 1;
    }
}

void sentences_add(struct sentences *sentences, struct str sentence)
{
    if (sentences->count == sentences->capacity) {
        sentences->capacity = sentences->capacity ? sentences->capacity * 2 : 64;
        sentences->items = mem_grow(sentences->items, sentences->capacity, sizeof sentences->items[0]);
    }
    sentences->items[sentences->count++] = sentence;
}

void sentences_release(struct sentences *sentences)
{
    mem_free(sentences->items);
    *sentences = (struct sentences){0};
}
