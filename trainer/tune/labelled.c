#include "trainer/tune/labelled.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/json.h"

#define HELD_OUT 10 /* one text in ten */

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

static int take_label(const struct reading_rows *r, struct labelled *rows, uint32_t *bits, struct error *err)
{
    const struct str label = str_trim(r->table.fields[r->columns.label]);
    const size_t row = rows->samples.count;
    *bits = 0;
    if (r->options->numbers && class_number(label, bits))
        return 0;
    if (r->options->numbers) {
        bad(r, label, "no number", err);
        return hint(err, "--kind single takes labels that are names");
    }
    const bool several = r->options->several;
    rows->several = several;
    if ((label.size == 0 && !several) || (label.size > 0 && memchr(label.data, '\0', label.size))) {
        bad(r, label, "empty, or has a NUL byte", err);
        return hint(err, "give the row a label or leave it out; --kind multi takes texts without one");
    }
    if (label.size >= LABEL_NAME_SIZE && !several)
        return bad(r, label, "longer than 63 bytes: is it the column of the labels? --label names it", err);
    rows->name_at = mem_room(rows->name_at, row + 1, &rows->name_room, sizeof *rows->name_at);
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
    rows->texts = mem_room(rows->texts, rows->samples.count + 1, &rows->text_room, sizeof *rows->texts);
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

/* The end of a row's labels. */
static const char *labels_end(const struct labelled *rows, size_t row)
{
    return rows->names.data + (row + 1 < rows->samples.count ? rows->name_at[row + 1] : rows->names.size);
}

#define CELL_BYTES_MAX (1u << 20) /* of an array of labels */

static const char separators[] = {';', '|', ','};

/* Adds the label without the blanks around it, unless it is empty. */
static void add_label(struct str label, struct buf *names)
{
    label = str_trim(label);
    if (label.size == 0)
        return;
    buf_add_str(names, label);
    buf_add_byte(names, '\0');
}

/* Adds the labels of a cell, each ended by a NUL. */
static void split_cell(struct str cell, char separator, struct buf *names)
{
    json_error_t why;
    json_auto_t *array = str_starts(cell, STR("[")) ? json_parse(cell, CELL_BYTES_MAX, &why) : NULL;
    json_t *item;
    size_t i;
    json_array_foreach(array, i, item) if (json_is_string(item)) add_label(str_of(json_string_value(item)), names);
    for (bool more = !array; more;) {
        const char *end = cell.size > 0 ? memchr(cell.data, separator, cell.size) : NULL;
        const size_t size = end ? (size_t)(end - cell.data) : cell.size;
        more = end != NULL;
        add_label((struct str){cell.data, size}, names);
        cell = (struct str){cell.data + size + more, cell.size - size - more};
    }
}

/* All cells, cut. The ends of the rows go to ends[rows], unless that is NULL. */
static struct buf split_all(const struct labelled *rows, char separator, size_t *ends)
{
    struct buf names = {0};
    buf_reserve(&names, 1);
    for (size_t row = 0; row < rows->samples.count; row++) {
        split_cell(str_of(rows->names.data + rows->name_at[row]), separator, &names);
        if (ends)
            ends[row] = names.size;
    }
    return names;
}

char labelled_separator(const struct labelled *rows)
{
    char best = separators[0];
    size_t fewest = SIZE_MAX;
    for (size_t k = 0; k < sizeof separators; k++) {
        if (!memchr(rows->names.data, separators[k], rows->names.size))
            continue;
        struct labelled cut = {.names = split_all(rows, separators[k], NULL)};
        const char **names;
        uint64_t *counts;
        const size_t count = labelled_names(&cut, &names, &counts);
        if (count < fewest)
            best = separators[k];
        fewest = count < fewest ? count : fewest;
        mem_free(names);
        mem_free(counts);
        buf_release(&cut.names);
    }
    return best;
}

int labelled_split(struct labelled *rows, char separator, const char *path, struct error *err)
{
    const size_t count = rows->samples.count;
    size_t *ends = mem_array(count + 1, sizeof *ends), longest = 0;
    struct buf names = split_all(rows, separator, ends);
    for (size_t row = 0; row < count; row++)
        rows->name_at[row] = row > 0 ? ends[row - 1] : 0;
    mem_free(ends);
    buf_release(&rows->names);
    rows->names = names;
    for (size_t at = 0, size; at < names.size; at += size + 1) {
        size = strlen(names.data + at);
        longest = size > longest ? size : longest;
    }
    return longest < LABEL_NAME_SIZE
               ? 0
               : fail_at(err, ERR_INPUT, path, ERROR_NO_OFFSET,
                         "has a label of %zu bytes, more than 63: is it the column of the labels? --label names it",
                         longest);
}

bool labelled_bits(struct str cell, const char *const *names, size_t count, uint32_t *bits)
{
    SCOPED(buf_release) struct buf labels = {0};
    bool known = false;
    for (size_t k = 0; count <= BITS_LABELS && k < sizeof separators && !known; k++) {
        buf_reset(&labels);
        split_cell(str_trim(cell), separators[k], &labels);
        known = true;
        *bits = 0;
        for (size_t at = 0; at < labels.size && known; at += strlen(labels.data + at) + 1) {
            size_t i = 0;
            while (i < count && strcmp(names[i], labels.data + at) != 0)
                i++;
            known = i < count;
            *bits |= known ? 1u << i : 0;
        }
    }
    return known;
}

size_t labelled_names(const struct labelled *rows, const char ***names, uint64_t **counts)
{
    size_t count = 0, all = 0;
    for (size_t i = 0; i < rows->names.size; i++)
        all += rows->names.data[i] == '\0';
    *names = mem_array(all + 1, sizeof **names);
    *counts = mem_array(all + 1, sizeof **counts);
    const char *at = rows->names.data;
    for (size_t i = 0; i < all; i++, at += strlen(at) + 1)
        (*names)[i] = at;
    qsort(*names, all, sizeof **names, text_order);
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
        uint32_t label = 0;
        bool known = true;
        for (const char *name = rows->names.data + rows->name_at[i]; known && name < labels_end(rows, i);
             name += strlen(name) + 1) {
            const char *const *found = bsearch(&name, names, count, sizeof *names, text_order);
            known = found != NULL;
            if (!known && rows->unknown++ == 0)
                memccpy(rows->first, name, '\0', sizeof rows->first);
            const uint32_t place = known ? (uint32_t)(found - names) : 0;
            label = rows->several ? label | 1u << place : place;
        }
        if (!known)
            continue;
        struct task_sample item = samples->items[i];
        memmove(samples->ids + at, samples->ids + item.at, item.length * sizeof *samples->ids);
        item.at = at;
        item.label = label;
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
