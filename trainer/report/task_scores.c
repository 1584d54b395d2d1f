/* What scores.json of fine-tuned runs says: the scores side by side; of each run those of its classes, which of them
 * are confused, and the errors of which the model was surest. */
#include "trainer/report/sections.h"

#include "base/mem.h"

#include <inttypes.h>
#include <stdlib.h>

#define KEYS_MAX     40u
#define CLASSES_MAX  50u /* with a row each */
#define MATRIX_MAX   20u /* classes of a confusion matrix; of more the commonest confusions */
#define PAIRS_MAX    20u
#define TEXT_LETTERS 400u

static void put_title(struct buf *page, const struct report *report, size_t run)
{
    if (report->count == 1)
        return;
    buf_add_text(page, "<h3 class=\"who\">");
    section_run_name(page, report, run);
    buf_add_text(page, "</h3>\n");
}

static void put_name_cell(struct buf *page, const char *tag, const char *name)
{
    buf_addf(page, "<%s>", tag);
    html_name(page, name ? name : "");
    buf_addf(page, "</%.2s>", tag);
}

/* The single numbers: a row each, a column for each run; in brackets those of always giving the commonest label. */
static void put_numbers(struct buf *page, const struct report *report)
{
    json_t *keys = json_object(), *value;
    const char *key;
    size_t rows = 0;
    for (size_t r = 0; r < report->count; r++)
        json_object_foreach(report->runs[r].scores, key, value) if (json_is_real(value))
            json_object_set(keys, key, value);
    buf_add_text(page, "<div class=\"wide\"><table>\n<caption>Scores (in brackets: of always giving the commonest "
                       "label)</caption>\n<thead><tr><th scope=\"col\">Score</th>");
    for (size_t r = 0; r < report->count; r++) {
        buf_add_text(page, "<th scope=\"col\" class=\"n\">");
        section_run_name(page, report, r);
        buf_add_text(page, "</th>");
    }
    buf_add_text(page, "</tr></thead>\n<tbody>\n");
    json_object_foreach(keys, key, value)
    {
        if (rows++ == KEYS_MAX)
            break;
        buf_add_text(page, "<tr>");
        put_name_cell(page, "th scope=\"row\"", key);
        for (size_t r = 0; r < report->count; r++) {
            const json_t *scores = report->runs[r].scores, *one = json_object_get(scores, key),
                         *always = json_object_get(json_object_get(scores, "commonest"), key);
            char number[32];
            buf_addf(page, "<td class=\"n\">%s", one ? section_number(json_number_value(one), "%.4f", number) : "–");
            if (json_is_number(always))
                buf_addf(page, " (%s)", section_number(json_number_value(always), "%.4f", number));
            buf_add_text(page, "</td>");
        }
        buf_add_text(page, "</tr>\n");
    }
    buf_add_text(page, "</tbody></table></div>\n");
    json_decref(keys);
}

/* Precision, recall and F1 of each class, or type of span. */
static void put_classes(struct buf *page, const json_t *scores)
{
    static const char *const columns[] = {"Class", "#Precision", "#Recall", "#F1", "#Rows", NULL};
    static const char *const keys[] = {"precision", "recall", "f1"};
    json_t *each = json_object_get(scores, "per_class"), *one;
    const char *name;
    size_t rows = 0;
    each = each ? each : json_object_get(scores, "per_type");
    if (json_object_size(each) == 0)
        return;
    html_table(page, json_object_size(each) > CLASSES_MAX ? "The first classes" : "Each class", columns);
    json_object_foreach(each, name, one)
    {
        if (rows++ == CLASSES_MAX)
            break;
        buf_add_text(page, "<tr>");
        put_name_cell(page, "th scope=\"row\"", name);
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            buf_addf(page, "<td class=\"n\">%.3f</td>", json_number_value(json_object_get(one, keys[k])));
        const json_int_t support = json_integer_value(json_object_get(one, "support"));
        html_cell_count(page, support > 0 ? (uint64_t)support : 0);
        buf_add_text(page, "</tr>\n");
    }
    html_table_end(page);
}

static uint64_t cell(const json_t *confusion, size_t truth, size_t found)
{
    const json_int_t count = json_integer_value(json_array_get(json_array_get(confusion, truth), found));
    return count > 0 ? (uint64_t)count : 0;
}

static const char *label(const json_t *labels, size_t i)
{
    return json_string_value(json_array_get(labels, i));
}

static void put_matrix(struct buf *page, const json_t *confusion, const json_t *labels)
{
    const size_t count = json_array_size(labels);
    buf_add_text(page, "<div class=\"wide\"><table class=\"confusion\">\n<caption>True classes in rows, predicted ones "
                       "in columns</caption>\n<thead><tr><th scope=\"col\"></th>");
    for (size_t i = 0; i < count; i++)
        put_name_cell(page, "th scope=\"col\" class=\"n\"", label(labels, i));
    buf_add_text(page, "</tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < count; i++) {
        buf_add_text(page, "<tr>");
        put_name_cell(page, "th scope=\"row\"", label(labels, i));
        for (size_t k = 0; k < count; k++)
            buf_addf(page, "<td class=\"n%s\">%" PRIu64 "</td>", i == k ? " right" : "", cell(confusion, i, k));
        buf_add_text(page, "</tr>\n");
    }
    buf_add_text(page, "</tbody></table></div>\n");
}

struct pair {
    uint64_t rows;
    size_t truth, found;
};

static int by_rows(const void *a, const void *b)
{
    const struct pair *one = a, *two = b;
    if (one->rows != two->rows)
        return one->rows < two->rows ? 1 : -1;
    return one->truth != two->truth ? (one->truth > two->truth) - (one->truth < two->truth)
                                    : (one->found > two->found) - (one->found < two->found);
}

static void put_pairs(struct buf *page, const json_t *confusion, const json_t *labels)
{
    static const char *const columns[] = {"True class", "Predicted", "#Rows", NULL};
    const size_t classes = json_array_size(labels);
    SCOPED(mem_free_at) struct pair *pairs = mem_array(classes * classes, sizeof *pairs);
    size_t count = 0;
    for (size_t i = 0; i < classes; i++)
        for (size_t k = 0; k < classes; k++)
            if (i != k && cell(confusion, i, k) > 0)
                pairs[count++] = (struct pair){cell(confusion, i, k), i, k};
    qsort(pairs, count, sizeof *pairs, by_rows);
    html_table(page, "The commonest confusions", columns);
    for (size_t i = 0; i < count && i < PAIRS_MAX; i++) {
        buf_add_text(page, "<tr>");
        put_name_cell(page, "td", label(labels, pairs[i].truth));
        put_name_cell(page, "td", label(labels, pairs[i].found));
        html_cell_count(page, pairs[i].rows);
        buf_add_text(page, "</tr>\n");
    }
    html_table_end(page);
}

static void put_errors(struct buf *page, const json_t *errors)
{
    static const char *const columns[] = {"#Probability", "Predicted", "True class", "Text, as the model reads it",
                                          NULL};
    const json_t *error;
    size_t i;
    if (json_array_size(errors) == 0)
        return;
    html_table(page, "The errors of which the model was surest", columns);
    json_array_foreach(errors, i, error)
    {
        const char *text = json_string_value(json_object_get(error, "text"));
        buf_addf(page, "<tr><td class=\"n\">%.3f</td>", json_number_value(json_object_get(error, "probability")));
        put_name_cell(page, "td", json_string_value(json_object_get(error, "prediction")));
        put_name_cell(page, "td", json_string_value(json_object_get(error, "truth")));
        buf_add_text(page, "<td><bdi>");
        html_text(page, str_of(text ? text : ""), TEXT_LETTERS);
        buf_add_text(page, "</bdi></td></tr>\n");
    }
    html_table_end(page);
}

void section_scores(struct buf *page, const struct report *report)
{
    if (!report_has_scores(report))
        return;
    html_section(page, "scores", "Scores");
    put_numbers(page, report);
    for (size_t r = 0; r < report->count; r++) {
        const json_t *scores = report->runs[r].scores, *confusion = json_object_get(scores, "confusion"),
                     *labels = json_object_get(scores, "labels");
        if (!scores)
            continue;
        put_title(page, report, r);
        put_classes(page, scores);
        if (json_array_size(confusion) > 0)
            (json_array_size(labels) > MATRIX_MAX ? put_pairs : put_matrix)(page, confusion, labels);
        put_errors(page, json_object_get(scores, "errors"));
    }
    html_section_end(page);
}
