/* dsdata build --compat google: the dataset that Google's create_pretraining_data.py would make of the same text files,
 * instance for instance and in its order. It has its own flow in one thread, because the script draws all random
 * numbers in sequence; the whole corpus is in memory as pieces. The output is spill entries whose key is the sample's
 * place. */
#pragma once

#include "base/progress.h"
#include "base/str.h"
#include "pipeline/google/instances.h"
#include "pipeline/input/inputs.h"
#include "pipeline/store/spill.h"

/* ERR_USAGE if the command line asks for what the script cannot do: --wiki, --jsonl, two lengths, --pairs, --valid,
 * --profile hf … Otherwise sets what --compat google implies: profile google, nothing held out. */
int google_settle(struct dsdata_settings *settings, struct opt_paths bare, struct error *err);
/* ERR_USAGE if an input is compressed. */
int google_check(const struct inputs *inputs, struct error *err);

struct google_options {
    const struct inputs *inputs; /* text files */
    struct instance_rules rules; /* with the vocabulary */
    uint64_t seed;
    const struct tokenizer *tokenizer;
    uint64_t memory_bytes; /* for pieces and places; a corpus that needs more is ERR_RESOURCE with an estimate */
};

/* Where the samples go; all of it the caller's. */
struct google_output {
    struct spill *spill;
    struct counts *counts; /* added to */
    uint64_t *hashes;      /* [inputs->count] set to dump_hash of each input */
};

/* Reads all inputs from their first byte, instead of the belt. Nothing is kept on the way: after an interruption the
 * same command starts from the beginning. Counts no document if the text has no pieces. */
int google_read(const struct google_options *options, const struct google_output *output, struct progress *progress,
                struct error *err);

/* Lines of text files as Google's create_pretraining_data.py reads them. */

/* Removes white space at both ends as Python's str.strip() does (U+0085 and U+3000 are white space, U+200B and U+FEFF
 * are not). `text` is well-formed UTF-8. A line that becomes empty ends a document. */
struct str python_strip(struct str text);
