#include "trainer/tune/labelled.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

#define HELD_OUT 10 /* one text in ten */

/* ---- rows ---- */

struct reading_rows {
    const struct labelled_options *options;
    struct table table;
    struct columns columns;
    struct class_cutter cutter;
};

static int bad(const struct reading_rows *r, struct str label, const char *what, struct error *err)
{
    return fail_at(err, ERR_INPUT, r->options->path, ERROR_NO_OFFSET,
                   "line %" PRIu64 ", column %.60s: the label \"%.*s\" is %s", r->table.line,
                   r->table.names[r->columns.label], (int)(label.size < 40 ? label.size : 40), label.data, what);
}

static int take_number(const struct reading_rows *r, struct str label, uint32_t *bits, struct error *err)
{
    char copy[64], *end = copy;
    float value = 0;
    if (label.size > 0 && label.size < sizeof copy) {
        memcpy(copy, label.data, label.size);
        copy[label.size] = '\0';
        value = strtof(copy, &end);
    }
    if (end == copy || (size_t)(end - copy) != label.size || !isfinite(value)) {
        bad(r, label, "no number", err);
        return hint(err, "--kind single takes labels that are names");
    }
    memcpy(bits, &value, sizeof value);
    return 0;
}

static int take_label(const struct reading_rows *r, struct labelled *rows, uint32_t *bits, struct error *err)
{
    const struct str label = str_trim(r->table.fields[r->columns.label]);
    const size_t row = rows->samples.count;
    *bits = 0;
    if (r->options->numbers)
        return take_number(r, label, bits, err);
    if (label.size == 0 || memchr(label.data, '\0', label.size))
        return bad(r, label, "empty, or has a NUL byte", err);
    if (label.size >= LABEL_NAME_SIZE)
        return bad(r, label, "longer than 63 bytes: is it the column of the labels? --label names it", err);
    if (row == rows->name_room) {
        rows->name_room = 2 * row + 1024;
        rows->name_at = mem_grow(rows->name_at, rows->name_room, sizeof *rows->name_at);
    }
    rows->name_at[row] = rows->names.size;
    buf_add_str(&rows->names, label);
    buf_add_byte(&rows->names, '\0');
    return 0;
}

static uint64_t hash_of(struct str a, const struct str *b)
{
    struct hash *hash = hash_open();
    hash_add(hash, a.data, a.size);
    hash_add(hash, "", 1);
    if (b)
        hash_add(hash, b->data, b->size);
    const uint64_t value = hash_value(hash);
    hash_close(hash);
    return value;
}

static int take_row(struct reading_rows *r, struct labelled *rows, struct labelled *held, struct error *err)
{
    const struct str a = r->table.fields[r->columns.text];
    const struct str *b = r->columns.text2 == COLUMN_NONE ? NULL : &r->table.fields[r->columns.text2];
    const uint64_t text = hash_of(a, b);
    uint32_t label;
    if (held && text % HELD_OUT == 0)
        rows = held;
    TRY(take_label(r, rows, &label, err));
    if (rows->samples.count == rows->text_room) {
        rows->text_room = 2 * rows->text_room + 1024;
        rows->texts = mem_grow(rows->texts, rows->text_room, sizeof *rows->texts);
    }
    rows->texts[rows->samples.count] = text;
    rows->empty += str_is_blank(a);
    class_cut(&r->cutter, a, b, label, &rows->samples);
    return 0;
}

static int read_rows(struct reading_rows *r, struct labelled *rows, struct labelled *held, struct error *err)
{
    TRY(table_open(&r->table, r->options->path, err));
    TRY(columns_choose(&r->table, &r->options->columns, true, &r->columns, err));
    if (!r->options->quiet)
        columns_say(&r->table, &r->columns);
    rows->pairs = r->columns.text2 != COLUMN_NONE;
    int more;
    while ((more = table_next(&r->table, err)) > 0)
        TRY(take_row(r, rows, held, err));
    TRY(more);
    if (rows->samples.count == 0)
        return fail_at(err, ERR_INPUT, r->options->path, ERROR_NO_OFFSET, "has no rows");
    return 0;
}

int labelled_read(const struct labelled_options *options, struct labelled *rows, struct labelled *held,
                  struct error *err)
{
    struct reading_rows r = {.options = options, .cutter = {.text = options->text, .length = options->length}};
    rows->samples.head = HEAD_CLASS;
    if (held)
        held->samples.head = HEAD_CLASS;
    const int result = read_rows(&r, rows, held, err);
    table_close(&r.table);
    class_cutter_release(&r.cutter);
    return result;
}

/* ---- labels ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

size_t labelled_names(const struct labelled *rows, const char ***names, uint64_t **counts)
{
    const size_t all = rows->samples.count;
    size_t count = 0;
    *names = mem_array(all + 1, sizeof **names);
    *counts = mem_array(all + 1, sizeof **counts);
    for (size_t i = 0; i < all; i++)
        (*names)[i] = rows->names.data + rows->name_at[i];
    qsort(*names, all, sizeof **names, by_name);
    for (size_t i = 0; i < all; i++) {
        const char *name = (*names)[i];
        if (count == 0 || strcmp(name, (*names)[count - 1]) != 0) {
            (*counts)[count] = 0;
            (*names)[count++] = name;
        }
        (*counts)[count - 1]++;
    }
    return count;
}

void labelled_resolve(struct labelled *rows, const char *const *names, size_t count)
{
    struct samples *samples = &rows->samples;
    size_t kept = 0, at = 0;
    for (size_t i = 0; i < samples->count; i++) {
        const char *name = rows->names.data + rows->name_at[i];
        const char *const *found = bsearch(&name, names, count, sizeof *names, by_name);
        if (!found && rows->unknown++ == 0)
            memccpy(rows->first, name, '\0', sizeof rows->first);
        if (!found)
            continue;
        struct task_sample item = samples->items[i];
        memmove(samples->ids + at, samples->ids + item.at, item.length * sizeof *samples->ids);
        item.at = at;
        item.label = (uint32_t)(found - names);
        at += item.length;
        rows->texts[kept] = rows->texts[i];
        samples->items[kept++] = item;
    }
    samples->count = kept;
    samples->id_count = at;
}

static int by_hash(const void *a, const void *b)
{
    const uint64_t one = *(const uint64_t *)a, two = *(const uint64_t *)b;
    return one < two ? -1 : one > two;
}

uint64_t labelled_shared(const struct labelled *some, const struct labelled *all)
{
    const size_t count = all->samples.count;
    uint64_t *sorted = mem_array(count + 1, sizeof *sorted), shared = 0;
    if (count > 0)
        memcpy(sorted, all->texts, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_hash);
    for (size_t i = 0; i < some->samples.count; i++)
        shared += bsearch(&some->texts[i], sorted, count, sizeof *sorted, by_hash) != NULL;
    mem_free(sorted);
    return shared;
}

void labelled_release(struct labelled *rows)
{
    samples_release(&rows->samples);
    buf_release(&rows->names);
    mem_free(rows->name_at);
    mem_free(rows->texts);
    *rows = (struct labelled){0};
}
