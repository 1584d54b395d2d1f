/* Tables of the runs' identities and options, side by side, and of their starts: time, host, device. */
#include "trainer/report/sections.h"

#include "base/mem.h"
#include "base/output.h"
#include "base/json.h"
#include "trainer/run/run.h"

#define ROWS_MAX        100u
#define STARTS_MAX      50u /* shown per run: the last ones */
#define COMMAND_LETTERS 600u

/* Appends any value as text; html_name shortens it. */
static void put_value(struct buf *page, const json_t *value)
{
    SCOPED(buf_release) struct buf text = {0};
    if (json_is_string(value))
        buf_add_text(&text, json_string_value(value));
    else if (value)
        json_add_text(value, JSON_COMPACT | JSON_ENCODE_ANY, &text);
    html_name(page, value ? buf_text(&text) : "–");
}

enum row_choice { ROWS_ALL, ROWS_DIFFERENT, ROWS_EQUAL };

/* A table with a row for each key of any run's object `name` and a column for each run; of all rows or some. */
static void put_objects(struct buf *page, const struct report *report, const char *name, const char *caption,
                        enum row_choice which)
{
    json_t *keys = json_object(), *ignored, *objects[REPORT_RUNS_MAX];
    const char *key;
    size_t rows = 0;
    for (size_t r = report->count; r-- > 0;) {
        const json_t *record = report->runs[r].record;
        objects[r] = run_identity(json_object_get(record, name), json_object_get(record, "precision"));
        json_object_update(keys, objects[r]);
    }
    buf_addf(page, "<div class=\"wide\"><table>\n<caption>%s</caption>\n<thead><tr><th scope=\"col\">Name</th>",
             caption);
    for (size_t r = 0; r < report->count; r++) {
        buf_add_text(page, "<th scope=\"col\">");
        section_run_name(page, report, r);
        buf_add_text(page, "</th>");
    }
    buf_add_text(page, "</tr></thead>\n<tbody>\n");
    json_object_foreach(keys, key, ignored)
    {
        const bool differs = !run_same_member(objects, report->count, key);
        if (which != ROWS_ALL && differs != (which == ROWS_DIFFERENT))
            continue;
        if (rows++ == ROWS_MAX)
            break;
        buf_add_text(page, "<tr><th scope=\"row\">");
        html_name(page, key);
        buf_add_text(page, "</th>");
        for (size_t r = 0; r < report->count; r++) {
            buf_add_text(page, "<td>");
            put_value(page, json_object_get(objects[r], key));
            buf_add_text(page, "</td>");
        }
        buf_add_text(page, "</tr>\n");
    }
    html_table_end(page);
    for (size_t r = 0; r < report->count; r++)
        json_decref(objects[r]);
    json_decref(keys);
}

void section_settings(struct buf *page, const struct report *report)
{
    html_section(page, "settings", "Settings");
    if (report->count == 1) {
        put_objects(page, report, "identity", "What the run is: data, model, recipe", ROWS_ALL);
    } else {
        put_objects(page, report, "identity", "What makes the runs different", ROWS_DIFFERENT);
        buf_add_text(page, "<details><summary>What is equal in all of them</summary>\n");
        put_objects(page, report, "identity", "Data, model, recipe", ROWS_EQUAL);
        buf_add_text(page, "</details>\n");
    }
    buf_add_text(page, "<details><summary>All options in force at the last start</summary>\n");
    put_objects(page, report, "settings", "Options", ROWS_ALL);
    buf_add_text(page, "</details>\n");
    html_section_end(page);
}

static void put_command(struct buf *page, const json_t *words)
{
    SCOPED(buf_release) struct buf command = {0};
    size_t i;
    const json_t *word;
    json_array_foreach(words, i, word) command_add(&command, json_is_string(word) ? json_string_value(word) : "?");
    buf_add_text(page, "<code>");
    html_text(page, buf_str(&command), COMMAND_LETTERS);
    buf_add_text(page, "</code>");
}

static void put_start(struct buf *page, const struct report *report, size_t run, const json_t *start)
{
    static const char *const facts[] = {"time", "host", "device", "processes", "threads", "version"};
    char number[32];
    const json_int_t step = json_integer_value(json_object_get(start, "step"));
    buf_add_text(page, "<tr><th scope=\"row\">");
    section_run_name(page, report, run);
    buf_addf(page, "</th><td class=\"n\">%s</td>", format_count(step > 0 ? (uint64_t)step : 0, number));
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        buf_add_text(page, "<td>");
        put_value(page, json_object_get(start, facts[i]));
        buf_add_text(page, "</td>");
    }
    buf_add_text(page, "<td>");
    put_value(page, json_object_get(json_object_get(start, "restart"), "after")); /* by --restarts */
    buf_add_text(page, "</td></tr>\n");
}

void section_starts(struct buf *page, const struct report *report)
{
    static const char *const columns[] = {
        "Run", "#From step", "Time", "Host", "Device", "Processes", "Threads", "dstrain", "Restarted after", NULL};
    html_section(page, "starts", "Starts");
    html_table(page, "When, where and on what", columns);
    for (size_t r = 0; r < report->count; r++) {
        const json_t *starts = json_object_get(report->runs[r].record, "starts");
        const size_t count = json_array_size(starts);
        for (size_t i = count > STARTS_MAX ? count - STARTS_MAX : 0; i < count; i++)
            put_start(page, report, r, json_array_get(starts, i));
    }
    html_table_end(page);
    buf_add_text(page, "<h3>The command of the last start</h3>\n");
    for (size_t r = 0; r < report->count; r++) {
        const json_t *starts = json_object_get(report->runs[r].record, "starts");
        buf_add_text(page, "<p>");
        if (report->count > 1)
            section_run_name(page, report, r);
        buf_add_byte(page, ' ');
        put_command(page, json_object_get(json_array_get(starts, json_array_size(starts) - 1), "command"));
        buf_add_text(page, "</p>\n");
    }
    html_section_end(page);
}
