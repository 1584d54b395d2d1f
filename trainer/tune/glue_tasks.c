/* Sources of columns, labels and metrics: the processors of transformers 4, whose rows are those of DeepSpeed's GLUE
 * scripts. */
#include "trainer/tune/glue_tasks.h"

#include <inttypes.h>

#include "trainer/tune/class_task.h"
#include "trainer/tune/user_table.h"

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

bool glue_has_folder(const struct glue_task *task, const char *data)
{
    SCOPED(mem_free_at) char *folder = path_join(data, task->folder);
    return path_is_directory(folder);
}

static int check_file(const char *folder, const char *name, struct error *err)
{
    SCOPED(mem_free_at) char *path = path_join(folder, name);
    const int result =
        path_exists(path) ? 0 : fail_at(err, ERR_USAGE, path, ERROR_NO_OFFSET, "is not there: a file of the task");
    return result;
}

int glue_check_folder(const struct glue_task *task, const char *data, bool trains, struct error *err)
{
    SCOPED(mem_free_at) char *folder = path_join(data, task->folder);
    if (!path_is_directory(folder)) {
        fail_at(err, ERR_USAGE, folder, ERROR_NO_OFFSET, "is not there: the task's folder");
        return hint(err, "--data names the folder that holds CoLA, SST-2, MRPC and the others");
    }
    if (trains)
        TRY(check_file(folder, "train.tsv", err));
    for (int i = 0; i < GLUE_DEVS_MAX && task->devs[i].dev; i++)
        TRY(check_file(folder, task->devs[i].dev, err));
    return 0;
}

/* The state of reading a file. */
struct reading {
    const struct glue_task *task;
    const struct glue_columns *columns;
    const char *path;
    struct table table;
    struct class_cutter cutter;
};

static int bad_label(const struct reading *r, int column, struct str label, struct error *err)
{
    SCOPED(buf_release) struct buf names = {0};
    for (uint32_t i = 0; i < r->task->labels && r->task->labels > 1; i++)
        buf_addf(&names, "%s%s", i > 0 ? ", " : "", r->task->label_names[i]);
    fail_at(err, ERR_INPUT, r->path, ERROR_NO_OFFSET, "line %" PRIu64 ", column %d: the label is \"%.*s\", not %s%s",
            r->table.line, column + 1, (int)(label.size < 40 ? label.size : 40), label.data,
            r->task->labels > 1 ? "one of " : "a number", names.size > 0 ? buf_text(&names) : "");
    return -1;
}

static int take_label(const struct reading *r, uint32_t *label, struct error *err)
{
    const int place = r->columns->label, column = place == GLUE_LAST ? (int)r->table.columns - 1 : place;
    *label = 0;
    if (place == GLUE_NONE)
        return 0;
    const struct str text = r->table.fields[column];
    if (r->task->labels == 1)
        return class_number(text, label) ? 0 : bad_label(r, column, text, err);
    for (uint32_t i = 0; i < r->task->labels; i++)
        if (str_equal(text, str_of(r->task->label_names[i]))) {
            *label = i;
            return 0;
        }
    return bad_label(r, column, text, err);
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

static int take_row(struct reading *r, struct samples *samples, struct error *err)
{
    uint32_t label;
    char columns[56];
    if (r->table.columns < columns_needed(r->columns)) {
        fail_at(err, ERR_INPUT, r->path, ERROR_NO_OFFSET, "line %" PRIu64 " has %s, column %zu is missing",
                r->table.line, format_counted(r->table.columns, "column", columns), r->table.columns + 1);
        return hint(err, "tabs separate columns");
    }
    TRY(take_label(r, &label, err));
    const bool pair = r->columns->b != GLUE_NONE;
    class_cut(&r->cutter, r->table.fields[r->columns->a], pair ? &r->table.fields[r->columns->b] : NULL, label,
              samples);
    return 0;
}

static int take_rows(struct reading *r, struct glue_set *set, struct error *err)
{
    const bool labelled = r->columns->label != GLUE_NONE;
    struct error ignored;
    uint32_t label;
    int more = r->columns->header ? table_next(&r->table, err) : 1;
    if (more > 0 && r->columns->header && labelled && r->table.columns >= columns_needed(r->columns) &&
        take_label(r, &label, &ignored) == 0)
        return fail_at(err, ERR_INPUT, r->path, ERROR_NO_OFFSET,
                       "line 1 is a row: the names of the columns are missing");
    while (more > 0 && (more = table_next(&r->table, err)) > 0) {
        if (r->table.columns < r->task->columns_least && labelled)
            set->passed_over++;
        else
            TRY(take_row(r, &set->samples, err));
    }
    TRY(more);
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
    *set = (struct glue_set){.samples = {.head = HEAD_CLASS}};
    int result = table_open_rows(&r.table, path, err);
    if (result == 0)
        result = take_rows(&r, set, err);
    table_close(&r.table);
    class_cutter_release(&r.cutter);
    return result;
}

void glue_set_release(struct glue_set *set)
{
    samples_release(&set->samples);
}
