/* A folder with a dump in parts → its parts in the order of their pages, with the sums they must have.
 *
 *     enwiki-2026-11-01-p10p1147431.xml.bz2          first and last page: a content file export (or .gz, .zst, .xz, .xml)
 *     enwiki-2026-11-01-p45046r266092r5566832.xml    a page alone, first and last revision
 *     enwiki-20261101-pages-articles1.xml-p1p41242.bz2, fiwiki-20261101-pages-articles.xml.bz2     older dumps
 *     SHA256SUMS                                     as sha256sum(1) writes it
 *
 * What stands before the pages is the export; a folder has parts of one. Anything else in it is passed over. */
#ifndef PIPELINE_FOLDER_H
#define PIPELINE_FOLDER_H

#include "base/error.h"
#include "base/sha256.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct part_name {
    struct str export;                /* "enwiki-2026-11-01"; a view of the name */
    bool has_pages;                   /* the name says which: */
    uint64_t page, last;              /* from page to last page */
    uint64_t revision, revision_last; /* of one page's: from revision to last; else 0 */
};
/* False where it is no part's name. */
bool part_name_read(struct str name, struct part_name *out);

struct folder_part {
    char *path;                     /* FOLDER/NAME. Owned. */
    char sha256[SHA256_DIGITS + 1]; /* as SHA256SUMS has it; "": it is not listed */
};

struct folder {
    struct folder_part *parts; /* [count] in the order of their pages */
    size_t count;
};

/* ERR_USAGE: it holds no part; it holds several exports, or the same pages twice, both are named. ERR_INPUT: SHA256SUMS
 * is not what sha256sum writes, or lists a part that is not there (`salvage`: a warning). Downloads that were not
 * completed, and parts that SHA256SUMS does not list, are warned of. Of a page whose revisions fill several parts, the
 * one with the newest ones is taken. */
int folder_read(struct folder *folder, const char *path, bool salvage, struct error *err);
void folder_release(struct folder *folder);

#endif
