#include "pipeline/parts/account.h"

#include "base/log.h"
#include "base/mem.h"

static void say_documents(const struct counts *counts, bool of_pages)
{
    SCOPED(buf_release) struct buf dropped = {0};
    char count[32], kept[32];
    counts_dropped(counts, &dropped);
    log_say("%-10s %s of %s kept%s%s", of_pages ? "pages" : "documents", format_count(counts->pages[PAGE_KEPT], kept),
            format_count(counts_pages(counts), count), dropped.size ? "; dropped " : "",
            dropped.size ? buf_text(&dropped) : "");
}

/* The first document that was dropped for each reason. */
static void say_examples(const struct examples *examples)
{
    for (int fate = PAGE_KEPT + 1; fate < PAGE_FATES; fate++)
        if (examples->items[fate][0])
            log_say("example    %s: %s", page_fate_words((enum page_fate)fate), examples->items[fate]);
}

static void say_leaks(const struct counts *counts, const struct missing *missing)
{
    SCOPED(buf_release) struct buf worst = {0};
    char count[32];
    if (counts->leaks == 0)
        return;
    missing_worst_leaks(missing, &worst);
    log_say("leaks      %s; worst: %s", format_count(counts->leaks, count), buf_text(&worst));
}

void account_say(const struct counts *counts, const struct missing *missing, bool of_pages)
{
    SCOPED(buf_release) struct buf repaired = {0}, damage = {0};
    say_documents(counts, of_pages);
    say_examples(&missing->dropped);
    counts_repaired(counts, &repaired);
    if (repaired.size > 0)
        log_say("repaired   %s", buf_text(&repaired));
    say_leaks(counts, missing);
    counts_damage(counts, &damage);
    if (damage.size > 0)
        log_say("damage     %s", buf_text(&damage));
}

json_t *account_names(const struct name_counts *table, bool bytes)
{
    uint32_t top[ACCOUNT_NAMES_MAX];
    const size_t count = name_counts_top(table, top, ACCOUNT_NAMES_MAX);
    json_t *rows = json_array();
    for (size_t i = 0; i < count; i++) {
        const struct name_count *row = &table->rows[top[i]];
        json_array_append_new(rows, json_pack("{ss sI so*}", "name", name_counts_name(table, row), "count",
                                              (json_int_t)row->count, "bytes",
                                              bytes ? json_integer((json_int_t)row->bytes) : NULL));
    }
    return rows;
}

void account_json(const struct counts *counts, const struct missing *missing, json_t *object)
{
    json_t *dropped = json_object(), *repaired = json_object();
    for (int fate = PAGE_KEPT + 1; fate < PAGE_FATES; fate++)
        if (counts->pages[fate] > 0)
            json_object_set_new(dropped, page_fate_name((enum page_fate)fate),
                                json_integer((json_int_t)counts->pages[fate]));
    for (int repair = 0; repair < REPAIRS; repair++)
        if (counts->repaired[repair] > 0)
            json_object_set_new(repaired, repair_name((enum repair)repair),
                                json_integer((json_int_t)counts->repaired[repair]));
    json_object_set_new(object, "dropped", dropped);
    json_object_set_new(object, "repaired", repaired);
    json_object_set_new(object, "examples", examples_json(&missing->dropped));
    json_object_set_new(object, "repaired_documents", json_integer((json_int_t)counts->repaired_documents));
    json_object_set_new(
        object, "leaks",
        json_pack("{sI so}", "count", (json_int_t)counts->leaks, "worst", account_names(&missing->leaks, false)));
}
