/* random_row with AVX2: four draws at a time. Defines the vector type for the loop in random_row.h. */
#define LANES          4
#define vector         __m256i
#define ALL(x)         _mm256_set1_epi64x(x)
#define RISING(x)      _mm256_add_epi64(_mm256_set1_epi64x(x), _mm256_set_epi64x(3, 2, 1, 0))
#define MULTIPLY(x, y) _mm256_mul_epu32(x, y)
#define UPPER(x)       _mm256_srli_epi64(x, 32)
#define XOR(x, y, z)   _mm256_xor_si256(_mm256_xor_si256(x, y), z)
#define EVEN(x)        _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(x, _mm256_set_epi32(0, 0, 0, 0, 6, 4, 2, 0)))
#define STORE(to, x)   _mm_storeu_si128((__m128i *)(void *)(to), EVEN(x))
#define RANDOM_ROW     random_row_avx2
#include "base/random_row.h"
