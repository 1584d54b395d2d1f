/* --only-lang. */
#include "base/mem.h"
#include "pipeline/clean/filter.h"
#include "pipeline/text/words/guess.h"

#include <stdio.h>
#include <string.h>

/* The codes, each between commas: ",af,nl,". */
struct wanted {
    char *list;
};

static bool is_wanted(const struct wanted *wanted, const char *code)
{
    char between[16];
    const size_t size = strlen(code);
    if (size == 0 || size > sizeof between - 3)
        return false;
    snprintf(between, sizeof between, ",%s,", code);
    return strstr(wanted->list, between) != NULL;
}

static void close_wanted(void *state)
{
    struct wanted *wanted = state;
    mem_free(wanted->list);
    mem_free(wanted);
}

static int open_wanted(const struct dsdata_settings *settings, void **state, struct error *err)
{
    struct buf list = {0};
    if (!settings->only_lang)
        return 0;
    buf_add_byte(&list, ',');
    for (const char *at = settings->only_lang;; at++) {
        const size_t size = strcspn(at, ",");
        if (!language_is_guessed((struct str){at, size})) {
            struct buf codes = {0};
            language_guessed_codes(&codes);
            fail(err, ERR_USAGE, "--only-lang %s: the language \"%.*s\" cannot be recognised", settings->only_lang,
                 (int)size, at);
            hint(err, "these can: %s", buf_text(&codes));
            buf_release(&codes);
            buf_release(&list);
            return -1;
        }
        buf_addf(&list, "%.*s,", (int)size, at);
        at += size;
        if (!*at)
            break;
    }
    struct wanted *wanted = mem_clear(1, sizeof *wanted);
    wanted->list = mem_copy_text(buf_text(&list));
    buf_release(&list);
    *state = wanted;
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
    const struct wanted *wanted = state;
    json_object_set_new(recipe, "only-lang", json_stringn(wanted->list + 1, strlen(wanted->list) - 2));
}

const struct filter language_filter = {
    .open = open_wanted, .close = close_wanted, .judge = judge, .identify = identify};
