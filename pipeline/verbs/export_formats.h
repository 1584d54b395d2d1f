/* What `dsdata export` writes: the samples of one length and split, in an order and with masks of the user's choice,
 * cut into files; and the formats that such a file may have. */
#ifndef PIPELINE_VERBS_EXPORT_FORMATS_H
#define PIPELINE_VERBS_EXPORT_FORMATS_H

#include "base/error.h"
#include "base/str.h"
#include "pipeline/dsdata_settings.h"
#include "shards/dataset.h"
#include "shards/masking.h"

#include <stdatomic.h>

struct export_work {
    const struct dataset *dataset;
    bool in_epoch; /* the order of an epoch of a training with this seed; else that of shards and records */
    uint64_t epoch, seed;
    enum export_masks masks;   /* never EXPORT_AUTO */
    atomic_uint_fast64_t done; /* samples */
};

/* One file of several: samples at the places [first, first + count) of the order. */
struct export_file {
    struct export_work *work;
    const char *path; /* NULL: standard output */
    uint64_t first, count;
    uint64_t bytes; /* written, for an index */
};

/* Hands every sample of a file on, in order, with its masks laid. Stops with ERR_STOPPED at a request to stop. */
int export_each(struct export_file *file, int (*take)(void *context, const struct sample *sample, struct error *err),
                void *context, struct error *err);

/* Two kinds: records one after the other, each made by `put`; or whole files, made by `write`. Any thread. */
struct export_format {
    const char *name;
    bool folder;                                            /* --out is a folder with files of this format's names */
    size_t (*bytes_max)(const struct shard_layout *layout); /* of a record */
    /* Writes it at `at`, where bytes_max bytes are free; returns its size. */
    size_t (*put)(char *at, const struct shard_layout *layout, const struct sample *sample);
    int (*write)(struct export_file *file, struct error *err);
    uint64_t (*files)(const struct export_work *work); /* how many, where --files does not say; NULL: one */
    /* Base name of a file of a folder. */
    void (*name_file)(const struct export_work *work, uint64_t index, uint64_t count, char out[64]);
    int (*finish)(const char *folder, const struct export_file *files, uint64_t count, struct error *err); /* or NULL */
};

extern const struct export_format export_jsonl, export_tfrecord, export_mds, export_hdf5;

#endif
