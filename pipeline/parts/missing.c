/* Merges the tallies of pages, and stores them in the journal. */
#include "pipeline/parts/missing.h"

void missing_merge(struct missing *into, const struct missing *from)
{
    name_counts_merge(&into->templates, &from->templates);
    name_counts_merge(&into->holes, &from->holes);
    name_counts_merge(&into->sentences, &from->sentences);
    name_counts_merge(&into->leaks, &from->leaks);
    name_counts_merge(&into->languages, &from->languages);
    examples_merge(&into->dropped, &from->dropped);
}

void missing_reset(struct missing *missing)
{
    name_counts_reset(&missing->templates);
    name_counts_reset(&missing->holes);
    name_counts_reset(&missing->sentences);
    name_counts_reset(&missing->leaks);
    name_counts_reset(&missing->languages);
    missing->dropped = (struct examples){0};
}

void missing_release(struct missing *missing)
{
    name_counts_release(&missing->templates);
    name_counts_release(&missing->holes);
    name_counts_release(&missing->sentences);
    name_counts_release(&missing->leaks);
    name_counts_release(&missing->languages);
}

void missing_add(struct name_counts *table, struct str name, uint64_t count)
{
    if (name.size > NAME_COUNTS_BYTES_MAX)
        for (name.size = NAME_COUNTS_BYTES_MAX; name.size > 0 && ((unsigned char)name.data[name.size] & 0xC0) == 0x80;)
            name.size--; /* to the end of a character */
    name_counts_add(table, name, count, count);
}

static void worst(const struct name_counts *table, const char *open, const char *close, struct buf *out)
{
    uint32_t top[5];
    const size_t count = name_counts_top(table, top, sizeof top / sizeof *top);
    for (size_t i = 0; i < count; i++)
        buf_addf(out, "%s%s%s%s %llu", i ? ", " : "", open, name_counts_name(table, &table->rows[top[i]]), close,
                 (unsigned long long)table->rows[top[i]].count);
}

void missing_worst(const struct name_counts *templates, struct buf *out)
{
    worst(templates, "{{", "}}", out);
}

void missing_worst_leaks(const struct missing *missing, struct buf *out)
{
    worst(&missing->leaks, "", "", out);
}

json_t *missing_json(const struct missing *missing)
{
    return json_pack("{so so so so so so}", "templates", name_counts_json(&missing->templates), "holes",
                     name_counts_json(&missing->holes), "sentences", name_counts_json(&missing->sentences), "leaks",
                     name_counts_json(&missing->leaks), "languages", name_counts_json(&missing->languages), "dropped",
                     examples_json(&missing->dropped));
}

bool missing_read(struct missing *missing, const json_t *json)
{
    const bool good = name_counts_read(&missing->templates, json_object_get(json, "templates")) &&
                      name_counts_read(&missing->holes, json_object_get(json, "holes")) &&
                      name_counts_read(&missing->sentences, json_object_get(json, "sentences")) &&
                      name_counts_read(&missing->leaks, json_object_get(json, "leaks")) &&
                      name_counts_read(&missing->languages, json_object_get(json, "languages")) &&
                      examples_read(&missing->dropped, json_object_get(json, "dropped"));
    if (!good)
        missing_reset(missing);
    return good;
}
