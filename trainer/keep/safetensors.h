/* The safetensors format: named dense arrays, read through a mapping without a copy, written in one pass.
 *
 *      0          8                     8 + N                                   end of file
 *      ├──────────┼─────────────────────┼───────────────┬───────┬───────────────┤
 *      │ N, u64   │ header, JSON        │ tensor        │ ...   │ tensor        │   all little-endian, row-major
 *      └──────────┴─────────────────────┴───────────────┴───────┴───────────────┘
 *      header: {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ..., "__metadata__": {"k": "v"}}
 *
 * Format: https://github.com/huggingface/safetensors, README. A file from outside is believed in nothing: the reader
 * wants tensors that cover the data without a hole or an overlap, unique names, sizes that follow from the shapes, and
 * a file that ends where the last tensor ends. */
#ifndef TRAINER_KEEP_SAFETENSORS_H
#define TRAINER_KEEP_SAFETENSORS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"

#include <stddef.h>
#include <stdint.h>

#define SAFETENSORS_HEADER_BYTES_MAX 100000000u /* the format's own limit */
#define TENSOR_RANK_MAX              8

enum tensor_type {
    TENSOR_F64,
    TENSOR_F32,
    TENSOR_F16,
    TENSOR_BF16,
    TENSOR_I64,
    TENSOR_I32,
    TENSOR_I16,
    TENSOR_I8,
    TENSOR_U64,
    TENSOR_U32,
    TENSOR_U16,
    TENSOR_U8,
    TENSOR_BOOL,
    TENSOR_TYPES, /* how many */
};

/* A view; what holds the bytes and the name is said where one is handed out. */
struct tensor {
    const char *name;
    enum tensor_type type;
    uint32_t rank; /* 0: a single value */
    uint64_t shape[TENSOR_RANK_MAX];
    const void *data; /* not aligned: copy out with tensor_to_f32 or memcpy */
    uint64_t bytes;
};

/* A file open for reading. Names and data live until safetensors_close. */
struct safetensors {
    struct tensor *tensors; /* [count], sorted by name */
    size_t count;
    struct mapping file;
    struct arena names;
};

/* ERR_UNSAFE where the file breaks the format, ERR_VERIFY where it is shorter or longer than its header says. */
int safetensors_open(struct safetensors *file, const char *path, struct error *err);
const struct tensor *safetensors_find(const struct safetensors *file, const char *name); /* NULL: there is none */
void safetensors_close(struct safetensors *file);                                        /* safe on a zeroed one */

/* Writes a whole file (temporary name, fsync, rename) with the tensors in the order of the reference writer: by
 * alignment, then by name; so equal tensors give equal bytes, whatever the caller's order. `bytes` of each must be what
 * type and shape say. *hash (may be NULL) becomes the XXH3-64 of the file. */
int safetensors_write(const char *path, const struct tensor *tensors, size_t count, uint64_t *hash, struct error *err);

const char *tensor_type_name(enum tensor_type type); /* "F32" */
uint64_t tensor_elements(const struct tensor *tensor);
/* Elements as float, `out` holds tensor_elements() of them. Returns -1 where the type is not a floating-point one. */
int tensor_to_f32(const struct tensor *tensor, float *out);
/* "[2, 3]" into out, for messages; returns out. */
char *tensor_shape_text(const struct tensor *tensor, char *out, size_t out_size);

#endif
