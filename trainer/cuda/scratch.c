/* The scratch that the largest call of any kernel uses. */
#include "trainer/cuda/scratch.h"

#include "trainer/cuda/kernels.h"

#define HEAD_SIZE 64

static size_t parts(size_t rows, size_t each, size_t columns)
{
    return (rows + each - 1) / each * columns * sizeof(float);
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

size_t kernel_scratch_bytes(const struct ops_limits *limits, enum precision precision)
{
    const size_t rows = (size_t)limits->rows_max, columns = (size_t)limits->columns_max;
    const size_t masked = (size_t)limits->vocabulary_rows_max, vocabulary = (size_t)limits->vocabulary;
    const size_t length = (size_t)limits->length_max, hidden = (columns + 2) / 3; /* Q, K, V in a row */
    const size_t attention = precision == PRECISION_FP32           ? rows * (hidden / HEAD_SIZE + 1) * sizeof(float)
                             : limits->length_max > ATTENTION_KEYS ? rows * hidden * sizeof(float)
                                                                   : 0;
    size_t most = larger(attention, larger(rows, masked) * 2 * sizeof(double)); /* losses of rows */
    most = larger(most, parts(rows, COLUMN_SUM_ROWS, columns));
    most = larger(most, parts(masked, COLUMN_SUM_ROWS, vocabulary));
    most = larger(most, parts(rows, NORM_ROWS, 2 * columns));
    most = larger(most, parts(rows, EMBED_ROWS, 2 * columns));
    return larger(most, parts(length, 1, 2 * columns)); /* segments of each position */
}
