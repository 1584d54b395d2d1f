/* Filters: each judges a document by its text and language alone, and drops it for a reason or keeps it. build, extract
 * and the vocabulary pass ask them in one place (article_read), so all of them see the same documents. What is dropped
 * because of other documents is in repeats.h.
 *
 * A filter is a file of its own here with the row NAME_filter, a word in FILTER_LIST, its options in
 * pipeline/dsdata_options.c, and its reasons in enum page_fate (pipeline/parts/page_parts.h). They are asked in the
 * order of the list, and the first reason counts. */
#pragma once

#include "base/error.h"
#include "base/str.h"
#include "pipeline/clean/grams.h"
#include "pipeline/parts/dsdata_settings.h"
#include "pipeline/parts/page_parts.h"

#include <jansson.h>

#define FILTER_LIST(X) X(words) X(language) X(gopher) X(exclude)

/* Memory of one thread, used again for every document. A zeroed one is ready. */
struct filter_scratch {
    struct gram_scratch grams;
};
void filter_scratch_release(struct filter_scratch *scratch);

struct filter {
    /* *state stays NULL where no option asks for it. Else it is read-only afterwards, for any thread. */
    int (*open)(const struct dsdata_settings *settings, void **state, struct error *err);
    void (*close)(void *state);
    /* `text`: well-formed UTF-8, not blank; `language`: the code that was typed or that the input states; "": none. */
    enum page_fate (*judge)(const void *state, struct filter_scratch *scratch, struct str text, const char *language);
    /* Adds what decides a verdict to the recipe of a dataset, by the names of the options. */
    void (*identify)(const void *state, json_t *recipe);
};

#define DECLARE_FILTER(name) extern const struct filter name##_filter;
FILTER_LIST(DECLARE_FILTER)
#undef DECLARE_FILTER

/* All filters that the options ask for; NULL: none. */
struct filters;
int filters_open(struct filters **filters, const struct dsdata_settings *settings, struct error *err);
void filters_close(struct filters *filters);
/* PAGE_KEPT, or the first reason to drop it. */
enum page_fate filters_judge(const struct filters *filters, struct filter_scratch *scratch, struct str text,
                             const char *language);
void filters_identify(const struct filters *filters, json_t *recipe);
