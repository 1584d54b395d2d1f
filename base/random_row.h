/* Inside base only: the loop of random_row for one vector level. The file that includes this defines the vector type,
 * which holds LANES numbers of 64 bits. Only the low 32 bits of each count; the product of two such numbers is what
 * Philox splits. The upper bits are garbage that no product reads. The scalar reference is in random.c. */
#include "base/philox.h"
#include "base/random.h"

#include <immintrin.h>
#include <stddef.h>
#include <string.h>

void RANDOM_ROW(const struct random_stream *, uint32_t, uint32_t, size_t, uint32_t *const[4]);

/* The four words of LANES consecutive draws. `keys` holds the keys of the rounds; they stay in memory, because there
 * are not enough registers. */
static inline void draw(const struct random_stream *stream, uint32_t index, uint32_t first,
                        const vector keys[PHILOX_ROUNDS][2], vector c[4])
{
    const vector multiply_0 = ALL(PHILOX_MULTIPLY_0), multiply_1 = ALL(PHILOX_MULTIPLY_1);
    vector c0 = ALL(stream->name[0]), c1 = ALL(stream->name[1]), c2 = ALL(index), c3 = RISING(first);
    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        const vector a = MULTIPLY(multiply_0, c0), b = MULTIPLY(multiply_1, c2);
        c0 = XOR(UPPER(b), c1, keys[round][0]);
        c1 = b;
        c2 = XOR(UPPER(a), c3, keys[round][1]);
        c3 = a;
    }
    c[0] = c0;
    c[1] = c1;
    c[2] = c2;
    c[3] = c3;
}

void RANDOM_ROW(const struct random_stream *stream, uint32_t index, uint32_t first, size_t count,
                uint32_t *const out[4])
{
    vector keys[PHILOX_ROUNDS][2];
    for (uint32_t round = 0; round < PHILOX_ROUNDS; round++) {
        keys[round][0] = ALL(stream->key[0] + round * PHILOX_WEYL_0);
        keys[round][1] = ALL(stream->key[1] + round * PHILOX_WEYL_1);
    }
    vector c[4];
    size_t from = 0;
    for (; count - from >= LANES; from += LANES) {
        draw(stream, index, first + (uint32_t)from, keys, c);
        STORE(out[0] + from, c[0]);
        STORE(out[1] + from, c[1]);
        STORE(out[2] + from, c[2]);
        STORE(out[3] + from, c[3]);
    }
    if (from == count)
        return;
    draw(stream, index, first + (uint32_t)from, keys, c);
    for (int word = 0; word < 4; word++) {
        uint32_t low[LANES];
        STORE(low, c[word]);
        memcpy(out[word] + from, low, (count - from) * sizeof *low);
    }
}
