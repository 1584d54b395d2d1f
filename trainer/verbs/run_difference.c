/* The facts are those of `show --json`, so nothing is compared that it does not show. */
#include "trainer/verbs/run_difference.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/output.h"
#include "base/str.h"
#include "trainer/run/run.h"

#define CELL_BYTES 44 /* longer values are cut on the screen */

struct comparison {
    json_t *const *facts;
    size_t count;
    json_t *rows;
    size_t defining; /* rows of what defines a run or a model; the others tell how far it came and where */
};

/* The names of A, B … in JSON. */
static const char *key_of(size_t i)
{
    static const char keys[SHOW_MAX][2] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    return keys[i];
}

/* Adds a row if the member `name` of the parts differs. Returns whether. */
static bool add(struct comparison *c, const char *of, const char *name, json_t *const *parts)
{
    if (run_same_member(parts, c->count, name))
        return false;
    json_t *row = json_pack("{s:s, s:s}", "of", of, "name", name);
    for (size_t i = 0; i < c->count; i++) {
        json_t *value = json_object_get(parts[i], name);
        json_object_set_new(row, key_of(i), value ? json_incref(value) : json_null());
    }
    json_array_append_new(c->rows, row);
    return true;
}

static void parts_of(const struct comparison *c, const char *name, json_t **parts)
{
    for (size_t i = 0; i < c->count; i++)
        parts[i] = name ? json_object_get(c->facts[i], name) : c->facts[i];
}

/* A fact that one of them lacks, such as the language of a model whose data are not known, is no difference. */
static bool all_have(const struct comparison *c, const char *name)
{
    bool all = true;
    for (size_t i = 0; i < c->count; i++)
        all &= json_object_get(c->facts[i], name) != NULL;
    return all;
}

/* The names of all parts, each once. */
static json_t *names_of(const struct comparison *c, json_t *const *parts)
{
    json_t *names = json_object();
    for (size_t i = 0; i < c->count; i++)
        json_object_update_missing(names, parts[i]);
    return names;
}

/* What enters the mathematics of the runs. */
static void add_recipe(struct comparison *c)
{
    json_t *parts[SHOW_MAX], *ignored;
    const char *name;
    if (!all_have(c, "identity"))
        return;
    for (size_t i = 0; i < c->count; i++)
        parts[i] = run_identity(json_object_get(c->facts[i], "identity"), json_object_get(c->facts[i], "precision"));
    json_t *names = names_of(c, parts);
    json_object_foreach(names, name, ignored) c->defining += add(c, "recipe", name, parts);
    json_decref(names);
    for (size_t i = 0; i < c->count; i++)
        json_decref(parts[i]);
}

static void add_model(struct comparison *c)
{
    static const char *const names[] = {"model",      "parameters", "layers",          "hidden",     "heads",
                                        "vocabulary", "positions",  "activation",      "base_model", "tokenizer",
                                        "languages",  "labels",     "finetuning_task", NULL};
    json_t *parts[SHOW_MAX], *recipes[SHOW_MAX];
    parts_of(c, NULL, parts);
    parts_of(c, "identity", recipes);
    json_auto_t *named = names_of(c, recipes);
    for (const char *const *name = names; *name; name++)
        if (all_have(c, *name) && (!all_have(c, "identity") || !json_object_get(named, *name)))
            c->defining += add(c, "model", *name, parts);
}

/* Options that the recipe does not say better, and that do not only name a place. */
static void add_options(struct comparison *c)
{
    static const char *const others[] = {"out",     "force",     "fresh", "json", "quiet",
                                         "verbose", "precision", "model", NULL};
    json_t *parts[SHOW_MAX], *recipes[SHOW_MAX];
    const char *name;
    json_t *ignored;
    if (!all_have(c, "settings"))
        return;
    parts_of(c, "settings", parts);
    parts_of(c, "identity", recipes);
    json_auto_t *named = names_of(c, recipes), *names = names_of(c, parts);
    json_object_foreach(names, name, ignored)
    {
        char in_recipe[64];
        bool other = false;
        snprintf(in_recipe, sizeof in_recipe, "%s", name);
        for (char *at = in_recipe; *at; at++)
            *at = *at == '-' ? '_' : *at;
        for (const char *const *skip = others; *skip; skip++)
            other |= strcmp(name, *skip) == 0;
        if (!other && !json_object_get(named, in_recipe))
            add(c, "option", name, parts);
    }
}

/* How far they came: of lines of metrics, losses and accuracies only. */
static void add_results(struct comparison *c)
{
    static const char *const names[] = {"finished", "step", "samples", "tokens", NULL};
    static const char *const groups[] = {"valid", "scores", NULL};
    json_t *parts[SHOW_MAX];
    const char *name;
    json_t *value;
    parts_of(c, NULL, parts);
    for (const char *const *at = names; *at; at++)
        if (all_have(c, *at))
            add(c, "result", *at, parts);
    for (const char *const *group = groups; *group; group++) {
        if (!all_have(c, *group))
            continue;
        parts_of(c, *group, parts);
        json_auto_t *all = names_of(c, parts);
        json_object_foreach(all, name, value)
        {
            const struct str key = str_of(name);
            if (json_is_number(value) &&
                (strcmp(*group, "scores") == 0 || str_ends(key, STR("loss")) || str_ends(key, STR("accuracy"))))
                add(c, *group, name, parts);
        }
    }
}

/* ---- the screen ---- */

static void cell_text(const json_t *value, struct buf *text)
{
    if (!value || json_is_null(value)) {
        buf_add_text(text, "–");
    } else if (json_is_string(value)) {
        buf_add_text(text, json_string_value(value));
    } else {
        SCOPED(mem_free_at) char *dumped = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6));
        buf_add_text(text, dumped);
    }
    if (text->size > CELL_BYTES) {
        text->size = CELL_BYTES - 3;
        while (text->size > 0 && ((unsigned char)text->data[text->size] & 0xc0) == 0x80)
            text->size--;
        buf_add_text(text, "…");
    }
}

/* Every code point is taken as one column. */
static size_t letters_of(const struct buf *text)
{
    size_t letters = 0;
    for (size_t i = 0; i < text->size; i++)
        letters += ((unsigned char)text->data[i] & 0xc0) != 0x80;
    return letters;
}

static size_t width_of(const struct comparison *c, size_t column)
{
    size_t width = 1, r;
    const json_t *row;
    json_array_foreach(c->rows, r, row)
    {
        SCOPED(buf_release) struct buf text = {0};
        cell_text(json_object_get(row, key_of(column)), &text);
        width = letters_of(&text) > width ? letters_of(&text) : width;
    }
    return width;
}

/* A row of the table; NULL: its head. */
static void print_row(const struct comparison *c, const json_t *row, const size_t *widths)
{
    SCOPED(buf_release) struct buf line = {0};
    buf_addf(&line, "%-10s %-22s", row ? json_string_value(json_object_get(row, "of")) : "",
             row ? json_string_value(json_object_get(row, "name")) : "");
    for (size_t i = 0; i < c->count; i++) {
        SCOPED(buf_release) struct buf text = {0};
        if (row)
            cell_text(json_object_get(row, key_of(i)), &text);
        else
            buf_add_byte(&text, (char)('A' + i));
        buf_addf(&line, "  %s", buf_text(&text));
        if (i + 1 < c->count)
            buf_addf(&line, "%*s", (int)(widths[i] - letters_of(&text)), "");
    }
    output_line("%s", buf_text(&line));
}

static void print(const struct comparison *c)
{
    size_t r, widths[SHOW_MAX];
    const json_t *row;
    for (size_t i = 0; i < c->count; i++) {
        output_line("%-10c %s", 'A' + (int)i, json_string_value(json_object_get(c->facts[i], "path")));
        widths[i] = width_of(c, i);
    }
    if (c->defining == 0)
        output_line("%-10s %s", "same",
                    all_have(c, "identity") ? "data, model and recipe are equal"
                                            : "shape and tokenizer are equal; weights are not compared");
    if (json_array_size(c->rows) > 0)
        print_row(c, NULL, widths);
    json_array_foreach(c->rows, r, row) print_row(c, row, widths);
}

void difference_print(json_t *const *facts, size_t count, bool as_json)
{
    struct comparison c = {.facts = facts, .count = count, .rows = json_array()};
    add_recipe(&c);
    add_model(&c);
    add_options(&c);
    add_results(&c);
    if (as_json)
        output_json(json_pack("{s:b, s:O}", "same", c.defining == 0, "differences", c.rows),
                    JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    else
        print(&c);
    json_decref(c.rows);
}
