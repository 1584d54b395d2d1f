/* The files of an exported model. They are written in parts; a new one is a row of EXPORT_PARTS and a file that defines
 * it. How config.json and the weights are written for another program is a layout (model/architecture.h). */
#pragma once

#include "base/str.h"
#include "trainer/model/architecture.h"

#define EXPORT_PARTS(ROW)                                                                                              \
    ROW(export_part_model)                                                                                             \
    ROW(export_part_tokenizer)                                                                                         \
    ROW(export_part_papers)                                                                                            \
    ROW(export_part_sentences)                                                                                         \
    ROW(export_part_provenance)                                                                                        \
    ROW(export_part_card)

/* What is exported. */
struct export_job {
    const char *from;            /* the directory of the model's files */
    const struct layout *layout; /* that the model is rewritten in; NULL: its files are copied */
    struct str card;
    const json_t *datasets; /* of the run (about.h): their data cards are copied beside the card, which links them */
    bool sentences;         /* with the files by which sentence-transformers loads it */
    int pooling;            /* of those: enum pooling */
    bool normalize;
    const json_t *provenance; /* proof.h; NULL: none is known */
};

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
/* Copies the tokenizer's files, of any kind of tokenizer, and appends their names to `copied`: those with usual names,
 * and those that tokenizer_config.json names. */
int export_tokenizer(const char *from, const char *to, json_t *copied, struct error *err);
/* Copies licences, and the author's README.md under another name, because the export has a card of its own; appends
 * their names to `copied`, and says so. */
int export_papers(const char *from, const char *to, json_t *copied, struct error *err);
/* Appends the lines about the licence in the head (YAML) of the directory's README.md, as they are; none: nothing. */
void export_licence(const char *directory, struct buf *out);
/* The mask token that the tokenizer's files in this directory name, which the caller mem_free's; where they name none,
 * that of BERT or, beside a vocab.json, of RoBERTa. */
char *export_mask_token(const char *directory);
