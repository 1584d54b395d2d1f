/* The stages for AVX-512 with VBMI, which permutes the bytes of a whole register. */
#include "base/bz/block.h"
#include "base/bz/crc_fold.h"
#include "base/bz/moves.h"

#define NEAR 64 /* smaller symbols move a byte within the register; 5 of 1000 symbols do not */

struct list_memory {
    uint8_t bytes[256]; /* from place NEAR - 1 on */
    _Alignas(64) uint8_t moves[NEAR][NEAR];
};

struct list {
    __m512i near;
    struct list_memory *memory;
};

static inline struct list list_open(struct list_memory *memory, const uint8_t bytes[256])
{
    for (unsigned symbol = 0; symbol < NEAR; symbol++)
        moves_of(symbol, NEAR, memory->moves[symbol]);
    memcpy(memory->bytes, bytes, 256);
    return (struct list){_mm512_loadu_si512(bytes), memory};
}

static inline uint32_t first_byte(__m512i bytes)
{
    return (uint32_t)_mm_cvtsi128_si32(_mm512_castsi512_si128(bytes)) & 255;
}

static inline __attribute__((always_inline)) uint32_t list_step(struct list *list, unsigned symbol)
{
    struct list_memory *memory = list->memory;
    if (RARE(symbol >= NEAR)) { /* rotate the last near byte to the front, then swap it for the far one */
        list->near = _mm512_permutexvar_epi8(_mm512_load_si512(memory->moves[NEAR - 1]), list->near);
        const uint8_t front = moves_far(memory->bytes, NEAR - 1, symbol, (uint8_t)first_byte(list->near));
        list->near = _mm512_mask_set1_epi8(list->near, 1, (char)front);
        return front;
    }
    list->near = _mm512_permutexvar_epi8(_mm512_load_si512(memory->moves[symbol]), list->near);
    return first_byte(list->near);
}

#include "base/bz/bz_rows.h"
#include "base/bz/symbols.h"
#include "base/bz/unroll.h"

const struct block_stages block_stages_avx512 = {decode_symbols, decode_rows, unroll, crc_by_folding};
