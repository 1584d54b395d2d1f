/* Reads every byte of a dataset and compares it with the hashes in the manifest. Finds all damage, not only the first,
 * and says where: a header, a block of 1 MiB, the table of hashes, a footer, a missing or overlong end. Files among the
 * shards that the manifest does not name are reported as well: no reader opens them, but a glob may. */
#pragma once

#include "base/file.h"

#include <stddef.h>
#include <stdint.h>

struct damage {
    char *file;        /* relative to the dataset's directory */
    uint64_t from, to; /* bytes [from, to) */
    const char *what;  /* a constant, in the user's terms */
};

/* Zeroed before use; verify_release frees it. */
struct verify_report {
    struct damage *damaged; /* by file, then from; adjacent damaged blocks are one range */
    size_t count;
    struct path_list unnamed; /* in folders seqN, or such a folder itself; sorted */
    uint64_t files;           /* looked at: manifest, vocabulary, shards */
    uint64_t bytes;           /* read */
};

static inline bool verify_is_good(const struct verify_report *report)
{
    return report->count == 0 && report->unnamed.count == 0;
}

/* Called now and then with the bytes done and the total (0: not known); < 0 stops with ERR_STOPPED. */
struct verify_progress {
    int (*report)(void *context, uint64_t done, uint64_t total); /* or NULL */
    void *context;
};

/* Returns 0 when everything could be read, damaged or not. < 0: no dataset, a newer version, an I/O error. If the
 * manifest itself is damaged, nothing else can be judged, and it is the only entry. */
int dataset_verify(const char *directory, struct verify_progress progress, struct verify_report *report,
                   struct error *err);
void verify_release(struct verify_report *report);

/* Adds a range. A range that continues the last one, for the same reason, is merged into it. */
void verify_note(struct verify_report *report, const char *file, uint64_t from, uint64_t to, const char *what);
