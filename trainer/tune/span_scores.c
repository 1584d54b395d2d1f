#include "trainer/tune/span_scores.h"

#include <stdlib.h>

#include "base/mem.h"
#include "trainer/tune/class_scores.h"
#include "trainer/tune/scores.h"

struct span {
    const char *type;
    size_t from, to;
};

/* A letter and a type; the type of O is "_". */
struct tag {
    char letter;
    const char *type;
};

static struct tag tag_of(const char *text)
{
    const char *rest = text + 1, *hyphen = strchr(rest, '-'), *type = hyphen ? hyphen + 1 : rest;
    return (struct tag){text[0], *type ? type : "_"};
}

static bool is_in(char letter, const char *letters)
{
    return letter && strchr(letters, letter);
}

static bool other_type(struct tag before, struct tag now, char letter)
{
    return !is_in(letter, "O.") && strcmp(before.type, now.type) != 0;
}

static bool ends_before(struct tag before, struct tag now)
{
    return is_in(before.letter, "ES") || (is_in(before.letter, "BI") && is_in(now.letter, "BSO")) ||
           other_type(before, now, before.letter);
}

static bool begins_at(struct tag before, struct tag now)
{
    return is_in(now.letter, "BS") || (is_in(before.letter, "ESO") && is_in(now.letter, "EI")) ||
           other_type(before, now, now.letter);
}

struct finder {
    struct tag before;
    size_t from, place;
    struct span *spans;
    size_t count;
};

static void step(struct finder *f, struct tag now)
{
    if (ends_before(f->before, now))
        f->spans[f->count++] = (struct span){f->before.type, f->from, f->place};
    if (begins_at(f->before, now))
        f->from = f->place;
    f->before = now;
    f->place++;
}

/* Finds the spans, of which there are at most as many as tags and sentences. */
static size_t find_spans(const char *const *tags, const size_t *ends, size_t sentences, struct span *spans)
{
    struct finder finder = {.before = {'O', ""}, .spans = spans};
    for (size_t s = 0, at = 0; s < sentences; s++) {
        for (; at < ends[s]; at++)
            step(&finder, tag_of(tags[at]));
        step(&finder, tag_of("O"));
    }
    return finder.count;
}

struct type_counts {
    const char *type;
    struct class_counts spans;
};

static int by_type(const void *a, const void *b)
{
    return strcmp(((const struct type_counts *)a)->type, ((const struct type_counts *)b)->type);
}

static struct type_counts *counts_of(struct type_counts *types, size_t *count, const char *type)
{
    size_t i = 0;
    while (i < *count && strcmp(types[i].type, type) != 0)
        i++;
    if (i == *count)
        types[(*count)++] = (struct type_counts){.type = type};
    return &types[i];
}

/* Both lists are in order, and no two spans of one list begin at one place. */
static size_t count_types(const struct span *found, size_t found_count, const struct span *truth, size_t truth_count,
                          struct type_counts *types)
{
    size_t count = 0;
    for (size_t i = 0, k = 0; i < found_count || k < truth_count;) {
        const bool both = i < found_count && k < truth_count && found[i].from == truth[k].from;
        const bool first = k == truth_count || (i < found_count && found[i].from < truth[k].from);
        if (both && found[i].to == truth[k].to && strcmp(found[i].type, truth[k].type) == 0)
            counts_of(types, &count, found[i].type)->spans.right++;
        if (both || first)
            counts_of(types, &count, found[i++].type)->spans.found++;
        if (both || !first)
            counts_of(types, &count, truth[k++].type)->spans.truth++;
    }
    return count;
}

static void add_spans(const char *const *found, const char *const *truth, size_t count, const size_t *ends,
                      size_t sentences, json_t *scores)
{
    const size_t room = count + sentences + 1;
    struct span *spans = mem_array(2 * room, sizeof *spans);
    struct type_counts *types = mem_array(2 * room, sizeof *types);
    struct class_counts all = {0};
    const size_t found_count = find_spans(found, ends, sentences, spans),
                 truth_count = find_spans(truth, ends, sentences, spans + room),
                 type_count = count_types(spans, found_count, spans + room, truth_count, types);
    json_t *each = json_object();
    qsort(types, type_count, sizeof *types, by_type);
    for (size_t i = 0; i < type_count; i++) {
        const struct class_counts *one = &types[i].spans;
        all = (struct class_counts){all.right + one->right, all.found + one->found, all.truth + one->truth};
        json_object_set_new(each, types[i].type, class_counts_json(one));
    }
    json_t *total = class_counts_json(&all);
    json_object_del(total, "support");
    json_object_update(scores, total);
    json_object_set_new(scores, "per_type", each);
    json_decref(total);
    mem_free(spans);
    mem_free(types);
}

json_t *span_scores(const char *const *found, const char *const *truth, size_t count, const size_t *ends,
                    size_t sentences, bool spans)
{
    double right = 0;
    for (size_t i = 0; i < count; i++)
        right += strcmp(found[i], truth[i]) == 0;
    json_t *scores = json_pack("{s:f}", "accuracy", score_ratio(right, (double)count));
    if (spans)
        add_spans(found, truth, count, ends, sentences, scores);
    return scores;
}

bool span_tags(const char *const *tags, size_t count)
{
    size_t i = 0;
    while (i < count && (strcmp(tags[i], "O") == 0 || (is_in(tags[i][0], "BIESLU") && tags[i][1] == '-' && tags[i][2])))
        i++;
    return i == count;
}
