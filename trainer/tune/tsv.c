/* Text in, rows out. */
#include "trainer/tune/tsv.h"

struct tsv tsv_begin(struct str text)
{
    const struct str mark = STR("\xef\xbb\xbf");
    if (str_starts(text, mark))
        text = (struct str){text.data + mark.size, text.size - mark.size};
    return (struct tsv){.rest = text};
}

/* Cuts `text` at the first `end`: what is before it comes back, what is behind stays. */
static struct str cut(struct str *text, char end)
{
    const char *at = memchr(text->data, end, text->size), *behind = text->data + text->size;
    const struct str before = str_range(text->data, at ? at : behind);
    *text = str_range(at ? at + 1 : behind, behind);
    return before;
}

bool tsv_next(struct tsv *tsv)
{
    if (tsv->rest.size == 0)
        return false;
    struct str line = cut(&tsv->rest, '\n');
    if (line.size > 0 && line.data[line.size - 1] == '\r')
        line.size--;
    tsv->line++;
    tsv->count = 0;
    for (bool more = true; more; tsv->count++) {
        more = line.size > 0 && memchr(line.data, '\t', line.size);
        tsv->last = cut(&line, '\t');
        if (tsv->count < TSV_COLUMNS_MAX)
            tsv->columns[tsv->count] = tsv->last;
    }
    return true;
}
