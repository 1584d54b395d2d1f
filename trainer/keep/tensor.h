/* A named dense array, as stored in files. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* A view; functions that return one say who owns the data and the name. */
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
