/* The stages for AVX2 and BMI2 (shifts by any register, products without carries). */
#include "base/bz/block.h"
#include "base/bz/crc_fold.h"
#include "base/bz/moves.h"

#define NEAR 32 /* smaller symbols move a byte within two registers; 3 of 100 symbols do not */

/* For each symbol: which old bytes the new bytes of a half come from, within the same half and from the other half; 128
 * gives 0. */
struct move {
    uint8_t low_of_low[16], low_of_high[16], high_of_low[16], high_of_high[16];
};

struct list_memory {
    uint8_t bytes[256]; /* from place NEAR - 1 on */
    _Alignas(64) struct move moves[NEAR];
};

struct list {
    __m128i low, high;
    struct list_memory *memory;
};

static inline __m128i half(const uint8_t *bytes)
{
    return _mm_loadu_si128((const __m128i *)(const void *)bytes);
}

static inline struct list list_open(struct list_memory *memory, const uint8_t bytes[256])
{
    for (unsigned symbol = 0; symbol < NEAR; symbol++) {
        uint8_t from[NEAR];
        moves_of(symbol, NEAR, from);
        for (unsigned i = 0; i < 16; i++) {
            memory->moves[symbol].low_of_low[i] = from[i] < 16 ? from[i] : 128;
            memory->moves[symbol].low_of_high[i] = from[i] < 16 ? 128 : (uint8_t)(from[i] - 16);
            memory->moves[symbol].high_of_low[i] = from[i + 16] < 16 ? from[i + 16] : 128;
            memory->moves[symbol].high_of_high[i] = from[i + 16] < 16 ? 128 : (uint8_t)(from[i + 16] - 16);
        }
    }
    memcpy(memory->bytes, bytes, 256);
    return (struct list){half(bytes), half(bytes + 16), memory};
}

static inline __attribute__((always_inline)) void list_move(struct list *list, unsigned symbol)
{
    const struct move *move = &list->memory->moves[symbol];
    const __m128i low = list->low, high = list->high;
    list->low =
        _mm_or_si128(_mm_shuffle_epi8(low, half(move->low_of_low)), _mm_shuffle_epi8(high, half(move->low_of_high)));
    list->high =
        _mm_or_si128(_mm_shuffle_epi8(low, half(move->high_of_low)), _mm_shuffle_epi8(high, half(move->high_of_high)));
}

static inline __attribute__((always_inline)) uint32_t list_step(struct list *list, unsigned symbol)
{
    if (RARE(symbol >= NEAR)) { /* rotate the last near byte to the front, then swap it for the far one */
        list_move(list, NEAR - 1);
        const uint8_t last = (uint8_t)_mm_cvtsi128_si32(list->low);
        const uint8_t front = moves_far(list->memory->bytes, NEAR - 1, symbol, last);
        list->low = _mm_insert_epi8(list->low, front, 0);
        return front;
    }
    list_move(list, symbol);
    return (uint32_t)_mm_cvtsi128_si32(list->low) & 255;
}

#include "base/bz/bz_rows.h"
#include "base/bz/symbols.h"
#include "base/bz/unroll.h"

const struct block_stages block_stages_avx2 = {decode_symbols, decode_rows, unroll, crc_by_folding};
