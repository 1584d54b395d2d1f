#include "pipeline/parts/missing.h"

#include "base/mem.h"
#include "base/progress.h"
#include "pipeline/parts/counts.h"

#include <stdio.h>

#define SHOWN_BYTES 64u /* of a record without a title */

/* Copies as much of the text as fits, in whole characters. */
static void keep(const struct buf *text, char out[EXAMPLE_BYTES])
{
    SCOPED(buf_release) struct buf clean = {0};
    utf8_replace(buf_str(text), &clean);
    size_t size = clean.size < EXAMPLE_BYTES ? clean.size : EXAMPLE_BYTES - 1;
    while (size > 0 && size < clean.size && ((unsigned char)clean.data[size] & 0xC0) == 0x80)
        size--;
    for (size_t i = 0; i < size; i++)
        out[i] = (unsigned char)clean.data[i] < ' ' || clean.data[i] == 0x7F ? ' ' : clean.data[i];
    out[size] = '\0';
}

void examples_note(struct examples *examples, enum page_fate fate, const char *input, struct str title,
                   struct str bytes, uint64_t at)
{
    SCOPED(buf_release) struct buf text = {0};
    char offset[32];
    if (examples->items[fate][0])
        return;
    if (input)
        buf_addf(&text, "%s: ", input);
    if (title.size > 0) {
        buf_add_text(&text, "page ");
        buf_add_str(&text, title);
    } else {
        if (at != RECORD_NOWHERE)
            buf_addf(&text, "byte %s%s", format_count(at, offset), bytes.size > 0 ? ": " : "");
        buf_add_str(&text, (struct str){bytes.data, bytes.size < SHOWN_BYTES ? bytes.size : SHOWN_BYTES});
        if (bytes.size > SHOWN_BYTES) {
            while (text.size > 0 && ((unsigned char)bytes.data[SHOWN_BYTES] & 0xC0) == 0x80 &&
                   ((unsigned char)text.data[text.size - 1] & 0xC0) == 0x80)
                text.size--;
            buf_add_text(&text, "…");
        }
    }
    keep(&text, examples->items[fate]);
}

void examples_merge(struct examples *into, const struct examples *later)
{
    for (int fate = 0; fate < PAGE_FATES; fate++)
        if (!into->items[fate][0])
            memcpy(into->items[fate], later->items[fate], EXAMPLE_BYTES);
}

json_t *examples_json(const struct examples *examples)
{
    json_t *json = json_object();
    for (int fate = 0; fate < PAGE_FATES; fate++)
        if (examples->items[fate][0])
            json_object_set_new(json, page_fate_name((enum page_fate)fate), json_string(examples->items[fate]));
    return json;
}

bool examples_read(struct examples *examples, const json_t *json)
{
    *examples = (struct examples){0};
    for (int fate = 0; fate < PAGE_FATES; fate++) {
        const json_t *item = json_object_get(json, page_fate_name((enum page_fate)fate));
        const char *text = json_string_value(item);
        if (item && (!text || strlen(text) >= EXAMPLE_BYTES))
            return false;
        snprintf(examples->items[fate], EXAMPLE_BYTES, "%s", text ? text : "");
    }
    return json_is_object(json);
}

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
