/* The tokenizer's files as Hugging Face reads them, so that our models load there as they are. Of WordPiece: vocab.txt
 * (a copy of the dataset's), tokenizer.json (WordPiece after BertNormalizer and BertPreTokenizer) and
 * tokenizer_config.json. Of a byte-level BPE: copies of what there is. */
#pragma once

#include "base/error.h"
#include "base/str.h"

#define TOKENIZER_FILES 7
/* The bytes of the files; of an empty one there is no file. */
struct tokenizer_files {
    union {
        struct {
            struct buf vocab, tokenizer, config, pieces, merges, specials, added;
        };
        struct buf all[TOKENIZER_FILES]; /* the same, in the order of their names */
    };
};
extern const char *const tokenizer_file_names[TOKENIZER_FILES];

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
void tokenizer_release(struct tokenizer_files *files); /* safe on zeroed ones */
