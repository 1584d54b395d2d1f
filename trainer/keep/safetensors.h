/* The safetensors format: named dense arrays, read through a mapping without a copy, written in one pass.
 *
 *      0          8                     8 + N                                   end of file
 *      ├──────────┼─────────────────────┼───────────────┬───────┬───────────────┤
 *      │ N, u64   │ header, JSON        │ tensor        │ ...   │ tensor        │   all little-endian, row-major
 *      └──────────┴─────────────────────┴───────────────┴───────┴───────────────┘
 *      header: {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ..., "__metadata__": {"k": "v"}}
 *
 * Format: https://github.com/huggingface/safetensors, README. Files are untrusted: the reader requires tensors that
 * cover the data without gaps or overlaps, unique names, sizes that agree with the shapes, and a file that ends where
 * the last tensor ends.
 *
 * Large models are several such files, the parts, and an index that says which part holds which tensor:
 *
 *      model.safetensors.index.json: {"metadata": {...}, "weight_map": {"name": "model-00001-of-00002.safetensors", ...}}
 *
 * Opened by the index, they are one table of tensors. */
#pragma once

#include "base/arena.h"
#include "base/file.h"

#define TENSOR_RANK_MAX 8

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

/* A named dense array, as stored in files: a view; functions that return one say who owns the data and the name. */
struct tensor {
    const char *name;
    enum tensor_type type;
    uint32_t rank; /* 0: a single value */
    uint64_t shape[TENSOR_RANK_MAX];
    const void *data; /* not aligned: copy out with tensor_to_f32 or memcpy */
    uint64_t bytes;
};

const char *tensor_type_name(enum tensor_type type); /* "F32" */
uint32_t tensor_type_bytes(enum tensor_type type);   /* of one element */
/* Computes the size from type and shape; false if it does not fit in 63 bits. */
bool tensor_shape_bytes(const struct tensor *tensor, uint64_t *bytes);
uint64_t tensor_elements(const struct tensor *tensor);
/* A view of `count` elements from element `at` on, as a vector. */
struct tensor tensor_range(const struct tensor *tensor, uint64_t at, uint64_t count);
bool tensor_type_floats(enum tensor_type type); /* whether tensor_to_f32 can convert it */
/* Converts the elements to float; `out` holds tensor_elements(). Returns -1 if the type is not floating-point. */
int tensor_to_f32(const struct tensor *tensor, float *out);
/* Whether all elements are finite as floats; true for a type that is not floating-point. */
bool tensor_is_finite(const struct tensor *tensor);
/* Writes "[2, 3]" to out, for messages; returns out. */
char *tensor_shape_text(const struct tensor *tensor, char *out, size_t out_size);

#define SAFETENSORS_HEADER_BYTES_MAX (16u << 20) /* about 150,000 tensors; the format allows 100 MB */
#define SAFETENSORS_INDEX_END        ".safetensors.index.json"
#define SAFETENSORS_PARTS_MAX        4096u

/* A file, or the parts of an index, open for reading. Names and data live until safetensors_close. */
struct safetensors {
    struct tensor *tensors; /* [count], sorted by name */
    size_t count;
    struct mapping file; /* empty for an index */
    struct arena names;
    struct safetensors *parts; /* [part_count], of an index */
    size_t part_count;
};

/* Opens a file, or all parts of an index: a path that ends with SAFETENSORS_INDEX_END. ERR_UNSAFE if a file breaks the
 * format, or if the index names a file outside its directory; ERR_VERIFY if a file is shorter or longer than its header
 * says, if a part is missing, or if the index and the parts disagree about where a tensor is. */
int safetensors_open(struct safetensors *file, const char *path, struct error *err);
const struct tensor *safetensors_find(const struct safetensors *file, const char *name); /* NULL: not found */
void safetensors_close(struct safetensors *file);                                        /* safe on a zeroed one */

/* A model's weights in `directory`: the path of NAME, or that of its index if there is no such file; NULL: neither.
 * transformers chooses in this order too. The caller mem_free's it. */
char *safetensors_locate(const char *directory, const char *name);
/* *hash becomes the XXH3-64 of a file's bytes; for an index that of its parts' hashes, in the order of their names. */
int safetensors_hash(const char *path, uint64_t *hash, struct error *err);

/* Writes a file (temporary name, fsync, rename) with the tensors in the order of the reference writer, by alignment,
 * then by name, so that equal tensors give equal bytes in whatever order they are passed. `bytes` of each must agree
 * with its type and shape. *hash (may be NULL) becomes the XXH3-64 of the file. */
int safetensors_write(const char *path, const struct tensor *tensors, size_t count, uint64_t *hash, struct error *err);
/* The same for tensors without data: `read` fetches that of tensors[i] when it is about to be written. `kind` (or NULL)
 * is added to the file's metadata. */
struct tensor_source {
    int (*read)(void *context, size_t i, void *data, struct error *err);
    void *context;
};
int safetensors_write_from(const char *path, const struct tensor *tensors, size_t count,
                           const struct tensor_source *source, const char *kind, uint64_t *hash, struct error *err);
