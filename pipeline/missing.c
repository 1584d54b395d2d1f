/* Merges the tallies of pages, and stores them in the journal. */
#include "pipeline/missing.h"

void missing_merge(struct missing *into, const struct missing *from)
{
    tally_merge(&into->templates, &from->templates);
    tally_merge(&into->holes, &from->holes);
    tally_merge(&into->sentences, &from->sentences);
    tally_merge(&into->languages, &from->languages);
}

void missing_reset(struct missing *missing)
{
    tally_reset(&missing->templates);
    tally_reset(&missing->holes);
    tally_reset(&missing->sentences);
    tally_reset(&missing->languages);
}

void missing_release(struct missing *missing)
{
    tally_release(&missing->templates);
    tally_release(&missing->holes);
    tally_release(&missing->sentences);
    tally_release(&missing->languages);
}

void missing_worst(const struct tally *templates, struct buf *out)
{
    uint32_t top[5];
    const size_t count = tally_top(templates, top, sizeof top / sizeof *top);
    for (size_t i = 0; i < count; i++)
        buf_addf(out, "%s{{%s}} %llu", i ? ", " : "", tally_name(templates, &templates->rows[top[i]]),
                 (unsigned long long)templates->rows[top[i]].count);
}

json_t *missing_json(const struct missing *missing)
{
    return json_pack("{so so so so}", "templates", tally_json(&missing->templates), "holes",
                     tally_json(&missing->holes), "sentences", tally_json(&missing->sentences), "languages",
                     tally_json(&missing->languages));
}

bool missing_read(struct missing *missing, const json_t *json)
{
    const bool good = tally_read(&missing->templates, json_object_get(json, "templates")) &&
                      tally_read(&missing->holes, json_object_get(json, "holes")) &&
                      tally_read(&missing->sentences, json_object_get(json, "sentences")) &&
                      tally_read(&missing->languages, json_object_get(json, "languages"));
    if (!good)
        missing_reset(missing);
    return good;
}
