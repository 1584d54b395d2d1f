/* One input file as a sequence of groups of records, by three steps of a belt with one piece (= window) per job:
 *
 *      ordered              parallel              ordered
 *     │ dump_read │ ─────► │ dump_decode │ ────► │ dump_cut │ ─► struct group (no, one or several per piece)
 *       bytes of window k    blocks found in it,   follows the chain of blocks from the file's first bit,
 *       (+ END piece)        decoded, a guess      cuts the text into records: the verdict
 *
 * Window k is the bytes [k·C, (k+1)·C) of the file. Its text is that of the bzip2 blocks whose first bit is in it (of a
 * plain file: its bytes). Group k holds the records whose first byte is in the text of window k. The last of them
 * usually ends in a later window, so group k comes out of the piece that completes it: piece k if no record is open at
 * its end, otherwise the piece in which the next record begins or which ends with no open record, or finally the END
 * piece.
 *
 * Different steps may run for different pieces at once. Calls of the same step must not run concurrently, except
 * dump_decode and dump_peek. */
#pragma once

#include "base/error.h"
#include "base/sha256.h"
#include "base/str.h"
#include "pipeline/dump/bzip2.h"
#include "pipeline/dump/encodings.h"
#include "pipeline/dump/unpack.h"
#include "pipeline/dump/well_formed.h"
#include "pipeline/parts/page_parts.h"
#include "shards/manifest.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dump;
struct members;
struct record_format;

struct dump_options {
    const struct record_format *const *formats; /* [SOURCE_KINDS] what inputs may hold; the first is NULL */
    enum source_kind kind;                      /* what the file must hold; SOURCE_UNKNOWN: recognised by content */
    uint32_t file;                              /* index of the input, for the groups */
    const char *name;                           /* for messages; NULL: the path */
    struct members *members; /* the input is a member of an archive, which outlives it; NULL: it is the file `path` */
    uint64_t member, member_bytes; /* its number, and the size that the archive states */
    size_t window_bytes;           /* of a bzip2 file */
    size_t window_bytes_plain;     /* of any other file, and of the text of gzip, Zstandard and xz */
    size_t group_bytes_max;        /* a longer group is closed at the next record, and continues as its next part */
    size_t page_bytes_max;         /* longer records are skipped and counted */
    size_t piece_bytes_max;        /* decoded text that dump_decode leaves in a piece; dump_cut decodes the rest */
    uint32_t blank_lines; /* of text: how many end a record; 0: every line is one; WHOLE_FILE: the file is one */
    bool salvage;         /* damage after the head is skipped and counted in the groups, instead of an error */
    struct encoding
        encoding;       /* of every kind of input; text that is not well-formed in it is ERR_UNSAFE, unless lossy */
    bool has_form;      /* of text: the user has said what its lines are, so none is refused as another format */
    bool journalled;    /* after dump_open a journal is kept: another encoding then needs --fresh */
    const char *sha256; /* 64 digits: the SHA-256 of the file, which dump_cut checks at its end; or NULL */
    /* The most that one window may expand to: exceeding both is ERR_UNSAFE. Applied per window, so that the verdict
     * does not depend on where a reader began, and honest text before a bomb does not help it. */
    uint64_t ratio_max;      /* bytes of text per byte of the window so far */
    uint64_t ratio_text_min; /* up to this much text any ratio is allowed */
};
/* The constants of page_parts.h, SOURCE_UNKNOWN, file 0. The formats are those of all input kinds. */
struct dump_options dump_defaults(const struct record_format *const *formats);
#define RATIO_MAX      10000u
#define RATIO_TEXT_MIN 1000000000u

/* Opens `path` ("-": standard input), recognises it by its content and reads its head up to the first record. 0; or
 * DUMP_BLANK, with the error (ERR_INPUT) and without a dump: it is empty, or nothing on it shows; DUMP_OTHER, the same:
 * it was refused because it is a file of another kind; else < 0.
 * ERR_USAGE: cannot be opened. ERR_INPUT: empty, unrecognised, not of the requested kind, without records, or damaged
 * at its beginning. ERR_UNSAFE: a container that we do not read, or text in another encoding; the hint says what to
 * type. */
#define DUMP_BLANK 1
#define DUMP_OTHER 2
int dump_open(struct dump **dump, const char *path, const struct dump_options *options, struct error *err);
void dump_close(struct dump *dump);           /* NULL is fine */
bool dump_is_summed(const struct dump *dump); /* options.sha256 was given */
/* Sets options.blank_lines after opening. Call it before anything is read. */
void dump_cut_at(struct dump *dump, uint32_t blank_lines);
/* 1 if the text has more than `bytes`, else 0; < 0: it cannot be read. Reads as much as it needs to know that; call it
 * before anything else is read. */
int dump_exceeds(struct dump *dump, uint64_t bytes, struct error *err);

enum source_kind dump_kind(const struct dump *dump);
enum container dump_container(const struct dump *dump);
const char *dump_format(const struct dump *dump); /* "CSV" of text that becomes JSON lines (converters.h); else NULL */
/* Its values are texts, whatever they hold: those of a table. */
bool dump_is_untyped(const struct dump *dump);
const struct siteinfo *dump_siteinfo(const struct dump *dump); /* empty unless a wiki's; lives as long as the dump */
/* The first DUMP_HEAD_BYTES of the text, or all if there are fewer; of a wiki, whose text has a head of its own, the
 * XML after the first <page>, as much of it as one block or window has. Lives until dump_let_head_go, which frees it.
 * */
#define DUMP_HEAD_BYTES (256u << 10)
struct str dump_head(const struct dump *dump);
void dump_let_head_go(struct dump *dump);
/* Closes the file until it is read (byte_source.h); of an input without options.sha256. */
void dump_park(struct dump *dump);
/* The size of what windows are cut from: a file, or the text of one that is gzip, Zstandard or xz. 0: unknown (a pipe,
 * or such text before it was measured). */
uint64_t dump_bytes(const struct dump *dump);
/* Of gzip, Zstandard or xz that was read in part: the size of all of its text, if the rest is like that part. Else
 * dump_bytes. */
uint64_t dump_text_guess(const struct dump *dump);
/* Decompressed bytes of an input, estimated for English if unknown; 0: a pipe. */
uint64_t dump_text_bytes(const struct dump *dump);
bool dump_is_made(const struct dump *dump);          /* its text is decompressed or converted from its first byte on */
uint64_t dump_stored_bytes(const struct dump *dump); /* size of the file, 0: unknown */
size_t dump_memory(const struct dump *dump);         /* for decoding gzip, Zstandard or xz; 0 for other inputs */
/* Makes dump_bytes and dump_windows known, except for a pipe; decodes the whole file if necessary. Call it before the
 * file is read, or after. ERR_INPUT, ERR_STOPPED. */
int dump_measure(struct dump *dump, struct error *err);
uint64_t dump_windows(const struct dump *dump);    /* 0: unknown */
size_t dump_window_bytes(const struct dump *dump); /* C */

/* The part of a belt's job that belongs to a dump. Ready to use when zeroed; the buffers are reused. The fields are
 * private to the dump. */
struct dump_piece {
    uint64_t window;
    uint64_t from;              /* offset of bytes.data[0] in the file */
    size_t window_size;         /* bytes of the window: C, fewer in the last, 0 in the END piece */
    bool end;                   /* the END piece: flushes the last group */
    bool last;                  /* the file ends with `bytes` */
    uint64_t hash;              /* XXH3 of the window's bytes */
    struct buf bytes;           /* the window and what was needed beyond its end */
    struct buf text;            /* the decoded blocks, one after the other */
    struct bzip2_block *blocks; /* sorted by start bit */
    size_t block_count, block_capacity;
    size_t next_block; /* index of the next block for cut */
    size_t taken;      /* of a window that is not bzip2: its bytes that cut has taken */
    struct gap *gaps;  /* of such a window (salvage) */
    size_t gap_count, next_gap;
};
void piece_release(struct dump_piece *piece);

/* Reads windows in order, from 0 or dump_state's next_window (for dump_peek in any order, but not from a pipe). 1:
 * filled; 0: the input has no such window, and the piece is the END piece; < 0: an error. */
int dump_read(struct dump *dump, uint64_t window, struct dump_piece *piece, struct error *err);
/* Decodes a piece. Pure except that it may read on in the file. Damage is not an error here: what cannot be decoded is
 * left to dump_cut. */
int dump_decode(const struct dump *dump, struct dump_piece *piece, struct error *err);
/* Cuts a piece into records. 1: *out is a group, call again with the same piece. 0: the piece is used up; *out is a
 * group, or empty (no records and none skipped). Usually one call gives the one group of a piece; if a piece completes
 * more, each call gives one. < 0: ERR_INPUT, or ERR_UNSAFE for a bomb or ill-formed text, with the byte; ERR_INPUT
 * also for a SHA-256 other than options.sha256. *out belongs to the caller: its memory is swapped, not copied. */
int dump_cut(struct dump *dump, struct dump_piece *piece, struct group *out, struct error *err);
void group_reset(struct group *group);
void group_release(struct group *group);

/* Instead of dump_cut, for any window in any order: the records that are completely in a decoded piece. Verifies
 * nothing but the encoding and changes nothing in the dump, so it may run for several pieces at once. *out is the
 * caller's, as for dump_cut. ERR_UNSAFE: ill-formed text. */
int dump_peek(const struct dump *dump, const struct dump_piece *piece, struct group *out, struct error *err);

/* A part of a file may be read by itself, beginning at a window in its middle. What precedes it is then unknown: the
 * first block in it whose CRC is right is trusted, and a record is assumed to be open. This is what such a beginning
 * saw, for dump_join to judge. */
enum head_place {
    HEAD_TRUE,      /* not a guess: everything before is known */
    HEAD_SOUGHT,    /* no block found yet */
    HEAD_INSIDE,    /* in the stream of the first block */
    HEAD_AFTER,     /* after the end of that stream */
    HEAD_UNCHECKED, /* salvage: blocks of that stream were lost; or not a bzip2 file */
};
struct dump_head {
    enum head_place place;
    uint64_t bit;         /* where the first block begins */
    uint64_t blocks;      /* of its stream, from that block on */
    uint32_t level;       /* the lowest level that allows them */
    uint32_t crc, stored; /* HEAD_AFTER: their combined CRC, and the CRC of all blocks that the stream states */
    bool guessed;         /* no tag was seen yet, so "open" is still a guess */
    bool doubt;           /* the first tag was a <page> that began in an earlier window, so its group is uncertain */
};

/* Where to continue if every group given so far is safe: reading next_window again gives exactly the remaining groups.
 * It is the state in which cut entered the window of the group that is still being filled, or the window after the last
 * piece if there is none. Available when dump_cut has returned 0. All fields are plain numbers for a journal; all zero
 * is the beginning. */
struct dump_state {
    uint64_t next_window;
    uint32_t next_part;      /* parts of that window's group that were given already */
    uint64_t bit;            /* everything before this bit is verified; an item of the chain starts here */
    uint32_t level;          /* of the current stream, 1 to 9; 0: between streams */
    uint32_t crc;            /* combined CRC of its blocks so far */
    bool padding;            /* after the last stream: only zero bytes may follow */
    bool unsure;             /* salvage: blocks of this stream were lost, so its combined CRC cannot be checked */
    uint64_t lost;           /* salvage: the file is damaged from this bit up to here; 0: it is not */
    bool open;               /* a record of an earlier group is open here: skip to its end */
    uint32_t match;          /* the position inside a tag or line; see cutter.h */
    bool closed;             /* </mediawiki> was the last tag of a wiki's beginning or end */
    uint64_t hash;           /* dump_hash of the windows before */
    struct sha256 sum;       /* of the same bytes, if options.sha256 was given; else zero */
    struct well_formed utf8; /* of text whose encoding is checked; else zero */
    struct dump_head head;
};
void dump_state(const struct dump *dump, struct dump_state *state);
/* For a dump opened with the same options. ERR_MISMATCH: the state cannot belong to this file; ERR_USAGE: it is a
 * pipe. */
int dump_restore(struct dump *dump, const struct dump_state *state, struct error *err);
void dump_rewind(struct dump *dump); /* to the beginning; of a pipe only before it was read */

/* Parts. A part [a, b) gives the groups of its windows: cut continues after b until they are settled, and groups of
 * later windows are left out.
 *
 *     dump_guess(a) → dump_restore → … → dump_entry at b ─┐            the part before ended at a with the state `truth`:
 *                                                         └► dump_join(truth, a, entry at b) */
/* True if parts can begin inside the file: its records are marked (cutter.h), and it is neither a pipe nor checked by a
 * sum. */
bool dump_divides(const struct dump *dump);
void dump_guess(const struct dump *dump, uint64_t window, struct dump_state *state); /* window > 0 */
/* True if all groups of the windows before this one were given, and no mark that began in them is incomplete. */
bool dump_settled(const struct dump *dump, uint64_t window);
/* As in struct dump_state, of what has been cut, if that tag began in a window before this one. */
bool dump_closed(const struct dump *dump, uint64_t window);
/* The state in which the next window is entered, even if a group is still being filled. Call it when dump_cut has
 * returned 0. */
void dump_entry(const struct dump *dump, struct dump_state *state);
/* Compares the part that began at `window` with a guess with what ended there in `truth` (a dump_entry with HEAD_TRUE);
 * `head` is what its beginning saw. 1: it continues that, and *end, its last dump_entry, is corrected. 0: it does not,
 * or not certainly, so it must be read again from `truth`. < 0: the file cannot be read. Leaves the dump rewound. */
int dump_join(struct dump *dump, uint64_t window, const struct dump_state *truth, const struct dump_head *head,
              struct dump_state *end, struct error *err);

/* Hash of the file: the sum, mod 2^64, of XXH3(number of the window, XXH3(its bytes)) over all windows, as
 * little-endian words, so that the hashes of parts add up. Covers what has been cut: the whole file after the END
 * piece. */
uint64_t dump_hash(const struct dump *dump);
