/* What the command line names as inputs: files, with the language before them, and the parts of folders. For
 * inputs.c. */
#ifndef PIPELINE_INPUT_NAMES_H
#define PIPELINE_INPUT_NAMES_H

#include "base/sha256.h"
#include "pipeline/dsdata_settings.h"
#include "pipeline/page_parts.h"
#include "pipeline/text/words/codes.h"

struct input_name {
    const char *typed;              /* with LANG= */
    char *path;                     /* owned, until it is an input's */
    char code[CODE_BYTES_MAX];      /* of LANG=, or "" */
    enum input_kind kind;           /* that is asked for */
    char sha256[SHA256_DIGITS + 1]; /* of a part that its folder has a sum of, or "" */
    size_t parts;                   /* as in struct inputs */
};

struct input_names {
    struct input_name *items; /* [count] */
    size_t count;
};

/* --wiki, --text, --jsonl and the bare arguments, in this order. Fails as folder_read does, and with ERR_USAGE for a
 * folder of --text or --jsonl. Released in any case. */
int input_names_read(struct input_names *names, const struct dsdata_settings *settings, const struct opt_paths *bare,
                     struct error *err);
void input_names_release(struct input_names *names);

#endif
