/* The verdict on a bzip2 file, block by block from its first bit. At the end of a block there is the next block, or the
 * end of a stream whose combined CRC matches. After that there is a new header, or zero bytes up to the end of the
 * file. */
#pragma once

#include "base/error.h"
#include "pipeline/dump/byte_source.h"
#include "pipeline/dump/dump.h"

#include <stdint.h>

/* Zeroed, it is at the beginning of a file; its user sets `salvage`, and releases `text`. */
struct chain {
    uint64_t bit; /* everything before it has been verified */
    uint32_t level, crc;
    bool padding;
    bool unsure;
    uint64_t lost;
    struct dump_head head; /* all up to here as in struct dump_state */
    bool salvage;          /* damage is skipped */
    uint64_t gap_bytes;    /* of the file, if the last call returned CHAIN_GAP */
    struct buf text;       /* of a block that is not in the piece */
};

/* The text of the next block that starts in the piece's window and has the right CRC. CHAIN_TEXT: *text is valid until
 * the next call; CHAIN_END: no further block starts there; < 0: ERR_INPUT, damage at a byte of the file. With salvage,
 * damage gives CHAIN_GAP once a block with the right CRC is found after it: text was lost, and the next call continues
 * with that block. */
enum { CHAIN_END = 0, CHAIN_TEXT = 1, CHAIN_GAP = 2 };
int chain_next(struct chain *chain, const struct byte_source *source, struct dump_piece *piece, struct str *text,
               struct error *err);
/* Advances to the next block without decoding it. CHAIN_TEXT: the chain's bit is its first; CHAIN_END; < 0. */
int chain_to_block(struct chain *chain, const struct byte_source *source, const struct dump_piece *piece,
                   struct error *err);
/* At the END piece, checks that the file may end here. 0, CHAIN_GAP, < 0. */
int chain_end(struct chain *chain, const struct byte_source *source, const struct dump_piece *piece, struct error *err);
