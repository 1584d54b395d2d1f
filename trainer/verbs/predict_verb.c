/* dstrain predict: a table with the predictions of a fine-tuned model as further columns. It is read in windows of
 * rows, each of which is written before the next one is read; the output has its final name when it is complete. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/output.h"
#include "base/same_math.h"
#include "base/target.h"
#include "trainer/model/head.h"
#include "trainer/run/run.h"
#include "trainer/tune/labelled.h"
#include "trainer/tune/predict.h"
#include "trainer/verbs/about.h"
#include "trainer/verbs/predicting.h"

#define SEQ_LIKELY "512" /* of a model whose run is not known */

static int predict_rows_of_table(struct predicting *p, json_t **scores, struct error *err);

/* What a model with each head is applied to. */
static const struct applied {
    const char *unit, *units;
    const struct tune_kind *kind; /* says the scores */
    int (*predict)(struct predicting *p, json_t **scores, struct error *err);
} applied[HEAD_KINDS] = {
    [HEAD_CLASS] = {"row", "rows", &tune_classify, predict_rows_of_table},
    [HEAD_TOKEN] = {"word", "words", &tune_tag, predict_tags},
    [HEAD_SPAN] = {"question", "questions", &tune_squad, predict_answers},
};

const char *predicting_recorded(const struct predicting *p, const char *option)
{
    return json_string_value(json_object_get(json_object_get(p->record, "settings"), option));
}

const char *predicting_column(const struct predicting *p, const char *given, const char *option)
{
    return given ? given : predicting_recorded(p, option);
}

/* The length that texts are cut to: --seq, else the run's, else for questions that of squad, else what the model
 * has. */
static uint64_t length_of(const struct predicting *p)
{
    const char *run = predicting_recorded(p, "seq");
    const uint64_t positions = (uint64_t)p->reading.recipe.config.positions;
    const char *length = run ? run : p->reading.tuned == HEAD_SPAN ? tune_squad.seq : SEQ_LIKELY;
    const uint64_t likely = strtoull(length, NULL, 10);
    return p->settings->seq ? p->settings->seq : likely < positions ? likely : positions;
}

static int check_out(const struct predicting *p, struct error *err)
{
    static const char *const ours[] = {"prediction", NULL};
    static const struct target_form form = {.holds = ours};
    const char *const reads[] = {p->file};
    const struct target target = {.option = "out",
                                  .path = p->settings->out,
                                  .streams = true,
                                  .force = p->settings->force,
                                  .forms = &form,
                                  .form_count = 1,
                                  .reads = reads,
                                  .read_count = 1};
    return target_check(&target, err);
}

static int open_model(struct predicting *p, struct error *err)
{
    TRY(reading_find(&p->reading, p->settings, p->model, 0, err));
    const struct reading *r = &p->reading;
    const enum head_kind head = p->reading.tuned;
    if (head == HEAD_KINDS || !applied[head].unit) {
        fail_at(err, ERR_MISMATCH, p->model, ERROR_NO_OFFSET,
                "has no head of classes or answers: it is a pre-trained model");
        return hint(err, "dstrain classify, tag or squad trains one");
    }
    TRY(tune_refuse_options(applied[head].kind, p->settings, err));
    if (p->settings->all && head != HEAD_CLASS)
        return fail(err, ERR_USAGE, "--all is for models that give a text one of several classes");
    p->reading.recipe.config.task_heads = 1u << head;
    p->record = about_record(p->model, r->origin.source, r->origin.files);
    p->outputs = (uint32_t)head_labels(head, &r->recipe.config);
    p->several = r->recipe.config.several;
    p->shares = mem_array(p->outputs, sizeof *p->shares);
    if ((p->outputs > 1 && head != HEAD_SPAN) || p->several)
        class_names_of(&p->names, &r->recipe.config);
    const uint64_t length = length_of(p);
    if (length > (uint64_t)r->recipe.config.positions)
        return fail(err, ERR_MISMATCH, "--seq %" PRIu64 " is above the model's %" PRId32 " positions", length,
                    r->recipe.config.positions);
    p->cutter = (struct class_cutter){.text = &r->text, .length = (uint32_t)length};
    p->samples.head = head;
    return 0;
}

/* No column may be there twice. */
static int check_names(const struct predicting *p, struct error *err)
{
    for (size_t i = 0; i < p->table.columns; i++) {
        const char *name = p->table.names[i];
        if (strcmp(name, "prediction") == 0 || strcmp(name, "probability") == 0 ||
            (p->settings->all && strncmp(name, "probability.", 12) == 0)) {
            fail_at(err, ERR_USAGE, p->file, ERROR_NO_OFFSET, "has a column \"%.60s\" already", name);
            return hint(err, "rename it, as the output has one of that name");
        }
    }
    return 0;
}

static bool has_column(const struct table *table, const char *name)
{
    for (size_t i = 0; i < table->columns; i++)
        if (strcmp(table->names[i], name) == 0)
            return true;
    return false;
}

/* The columns of a model of GLUE, in a table that is one of its task. CoLA's have no names: the text is in column 4. */
static void take_task_columns(struct predicting *p, const struct glue_task *task, struct column_names *names)
{
    struct table *t = &p->table;
    if (has_column(t, task->text) && (!task->text2 || has_column(t, task->text2))) {
        *names = (struct column_names){task->text, task->text2, names->label ? names->label : task->label};
    } else if (!task->train.header && t->separator == '\t' && t->columns == 4) {
        table_without_names(t);
        *names = (struct column_names){"4", NULL, names->label ? names->label : "2"};
    }
}

static int open_table(struct predicting *p, struct error *err)
{
    const struct settings *s = p->settings;
    const struct glue_task *task = glue_task_named(p->reading.recipe.config.tuned_for);
    struct column_names names = {
        .text = predicting_column(p, s->text, "text"),
        .text2 = predicting_column(p, s->text2, "text2"),
        .label = predicting_column(p, s->label, "label"),
    };
    TRY(table_open(&p->table, p->file, err));
    if (task && !names.text && !names.text2)
        take_task_columns(p, task, &names);
    TRY(columns_choose(&p->table, &names, s->label != NULL, &p->columns, err));
    columns_say(&p->table, &p->columns);
    if (task && task->text2 && p->columns.text2 == COLUMN_NONE)
        return columns_ask(&p->table, "text2", "second text", err);
    if (p->columns.text2 != COLUMN_NONE)
        TRY(class_check_pairs(&p->reading.text, &p->reading.recipe.config, err));
    return check_names(p, err);
}

/* A source that says how large samples may be; windows have sources of their own. */
static int open_engine(struct predicting *p, struct error *err)
{
    struct source source = {
        .samples = WINDOW, .tokens = (uint64_t)WINDOW * p->cutter.length, .room.length = p->cutter.length};
    source.room.marks[p->samples.head] = p->samples.head == HEAD_TOKEN ? p->cutter.length : 1;
    return reading_open(&p->reading, &source, err);
}

double predicting_label(const struct predicting *p, struct str text)
{
    char copy[LABEL_NAME_SIZE], *end;
    uint32_t bits;
    if (p->several)
        return labelled_bits(text, p->names.names, p->names.count, &bits) ? (double)bits : (double)NAN;
    text = str_trim(text);
    if (text.size == 0 || text.size >= sizeof copy)
        return (double)NAN;
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    if (p->names.count == 0) {
        const double value = strtod(copy, &end);
        return *end == '\0' && isfinite(value) ? value : (double)NAN;
    }
    const char *wanted = copy;
    const char *const *found = bsearch(&wanted, p->names.names, p->names.count, sizeof *found, text_order);
    return found ? (double)(found - p->names.names) : (double)NAN;
}

static void take_row(struct predicting *p)
{
    const struct table *t = &p->table;
    const size_t row = p->samples.count;
    const struct str a = t->fields[p->columns.text];
    buf_add_str(&p->raws, t->raw);
    p->raw_ends[row] = p->raws.size;
    p->labels[row] = p->columns.label == COLUMN_NONE ? (double)NAN : predicting_label(p, t->fields[p->columns.label]);
    p->empty += str_is_blank(a);
    class_cut(&p->cutter, a, p->columns.text2 == COLUMN_NONE ? NULL : &t->fields[p->columns.text2], 0, &p->samples);
}

/* 1: the window has rows. */
static int read_window(struct predicting *p, struct error *err)
{
    int more = 1;
    buf_reset(&p->raws);
    samples_reset(&p->samples);
    while (p->samples.count < WINDOW && (more = table_next(&p->table, err)) > 0)
        take_row(p);
    return more < 0 ? -1 : p->samples.count > 0;
}

/* Probabilities of the classes, from their logits. */
static void softmax(const float *logits, uint32_t count, double *out)
{
    double most = (double)logits[0], sum = 0;
    for (uint32_t i = 1; i < count; i++)
        most = (double)logits[i] > most ? (double)logits[i] : most; /* gcc 12 for aarch64 crashes on fmax here */
    for (uint32_t i = 0; i < count; i++)
        sum += out[i] = same_exp((double)logits[i] - most);
    for (uint32_t i = 0; i < count; i++)
        out[i] /= sum;
}

static void add_text(const struct predicting *p, const char *text, struct buf *out)
{
    const struct table *t = &p->table;
    const char special[] = {'"', '\n', '\r', t->separator, '\0'};
    if (t->json) {
        buf_add_json(out, str_of(text));
        return;
    }
    const bool quoted = t->csv.quotes && strpbrk(text, special);
    if (quoted)
        buf_add_byte(out, '"');
    for (; *text; text++) {
        if (quoted && *text == '"')
            buf_add_byte(out, '"');
        buf_add_byte(out, !t->csv.quotes && strchr("\t\n\r", *text) ? ' ' : *text);
    }
    if (quoted)
        buf_add_byte(out, '"');
}

/* The separator before a further column, in JSON with its key. */
static void add_key(const struct predicting *p, const char *name, const char *class, struct buf *out)
{
    if (!p->table.json) {
        buf_add_byte(out, p->table.separator ? p->table.separator : ',');
        return;
    }
    SCOPED(buf_release) struct buf key = {0};
    buf_addf(&key, "%s%s%s", name, class ? "." : "", class ? class : "");
    buf_add_text(out, ",");
    buf_add_json(out, buf_str(&key));
    buf_add_byte(out, ':');
}

/* Of several labels: those with a probability above one half; the probability of the whole set if the labels did not
 * depend on one another. */
static double add_set(const struct predicting *p, const float *logits, double *shares, struct buf *out)
{
    SCOPED(buf_release) struct buf text = {0};
    double whole = 1;
    for (uint32_t i = 0; i < p->outputs; i++) {
        shares[i] = 1 / (1 + same_exp(-(double)logits[i]));
        whole *= logits[i] > 0 ? shares[i] : 1 - shares[i];
        if (logits[i] > 0)
            buf_addf(&text, "%s%s", text.size > 0 ? ";" : "", p->names.texts[i]);
    }
    add_text(p, buf_text(&text), out);
    return whole;
}

static double add_class(const struct predicting *p, const float *logits, double *shares, struct buf *out)
{
    const uint32_t best = class_of(logits, p->outputs);
    softmax(logits, p->outputs, shares);
    add_text(p, p->names.texts[best], out);
    return shares[best];
}

static void add_prediction(const struct predicting *p, const float *logits, struct buf *out)
{
    double *shares = p->shares;
    add_key(p, "prediction", NULL, out);
    if (p->names.count == 0) {
        buf_addf(out, "%.9g", (double)logits[0]);
        return;
    }
    const double share = (p->several ? add_set : add_class)(p, logits, shares, out);
    if (!p->settings->all) {
        add_key(p, "probability", NULL, out);
        buf_addf(out, "%.9f", share);
    }
    for (uint32_t i = 0; i < p->outputs && p->settings->all; i++) {
        add_key(p, "probability", p->names.texts[i], out);
        buf_addf(out, "%.9f", shares[i]);
    }
}

static void add_header(struct predicting *p)
{
    struct buf name = {0};
    if (p->table.mark)
        buf_add_text(&p->out, "\xef\xbb\xbf");
    if (p->table.json || p->table.header.size == 0)
        return;
    buf_add_str(&p->out, buf_str(&p->table.header));
    add_key(p, NULL, NULL, &p->out);
    buf_add_text(&p->out, "prediction");
    if (p->names.count > 0 && !p->settings->all) {
        add_key(p, NULL, NULL, &p->out);
        buf_add_text(&p->out, "probability");
    }
    for (uint32_t i = 0; i < p->names.count && p->settings->all; i++) {
        buf_reset(&name);
        buf_addf(&name, "probability.%s", p->names.texts[i]);
        add_key(p, NULL, NULL, &p->out);
        add_text(p, buf_text(&name), &p->out);
    }
    buf_add_text(&p->out, p->table.end);
    buf_release(&name);
}

struct str predicting_opened(struct str object)
{
    object = str_trim(object);
    object.size--;
    return str_trim(object);
}

static void add_row(struct predicting *p, size_t row)
{
    const size_t from = row > 0 ? p->raw_ends[row - 1] : 0;
    const struct str raw = {p->raws.data + from, p->raw_ends[row] - from};
    const size_t before = p->out.size;
    buf_add_str(&p->out, p->table.json ? predicting_opened(raw) : raw);
    const size_t at = p->out.size;
    add_prediction(p, p->logits + row * p->outputs, &p->out);
    if (p->table.json && at - before == 1) { /* it was {} */
        memmove(p->out.data + at, p->out.data + at + 1, p->out.size - at - 1);
        p->out.size--;
    }
    buf_add_text(&p->out, p->table.json ? "}" : "");
    buf_add_text(&p->out, p->table.end);
}

int predicting_write(struct predicting *p, struct error *err)
{
    const size_t size = p->out.size;
    buf_reset(&p->out);
    if (size == 0) /* then there may be no data at all */
        return 0;
    if (!p->to_stdout)
        return file_write(&p->to, p->out.data, size, err);
    return fwrite(p->out.data, 1, size, stdout) == size ? 0 : output_failed(err);
}

static void keep_score(struct predicting *p, size_t row)
{
    struct class_predictions *s = &p->scored;
    if (isnan(p->labels[row]))
        return;
    if (s->count == p->room) {
        p->room = 2 * p->room + WINDOW;
        s->found = mem_grow(s->found, p->room, sizeof *s->found);
        s->truth = mem_grow(s->truth, p->room, sizeof *s->truth);
        s->numbers = mem_grow(s->numbers, p->room, sizeof *s->numbers);
        s->true_numbers = mem_grow(s->true_numbers, p->room, sizeof *s->true_numbers);
    }
    const float *logits = p->logits + row * p->outputs;
    if (p->names.count > 0) {
        s->found[s->count] = p->several ? class_bits(logits, &p->names) : p->names.rank[class_of(logits, p->outputs)];
        s->truth[s->count] = (uint32_t)p->labels[row];
    }
    s->numbers[s->count] = (double)logits[0];
    s->true_numbers[s->count++] = p->labels[row];
}

static json_t *scores_of(const struct predicting *p)
{
    const struct label_set set = {"the model", NULL, p->names.count, p->names.names, NULL, p->several};
    struct class_predictions given = p->scored;
    if (p->names.count > 0)
        given.numbers = NULL;
    json_t *scores = class_predictions_scores(&set, &given);
    json_object_set_new(scores, "dev", json_integer((json_int_t)given.count));
    return scores;
}

static bool asked(void *context)
{
    (void)context;
    return stop_requested();
}

int predicting_compute(struct predicting *p, const struct samples *samples, struct error *err)
{
    const struct halt halt = {asked, NULL};
    const struct evaluation_work work = {
        .task = &p->reading.task,
        .model = p->reading.engine.model,
        .limits = &p->reading.engine.limits,
        .halt = &halt,
        .weights = p->reading.origin.weights,
    };
    mem_free(p->logits);
    p->logits = mem_array(predict_rows(samples) * p->outputs + 1, sizeof *p->logits);
    return predict(&work, samples, p->logits, NULL, err);
}

static int predict_window(struct predicting *p, struct error *err)
{
    TRY(predicting_compute(p, &p->samples, err));
    for (size_t i = 0; i < p->samples.count; i++) {
        add_row(p, i);
        keep_score(p, i);
    }
    p->rows += p->samples.count;
    if (progress_due(&p->progress))
        progress_show(&p->progress, -1, "%" PRIu64 " rows", p->rows);
    return predicting_write(p, err);
}

static void report(const struct predicting *p, const struct applied *to, double seconds, const json_t *scores)
{
    char rows[56], empty[56];
    if (p->settings->json && !p->to_stdout) {
        json_t *facts = json_pack("{s:o, s:I, s:I, s:f}", "model", json_name(p->model), to->units, (json_int_t)p->rows,
                                  "empty", (json_int_t)p->empty, "seconds", seconds);
        if (scores)
            json_object_set(facts, "scores", (json_t *)(uintptr_t)scores);
        output_json(facts, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    }
    log_say("done       %s predicted in %.1f s%s%s", format_counted(p->rows, to->unit, rows), seconds,
            p->empty > 0 ? ", without text: " : "", p->empty > 0 ? format_count(p->empty, empty) : "");
    if (scores)
        to->kind->say_scores(log_say, NULL, scores);
}

static int open_output(struct predicting *p, struct error *err)
{
    p->to_stdout = strcmp(p->settings->out, "-") == 0;
    return p->to_stdout ? 0 : file_create(&p->to, p->settings->out, err);
}

static int predict_rows_of_table(struct predicting *p, json_t **scores, struct error *err)
{
    int more;
    add_header(p);
    TRY(predicting_write(p, err));
    while ((more = read_window(p, err)) > 0)
        TRY(predict_window(p, err));
    *scores = more == 0 && p->scored.count > 0 ? scores_of(p) : NULL;
    return more;
}

static int run(struct predicting *p, struct error *err)
{
    const double from = clock_now();
    json_auto_t *scores = NULL;
    TRY(check_out(p, err));
    TRY(open_model(p, err));
    const struct applied *to = &applied[p->samples.head];
    if (p->samples.head == HEAD_CLASS)
        TRY(open_table(p, err));
    TRY(open_engine(p, err));
    TRY(open_output(p, err));
    progress_open(&p->progress);
    const int result = to->predict(p, &scores, err);
    progress_close(&p->progress);
    TRY(result);
    if (!p->to_stdout)
        TRY(file_commit(&p->to, err));
    report(p, to, clock_now() - from, scores);
    return 0;
}

int dstrain_predict(void *context, struct opt_paths bare, struct error *err)
{
    struct settings *settings = context;
    if (!settings->out)
        return fail(err, ERR_USAGE, "--out FILE is missing: where the table with predictions is written (- prints it)");
    SCOPED(mem_free_at) struct predicting *p = mem_clear(1, sizeof *p);
    *p = (struct predicting){.settings = settings, .model = bare.items[0], .file = bare.items[1], .to = FILE_CLOSED};
    stop_on_signals();
    const int result = run(p, err);
    file_close(&p->to);
    table_close(&p->table);
    reading_close(&p->reading);
    class_names_release(&p->names);
    class_cutter_release(&p->cutter);
    samples_release(&p->samples);
    buf_release(&p->raws);
    buf_release(&p->out);
    mem_free(p->logits);
    mem_free(p->shares);
    mem_free(p->scored.found);
    mem_free(p->scored.truth);
    mem_free(p->scored.numbers);
    mem_free(p->scored.true_numbers);
    json_decref(p->record);
    return result;
}
