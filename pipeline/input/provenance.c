#include "pipeline/input/provenance.h"

#include "base/output.h"

#include <stdio.h>
#include <string.h>

#define LICENCE "CC BY-SA (https://foundation.wikimedia.org/wiki/Policy:Terms_of_Use)"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Finds a date of this century in a name, as dumps have it: 20261101 or 2026-11-01, without adjacent digits. */
static bool find_date(const char *name, char out[11])
{
    for (const char *at = name; *at; at++) {
        unsigned year, month, day;
        int size = 0;
        if (!is_digit(*at) || (at > name && is_digit(at[-1])))
            continue;
        if ((sscanf(at, "%4u-%2u-%2u%n", &year, &month, &day, &size) != 3 || size != 10) &&
            (sscanf(at, "%4u%2u%2u%n", &year, &month, &day, &size) != 3 || size != 8))
            continue;
        if (is_digit(at[size]) || year < 2000 || year > 2099 || month < 1 || month > 12 || day < 1 || day > 31)
            continue;
        snprintf(out, 11, "%04u-%02u-%02u", year % 10000, month % 100, day % 100);
        return true;
    }
    return false;
}

/* True for a Wikimedia wiki, whose text is under CC BY-SA. */
static bool is_share_alike(struct str base)
{
    static const char *const sites[] = {".wikipedia.org/",  ".wiktionary.org/",  ".wikibooks.org/", ".wikiquote.org/",
                                        ".wikisource.org/", ".wikiversity.org/", ".wikivoyage.org/"};
    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++)
        if (str_find(base, str_of(sites[i])) != SIZE_MAX)
            return true;
    return false;
}

static void set_text(json_t *object, const char *key, struct str text)
{
    if (text.size > 0)
        json_object_set_new(object, key, json_stringn(text.data, text.size));
}

json_t *provenance_json(const char *path, const struct siteinfo *siteinfo, const char *language)
{
    char date[11];
    const char *slash = strrchr(path, '/');
    const struct str wiki = siteinfo->dbname.data ? siteinfo->dbname : STR("");
    json_t *origin = json_pack("{so ss%}", "name", json_name(path), "wiki", wiki.data, wiki.size);
    set_text(origin, "lang", str_of(language));
    set_text(origin, "site", siteinfo->sitename);
    set_text(origin, "base", siteinfo->base);
    if (siteinfo->base.size > 0 && find_date(slash ? slash + 1 : path, date))
        set_text(origin, "date", str_of(date));
    if (is_share_alike(siteinfo->base))
        set_text(origin, "licence", STR(LICENCE));
    return origin;
}
