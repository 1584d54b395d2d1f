#include "trainer/tune/squad_scores.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "tokenizer/normalize.h"
#include "trainer/tune/alnum.h"

static bool is_punctuation(uint32_t p)
{
    return (p >= 33 && p <= 47) || (p >= 58 && p <= 64) || (p >= 91 && p <= 96) || (p >= 123 && p <= 126);
}

/* \w of a Python regular expression; underscores have been removed before. */
static bool is_word(uint32_t p)
{
    if (p < 128)
        return (p >= '0' && p <= '9') || (p >= 'a' && p <= 'z') || (p >= 'A' && p <= 'Z') || p == '_';
    size_t low = 0, high = sizeof alnum_ranges / sizeof *alnum_ranges;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (p > alnum_ranges[middle].last)
            low = middle + 1;
        else
            high = middle;
    }
    return low < sizeof alnum_ranges / sizeof *alnum_ranges && p >= alnum_ranges[low].first;
}

static void add_point(struct buf *out, uint32_t point)
{
    char bytes[4];
    buf_add(out, bytes, utf8_write(point, bytes));
}

/* Removes case and ASCII punctuation. */
static void lower(struct str text, struct buf *out)
{
    SCOPED(buf_release) struct buf scratch = {0};
    const struct str lowered = sigma_lower(&unicode_google, text, &scratch);
    uint32_t point;
    unsigned skip, size;
    for (size_t at = 0; at < lowered.size; at += size) {
        size = utf8_decode(lowered.data + at, lowered.size - at, &point, &skip);
        if (size == 0) {
            size = skip;
            continue;
        }
        const uint32_t small = (uint32_t)((int32_t)point + unicode_letter(&unicode_google, point)->lower);
        if (!is_punctuation(small))
            add_point(out, small);
        if (point == 0x130)
            add_point(out, 0x307);
    }
}

static bool is_article(struct str word)
{
    return str_equal(word, STR("a")) || str_equal(word, STR("an")) || str_equal(word, STR("the"));
}

/* Replaces words that are articles with a blank. */
static void drop_articles(struct str text, struct buf *out)
{
    uint32_t point;
    unsigned skip, size;
    for (size_t at = 0; at < text.size;) {
        size_t end = at;
        while (end < text.size && (size = utf8_decode(text.data + end, text.size - end, &point, &skip)) > 0 &&
               is_word(point))
            end += size;
        if (end == at) { /* no word begins here */
            size = utf8_decode(text.data + at, text.size - at, &point, &skip);
            buf_add(out, text.data + at, size);
            at += size;
            continue;
        }
        const struct str word = {text.data + at, end - at};
        buf_add_str(out, is_article(word) ? STR(" ") : word);
        at = end;
    }
}

void squad_normalize(struct str text, struct buf *out)
{
    SCOPED(buf_release) struct buf small = {0}, plain = {0};
    lower(text, &small);
    drop_articles(buf_str(&small), &plain);
    squad_add_words(buf_str(&plain), out);
}

double squad_exact(struct str found, struct str truth)
{
    SCOPED(buf_release) struct buf a = {0}, b = {0};
    squad_normalize(found, &a);
    squad_normalize(truth, &b);
    return str_equal(buf_str(&a), buf_str(&b));
}

static int by_text(const void *a, const void *b)
{
    return str_compare(*(const struct str *)a, *(const struct str *)b);
}

/* The words of a text, sorted; the caller frees the array. */
static struct str *words_of(struct str text, size_t *count)
{
    struct str *words = mem_array(text.size + 1, sizeof *words), word;
    *count = 0;
    while (squad_next_word(&text, &word))
        words[(*count)++] = word;
    qsort(words, *count, sizeof *words, by_text);
    return words;
}

double squad_f1(struct str found, struct str truth, bool version_2)
{
    SCOPED(buf_release) struct buf a = {0}, b = {0};
    size_t a_count, b_count, common = 0;
    squad_normalize(found, &a);
    squad_normalize(truth, &b);
    SCOPED(mem_free_at)
    struct str *a_words = words_of(buf_str(&a), &a_count), *b_words = words_of(buf_str(&b), &b_count);
    for (size_t i = 0, j = 0; i < a_count && j < b_count;) {
        const int order = str_compare(a_words[i], b_words[j]);
        common += order == 0;
        i += order <= 0;
        j += order >= 0;
    }
    double f1 = 0;
    if (version_2 && (a_count == 0 || b_count == 0))
        f1 = a_count == b_count;
    else if (common > 0) {
        const double precision = (double)common / (double)a_count, recall = (double)common / (double)b_count;
        f1 = 2 * precision * recall / (precision + recall);
    }
    return f1;
}

struct question_score {
    double exact, f1, null_odds;
    bool answered, has_answer;
    bool said;    /* the answer has a text */
    size_t order; /* in the file: equal odds keep it */
};

/* Version 2 compares with the references that have words, or with "" if there are none. */
static struct question_score score_one(const struct squad_question *q, const json_t *answer, bool version_2)
{
    struct question_score score = {.answered = answer != NULL, .has_answer = q->answer_count > 0};
    if (!answer)
        return score;
    const struct str found = {json_string_value(answer), json_string_length(answer)};
    score.said = found.size > 0;
    bool compared = false;
    for (uint32_t i = 0; i < q->answer_count; i++) {
        struct buf words = {0};
        squad_normalize(q->answers[i].text, &words);
        if (!version_2 || words.size > 0) {
            score.exact = fmax(score.exact, squad_exact(found, q->answers[i].text));
            score.f1 = fmax(score.f1, squad_f1(found, q->answers[i].text, version_2));
            compared = true;
        }
        buf_release(&words);
    }
    if (version_2 && !compared) {
        score.exact = squad_exact(found, STR(""));
        score.f1 = squad_f1(found, STR(""), true);
    }
    return score;
}

static void add_means(json_t *out, const char *prefix, const struct question_score *scores, size_t count, int which)
{
    double exact = 0, f1 = 0, total = 0;
    for (size_t i = 0; i < count; i++)
        if (which < 0 || scores[i].has_answer == (which > 0)) {
            exact += scores[i].exact;
            f1 += scores[i].f1;
            total++;
        }
    if (total == 0 && which >= 0)
        return;
    json_t *part =
        json_pack("{s:f, s:f, s:I}", "exact", 100 * exact / total, "f1", 100 * f1 / total, "total", (json_int_t)total);
    const char *key;
    json_t *value;
    json_object_foreach(part, key, value)
    {
        char name[40];
        const bool main = which < 0 && key[0] == 'e';
        snprintf(name, sizeof name, "%s%s", prefix, main ? "exact_match" : key);
        json_object_set(out, name, value);
    }
    json_decref(part);
}

static int by_odds(const void *a, const void *b)
{
    const struct question_score *one = a, *two = b;
    if (one->null_odds < two->null_odds || one->null_odds > two->null_odds)
        return one->null_odds < two->null_odds ? -1 : 1;
    return one->order < two->order ? -1 : 1;
}

/* As find_best_thresh: begins with no answer to any question, then admits answers in the order of their odds. */
static void add_best(json_t *out, const char *name, struct question_score *scores, size_t count, bool exact)
{
    double right = 0, best, threshold = 0;
    char key[40];
    for (size_t i = 0; i < count; i++)
        right += !scores[i].has_answer;
    best = right;
    for (size_t i = 0; i < count; i++) {
        const struct question_score *s = &scores[i];
        if (!s->answered)
            continue;
        right += s->has_answer ? (exact ? s->exact : s->f1) : s->said ? -1 : 0;
        if (right > best) {
            best = right;
            threshold = s->null_odds;
        }
    }
    snprintf(key, sizeof key, "best_%s", name);
    json_object_set_new(out, key, json_real(100 * best / (double)count));
    snprintf(key, sizeof key, "best_%s_thresh", name);
    json_object_set_new(out, key, json_real(threshold));
}

json_t *squad_score(const struct squad_file *file, const json_t *answers, const json_t *null_odds)
{
    SCOPED(mem_free_at) struct question_score *scores = mem_array(file->count + 1, sizeof *scores);
    json_t *out = json_object();
    json_int_t unanswered = 0;
    for (size_t i = 0; i < file->count; i++) {
        const struct squad_question *q = &file->questions[i];
        scores[i] = score_one(q, json_object_get(answers, q->id.data), file->version_2);
        scores[i].order = i;
        scores[i].null_odds = json_number_value(json_object_get(null_odds, q->id.data));
        unanswered += !scores[i].answered;
    }
    add_means(out, "", scores, file->count, -1);
    json_object_set_new(out, "unanswered", json_integer(unanswered));
    if (file->version_2) {
        add_means(out, "HasAns_", scores, file->count, 1);
        add_means(out, "NoAns_", scores, file->count, 0);
        json_object_set_new(out, "no_answer",
                            json_real(100 * json_number_value(json_object_get(out, "NoAns_total")) /
                                      (double)(file->count > 0 ? file->count : 1)));
        qsort(scores, file->count, sizeof *scores, by_odds);
        add_best(out, "exact", scores, file->count, true);
        add_best(out, "f1", scores, file->count, false);
    }
    return out;
}
