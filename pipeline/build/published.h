/* The vocabulary that --vocab names: a vocab.txt, a tokenizer.json, or a Hugging Face directory. What such files say
 * about case, accents and ideographs applies as if it had been typed. */
#pragma once

#include "base/error.h"
#include "pipeline/parts/dsdata_settings.h"
#include "tokenizer/tokenizer.h"

/* Opens settings->vocab by the rules of settings->profile, and sets settings->cased, ->accents and ->joined from its
 * files. ERR_MISMATCH: a typed option disagrees. ERR_UNSAFE: not WordPiece after a BertNormalizer, or rules that the
 * profile does not have. ERR_INPUT: damaged, or specials are missing. Close with vocab_close. */
int published_vocab(struct dsdata_settings *settings, struct vocab **vocab, struct error *err);

/* How the settings cut text into words, once published_vocab has set them. */
struct tokenizer_options published_words(const struct dsdata_settings *settings);

/* ERR_MISMATCH if no text gives more than one in a hundred of the pieces with these options, although other options
 * would: the message names those. `path` is for the message. */
int published_fits(const char *path, const struct vocab *vocab, const struct tokenizer_options *options,
                   struct error *err);
