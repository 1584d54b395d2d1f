/* Sources of columns, labels and metrics: the processors of transformers 4, whose rows are those of DeepSpeed's GLUE
 * scripts. */
#include "trainer/tune/glue_tasks.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "trainer/data/input.h"
#include "trainer/tune/class_task.h"
#include "trainer/tune/tsv.h"

#define GLUE_BYTES_MAX (1u << 30) /* of a file; the largest of GLUE has 78 MB */

#define ONE_DEV(name)                                                                                                  \
    {                                                                                                                  \
        {                                                                                                              \
            "dev.tsv", "test.tsv", name, ""                                                                            \
        }                                                                                                              \
    }

/* clang-format off */
const struct glue_task glue_tasks[GLUE_TASKS] = {
    {"cola", "CoLA", {3, GLUE_NONE, 1, false}, {1, GLUE_NONE, GLUE_NONE, true}, "sentence", NULL, "label", 2, {"0", "1"}, {"unacceptable", "acceptable"}, GLUE_MATTHEWS, 0,
     ONE_DEV("CoLA")},
    {"sst-2", "SST-2", {0, GLUE_NONE, 1, true}, {1, GLUE_NONE, GLUE_NONE, true}, "sentence", NULL, "label", 2, {"0", "1"}, {"negative", "positive"}, GLUE_ACCURACY, 0,
     ONE_DEV("SST-2")},
    {"mrpc", "MRPC", {3, 4, 0, true}, {3, 4, GLUE_NONE, true}, "#1 String", "#2 String", "Quality", 2, {"0", "1"}, {"not_equivalent", "equivalent"}, GLUE_ACCURACY_F1, 0, ONE_DEV("MRPC")},
    {"sts-b", "STS-B", {7, 8, GLUE_LAST, true}, {7, 8, GLUE_NONE, true}, "sentence1", "sentence2", "score", 1, {NULL}, {NULL}, GLUE_CORRELATIONS, 0,
     ONE_DEV("STS-B")},
    {"qqp", "QQP", {3, 4, 5, true}, {1, 2, GLUE_NONE, true}, "question1", "question2", "is_duplicate", 2, {"0", "1"}, {"not_duplicate", "duplicate"}, GLUE_ACCURACY_F1, 6, ONE_DEV("QQP")},
    {"mnli", "MNLI", {8, 9, GLUE_LAST, true}, {8, 9, GLUE_NONE, true}, "sentence1", "sentence2", "gold_label", 3,
     {"contradiction", "entailment", "neutral"}, {NULL}, GLUE_ACCURACY, 0,
     {{"dev_matched.tsv", "test_matched.tsv", "MNLI-m", ""},
      {"dev_mismatched.tsv", "test_mismatched.tsv", "MNLI-mm", "-mm"}}},
    {"qnli", "QNLI", {1, 2, GLUE_LAST, true}, {1, 2, GLUE_NONE, true}, "question", "sentence", "label", 2, {"entailment", "not_entailment"}, {NULL},
     GLUE_ACCURACY, 0, ONE_DEV("QNLI")},
    {"rte", "RTE", {1, 2, GLUE_LAST, true}, {1, 2, GLUE_NONE, true}, "sentence1", "sentence2", "label", 2, {"entailment", "not_entailment"}, {NULL},
     GLUE_ACCURACY, 0, ONE_DEV("RTE")},
    {"wnli", "WNLI", {1, 2, GLUE_LAST, true}, {1, 2, GLUE_NONE, true}, "sentence1", "sentence2", "label", 2, {"0", "1"}, {"not_entailment", "entailment"}, GLUE_ACCURACY, 0,
     ONE_DEV("WNLI")},
};
/* clang-format on */

const struct glue_task *glue_task_named(const char *name)
{
    for (size_t i = 0; i < GLUE_TASKS; i++)
        if (str_equal_ascii_nocase(str_of(name), str_of(glue_tasks[i].name))) /* the folders are CoLA, MRPC ... */
            return &glue_tasks[i];
    return NULL;
}

/* ---- folders ---- */

bool glue_has_folder(const struct glue_task *task, const char *data)
{
    char *folder = path_join(data, task->folder);
    const bool there = path_is_directory(folder);
    mem_free(folder);
    return there;
}

static int check_file(const char *folder, const char *name, struct error *err)
{
    char *path = path_join(folder, name);
    const int result =
        path_exists(path) ? 0 : fail_at(err, ERR_USAGE, path, ERROR_NO_OFFSET, "is not there: a file of the task");
    mem_free(path);
    return result;
}

int glue_check_folder(const struct glue_task *task, const char *data, bool trains, struct error *err)
{
    char *folder = path_join(data, task->folder);
    int result = 0;
    if (!path_is_directory(folder)) {
        fail_at(err, ERR_USAGE, folder, ERROR_NO_OFFSET, "is not there: the task's folder");
        result = hint(err, "--data names the folder that holds CoLA, SST-2, MRPC and the others");
    }
    if (result == 0 && trains)
        result = check_file(folder, "train.tsv", err);
    for (int i = 0; i < GLUE_DEVS_MAX && task->devs[i].dev && result == 0; i++)
        result = check_file(folder, task->devs[i].dev, err);
    mem_free(folder);
    return result;
}

/* ---- a row ---- */

/* The state of reading a file. */
struct reading {
    const struct glue_task *task;
    const struct glue_columns *columns;
    const char *path;
    struct class_cutter cutter;
};

static int bad_label(const struct reading *r, const struct tsv *row, int column, struct str label, struct error *err)
{
    struct buf names = {0};
    for (uint32_t i = 0; i < r->task->labels && r->task->labels > 1; i++)
        buf_addf(&names, "%s%s", i > 0 ? ", " : "", r->task->label_names[i]);
    fail_at(err, ERR_INPUT, r->path, ERROR_NO_OFFSET, "line %" PRIu64 ", column %d: the label is \"%.*s\", not %s%s",
            row->line, column + 1, (int)(label.size < 40 ? label.size : 40), label.data,
            r->task->labels > 1 ? "one of " : "a number", names.size > 0 ? buf_text(&names) : "");
    buf_release(&names);
    return -1;
}

/* Parses a number and stores the bits of a float. */
static int take_number(const struct reading *r, const struct tsv *row, int column, struct str text, uint32_t *label,
                       struct error *err)
{
    char copy[64], *end = copy;
    float value = 0;
    if (text.size > 0 && text.size < sizeof copy) {
        memcpy(copy, text.data, text.size);
        copy[text.size] = '\0';
        value = strtof(copy, &end);
    }
    if (end == copy || (size_t)(end - copy) != text.size || !isfinite(value))
        return bad_label(r, row, column, text, err);
    memcpy(label, &value, sizeof *label);
    return 0;
}

static int take_label(const struct reading *r, const struct tsv *row, uint32_t *label, struct error *err)
{
    const int place = r->columns->label, column = place == GLUE_LAST ? (int)row->count - 1 : place;
    *label = 0;
    if (place == GLUE_NONE)
        return 0;
    const struct str text = place == GLUE_LAST ? row->last : row->columns[column];
    if (r->task->labels == 1)
        return take_number(r, row, column, text, label, err);
    for (uint32_t i = 0; i < r->task->labels; i++)
        if (str_equal(text, str_of(r->task->label_names[i]))) {
            *label = i;
            return 0;
        }
    return bad_label(r, row, column, text, err);
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

/* The number of columns that a row must have. */
static uint32_t columns_needed(const struct glue_columns *columns)
{
    const int texts = larger(columns->a, columns->b);
    return (uint32_t)(columns->label == GLUE_LAST ? texts + 2 : larger(texts, columns->label) + 1);
}

static int take_row(struct reading *r, const struct tsv *row, struct samples *samples, struct error *err)
{
    uint32_t label;
    char columns[56];
    if (row->count < columns_needed(r->columns)) {
        fail_at(err, ERR_INPUT, r->path, ERROR_NO_OFFSET, "line %" PRIu64 " has %s, column %" PRIu32 " is missing",
                row->line, format_counted(row->count, "column", columns), row->count + 1);
        return hint(err, "tabs separate columns");
    }
    TRY(take_label(r, row, &label, err));
    const bool pair = r->columns->b != GLUE_NONE;
    class_cut(&r->cutter, row->columns[r->columns->a], pair ? &row->columns[r->columns->b] : NULL, label, samples);
    return 0;
}

/* ---- a file ---- */

static int take_rows(struct reading *r, struct str text, struct glue_set *set, struct error *err)
{
    struct tsv row = tsv_begin(text);
    uint32_t label;
    struct error ignored;
    if (r->columns->header && tsv_next(&row) && r->columns->label != GLUE_NONE &&
        row.count >= columns_needed(r->columns) && take_label(r, &row, &label, &ignored) == 0)
        return fail_at(err, ERR_INPUT, r->path, ERROR_NO_OFFSET,
                       "line 1 is a row: the names of the columns are missing");
    while (tsv_next(&row)) {
        if (row.count < r->task->columns_least && r->columns->label != GLUE_NONE)
            set->passed_over++;
        else
            TRY(take_row(r, &row, &set->samples, err));
    }
    if (set->samples.count > 0)
        return 0;
    if (set->passed_over > 0)
        return fail_at(err, ERR_INPUT, r->path, ERROR_NO_OFFSET, "holds no rows (%" PRIu64 " were too short)",
                       set->passed_over);
    return fail_at(err, ERR_INPUT, r->path, ERROR_NO_OFFSET, "holds no rows");
}

int glue_read(const struct glue_task *task, const char *path, bool labelled, const struct text *text, uint32_t length,
              struct glue_set *set, struct error *err)
{
    struct reading r = {
        .task = task,
        .columns = labelled ? &task->train : &task->test,
        .path = path,
        .cutter = {.text = text, .length = length},
    };
    struct buf bytes = {0};
    *set = (struct glue_set){.samples = {.head = HEAD_CLASS}};
    int result = file_read_all(path, GLUE_BYTES_MAX, &bytes, err);
    input_repair(path, &bytes, 0);
    if (result == 0)
        result = take_rows(&r, buf_str(&bytes), set, err);
    class_cutter_release(&r.cutter);
    buf_release(&bytes);
    return result;
}

void glue_set_release(struct glue_set *set)
{
    samples_release(&set->samples);
}
