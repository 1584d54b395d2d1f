/* The members of a zip or tar file, as inputs that are read one after the other: an archive is a stream, so the order
 * is its own. Reading an earlier member, or earlier in one than its beginning, starts again at the first. One thread at
 * a time. */
#pragma once

#include "pipeline/dump/libarchive.h"

struct members;

struct members_options {
    uint64_t ratio_max, ratio_text_min;  /* as in struct dump_options */
    const struct archive_module *module; /* NULL: dsdata_archive.so, loaded when it is needed */
};

/* 1: the file is an archive, and *members is open. 0: it is none, or this program was built without libarchive. < 0:
 * ERR_USAGE, ERR_RESOURCE, ERR_MISMATCH: the module cannot be used; the hint says how to unpack the file. */
int members_open(struct members **members, const char *path, const struct members_options *options, struct error *err);
void members_close(struct members *members); /* NULL is fine */

/* The next member and its number, which counts from 1; after the end or an error, the first again. The name is without
 * "./". 1; 0: there are no more. ERR_INPUT: the archive is damaged here, or the input of it is. ERR_UNSAFE: it is a
 * document (docx, odt, epub …) and not an archive of texts, a bomb, or a name has "..". */
int members_next(struct members *members, struct member *member, uint64_t *number, struct error *err);
/* The bytes of a member at `offset`; fewer only at its end. ERR_INPUT: damaged. ERR_UNSAFE: encrypted, compressed in a
 * way that is not bounded, or a bomb. `name` is the member's, for messages. */
int64_t members_read(struct members *members, uint64_t number, const char *name, void *out, size_t bytes,
                     uint64_t offset, struct error *err);

const char *members_path(const struct members *members);
size_t members_memory(const struct members *members); /* bytes held for decoding */
