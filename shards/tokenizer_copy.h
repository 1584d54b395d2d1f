/* Copies of the files of a Hugging Face tokenizer, which travel from a model to a dataset and on to the models that are
 * trained with it. */
#pragma once

#include "base/error.h"
#include "base/str.h"

enum { TOKENIZER_JSON = 1, TOKENIZER_CONFIG, TOKENIZER_FILES = 7 }; /* indices, and the number, of the files */
/* The bytes of the files; of an empty one there is no file. */
struct tokenizer_files {
    union {
        struct {
            struct buf vocab, tokenizer, config, pieces, merges, specials, added;
        };
        struct buf all[TOKENIZER_FILES]; /* the same, in the order of their names */
    };
};
extern const char *const tokenizer_file_names[TOKENIZER_FILES]; /* the first is vocab.txt */

/* Replaces file i of *files, unless the directory has none. Errors are those of reading; ERR_UNSAFE: it is too long. */
int tokenizer_copy_one(struct tokenizer_files *files, int i, const char *directory, struct error *err);
/* All but vocab.txt of a tokenizer at `path`: a directory, its vocab.json, or a tokenizer.json, which is the only one
 * then. The caller releases *files, on errors too. */
int tokenizer_copy(struct tokenizer_files *files, const char *path, struct error *err);
void tokenizer_release(struct tokenizer_files *files); /* safe on zeroed ones */
