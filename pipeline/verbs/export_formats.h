/* What `dsdata export` writes: the samples of one length and split, in the order and with the masks that the user
 * chose, divided into files; and the formats of such files. */
#pragma once

#include "base/error.h"
#include "base/str.h"
#include "base/target.h"
#include "pipeline/parts/dsdata_settings.h"
#include "shards/dataset.h"
#include "shards/masking.h"

#include <stdatomic.h>

struct export_work {
    const struct dataset *dataset;
    bool in_epoch; /* in the order of an epoch of a training with this seed; else of shards and records */
    uint64_t epoch, seed;
    enum export_masks masks;   /* never EXPORT_AUTO */
    atomic_uint_fast64_t done; /* samples */
};

/* One of several files: samples at the places [first, first + count) of the order. */
struct export_file {
    struct export_work *work;
    const char *path; /* NULL: standard output */
    uint64_t first, count;
    uint64_t bytes; /* written, for an index */
};

/* Passes every sample of a file to `take`, in order, with its masks. ERR_STOPPED: stopped on request. */
int export_each(struct export_file *file, int (*take)(void *context, const struct sample *sample, struct error *err),
                void *context, struct error *err);

/* A format is either a sequence of records, each made by `put`, or whole files, made by `write`; or neither, if the
 * Python package writes it. Any thread. It is a line of EXPORT_FORMAT_LIST and a row in a file export_*.c. */
struct export_format {
    const char *const *endings; /* of names of files, which only this format has; NULL after the last */
    bool unmasked;              /* its readers draw masks, so by default no token has one */
    bool folder;                /* --out is a folder, and the format names its files */
    size_t (*bytes_max)(const struct shard_layout *layout); /* of a record */
    /* Writes a record at `at`, where bytes_max bytes are free; returns its size. */
    size_t (*put)(char *at, const struct shard_layout *layout, const struct sample *sample);
    int (*write)(struct export_file *file, struct error *err);
    uint64_t (*files)(const struct export_work *work); /* the number of files, if --files does not say; NULL: one */
    /* The base name of a file in a folder. */
    void (*name_file)(const struct export_work *work, uint64_t index, uint64_t count, char out[64]);
    int (*finish)(const char *folder, const struct export_file *files, uint64_t count, struct error *err); /* or NULL */
    struct target_form form;        /* of a file; of a folder's key file, if it has one */
    const char *key;                /* base/target.h */
    bool (*ours)(const char *name); /* in a folder: true if name_file or finish can have given this name */
};

#define DECLARE_FORMAT(NAME, row, typed) extern const struct export_format export_##row;
EXPORT_FORMAT_LIST(DECLARE_FORMAT)
#undef DECLARE_FORMAT
extern const char *const export_format_names[EXPORT_FORMATS];
