/* Which files of a directory are ours: those that its manifest or journal covers, by computed names, never by names
 * read from a file. Only these are ever removed, and no symbolic link is followed on the way to them. */
#pragma once

#include "base/file.h"
#include "pipeline/store/journal.h"
#include "shards/manifest.h"

/* In the dataset's directory, but not part of the dataset: */
#define REPORT_NAME "report.html"
#define CARD_NAME   "README.md"
#define CARD_HEAD   "---\n# written by dsdata report --card\n" /* a card's first bytes */

/* Reads a manifest. 1; 0: there is none; < 0: it cannot be read, or (ERR_USAGE) is damaged or not ours. */
int owned_manifest(const char *path, struct manifest *manifest, struct error *err);
/* The same for DIR/journal. */
int owned_journal(const char *directory, struct journal *journal, struct error *err);
/* Which of the two the directory holds; < 0 as above. `journal` gets the journal; NULL: it is not needed. */
enum { OWNED_NOTHING, OWNED_JOURNAL, OWNED_MANIFEST };
int owned_look(const char *directory, struct journal *journal, struct error *err);

/* Adds to *files the names, relative to `directory`, of all that a finished dataset or an unfinished build may have
 * there. Not included: the manifest or journal itself, and spills. */
int owned_of_manifest(struct path_list *files, const struct manifest *manifest, const char *directory,
                      struct error *err);
int owned_of_journal(struct path_list *files, const struct journal *journal, const char *directory, struct error *err);

/* ERR_USAGE unless each is a regular file or absent, and every folder on its path (including spill and seqN) a real
 * folder. */
int owned_check(const struct path_list *files, const char *directory, struct error *err);
/* Removes them, and then the empty folders; synced when it returns. */
int owned_remove(const struct path_list *files, const char *directory, struct error *err);

/* 1 if the directory is empty, apart from the lock, the temporary file of a journal that was never completed, .fresh
 * and .spool; else 0; < 0. */
int owned_is_empty(const char *directory, struct error *err);
/* Removes what only an unfinished build needs: spills, journal, an empty .fresh. */
int owned_tidy(const char *directory, struct error *err);
