/* Reads the bits after a block's magic: its CRC, origin, bytes in use, selectors and Huffman codes, as tables.
 *
 *     CRC 32 │ randomised 1 │ origin 24 │ bytes in use 16 + 16·n │ codes 3 │ selectors 15 │ selectors, unary │ lengths
 *
 * An incomplete head is left to libbz2. So are over-subscribed codes, fewer than 2 or more than 6 codes, codes longer
 * than 20 bits, and randomised blocks (bzip2 has written none since 0.9.5, 1999). */
#include "base/bz/block.h"

static bool read_bytes_in_use(struct block_space *space, struct bits *in)
{
    unsigned count = 0;
    bits_fill(in);
    const uint32_t parts = bits_take(in, 16);
    for (unsigned part = 0; part < 16; part++) {
        if (!(parts >> (15 - part) & 1))
            continue;
        bits_fill(in);
        const uint32_t bytes = bits_take(in, 16);
        for (unsigned i = 0; i < 16; i++)
            if (bytes >> (15 - i) & 1)
                space->bytes[count++] = (uint8_t)(part * 16 + i);
    }
    space->symbols = count + 2;
    return count > 0 && space->symbols <= SYMBOLS_MAX;
}

/* A selector is coded as the position of its code in a move-to-front list: that many 1 bits, then a 0. The list is kept
 * as nibbles, the first entry lowest. */
static enum bzip2_result read_selectors(struct block_space *space, struct bits *in, unsigned codes, uint32_t count)
{
    uint32_t list = 0x543210;
    space->selector_count = count < SELECTORS_MAX ? count : SELECTORS_MAX;
    for (uint32_t i = 0; i < count; i++) {
        if (i % 8 == 0) {
            bits_fill(in);
            if (in->next > in->size + 8)
                return BZIP2_DAMAGED;
        }
        const unsigned place = (unsigned)__builtin_clzll(~in->word | 1);
        if (place >= codes)
            return BZIP2_DAMAGED;
        in->word <<= place + 1;
        in->have -= place + 1;
        const uint32_t code = list >> 4 * place & 15, before = (1u << 4 * place) - 1;
        list = (list & ~(before << 4 | 15)) | (list & before) << 4 | code;
        if (i < SELECTORS_MAX)
            space->selectors[i] = (uint8_t)code;
    }
    return BZIP2_DONE;
}

/* Each length is the previous one, changed by steps (bits 10: plus one, 11: minus one) until a 0 bit. */
static enum bzip2_result read_lengths(struct bits *in, unsigned symbols, uint8_t lengths[SYMBOLS_MAX])
{
    bits_fill(in);
    unsigned length = bits_take(in, 5);
    for (unsigned i = 0; i < symbols; i++) {
        for (;;) {
            bits_fill(in);
            if (in->next > in->size + 8)
                return BZIP2_DAMAGED;
            if (length < 1 || length > CODE_BITS_MAX)
                return BZIP2_DAMAGED;
            if (bits_take(in, 1) == 0)
                break;
            length = bits_take(in, 1) ? length - 1 : length + 1;
        }
        lengths[i] = (uint8_t)length;
    }
    return BZIP2_DONE;
}

/* The codes of one length are consecutive numbers, in the order of their symbols, and follow the shorter codes. */
static bool make_code(struct code *code, unsigned symbols, const uint8_t lengths[SYMBOLS_MAX])
{
    unsigned of_length[CODE_BITS_MAX + 1] = {0}, place[CODE_BITS_MAX + 1];
    for (unsigned i = 0; i < symbols; i++)
        of_length[lengths[i]]++;
    uint32_t next = 0; /* the next code, left-aligned in CODE_BITS_MAX bits */
    unsigned before = 0;
    for (unsigned n = 1; n <= CODE_BITS_MAX; n++) {
        code->offset[n] = (next >> (CODE_BITS_MAX - n)) - before;
        place[n] = before;
        before += of_length[n];
        next += of_length[n] << (CODE_BITS_MAX - n);
        code->limit[n] = next;
    }
    for (unsigned i = 0; i < symbols; i++)
        code->by_code[place[lengths[i]]++] = (uint8_t)i;
    /* Above that, one code would be a prefix of another (Kraft's inequality). */
    return next <= 1u << CODE_BITS_MAX;
}

/* First the entries of single symbols, which are in the order of their codes. Then a second symbol is added to every
 * entry that leaves room for it. */
static void make_pairs(struct code *code, unsigned symbols)
{
    uint32_t single[1u << PAIR_BITS];
    uint32_t at = 0;
    unsigned i = 0;
    for (unsigned n = 1; n <= PAIR_BITS; n++) {
        const uint32_t end = code->limit[n] >> (CODE_BITS_MAX - PAIR_BITS), step = 1u << (PAIR_BITS - n);
        for (; at < end; at += step, i++) {
            const uint32_t symbol = code->by_code[i];
            const uint32_t entry =
                symbol == symbols - 1 ? 0 : n | n << PAIR_FIRST | symbol << PAIR_SYMBOLS | 1u << PAIR_COUNT;
            for (uint32_t j = 0; j < step; j++)
                single[at + j] = entry;
        }
    }
    for (; at < 1u << PAIR_BITS; at++) /* longer codes, and what is no code */
        single[at] = 0;
    for (at = 0; at < 1u << PAIR_BITS; at++) {
        const uint32_t first = single[at], bits = first & 63;
        const uint32_t second = single[at << bits & ((1u << PAIR_BITS) - 1)], more = second & 63;
        const uint32_t both =
            first + more + (1u << PAIR_COUNT) + ((second >> PAIR_SYMBOLS & 255) << (PAIR_SYMBOLS + 8));
        code->pairs[at] = first && second && bits + more <= PAIR_BITS ? both : first;
    }
}

enum bzip2_result block_head(struct block_space *space, struct bits *in)
{
    bits_fill(in);
    space->crc = bits_take(in, 32);
    if (bits_take(in, 1))
        return BZIP2_DAMAGED; /* randomised */
    bits_fill(in);
    space->origin = bits_take(in, 24);
    if (!read_bytes_in_use(space, in))
        return BZIP2_DAMAGED;
    bits_fill(in);
    const unsigned codes = bits_take(in, 3);
    const uint32_t selectors = bits_take(in, 15);
    if (codes < 2 || codes > TABLES_MAX || selectors == 0)
        return BZIP2_DAMAGED;
    enum bzip2_result result = read_selectors(space, in, codes, selectors);
    for (unsigned i = 0; i < codes && result == BZIP2_DONE; i++) {
        uint8_t lengths[SYMBOLS_MAX];
        result = read_lengths(in, space->symbols, lengths);
        if (result == BZIP2_DONE && !make_code(&space->codes[i], space->symbols, lengths))
            return BZIP2_DAMAGED;
        if (result == BZIP2_DONE)
            make_pairs(&space->codes[i], space->symbols);
    }
    return result;
}
