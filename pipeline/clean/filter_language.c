/* --only-lang. */
#include "base/mem.h"
#include "pipeline/clean/filter.h"
#include "pipeline/text/words/guess.h"

#include <stdio.h>
#include <string.h>

/* The state is the list of codes, each between commas: ",af,nl,". */
static bool is_wanted(const char *list, const char *code)
{
    char between[16];
    const size_t size = strlen(code);
    if (size == 0 || size > sizeof between - 3)
        return false;
    snprintf(between, sizeof between, ",%s,", code);
    return strstr(list, between) != NULL;
}

static int open_wanted(const struct dsdata_settings *settings, void **state, struct error *err)
{
    SCOPED(buf_release) struct buf list = {0};
    if (!settings->only_lang)
        return 0;
    buf_add_byte(&list, ',');
    for (const char *at = settings->only_lang;; at++) {
        const size_t size = strcspn(at, ",");
        if (!language_is_guessed((struct str){at, size})) {
            SCOPED(buf_release) struct buf codes = {0};
            language_guessed_codes(&codes);
            fail(err, ERR_USAGE, "--only-lang %s: the language \"%.*s\" cannot be recognised", settings->only_lang,
                 (int)size, at);
            return hint(err, "these can: %s", buf_text(&codes));
        }
        buf_addf(&list, "%.*s,", (int)size, at);
        at += size;
        if (!*at)
            break;
    }
    *state = mem_copy_text(buf_text(&list));
    return 0;
}

/* A text of no clear language, mostly a short one, is in the language of its input, if that is known. */
static enum page_fate judge(const void *state, struct filter_scratch *scratch, struct str text, const char *language)
{
    const char *guess = language_guess(text);
    (void)scratch;
    return is_wanted(state, guess ? guess : language) ? PAGE_KEPT : PAGE_LANGUAGE;
}

static void identify(const void *state, json_t *recipe)
{
    const char *list = state;
    json_object_set_new(recipe, "only-lang", json_stringn(list + 1, strlen(list) - 2));
}

const struct filter language_filter = {.open = open_wanted, .close = mem_free, .judge = judge, .identify = identify};
