/* The files of an exported model. They are written in parts; a new one is a row of EXPORT_PARTS and a file that defines
 * it. How config.json and the weights are written for another program is a layout (model/architecture.h). */
#pragma once

#include "trainer/verbs/about.h"
#include "trainer/verbs/use.h"

#define EXPORT_PARTS(ROW)                                                                                              \
    ROW(export_part_model)                                                                                             \
    ROW(export_part_tokenizer)                                                                                         \
    ROW(export_part_papers)                                                                                            \
    ROW(export_part_sentences)                                                                                         \
    ROW(export_part_provenance)                                                                                        \
    ROW(export_part_card)

/* What is exported. */
struct export_job {
    const struct settings *settings;
    const char *from; /* the directory of the model's files */
    const struct model_config *config;
    const struct about *about; /* data cards of its datasets are copied beside the card, which links them */
    const struct use *use;
    const struct checkpoint_state *state; /* of a run or checkpoint */
    const json_t *identity;               /* of a run or checkpoint; else NULL */
    const json_t *provenance;             /* proof.h; NULL: none is known */
    struct str card;
};

/* card.c: appends a model card, the README.md of a published model, as model hubs show it. Facts whose files no longer
 * exist, of the run or its dataset, are left out. Results of --scores are shown besides the run's own; for a run's
 * directory the card says whether that run started from this model. Errors are those of reading these. */
#define CARD_NAME "README.md"
int card_make(const struct export_job *job, struct buf *card, struct error *err);

struct export_part {
    /* Whether a file of this name may be the part's. Another export may replace it, and nothing else. */
    bool (*owns)(const char *name);
    /* Writes the part into the directory `to`, and appends the names of its files to `written`. */
    int (*write)(const struct export_job *job, const char *to, json_t *written, struct error *err);
};
#define EXPORT_DECLARED(part) extern const struct export_part part;
EXPORT_PARTS(EXPORT_DECLARED)
#undef EXPORT_DECLARED

/* All parts, in their order. */
int export_parts(const struct export_job *job, const char *to, json_t *written, struct error *err);
/* Whether an export can have a file of this name. */
bool export_is_file(const char *name);
/* Writes config.json and model.safetensors into `to`: those of `from` byte for byte, except that weights in several
 * files are written in one, and that a bert_config.json, which has no "model_type", gets the one that transformers
 * needs. ERR_USAGE: one of them is missing. */
int export_model(const char *from, const char *to, struct error *err);
/* Files by which sentence-transformers loads a model. */
#define MODULES_NAME  "modules.json"
#define SENTENCE_NAME "sentence_bert_config.json"
#define POOLING_NAME  "1_Pooling" /* a directory */
/* Appends the lines about the licence in the head (YAML) of the directory's README.md, as they are; none: nothing. */
void export_licence(const char *directory, struct buf *out);
/* The mask token that the tokenizer's files in this directory name, which the caller mem_free's; where they name none,
 * that of BERT or, beside a vocab.json, of RoBERTa. */
char *export_mask_token(const char *directory);
