/* Files that a command writes where its user says. One rule for both programs, checked before the work begins, which
 * may take hours:
 *
 *     what the command reads, and files of a dataset, a run or a model, are never written over;
 *     any other file that is not empty only with --force, or if it is what the same command writes.
 *
 * The latter is decided by the beginning of its content, never by its name. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a kind of file begins. */
struct target_form {
    const char *begins;       /* its first bytes; NULL: any */
    const char *const *holds; /* texts that follow in this order, not too far from the beginning; NULL at the end */
};

struct target {
    const char *option; /* "out", for messages */
    const char *path;   /* NULL: none; "-": standard output */
    bool streams;       /* "-" is allowed */
    bool force;
    const struct target_form *forms; /* what the command writes: [form_count]; none: it recognises nothing */
    size_t form_count;
    const char *const *reads; /* what the command reads: [read_count], some may be NULL */
    size_t read_count;
};

/* Fails unless the file may be created or replaced. ERR_USAGE: by the rule above it may not; it is a directory or a
 * device; its folder does not exist or cannot be written. */
int target_check(const struct target *target, struct error *err);

/* 1 if the file has one of these forms, 0 if not, < 0 if it cannot be read. */
int target_has_form(const char *path, const struct target_form *forms, size_t form_count, struct error *err);

/* True for the names that files of datasets, runs and models have. For tests: this table is the only one. */
bool target_is_owned_name(const char *name);

/* A folder that a command fills with several files, of names that `ours` knows. While they are written, the folder
 * holds TARGET_UNFINISHED too, so that what an interrupted command left is recognised, and removed by the next one.
 *
 *     target_folder_open → files … → target_folder_done
 *                                    or, after an error, target_folder_undo
 *
 * target_folder_open creates the folder. ERR_USAGE: it holds something, and neither is it marked as unfinished nor is
 * it a complete one of ours, by the names of all its files and by `forms`; --force is no help, because readers take
 * whatever is in such a folder. */
#define TARGET_UNFINISHED ".unfinished"
struct target_folder {
    const char *path;
    bool (*ours)(const char *name); /* also in folders that are ours; the temporary names, with ".tmp", are ours too */
    const struct target_form *forms;
    size_t form_count; /* 0: a complete one is not recognised */
    const char *key;   /* the file whose form decides for all of them; NULL: each has one of the forms */
    bool made;         /* by target_folder_open */
};
int target_folder_open(struct target_folder *folder, struct error *err);
/* Only the checks of target_folder_open; nothing is written or removed. */
int target_folder_check(const struct target_folder *folder, struct error *err);
/* Removes what an interrupted command left, if the folder is marked, and the mark. */
int target_folder_clear(const struct target_folder *folder, struct error *err);
int target_folder_done(const struct target_folder *folder, struct error *err);
/* Removes our files, the mark, and the folder if it was made here. */
void target_folder_undo(const struct target_folder *folder);
