/* A tokenizer of the kind that its vocabulary has. */
#include "tokenizer/tokenizer.h"

#include <assert.h>

#include "tokenizer/kinds.h"

#define KIND_ROW(name, row) [VOCAB_##name] = &(row),
static const struct tokenizer_kind *const kinds[] = {VOCAB_KIND_LIST(KIND_ROW)};
#undef KIND_ROW

struct tokenizer {
    const struct tokenizer_kind *kind;
    void *model;
};

struct tokenizer_state {
    const struct tokenizer_kind *kind;
    void *state;
};

struct tokenizer *tokenizer_open(const struct vocab *vocab, const struct tokenizer_options *options)
{
    struct tokenizer *tokenizer = mem_clear(1, sizeof *tokenizer);
    tokenizer->kind = kinds[vocab ? vocab->kind : VOCAB_WORDPIECE];
    tokenizer->model = tokenizer->kind->open(vocab, options);
    return tokenizer;
}

void tokenizer_close(struct tokenizer *tokenizer)
{
    if (!tokenizer)
        return;
    tokenizer->kind->close(tokenizer->model);
    mem_free(tokenizer);
}

struct tokenizer_state *tokenizer_state_open(const struct tokenizer *tokenizer)
{
    struct tokenizer_state *state = mem_clear(1, sizeof *state);
    state->kind = tokenizer->kind;
    state->state = tokenizer->kind->state_open(tokenizer->model);
    return state;
}

void tokenizer_state_close(struct tokenizer_state *state)
{
    if (!state)
        return;
    state->kind->state_close(state->state);
    mem_free(state);
}

void tokenizer_ids(struct tokenizer_state *state, struct str text, struct ids *out)
{
    state->kind->ids(state->state, text, out);
}

void tokenizer_places(struct tokenizer_state *state, struct str text, struct ids *out, struct ids *places)
{
    assert(state->kind->places);
    state->kind->places(state->state, text, out, places);
}

void tokenizer_sentences(struct tokenizer_state *state, struct str text, const struct str *sentences, size_t count,
                         struct ids *out, size_t *ends)
{
    state->kind->sentences(state->state, text, sentences, count, out, ends);
}

void tokenizer_words(struct tokenizer_state *state, struct str text, void (*word)(void *context, struct str word),
                     void *context)
{
    state->kind->words(state->state, text, word, context);
}
