#include "trainer/tune/squad_windows.h"

#include <inttypes.h>

/* Whether words [first, last] of the context, with one blank between, contain the answer's text. */
static bool words_hold(const struct squad_context *context, uint32_t first, uint32_t last, struct str answer)
{
    SCOPED(buf_release) struct buf words = {0}, wanted = {0};
    for (uint32_t i = first; i <= last && i < context->word_count; i++) {
        if (i > first)
            buf_add_byte(&words, ' ');
        buf_add_str(&words, context->words[i]);
    }
    squad_add_words(answer, &wanted);
    return wanted.size == 0 || (words.size > 0 && str_find(buf_str(&words), buf_str(&wanted)) != SIZE_MAX);
}

/* Narrows [*first, *last] to the first stretch of pieces in it, the longest for its start, that equals the answer's
 * pieces. */
static void improve(const struct squad_feature *f, const struct ids *answer, uint32_t *first, uint32_t *last)
{
    for (uint32_t start = *first; start <= *last; start++) {
        const uint32_t left = *last - start + 1;
        if (answer->count > 0 && answer->count <= left &&
            memcmp(f->pieces + start, answer->data, answer->count * sizeof *answer->data) == 0) {
            *first = start;
            *last = start + (uint32_t)answer->count - 1;
            return;
        }
    }
}

/* A context as pieces; all in the arena of the features, and shared by the questions about it. */
struct context_pieces {
    const struct squad_context *of; /* NULL: none yet */
    uint32_t *pieces, *word_of;     /* [count]; the word of each piece */
    uint32_t *piece_at;             /* [words of the context] the first piece of each */
    uint32_t *places;               /* [2·count] instead of these two: struct squad_feature */
    uint32_t count;
};

struct making {
    const struct text *text;
    const struct squad_limits *limits;
    bool training;
    struct context_pieces context; /* the last one: questions about one context are adjacent */
    struct ids query, pieces, words, places, answer, window;
    struct squad_features *out;
};

/* The byte at which code point number `point` begins. */
static size_t byte_of(struct str text, uint32_t point)
{
    size_t at = 0;
    for (; at < text.size; at++)
        if (((unsigned char)text.data[at] & 0xC0) != 0x80 && point-- == 0)
            break;
    return at;
}

/* As find_answer, of pieces that have places: those that overlap the answer's text. It is where the file says, or else
 * the first of its kind in words [first_word, last_word]. */
static bool find_span(const struct squad_feature *f, uint32_t first_word, uint32_t last_word, uint32_t *first,
                      uint32_t *last)
{
    const struct str context = f->question->context->text, *words = f->question->context->words;
    const struct squad_answer *answer = &f->question->answers[0];
    const struct str wanted = squad_trim(answer->text);
    size_t begin = byte_of(context, answer->start) + (size_t)(wanted.data - answer->text.data);
    begin = begin < context.size ? begin : context.size;
    if (!str_starts((struct str){context.data + begin, context.size - begin}, wanted)) {
        const struct str there = str_range(words[first_word].data, words[last_word].data + words[last_word].size);
        const size_t at = str_find(there, wanted);
        if (at == SIZE_MAX)
            return false;
        begin = (size_t)(there.data - context.data) + at;
    }
    *first = UINT32_MAX;
    for (uint32_t i = 0; i < f->piece_count; i++)
        if (f->places[2 * (size_t)i] < begin + wanted.size && f->places[2 * (size_t)i + 1] > begin) {
            *first = *first < i ? *first : i;
            *last = i;
        }
    return *first < UINT32_MAX;
}

/* The pieces [*first, *last] of the context that answer the question; false: the words there are not the answer's. A
 * word without pieces (deleted by the tokenizer) has its neighbour's place. */
static bool find_answer(struct making *m, const struct squad_feature *f, const uint32_t *piece_at, uint32_t *first,
                        uint32_t *last)
{
    const struct squad_context *context = f->question->context;
    const struct squad_answer *answer = &f->question->answers[0];
    const uint32_t end = answer->start + (answer->length > 0 ? answer->length - 1 : 0);
    const uint32_t first_word = context->word_at[answer->start];
    const uint32_t last_word = context->word_at[end < context->length ? end : context->length - 1];
    if (first_word >= context->word_count || last_word >= context->word_count ||
        !words_hold(context, first_word, last_word, answer->text))
        return false;
    if (f->places)
        return find_span(f, first_word, last_word, first, last);
    *first = piece_at[first_word];
    *last = last_word + 1 < context->word_count ? piece_at[last_word + 1] - 1 : f->piece_count - 1;
    m->answer.count = 0;
    tokenizer_ids(m->text->state, answer->text, &m->answer);
    if (f->piece_count > 0 && *first <= *last && *last < f->piece_count)
        improve(f, &m->answer, first, last);
    return true;
}

static void add_window(struct making *m, struct squad_feature *f, uint32_t start, uint32_t length, bool answered,
                       uint32_t first, uint32_t last)
{
    const struct vocab *vocab = m->text->vocab;
    const uint32_t before = f->before;
    struct task_sample sample = {.length = before + length + 1};
    sample.a_length = vocab->second_type ? before : sample.length;
    assert(f->query <= m->query.count && start + length <= f->piece_count && sample.length <= m->limits->length);
    m->window.count = 0;
    ids_add(&m->window, vocab->before.ids[0]);
    for (uint32_t i = 0; i < f->query; i++)
        ids_add(&m->window, m->query.data[i]);
    for (size_t i = 0; i < vocab->between.count; i++)
        ids_add(&m->window, vocab->between.ids[i]);
    for (uint32_t i = 0; i < length; i++)
        ids_add(&m->window, f->pieces[start + i]);
    ids_add(&m->window, vocab->after.ids[0]);
    if (answered && first >= start && last < start + length && first <= last) {
        sample.token = first - start + before;
        sample.label = last - start + before;
    }
    f->windows[f->window_count++] =
        (struct squad_window){.start = start, .length = length, .sample = (uint32_t)m->out->samples.count};
    samples_add(&m->out->samples, m->window.data, sample);
}

static void cut_windows(struct making *m, struct squad_feature *f, bool answered, uint32_t first, uint32_t last)
{
    assert(m->limits->length > f->before + 1 && m->limits->stride > 0);
    const uint32_t room = m->limits->length - f->before - 1;
    const uint32_t step = m->limits->stride < room ? m->limits->stride : room;
    f->windows = arena_array(&m->out->arena, f->piece_count / step + 2, sizeof *f->windows);
    for (uint32_t start = 0; start < f->piece_count; start += step) {
        const uint32_t left = f->piece_count - start, length = left < room ? left : room;
        add_window(m, f, start, length, answered, first, last);
        if (start + length == f->piece_count)
            break;
    }
    assert(f->window_count <= f->piece_count / step + 2);
}

bool squad_is_best_window(const struct squad_feature *feature, uint32_t window, uint32_t piece)
{
    double best_score = 0;
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < feature->window_count; i++) {
        const struct squad_window *w = &feature->windows[i];
        if (piece < w->start || piece >= w->start + w->length)
            continue;
        const uint32_t left = piece - w->start, right = w->start + w->length - 1 - piece;
        const double score = (double)(left < right ? left : right) + 0.01 * (double)w->length;
        if (best == UINT32_MAX || score > best_score) {
            best = i;
            best_score = score;
        }
    }
    return best == window;
}

static uint32_t *keep(struct arena *arena, const struct ids *ids)
{
    uint32_t *kept = arena_array(arena, ids->count + 1, sizeof *kept);
    for (size_t i = 0; i < ids->count; i++)
        kept[i] = ids->data[i];
    return kept;
}

/* Cuts a context into pieces as a whole: that of a byte-level BPE. */
static void cut_whole(struct making *m, const struct squad_context *context)
{
    struct arena *arena = &m->out->arena;
    m->pieces.count = m->places.count = 0;
    tokenizer_places(m->text->state, context->text, &m->pieces, &m->places);
    for (size_t i = 0; i < m->pieces.count; i++) {
        uint32_t *const place = m->places.data + 2 * i;
        const struct str piece = squad_trim(str_range(context->text.data + place[0], context->text.data + place[1]));
        place[0] = (uint32_t)(piece.data - context->text.data);
        place[1] = place[0] + (uint32_t)piece.size;
    }
    m->context = (struct context_pieces){.of = context,
                                         .pieces = keep(arena, &m->pieces),
                                         .places = keep(arena, &m->places),
                                         .count = (uint32_t)m->pieces.count};
}

/* Cuts a context into pieces, word by word. */
static void cut_context(struct making *m, const struct squad_context *context)
{
    struct arena *arena = &m->out->arena;
    if (m->text->vocab->kind != VOCAB_WORDPIECE) {
        cut_whole(m, context);
        return;
    }
    uint32_t *piece_at = arena_array(arena, (size_t)context->word_count + 1, sizeof *piece_at);
    m->pieces.count = m->words.count = 0;
    for (uint32_t word = 0; word < context->word_count; word++) {
        piece_at[word] = (uint32_t)m->pieces.count;
        tokenizer_ids(m->text->state, context->words[word], &m->pieces);
        while (m->words.count < m->pieces.count)
            ids_add(&m->words, word);
    }
    assert(m->words.count == m->pieces.count);
    m->context = (struct context_pieces){.of = context,
                                         .pieces = keep(arena, &m->pieces),
                                         .word_of = keep(arena, &m->words),
                                         .piece_at = piece_at,
                                         .count = (uint32_t)m->pieces.count};
}

static void make_one(struct making *m, const struct squad_question *question)
{
    struct squad_features *out = m->out;
    struct squad_feature *f = &out->items[out->count];
    uint32_t first = 0, last = 0;
    if (m->context.of != question->context)
        cut_context(m, question->context);
    *f = (struct squad_feature){.question = question,
                                .pieces = m->context.pieces,
                                .word_of = m->context.word_of,
                                .places = m->context.places,
                                .piece_count = m->context.count};
    const bool answered = m->training && !question->impossible;
    if (answered && (question->answer_count == 0 || !find_answer(m, f, m->context.piece_at, &first, &last))) {
        if (out->left_out++ == 0)
            out->first_left_out = question->id.data;
        return;
    }
    m->query.count = 0;
    tokenizer_ids(m->text->state, question->text, &m->query);
    f->query = (uint32_t)m->query.count < m->limits->query_most ? (uint32_t)m->query.count : m->limits->query_most;
    f->before = f->query + 1 + (uint32_t)m->text->vocab->between.count;
    cut_windows(m, f, answered, first, last);
    out->count++;
}

void squad_features_make(const struct squad_file *file, const struct text *text, const struct squad_limits *limits,
                         bool training, struct squad_features *features)
{
    struct making m = {.text = text, .limits = limits, .training = training, .out = features};
    *features = (struct squad_features){.samples = {.head = HEAD_SPAN}};
    features->items = mem_array(file->count + 1, sizeof *features->items);
    for (size_t i = 0; i < file->count; i++)
        make_one(&m, &file->questions[i]);
    assert(features->count + features->left_out == file->count);
    struct ids *all[] = {&m.query, &m.pieces, &m.words, &m.places, &m.answer, &m.window};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        ids_release(all[i]);
}

void squad_features_release(struct squad_features *features)
{
    samples_release(&features->samples);
    arena_release(&features->arena);
    mem_free(features->items);
    *features = (struct squad_features){.samples = {.head = HEAD_SPAN}};
}

int squad_check_limits(const struct squad_limits *limits, const struct text *text, const struct model_config *config,
                       struct error *err)
{
    if (limits->length > (uint32_t)config->positions) {
        fail(err, ERR_MISMATCH, "--seq %" PRIu32 " is above the model's %" PRId32 " positions", limits->length,
             config->positions);
        return hint(err, "--seq %" PRId32 " is the most", config->positions);
    }
    if (!model_takes_pairs(config))
        return fail(err, ERR_MISMATCH, "the model knows one segment, question and context are two");
    TRY(text_need_pairs(text, err));
    if (limits->query_most + 3 + text->vocab->between.count > limits->length)
        return fail(err, ERR_USAGE, "--max-query %" PRIu32 " leaves no room for a context in --seq %" PRIu32,
                    limits->query_most, limits->length);
    return 0;
}
