/* random_row with AVX-512: eight draws at a time. Defines the vector type for the loop in random_row.h. */
#define LANES          8
#define vector         __m512i
#define ALL(x)         _mm512_set1_epi64(x)
#define RISING(x)      _mm512_add_epi64(_mm512_set1_epi64(x), _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0))
#define MULTIPLY(x, y) _mm512_mul_epu32(x, y)
#define UPPER(x)       _mm512_srli_epi64(x, 32)
#define XOR(x, y, z)   _mm512_ternarylogic_epi64(x, y, z, 0x96)
#define STORE(to, x)   _mm256_storeu_si256((__m256i *)(void *)(to), _mm512_cvtepi64_epi32(x))
#define RANDOM_ROW     random_row_avx512
#include "base/random_row.h"
