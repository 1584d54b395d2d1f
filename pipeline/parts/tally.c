#include "pipeline/parts/tally.h"

#include "base/hash.h"
#include "base/mem.h"

#include <assert.h>
#include <stdlib.h>

#define SLOTS_MIN 256u

static void put_slot(struct tally *tally, uint32_t index)
{
    assert(index < tally->slot_count / 2); /* a search ends at a free slot */
    size_t at = tally->rows[index].hash & (tally->slot_count - 1);
    while (tally->slots[at])
        at = (at + 1) & (tally->slot_count - 1);
    tally->slots[at] = index + 1;
}

/* At most half of the slots are used. */
static void make_slots(struct tally *tally, size_t rows)
{
    if (tally->slot_count < 2 * rows) {
        tally->slot_count = tally->slot_count ? tally->slot_count * 2 : SLOTS_MIN;
        mem_free(tally->slots);
        tally->slots = mem_clear(tally->slot_count, sizeof *tally->slots);
    } else {
        memset(tally->slots, 0, tally->slot_count * sizeof *tally->slots);
    }
    for (size_t i = 0; i < tally->count; i++)
        put_slot(tally, (uint32_t)i);
}

static struct tally_row *find(const struct tally *tally, struct str name, uint32_t hash)
{
    if (tally->slot_count == 0)
        return NULL;
    for (size_t at = hash & (tally->slot_count - 1); tally->slots[at]; at = (at + 1) & (tally->slot_count - 1)) {
        struct tally_row *row = &tally->rows[tally->slots[at] - 1];
        if (row->hash == hash && str_equal(str_of(tally_name(tally, row)), name))
            return row;
    }
    return NULL;
}

/* The largest value that the row's bytes may really have. */
static uint64_t upper(const struct tally_row *row)
{
    return row->bytes + row->missed;
}

static int compare_falling(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left < right) - (left > right);
}

/* Forgets the rows up to the median. */
static void forget(struct tally *tally)
{
    uint64_t *uppers = mem_array(tally->count, sizeof *uppers);
    for (size_t i = 0; i < tally->count; i++)
        uppers[i] = upper(&tally->rows[i]);
    qsort(uppers, tally->count, sizeof *uppers, compare_falling);
    tally->missed = uppers[tally->count / 2];
    mem_free(uppers);

    const struct buf names = tally->names;
    size_t kept = 0;
    tally->names = (struct buf){0};
    for (size_t i = 0; i < tally->count; i++) {
        struct tally_row row = tally->rows[i];
        if (upper(&row) <= tally->missed)
            continue;
        const char *name = names.data + row.name_at;
        row.name_at = (uint32_t)tally->names.size;
        buf_add(&tally->names, name, strlen(name) + 1);
        tally->rows[kept++] = row;
    }
    assert(kept <= tally->count / 2);
    tally->count = kept;
    mem_free(names.data);
    make_slots(tally, kept);
}

static struct tally_row *add_row(struct tally *tally, struct str name, uint32_t hash)
{
    assert(name.size <= TALLY_NAME_BYTES_MAX);
    if (tally->count == TALLY_NAMES_MAX)
        forget(tally);
    if (tally->count == tally->capacity) {
        tally->capacity = tally->capacity ? tally->capacity * 2 : SLOTS_MIN / 2;
        tally->rows = mem_grow(tally->rows, tally->capacity, sizeof *tally->rows);
    }
    if (tally->slot_count < 2 * (tally->count + 1))
        make_slots(tally, tally->count + 1);
    struct tally_row *row = &tally->rows[tally->count];
    *row = (struct tally_row){.missed = tally->missed, .name_at = (uint32_t)tally->names.size, .hash = hash};
    buf_add_str(&tally->names, name);
    buf_add_byte(&tally->names, '\0');
    put_slot(tally, (uint32_t)tally->count++);
    return row;
}

static struct tally_row *row_of(struct tally *tally, struct str name)
{
    const uint32_t hash = (uint32_t)hash64(name.data, name.size);
    struct tally_row *row = find(tally, name, hash);
    return row ? row : add_row(tally, name, hash);
}

void tally_add(struct tally *tally, struct str name, uint64_t count, uint64_t bytes)
{
    struct tally_row *row = row_of(tally, name);
    row->count += count;
    row->bytes += bytes;
}

void tally_merge(struct tally *into, const struct tally *from)
{
    assert(into != from);
    into->missed += from->missed;
    for (size_t i = 0; from->missed > 0 && i < into->count; i++)
        into->rows[i].missed += from->missed;
    for (size_t i = 0; i < from->count; i++)
        tally_add(into, str_of(tally_name(from, &from->rows[i])), from->rows[i].count, from->rows[i].bytes);
}

void tally_reset(struct tally *tally)
{
    tally->count = 0;
    tally->missed = 0;
    buf_reset(&tally->names);
    if (tally->slots)
        memset(tally->slots, 0, tally->slot_count * sizeof *tally->slots);
}

void tally_release(struct tally *tally)
{
    mem_free(tally->rows);
    mem_free(tally->slots);
    buf_release(&tally->names);
    *tally = (struct tally){0};
}

/* Is row a before row b in the order of tally_top? */
static bool is_before(const struct tally *tally, uint32_t a, uint32_t b)
{
    const struct tally_row *left = &tally->rows[a], *right = &tally->rows[b];
    if (left->bytes != right->bytes)
        return left->bytes > right->bytes;
    return strcmp(tally_name(tally, left), tally_name(tally, right)) < 0;
}

size_t tally_top(const struct tally *tally, uint32_t *out, size_t max)
{
    size_t count = 0;
    for (uint32_t i = 0; i < tally->count && max > 0; i++) {
        if (count == max && !is_before(tally, i, out[count - 1]))
            continue;
        size_t at = count < max ? count++ : max - 1;
        for (; at > 0 && is_before(tally, i, out[at - 1]); at--)
            out[at] = out[at - 1];
        out[at] = i;
    }
    return count;
}

json_t *tally_json(const struct tally *tally)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < tally->count; i++) {
        const struct tally_row *row = &tally->rows[i];
        json_array_append_new(rows, json_pack("[sIII]", tally_name(tally, row), (json_int_t)row->count,
                                              (json_int_t)row->bytes, (json_int_t)row->missed));
    }
    return json_pack("{sI so}", "missed", (json_int_t)tally->missed, "rows", rows);
}

static bool read_row(struct tally *tally, json_t *json)
{
    const char *name;
    size_t size;
    json_int_t count, bytes, missed;
    if (json_unpack(json, "[s%III!]", &name, &size, &count, &bytes, &missed) < 0 || size > TALLY_NAME_BYTES_MAX ||
        count < 0 || bytes < 0 || missed < 0 || tally->count == TALLY_NAMES_MAX)
        return false;
    const size_t before = tally->count;
    struct tally_row *row = row_of(tally, (struct str){name, size});
    row->count = (uint64_t)count;
    row->bytes = (uint64_t)bytes;
    row->missed = (uint64_t)missed;
    return tally->count > before; /* each name once */
}

bool tally_read(struct tally *tally, const json_t *json)
{
    const json_t *missed = json_object_get(json, "missed"), *rows = json_object_get(json, "rows");
    bool good = json_is_integer(missed) && json_integer_value(missed) >= 0 && json_is_array(rows);
    tally_reset(tally);
    for (size_t i = 0; good && i < json_array_size(rows); i++)
        good = read_row(tally, json_array_get(rows, i));
    if (good)
        tally->missed = (uint64_t)json_integer_value(missed);
    else
        tally_reset(tally);
    return good;
}
