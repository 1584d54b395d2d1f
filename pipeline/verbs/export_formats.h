/* The formats of `dsdata export`: one sample → the bytes of one record, with the names of Google's records, padded with
 * zeros as Google pads. */
#ifndef PIPELINE_VERBS_EXPORT_FORMATS_H
#define PIPELINE_VERBS_EXPORT_FORMATS_H

#include "shards/sample.h"

struct export_format {
    size_t (*bytes_max)(const struct shard_layout *layout); /* of a record */
    /* Writes it at `at`, where bytes_max bytes are free; returns its size. */
    size_t (*put)(char *at, const struct shard_layout *layout, const struct sample *sample);
};

extern const struct export_format export_jsonl, export_tfrecord;

#endif
