/* Candidates are pairs of the best begins and the best ends of each window. The best of all windows become text, equal
 * texts once. */
#include "trainer/tune/answers.h"

#include <stdlib.h>

#include "base/same_math.h"

/* A text without its blanks: where in the text each of the other code points begins. */
struct spaceless {
    uint32_t *at; /* [count + 1] bytes into the text; closed by its size */
    uint32_t count;
};

static struct spaceless spaceless_of(struct str text)
{
    struct spaceless s = {.at = mem_array(text.size + 1, sizeof *s.at)};
    for (uint32_t i = 0; i < text.size; i++)
        if (text.data[i] != ' ' && ((unsigned char)text.data[i] & 0xc0) != 0x80)
            s.at[s.count++] = i;
    return s;
}

/* Which of its code points begins at this byte; UINT32_MAX: none does. */
static uint32_t place_of(const struct spaceless *s, uint32_t byte)
{
    for (uint32_t low = 0, high = s->count; low < high;) {
        const uint32_t middle = low + (high - low) / 2;
        if (s->at[middle] == byte)
            return middle;
        if (s->at[middle] < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return UINT32_MAX;
}

static void add_word(void *context, struct str word)
{
    struct buf *out = context;
    if (out->size > 0)
        buf_add_byte(out, ' ');
    buf_add_str(out, word);
}

/* The byte at which the last code point of [from, from + size) begins. */
static uint32_t last_point(struct str text, size_t from, size_t size)
{
    size_t at = from + size - 1;
    while (at > from && ((unsigned char)text.data[at] & 0xc0) == 0x80)
        at--;
    return (uint32_t)at;
}

static uint32_t point_bytes(struct str text, uint32_t at)
{
    uint32_t bytes = 1;
    while (at + bytes < text.size && ((unsigned char)text.data[at + bytes] & 0xc0) == 0x80)
        bytes++;
    return bytes;
}

void answers_original(struct str pieces, struct str original, const struct text *text, struct buf *out)
{
    SCOPED(buf_release) struct buf words = {0};
    struct str found = original;
    tokenizer_words(text->state, original, add_word, &words);
    const struct str cut = buf_str(&words);
    const size_t at = pieces.size > 0 && cut.size > 0 ? str_find(cut, pieces) : pieces.size > 0 ? SIZE_MAX : 0;
    if (at != SIZE_MAX && pieces.size > 0) {
        const struct spaceless theirs = spaceless_of(original), ours = spaceless_of(cut);
        const uint32_t first = place_of(&ours, (uint32_t)at), last = place_of(&ours, last_point(cut, at, pieces.size));
        if (theirs.count == ours.count && first != UINT32_MAX && last != UINT32_MAX) {
            const uint32_t from = theirs.at[first], to = theirs.at[last];
            assert(from <= to && to < original.size);
            found = str_range(original.data + from, original.data + to + point_bytes(original, to));
        }
        mem_free(theirs.at);
        mem_free(ours.at);
    }
    buf_add_str(out, found);
}

struct candidate {
    uint32_t window, begin, end; /* tokens of the window */
    bool null;                   /* no answer */
    double begin_logit, end_logit;
    size_t order; /* of discovery: equal candidates keep it */
};

struct candidates {
    struct candidate *items;
    size_t count, room;
};

static void add_candidate(struct candidates *list, struct candidate candidate)
{
    list->items = mem_room(list->items, list->count + 1, &list->room, sizeof *list->items);
    candidate.order = list->count;
    list->items[list->count++] = candidate;
}

/* The n largest of [count] logits, the largest first, equal ones in their order; returns how many. */
static uint32_t best_places(const float *logits, size_t step, uint32_t count, uint32_t n, uint32_t *places)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = found;
        while (at > 0 && logits[places[at - 1] * step] < logits[i * step])
            at--;
        if (at == n)
            continue;
        found += found < n;
        assert(at < found && found <= n);
        memmove(places + at + 1, places + at, (found - 1 - at) * sizeof *places);
        places[at] = i;
    }
    return found;
}

/* A span is refused if an end is outside the window's pieces, if another window sees its begin better, if it runs
 * backwards, or if it is too long. */
static bool is_span(const struct squad_feature *f, uint32_t window, uint32_t begin, uint32_t end, uint32_t longest)
{
    const struct squad_window *w = &f->windows[window];
    const uint32_t before = f->before;
    if (begin < before || begin >= before + w->length || end < before || end >= before + w->length)
        return false;
    return end >= begin && end - begin + 1 <= longest && squad_is_best_window(f, window, w->start + begin - before);
}

struct window_logits answers_window(const void *context, uint32_t sample)
{
    const struct samples *samples = ((const void *const *)context)[0];
    const float *logits = ((const void *const *)context)[1];
    const struct task_sample *item = &samples->items[sample];
    return (struct window_logits){logits + 2 * item->at, logits + 2 * item->at + 1, 2, item->length};
}

static void add_window(const struct squad_feature *f, uint32_t window, const struct window_logits *logits,
                       const struct answer_rules *rules, struct candidates *list)
{
    uint32_t *begins = mem_array(2 * ((size_t)rules->n_best + 1), sizeof *begins), *ends = begins + rules->n_best + 1;
    const uint32_t begin_count = best_places(logits->begin, logits->step, logits->count, rules->n_best, begins);
    const uint32_t end_count = best_places(logits->end, logits->step, logits->count, rules->n_best, ends);
    for (uint32_t i = 0; i < begin_count; i++)
        for (uint32_t j = 0; j < end_count; j++)
            if (is_span(f, window, begins[i], ends[j], rules->longest))
                add_candidate(list, (struct candidate){
                                        .window = window,
                                        .begin = begins[i],
                                        .end = ends[j],
                                        .begin_logit = (double)logits->begin[begins[i] * logits->step],
                                        .end_logit = (double)logits->end[ends[j] * logits->step],
                                    });
    mem_free(begins);
}

static double sum_of(const struct candidate *c)
{
    return c->begin_logit + c->end_logit;
}

static int by_sum(const void *a, const void *b)
{
    const struct candidate *one = a, *two = b;
    if (sum_of(one) != sum_of(two))
        return sum_of(one) > sum_of(two) ? -1 : 1;
    return one->order < two->order ? -1 : 1;
}

/* Joins pieces with blanks between words; drops the marks of pieces inside a word, except at the start. */
static void join_pieces(const struct squad_feature *f, uint32_t first, uint32_t last, const struct vocab *vocab,
                        struct buf *out)
{
    for (uint32_t i = first; i <= last; i++) {
        const struct str piece = vocab->pieces[f->pieces[i]];
        const bool inside = i > first && str_starts(piece, STR("##"));
        if (i > first && !inside)
            buf_add_byte(out, ' ');
        buf_add_str(out, inside ? (struct str){piece.data + 2, piece.size - 2} : piece);
    }
}

/* A candidate's answer, and what it is made of: one for all candidates of a question. */
struct candidate_text {
    struct buf pieces, words, answer;
};

static void text_of(const struct squad_feature *f, const struct candidate *c, const struct text *text,
                    struct candidate_text *out)
{
    const struct squad_context *context = f->question->context;
    const uint32_t start = f->windows[c->window].start - f->before;
    buf_reset(&out->pieces);
    buf_reset(&out->words);
    buf_reset(&out->answer);
    if (c->null)
        return;
    assert(c->begin <= c->end && start + c->end < f->piece_count); /* is_span has accepted it */
    if (f->places) {
        const size_t from = f->places[2 * (size_t)(start + c->begin)], to = f->places[2 * (size_t)(start + c->end) + 1];
        if (from < to)
            buf_add_str(&out->answer, squad_trim(str_range(context->text.data + from, context->text.data + to)));
        return;
    }
    assert(f->word_of[start + c->end] < context->word_count);
    join_pieces(f, start + c->begin, start + c->end, text->vocab, &out->pieces);
    for (uint32_t word = f->word_of[start + c->begin]; word <= f->word_of[start + c->end]; word++)
        add_word(&out->words, context->words[word]);
    answers_original(buf_str(&out->pieces), buf_str(&out->words), text, &out->answer);
}

struct str answers_text(const struct answers *a, uint32_t i)
{
    const struct choice *item = &a->items[i];
    if (item->size == 0)
        return STR(""); /* where all are empty, texts has no address */
    return (struct str){a->texts.data + item->text, item->size};
}

void answers_release(struct answers *a)
{
    buf_release(&a->texts);
    mem_free(a->items);
    *a = (struct answers){0};
}

static bool is_chosen(const struct answers *a, struct str text)
{
    for (uint32_t i = 0; i < a->count; i++)
        if (str_equal(answers_text(a, i), text))
            return true;
    return false;
}

static void choose(struct answers *a, struct str text, double begin, double end)
{
    assert(a->count < a->capacity);
    a->items[a->count++] = (struct choice){a->texts.size, text.size, begin, end, 0};
    buf_add_str(&a->texts, text);
}

static void choose_all(struct answers *a, const struct squad_feature *f, const struct candidates *list,
                       const struct text *text, uint32_t most)
{
    struct candidate_text made = {0};
    for (size_t i = 0; i < list->count && a->count < most; i++) {
        const struct candidate *candidate = &list->items[i];
        text_of(f, candidate, text, &made);
        if (candidate->null || !is_chosen(a, buf_str(&made.answer)))
            choose(a, buf_str(&made.answer), candidate->begin_logit, candidate->end_logit);
    }
    buf_release(&made.pieces);
    buf_release(&made.words);
    buf_release(&made.answer);
}

static double logit_sum(const struct choice *choice)
{
    return choice->begin_logit + choice->end_logit;
}

static void weigh_all(struct answers *a)
{
    double most = -HUGE_VAL, sum = 0;
    assert(a->count > 0);
    for (uint32_t i = 0; i < a->count; i++)
        most = fmax(most, logit_sum(&a->items[i]));
    for (uint32_t i = 0; i < a->count; i++)
        sum += same_exp(logit_sum(&a->items[i]) - most);
    for (uint32_t i = 0; i < a->count; i++)
        a->items[i].probability = same_exp(logit_sum(&a->items[i]) - most) / sum;
}

/* The null answer of the window where its score is lowest. */
static struct candidate null_of(const struct squad_feature *f, const struct logits_source *source)
{
    struct candidate best = {.null = true, .begin_logit = 1000000};
    for (uint32_t i = 0; i < f->window_count; i++) {
        const struct window_logits logits = source->window(source->context, f->windows[i].sample);
        const struct candidate null = {
            .window = i, .null = true, .begin_logit = (double)logits.begin[0], .end_logit = (double)logits.end[0]};
        if (sum_of(&null) < sum_of(&best))
            best = null;
    }
    return best;
}

/* Version 2: the null answer is always among the choices, and never alone. */
static void choose_null(struct answers *a, const struct candidate *null)
{
    if (!is_chosen(a, STR("")))
        choose(a, STR(""), null->begin_logit, null->end_logit);
    if (a->count == 1) {
        choose(a, STR("empty"), 0, 0);
        const struct choice first = a->items[0];
        a->items[0] = a->items[1];
        a->items[1] = first;
    }
}

/* The best choice that has a text; count: none. */
static uint32_t first_text(const struct answers *a)
{
    uint32_t i = 0;
    while (i < a->count && a->items[i].size == 0)
        i++;
    return i;
}

static void clear(struct answers *a, uint32_t most)
{
    const uint32_t capacity = most + 2; /* the null answer and "empty" may be added */
    if (a->capacity < capacity) {
        mem_free(a->items);
        a->items = mem_array(capacity, sizeof *a->items);
        a->capacity = capacity;
    }
    buf_reset(&a->texts);
    a->count = 0;
}

void answers_choose(const struct squad_feature *f, const struct logits_source *source, const struct answer_rules *rules,
                    const struct text *text, struct answers *out)
{
    struct candidates list = {0};
    const struct candidate null = null_of(f, source);
    clear(out, rules->n_best);
    for (uint32_t i = 0; i < f->window_count; i++) {
        const struct window_logits logits = source->window(source->context, f->windows[i].sample);
        add_window(f, i, &logits, rules, &list);
    }
    if (rules->version_2)
        add_candidate(&list, null);
    if (list.count > 0)
        qsort(list.items, list.count, sizeof *list.items, by_sum);
    choose_all(out, f, &list, text, rules->n_best);
    if (rules->version_2)
        choose_null(out, &null);
    if (out->count == 0)
        choose(out, STR("empty"), 0, 0);
    weigh_all(out);
    const uint32_t chosen = rules->version_2 ? first_text(out) : 0;
    const bool any = chosen < out->count;
    out->null_odds = rules->version_2 && any ? sum_of(&null) - logit_sum(&out->items[chosen]) : 0;
    out->best =
        any && (!rules->version_2 || out->null_odds <= rules->null_threshold) ? answers_text(out, chosen) : STR("");
    mem_free(list.items);
}
