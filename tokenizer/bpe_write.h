/* Writing a learned byte-level BPE (learn.h) as Hugging Face's files, which bpe_files.h reads. */
#pragma once

#include "base/str.h"
#include "tokenizer/vocab.h"

/* Append tokenizer.json and tokenizer_config.json. AutoTokenizer takes the former as it is. `two_separators`: two texts
 * have two separators between them, as RoBERTa's. */
void bpe_write_json(const struct vocab *vocab, bool two_separators, struct buf *out);
void bpe_write_config(const struct vocab *vocab, struct buf *out);
