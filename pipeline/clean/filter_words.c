/* --min-words, --max-words. */
#include "base/mem.h"
#include "pipeline/clean/filter.h"
#include "pipeline/text/words/count.h"

struct bounds {
    uint64_t min, max; /* 0: no bound */
};

static int open_bounds(const struct dsdata_settings *settings, void **state, struct error *err)
{
    const struct bounds bounds = {settings->min_words, settings->max_words};
    if (bounds.max > 0 && bounds.min > bounds.max)
        return fail(err, ERR_USAGE, "--min-words %llu and --max-words %llu leave nothing",
                    (unsigned long long)bounds.min, (unsigned long long)bounds.max);
    if (bounds.min > 0 || bounds.max > 0) {
        *state = mem_clear(1, sizeof bounds);
        *(struct bounds *)*state = bounds;
    }
    return 0;
}

static enum page_fate judge(const void *state, struct filter_scratch *scratch, struct str text, const char *language)
{
    const struct bounds *bounds = state;
    (void)scratch;
    (void)language;
    const uint64_t enough = bounds->max > 0 ? bounds->max + 1 : bounds->min, words = words_count(text, enough);
    return words < bounds->min ? PAGE_SHORT : bounds->max > 0 && words > bounds->max ? PAGE_LONG : PAGE_KEPT;
}

static void identify(const void *state, json_t *recipe)
{
    const struct bounds *bounds = state;
    if (bounds->min > 0)
        json_object_set_new(recipe, "min-words", json_integer((json_int_t)bounds->min));
    if (bounds->max > 0)
        json_object_set_new(recipe, "max-words", json_integer((json_int_t)bounds->max));
}

const struct filter words_filter = {.open = open_bounds, .close = mem_free, .judge = judge, .identify = identify};
