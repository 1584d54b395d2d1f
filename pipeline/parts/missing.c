/* Merges the tallies of pages, and stores them in the journal. */
#include "pipeline/parts/missing.h"

void missing_merge(struct missing *into, const struct missing *from)
{
    tally_merge(&into->templates, &from->templates);
    tally_merge(&into->holes, &from->holes);
    tally_merge(&into->sentences, &from->sentences);
    tally_merge(&into->leaks, &from->leaks);
    tally_merge(&into->languages, &from->languages);
    examples_merge(&into->dropped, &from->dropped);
}

void missing_reset(struct missing *missing)
{
    tally_reset(&missing->templates);
    tally_reset(&missing->holes);
    tally_reset(&missing->sentences);
    tally_reset(&missing->leaks);
    tally_reset(&missing->languages);
    missing->dropped = (struct examples){0};
}

void missing_release(struct missing *missing)
{
    tally_release(&missing->templates);
    tally_release(&missing->holes);
    tally_release(&missing->sentences);
    tally_release(&missing->leaks);
    tally_release(&missing->languages);
}

void missing_add(struct tally *tally, struct str name, uint64_t count)
{
    if (name.size > TALLY_NAME_BYTES_MAX)
        for (name.size = TALLY_NAME_BYTES_MAX; name.size > 0 && ((unsigned char)name.data[name.size] & 0xC0) == 0x80;)
            name.size--; /* to the end of a character */
    tally_add(tally, name, count, count);
}

static void worst(const struct tally *tally, const char *open, const char *close, struct buf *out)
{
    uint32_t top[5];
    const size_t count = tally_top(tally, top, sizeof top / sizeof *top);
    for (size_t i = 0; i < count; i++)
        buf_addf(out, "%s%s%s%s %llu", i ? ", " : "", open, tally_name(tally, &tally->rows[top[i]]), close,
                 (unsigned long long)tally->rows[top[i]].count);
}

void missing_worst(const struct tally *templates, struct buf *out)
{
    worst(templates, "{{", "}}", out);
}

void missing_worst_leaks(const struct missing *missing, struct buf *out)
{
    worst(&missing->leaks, "", "", out);
}

json_t *missing_json(const struct missing *missing)
{
    return json_pack("{so so so so so so}", "templates", tally_json(&missing->templates), "holes",
                     tally_json(&missing->holes), "sentences", tally_json(&missing->sentences), "leaks",
                     tally_json(&missing->leaks), "languages", tally_json(&missing->languages), "dropped",
                     examples_json(&missing->dropped));
}

bool missing_read(struct missing *missing, const json_t *json)
{
    const bool good = tally_read(&missing->templates, json_object_get(json, "templates")) &&
                      tally_read(&missing->holes, json_object_get(json, "holes")) &&
                      tally_read(&missing->sentences, json_object_get(json, "sentences")) &&
                      tally_read(&missing->leaks, json_object_get(json, "leaks")) &&
                      tally_read(&missing->languages, json_object_get(json, "languages")) &&
                      examples_read(&missing->dropped, json_object_get(json, "dropped"));
    if (!good)
        missing_reset(missing);
    return good;
}
