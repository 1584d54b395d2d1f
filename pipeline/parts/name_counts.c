#include "pipeline/parts/name_counts.h"

#include "base/hash.h"
#include "base/mem.h"

#include <assert.h>
#include <stdlib.h>

#define SLOTS_MIN 256u

static void put_slot(struct name_counts *table, uint32_t index)
{
    assert(index < table->slot_count / 2); /* a search ends at a free slot */
    size_t at = table->rows[index].hash & (table->slot_count - 1);
    while (table->slots[at])
        at = (at + 1) & (table->slot_count - 1);
    table->slots[at] = index + 1;
}

/* At most half of the slots are used. */
static void make_slots(struct name_counts *table, size_t rows)
{
    if (table->slot_count < 2 * rows) {
        table->slot_count = table->slot_count ? table->slot_count * 2 : SLOTS_MIN;
        mem_free(table->slots);
        table->slots = mem_clear(table->slot_count, sizeof *table->slots);
    } else {
        memset(table->slots, 0, table->slot_count * sizeof *table->slots);
    }
    for (size_t i = 0; i < table->count; i++)
        put_slot(table, (uint32_t)i);
}

static struct name_count *find(const struct name_counts *table, struct str name, uint32_t hash)
{
    if (table->slot_count == 0)
        return NULL;
    for (size_t at = hash & (table->slot_count - 1); table->slots[at]; at = (at + 1) & (table->slot_count - 1)) {
        struct name_count *row = &table->rows[table->slots[at] - 1];
        if (row->hash == hash && str_equal(str_of(name_counts_name(table, row)), name))
            return row;
    }
    return NULL;
}

/* The largest value that the row's bytes may really have. */
static uint64_t upper(const struct name_count *row)
{
    return row->bytes + row->missed;
}

static int compare_falling(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left < right) - (left > right);
}

/* Forgets the rows up to the median. */
static void forget(struct name_counts *table)
{
    uint64_t *uppers = mem_array(table->count, sizeof *uppers);
    for (size_t i = 0; i < table->count; i++)
        uppers[i] = upper(&table->rows[i]);
    qsort(uppers, table->count, sizeof *uppers, compare_falling);
    table->missed = uppers[table->count / 2];
    mem_free(uppers);

    const struct buf names = table->names;
    size_t kept = 0;
    table->names = (struct buf){0};
    for (size_t i = 0; i < table->count; i++) {
        struct name_count row = table->rows[i];
        if (upper(&row) <= table->missed)
            continue;
        const char *name = names.data + row.name_at;
        row.name_at = (uint32_t)table->names.size;
        buf_add(&table->names, name, strlen(name) + 1);
        table->rows[kept++] = row;
    }
    assert(kept <= table->count / 2);
    table->count = kept;
    mem_free(names.data);
    make_slots(table, kept);
}

static struct name_count *add_row(struct name_counts *table, struct str name, uint32_t hash)
{
    assert(name.size <= NAME_COUNTS_BYTES_MAX);
    if (table->count == NAME_COUNTS_MAX)
        forget(table);
    table->rows = mem_room(table->rows, table->count + 1, &table->capacity, sizeof *table->rows);
    if (table->slot_count < 2 * (table->count + 1))
        make_slots(table, table->count + 1);
    struct name_count *row = &table->rows[table->count];
    *row = (struct name_count){.missed = table->missed, .name_at = (uint32_t)table->names.size, .hash = hash};
    buf_add_str(&table->names, name);
    buf_add_byte(&table->names, '\0');
    put_slot(table, (uint32_t)table->count++);
    return row;
}

static struct name_count *row_of(struct name_counts *table, struct str name)
{
    const uint32_t hash = (uint32_t)hash64(name.data, name.size);
    struct name_count *row = find(table, name, hash);
    return row ? row : add_row(table, name, hash);
}

void name_counts_add(struct name_counts *table, struct str name, uint64_t count, uint64_t bytes)
{
    struct name_count *row = row_of(table, name);
    row->count += count;
    row->bytes += bytes;
}

void name_counts_merge(struct name_counts *into, const struct name_counts *from)
{
    assert(into != from);
    into->missed += from->missed;
    for (size_t i = 0; from->missed > 0 && i < into->count; i++)
        into->rows[i].missed += from->missed;
    for (size_t i = 0; i < from->count; i++)
        name_counts_add(into, str_of(name_counts_name(from, &from->rows[i])), from->rows[i].count, from->rows[i].bytes);
}

void name_counts_reset(struct name_counts *table)
{
    table->count = 0;
    table->missed = 0;
    buf_reset(&table->names);
    if (table->slots)
        memset(table->slots, 0, table->slot_count * sizeof *table->slots);
}

void name_counts_release(struct name_counts *table)
{
    mem_free(table->rows);
    mem_free(table->slots);
    buf_release(&table->names);
    *table = (struct name_counts){0};
}

/* True if row a comes before row b in the order of name_counts_top. */
static bool is_before(const struct name_counts *table, uint32_t a, uint32_t b)
{
    const struct name_count *left = &table->rows[a], *right = &table->rows[b];
    if (left->bytes != right->bytes)
        return left->bytes > right->bytes;
    return strcmp(name_counts_name(table, left), name_counts_name(table, right)) < 0;
}

size_t name_counts_top(const struct name_counts *table, uint32_t *out, size_t max)
{
    size_t count = 0;
    for (uint32_t i = 0; i < table->count && max > 0; i++) {
        if (count == max && !is_before(table, i, out[count - 1]))
            continue;
        size_t at = count < max ? count++ : max - 1;
        for (; at > 0 && is_before(table, i, out[at - 1]); at--)
            out[at] = out[at - 1];
        out[at] = i;
    }
    return count;
}

json_t *name_counts_json(const struct name_counts *table)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < table->count; i++) {
        const struct name_count *row = &table->rows[i];
        json_array_append_new(rows, json_pack("[sIII]", name_counts_name(table, row), (json_int_t)row->count,
                                              (json_int_t)row->bytes, (json_int_t)row->missed));
    }
    return json_pack("{sI so}", "missed", (json_int_t)table->missed, "rows", rows);
}

static bool read_row(struct name_counts *table, json_t *json)
{
    const char *name;
    size_t size;
    json_int_t count, bytes, missed;
    if (json_unpack(json, "[s%III!]", &name, &size, &count, &bytes, &missed) < 0 || size > NAME_COUNTS_BYTES_MAX ||
        count < 0 || bytes < 0 || missed < 0 || table->count == NAME_COUNTS_MAX)
        return false;
    const size_t before = table->count;
    struct name_count *row = row_of(table, (struct str){name, size});
    row->count = (uint64_t)count;
    row->bytes = (uint64_t)bytes;
    row->missed = (uint64_t)missed;
    return table->count > before; /* each name once */
}

bool name_counts_read(struct name_counts *table, const json_t *json)
{
    const json_t *missed = json_object_get(json, "missed"), *rows = json_object_get(json, "rows");
    bool good = json_is_integer(missed) && json_integer_value(missed) >= 0 && json_is_array(rows);
    name_counts_reset(table);
    for (size_t i = 0; good && i < json_array_size(rows); i++)
        good = read_row(table, json_array_get(rows, i));
    if (good)
        table->missed = (uint64_t)json_integer_value(missed);
    else
        name_counts_reset(table);
    return good;
}
