#include "pipeline/text/words/magic_words.h"

#include <utf8proc.h>

struct str magic_fold(struct str word, char out[NAME_BYTES_MAX])
{
    size_t size = 0;
    for (size_t at = 0; at < word.size;) {
        uint32_t code_point = 0;
        unsigned skip = 1;
        const unsigned length = utf8_decode(word.data + at, word.size - at, &code_point, &skip);
        if (length == 0 || size + 4 > NAME_BYTES_MAX)
            return STR("");
        at += length;
        if (code_point != 0x130) /* İ has no lower case of one letter in Unicode's case folding */
            code_point = (uint32_t)utf8proc_tolower((utf8proc_int32_t)code_point);
        size += utf8_write(code_point, out + size);
    }
    return (struct str){out, size};
}

static const struct magic_language *row_of(struct str code)
{
    const size_t row = row_find(&magic_languages->code, magic_language_count, sizeof *magic_languages, code);
    return row < magic_language_count ? &magic_languages[row] : NULL;
}

static void add(struct magic *magic, const struct magic_language *row)
{
    if (!row || magic->count == MAGIC_LANGUAGES_MAX)
        return;
    magic->of[magic->count++] = row;
    magic->wide |= row->wide;
}

/* The row of a code, or of its part before a '-' ("de-AT"). */
static const struct magic_language *row_near(struct str code)
{
    char folded[NAME_BYTES_MAX];
    code = magic_fold(code, folded);
    for (size_t i = 0; i < code.size; i++)
        folded[i] = folded[i] == '_' ? '-' : folded[i];
    while (code.size > 0) {
        const struct magic_language *row = row_of(code);
        if (row)
            return row;
        const char *dash = memrchr(code.data, '-', code.size);
        code.size = dash ? (size_t)(dash - code.data) : 0;
    }
    return NULL;
}

struct magic magic_find(const struct language *language, struct str code)
{
    struct magic magic = {.language = language, .is_any = code.size == 0, .wide = code.size == 0};
    const struct magic_language *row = row_near(code), *english = row_of(STR("en"));
    add(&magic, row);
    for (struct str rest = str_of(row && row->fallbacks ? row->fallbacks : ""); rest.size > 0;) {
        const char *blank = memchr(rest.data, ' ', rest.size), *end = rest.data + rest.size;
        add(&magic, row_of(str_range(rest.data, blank ? blank : end)));
        rest = blank ? str_range(blank + 1, end) : STR("");
    }
    if (row != english)
        add(&magic, english);
    return magic;
}

/* Words for which case matters are in the lists as they are typed. */
static bool has(struct words words, struct str typed, struct str folded)
{
    return words_have(words, typed) || words_have(words, folded);
}

bool magic_is_switch(const struct magic *magic, struct str word)
{
    char folded[NAME_BYTES_MAX], name[NAME_BYTES_MAX];
    const struct str lower = magic_fold(word, folded), as_name = name_fold(word, name);
    if (lower.size == 0)
        return false;
    if (!memchr(word.data, ' ', word.size) &&
        (words_have(magic->language->magic, as_name) || words_have(language_english()->magic, as_name)))
        return true;
    for (size_t i = 0; i < magic->count; i++)
        if (has(magic->of[i]->switches, word, lower))
            return true;
    for (size_t i = 0; i < magic_language_count && magic->is_any; i++)
        if (has(magic_languages[i].switches, word, lower))
            return true;
    return false;
}

size_t magic_redirect(const struct magic *magic, struct str text)
{
    size_t size = 0;
    while (size < text.size && size < NAME_BYTES_MAX && (unsigned char)text.data[size] > ' ' &&
           text.data[size] != ':' && text.data[size] != '[')
        size++;
    char folded[NAME_BYTES_MAX];
    const struct str word = magic_fold((struct str){text.data, size}, folded);
    for (size_t i = 0; i < magic->count; i++)
        if (words_have(magic->of[i]->redirects, word))
            return size;
    for (size_t i = 0; i < magic_language_count && magic->is_any; i++)
        if (words_have(magic_languages[i].redirects, word))
            return size;
    return 0;
}

struct str magic_function(const struct magic *magic, struct str typed)
{
    char plain[NAME_BYTES_MAX], folded[NAME_BYTES_MAX];
    if (typed.size == 0 || typed.size >= NAME_BYTES_MAX)
        return STR("");
    for (size_t i = 0; i < typed.size; i++)
        plain[i] = typed.data[i] == '_' ? ' ' : typed.data[i];
    typed.data = plain;
    const struct str lower = magic_fold(typed, folded);
    for (size_t i = 0; i < magic->count; i++) {
        const char *name = names_find(magic->of[i]->functions, typed);
        name = name || lower.size == 0 ? name : names_find(magic->of[i]->functions, lower);
        if (name)
            return str_of(name);
    }
    return STR("");
}

bool magic_is_option(const struct magic *magic, struct str typed)
{
    const bool has_digit = typed.size > 0 && ascii_is_digit(typed.data[0]);
    const bool is_size = has_digit || (typed.size > 1 && typed.data[0] == 'x');
    for (size_t i = 0; i < magic->count; i++)
        if (words_have(magic->of[i]->options, typed) || words_starting(magic->of[i]->option_starts, typed) > 0 ||
            (is_size && words_ending(magic->of[i]->option_ends, typed) > 0))
            return true;
    return false;
}
