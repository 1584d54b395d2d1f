/* A folder with a dump in parts → its parts in the order of their pages, with the sums that they must have.
 *
 *     enwiki-2026-11-01-p10p1147431.xml.bz2          first and last page: a content file export (or .gz, .zst, .xz, .xml)
 *     enwiki-2026-11-01-p45046r266092r5566832.xml    a page alone, first and last revision
 *     enwiki-20261101-pages-articles1.xml-p1p41242.bz2, fiwiki-20261101-pages-articles.xml.bz2     older dumps
 *     SHA256SUMS                                     as sha256sum(1) writes it
 *
 * The name before the pages is the export; all parts in a folder must belong to one. Other files are ignored. */
#pragma once

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
/* False: not the name of a part. */
bool part_name_read(struct str name, struct part_name *out);

struct folder_part {
    char *path;                     /* FOLDER/NAME. Owned. */
    char sha256[SHA256_DIGITS + 1]; /* from SHA256SUMS; "": not listed */
};

struct folder {
    struct folder_part *parts; /* [count] in the order of their pages */
    size_t count;
};

/* True if the folder is an export: it holds a part with page numbers or "-pages-" in its name, or parts and nothing
 * else that is not hidden, a sum or an incomplete download. */
bool folder_is_export(const char *path);

/* ERR_USAGE: no part in it; parts of several exports, or the same pages twice (both are named). ERR_INPUT: SHA256SUMS
 * is not what sha256sum writes, or lists a part that does not exist (`salvage`: a warning). Incomplete downloads, and
 * parts that SHA256SUMS does not list, give warnings. If the revisions of a page fill several parts, the one with the
 * newest is used. */
int folder_read(struct folder *folder, const char *path, bool salvage, struct error *err);
void folder_release(struct folder *folder);
