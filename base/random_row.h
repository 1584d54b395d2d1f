/* Inside base only: the loop of random_row for a level with vectors. The file that includes this says what a vector is: it
 * holds LANES numbers of 64 bits, of which the low 32 count, because the product of two such numbers is what Philox takes
 * apart. What stands above is rubbish that no product reads. The twin that states what is computed is in random.c. */
#include "base/random.h"

#include <immintrin.h>
#include <stddef.h>

void RANDOM_ROW(const struct random_stream *, uint32_t, uint32_t, size_t, uint32_t *const[4]);

void RANDOM_ROW(const struct random_stream *stream, uint32_t index, uint32_t first, size_t count,
                uint32_t *const out[4])
{
    const vector multiply_0 = ALL(PHILOX_MULTIPLY_0), multiply_1 = ALL(PHILOX_MULTIPLY_1);
    for (size_t from = 0; from < count; from += LANES) {
        vector c0 = ALL(stream->name[0]), c1 = ALL(stream->name[1]), c2 = ALL(index);
        vector c3 = RISING(first + (uint32_t)from);
        uint32_t k0 = stream->key[0], k1 = stream->key[1];
        for (int round = 0; round < PHILOX_ROUNDS; round++) {
            const vector a = MULTIPLY(multiply_0, c0), b = MULTIPLY(multiply_1, c2);
            c0 = XOR(UPPER(b), c1, ALL(k0));
            c1 = b;
            c2 = XOR(UPPER(a), c3, ALL(k1));
            c3 = a;
            k0 += PHILOX_WEYL_0;
            k1 += PHILOX_WEYL_1;
        }
        const vector c[4] = {c0, c1, c2, c3};
        for (int word = 0; word < 4; word++) {
            uint32_t low[LANES];
            STORE(count - from < LANES ? low : out[word] + from, c[word]);
            for (size_t lane = 0; count - from < LANES && lane < count - from; lane++)
                out[word][from + lane] = low[lane];
        }
    }
}
