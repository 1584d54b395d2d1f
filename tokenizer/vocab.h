/* A vocabulary: the pieces that words are cut into, in the order of their ids. On disk it is vocab.txt with one piece
 * per line. The id is the line's number from 0; a piece that starts with "##" continues a word.
 *
 * How a file is read (enum vocab_rules), as the two programs read it, except for the last rule below:
 *   - Lines end at LF. White_Space at a line's end is cut off, so CRLF is fine and so is a missing last LF. By Google's
 *     rules all that str.strip() takes is cut off, at both ends.
 *   - Of equal pieces the last line's id is used; the earlier ids exist, but no text gives them.
 *   - An empty line inside the file is a piece of no characters, which matches nothing; its id exists.
 *   - A byte order mark is not removed: it belongs to the first piece.
 *   - Text that is not UTF-8 is refused. By Google's rules the ill-formed bytes are dropped.
 *   - Empty lines at the end of the file are not pieces. By Google's rules they are. */
#pragma once

#include "base/error.h"
#include "base/str.h"
#include "tokenizer/added.h"
#include "tokenizer/unicode.h"

#include <stdbool.h>
#include <stdint.h>

#define VOCAB_PIECES_MAX      (1u << 20)
#define VOCAB_PIECE_BYTES_MAX (1u << 20)
#define VOCAB_FILE_BYTES_MAX  (256u << 20)

/* How its words are cut into pieces: the rows of tokenizer/kinds.h. */
#define VOCAB_KIND_LIST(ROW)        ROW(WORDPIECE, kind_wordpiece) ROW(BPE_BYTES, kind_bpe_bytes)
#define VOCAB_KIND_VALUE(name, row) VOCAB_##name,
enum vocab_kind { VOCAB_KIND_LIST(VOCAB_KIND_VALUE) };
#undef VOCAB_KIND_VALUE

/* What some pieces are for, whatever they are called. */
enum vocab_role { ROLE_PAD, ROLE_UNK, ROLE_CLS, ROLE_SEP, ROLE_MASK, ROLES };
#define VOCAB_NONE UINT32_MAX /* the id where no piece has the role */

/* The pieces that surround a text for a model, before it and after it. */
#define VOCAB_FRAME_MAX 8
struct vocab_frame {
    uint32_t ids[VOCAB_FRAME_MAX];
    size_t count;
};

struct vocab {
    struct str *pieces; /* [count], by id; views into `text`; a line end in a piece is spelled as vocab_spell does */
    uint32_t count;
    enum vocab_kind kind;
    union {
        struct {
            uint32_t pad, unk, cls, sep, mask;
        };
        uint32_t roles[ROLES]; /* the same, by enum vocab_role */
    };
    struct vocab_frame before, after; /* the pieces of class and separator, unless its files say otherwise */
    struct vocab_frame between;       /* two texts, the separator; none: the files say of pairs what no frames can */
    bool second_type;                 /* the second of two texts, and what is after it, has token type 1 */
    struct added_tokens added;        /* contents are views into added_text, or the pieces of their ids */
    char *added_text;
    struct bpe_rules *bpe; /* of kind VOCAB_BPE_BYTES, else NULL */
    uint64_t hash;         /* XXH3-64 of the bytes that vocab_write writes */
    char *text;            /* those bytes */
    size_t text_bytes;
};

enum vocab_rules {
    VOCAB_HF = PROFILE_HF,
    VOCAB_GOOGLE = PROFILE_GOOGLE,
    VOCAB_OWN, /* written by vocab_write: nothing is trimmed or dropped */
};

/* Opens vocab.txt. ERR_INPUT: not UTF-8, or one of [PAD] [UNK] [CLS] [SEP] [MASK] is missing (the message names it);
 * ERR_UNSAFE: more than VOCAB_PIECES_MAX lines, or a piece or the file is too long. Immutable afterwards. Close with
 * vocab_close. */
int vocab_read(struct vocab **out, const char *path, enum vocab_rules rules, struct error *err);

/* The same from pieces in memory (copied). A piece must not contain LF or end in White_Space. */
int vocab_from_pieces(struct vocab **vocab, const struct str *pieces, size_t count, struct error *err);
/* The same of any kind, with the pieces of the roles: VOCAB_NONE where there is none. Its `bpe` is NULL. */
struct vocab *vocab_make(enum vocab_kind kind, const struct str *pieces, size_t count, const uint32_t roles[ROLES]);

/* Whether texts have tokens beside the special ones. */
bool vocab_finds_tokens(const struct vocab *vocab);

/* The name of a role: "pad". ERR_UNSAFE, naming the role, unless every role has a piece of its own; `path` names the
 * vocabulary. */
const char *vocab_role_name(enum vocab_role role);
int vocab_need_roles(const struct vocab *vocab, const char *path, struct error *err);

/* A piece on one line: LF and CR become the letters that byte-level BPE has for them. Returns `piece` itself where it
 * has none, else a view into `scratch`. */
struct str vocab_spell(struct str piece, struct buf *scratch);

/* Appends what a reader sees of a piece. Of a byte-level BPE: its characters, and letters ("Ġ" for a blank) for bytes
 * that are none or that show nothing. */
void vocab_readable(const struct vocab *vocab, uint32_t id, struct buf *out);

/* Writes vocab.txt, one piece a line, each line ended by LF. */
int vocab_write(const struct vocab *vocab, const char *path, struct error *err);

/* A line without White_Space at its end, as Hugging Face's rules read it. */
struct str vocab_trim(struct str line);

/* The id of a piece (of equal ones the last); false where there is none. A linear search: for specials and tests. */
bool vocab_find(const struct vocab *vocab, struct str piece, uint32_t *id);

/* [count], by id: the piece is an added token that the model does not have. The caller frees it (mem_free). */
bool *vocab_outside(const struct vocab *vocab);

void vocab_close(struct vocab *vocab);                  /* NULL is fine */
static inline void vocab_close_at(struct vocab **vocab) /* for SCOPED */
{
    vocab_close(*vocab);
}
