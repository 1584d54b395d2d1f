#include "pipeline/pairs/pairs.h"

#include "base/mem.h"
#include "base/random.h"

#include <assert.h>

/* The draws of one document: (stream, document) names them, `next` counts them. */
struct draws {
    struct random_stream stream;
    uint32_t document, next;
};

static uint32_t draw_below(struct draws *draws, size_t n)
{
    return random_below(random_at(&draws->stream, draws->document, draws->next++), (uint32_t)n);
}

static bool draw_chance(struct draws *draws, uint32_t millionths)
{
    return random_chance(random_at(&draws->stream, draws->document, draws->next++), millionths);
}

struct cursor {
    const struct documents *documents;
    struct draws draws;
    enum pair_kind kind;
    uint32_t index;  /* the document */
    uint32_t room;   /* pieces that fit: S - 3 */
    uint32_t target; /* a chunk is filled to this many pieces */
    struct pairs *out;
};

static void emit(struct cursor *c, struct sample_pair pair);

/* The number of ids of sentences [from, to). */
static size_t ids_between(const struct documents *documents, size_t from, size_t to)
{
    return documents_sentence_start(documents, to) - documents_sentence_start(documents, from);
}

/* Picks the document for a random next; false if there is none. */
static bool random_document(struct cursor *c, uint32_t *picked)
{
    const struct documents *documents = c->documents;
    bool valid = documents->items[c->index].valid;
    const uint32_t *pool = valid ? documents->held_out : documents->train;
    size_t count = valid ? documents->held_out_count : documents->train_count;
    assert(count >= 1);
    if (count >= 2) {
        /* Uniform over the others: skip the document itself in the sorted list. */
        size_t at = draw_below(&c->draws, count - 1);
        *picked = pool[at] >= c->index ? pool[at + 1] : pool[at];
        return true;
    }
    if (valid && documents->train_count > 0) {
        *picked = documents->train[draw_below(&c->draws, documents->train_count)];
        c->out->borrowed++;
        return true;
    }
    return false;
}

/* Picks a sentence of the document itself at least PAIR_FAR sentences away from [a_from, a_to), and where what follows
 * it must end; false if it has none. */
static bool far_sentence(struct cursor *c, size_t a_from, size_t a_to, size_t *from, size_t *last)
{
    const struct document *document = &c->documents->items[c->index];
    const size_t first = document->sentence, end = first + document->sentence_count;
    const size_t before = a_from - first > PAIR_FAR ? a_from - first - PAIR_FAR : 0;
    const size_t after = end - a_to > PAIR_FAR ? end - a_to - PAIR_FAR : 0;
    if (before + after == 0)
        return false;
    const size_t at = draw_below(&c->draws, before + after);
    *from = at < before ? first + at : a_to + PAIR_FAR + (at - before);
    *last = at < before ? a_from : end;
    return true;
}

/* Adds a pair whose B is from another document, or from a distant part of this one: from a random sentence on, until
 * `budget` pieces are reached. */
static bool random_next(struct cursor *c, size_t a_from, size_t a_to)
{
    const struct documents *documents = c->documents;
    uint32_t other = c->index;
    size_t from, last;
    if (random_document(c, &other)) {
        const struct document *document = &documents->items[other];
        last = document->sentence + document->sentence_count;
        from = document->sentence + draw_below(&c->draws, document->sentence_count);
    } else if (!far_sentence(c, a_from, a_to, &from, &last)) {
        return false;
    }
    size_t a_size = ids_between(documents, a_from, a_to);
    size_t budget = c->target > a_size ? c->target - a_size : 0;
    size_t to = from + 1;
    while (to < last && ids_between(documents, from, to) < budget)
        to++;
    emit(c, (struct sample_pair){.a = documents_sentence_start(documents, a_from),
                                 .a_size = a_size,
                                 .b = documents_sentence_start(documents, from),
                                 .b_size = ids_between(documents, from, to),
                                 .document_a = c->index,
                                 .document_b = other,
                                 .is_random_next = true});
    return true;
}

/* Adds a pair of consecutive ids of the document, cut at `middle`; for sop, a random bit decides whether they are
 * swapped. */
static void true_next(struct cursor *c, size_t first, size_t middle, size_t end)
{
    struct sample_pair pair = {.a = first,
                               .a_size = middle - first,
                               .b = middle,
                               .b_size = end - middle,
                               .document_a = c->index,
                               .document_b = c->index};
    if (c->kind == PAIRS_SOP && draw_chance(&c->draws, MILLION / 2)) {
        pair.a = middle;
        pair.a_size = end - middle;
        pair.b = first;
        pair.b_size = middle - first;
        pair.is_random_next = true;
    }
    emit(c, pair);
}

/* Removes pieces from the longer segment (B on a tie), from its front or end by a random bit, until both fit. One draw
 * gives 128 bits. */
static void truncate_pair(struct cursor *c, struct sample_pair *pair)
{
    uint32_t bits[4] = {0};
    for (unsigned toss = 0; pair->a_size + pair->b_size > c->room; toss = (toss + 1) % 128) {
        if (toss == 0)
            random_at4(&c->draws.stream, c->draws.document, c->draws.next++, bits);
        bool front = bits[toss / 32] >> toss % 32 & 1;
        size_t *start = pair->a_size > pair->b_size ? &pair->a : &pair->b;
        size_t *size = pair->a_size > pair->b_size ? &pair->a_size : &pair->b_size;
        *start += front;
        *size -= 1;
    }
}

static void emit(struct cursor *c, struct sample_pair pair)
{
    truncate_pair(c, &pair);
    assert(pair.a_size > 0 && pair.b_size > 0);
    pairs_add(c->out, &pair);
}

/* Adds the pair of the chunk of sentences [from, to); returns the sentence where the next chunk starts. */
static size_t pair_of_chunk(struct cursor *c, size_t from, size_t to)
{
    const struct documents *documents = c->documents;
    size_t count = to - from;
    size_t a_end = from + 1;
    if (count >= 2)
        a_end = from + 1 + draw_below(&c->draws, count - 1);
    if (c->kind == PAIRS_NSP && (count == 1 || draw_chance(&c->draws, MILLION / 2)) && random_next(c, from, a_end))
        return a_end; /* the unused sentences go to the next chunk */

    size_t first = documents_sentence_start(documents, from), end = documents_sentence_start(documents, to);
    if (count >= 2)
        true_next(c, first, documents_sentence_start(documents, a_end), end);
    else if (end - first >= 2)
        true_next(c, first, first + 1 + draw_below(&c->draws, end - first - 1), end);
    else
        c->out->dropped++;
    return to;
}

void pairs_of_document(const struct documents *documents, uint32_t index, const struct pair_options *options,
                       struct pairs *pairs)
{
    const struct document *document = &documents->items[index];
    struct cursor c = {.documents = documents, .kind = options->kind, .index = index, .out = pairs};
    assert(options->kind != PAIRS_NONE);
    c.draws = (struct draws){.stream = random_stream(options->seed, RANDOM_PAIR, options->file, options->window,
                                                     options->part, options->length, options->copy),
                             .document = index};
    c.room = c.target = options->length - 3;
    if (draw_chance(&c.draws, options->short_seq_prob))
        c.target = 2 + draw_below(&c.draws, c.room - 1); /* 2 … room */

    size_t last = (size_t)document->sentence + document->sentence_count;
    size_t from = document->sentence;
    while (from < last) {
        size_t to = from + 1;
        while (to < last && ids_between(documents, from, to) < c.target)
            to++;
        from = pair_of_chunk(&c, from, to);
    }
}

void pairs_add(struct pairs *pairs, const struct sample_pair *pair)
{
    pairs->items = mem_room(pairs->items, pairs->count + 1, &pairs->capacity, sizeof *pairs->items);
    pairs->items[pairs->count++] = *pair;
}

void pairs_reset(struct pairs *pairs)
{
    pairs->count = 0;
    pairs->borrowed = pairs->dropped = 0;
}

void pairs_release(struct pairs *pairs)
{
    mem_free(pairs->items);
    *pairs = (struct pairs){0};
}

/* The tokens of a segment, without [CLS] and the last [SEP]. */
static size_t target_of(const struct pair_options *options, const struct random_stream *stream, uint32_t document,
                        size_t offset)
{
    uint32_t words[4];
    const uint32_t room = options->length - 2;
    random_at4(stream, document, (uint32_t)offset, words);
    return random_chance(words[0], options->short_seq_prob) ? 2 + random_below(words[1], room - 1) : room;
}

/* --pairs none: cuts the documents of a split, in order, into segments that fill the length, as ranges of their ids. A
 * segment is cut wherever it is full, so nothing is lost. Draws are named by the document and the offset of the
 * segment's first piece. */
void pairs_of_split(const struct documents *documents, bool valid, const struct pair_options *options,
                    struct pairs *pairs)
{
    const struct random_stream stream = random_stream(options->seed, RANDOM_PAIR, options->file, options->window,
                                                      options->part, options->length, options->copy);
    const uint32_t *list = valid ? documents->held_out : documents->train;
    const size_t count = valid ? documents->held_out_count : documents->train_count;
    struct sample_pair pair = {0}; /* the segment being filled; a_size 0: none */
    size_t room = 0;               /* tokens that still fit */
    for (size_t i = 0; i < count; i++) {
        const size_t start = document_start(documents, list[i]), end = document_end(documents, list[i]);
        for (size_t at = start; at < end;) {
            if (pair.a_size == 0) {
                pair = (struct sample_pair){.a = at, .document_a = list[i]};
                room = target_of(options, &stream, list[i], at - start);
            } else {
                room--; /* the [SEP] between the documents */
            }
            const size_t taken = end - at < room ? end - at : room;
            assert(taken > 0); /* a segment without room for a piece was given before */
            pair.a_size += taken;
            pair.document_b = list[i];
            room -= taken;
            at += taken;
            /* A further document needs room for [SEP] and at least one piece. */
            if (room == 0 || (at == end && (room == 1 || !options->packed))) {
                pairs_add(pairs, &pair);
                pair.a_size = 0;
            }
        }
    }
    if (pair.a_size > 0)
        pairs_add(pairs, &pair);
}
