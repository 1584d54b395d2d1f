/* Finds the units of {{convert}}, by their codes and as languages with letters of their own write them. */
#include "pipeline/text/templates/units.h"

#include "pipeline/text/words/word_lists.h"

const struct unit *unit_find(struct str code)
{
    const size_t row = row_find(&units->code, unit_count, sizeof *units, code);
    return row < unit_count ? &units[row] : NULL;
}

/* What Cyrillic wikis write where the table has no row: for some languages Unicode's data has Latin symbols. */
static const char *const cyrillic_units[][2] = {
    {"MW", "МВт"}, {"W", "Вт"},    {"cm", "см"}, {"g", "г"},   {"ha", "га"}, {"kW", "кВт"}, {"kg", "кг"},
    {"km", "км"},  {"km2", "км2"}, {"m", "м"},   {"m2", "м2"}, {"m3", "м3"}, {"mm", "мм"},  {"t", "т"},
};
#define CYRILLIC_UNITS (sizeof cyrillic_units / sizeof *cyrillic_units)

static bool is_cyrillic(struct str language)
{
    LOCAL_WORDS(codes, "ba", "be", "bg", "ce", "cv", "kk", "ky", "mk", "mn", "ru", "sr", "tg", "tt", "uk");
    return words_have(codes, language);
}

/* The rows of a wiki's language. */
static const struct local_unit *rows_of(struct str wiki, size_t *count)
{
    const bool is_arabic = str_equal(wiki, STR("arz")) || str_equal(wiki, STR("ary"));
    const struct str language = is_arabic ? STR("ar") : wiki;
    size_t all, low = 0;
    const struct local_unit *rows = local_unit_table(&all);
    for (size_t high = all; low < high;) {
        const size_t middle = low + (high - low) / 2;
        if (str_compare(str_of(rows[middle].language), language) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    size_t end = low;
    while (end < all && str_equal(str_of(rows[end].language), language))
        end++;
    *count = end - low;
    return rows + low;
}

const char *local_unit_shown(struct str wiki, const char *symbol)
{
    size_t count;
    const struct local_unit *rows = rows_of(wiki, &count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].symbol, symbol) == 0)
            return rows[i].shown;
    for (size_t i = 0; i < CYRILLIC_UNITS && is_cyrillic(wiki); i++)
        if (strcmp(cyrillic_units[i][0], symbol) == 0)
            return cyrillic_units[i][1];
    return NULL;
}

/* True if the text is what a row shows, whichever marks stand for the Hebrew ones. */
static bool is_shown(const char *shown, struct str text)
{
    static const char *const marks[][2] = {{"״", "\""}, {"׳", "'"}};
    struct str rest = str_of(shown);
    while (rest.size > 0 && text.size > 0) {
        size_t size = 1;
        for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
            if (str_starts(rest, str_of(marks[i][0])) && str_starts(text, str_of(marks[i][1])))
                size = strlen(marks[i][0]);
        if (size == 1 && rest.data[0] != text.data[0])
            return false;
        rest = str_from(rest, size);
        text = str_from(text, 1);
    }
    return rest.size == 0 && text.size == 0;
}

const struct unit *local_unit_find(struct str wiki, struct str shown)
{
    size_t count;
    const struct local_unit *rows = rows_of(wiki, &count);
    for (size_t i = 0; i < count; i++)
        if (is_shown(rows[i].shown, shown))
            return unit_find(str_of(rows[i].symbol));
    for (size_t i = 0; i < CYRILLIC_UNITS && is_cyrillic(wiki); i++)
        if (str_equal(str_of(cyrillic_units[i][1]), shown))
            return unit_find(str_of(cyrillic_units[i][0]));
    return NULL;
}
