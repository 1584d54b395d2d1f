/* Our own decoder of a bzip2 block. It decodes what encoders write. For an unusual or invalid block it returns
 * BZIP2_DAMAGED; a caller that has libbz2 then asks libbz2 (pipeline/dump/bzip2.c). What it accepts, libbz2 decodes to
 * the same text.
 *
 *     bits ── head.c ──► tables, selectors
 *          ── symbols.h ─► runs    length and byte of every run of the last column      Huffman, move to front
 *             bz_rows.h ────► text    the column's permutation, followed from many places  Burrows-Wheeler
 *             unroll.h ──► output  runs of 4 to 259 equal bytes written out, CRC        run lengths
 *
 * Alphabets of up to 254 bytes are supported, so a symbol fits into a byte. */
#pragma once

#include "base/bz/bits.h"
#include "base/bz/bz_format.h"
#include "base/cpu.h"
#include "base/str.h"

#include <stdint.h>

#define BLOCK_BYTES_MAX 900000u /* of text, before its runs are expanded */
#define CODE_BITS_MAX   20
#define TABLES_MAX      6
#define GROUP_SYMBOLS   50
#define SELECTORS_MAX   18002u /* a header may declare more, but a block cannot use them */
#define SYMBOLS_MAX     256u
#define PAIR_BITS       11 /* bits that index the table of pairs */
#define RUNS_MAX        (SELECTORS_MAX * GROUP_SYMBOLS + 1)
#define ALPHABET_MAX    258u  /* of libbz2: two run digits, 255 bytes, the end */
#define STARTS_MAX      1024u /* places from which bz_rows.h follows the text */
#define LANES           20
#define LANE_BYTES      (1375u * 64) /* an odd number of cache lines: lanes use different sets; twice what text needs */

/* Bits of the longest block: magic, CRC, randomised, origin; bytes in use; counts; selectors, up to 6 bits each,
 * including those that are never used; for each code a first length and for each symbol steps of 2 bits and a 0;
 * symbols. */
#define BLOCK_BITS_MAX                                                                                                 \
    (48 + 32 + 1 + 24 + 16 * 17 + 3 + 15 + 32767 * 6 +                                                                 \
     TABLES_MAX * (5 + ALPHABET_MAX * (2 * (CODE_BITS_MAX - 1) + 1)) + SELECTORS_MAX * GROUP_SYMBOLS * CODE_BITS_MAX)
_Static_assert(BLOCK_BITS_MAX / 8 + (800u << 10) < BZIP2_BLOCK_BYTES_MAX, "the longest block is read whole");

/* One Huffman code. pairs[] is indexed by the next PAIR_BITS bits and gives the one or two symbols at their start:
 *
 *     bits of all 0…5 │ bits of the first 6…11 │ symbols, the first one lowest 14…29 │ how many symbols 30…31
 *
 * An entry is 0 if the first code is longer than PAIR_BITS, ends the block, or is invalid. Then: align the code to the
 * left of CODE_BITS_MAX bits; its length n is the first whose limit[n] is above it; its symbol is by_code[code -
 * offset[n]]. */
#define PAIR_FIRST   6
#define PAIR_SYMBOLS 14
#define PAIR_COUNT   30
struct code {
    uint32_t pairs[1u << PAIR_BITS];
    uint32_t limit[CODE_BITS_MAX + 1];
    uint32_t offset[CODE_BITS_MAX + 1];
    uint8_t by_code[SYMBOLS_MAX];
};

/* Part of the text, decoded backwards from one starting row to the next. */
struct bz_stretch {
    uint32_t entry; /* of its first row; the row is marked in rows[] */
    uint32_t next;  /* the stretch that precedes it in the text */
    const uint8_t *bytes;
    size_t size;
};

/* For the CRC of bzip2: remainders modulo the polynomial 0x104c11db7, most significant bit first. */
struct crc_tables {
    uint32_t of_byte[8][256];      /* of a byte followed by n zero bytes (and four more) */
    uint64_t fold_1[2], fold_4[2]; /* of x^128 and x^192, of x^512 and x^576: for folding 16 and 64 bytes */
};

/* Memory for one block: 7.4 MB, of which text uses about 5. */
struct block_space {
    struct crc_tables crcs;
    struct code codes[TABLES_MAX];
    uint8_t selectors[SELECTORS_MAX];
    uint8_t bytes[256]; /* those in use, ascending */
    unsigned symbols;   /* two run digits, the bytes in use but one, the end */
    uint32_t selector_count, origin, crc;

    struct bz_stretch stretches[STARTS_MAX + 1];
    union { /* the runs are no longer needed when the text is written */
        uint32_t runs[RUNS_MAX + 64];
        struct {
            uint8_t lanes[LANES][LANE_BYTES];
            uint8_t text[BLOCK_BYTES_MAX + 256];
        };
    };
    size_t run_count;
    uint32_t rows[BLOCK_BYTES_MAX + 64];
    size_t size; /* of the text */
};

/* The stages that are compiled for every level. */
struct block_stages {
    enum bzip2_result (*symbols)(struct block_space *space, struct bits *in);
    enum bzip2_result (*rows)(struct block_space *space, size_t size_max);
    enum bzip2_result (*unroll)(const struct block_space *space, size_t text_max, struct buf *out);
    uint32_t (*crc)(const struct crc_tables *tables, const uint8_t *bytes, size_t size);
};
extern const struct block_stages block_stages_base, block_stages_avx2, block_stages_avx512;
const struct block_stages *block_stages(enum vector_level level);

void crc_fill(struct crc_tables *tables);
uint32_t crc_by_tables(const struct crc_tables *tables, const uint8_t *bytes, size_t size);
/* Without the inversions at both ends. */
uint32_t crc_more(const struct crc_tables *tables, uint32_t crc, const uint8_t *bytes, size_t size);

/* Reads the block's header: from after the magic to the end of the last code table. */
enum bzip2_result block_head(struct block_space *space, struct bits *in);
struct block_space *block_space_new(void); /* mem_free it */

/* Decodes a whole block, as bzip2_decode does; *end is the bit after the block. */
enum bzip2_result block_decode(struct block_space *space, const struct block_stages *stages, const uint8_t *bytes,
                               size_t size, uint64_t bit, uint32_t level, size_t text_max, struct buf *text,
                               uint64_t *end);
