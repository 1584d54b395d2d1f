/* The folder in which extract keeps what it needs until it ends, and its passes over the inputs that write there:
 *
 *     OUT.unfinished/      with --out: journals, the output files so far; the same command continues there
 *     TMPDIR/dsdata-…/     without: for notes about repeated documents, and for standard input that is read twice
 *
 * The folder has a journal as the directory of a build has, and one extent. Its spills are the output files. */
#pragma once

#include "base/file.h"
#include "pipeline/build/summary.h"
#include "pipeline/input/spool.h"
#include "pipeline/store/journal.h"
#include "pipeline/verbs/extract_text.h"

struct extract_work {
    char *folder;   /* NULL: none is needed */
    bool temporary; /* it goes even after an error */
    struct lock lock;
    struct spool spool;
    struct journal journal;
    struct build_facts facts;
};

/* Makes the folder, and locks it. NULL: a temporary one. */
int extract_work_open(struct extract_work *work, const char *folder, struct error *err);
/* With --out: continues what the journal says, or begins one of this identity, which the call takes over. ERR_MISMATCH:
 * the folder is of another command. */
int extract_work_begin(struct extract_work *work, json_t *identity, const struct inputs *inputs, struct error *err);
/* Lists the documents that repeat others, unless that is done, and opens the lists. */
int extract_work_repeats(struct extract_work *work, const struct inputs *inputs, const struct dataset_recipe *recipe,
                         const struct resource_plan *plan, struct repeats *repeats, struct error *err);
/* 1: all output files have their names, because an earlier start was killed while it removed the folder; what was
 * counted is gone. 0: they have not. ERR_VERIFY: one is missing. */
int extract_work_is_over(struct extract_work *work, const struct extract_form *form, char *const *paths,
                         struct error *err);
/* Writes the output files, gives them the names `paths` [form->files] and fills the sums. */
int extract_work_write(struct extract_work *work, const struct extract_form *form, const struct dataset_recipe *recipe,
                       const struct resource_plan *plan, char *const *paths, struct counts *counts,
                       struct missing *missing, struct error *err);
/* Removes the folder if `done` or if it is temporary. */
void extract_work_close(struct extract_work *work, bool done);
