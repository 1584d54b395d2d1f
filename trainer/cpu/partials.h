/* Adds up the partial sums over rows that blocks of rows left in scratch. */
#pragma once

#include "trainer/cpu/real.h"

/* out[i] += sum over blocks of partials[block * stride + i], in the blocks' order. */
static void add_partials(real *out, const real *partials, size_t blocks, size_t stride, size_t columns)
{
    enum { SUM_COLUMNS = 64 };
    for (size_t first = 0; first < columns; first += SUM_COLUMNS) {
        const size_t count = smaller(SUM_COLUMNS, columns - first);
        real sum[SUM_COLUMNS] = {0};
        for (size_t block = 0; block < blocks; block++)
            for (size_t i = 0; i < count; i++)
                sum[i] += partials[block * stride + first + i];
        for (size_t i = 0; i < count; i++)
            out[first + i] += sum[i];
    }
}
