#include "trainer/tune/corpus.h"

#include <stdlib.h>

#include "base/hash.h"

#define HELD_OUT 10 /* one sentence in ten */

static void add_word(struct corpus *c, struct str tag)
{
    c->tag_at = mem_room(c->tag_at, c->words + 1, &c->word_room, sizeof *c->tag_at);
    c->tag_at[c->words++] = c->tags.size;
    buf_add_str(&c->tags, tag);
    buf_add_byte(&c->tags, '\0');
}

static void end_sentence(struct corpus *c)
{
    c->ends = mem_room(c->ends, c->sentences + 1, &c->sentence_room, sizeof *c->ends);
    c->ends[c->sentences++] = c->words;
}

static void add_pieces(struct corpus *c, struct str word, const struct text *text)
{
    c->one.count = 0;
    text_word(text, word, &c->one);
    ids_add(&c->starts, (uint32_t)c->pieces.count);
    for (size_t i = 0; i < c->one.count; i++)
        ids_add(&c->pieces, c->one.data[i]);
}

/* Where window k begins: they overlap by half, and the last one ends with the sentence. */
static size_t window_start(size_t k, size_t room, size_t pieces)
{
    const size_t start = k * (room / 2 > 0 ? room / 2 : 1), last = pieces > room ? pieces - room : 0;
    return start < last ? start : last;
}

/* The window in which a piece has most context on its shorter side; the first one of equals. */
static size_t window_of(size_t piece, size_t room, size_t pieces)
{
    size_t best = 0, most = 0; /* context, and 1 */
    for (size_t k = 0;; k++) {
        const size_t start = window_start(k, room, pieces), end = start + room < pieces ? start + room : pieces;
        if (piece >= start && piece < end) {
            const size_t left = piece - start + 1, right = end - piece, context = left < right ? left : right;
            best = context > most ? k : best;
            most = context > most ? context : most;
        }
        if (end == pieces || start > piece)
            return best;
    }
}

static void add_window(struct corpus *c, const struct text *text, size_t start, size_t size)
{
    c->one.count = 0;
    ids_add(&c->one, text->vocab->before.ids[0]);
    for (size_t i = 0; i < size; i++)
        ids_add(&c->one, c->pieces.data[start + i]);
    ids_add(&c->one, text->vocab->after.ids[0]);
    const uint32_t length = (uint32_t)c->one.count;
    samples_add(&c->samples, c->one.data, (struct task_sample){.length = length, .a_length = length});
}

static void mark(struct corpus *c, size_t word, uint32_t token)
{
    c->word_of = mem_room(c->word_of, c->samples.mark_count + 1, &c->word_of_room, sizeof *c->word_of);
    c->word_of[c->samples.mark_count] = (uint32_t)word;
    samples_mark(&c->samples, token, 0);
}

void corpus_add(struct corpus *c, const struct tagged *sentence, const struct text *text, uint32_t length)
{
    const size_t room = length - 2, first = c->words, count = sentence->word_count;
    size_t next = 0;
    if (count == 0)
        return;
    c->samples.head = HEAD_TOKEN;
    c->pieces.count = c->starts.count = 0;
    for (size_t i = 0; i < count; i++) {
        add_word(c, sentence->words[i].tag);
        add_pieces(c, sentence->words[i].word, text);
    }
    end_sentence(c);
    const size_t pieces = c->pieces.count;
    ids_add(&c->starts, (uint32_t)pieces);
    c->cut += pieces > room;
    for (size_t k = 0, start = 0, end = 0; pieces > 0 && end < pieces; k++) {
        start = window_start(k, room, pieces);
        end = start + room < pieces ? start + room : pieces;
        add_window(c, text, start, end - start);
        for (; next < count &&
               (c->starts.data[next] == c->starts.data[next + 1] || window_of(c->starts.data[next], room, pieces) == k);
             next++)
            if (c->starts.data[next] < c->starts.data[next + 1])
                mark(c, first + next, (uint32_t)(c->starts.data[next] - start) + 1);
    }
}

static bool is_held(const struct tagged *sentence)
{
    struct hash *hash = hash_open();
    for (size_t i = 0; i < sentence->word_count; i++) {
        hash_add(hash, sentence->words[i].word.data, sentence->words[i].word.size);
        hash_add(hash, "", 1);
    }
    const bool held = hash_value(hash) % HELD_OUT == 0;
    hash_close(hash);
    return held;
}

int corpus_read(struct corpus *corpus, struct corpus *held, const char *path, const char *column,
                const struct text *text, uint32_t length, struct error *err)
{
    struct tagged sentence;
    int more = tagged_open(&sentence, path, column, true, err) < 0 ? -1 : 1;
    while (more > 0) {
        more = tagged_next(&sentence, err);
        if (more > 0)
            corpus_add(held && is_held(&sentence) ? held : corpus, &sentence, text, length);
    }
    tagged_close(&sentence);
    if (more == 0 && corpus->words == 0)
        return fail_at(err, ERR_INPUT, path, ERROR_NO_OFFSET, "has no words with tags");
    return more;
}

uint64_t corpus_label(struct corpus *c, const char *const *names, size_t count)
{
    uint64_t unknown = 0;
    for (size_t i = 0; i < c->samples.mark_count; i++) {
        const char *tag = corpus_tag(c, c->word_of[i]);
        const char *const *found = bsearch(&tag, names, count, sizeof *names, text_order);
        c->samples.marks[i].label = found ? (uint32_t)(found - names) : 0;
        unknown += !found;
    }
    return unknown;
}

void corpus_reset(struct corpus *c)
{
    c->words = c->sentences = 0;
    buf_reset(&c->tags);
    samples_reset(&c->samples);
}

void corpus_release(struct corpus *c)
{
    samples_release(&c->samples);
    buf_release(&c->tags);
    ids_release(&c->pieces);
    ids_release(&c->starts);
    ids_release(&c->one);
    mem_free(c->tag_at);
    mem_free(c->word_of);
    mem_free(c->ends);
    *c = (struct corpus){0};
}
