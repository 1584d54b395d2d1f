/* The truth of a bzip2 file: block by block from the first bit on. The end of a block is the start of the next one,
 * or a stream's end whose combined CRC matches, then a new header, or zero bytes up to the end of the file. */
#ifndef PIPELINE_DUMP_CHAIN_H
#define PIPELINE_DUMP_CHAIN_H

#include "base/error.h"
#include "pipeline/dump/byte_source.h"
#include "pipeline/dump/dump.h"

#include <stdint.h>

struct chain {
    uint64_t bit; /* all before it has been verified */
    uint32_t level, crc;
    bool padding;
    bool unsure;
    uint64_t lost;
    struct dump_head head; /* these seven as in struct dump_state */
    bool salvage;          /* damage is passed over */
    uint64_t gap_bytes;    /* of the file, where the last call returned CHAIN_GAP */
    struct buf text;       /* of a block that the piece did not have */
};

/* The text of the next block that starts in the piece's window; its CRC holds. CHAIN_TEXT: *text is valid until the
 * next call; CHAIN_END: no more starts there; < 0: damage. With salvage, damage is CHAIN_GAP as soon as a block is
 * found after it whose CRC holds: text was lost, the next call goes on with that block. */
enum { CHAIN_END = 0, CHAIN_TEXT = 1, CHAIN_GAP = 2 };
int chain_next(struct chain *chain, const struct byte_source *source, struct dump_piece *piece, struct str *text,
               struct error *err);
/* The same as far as the next block, which is left: CHAIN_TEXT, the chain's bit is its first; CHAIN_END; < 0. */
int chain_to_block(struct chain *chain, const struct byte_source *source, const struct dump_piece *piece,
                   struct error *err);
/* At the END piece: may the file end here? 0, CHAIN_GAP, < 0. */
int chain_end(struct chain *chain, const struct byte_source *source, const struct dump_piece *piece, struct error *err);

#endif
