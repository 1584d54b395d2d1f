/* Tests as text: an input and the expected output. A file of cases is
 *
 *     # comments, up to the first case
 *     === name of the case [settings]
 *     input, any lines
 *     ---
 *     expected output
 *
 * Line ends before "---", before the next "===" and at the end of the file do not count. */
#pragma once

#include "base/mem.h"
#include "base/file.h"
#include "base/str.h"

#include <stdio.h>

struct test_case {
    struct str name, settings; /* settings: the text in the brackets, or "" */
    struct str input, expected;
    size_t line; /* of "===" */
};

static struct str cases_trim(struct str text)
{
    while (text.size > 0 && text.data[text.size - 1] == '\n')
        text.size--;
    return text;
}

/* The value of `key=value` in the settings (blanks between them), or "". */
static inline struct str cases_setting(const struct test_case *each, const char *key)
{
    const struct str wanted = str_of(key);
    for (size_t at = 0; at < each->settings.size;) {
        size_t end = at;
        while (end < each->settings.size && each->settings.data[end] != ' ')
            end++;
        const struct str word = {each->settings.data + at, end - at};
        if (word.size > wanted.size && str_starts(word, wanted) && word.data[wanted.size] == '=')
            return (struct str){word.data + wanted.size + 1, word.size - wanted.size - 1};
        at = end + 1;
    }
    return STR("");
}

/* Runs every case of a file through `run`, which appends its output. Prints the differences and returns the number of
 * cases that differ, or -1 if the file cannot be read or holds no case. */
static int cases_run(const char *path, void (*run)(const struct test_case *each, struct buf *out))
{
    SCOPED(buf_release) struct buf file = {0}, out = {0};
    struct error err;
    if (file_read_all(path, 16u << 20, &file, &err) < 0) {
        fprintf(stderr, "%s: %s\n", err.file, err.text);
        return -1;
    }
    int count = 0, wrong = 0;
    struct test_case each = {0};
    size_t line_number = 0, part_start = 0;
    enum { BEFORE, INPUT, EXPECTED } part = BEFORE;
    for (size_t at = 0; at <= file.size;) {
        const char *stop = at < file.size ? memchr(file.data + at, '\n', file.size - at) : NULL;
        const size_t end = stop ? (size_t)(stop - file.data) : file.size;
        const struct str line = {file.data + at, end - at};
        const bool begins = str_starts(line, STR("=== "));
        line_number++;
        if (part == EXPECTED && (begins || at == file.size)) {
            each.expected = cases_trim((struct str){file.data + part_start, at - part_start});
            buf_reset(&out);
            run(&each, &out);
            const struct str got = cases_trim(buf_str(&out));
            count++;
            if (!str_equal(got, each.expected)) {
                wrong++;
                fprintf(stderr, "%s:%zu: %.*s\n--- expected\n%.*s\n--- but got\n%.*s\n\n", path, each.line,
                        (int)each.name.size, each.name.data, (int)each.expected.size, each.expected.data, (int)got.size,
                        got.data);
            }
            part = BEFORE;
        }
        if (begins) {
            const struct str title = {line.data + 4, line.size - 4};
            const char *bracket = str_ends(title, STR("]")) ? memrchr(title.data, '[', title.size) : NULL;
            each = (struct test_case){.name = title, .settings = STR(""), .line = line_number};
            if (bracket) {
                each.name = str_trim(str_range(title.data, bracket));
                each.settings = str_range(bracket + 1, title.data + title.size - 1);
            }
            part = INPUT;
            part_start = end + 1;
        } else if (part == INPUT && str_equal(line, STR("---"))) {
            each.input = cases_trim((struct str){file.data + part_start, at - part_start});
            part = EXPECTED;
            part_start = end < file.size ? end + 1 : end;
        }
        at = end + 1;
    }
    return count > 0 ? wrong : -1;
}

/* A file of lines "wikitext → text", which tests/mediawiki/calls.py makes; comments begin with "# ". `run` shows a page
 * that has the wikitext in a sentence. Returns how many show something else, which it prints. */
static inline int calls_run(const char *path, void (*run)(struct str page, struct buf *out))
{
    SCOPED(buf_release) struct buf file = {0}, page = {0}, out = {0};
    struct error err;
    int wrong = 0;
    if (file_read_all(path, 1u << 20, &file, &err) < 0)
        return -1;
    for (struct str rest = buf_str(&file); rest.size > 0;) {
        const char *end = memchr(rest.data, '\n', rest.size);
        const struct str line = str_range(rest.data, end);
        const size_t arrow = str_find(line, STR(" →"));
        rest = str_range(end + 1, rest.data + rest.size);
        if (arrow == SIZE_MAX || str_starts(line, STR("# ")))
            continue;
        const struct str wanted = str_trim(str_range(line.data + arrow + strlen(" →"), end));
        buf_reset(&page);
        buf_reset(&out);
        buf_addf(&page, "It is %.*s here.", (int)arrow, line.data);
        run(buf_str(&page), &out);
        buf_reset(&page);
        buf_addf(&page, "It is %.*s%shere.\n", (int)wanted.size, wanted.data, wanted.size > 0 ? " " : "");
        if (!str_equal(buf_str(&out), buf_str(&page)))
            wrong += fprintf(stderr, "%s: %.*s\ngot: %s", path, (int)line.size, line.data, buf_text(&out)) > 0;
    }
    return wrong;
}
