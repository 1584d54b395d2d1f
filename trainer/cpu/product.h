/* Products of small matrices in `real`, in one thread: attention is made of them, and larger products where no library
 * has the type. A tile of 4 rows and TILE_VECTORS vectors stays in registers while k runs. Part of an instance
 * (each.h). */

#if LEVEL == 2
#define VECTOR_BYTES 64
#define TILE_VECTORS 4
#elif LEVEL == 1
#define VECTOR_BYTES 32
#define TILE_VECTORS 2
#else
#define VECTOR_BYTES 16
#define TILE_VECTORS 2
#endif
#define VECTOR_LANES (VECTOR_BYTES / sizeof(real))

/* May stand anywhere in an array of real. */
typedef real NAME(vector) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(real)), may_alias));

/* a * b + c in one rounding where the level has it; the compiler may not contract on its own (-ffp-contract=off). */
#if LEVEL == 2 && NUMBER != 64
#define MULTIPLY_ADD(a, b, c) (NAME(vector)) _mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c))
#elif LEVEL == 1 && NUMBER != 64
#define MULTIPLY_ADD(a, b, c) (NAME(vector)) _mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c))
#else
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#endif

/* C [4, vectors] (+)= A [4, k] B [k, vectors]; A(i, l) = a[i * a_row + l * a_column]. */
static inline __attribute__((always_inline)) void NAME(tile)(real *c, size_t c_row, const real *a, size_t a_row,
                                                             size_t a_column, const real *b, size_t b_row, size_t k,
                                                             const int vectors, bool add)
{
    NAME(vector) sum[TILE_ROWS][TILE_VECTORS];
#pragma GCC unroll 4
    for (int i = 0; i < TILE_ROWS; i++)
#pragma GCC unroll 4
        for (int j = 0; j < vectors; j++)
            sum[i][j] =
                add ? *(const NAME(vector) *)(c + (size_t)i * c_row + (size_t)j * VECTOR_LANES) : (NAME(vector)){0};
    for (size_t l = 0; l < k; l++) {
        NAME(vector) right[TILE_VECTORS];
#pragma GCC unroll 4
        for (int j = 0; j < vectors; j++)
            right[j] = *(const NAME(vector) *)(b + l * b_row + (size_t)j * VECTOR_LANES);
#pragma GCC unroll 4
        for (int i = 0; i < TILE_ROWS; i++) {
            const NAME(vector) left = a[(size_t)i * a_row + l * a_column] - (NAME(vector)){0};
#pragma GCC unroll 4
            for (int j = 0; j < vectors; j++)
                sum[i][j] = MULTIPLY_ADD(left, right[j], sum[i][j]);
        }
    }
#pragma GCC unroll 4
    for (int i = 0; i < TILE_ROWS; i++)
#pragma GCC unroll 4
        for (int j = 0; j < vectors; j++)
            *(NAME(vector) *)(c + (size_t)i * c_row + (size_t)j * VECTOR_LANES) = sum[i][j];
}

/* C [m, n] (+)= A [m, k] B [k, n]: m a multiple of TILE_ROWS, n of TILE_COLUMNS; rows of B and C are dense. */
static void NAME(small_product)(real *c, size_t c_row, const real *a, size_t a_row, size_t a_column, const real *b,
                                size_t b_row, size_t m, size_t n, size_t k, bool add)
{
    const size_t step = TILE_VECTORS * VECTOR_LANES;
    for (size_t j = 0; j < n; j += step)
        for (size_t i = 0; i < m; i += TILE_ROWS) {
            real *to = c + i * c_row + j;
            const real *left = a + i * a_row;
            switch (n - j < step ? (n - j) / VECTOR_LANES : TILE_VECTORS) {
            case 1:
                NAME(tile)(to, c_row, left, a_row, a_column, b + j, b_row, k, 1, add);
                break;
#if TILE_VECTORS > 2
            case 2:
                NAME(tile)(to, c_row, left, a_row, a_column, b + j, b_row, k, 2, add);
                break;
            case 3:
                NAME(tile)(to, c_row, left, a_row, a_column, b + j, b_row, k, 3, add);
                break;
#endif
            default:
                NAME(tile)(to, c_row, left, a_row, a_column, b + j, b_row, k, TILE_VECTORS, add);
            }
        }
}

/* out [tall, wide] = X [rows, columns] * scale, with zeros around it. X(i, j) = x[i * x_row + j * x_column], where one
 * of the strides is 1. Across the grain it goes a few columns at a time, so that both sides stay in the first cache. */
static void NAME(unpack)(real *out, size_t tall, size_t wide, const storage *x, size_t x_row, size_t x_column,
                         size_t rows, size_t columns, real scale)
{
    for (size_t first = 0; first < columns; first += TILE_COLUMNS) {
        const size_t count = smaller(TILE_COLUMNS, columns - first);
        for (size_t i = 0; i < rows; i++) {
            const storage *from = x + i * x_row + first * x_column;
            real *to = out + i * wide + first;
            if (x_column == 1 && count == TILE_COLUMNS)
                for (size_t j = 0; j < TILE_COLUMNS; j++)
                    to[j] = LOAD(from[j]) * scale;
            else
                for (size_t j = 0; j < count; j++)
                    to[j] = LOAD(from[j * x_column]) * scale;
        }
    }
    for (size_t i = 0; i < rows && columns < wide; i++)
        memset(out + i * wide + columns, 0, (wide - columns) * sizeof *out);
    memset(out + rows * wide, 0, (tall - rows) * wide * sizeof *out);
}

#undef VECTOR_BYTES
#undef VECTOR_LANES
#undef TILE_VECTORS
#undef MULTIPLY_ADD
