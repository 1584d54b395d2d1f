/* The settings of a dsdata command line: one field per row of the option table in dsdata_options.c. */
#pragma once

#include "base/opts.h"
#include "shards/manifest.h"

#include <string.h>

enum accents { ACCENTS_AUTO, ACCENTS_STRIP, ACCENTS_KEEP };
enum extract_format { EXTRACT_JSONL, EXTRACT_SENTENCES };
enum duplicate_choice { DUPLICATES_KEEP, DUPLICATES_DROP };
enum compat { COMPAT_OFF, COMPAT_GOOGLE };

/* The formats of export: the name of the constant, that of the row (verbs/export_formats.h), that of --format. */
#define EXPORT_FORMAT_LIST(X)                                                                                          \
    X(JSONL, jsonl, "jsonl")                                                                                           \
    X(TFRECORD, tfrecord, "tfrecord")                                                                                  \
    X(MDS, mds, "mds")                                                                                                 \
    X(HDF5, hdf5, "nvidia-hdf5")                                                                                       \
    X(PARQUET, parquet, "parquet")
#define EXPORT_FORMAT_VALUE(NAME, row, typed) EXPORT_##NAME,
enum export_format_name { EXPORT_FORMAT_LIST(EXPORT_FORMAT_VALUE) EXPORT_FORMATS };
#undef EXPORT_FORMAT_VALUE
enum export_masks { EXPORT_AUTO, EXPORT_STORED, EXPORT_FRESH, EXPORT_UNMASKED };
enum tokenize_format { TOKENIZE_IDS, TOKENIZE_PIECES, TOKENIZE_JSON };

struct dsdata_settings {
    /* inputs */
    struct opt_paths inputs[SOURCE_KINDS]; /* those named as a kind; bare arguments are recognised */
    const char *spool;                     /* the file that "-" was stored in (spool.h); NULL: it is read as a pipe */
    const char *lang;                      /* NULL: what the dump says */
    const char *variant;                   /* of the wiki's spellings; NULL: none */
    const char *namespaces;                /* of wikis, whose pages are documents: names and numbers; NULL: articles */
    const char *text_key, *id_key;         /* of JSON lines */
    const char *encoding;                  /* of the inputs; NULL: UTF-8 */
    int text_form;                         /* enum text_form of page_parts.h */
    uint64_t limit;                        /* 0: no limit */
    bool salvage;                          /* skip damage, and count it */
    uint64_t max_ratio;                    /* of text to bzip2 */

    /* text and pieces */
    uint32_t keep;                          /* enum keep of text/wikitext.h */
    uint32_t drop;                          /* enum kind of text/wikitext.h */
    uint64_t min_words, max_words;          /* of a document; 0: no bound */
    const char *only_lang;                  /* codes of languages; NULL: any */
    const char *filter;                     /* "gopher", with thresholds; NULL: none */
    struct opt_paths exclude;               /* files of texts that documents must not have words of */
    int duplicates;                         /* enum duplicate_choice */
    uint32_t near_duplicates;               /* millionths; 0: they are kept */
    const char *templates;                  /* "auto", "none" or a file of renderings; NULL: none */
    const char *vocab;                      /* NULL: learn one */
    const char *check;                      /* vocab: examine this one instead */
    uint64_t vocab_size;                    /* when learned */
    uint64_t unused;                        /* further [unusedN] when learned */
    uint64_t min_frequency, limit_alphabet; /* when learned */
    int kind;                               /* vocab: enum vocab_kind of tokenizer/vocab.h */
    bool special_in_text;                   /* build: see tokenizer_options */
    int special_names;                      /* vocab: enum special_names of tokenizer/learn.h */
    int algo;                               /* when learned: enum learn_algorithm of tokenizer/learn.h */
    bool cased;
    int accents; /* enum accents */
    int profile; /* enum profile of tokenizer/unicode.h */
    bool joined; /* ideographs, as the tokenizer file of --vocab says */

    /* samples */
    struct opt_numbers seq, max_predictions;
    uint32_t mask_prob, short_seq_prob, valid; /* millionths */
    int valid_by;                              /* enum valid_by of dataset_recipe.h */
    int masking, pairs;                        /* enum mask_kind, enum pair_kind */
    bool pack;
    int compat; /* enum compat */
    uint64_t copies, seed;

    /* output and resources */
    const char *out;
    uint64_t shard_bytes, memory, threads; /* memory, threads 0: by default */
    uint64_t peer_timeout;                 /* seconds, 0: none */
    bool fresh, dry_run, force;

    /* what to show */
    int format;          /* the verb's format */
    const char *explain; /* extract: the title of the page to explain, or NULL */
    bool special;        /* tokenize: [CLS] … [SEP] */
    uint64_t sample;     /* show: which sample */
    uint64_t seq_one;    /* show, export: which length; 0: the shortest */
    int split;           /* 0: train, 1: valid */
    uint64_t files;      /* export: how many; 0: one, of mds by size */
    uint64_t epoch;      /* export, if given: in the order of this epoch of a training with this seed */
    int masks;           /* export: enum export_masks */
    bool card;           /* report: a card, and not a page */
    const char *sha256;  /* verify: the list of sums to write or to check, or NULL */
    bool json, quiet, verbose;

    const struct opt_program *program; /* for opts_given */
    const struct opt_result *result;
    int argc; /* the command line, for build.json */
    char **argv;
};

/* How many inputs were named as a kind. */
static inline size_t settings_named_inputs(const struct dsdata_settings *settings)
{
    size_t count = 0;
    for (size_t kind = 0; kind < SOURCE_KINDS; kind++)
        count += settings->inputs[kind].count;
    return count;
}

/* Input i as typed, in the order of reading: those named as a kind, by kind, then the bare ones. */
static inline const char *settings_input(const struct dsdata_settings *settings, const struct opt_paths *bare, size_t i)
{
    for (size_t kind = 0; kind < SOURCE_KINDS; i -= settings->inputs[kind++].count)
        if (i < settings->inputs[kind].count)
            return settings->inputs[kind].items[i];
    return bare->items[i];
}

/* The file or folder that --out names; NULL: standard output. */
static inline const char *settings_out(const struct dsdata_settings *settings)
{
    return settings->out && strcmp(settings->out, "-") != 0 ? settings->out : NULL;
}

/* The file that --templates names, or NULL. */
static inline const char *settings_templates_file(const struct dsdata_settings *settings)
{
    const char *typed = settings->templates;
    return typed && strcmp(typed, "auto") != 0 && strcmp(typed, "none") != 0 ? typed : NULL;
}

/* True if this option was typed. */
static inline bool settings_given(const struct dsdata_settings *settings, const char *name)
{
    return opts_given(settings->program, settings->result, name);
}

/* A command to type: `verb` with the inputs and options of this one, except those in `leave` (opts_command). The caller
 * adds more, or hands buf_text on. */
static inline struct buf settings_command(const struct dsdata_settings *settings, const char *verb, const char *leave)
{
    struct buf command = {0};
    opts_command(settings->program, settings->result, settings, verb, leave, &command);
    return command;
}

int dsdata_build(void *settings, struct opt_paths bare, struct error *err);
int dsdata_vocab(void *settings, struct opt_paths bare, struct error *err);
int dsdata_templates(void *settings, struct opt_paths bare, struct error *err);
int dsdata_extract(void *settings, struct opt_paths bare, struct error *err);
int dsdata_tokenize(void *settings, struct opt_paths bare, struct error *err);
int dsdata_show(void *settings, struct opt_paths bare, struct error *err);
int dsdata_export(void *settings, struct opt_paths bare, struct error *err);
int dsdata_verify(void *settings, struct opt_paths bare, struct error *err);
int dsdata_demo(void *settings, struct opt_paths bare, struct error *err);
int dsdata_doctor(void *settings, struct opt_paths bare, struct error *err);
int dsdata_report(void *settings, struct opt_paths bare, struct error *err);

/* The command of the user with some options changed, for hints and warnings. */
struct option_change {
    const char *name, *value; /* NULL: a flag */
};
/* This command with other options, [count], in place of those that were typed; `fresh`: and with --fresh where a build
 * would continue what it has begun. Freed with mem_free. */
char *changed_command(const struct dsdata_settings *settings, const struct option_change *changes, size_t count,
                      bool fresh);
