// room: trainer EXPAT::EXPAT
// bytes: 65536
/* In: metrics.jsonl of a run whose newest checkpoint is of step 5. Held: `dstrain show` never fails and finds the last
 * lines that a slow reader finds; `report` refuses a line with its number, or has steps in order and a page of its form
 * (page.h); a resume keeps whole lines of steps up to 5, and no others, from the beginning. */
#include "tests/fuzz/run.h"

#define STEP 5u

static void make_record(void)
{
    if (program.name)
        return;
    make_run();
    fuzz_write(RUN_NAME,
               STR("{\"identity\":{\"steps\":9,\"optimizer\":\"adam\"},\"settings\":{\"shards\":[\"a\",\"b\"]},"
                   "\"precision\":\"fp32\",\"starts\":[],\"saves\":[]}"));
}

/* A line as an object with a step; NULL: none. */
static json_t *line_of(const char *at, const char *end)
{
    json_error_t why;
    json_t *line = json_parse(str_range(at, end), METRICS_LINE_BYTES_MAX, &why);
    const json_t *step = json_object_get(line, "step");
    if (json_is_integer(step) && json_integer_value(step) >= 0)
        return line;
    json_decref(line);
    return NULL;
}

/* From the front, each line. */
static void check_last(struct str text, uint64_t step_max)
{
    json_t *facts = json_object(), *slow = json_object();
    const char *end, *stop = text.data + text.size;
    for (const char *at = text.data; at < stop; at = end + 1) {
        end = memchr(at, '\n', (size_t)(stop - at));
        end = end ? end : stop;
        json_auto_t *line = line_of(at, end);
        if (line && (uint64_t)json_integer_value(json_object_get(line, "step")) <= step_max)
            json_object_set(slow, json_object_get(line, "split") ? "valid" : "train", line);
    }
    metrics_last(fuzz_directory(), step_max, facts);
    assert(json_equal(facts, slow));
    json_decref(facts);
    json_decref(slow);
}

static bool check_history(void)
{
    struct history history;
    struct error err = {0};
    if (history_read(&history, fuzz_directory(), &err) < 0) {
        assert(err.kind == ERR_VERIFY && strstr(err.text, "line "));
        return false;
    }
    assert(history.key_count <= HISTORY_KEYS);
    for (size_t i = 1; i < history.count; i++)
        assert(history.lines[i - 1].step <= history.lines[i].step);
    history_release(&history);
    return true;
}

static void check_resume(struct str text, bool whole)
{
    struct metrics metrics;
    struct metrics_past past = {.kept_step = 3};
    struct error err = {0};
    SCOPED(buf_release) struct buf kept = {0};
    char path[300];
    must(metrics_open(&metrics, fuzz_directory(), STEP, &past, &err), &err);
    metrics_close(&metrics);
    snprintf(path, sizeof path, "%s/" METRICS_NAME, fuzz_directory());
    must(file_read_all(path, 1u << 20, &kept, &err), &err);
    assert(kept.size <= text.size && (kept.size == 0 || memcmp(kept.data, text.data, kept.size) == 0));
    const char *at = text.data, *end = NULL;
    for (; at < text.data + text.size; at = end + 1) {
        end = memchr(at, '\n', (size_t)(text.data + text.size - at));
        json_t *line = end ? line_of(at, end) : NULL;
        const bool keeps = line && json_integer_value(json_object_get(line, "step")) <= (json_int_t)STEP;
        json_decref(line);
        if (!keeps)
            break;
    }
    assert(kept.size == (size_t)(at - text.data));
    const bool still = check_history();
    assert(still || !whole);
}

int fuzz_input(const uint8_t *data, size_t size)
{
    make_record();
    fuzz_write(METRICS_NAME, as_str(data, size));
    const struct str text = as_str(size ? data : (const uint8_t *)"", size);
    check_last(text, UINT64_MAX);
    check_last(text, STEP);
    const bool whole = check_history(), reported = report_run(1 + size % 2),
               shown = show_run(size % 2 ? "--json" : NULL);
    assert(shown && reported == whole);
    check_resume(text, whole);
    return 0;
}
