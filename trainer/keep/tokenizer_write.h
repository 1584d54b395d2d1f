/* The tokenizer's files as Hugging Face reads them, so that our models load there as they are. Of WordPiece: vocab.txt
 * (a copy of the dataset's), tokenizer.json (WordPiece after BertNormalizer and BertPreTokenizer) and
 * tokenizer_config.json. Of a byte-level BPE: copies of what there is. */
#pragma once

#include "base/error.h"
#include "shards/tokenizer_copy.h"

/* How text is split into words. */
struct tokenizer_words {
    bool cased, strip_accents;
    bool joined; /* ideographs count as letters of words: handle_chinese_chars is false */
};

/* Those of WordPiece. `vocab` holds one piece per line; `length_max` is the model's number of positions. ERR_INPUT if
 * the vocabulary (read from `path`, named in errors) is not UTF-8 or lacks a special piece. The caller releases *files,
 * on errors too. */
int tokenizer_make(struct tokenizer_files *files, const char *path, struct str vocab,
                   const struct tokenizer_words *words, uint32_t length_max, struct error *err);
