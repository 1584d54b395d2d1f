/* --filter gopher: the rules for documents of Rae et al., "Scaling language models: methods, analysis & insights from
 * training Gopher", 2021, appendix A.1.1, with their thresholds. Words are what stands between white space, as Python's
 * str.split has it; one that is nothing but punctuation, symbols or control characters does not count for the number
 * and the length of words. Ratios are compared in whole numbers. */
#include "base/mem.h"
#include "pipeline/clean/filter.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#define THOUSAND 1000u

enum threshold {
    MIN_WORDS,  /* words, at least */
    MAX_WORDS,  /* at most */
    MIN_LENGTH, /* characters of a word on average, at least */
    MAX_LENGTH, /* at most */
    SYMBOLS,    /* '#' for a word, and ellipses for a word: at most */
    BULLETS,    /* of lines, those that begin with a bullet: at most */
    ELLIPSES,   /* of lines, those that end with an ellipsis: at most */
    ALPHABETIC, /* of words, those with a letter: at least */
    STOP_WORDS, /* different ones, at least */
    THRESHOLDS
};

static const struct {
    const char *name;
    uint64_t thousandths; /* the default */
    enum page_fate fate;  /* of a document that breaks the rule */
} thresholds[THRESHOLDS] = {
    [MIN_WORDS] = {"min-words", 50 * THOUSAND, PAGE_GOPHER_FEW_WORDS},
    [MAX_WORDS] = {"max-words", 100000 * THOUSAND, PAGE_GOPHER_MANY_WORDS},
    [MIN_LENGTH] = {"min-length", 3 * THOUSAND, PAGE_GOPHER_WORD_LENGTH},
    [MAX_LENGTH] = {"max-length", 10 * THOUSAND, PAGE_GOPHER_WORD_LENGTH},
    [SYMBOLS] = {"symbols", 100, PAGE_GOPHER_SYMBOLS},
    [BULLETS] = {"bullets", 900, PAGE_GOPHER_BULLETS},
    [ELLIPSES] = {"ellipses", 300, PAGE_GOPHER_ELLIPSES},
    [ALPHABETIC] = {"alphabetic", 800, PAGE_GOPHER_ALPHABETIC},
    [STOP_WORDS] = {"stop-words", 2 * THOUSAND, PAGE_GOPHER_STOP_WORDS},
};

static const char *const stop_words[] = {"the", "be", "to", "of", "and", "that", "have", "with"};
#define STOP_WORDS_KNOWN (sizeof stop_words / sizeof *stop_words)

struct rules {
    uint64_t thousandths[THRESHOLDS]; /* 0 turns a rule off */
};

/* ---- the value of the option ---- */

/* A decimal of up to three places, as thousandths. */
static bool read_decimal(struct str text, uint64_t *thousandths)
{
    uint64_t value = 0;
    unsigned places = 0;
    bool point = false;
    if (text.size == 0 || text.size > 12)
        return false;
    for (size_t i = 0; i < text.size; i++) {
        const char c = text.data[i];
        if (c == '.' && !point && i > 0) {
            point = true;
            continue;
        }
        if (!ascii_is_digit(c) || (point && ++places > 3))
            return false;
        value = value * 10 + (uint64_t)(c - '0');
    }
    for (; places < 3; places++)
        value *= 10;
    *thousandths = value;
    return true;
}

static int refuse(struct str part, struct error *err)
{
    SCOPED(buf_release) struct buf names = {0};
    fail(err, ERR_USAGE, "--filter gopher: \"%.*s\" is no threshold", (int)part.size, part.data);
    for (size_t i = 0; i < THRESHOLDS; i++)
        buf_addf(&names, "%s%s=%g", i ? "," : "", thresholds[i].name, (double)thresholds[i].thousandths / THOUSAND);
    hint(err, "the thresholds, with their defaults: gopher,%s", buf_text(&names));
    return -1;
}

/* "bullets=0.8" */
static int read_threshold(struct str part, struct rules *rules, struct error *err)
{
    for (size_t i = 0; i < THRESHOLDS; i++) {
        const struct str name = str_of(thresholds[i].name);
        if (str_starts(part, name) && part.size > name.size && part.data[name.size] == '=' &&
            read_decimal(str_from(part, name.size + 1), &rules->thousandths[i]))
            return 0;
    }
    return refuse(part, err);
}

static int open_rules(const struct dsdata_settings *settings, void **state, struct error *err)
{
    struct rules rules;
    if (!settings->filter)
        return 0;
    const char *at = settings->filter;
    const size_t name = strcspn(at, ",");
    if (!str_equal((struct str){at, name}, STR("gopher"))) {
        fail(err, ERR_USAGE, "--filter %.*s: there is no such filter", (int)name, at);
        return hint(err, "there is gopher");
    }
    for (size_t i = 0; i < THRESHOLDS; i++)
        rules.thousandths[i] = thresholds[i].thousandths;
    for (at += name; *at;) {
        const size_t size = strcspn(at + 1, ",");
        TRY(read_threshold((struct str){at + 1, size}, &rules, err));
        at += 1 + size;
    }
    *state = mem_clear(1, sizeof rules);
    *(struct rules *)*state = rules;
    return 0;
}

/* "gopher,min-words=50,…": all thresholds, in the order of the table, so that a manifest says what was applied. */
static void identify(const void *state, json_t *recipe)
{
    const struct rules *rules = state;
    SCOPED(buf_release) struct buf text = {0};
    buf_add_text(&text, "gopher");
    for (size_t i = 0; i < THRESHOLDS; i++)
        buf_addf(&text, ",%s=%.12g", thresholds[i].name, (double)rules->thousandths[i] / THOUSAND);
    json_object_set_new(recipe, "filter", json_string(buf_text(&text)));
}

/* ---- counting ---- */

struct figures {
    uint64_t words, counted, characters; /* counted: not nothing but signs; characters: of these */
    uint64_t alphabetic;
    uint64_t hashes, dots; /* '#'; "..." and U+2026 */
    uint64_t lines, bullets, ellipses;
    unsigned stops; /* bits */
};

static bool is_space(uint32_t c) /* of Python's str.split */
{
    return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

static bool ends_line(uint32_t c) /* of Python's str.splitlines, where CR LF ends one */
{
    return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

static bool is_letter(uint32_t c)
{
    if (c < 0x80)
        return ascii_is_letter((char)c);
    const utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)c);
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

/* U+2022 counts as a word, as it does in datatrove, whose verdicts are the ones that others know. */
static bool is_sign(uint32_t c)
{
    if (c == 0x2022)
        return false;
    const utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)c);
    return (category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_SO) || category == UTF8PROC_CATEGORY_CC;
}

static void count_word(struct str word, struct figures *figures)
{
    bool letter = false, counted = false;
    uint64_t characters = 0;
    for (size_t at = 0; at < word.size; characters++) {
        uint32_t c = 0;
        unsigned skip = 1;
        const unsigned length = utf8_decode(word.data + at, word.size - at, &c, &skip);
        at += length ? length : skip;
        letter = letter || is_letter(c);
        counted = counted || letter || !is_sign(c);
    }
    figures->words++;
    figures->alphabetic += letter;
    figures->counted += counted;
    figures->characters += counted ? characters : 0;
    for (size_t i = 0; i < STOP_WORDS_KNOWN; i++)
        if (str_equal(word, str_of(stop_words[i])))
            figures->stops |= 1u << i;
}

static uint64_t count_text(struct str text, struct str part)
{
    uint64_t count = 0;
    for (size_t at; (at = str_find(text, part)) != SIZE_MAX; count++)
        text = str_from(text, at + part.size);
    return count;
}

/* A line; `first` and `last` are its first and last words, "" where it has none. */
static void count_line(struct str first, struct str last, struct figures *figures)
{
    figures->lines++;
    figures->bullets += str_starts(first, STR("-")) || str_starts(first, STR("\u2022"));
    figures->ellipses += str_ends(last, STR("...")) || str_ends(last, STR("\u2026"));
}

static void count_all(struct str text, struct figures *figures)
{
    const char *end = text.data + text.size, *word = NULL;
    struct str first = STR(""), last = STR("");
    bool line = false;
    uint32_t before = 0;
    for (const char *at = text.data; at < end || word;) { /* the end of the text is white space too */
        uint32_t c = 0;
        unsigned skip = 1;
        const unsigned length = at < end ? utf8_decode(at, (size_t)(end - at), &c, &skip) : 0;
        const bool space = at == end || is_space(c);
        if (!space && !word)
            word = at;
        if (space && word) {
            last = str_range(word, at);
            first = first.size == 0 ? last : first;
            count_word(last, figures);
            word = NULL;
        }
        if (at == end)
            break;
        if (ends_line(c) && !(c == '\n' && before == '\r')) {
            count_line(first, last, figures);
            first = last = STR("");
        }
        line = !ends_line(c);
        before = c;
        at += length ? length : skip;
    }
    if (line)
        count_line(first, last, figures);
    figures->hashes = count_text(text, STR("#"));
    figures->dots = count_text(text, STR("...")) + count_text(text, STR("\u2026"));
}

/* ---- the verdict ---- */

static enum page_fate judge(const void *state, struct filter_scratch *scratch, struct str text, const char *language)
{
    const uint64_t *limits = ((const struct rules *)state)->thousandths;
    struct figures f = {0};
    (void)scratch;
    (void)language;
    count_all(text, &f);
    const uint64_t words = f.counted * THOUSAND, length = f.characters * THOUSAND;
    const uint64_t stops = (uint64_t)__builtin_popcount(f.stops) * THOUSAND;
    const uint64_t symbols = (f.hashes > f.dots ? f.hashes : f.dots) * THOUSAND;
    bool is_over[THRESHOLDS];
    is_over[MIN_WORDS] = words < limits[MIN_WORDS];
    is_over[MAX_WORDS] = words > limits[MAX_WORDS];
    is_over[MIN_LENGTH] = length < limits[MIN_LENGTH] * f.counted;
    is_over[MAX_LENGTH] = length > limits[MAX_LENGTH] * f.counted;
    is_over[SYMBOLS] = symbols > limits[SYMBOLS] * f.words;
    is_over[BULLETS] = f.bullets * THOUSAND > limits[BULLETS] * f.lines;
    is_over[ELLIPSES] = f.ellipses * THOUSAND > limits[ELLIPSES] * f.lines;
    is_over[ALPHABETIC] = f.alphabetic * THOUSAND < limits[ALPHABETIC] * f.words;
    is_over[STOP_WORDS] = stops < limits[STOP_WORDS];
    for (size_t i = 0; i < THRESHOLDS; i++)
        if (limits[i] > 0 && is_over[i])
            return thresholds[i].fate;
    return PAGE_KEPT;
}

const struct filter gopher_filter = {.open = open_rules, .close = mem_free, .judge = judge, .identify = identify};
