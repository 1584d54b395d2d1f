/* --grow-vocab: a model's word table gets rows for the pieces that a dataset has beyond the model's own. */
#pragma once

#include "trainer/keep/names.h"
#include "trainer/keep/tokenizer_write.h"

/* Reads the tokenizer files in `directory`, the model's, and cuts every piece of the dataset (one per line) beyond the
 * model's into the model's pieces: what follows "##" as the rest of a word, or, where no pieces continue a word so, as
 * a word; a text that they cannot spell is [UNK]. The new rows fill the table's spare rows first, and `config` gets
 * the rows and spare rows that the grown table has. ERR_MISMATCH: the dataset's first pieces are not the model's, or
 * words are cut in another way. Other errors: tokenizer/tokenizer_files.h. The caller calls growth_release, on errors
 * too. */
int grow_plan(const char *directory, struct str pieces, const struct tokenizer_words *words,
              struct model_config *config, struct growth *growth, struct error *err);
