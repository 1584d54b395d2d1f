/* A tokenizer's files: a vocab.txt, the tokenizer.json of a WordPiece model, or a directory with either, as Hugging
 * Face's models and dstrain's checkpoints have it. They hold the pieces; all but a lone vocab.txt also say how text is
 * cut into words.
 *
 *     struct tokenizer_facts facts;
 *     tokenizer_read(&facts, "bert-base-uncased", PROFILE_HF, err);
 *     struct tokenizer *tokenizer = tokenizer_open(facts.vocab, &facts.words);
 *     … vocab_close(facts.vocab);
 */
#pragma once

#include "base/error.h"
#include "tokenizer/tokenizer.h"

#include <jansson.h>
#include <stdbool.h>

struct tokenizer_facts {
    struct vocab *vocab;            /* the caller closes it: vocab_close */
    struct tokenizer_options words; /* where the files say nothing: BERT's own, lowercase without accents */
    bool said;                      /* the files say how text is cut */
};

/* Reads the files at `path` by the rules of the profile. ERR_USAGE: a directory without such files, or no such path.
 * ERR_UNSAFE: SentencePiece, not WordPiece after a BertNormalizer, or rules that the profile does not implement.
 * ERR_INPUT: damaged, or specials are missing. On error facts->vocab is NULL. */
int tokenizer_read(struct tokenizer_facts *facts, const char *path, enum profile profile, struct error *err);

/* Whether a directory has files that tokenizer_read reads. */
bool tokenizer_present(const char *directory);

/* The added tokens of a directory but BERT's special ones, as an array of texts, which the caller json_decref's. Files
 * that cannot be read have none. */
json_t *tokenizer_added(const char *directory);
