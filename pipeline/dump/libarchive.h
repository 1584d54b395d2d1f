/* What dsdata_archive.so exports (base/module.h): the members of zip and tar files, read by libarchive. A module,
 * because that library depends on others that a program which reads no archive need not load. members.h is what uses
 * it. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARCHIVE_INTERFACE 1 /* increment it with every change of this file */
#define ARCHIVE_SYMBOL    "dsdata_archive"

/* The bytes of an archive. */
struct archive_input {
    void *context;
    /* The bytes at `offset`, which never decreases unless the input is a file; fewer only at the end. */
    int64_t (*read)(void *context, void *out, size_t bytes, uint64_t offset, struct error *err);
    uint64_t file_bytes; /* of a file, which can be read at any offset; 0: it cannot. A zip file must be one. */
};

struct member {
    const char *name; /* in UTF-8 if the archive says what it is in; holds until the next member. "": none */
    uint64_t bytes;   /* of its content, as stated; UINT64_MAX: not stated */
    bool is_file, is_folder, is_encrypted;
    bool is_bounded; /* it is decoded in little memory, which the methods lzma, xz and ppmd of zip need not be */
};

struct archive_walk;

struct archive_module {
    int interface; /* ARCHIVE_INTERFACE */
    /* `input` outlives the walk. */
    struct archive_walk *(*open)(const struct archive_input *input, bool zip);
    /* The next member in the order of the archive. 1; 0: there are no more; ERR_INPUT, with libarchive's message, or
     * the input's own error. */
    int (*next)(struct archive_walk *walk, struct member *member, struct error *err);
    /* The next bytes of the member's content; fewer only at its end. Errors as for next. */
    int64_t (*read)(struct archive_walk *walk, void *out, size_t bytes, struct error *err);
    void (*close)(struct archive_walk *walk); /* NULL is fine */
};

extern __attribute__((visibility("default"))) const struct archive_module dsdata_archive;
