#include "pipeline/clean/filter.h"

#include "base/mem.h"

#define ROW(name) &name##_filter,
static const struct filter *const rows[] = {FILTER_LIST(ROW)};
#undef ROW
#define ROWS (sizeof rows / sizeof *rows)

struct filters {
    void *states[ROWS]; /* NULL: not asked for */
};

void filter_scratch_release(struct filter_scratch *scratch)
{
    gram_scratch_release(&scratch->grams);
}

int filters_open(struct filters **filters, const struct dsdata_settings *settings, struct error *err)
{
    struct filters *made = mem_clear(1, sizeof *made);
    bool any = false;
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i]->open(settings, &made->states[i], err) < 0) {
            filters_close(made);
            return -1;
        }
        any |= made->states[i] != NULL;
    }
    if (!any) {
        filters_close(made);
        made = NULL;
    }
    *filters = made;
    return 0;
}

void filters_close(struct filters *filters)
{
    for (size_t i = 0; filters && i < ROWS; i++)
        if (filters->states[i])
            rows[i]->close(filters->states[i]);
    mem_free(filters);
}

enum page_fate filters_judge(const struct filters *filters, struct filter_scratch *scratch, struct str text,
                             const char *language)
{
    enum page_fate fate = PAGE_KEPT;
    for (size_t i = 0; filters && fate == PAGE_KEPT && i < ROWS; i++)
        if (filters->states[i])
            fate = rows[i]->judge(filters->states[i], scratch, text, language);
    return fate;
}

void filters_identify(const struct filters *filters, json_t *recipe)
{
    for (size_t i = 0; filters && i < ROWS; i++)
        if (filters->states[i])
            rows[i]->identify(filters->states[i], recipe);
}
