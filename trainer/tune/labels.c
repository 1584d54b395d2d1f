#include "trainer/tune/labels.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "trainer/model/config.h"
#include "trainer/model/head.h"
#include "base/json.h"

int labels_read(const char *files, json_t **config, struct error *err)
{
    SCOPED(mem_free_at) char *path = config_locate(files);
    return json_read_foreign(path, CONFIG_BYTES_MAX, ERR_UNSAFE, config, err);
}

/* The next letter that counts, in lower case; 0 at the end. */
static char letter(const char **at)
{
    *at += strspn(*at, "-_ ");
    const char next = **at;
    *at += next != '\0';
    return next >= 'A' && next <= 'Z' ? (char)(next - 'A' + 'a') : next;
}

/* The letters of a name that count, in lower case. */
static void spell(const char *name, char out[LABEL_NAME_SIZE])
{
    size_t size = 0;
    while (size < LABEL_NAME_SIZE - 1 && (out[size] = letter(&name)) != '\0')
        size++;
    out[size] = '\0';
}

static bool same_name(const char *a, const char *b)
{
    char one[LABEL_NAME_SIZE], other[LABEL_NAME_SIZE];
    spell(a, one);
    spell(b, other);
    return strcmp(one, other) == 0;
}

static bool is_number(const char *name)
{
    return *name && name[strspn(name, "0123456789")] == '\0';
}

/* transformers' names for classes that nobody named. */
static bool is_placeholder(const char *name)
{
    return strlen(name) > 6 && str_equal_ascii_nocase((struct str){name, 6}, STR("LABEL_")) && is_number(name + 6);
}

/* A label of a model: how its name is spelt, and its row of the head. */
struct spelt {
    char text[LABEL_NAME_SIZE];
    uint32_t row;
};

struct described {
    const char *architecture, *problem;
    const char **names;  /* [count] in the order of rows; NULL where id2label has none */
    struct spelt *spelt; /* [count] sorted by text */
    size_t count;
    bool named;   /* every label has a name of its own */
    bool numbers; /* and these are numbers */
};

static const char *text_of(const json_t *config, const char *key)
{
    return json_string_value(json_object_get(config, key));
}

static int by_spelling(const void *a, const void *b)
{
    return strcmp(((const struct spelt *)a)->text, ((const struct spelt *)b)->text);
}

static struct described describe(const json_t *config)
{
    const json_t *names = json_object_get(config, "id2label");
    struct described d = {
        .architecture = json_string_value(json_array_get(json_object_get(config, "architectures"), 0)),
        .problem = text_of(config, "problem_type"),
        .count = config_labels(config),
    };
    d.named = json_object_size(names) > 0 && d.count <= LABELS_MAX;
    d.numbers = d.named;
    d.names = mem_clear(d.named ? d.count : 0, sizeof *d.names);
    d.spelt = mem_clear(d.named ? d.count : 0, sizeof *d.spelt);
    for (size_t i = 0; i < d.count && d.named; i++) {
        char key[24];
        snprintf(key, sizeof key, "%zu", i);
        const char *name = text_of(names, key);
        d.names[i] = name;
        d.named = name && *name && !is_placeholder(name);
        d.numbers = d.numbers && d.named && is_number(name);
        d.spelt[i].row = (uint32_t)i;
        if (d.named)
            spell(name, d.spelt[i].text);
    }
    if (d.named)
        qsort(d.spelt, d.count, sizeof *d.spelt, by_spelling);
    for (size_t i = 1; i < d.count && d.named; i++)
        d.named = strcmp(d.spelt[i - 1].text, d.spelt[i].text) != 0;
    d.numbers = d.numbers && d.named;
    return d;
}

static void described_release(struct described *d)
{
    mem_free(d->names);
    mem_free(d->spelt);
}

/* Finds each of a task's names among the model's. */
static bool find_rows(const struct described *d, const char *const *names, uint32_t count, uint32_t *rows)
{
    for (uint32_t i = 0; i < count; i++) {
        struct spelt wanted;
        spell(names[i] ? names[i] : "", wanted.text);
        const struct spelt *found =
            names[i] ? bsearch(&wanted, d->spelt, d->count, sizeof *d->spelt, by_spelling) : NULL;
        if (!found)
            return false;
        rows[i] = found->row;
    }
    return true;
}

/* The model's rows of the task's labels, which the caller mem_free's; NULL: it has others. */
static uint32_t *rows_of(const struct described *d, const struct label_set *set)
{
    if (!d->named || d->count != set->count)
        return NULL;
    uint32_t *rows = mem_array(set->count, sizeof *rows);
    if (find_rows(d, set->names, set->count, rows) || (set->others && find_rows(d, set->others, set->count, rows)))
        return rows;
    mem_free(rows);
    return NULL;
}

static const struct glue_task *task_of_model(const json_t *config, const char *recorded)
{
    const char *name = recorded && strncmp(recorded, "glue ", 5) == 0 ? recorded + 5 : NULL;
    if (!recorded)
        name = text_of(config, "finetuning_task");
    for (size_t i = 0; name && i < GLUE_TASKS; i++)
        if (same_name(name, glue_tasks[i].name)) /* transformers writes sst2 and stsb */
            return &glue_tasks[i];
    return NULL;
}

struct label_set labels_of_glue(const struct glue_task *task)
{
    return (struct label_set){task->name, task, task->labels, task->label_names, task->other_names, false};
}

static bool architecture_ends(const struct described *d, const char *end)
{
    return d->architecture && str_ends(str_of(d->architecture), str_of(end));
}

__attribute__((format(printf, 3, 4))) static void draw(struct head_choice *choice, bool fits, const char *format, ...)
{
    va_list arguments;
    choice->drawn = true;
    choice->fits = fits;
    va_start(arguments, format);
    vsnprintf(choice->why, sizeof choice->why, format, arguments);
    va_end(arguments);
}

/* "contradiction, entailment, neutral"; with other names, which may be NULL: "0 (negative), 1 (positive)" */
static const char *list_of(const char *const *names, const char *const *others, size_t count, char out[160])
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < count && used < 160; i++) {
        const char *other = others && others[i] ? others[i] : NULL;
        used += (size_t)snprintf(out + used, 160 - used, other ? "%s%.30s (%.30s)" : "%s%.30s", i > 0 ? ", " : "",
                                 names[i] ? names[i] : "?", other);
    }
    return out;
}

static const char *labels_of(const struct label_set *set, char out[160])
{
    return list_of(set->names, set->others, set->count, out);
}

static void move_rows(const struct label_set *set, uint32_t *rows, struct head_choice *choice)
{
    char names[160];
    for (uint32_t i = 0; i < set->count; i++)
        choice->moved |= rows[i] != i;
    if (choice->moved) {
        choice->rows = rows;
        snprintf(choice->why, sizeof choice->why, "its rows are put in the order of %s: %s", set->name,
                 labels_of(set, names));
    } else {
        mem_free(rows);
    }
}

/* Whether a head gives numbers and not classes: problem_type says so, else one output does (transformers' rule). */
static bool gives_numbers(const struct described *d)
{
    return d->problem ? strcmp(d->problem, "regression") == 0 : d->count == 1;
}

/* Why a head of this kind cannot be one of the task; NULL: it can. */
static const char *other_kind(const struct described *d, const struct label_set *set)
{
    const bool several = d->problem && strcmp(d->problem, "multi_label_classification") == 0;
    if (set->several)
        return several ? NULL : "it gives a text one label, not any number of them";
    if (several)
        return "it gives a text any number of labels (multi_label_classification)";
    if (set->count > 1 && gives_numbers(d))
        return "it predicts a number, not a class";
    if (set->count == 1 && !gives_numbers(d))
        return "it predicts a class, not a number";
    if (set->count == 1 && d->count != 1)
        return "it predicts several numbers, not one";
    return NULL;
}

void labels_choose(const json_t *config, enum head_kind head, const char *recorded, const struct label_set *set,
                   struct head_choice *choice)
{
    SCOPED(described_release) struct described d = describe(config);
    const struct glue_task *known = task_of_model(config, recorded);
    const bool fits =
        d.count == set->count &&
        (architecture_ends(&d, "Classification") ||
         (!d.architecture && (json_object_get(config, "id2label") || json_object_get(config, "num_labels"))));
    char theirs[160], ours[160];
    *choice = (struct head_choice){0};
    if (d.architecture && !architecture_ends(&d, head_kinds[head]->class_end))
        return draw(choice, fits, "it is a %.60s", d.architecture);
    const char *kind = other_kind(&d, set);
    if (kind)
        return draw(choice, fits, "%s", kind);
    if (set->count == 1)
        return;
    const bool others = d.numbers && known && known != set->task;
    const bool unknown = d.numbers && !set->task && !known;
    uint32_t *rows = others || unknown ? NULL : rows_of(&d, set);
    if (rows)
        return move_rows(set, rows, choice);
    if (unknown)
        return draw(choice, fits, "its labels are numbers, which are those of one table only");
    if (others)
        return draw(choice, fits, "it was fine-tuned for %s, whose labels 0 and 1 are not those of %s", known->name,
                    set->name);
    choice->by_names = true;
    if (!d.named)
        return draw(choice, fits, "config.json does not name its labels (id2label), so their order is not known");
    draw(choice, fits, "its labels are %.130s; those of %s are %.130s", list_of(d.names, NULL, d.count, theirs),
         set->name, labels_of(set, ours));
}

void labels_choose_head(const json_t *config, enum head_kind head, struct head_choice *choice)
{
    SCOPED(described_release) struct described d = describe(config);
    *choice = (struct head_choice){0};
    if (d.architecture && !architecture_ends(&d, head_kinds[head]->class_end))
        draw(choice, false, "it is a %.60s", d.architecture);
}

size_t labels_tasks(const json_t *config, const struct glue_task *out[GLUE_TASKS])
{
    const struct glue_task *known = task_of_model(config, NULL);
    struct head_choice choice;
    size_t count = 0;
    for (size_t i = 0; i < GLUE_TASKS; i++) {
        const struct label_set set = labels_of_glue(&glue_tasks[i]);
        labels_choose(config, HEAD_CLASS, NULL, &set, &choice);
        if (!choice.drawn && (!known || known == &glue_tasks[i]))
            out[count++] = &glue_tasks[i];
        head_choice_release(&choice);
    }
    return count;
}
