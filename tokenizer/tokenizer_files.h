/* A tokenizer's files: a vocab.txt, the tokenizer.json of a WordPiece model, or a directory with either, as Hugging
 * Face's models and checkpoints of dstrain have it. They hold the pieces, and all but a lone vocab.txt say how text is
 * cut into words.
 *
 *     struct tokenizer_facts facts;
 *     tokenizer_read(&facts, "bert-base-uncased", PROFILE_HF, err);
 *     struct tokenizer *tokenizer = tokenizer_open(facts.vocab, &facts.words);
 *     … vocab_close(facts.vocab);
 */
#ifndef TOKENIZER_TOKENIZER_FILES_H
#define TOKENIZER_TOKENIZER_FILES_H

#include "base/error.h"
#include "tokenizer/tokenizer.h"

#include <stdbool.h>

struct tokenizer_facts {
    struct vocab *vocab;            /* the caller's: vocab_close */
    struct tokenizer_options words; /* where nothing is said: BERT's own, text lowered and accents stripped */
    bool said;                      /* the files say how text is cut */
};

/* Reads the files at `path` by the rules of the profile. ERR_USAGE: a directory without such files, or no path at all.
 * ERR_UNSAFE: not WordPiece after a BertNormalizer, or with rules that the profile has not. ERR_INPUT: damaged, or
 * without its specials. On error facts->vocab is NULL. */
int tokenizer_read(struct tokenizer_facts *facts, const char *path, enum profile profile, struct error *err);

#endif
