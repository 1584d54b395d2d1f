/* The vocabulary that --vocab names: a vocab.txt, the tokenizer.json of a WordPiece model, or a Hugging Face directory
 * with either. What such files say about case, accents and ideographs then holds as if it had been typed. */
#ifndef PIPELINE_PUBLISHED_H
#define PIPELINE_PUBLISHED_H

#include "base/error.h"
#include "pipeline/dsdata_settings.h"
#include "tokenizer/tokenizer.h"

/* Opens settings->vocab by the rules of settings->profile and sets settings->cased, ->accents and ->joined where its
 * files speak of them. ERR_MISMATCH: a typed option says otherwise. ERR_UNSAFE: not WordPiece after a BertNormalizer,
 * or with rules that the profile has not. ERR_INPUT: damaged, or without its specials. Close with vocab_close. */
int published_vocab(struct dsdata_settings *settings, struct vocab **vocab, struct error *err);

/* How the settings cut text into words, once published_vocab has set them. */
struct tokenizer_options published_words(const struct dsdata_settings *settings);

/* ERR_MISMATCH where more than one piece in a hundred can never come out with these options, and other options would
 * do: they are named. `path` is for the message. */
int published_fits(const char *path, const struct vocab *vocab, const struct tokenizer_options *options,
                   struct error *err);

#endif
