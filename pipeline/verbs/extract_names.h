/* The files that extract --out writes, by what was typed:
 *
 *     --out en.jsonl.zst            en.jsonl.zst; with --files 4: en-00000-of-00004.jsonl.zst, …
 *     --out DIR                     DIR/STEM.jsonl (of --format sentences .txt); STEM is that of a dataset
 *
 * A folder is one that exists, or a name that ends with a slash. */
#pragma once

#include "base/error.h"
#include "pipeline/parts/dsdata_settings.h"
#include "pipeline/parts/page_parts.h"

struct extract_names {
    char *whole;  /* the name without numbers; NULL: standard output */
    char *folder; /* where they are written until they are complete: WHOLE.unfinished */
    char **paths; /* [count] */
    uint32_t count;
    enum container packing;
};

/* ERR_USAGE: a name that cannot be written or a compression that is not known. Creates the folder. */
int extract_names_make(struct extract_names *names, const struct dsdata_settings *settings, struct opt_paths bare,
                       struct error *err);
/* Refuses files that may not be written over (base/target.h); those of an extract that was interrupted may. */
int extract_names_check(const struct extract_names *names, const struct dsdata_settings *settings,
                        struct opt_paths bare, struct error *err);
void extract_names_release(struct extract_names *names);
