#include "trainer/tune/tsv.h"

#include "trainer/data/input.h"

struct tsv tsv_begin(struct str text)
{
    return (struct tsv){.rest = str_without_mark(text)};
}

/* Cuts a row at its first tab: returns what is before it and leaves the rest. */
static struct str cut(struct str *row)
{
    const char *end = row->data + row->size, *tab = memchr(row->data, '\t', row->size);
    const struct str before = str_range(row->data, tab ? tab : end);
    *row = str_range(tab ? tab + 1 : end, end);
    return before;
}

bool tsv_next(struct tsv *tsv)
{
    struct str line;
    if (!input_line(&tsv->rest, &line))
        return false;
    tsv->line++;
    tsv->count = 0;
    for (bool more = true; more; tsv->count++) {
        more = line.size > 0 && memchr(line.data, '\t', line.size);
        tsv->last = cut(&line);
        if (tsv->count < TSV_COLUMNS_MAX)
            tsv->columns[tsv->count] = tsv->last;
    }
    return true;
}
