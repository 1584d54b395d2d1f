#include "pipeline/text/words/languages.h"

/* It has no starters: English words must not cut another language's sentences. Many write ordinals with a dot. */
static const struct language unknown = {
    .code = "",
    .abbreviations = WORDS("cf", "dr", "mr", "mrs", "ms", "prof", "st", "vs"),
    .ordinal_dot = true,
};

/* Codes whose languages are near enough to share tables. */
static const char *const same[][2] = {{"bs", "hr"}, {"nb", "no"}, {"nn", "no"}, {"sh", "hr"}};

const struct language *language_english(void)
{
    return &language_tables[0]; /* cmake/tables.cmake writes it first */
}

const struct language *language_find(struct str code)
{
    char folded[NAME_BYTES_MAX];
    struct str name = name_fold(code, folded);
    if (str_ends(name, STR("wiki")))
        name.size -= 4;
    if (str_equal(name, STR("simple")))
        return language_english();
    struct str base = {name.data, 0};
    while (base.size < name.size && name.data[base.size] != '-' && name.data[base.size] != ' ')
        base.size++;
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        if (str_equal(base, str_of(same[i][0])))
            base = str_of(same[i][1]);
    for (size_t i = 0; i < language_count; i++)
        if (str_equal(base, str_of(language_tables[i].code)))
            return &language_tables[i];
    return &unknown;
}

bool language_is_code(struct str code)
{
    return words_have(wikipedia_codes, code);
}
