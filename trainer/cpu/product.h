/* Matrix products of one thread, in the manner of Goto and van de Geijn (2008): a panel of B, PANEL columns wide, stays
 * in the cache in the order in which it is read; it is multiplied by a strip of STRIP rows of A, and STRIP x PANEL sums
 * stay in registers (in tiles: tiles.h) while k runs. k is counted in units: one number in `real`, or with DOT a pair
 * of bf16 that one instruction multiplies and adds. Sums run over k in order, so no bit depends on how C is cut. */
#pragma once

#include "trainer/cpu/real.h"

#define TILES (LEVEL == LEVEL_AMX)

#if LEVEL >= LEVEL_AVX512
#define VECTOR_BYTES  64
#define PANEL_VECTORS (TILES ? 2 : 4)
#elif LEVEL == LEVEL_AVX2
#define VECTOR_BYTES  32
#define PANEL_VECTORS 2
#else
#define VECTOR_BYTES  16
#define PANEL_VECTORS 2
#endif
#define VECTOR_LANES (VECTOR_BYTES / sizeof(real))
#define PANEL        (PANEL_VECTORS * VECTOR_LANES)
#define STRIP        (TILES ? 32 : 6) /* rows of A that are multiplied at once */
#define STEP_UNITS   (TILES ? 16 : 1) /* units of k that are multiplied at once: packed operands have whole steps */

#define DOT (LEVEL >= LEVEL_AVX512_BF16)

/* The type that is multiplied: as stored where the processor multiplies that, else `real`. */
#if DOT
#define operand            uint16_t
#define PER_UNIT           2
#define TO_OPERAND(stored) (stored)
#define AS_STORED          1
#else
#define operand            real
#define PER_UNIT           1
#define TO_OPERAND(stored) LOAD(stored)
#define AS_STORED          (NUMBER == NUMBER_FP32 || NUMBER == NUMBER_FP64)
#endif

#if DOT
typedef uint32_t unit __attribute__((may_alias));
#else
typedef real unit;
#endif
typedef real vector __attribute__((vector_size(VECTOR_BYTES)));
/* A vector at any place in an array of reals or of units. */
typedef real stored_vector __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));

/* Units of k numbers as they are packed. */
static inline size_t units_of(size_t k)
{
    return padded(blocks_of(k, PER_UNIT), STEP_UNITS);
}

/* Rows of A as strip() reads them. At a vector level A(i, l) of a strip is at[i * row + l * step]; in tiles it is
 * at[i * row + l / 16 * step + l % 16]. The next strip is `next` units on. */
struct strips {
    const unit *at;
    size_t row, step, next;
};

#if TILES
#include "trainer/cpu/tiles.h"
#else

/* A task that multiplies is between these two (tiles.h). */
static void tiles_open(void)
{
}

static void tiles_close(void)
{
}

/* FUSED (real.h) of vectors. */
#if DOT
#define MULTIPLY_ADD(a, b, c) (vector) _mm512_dpbf16_ps((__m512)(c), (__m512bh)(a), (__m512bh)(b))
#define SPREAD(a)             (vector) _mm512_set1_epi32((int)(a))
#elif LEVEL >= LEVEL_AVX512
#define MULTIPLY_ADD(a, b, c) (vector) _mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c))
#define SPREAD(a)             ((a) - (vector){0})
#elif LEVEL == LEVEL_AVX2
#define MULTIPLY_ADD(a, b, c) (vector) _mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c))
#define SPREAD(a)             ((a) - (vector){0})
#elif NUMBER != NUMBER_FP64 && defined(__aarch64__)
#define MULTIPLY_ADD(a, b, c) (vector) vfmaq_f32((float32x4_t)(c), (float32x4_t)(a), (float32x4_t)(b))
#define SPREAD(a)             ((a) - (vector){0})
#elif EXACT
#define MULTIPLY_ADD(a, b, c) (vector) fused_four((__m128)(a), (__m128)(b), (__m128)(c))
#define SPREAD(a)             ((a) - (vector){0})
#else
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#define SPREAD(a)             ((a) - (vector){0})
#endif

/* C [rows, PANEL] (+)= A [rows, units] times a panel; A(i, l) = a[i * a_row + l * a_step]. */
static inline __attribute__((always_inline)) void micro_kernel(real *c, size_t c_row, const unit *a, size_t a_row,
                                                               size_t a_step, const unit *panel, size_t units,
                                                               const int rows, bool add)
{
    vector sum[STRIP][PANEL_VECTORS];
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (int j = 0; j < PANEL_VECTORS; j++)
            sum[i][j] = (vector){0};
    if (add)
#pragma GCC unroll 6
        for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
            for (int j = 0; j < PANEL_VECTORS; j++)
                sum[i][j] = *(const stored_vector *)(c + (size_t)i * c_row + (size_t)j * VECTOR_LANES);
    for (size_t l = 0; l < units; l++) {
        vector right[PANEL_VECTORS];
#pragma GCC unroll 4
        for (int j = 0; j < PANEL_VECTORS; j++)
            right[j] = *(const stored_vector *)(panel + l * PANEL + (size_t)j * VECTOR_LANES);
#pragma GCC unroll 6
        for (int i = 0; i < rows; i++) {
            const vector left = SPREAD(a[(size_t)i * a_row + l * a_step]);
#pragma GCC unroll 4
            for (int j = 0; j < PANEL_VECTORS; j++)
                sum[i][j] = MULTIPLY_ADD(left, right[j], sum[i][j]);
        }
    }
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (int j = 0; j < PANEL_VECTORS; j++)
            *(stored_vector *)(c + (size_t)i * c_row + (size_t)j * VECTOR_LANES) = sum[i][j];
}

/* C [rows, PANEL] (+)= rows of A, at most STRIP, times a panel of `units`. */
static void strip(real *c, size_t c_row, struct strips a, const unit *panel, size_t units, size_t rows, bool add)
{
    switch (rows) {
    case 1:
        micro_kernel(c, c_row, a.at, a.row, a.step, panel, units, 1, add);
        break;
    case 2:
        micro_kernel(c, c_row, a.at, a.row, a.step, panel, units, 2, add);
        break;
    case 3:
        micro_kernel(c, c_row, a.at, a.row, a.step, panel, units, 3, add);
        break;
    case 4:
        micro_kernel(c, c_row, a.at, a.row, a.step, panel, units, 4, add);
        break;
    case 5:
        micro_kernel(c, c_row, a.at, a.row, a.step, panel, units, 5, add);
        break;
    default:
        micro_kernel(c, c_row, a.at, a.row, a.step, panel, units, STRIP, add);
    }
}

#endif

#if LEVEL >= LEVEL_AVX512 && AS_STORED
/* Transposes 16 rows of 16 units in registers, and stores the columns, `column` units apart. */
static inline __attribute__((always_inline)) void transpose_rows(unit *out, size_t column, __m512i a[16])
{
    __m512i b[16];
#pragma GCC unroll 8
    for (int i = 0; i < 16; i += 2) {
        b[i] = _mm512_unpacklo_epi32(a[i], a[i + 1]);
        b[i + 1] = _mm512_unpackhi_epi32(a[i], a[i + 1]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 16; i += 4)
#pragma GCC unroll 2
        for (int j = 0; j < 2; j++) {
            a[i + 2 * j] = _mm512_unpacklo_epi64(b[i + j], b[i + j + 2]);
            a[i + 2 * j + 1] = _mm512_unpackhi_epi64(b[i + j], b[i + j + 2]);
        }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) { /* regroups the 128-bit quarters into whole columns */
        const __m512i low0 = _mm512_shuffle_i32x4(a[i], a[i + 4], 0x88);
        const __m512i high0 = _mm512_shuffle_i32x4(a[i], a[i + 4], 0xdd);
        const __m512i low1 = _mm512_shuffle_i32x4(a[i + 8], a[i + 12], 0x88);
        const __m512i high1 = _mm512_shuffle_i32x4(a[i + 8], a[i + 12], 0xdd);
        _mm512_storeu_si512(out + (size_t)i * column, _mm512_shuffle_i32x4(low0, low1, 0x88));
        _mm512_storeu_si512(out + (size_t)(i + 4) * column, _mm512_shuffle_i32x4(high0, high1, 0x88));
        _mm512_storeu_si512(out + (size_t)(i + 8) * column, _mm512_shuffle_i32x4(low0, low1, 0xdd));
        _mm512_storeu_si512(out + (size_t)(i + 12) * column, _mm512_shuffle_i32x4(high0, high1, 0xdd));
    }
}

/* Transposes 16 rows of 16 units: rows are `row` numbers apart in `in`, columns `column` units apart in `out`. */
static inline void transpose_square(unit *out, size_t column, const storage *in, size_t row)
{
    __m512i a[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++)
        a[i] = _mm512_loadu_si512(in + (size_t)i * row);
    transpose_rows(out, column, a);
}
#endif

/* Packs a rectangle as pack_panels does, number by number. */
static void pack_corner(unit *out, size_t width, const storage *x, size_t x_step, size_t x_column, size_t k,
                        size_t first_unit, size_t first_column, size_t columns)
{
    operand *to = (operand *)out;
    for (size_t l = first_unit * PER_UNIT; l < units_of(k) * PER_UNIT; l++)
        for (size_t j = first_column; j < columns; j++)
            to[(l / PER_UNIT * width + j) * PER_UNIT + l % PER_UNIT] =
                l < k ? TO_OPERAND(x[l * x_step + j * x_column]) : 0;
}

/* Packs a unit of each of `count` adjacent columns; x_step as in pack_panels. */
static inline __attribute__((always_inline)) void pack_unit(unit *to, const storage *from, size_t x_step, size_t count)
{
    (void)x_step; /* used with DOT only */
#pragma omp simd
    for (size_t j = 0; j < count; j++)
#if DOT
        to[j] = (uint32_t)from[j] | (uint32_t)from[x_step + j] << 16;
#else
        to[j] = LOAD(from[j]);
#endif
}

/* Packs X [k, columns] so that the numbers of a step of k are adjacent, PER_UNIT steps to a unit, `width` columns at a
 * time: out [columns / width][units][width], padded with zeros. X(l, j) = x[l * x_step + j * x_column]; one of the
 * strides is 1. */
static void pack_panels(unit *out, size_t width, const storage *x, size_t x_step, size_t x_column, size_t k,
                        size_t columns)
{
    const size_t whole = k / PER_UNIT, units = units_of(k);
    size_t done = 0; /* units */
    for (; done < whole && x_column == 1; done++) {
        const storage *from = x + done * PER_UNIT * x_step;
        for (size_t i = 0; i < PER_UNIT; i++) /* rows lie in different pages, across which hardware does not prefetch */
            for (size_t byte = 0; byte < columns * sizeof *from; byte += 64)
                __builtin_prefetch((const char *)(from + (AHEAD * PER_UNIT + i) * x_step) + byte);
        for (size_t first = 0; first < columns; first += width) {
            unit *to = out + first * units + done * width;
            if (width == STRIP && columns - first >= STRIP) /* a constant count needs no loop */
                pack_unit(to, from + first, x_step, STRIP);
            else
                pack_unit(to, from + first, x_step, smaller(width, columns - first));
        }
    }
    for (size_t first = 0; first < columns; first += width) {
        const storage *from = x + first * x_column;
        unit *to = out + first * units;
        const size_t count = smaller(width, columns - first);
        size_t transposed = done;
#if LEVEL >= LEVEL_AVX512 && AS_STORED
        const size_t squares = count / 16 * 16;
        for (; transposed + 16 <= whole && x_column != 1; transposed += 16)
            for (size_t j = 0; j < squares; j += 16)
                transpose_square(to + transposed * width + j, width, from + transposed * PER_UNIT + j * x_column,
                                 x_column);
        pack_corner(to, width, from, x_step, x_column, transposed * PER_UNIT, done, squares, count);
#endif
        pack_corner(to, width, from, x_step, x_column, k, transposed, 0, count);
        for (size_t l = 0; l < units && count < width; l++)
            memset(to + l * width + count, 0, (width - count) * sizeof *to);
    }
}

/* out [rows, units] = X [rows, k], padded with zeros; rows of x are x_row apart. */
static void pack_rows(unit *out, const storage *x, size_t x_row, size_t rows, size_t k)
{
    const size_t wide = units_of(k) * PER_UNIT;
    for (size_t i = 0; i < rows; i++) {
        operand *to = (operand *)out + i * wide;
#pragma omp simd
        for (size_t l = 0; l < k; l++)
            to[l] = TO_OPERAND(x[i * x_row + l]);
        for (size_t l = k; l < wide; l++)
            to[l] = 0;
    }
}

#if TILES
/* 32 rows of 16 columns of X, the numbers of a column in pairs, as a tile of A; `step`: from one row to the next. */
static inline void pack_tile(unit *out, const storage *x, size_t step)
{
    __m512i pairs[TILE_ROWS];
#pragma GCC unroll 16
    for (size_t i = 0; i < TILE_ROWS; i++) {
        const __m512i first = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)(x + 2 * i * step)));
        const __m512i second = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)(x + (2 * i + 1) * step)));
        pairs[i] = _mm512_or_si512(first, _mm512_slli_epi32(second, 16));
    }
    transpose_rows(out, STEP_UNITS, pairs);
}
#endif

/* Packs the columns of X [k, columns], whose rows are `step` apart, as rows of A. `out` has the whole strips of them
 * times units_of(k) units. */
static struct strips pack_columns(unit *out, const storage *x, size_t step, size_t k, size_t columns)
{
    const size_t units = units_of(k);
#if TILES
    for (size_t l = 0; l < units; l += STEP_UNITS)
        for (size_t j = 0; j < columns; j += TILE_ROWS) {
            const storage *from = x + l * PER_UNIT * step + j;
            unit *to = out + j / STRIP * STRIP * units + l * STRIP + j % STRIP * STEP_UNITS;
            const size_t rows = smaller(STEP_UNITS * PER_UNIT, k - l * PER_UNIT);
            const size_t count = smaller(TILE_ROWS, columns - j);
            if (rows == STEP_UNITS * PER_UNIT && count == TILE_ROWS) {
                pack_tile(to, from, step);
                continue;
            }
            memset(to, 0, TILE_ROWS * STEP_UNITS * sizeof *to);
            for (size_t i = 0; i < count; i++)
                for (size_t row = 0; row < rows; row++)
                    ((operand *)(to + i * STEP_UNITS))[row] = from[row * step + i];
        }
    return (struct strips){out, STEP_UNITS, STRIP * STEP_UNITS, STRIP * units};
#else
    pack_panels(out, STRIP, x, step, 1, k, columns);
    return (struct strips){out, 1, STRIP, STRIP * units};
#endif
}

/* The columns of X [units, columns], whole units whose rows are `row` units apart, as rows of A: in place, or packed in
 * `out` as by pack_columns. For tiles X has whole steps of units, and columns padded to STRIP. */
static struct strips strips_of_columns(unit *out, const unit *x, size_t row, size_t units, size_t columns)
{
#if TILES
    for (size_t l = 0; l < units; l += STEP_UNITS)
        for (size_t j = 0; j < columns; j += TILE_ROWS)
            transpose_square(out + j / STRIP * STRIP * units + l * STRIP + j % STRIP * STEP_UNITS, STEP_UNITS,
                             (const storage *)(x + l * row + j), row * PER_UNIT);
    return (struct strips){out, STEP_UNITS, STRIP * STEP_UNITS, STRIP * units};
#else
    (void)out, (void)units, (void)columns;
    return (struct strips){x, 1, row, STRIP};
#endif
}

/* Rows of units that lie `row` units apart, as rows of A. */
static struct strips strips_of_rows(const unit *x, size_t row)
{
    return (struct strips){x, row, STEP_UNITS, STRIP * row};
}
