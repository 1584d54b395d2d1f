/* One input file as a row of groups of records. Three steps of a belt, one piece (= window) per job:
 *
 *      ordered              parallel              ordered
 *     │ dump_read │ ─────► │ dump_decode │ ────► │ dump_cut │ ─► struct group (no, one or several per piece)
 *       bytes of window k    blocks found in it,   follows the chain of blocks from the file's first bit,
 *       (+ END piece)        decoded, a guess      cuts the text into records: the verdict
 *
 * Window k is the bytes [k·C, (k+1)·C) of the file; its text is that of the bzip2 blocks whose first bit lies in it
 * (of a plain file: its bytes). Group k holds the records whose first byte is in the text of window k. The last of
 * them mostly ends in a later window, so group k comes out of the piece in which it is complete: piece k if no record
 * is open at its end, else the piece in which the next record begins or the window ends with none open, at last the
 * END piece.
 *
 * One step may run for one piece while another runs for another piece. No call may run beside itself, but dump_decode
 * and dump_peek. */
#ifndef PIPELINE_DUMP_DUMP_H
#define PIPELINE_DUMP_DUMP_H

#include "base/error.h"
#include "base/sha256.h"
#include "base/str.h"
#include "pipeline/dump/bzip2.h"
#include "pipeline/dump/unpack.h"
#include "pipeline/page_parts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dump;

struct dump_options {
    enum input_kind kind;      /* what the file must hold; INPUT_SNIFF: whatever its content says */
    uint32_t file;             /* index of the input, for the groups */
    const char *name;          /* what messages call it; NULL: by its path */
    size_t window_bytes;       /* of a bzip2 file */
    size_t window_bytes_plain; /* of any other, and of the text of gzip, Zstandard and xz */
    size_t group_bytes_max;    /* a group that is longer is closed at the next record and goes on as its next part */
    size_t page_bytes_max;     /* a longer record is skipped and counted */
    size_t piece_bytes_max;    /* decoded text that dump_decode leaves in a piece; dump_cut decodes what is beyond */
    bool lines;                /* of text: every line is a record, not every document */
    bool salvage;              /* damage after the head is passed over and counted in the groups, not an error */
    const char *sha256;        /* 64 digits: the SHA-256 of the file, which dump_cut checks at its end; or NULL */
    /* What one window may expand to: more than both is ERR_UNSAFE. By window, so that the verdict does not depend on
     * where a reader began, and that much honest text before it does not help a bomb. */
    uint64_t ratio_max;      /* bytes of text per byte of the window so far */
    uint64_t ratio_text_min; /* as long as there is less text, any ratio is fine */
};
struct dump_options dump_defaults(void); /* the constants of parts.h, INPUT_SNIFF, file 0 */
#define RATIO_MAX      10000u
#define RATIO_TEXT_MIN 1000000000u

/* Opens `path` ("-": standard input), finds out by content what it is and reads its head up to the first record.
 * ERR_USAGE: cannot be opened. ERR_INPUT: empty, unrecognised, not of the kind asked for, without records, damaged at
 * its beginning. ERR_UNSAFE: a container that is not read here; the hint has the pipe to type. */
int dump_open(struct dump **dump, const char *path, const struct dump_options *options, struct error *err);
void dump_close(struct dump *dump);           /* NULL is fine */
bool dump_is_summed(const struct dump *dump); /* with options.sha256 */
/* As if it had been opened with options.lines. Before anything is read. */
void dump_take_lines(struct dump *dump);

enum input_kind dump_kind(const struct dump *dump);
enum container dump_container(const struct dump *dump);
const struct siteinfo *dump_siteinfo(const struct dump *dump); /* empty unless INPUT_WIKI; lives as long as the dump */
/* The first DUMP_HEAD_BYTES of text or JSON lines, or all of them; empty for a wiki. Lives as long as the dump. */
#define DUMP_HEAD_BYTES (256u << 10)
struct str dump_head(const struct dump *dump);
/* Of what windows are cut from: a file, or the text of one that is gzip, Zstandard or xz. 0: unknown (a pipe; such a
 * text that was not measured) */
uint64_t dump_bytes(const struct dump *dump);
uint64_t dump_stored_bytes(const struct dump *dump); /* size of the file, 0: unknown */
size_t dump_memory(const struct dump *dump);         /* that decoding gzip, Zstandard or xz takes; 0 of other inputs */
/* Makes dump_bytes and dump_windows known, of all but a pipe: decodes the file once where it has to. Before it is read,
 * or when it was. ERR_INPUT, ERR_STOPPED. */
int dump_measure(struct dump *dump, struct error *err);
uint64_t dump_windows(const struct dump *dump);    /* 0: unknown */
size_t dump_window_bytes(const struct dump *dump); /* C */

/* What a belt's job holds of a dump. A zeroed struct is ready to use; the buffers are used again. The fields are the
 * dump's business. */
struct dump_piece {
    uint64_t window;
    uint64_t from;              /* offset of bytes.data[0] in the file */
    size_t window_size;         /* bytes of the window: C, fewer in the last one, 0 in the END piece */
    bool end;                   /* the END piece: flushes the last group */
    bool last;                  /* nothing stands in the file after `bytes` */
    uint64_t hash;              /* XXH3 of the window's bytes */
    struct buf bytes;           /* the window and what was needed beyond its end */
    struct buf text;            /* decoded blocks end to end */
    struct bzip2_block *blocks; /* by start bit */
    size_t block_count, block_capacity;
    size_t next_block; /* cut's place among the blocks */
    size_t taken;      /* of a window that is no bzip2: bytes of it that cut has had */
    struct gap *gaps;  /* of such a window (salvage) */
    size_t gap_count, next_gap;
};
void piece_release(struct dump_piece *piece);

/* Windows are read in order, from 0 or dump_state's next_window (for dump_peek any, but not of a pipe). 1: filled; 0:
 * there is no such window any more, the piece is now the END piece; < 0: an error. */
int dump_read(struct dump *dump, uint64_t window, struct dump_piece *piece, struct error *err);
/* Pure but for reading on in the file. Damage is no error here: what cannot be decoded is left to dump_cut. */
int dump_decode(const struct dump *dump, struct dump_piece *piece, struct error *err);
/* 1: *out is a group, call again with the same piece. 0: the piece is used up; *out is a group, or empty (no records
 * and none skipped). Mostly a piece gives one group at one call: a second call waits for the first one's group to go
 * its way. < 0: ERR_INPUT, or ERR_UNSAFE for a bomb, with the byte; ERR_INPUT for another SHA-256 than options.sha256.
 * *out is the caller's: its memory is swapped, not copied. */
int dump_cut(struct dump *dump, struct dump_piece *piece, struct group *out, struct error *err);
void group_reset(struct group *group);
void group_release(struct group *group);

/* In place of dump_cut, for any window in any order: the records that lie whole in a decoded piece. Nothing is
 * verified and nothing of the dump changes, so it may run for several pieces at once. */
void dump_peek(const struct dump *dump, const struct dump_piece *piece, struct group *out);

/* A part of a file may be read by itself, from a window in its middle on. What stands before it is not known then: the
 * first block in it whose CRC holds is taken for true, and a record is taken to be open. What such a beginning saw, for
 * the verdict of dump_join. */
enum head_place {
    HEAD_TRUE,      /* not so: everything before is known */
    HEAD_SOUGHT,    /* no block yet */
    HEAD_INSIDE,    /* in the stream of the first block */
    HEAD_BEHIND,    /* after the end of that stream */
    HEAD_UNCHECKED, /* salvage: blocks of that stream were lost; or no bzip2 file */
};
struct dump_head {
    enum head_place place;
    uint64_t bit;         /* where the first block begins */
    uint64_t blocks;      /* of its stream, from there on */
    uint32_t level;       /* the least that allows them */
    uint32_t crc, stored; /* HEAD_BEHIND: their combined CRC, and what the stream says of all its blocks */
    bool guessed;         /* no tag has come yet, so that "open" is still a guess */
    bool doubt;           /* the first one was a <page> that began in a window before: of which group is not certain */
};

/* Where to go on when every group that has come out is safe: read next_window again, and exactly the groups that had
 * not come out will come. That is the window of the group that is still being filled, as it was when cut entered it,
 * or the window after the last piece if there is none. May be asked for when dump_cut has said 0. All of it is plain
 * numbers for a journal; all zero is the beginning. */
struct dump_state {
    uint64_t next_window;
    uint32_t next_part; /* parts of that window's group that are out already */
    uint64_t bit;       /* everything before this bit of the file has been verified; an item of the chain starts here */
    uint32_t level;     /* of the stream we are in, 1 to 9; 0: between streams */
    uint32_t crc;       /* combined CRC of its blocks so far */
    bool padding;       /* after the last stream: only zero bytes may follow */
    bool unsure;        /* salvage: blocks of this stream were lost, its combined CRC says nothing */
    uint64_t lost;      /* salvage: the bit from which on the file is damaged up to here; 0: it is not */
    bool open;          /* a record of an earlier group is open here: its end is passed over */
    uint32_t match;     /* the cutter's place inside a tag or line; see pages.h */
    bool closed;        /* </mediawiki> was the last of its kind */
    uint64_t hash;      /* dump_hash of the windows before */
    struct sha256 sum;  /* of the same bytes, where the file is checked by one; else zero */
    struct dump_head head;
};
void dump_state(const struct dump *dump, struct dump_state *state);
/* A dump opened with the same options. ERR_MISMATCH: the state cannot be one of this file. */
int dump_restore(struct dump *dump, const struct dump_state *state, struct error *err);
void dump_rewind(struct dump *dump); /* to the beginning; of a pipe only before it was read */

/* Parts. A part [a, b) gives the groups of its windows: cut goes on after b until they are settled, and what comes of
 * later windows is left out.
 *
 *     dump_guess(a) → dump_restore → … → dump_entry at b ─┐            the part before ended at a with the state `truth`:
 *                                                         └► dump_join(truth, a, entry at b) */
/* Can parts begin in its middle? Dumps of a wiki can, but not pipes, nor what is checked by a sum. */
bool dump_divides(const struct dump *dump);
void dump_guess(const struct dump *dump, uint64_t window, struct dump_state *state); /* window > 0 */
/* Have the groups of all windows before this one wholly come out, and is no tag left half read there? */
bool dump_settled(const struct dump *dump, uint64_t window);
/* As in struct dump_state, of what has been cut, where the tag began in a window before this one. */
bool dump_closed(const struct dump *dump, uint64_t window);
/* The state in which the next window is entered, whatever group is still being filled. When dump_cut has said 0. */
void dump_entry(const struct dump *dump, struct dump_state *state);
/* Does the part that began at `window` with a guess continue what ended there in `truth` (a dump_entry with HEAD_TRUE)?
 * 1: yes, and *end, its last dump_entry, is made true; `head` is what it saw. 0: no, or not certainly: it must be read
 * again from `truth`. Leaves the dump rewound. */
int dump_join(struct dump *dump, uint64_t window, const struct dump_state *truth, const struct dump_head *head,
              struct dump_state *end, struct error *err);

/* Hash of the file: the sum, mod 2^64, of XXH3(number of the window, XXH3(its bytes)) over all windows, as
 * little-endian words; so parts add up. Covers what has been cut: the whole file after the END piece. */
uint64_t dump_hash(const struct dump *dump);

#endif
