/* The vocabulary of a build: read from a file, or learned from the inputs. Learning counts the words of up to 256 windows,
 * chosen over all inputs by a fixed key, so what is learned depends on the inputs' bytes and the options alone. */
#ifndef PIPELINE_VOCABULARY_H
#define PIPELINE_VOCABULARY_H

#include "pipeline/inputs.h"
#include "pipeline/plan.h"
#include "tokenizer/learn.h"
#include "tokenizer/tokenizer.h"

#define VOCABULARY_WINDOWS_MAX 256

struct vocabulary_facts {
    uint64_t windows, pages, words; /* counted: windows, kept pages, running words */
    uint64_t forgotten;             /* running words that found no room in the table: the rarest */
    struct learn_report learned;
};

int vocabulary_learn(const struct inputs *inputs, const struct recipe *recipe, const struct plan *plan,
                     struct vocab **vocab, struct vocabulary_facts *facts, struct error *err);

#endif
