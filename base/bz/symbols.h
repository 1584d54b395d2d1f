/* Decodes the bits of a block's symbols to the runs of the last column. This is a template: the file of a level
 * (base.c, avx2.c, avx512.c) defines struct list, the move-to-front list of bytes:
 *
 *     list = list_open(memory, bytes)  the bytes in use, ascending
 *     list_step(list, symbol)          moves the byte at place symbol - 1 to the front (0 and 1 change nothing) and
 *                                      returns the first byte
 *
 * Symbols 0 and 1 are digits: n of them in a row, s0 s1 …, lengthen the run of the first byte by the sum of (s +
 * 1)·2^i. Any other symbol begins a run of length 1.
 *
 * There are two chains of dependences, bits → look-up → bits and list → list. To overlap them, the symbols of one group
 * of 50 are looked up while those of the previous group move their bytes. 24 look-ups of at most two symbols cannot
 * pass the end of the group, so only the few look-ups after them check for it. */
#pragma once

#include "base/bz/block.h"

#define INLINE         static inline __attribute__((always_inline))
#define SURE_LOOKUPS   24
#define LOOKUPS_A_FILL 4 /* of at most PAIR_BITS each: together fewer than BITS_FILLED */

/* The run that is being read. Lengths and weights are in units of 1 << 8, so that the byte fits below. They are stored
 * minus one unit, so that those of a new run are 0. */
struct running {
    uint32_t *run;
    uint64_t length, weight;
    uint64_t over; /* all weights so far ORed, for the check at the end */
};

#define RUN_UNIT ((uint64_t)1 << 8)
#define WEIGHT_MAX                                                                                                     \
    ((RUN_UNIT << 19) - RUN_UNIT) /* 20 digits: a run longer than any block, and 2 more fit into 32 bits */

/* Branch-free: whether a symbol is a digit is unpredictable. The asm hides the mask from gcc, which would otherwise
 * make a branch of it. */
INLINE void run_step(struct running *running, unsigned symbol, uint32_t front)
{
    uint64_t digit = 0 - (uint64_t)(symbol < 2);
    __asm__("" : "+r"(digit));
    running->run += 1 + (int64_t)digit;
    running->length = (running->length + ((running->weight + RUN_UNIT) << (symbol & 63))) & digit;
    running->weight = (2 * running->weight + RUN_UNIT) & digit;
    *running->run = (uint32_t)(running->length + RUN_UNIT + front);
}

INLINE void take_pair(struct list *list, struct running *running, const uint8_t *symbols)
{
    run_step(running, symbols[0], list_step(list, symbols[0]));
    run_step(running, symbols[1], list_step(list, symbols[1]));
    running->over |= running->weight;
}

/* Decodes a code that is not in the table of pairs: its symbol and, from bit 8 on, its length; 0 if it is invalid. */
__attribute__((noinline)) static uint32_t long_code(const struct code *code, uint32_t next)
{
    for (unsigned n = 1; n <= CODE_BITS_MAX; n++)
        if (next < code->limit[n])
            return code->by_code[(next >> (CODE_BITS_MAX - n)) - code->offset[n]] | n << 8;
    return 0;
}

/* Looks up one or two symbols. False: none, use long_code. The bits consumed are added to the lowest 6 bits of
 * *took. */
INLINE bool look_up(const uint32_t *pairs, struct bits *in, uint8_t **to, uint32_t *took)
{
    const uint32_t entry = pairs[in->word >> (64 - PAIR_BITS)];
    const uint16_t symbols = htole16((uint16_t)(entry >> PAIR_SYMBOLS));
    memcpy(*to, &symbols, 2);
    in->word <<= entry & 63;
    *took += entry;
    *to += entry >> PAIR_COUNT;
    return entry != 0;
}

/* The same near the end of a group. `single`: there is room for one symbol only. */
INLINE bool look_up_last(const uint32_t *pairs, struct bits *in, uint8_t **to, unsigned single)
{
    const uint32_t entry = pairs[in->word >> (64 - PAIR_BITS)];
    const uint16_t symbols = htole16((uint16_t)(entry >> PAIR_SYMBOLS));
    const unsigned bits = entry >> PAIR_FIRST * single & 63;
    memcpy(*to, &symbols, 2);
    in->word <<= bits;
    in->have -= bits;
    *to += ((entry >> PAIR_COUNT) + single) >> single;
    return entry != 0;
}

/* Decodes a symbol by long_code. False at the block's end, and if the bits are not a code. */
INLINE bool look_up_long(const struct code *code, struct bits *in, uint8_t **to, unsigned end,
                         enum bzip2_result *result)
{
    bits_fill(in);
    const uint32_t found = long_code(code, (uint32_t)(in->word >> (64 - CODE_BITS_MAX)));
    if (found == 0)
        *result = BZIP2_DAMAGED;
    if (found == 0 || (found & 255) == end) {
        in->have -= found >> 8;
        return false;
    }
    *(*to)++ = (uint8_t)found;
    in->word <<= found >> 8;
    in->have -= found >> 8;
    bits_fill(in);
    return true;
}

static enum bzip2_result decode_symbols(struct block_space *space, struct bits *from)
{
    uint8_t groups[2][GROUP_SYMBOLS + 2] = {0}; /* the symbols before the first group are dummy digits, and their run is
                                                 * discarded */
    struct list_memory memory;
    struct list list = list_open(&memory, space->bytes);
    struct running running = {.run = space->runs};
    struct bits in = *from;
    enum bzip2_result result = BZIP2_DONE;
    const unsigned end = space->symbols - 1;
    bool more = true;
    for (uint32_t group = 0; more; group++) {
        /* No selector is left, but no end symbol came; or the bits are zeros from beyond the end. */
        if (group == space->selector_count || in.next > in.size + 8) {
            result = group == space->selector_count ? BZIP2_DAMAGED : BZIP2_SHORT;
            break;
        }
        const struct code *code = &space->codes[space->selectors[group]];
        const uint32_t *pairs = code->pairs;
        __asm__("" : "+r"(pairs)); /* keep it in one register; gcc would add three numbers for each look-up */
        const uint8_t *before = groups[~group & 1], *const before_end = before + GROUP_SYMBOLS;
        uint8_t *to = groups[group & 1], *const last = to + GROUP_SYMBOLS - 1;
#define LOOK_UP_AND_TAKE                                                                                               \
    if (RARE(!look_up(pairs, &in, &to, &took))) {                                                                      \
        in.have -= took & 63;                                                                                          \
        took = 0;                                                                                                      \
        if (!(more = look_up_long(code, &in, &to, end, &result)))                                                      \
            break;                                                                                                     \
    }                                                                                                                  \
    take_pair(&list, &running, before);                                                                                \
    before += 2
        /* Look-ups that cannot pass the end of this group, each beside two moves of the group before. */
        for (unsigned looked_up = 0; looked_up < SURE_LOOKUPS; looked_up += LOOKUPS_A_FILL) {
            uint32_t took = 0;
            bits_fill(&in);
            LOOK_UP_AND_TAKE;
            LOOK_UP_AND_TAKE;
            LOOK_UP_AND_TAKE;
            LOOK_UP_AND_TAKE;
            in.have -= took & 63;
        }
#undef LOOK_UP_AND_TAKE
        /* The last of this group one by one, then the moves that the look-ups did not reach. */
        while (more && to <= last) {
            bits_fill(&in);
            if (RARE(!look_up_last(pairs, &in, &to, to == last)))
                more = look_up_long(code, &in, &to, end, &result);
        }
        for (; before < before_end; before += 2)
            take_pair(&list, &running, before);
        if (group == 0) { /* discard the dummy digits; the first run is of the first byte in use, and usually empty */
            running = (struct running){.run = space->runs, .length = 0 - RUN_UNIT};
            *running.run = 0;
        }
        /* After the end symbol no group follows whose look-ups could run in parallel with this one's moves. */
        for (const uint8_t *rest = groups[group & 1]; !more && rest < to; rest++) {
            run_step(&running, *rest, list_step(&list, *rest));
            running.over |= running.weight;
        }
    }
    *from = in;
    space->run_count = (size_t)(running.run - space->runs) + 1;
    return running.over > WEIGHT_MAX ? BZIP2_DAMAGED : result;
}
