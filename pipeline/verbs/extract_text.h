/* The parallel part of dsdata extract: a group → the text of its documents, in the form of each output file. */
#pragma once

#include "pipeline/build/repeats.h"
#include "pipeline/input/feed.h"

#define EXTRACT_FILES_MAX SPILL_BUCKETS_MAX

/* What decides the bytes. */
struct extract_form {
    const struct inputs *inputs;
    const struct repeats *repeats; /* documents to drop; its recipe is NULL: none */
    int format;                    /* enum extract_format */
    uint32_t files;                /* over which documents are spread, at least 1 */
    enum container packing;        /* CONTAINER_NONE, CONTAINER_GZIP, CONTAINER_ZSTD */
};

/* The job of a belt. */
struct extract_job {
    struct feed_job feed; /* first: see feed.h */
    struct buf *files;    /* [form->files] */
    uint32_t file_count;
    struct counts counts;
    struct missing missing;
};
/* The work of a feed whose jobs are such: all but its end. */
struct feed_work extract_feed_work(const struct extract_form *form);

/* Appends `text` as one gzip member. A file is a row of them, made where its text is. */
void extract_gzip(struct str text, struct buf *out);
/* The file `from` as one Zstandard frame: many readers stop after the first. */
int extract_zstd(const char *from, const char *path, struct error *err);
