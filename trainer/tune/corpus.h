/* A corpus with tags as samples: what tag trains on, is scored on and predicts. Every word has a mark at its first
 * piece, as in transformers' run_ner. A sentence that is longer than a sample is cut into windows that overlap by
 * half; a word is marked in the window that has most context on its shorter side. */
#pragma once

#include "trainer/recipe/text.h"
#include "trainer/tune/samples.h"
#include "trainer/tune/tagged.h"

/* Zeroed it is ready. */
struct corpus {
    struct samples samples; /* the marks' labels are 0 until corpus_label */
    size_t words, word_room;
    size_t *tag_at;    /* [words] of each word's tag in `tags` */
    struct buf tags;   /* with a NUL after each */
    uint32_t *word_of; /* [samples.mark_count] the word of each mark */
    size_t word_of_room;
    size_t *ends; /* [sentences] the word after each sentence */
    size_t sentences, sentence_room;
    uint64_t cut;              /* sentences that were cut into windows */
    struct ids pieces, starts; /* of the sentence: pieces, and the first of each word */
    struct ids one;
};

/* Adds a sentence. `length`: tokens of a sample. */
void corpus_add(struct corpus *corpus, const struct tagged *sentence, const struct text *text, uint32_t length);
/* Reads a file, and every tenth sentence, by its hash, into `held` unless that is NULL. */
int corpus_read(struct corpus *corpus, struct corpus *held, const char *path, const char *column,
                const struct text *text, uint32_t length, struct error *err);
static inline const char *corpus_tag(const struct corpus *corpus, size_t word)
{
    return corpus->tags.data + corpus->tag_at[word];
}
/* Gives the marks the numbers of their tags among sorted names; one that is none of them becomes 0, and is counted. */
uint64_t corpus_label(struct corpus *corpus, const char *const *names, size_t count);
/* Forgets the sentences and keeps the memory. */
void corpus_reset(struct corpus *corpus);
void corpus_release(struct corpus *corpus);
