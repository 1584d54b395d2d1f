/* The patterns, as a hand would apply them: at each place the first alternative that matches, each taking as much as it
 * can. */
#include "tokenizer/bpe_words.h"

#include "base/mem.h"

#define GPT2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
#define ENDS "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|"
#define REST "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

/* The last is that of tiktoken itself, whose possessive operators change nothing here. */
static const struct split_pattern patterns[] = {
    {GPT2, false, false, 0},
    {ENDS "\\p{N}{1,3}" REST, true, true, 3},
    {ENDS "\\p{N}" REST, true, true, 1},
    {"'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}{1,3}| "
     "?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+",
     true, true, 3},
};

const struct split_pattern *split_pattern_find(const char *regex)
{
    for (size_t i = 0; regex && i < sizeof patterns / sizeof *patterns; i++)
        if (strcmp(patterns[i].regex, regex) == 0)
            return &patterns[i];
    return regex ? NULL : patterns;
}

uint8_t *split_facts_open(void)
{
    uint8_t *facts = mem_alloc(0x110000);
    for (size_t i = 0; i < split_change_count; i++) {
        const uint32_t from = split_changes[i] >> 4;
        const uint32_t to = i + 1 < split_change_count ? split_changes[i + 1] >> 4 : 0x110000;
        memset(facts + from, split_changes[i] & 15, to - from);
    }
    return facts;
}

static inline enum split_class class_at(const uint8_t *facts, const char *at, unsigned *size)
{
    return (enum split_class)(facts[split_decode(at, size)] & SPLIT_CLASS);
}

/* The end of the characters of a class, at most `most` of them. */
static inline const char *run_end(const uint8_t *facts, enum split_class class, size_t most, const char *at,
                                  const char *end)
{
    unsigned size;
    for (; most > 0 && at < end && class_at(facts, at, &size) == class; most--)
        at += size;
    return at;
}

/* The bytes of an ending that follows an apostrophe, or 0. */
static size_t ending(const char *at, const char *end, bool any_case)
{
    const size_t left = (size_t)(end - at);
    if (any_case && left >= 2 && memcmp(at, "\xC5\xBF", 2) == 0) /* a long s is an s in another case */
        return 2;
    const char fold = any_case ? 0x20 : 0;
    const char first = left > 0 ? (char)(*at | fold) : 0, second = left > 1 ? (char)(at[1] | fold) : 0;
    /* ASCII letters only: with the bit set, no other byte is one of these but in capitals. */
    if (first == 's' || first == 't' || first == 'm' || first == 'd')
        return 1;
    return ((first == 'r' || first == 'v') && second == 'e') || (first == 'l' && second == 'l') ? 2 : 0;
}

/* White space at `at`, where the pattern lets nothing but white space match: all of it at the end of the text; else all
 * but the last character, which may belong to the next word; or that one alone. */
static const char *space_end(const uint8_t *facts, const char *at, const char *end, bool lines)
{
    const char *last = at, *line = NULL, *to = at;
    for (unsigned size; to < end && class_at(facts, to, &size) == SPLIT_SPACE; to += size) {
        last = to;
        if (*to == '\n' || *to == '\r')
            line = to + 1;
    }
    if (lines && line)
        return line;
    return to == end || last == at ? to : last;
}

static inline const char *like_gpt2(const uint8_t *facts, const char *at, const char *end)
{
    unsigned size, next;
    if (*at == '\'') {
        const size_t bytes = ending(at + 1, end, false);
        if (bytes > 0)
            return at + 1 + bytes;
    }
    const enum split_class class = class_at(facts, at, &size);
    if (class != SPLIT_SPACE)
        return run_end(facts, class, SIZE_MAX, at + size, end);
    if (*at == ' ' && at + 1 < end) {
        const enum split_class after = class_at(facts, at + 1, &next);
        if (after != SPLIT_SPACE)
            return run_end(facts, after, SIZE_MAX, at + 1 + next, end);
    }
    return space_end(facts, at, end, false);
}

static inline const char *like_cl100k(const struct split_pattern *pattern, const uint8_t *facts, const char *at,
                                      const char *end)
{
    unsigned size, next;
    if (*at == '\'') {
        const size_t bytes = ending(at + 1, end, pattern->any_case);
        if (bytes > 0)
            return at + 1 + bytes;
    }
    const enum split_class class = class_at(facts, at, &size);
    if (class == SPLIT_LETTER)
        return run_end(facts, class, SIZE_MAX, at + size, end);
    if (class == SPLIT_NUMBER)
        return run_end(facts, class, pattern->digits_max, at, end);
    if (*at != '\r' && *at != '\n' && at + size < end && class_at(facts, at + size, &next) == SPLIT_LETTER)
        return run_end(facts, SPLIT_LETTER, SIZE_MAX, at + size + next, end);
    const char *const signs = at + (*at == ' ');
    const char *to = run_end(facts, SPLIT_OTHER, SIZE_MAX, signs, end);
    if (to == signs)
        return space_end(facts, at, end, true);
    while (to < end && (*to == '\r' || *to == '\n'))
        to++;
    return to;
}

const char *split_word(const struct split_pattern *pattern, const uint8_t *facts, const char *at, const char *end)
{
    return pattern->cl100k ? like_cl100k(pattern, facts, at, end) : like_gpt2(facts, at, end);
}
