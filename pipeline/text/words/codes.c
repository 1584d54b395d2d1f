#include "pipeline/text/words/codes.h"

#include "pipeline/text/words/codes_iso639.h"
#include "pipeline/text/words/languages.h"

#include <stdlib.h>

static int compare_triples(const void *a, const void *b)
{
    return memcmp(a, b, 3);
}

static bool is_code(struct str code)
{
    if (language_is_code(code) ||
        (code.size == 3 && bsearch(code.data, iso_triples, iso_triple_count, 3, compare_triples)))
        return true;
    for (size_t i = 0; i < iso_language_count; i++)
        if (str_equal(code, str_of(iso_languages[i].code)))
            return true;
    return false;
}

/* The code of two letters, if there is one ("fi" for "fin"), else the code itself. */
static struct str shorter(struct str code)
{
    for (size_t i = 0; code.size == 3 && i < iso_language_count; i++)
        if (str_equal(code, str_of(iso_languages[i].three)) || str_equal(code, str_of(iso_languages[i].older)))
            return str_of(iso_languages[i].code);
    return code;
}

/* The part before the first '-'. */
static struct str base_of(struct str code)
{
    const char *dash = memchr(code.data, '-', code.size);
    return dash ? str_range(code.data, dash) : code;
}

/* What may follow a code: "", "-AT", "-latn-rs". */
static bool are_subtags(struct str text)
{
    size_t letters = 8;
    for (size_t i = 0; i < text.size; i++) {
        const char c = text.data[i];
        if (c == '-' ? letters < 2 : !(ascii_is_letter(c) || ascii_is_digit(c)))
            return false;
        letters = c == '-' ? 0 : letters + 1;
        if (c != '-' && letters > 8)
            return false;
    }
    return text.size == 0 || (text.data[0] == '-' && letters >= 2);
}

static struct str fold(struct str typed, char out[CODE_BYTES_MAX])
{
    if (typed.size >= CODE_BYTES_MAX)
        return STR("");
    for (size_t i = 0; i < typed.size; i++) {
        const char c = typed.data[i];
        out[i] = c == '_' ? '-' : ascii_lower(c);
    }
    return (struct str){out, typed.size};
}

bool code_read(struct str typed, char out[CODE_BYTES_MAX])
{
    char folded[CODE_BYTES_MAX];
    struct str code = fold(typed, folded);
    if (code.size > 4 && str_ends(code, STR("wiki")) && is_code((struct str){code.data, code.size - 4}))
        code.size -= 4;
    if (code.size == 0)
        return false;
    if (!is_code(code)) {
        const struct str base = base_of(code);
        if (!is_code(base) || !are_subtags(str_range(base.data + base.size, code.data + code.size)))
            return false;
    }
    code = shorter(code);
    memcpy(out, code.data, code.size);
    out[code.size] = '\0';
    return true;
}

static struct str lower(struct str text, char *out)
{
    for (size_t i = 0; i < text.size; i++)
        out[i] = ascii_lower(text.data[i]);
    return (struct str){out, text.size};
}

/* The distance between what was typed and a name or code; UINT32_MAX: not similar. */
static uint32_t unlikeness(struct str typed, struct str other)
{
    if (str_equal_ascii_nocase(typed, other))
        return 0;
    const bool shorter_than = typed.size >= 4 && typed.size < other.size;
    if (shorter_than && str_equal_ascii_nocase(typed, (struct str){other.data, typed.size}))
        return 1;
    char left[64], right[64];
    if (typed.size > sizeof left - 1 || other.size > sizeof right - 1)
        return UINT32_MAX;
    const uint32_t far = str_distance(lower(typed, left), lower(other, right));
    return far <= 1 + typed.size / 4 && far < typed.size ? 1 + far : UINT32_MAX;
}

const char *code_nearest(struct str typed)
{
    const char *best = NULL;
    uint32_t least = UINT32_MAX;
    char folded[CODE_BYTES_MAX];
    const struct str code = base_of(fold(typed, folded));
    for (size_t i = 0; i < iso_language_count; i++) {
        const struct iso_language *language = &iso_languages[i];
        uint32_t far = unlikeness(typed, str_of(language->name));
        if (code.size >= 2 && code.size <= 3) {
            const uint32_t spelled = unlikeness(code, str_of(language->code));
            /* In a code of two letters, people do not get the first letter wrong. */
            if (spelled < far && code.data[0] == language->code[0])
                far = spelled;
        }
        if (far < least) {
            least = far;
            best = language->code;
        }
    }
    return best;
}

const char *code_name(struct str code)
{
    for (size_t pass = 0; pass < 2; pass++) {
        const struct str wanted = pass == 0 ? code : base_of(code);
        for (size_t i = 0; i < iso_language_count; i++)
            if (str_equal(wanted, str_of(iso_languages[i].code)))
                return iso_languages[i].name;
    }
    return NULL;
}
