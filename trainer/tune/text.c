/* A model's directory in; vocabulary and tokenizer out. */
#include "trainer/tune/text.h"

#include <inttypes.h>

#include "tokenizer/read.h"

int text_open(struct text *text, const char *directory, int32_t pieces, struct error *err)
{
    struct tokenizer_facts facts;
    *text = (struct text){0};
    TRY(tokenizer_read(&facts, directory, PROFILE_HF, err));
    text->vocab = facts.vocab;
    text->words = facts.words;
    if (facts.vocab->count != (uint32_t)pieces) {
        fail_at(err, ERR_MISMATCH, directory, ERROR_NO_OFFSET,
                "the vocabulary has %" PRIu32 " pieces, the model has embeddings of %" PRId32, facts.vocab->count,
                pieces);
        return hint(err, "put the tokenizer files that the model was trained with beside its weights");
    }
    text->tokenizer = tokenizer_open(text->vocab, &text->words);
    text->state = tokenizer_state_open(text->tokenizer);
    return 0;
}

void text_close(struct text *text)
{
    if (text->tokenizer) {
        tokenizer_state_close(text->state);
        tokenizer_close(text->tokenizer);
    }
    vocab_close(text->vocab);
    *text = (struct text){0};
}
