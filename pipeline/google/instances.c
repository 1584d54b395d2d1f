#include "pipeline/google/instances.h"

#include "base/mem.h"
#include "shards/masking.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define MIDDLE 397

static void seed_by_number(struct twister *twister, uint32_t number)
{
    uint32_t *words = twister->words;
    words[0] = number;
    for (uint32_t i = 1; i < TWISTER_WORDS; i++)
        words[i] = 1812433253u * (words[i - 1] ^ words[i - 1] >> 30) + i;
}

/* init_by_array with the 32-bit words of the seed, the lowest first; at least one word. */
void twister_seed(struct twister *twister, uint64_t seed)
{
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)}, key_words = key[1] ? 2 : 1;
    uint32_t *words = twister->words;
    seed_by_number(twister, 19650218u);
    uint32_t i = 1, k = 0;
    for (uint32_t step = 0; step < TWISTER_WORDS; step++) {
        words[i] = (words[i] ^ (words[i - 1] ^ words[i - 1] >> 30) * 1664525u) + key[k] + k;
        k = (k + 1) % key_words;
        if (++i == TWISTER_WORDS) {
            words[0] = words[TWISTER_WORDS - 1];
            i = 1;
        }
    }
    for (uint32_t step = 0; step < TWISTER_WORDS - 1; step++) {
        words[i] = (words[i] ^ (words[i - 1] ^ words[i - 1] >> 30) * 1566083941u) - i;
        if (++i == TWISTER_WORDS) {
            words[0] = words[TWISTER_WORDS - 1];
            i = 1;
        }
    }
    words[0] = 0x80000000u;
    twister->next = TWISTER_WORDS;
}

static void turn(struct twister *twister)
{
    uint32_t *words = twister->words;
    for (size_t i = 0; i < TWISTER_WORDS; i++) {
        const uint32_t joined = (words[i] & 0x80000000u) | (words[(i + 1) % TWISTER_WORDS] & 0x7fffffffu);
        words[i] = words[(i + MIDDLE) % TWISTER_WORDS] ^ joined >> 1 ^ (joined & 1 ? 0x9908b0dfu : 0);
    }
    twister->next = 0;
}

uint32_t twister_word(struct twister *twister)
{
    if (twister->next == TWISTER_WORDS)
        turn(twister);
    uint32_t word = twister->words[twister->next++];
    word ^= word >> 11;
    word ^= word << 7 & 0x9d2c5680u;
    word ^= word << 15 & 0xefc60000u;
    return word ^ word >> 18;
}

double twister_real(struct twister *twister)
{
    const uint32_t high = twister_word(twister) >> 5, low = twister_word(twister) >> 6;
    return (high * 67108864.0 + low) / 9007199254740992.0; /* (high · 2^26 + low) / 2^53, exact */
}

/* Draws as many bits as n has until they are below n. n >= 1; even n = 1 draws. */
static uint32_t below(struct twister *twister, uint32_t n)
{
    const int shift = __builtin_clz(n);
    uint32_t word;
    do
        word = twister_word(twister) >> shift;
    while (word >= n);
    return word;
}

uint32_t twister_between(struct twister *twister, uint32_t from, uint32_t to)
{
    assert(from <= to && to - from < UINT32_MAX);
    return from + below(twister, to - from + 1);
}

void twister_shuffle(struct twister *twister, uint32_t *items, size_t count)
{
    assert(count <= UINT32_MAX);
    for (size_t i = count; i-- > 1;) {
        const uint32_t other = below(twister, (uint32_t)i + 1), item = items[i];
        items[i] = items[other];
        items[other] = item;
    }
}

#define RANDOM_DOCUMENT_TRIES 10

struct instances {
    const struct documents *documents;
    struct instance_rules rules;
    uint32_t *order; /* [documents->count] the documents as shuffled */
    uint32_t *words; /* [word_count] ids that random words are drawn from */
    uint32_t word_count;
    struct word_starts *words_of; /* see mask_rules of shards/masking.h */
    struct twister opened;        /* state after the first shuffle */
    struct twister twister;

    struct sample sample;
    uint32_t *candidates;  /* [seq] positions that may be masked, ascending */
    uint32_t *word_starts; /* [seq + 1] where in candidates each set that is masked together starts */
    uint32_t *word_order;  /* [seq] */
    bool *chosen;          /* [seq] */
};

struct segment {
    size_t first, size; /* of documents->ids */
};

/* ---------------------------------------------------------------------------------------------- random words */

struct named_id {
    struct str piece;
    uint32_t id;
};

static int by_piece_then_id(const void *left, const void *right)
{
    const struct named_id *a = left, *b = right;
    const int order = str_compare(a->piece, b->piece);
    return order ? order : a->id < b->id ? -1 : a->id > b->id;
}

/* The script draws from the keys of a dictionary: distinct pieces in the order of their first lines, including
 * specials. A piece on several lines has the id of the last. */
static void list_words(struct instances *instances)
{
    const struct vocab *vocab = instances->rules.vocab;
    struct named_id *sorted = mem_array(vocab->count, sizeof *sorted);
    uint32_t *last = mem_array(vocab->count, sizeof *last); /* by first id; UINT32_MAX: not a first one */
    for (uint32_t id = 0; id < vocab->count; id++) {
        sorted[id] = (struct named_id){vocab->pieces[id], id};
        last[id] = UINT32_MAX;
    }
    qsort(sorted, vocab->count, sizeof *sorted, by_piece_then_id);
    for (uint32_t from = 0, to; from < vocab->count; from = to) {
        for (to = from + 1; to < vocab->count && str_equal(sorted[to].piece, sorted[from].piece);)
            to++;
        last[sorted[from].id] = sorted[to - 1].id;
    }
    instances->words = mem_array(vocab->count, sizeof *instances->words);
    for (uint32_t id = 0; id < vocab->count; id++)
        if (last[id] != UINT32_MAX)
            instances->words[instances->word_count++] = last[id];
    mem_free(sorted);
    mem_free(last);
}

/* ---------------------------------------------------------------------------------------------- masks */

/* Groups the positions that may be masked; returns the number of groups. Whole words: a piece with "##" joins the
 * previous group, wherever that is, so a B whose front was cut off may continue the last word of A. */
static uint32_t group_candidates(struct instances *m, const struct sample *sample)
{
    const struct vocab *vocab = m->rules.vocab;
    uint32_t count = 0, words = 0;
    bool starts[SHARD_SEQ_MAX];
    if (m->rules.whole_words)
        word_starts_mark(m->words_of, sample->ids, sample->length, starts);
    for (uint32_t i = 0; i < sample->length; i++) {
        const uint32_t id = sample->ids[i];
        if (id == vocab->cls || id == vocab->sep)
            continue;
        const bool goes_on = m->rules.whole_words && words > 0 && !starts[i];
        if (!goes_on)
            m->word_starts[words++] = count;
        m->candidates[count++] = i;
    }
    m->word_starts[words] = count;
    return words;
}

static uint32_t replacement(struct instances *m, uint32_t id)
{
    if (twister_real(&m->twister) < 0.8)
        return m->rules.vocab->mask;
    if (twister_real(&m->twister) < 0.5)
        return id;
    return m->words[twister_between(&m->twister, 0, m->word_count - 1)];
}

static uint32_t masks_wanted(const struct instance_rules *rules, uint32_t length)
{
    const double share = nearbyint((double)length * rules->mask_prob); /* half to even, as Python's round() */
    const uint32_t wanted = share < 1.0 ? 1 : (uint32_t)share;
    return wanted < rules->predictions ? wanted : rules->predictions;
}

static void lay_masks(struct instances *m, struct sample *sample)
{
    const uint32_t words = group_candidates(m, sample), wanted = masks_wanted(&m->rules, sample->length);
    for (uint32_t i = 0; i < words; i++)
        m->word_order[i] = i;
    twister_shuffle(&m->twister, m->word_order, words);
    memset(m->chosen, 0, sample->length * sizeof *m->chosen);

    /* Labels are first stored by position, because labels and positions must be ascending in the end. */
    uint32_t masked = 0, original[SHARD_SEQ_MAX];
    for (uint32_t i = 0; i < words && masked < wanted; i++) {
        const uint32_t from = m->word_starts[m->word_order[i]], to = m->word_starts[m->word_order[i] + 1];
        if (masked + (to - from) > wanted)
            continue;
        for (uint32_t k = from; k < to; k++) {
            const uint32_t position = m->candidates[k];
            m->chosen[position] = true;
            original[position] = sample->ids[position];
            sample->ids[position] = replacement(m, sample->ids[position]);
        }
        masked += to - from;
    }
    sample->masked = 0;
    for (uint32_t i = 0; i < sample->length; i++) {
        if (!m->chosen[i])
            continue;
        sample->positions[sample->masked] = i;
        sample->labels[sample->masked++] = original[i];
    }
    assert(sample->masked == masked);
}

/* ---------------------------------------------------------------------------------------------- pairs */

static struct segment sentences_between(const struct documents *documents, size_t from, size_t to)
{
    const size_t first = documents_sentence_start(documents, from);
    return (struct segment){first, documents_sentence_start(documents, to) - first};
}

static void cut_to(struct instances *m, struct segment *a, struct segment *b, size_t room)
{
    while (a->size + b->size > room) {
        struct segment *longer = a->size > b->size ? a : b;
        longer->first += twister_real(&m->twister) < 0.5;
        longer->size--;
    }
}

static const struct document *shuffled(const struct instances *m, uint32_t index)
{
    return &m->documents->items[m->order[index]];
}

/* Picks a random document, and from a random sentence of it as many sentences as reach `budget` pieces. After ten tries
 * it may be the document itself; the script calls that random too. */
static const struct document *random_next(struct instances *m, uint32_t index, size_t budget, struct segment *b)
{
    const uint32_t last = (uint32_t)m->documents->count - 1;
    uint32_t other = index;
    for (int i = 0; i < RANDOM_DOCUMENT_TRIES; i++) {
        other = twister_between(&m->twister, 0, last);
        if (other != index)
            break;
    }
    const struct document *document = shuffled(m, other);
    const size_t end = (size_t)document->sentence + document->sentence_count;
    const size_t from = document->sentence + twister_between(&m->twister, 0, document->sentence_count - 1);
    size_t to = from + 1;
    while (to < end && sentences_between(m->documents, from, to).size < budget)
        to++;
    *b = sentences_between(m->documents, from, to);
    return document;
}

static void lay_out(struct instances *m, struct segment a, struct segment b)
{
    const struct vocab *vocab = m->rules.vocab;
    uint32_t *at = m->sample.ids;
    *at++ = vocab->cls;
    memcpy(at, m->documents->ids + a.first, a.size * sizeof *at);
    at += a.size;
    *at++ = vocab->sep;
    memcpy(at, m->documents->ids + b.first, b.size * sizeof *at);
    at += b.size;
    *at++ = vocab->sep;
    m->sample.a_length = (uint32_t)a.size + 2;
    m->sample.length = (uint32_t)(at - m->sample.ids);
}

/* Makes the instance of the chunk of sentences [from, to); returns the sentence where the next chunk begins. */
static size_t instance_of_chunk(struct instances *m, uint32_t index, size_t from, size_t to, uint32_t target)
{
    const struct document *document = shuffled(m, index), *other = document;
    size_t a_end = from + 1;
    if (to - from >= 2)
        a_end = from + twister_between(&m->twister, 1, (uint32_t)(to - from) - 1);
    struct segment a = sentences_between(m->documents, from, a_end), b;
    const bool random = to - from == 1 || twister_real(&m->twister) < 0.5;
    if (random)
        other = random_next(m, index, target > a.size ? target - a.size : 0, &b);
    else
        b = sentences_between(m->documents, a_end, to);
    cut_to(m, &a, &b, m->rules.seq - 3);
    lay_out(m, a, b);
    lay_masks(m, &m->sample);
    m->sample.is_random_next = random;
    m->sample.document_a = document->id;
    m->sample.document_b = other->id;
    return random ? a_end : to; /* after a random next, the unused sentences go to the next chunk */
}

static bool instances_of_document(struct instances *m, uint32_t index,
                                  bool (*take)(void *context, const struct sample *sample), void *context)
{
    const struct document *document = shuffled(m, index);
    const size_t end = (size_t)document->sentence + document->sentence_count;
    const uint32_t room = m->rules.seq - 3;
    uint32_t target = room;
    if (twister_real(&m->twister) < m->rules.short_seq_prob)
        target = twister_between(&m->twister, 2, room);
    for (size_t from = document->sentence; from < end;) {
        size_t to = from + 1;
        while (to < end && sentences_between(m->documents, from, to).size < target)
            to++;
        from = instance_of_chunk(m, index, from, to, target);
        if (!take(context, &m->sample))
            return false;
    }
    return true;
}

/* ---------------------------------------------------------------------------------------------- all of it */

struct instances *instances_open(const struct documents *documents, const struct instance_rules *rules, uint64_t seed)
{
    assert(documents->count >= 1 && documents->count < UINT32_MAX && rules->seq <= SHARD_SEQ_MAX);
    struct instances *m = mem_clear(1, sizeof *m);
    const struct shard_layout layout = shard_layout_make(rules->seq, rules->predictions, rules->vocab->count);
    m->documents = documents;
    m->rules = *rules;
    m->sample = sample_make(&layout);
    m->candidates = mem_array(rules->seq, sizeof *m->candidates);
    m->word_starts = mem_array(rules->seq + 1, sizeof *m->word_starts);
    m->word_order = mem_array(rules->seq, sizeof *m->word_order);
    m->chosen = mem_array(rules->seq, sizeof *m->chosen);
    m->words_of = word_starts_open(rules->vocab);
    list_words(m);
    m->order = mem_array(documents->count, sizeof *m->order);
    for (uint32_t i = 0; i < documents->count; i++)
        m->order[i] = i;
    twister_seed(&m->opened, seed);
    twister_shuffle(&m->opened, m->order, documents->count);
    return m;
}

void instances_close(struct instances *m)
{
    if (!m)
        return;
    sample_release(&m->sample);
    mem_free(m->order);
    mem_free(m->words);
    word_starts_close(m->words_of);
    mem_free(m->candidates);
    mem_free(m->word_starts);
    mem_free(m->word_order);
    mem_free(m->chosen);
    mem_free(m);
}

bool instances_make(struct instances *m, bool (*take)(void *context, const struct sample *sample), void *context)
{
    m->twister = m->opened;
    for (uint32_t copy = 0; copy < m->rules.copies; copy++)
        for (uint32_t index = 0; index < m->documents->count; index++)
            if (!instances_of_document(m, index, take, context))
                return false;
    return true;
}

uint32_t *instances_places(struct instances *m, size_t count)
{
    uint32_t *order = mem_array(count, sizeof *order), *places = mem_array(count, sizeof *places);
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    twister_shuffle(&m->twister, order, count);
    for (uint32_t place = 0; place < count; place++)
        places[order[place]] = place;
    mem_free(order);
    return places;
}
