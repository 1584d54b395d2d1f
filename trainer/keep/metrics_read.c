#include "trainer/keep/metrics.h"

#include "base/json.h"
#include "base/mem.h"

/* Takes a line if its step is at most `step_max` and it is the first of its kind, read from the end of the file;
 * `found` has a bit for each kind. */
static void take_line(struct str text, uint64_t step_max, json_t *facts, int *found)
{
    json_error_t why;
    json_auto_t *line = json_parse(text, METRICS_LINE_BYTES_MAX, &why);
    const bool valid = json_object_get(line, "split") != NULL;
    const json_t *step = json_object_get(line, "step");
    const bool numbered = json_is_integer(step) && json_integer_value(step) >= 0; /* else it is no line of ours */
    if (numbered && (uint64_t)json_integer_value(step) <= step_max && !(*found & 1 << valid)) {
        json_object_set(facts, valid ? "valid" : "train", line);
        *found |= 1 << valid;
    }
}

void metrics_last(const char *directory, uint64_t step_max, json_t *facts)
{
    struct error ignored = {0};
    struct mapping text = {0};
    char *path = path_join(directory, METRICS_NAME);
    const int result = path_exists(path) ? file_map(&text, path, &ignored) : -1;
    mem_free(path);
    const char *data = (const char *)text.data;
    size_t end = text.size;
    for (int found = 0; result == 0 && end > 0 && found != 3;) {
        size_t start = end - 1;
        while (start > 0 && data[start - 1] != '\n')
            start--;
        take_line((struct str){data + start, end - start}, step_max, facts, &found);
        end = start;
    }
    file_unmap(&text);
}
