/* What a model card and dstrain show say about a model besides its numbers: where it comes from, how it was computed,
 * what its labels and its tokenizer are. Facts whose files are gone are left out. */
#pragma once

#include "trainer/keep/checkpoint.h"

struct about {
    char *run;             /* the directory of the run that it belongs to; NULL: none */
    json_t *record;        /* its run.json, or NULL */
    json_t *datasets;      /* [{"manifest", "build", "path"}] of those that are unchanged where the run found them */
    json_t *languages;     /* {code: true}, of the data, for a fine-tuned model of the data of the model before */
    char base[96];         /* name of the directory of the model that it started from; empty: none, or not known */
    const char *precision; /* that was computed in: "bf16"; NULL: not known */
    char tokenizer[96];    /* "WordPiece, 30,522 pieces, uncased, accents stripped"; empty: not known */
};

/* `from` is what the user named, `files` where the model's files are, `identity` the run's; NULL: as in
 * its run.json. */
void about_open(struct about *about, const char *from, enum model_source source, const char *files,
                const json_t *identity, const struct model_config *config);
void about_close(struct about *about);

/* Adds the languages of a dataset in this directory to a set {code: true}. */
void about_languages(json_t *languages, const char *dataset);
/* A text to try fill-mask on: an English sentence if the languages are English alone, else one of no language. The
 * caller mem_free's it. */
char *about_sentence(const json_t *languages, const char *mask);

/* A label's name for people: "0 (negative)" where the name is a number, but has another name in that task (config.json:
 * finetuning_task; NULL or empty: not known). */
#define ABOUT_LABEL_SIZE (2 * LABEL_NAME_SIZE)
char *about_label_text(const char *task, int32_t label, const char *name, char out[ABOUT_LABEL_SIZE]);

/* The run.json of a run, or of the run that a checkpoint lies in; NULL: there is none. The caller json_decref's it. */
json_t *about_record(const char *directory, enum model_source source, const char *files);
/* An object in a file of a directory; NULL: there is none, or it cannot be read. */
json_t *about_read(const char *directory, const char *name, size_t bytes_max);
