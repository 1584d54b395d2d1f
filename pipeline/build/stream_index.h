/* The index beside a multistream dump of Wikimedia's: which streams hold templates, so that the others need not be
 * decoded. A dump "…-multistream.xml.bz2" has it in a file beside it: lines OFFSET:ID:TITLE in the
 * order of the pages, a hundred pages to a stream. */
#pragma once

#include "base/file.h"
#include "pipeline/dump/bzip2.h"

struct stream {
    uint64_t from, to; /* bytes of the dump */
    uint64_t ids;      /* page_ids_add of its pages in the index */
};

struct stream_index {
    struct stream *streams; /* those with a template, in the dump's order */
    size_t count, capacity;
    size_t all; /* streams of pages in the dump */
};

/* Reads the index of the dump at `path`, open in `dump`; `templates` is the wiki's own name of that namespace, or "".
 * False: there is none, or it is not that of this dump; *wrong says why, or is NULL. The dump must have a stream at
 * every offset of the index; what the streams hold that are not in *index is taken from the index. */
bool stream_index_read(struct stream_index *index, const char *path, const struct file *dump, struct str templates,
                       const char **wrong);
void stream_index_release(struct stream_index *index);

/* Replaces *text by that of whole streams; false: one is damaged. */
bool stream_decode(struct bzip2_memory *memory, struct str bytes, struct buf *text);
uint64_t page_ids_add(uint64_t ids, uint64_t id);
