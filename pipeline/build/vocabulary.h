/* The vocabulary of a build, learned from the inputs. Learning counts the words of up to 256 windows, chosen from all
 * inputs by a fixed key, so the result depends only on the inputs' bytes and the options. One page in fifty (including
 * the first ones that --valid holds out) is not learned from, but used to judge the vocabulary. If text is scarce (all
 * its words would fit into the vocabulary), these pages are learned from as well, after judging without them. */
#pragma once

#include "pipeline/input/inputs.h"
#include "pipeline/build/resource_plan.h"
#include "tokenizer/coverage.h"
#include "tokenizer/learn.h"
#include "tokenizer/tokenizer.h"

#define VOCABULARY_WINDOWS_MAX 256
#define VOCABULARY_SIZE_USUAL  30522u /* for plans, where the size is not known yet */

struct vocabulary_facts {
    uint64_t windows, pages, words; /* counted: windows, kept documents, occurrences of words */
    bool of_pages;                  /* inputs_of_pages */
    uint64_t pages_held_out;        /* of these pages */
    bool scarce;                    /* held-out pages were learned from in the end */
    uint64_t forgotten;             /* occurrences of words forgotten for lack of memory: the rarest */
    struct learn_report learned;
    struct coverage text, held_out; /* if `judge`: of the text learned from; of the held-out pages */
};

/* The size that --vocab-size auto takes, by the number of words in the text: 12 times its square root, because the
 * number of distinct words grows like that; in hundreds, from 500 to 30,500. */
uint32_t vocabulary_size_for(uint64_t words);
/* True, with a warning, if a learned vocabulary, of recipe->vocab_size, has more than twice that size. */
bool vocabulary_warn_size(const struct dataset_recipe *recipe, const struct vocabulary_facts *facts);

/* The same from some windows only, ascending, for a look; nothing is logged. */
int vocabulary_learn_from(const struct inputs *inputs, struct place *places, size_t count,
                          const struct dataset_recipe *recipe, const struct resource_plan *plan, struct vocab **vocab,
                          struct vocabulary_facts *facts, struct error *err);
int vocabulary_learn(const struct inputs *inputs, const struct dataset_recipe *recipe, const struct resource_plan *plan,
                     bool judge, struct vocab **vocab, struct vocabulary_facts *facts, struct error *err);
