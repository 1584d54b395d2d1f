/* Reads vocab.txt: pieces by id, the ids of the specials, and a hash of the whole. The text is first normalised to what
 * vocab_write writes, and every piece is a view into it. So there is one allocation, and the hash is that of a file
 * that a user can compare. */
#include "tokenizer/vocab.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "tokenizer/bpe.h"

#include <assert.h>

/* What is trimmed from lines: White_Space and, by Google's rules, what Python also counts as white space. */
static bool is_space(uint32_t code_point, enum vocab_rules rules)
{
    if (code_point > ' ' && code_point < 0x7F)
        return false;
    /* The tables have some of these as deleted controls. */
    const bool control = code_point == 0x0B || code_point == 0x0C || code_point == 0x85 ||
                         (rules == VOCAB_GOOGLE && code_point >= 0x1C && code_point <= 0x1F);
    return control || unicode_letter(&unicode_hf, code_point)->kind == LETTER_SPACE;
}

static struct str trim(struct str line, enum vocab_rules rules)
{
    uint32_t code_point = 0;
    unsigned skip;
    while (line.size && rules != VOCAB_OWN) {
        size_t last = line.size - 1;
        while (last && ((unsigned char)line.data[last] & 0xC0) == 0x80)
            last--;
        if (!utf8_decode(line.data + last, line.size - last, &code_point, &skip) || !is_space(code_point, rules))
            break;
        line.size = last;
    }
    while (line.size && rules == VOCAB_GOOGLE) {
        const unsigned size = utf8_decode(line.data, line.size, &code_point, &skip);
        if (!is_space(code_point, rules))
            break;
        line = (struct str){line.data + size, line.size - size};
    }
    return line;
}

struct str vocab_trim(struct str line)
{
    return trim(line, VOCAB_HF);
}

bool vocab_find(const struct vocab *vocab, struct str piece, uint32_t *id)
{
    for (uint32_t i = vocab->count; i-- > 0;)
        if (str_equal(vocab->pieces[i], piece)) {
            *id = i;
            return true;
        }
    return false;
}

bool *vocab_outside(const struct vocab *vocab)
{
    bool *outside = mem_clear(vocab->count, sizeof *outside);
    for (size_t i = 0; i < vocab->added.count; i++)
        outside[vocab->added.items[i].id] = vocab->added.items[i].outside;
    return outside;
}

/* Finds BERT's specials; `path` may be NULL. */
static int find_specials(struct vocab *vocab, const char *path, struct error *err)
{
    static const struct str specials[ROLES] = {
        [ROLE_PAD] = STR("[PAD]"), [ROLE_UNK] = STR("[UNK]"),   [ROLE_CLS] = STR("[CLS]"),
        [ROLE_SEP] = STR("[SEP]"), [ROLE_MASK] = STR("[MASK]"),
    };
    for (size_t i = 0; i < ROLES; i++) {
        if (vocab_find(vocab, specials[i], &vocab->roles[i]))
            continue;
        fail_at(err, ERR_INPUT, path ? path : "", ERROR_NO_OFFSET, "the vocabulary has no piece %s", specials[i].data);
        if (vocab->count && str_starts(vocab->pieces[0], STR("\xEF\xBB\xBF")))
            return hint(err,
                        "the file begins with a byte order mark, which becomes part of its first piece: remove it");
        return hint(err, "it needs [PAD], [UNK], [CLS], [SEP] and [MASK], each on a line of its own");
    }
    return 0;
}

struct str vocab_spell(struct str piece, struct buf *scratch)
{
    buf_reset(scratch);
    buf_reserve(scratch, 2 * piece.size);
    for (size_t i = 0; i < piece.size; i++)
        if (piece.data[i] == '\n' || piece.data[i] == '\r')
            scratch->size += utf8_write(bpe_letter((unsigned char)piece.data[i]), scratch->data + scratch->size);
        else
            buf_add_byte(scratch, piece.data[i]);
    return scratch->size > piece.size ? buf_str(scratch) : piece;
}

bool vocab_finds_tokens(const struct vocab *vocab)
{
    for (size_t i = 0; i < vocab->added.count; i++)
        if (!vocab->added.items[i].special)
            return true;
    return false;
}

const char *vocab_role_name(enum vocab_role role)
{
    static const char *const names[ROLES] = {
        [ROLE_PAD] = "padding",   [ROLE_UNK] = "unknown", [ROLE_CLS] = "class",
        [ROLE_SEP] = "separator", [ROLE_MASK] = "mask",
    };
    return names[role];
}

int vocab_need_roles(const struct vocab *vocab, const char *path, struct error *err)
{
    static const enum vocab_role needed[] = {ROLE_PAD, ROLE_CLS, ROLE_SEP, ROLE_MASK};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        const uint32_t id = vocab->roles[needed[i]];
        if (id == VOCAB_NONE) {
            fail_at(err, ERR_UNSAFE, path, ERROR_NO_OFFSET, "this tokenizer has no %s token",
                    vocab_role_name(needed[i]));
            return hint(err, "pre-training needs a padding, a class, a separator and a mask token, each its own");
        }
        for (size_t k = 0; k < i; k++)
            if (vocab->roles[needed[k]] == id) {
                fail_at(err, ERR_UNSAFE, path, ERROR_NO_OFFSET, "this tokenizer has %.*s as its %s and its %s token",
                        (int)vocab->pieces[id].size, vocab->pieces[id].data, vocab_role_name(needed[k]),
                        vocab_role_name(needed[i]));
                return hint(err, "pre-training needs a padding, a class, a separator and a mask token, each its own");
            }
    }
    return 0;
}

void vocab_readable(const struct vocab *vocab, uint32_t id, struct buf *out)
{
    SCOPED(buf_release) struct buf bytes = {0};
    uint32_t code_point;
    unsigned skip;
    if (vocab->kind == VOCAB_WORDPIECE || !bpe_bytes(vocab->pieces[id], &bytes)) {
        buf_add_str(out, vocab->pieces[id]);
        return;
    }
    for (size_t at = 0; at < bytes.size;) {
        char letter[4];
        const unsigned size = utf8_decode(bytes.data + at, bytes.size - at, &code_point, &skip);
        if (size > 0 && code_point > ' ' && code_point != 0x7F) {
            buf_add(out, bytes.data + at, size);
            at += size;
            continue;
        }
        for (unsigned left = size > 0 ? size : skip; left > 0; left--)
            buf_add(out, letter, utf8_write(bpe_letter((unsigned char)bytes.data[at++]), letter));
    }
}

static void set_frames(struct vocab *vocab)
{
    vocab->before = (struct vocab_frame){{vocab->cls}, vocab->cls != VOCAB_NONE};
    vocab->after = (struct vocab_frame){{vocab->sep}, vocab->sep != VOCAB_NONE};
    vocab->between = vocab->after;
    vocab->second_type = true;
}

struct vocab *vocab_make(enum vocab_kind kind, const struct str *pieces, size_t count, const uint32_t roles[ROLES])
{
    assert(count <= VOCAB_PIECES_MAX);
    struct vocab *vocab = mem_clear(1, sizeof *vocab);
    for (size_t i = 0; i < count; i++) {
        assert(pieces[i].size <= VOCAB_PIECE_BYTES_MAX);
        vocab->text_bytes += pieces[i].size + 1;
    }
    vocab->pieces = mem_array(count, sizeof *vocab->pieces);
    vocab->count = (uint32_t)count;
    vocab->kind = kind;
    memcpy(vocab->roles, roles, sizeof vocab->roles);
    set_frames(vocab);
    vocab->text = mem_alloc(vocab->text_bytes);
    char *at = vocab->text;
    for (size_t i = 0; i < count; i++) {
        assert(pieces[i].size == 0 || !memchr(pieces[i].data, '\n', pieces[i].size));
        if (pieces[i].size)
            memcpy(at, pieces[i].data, pieces[i].size);
        vocab->pieces[i] = (struct str){at, pieces[i].size};
        at += pieces[i].size;
        *at++ = '\n';
    }
    assert(at == vocab->text + vocab->text_bytes);
    vocab->hash = hash64(vocab->text, vocab->text_bytes);
    return vocab;
}

/* `path` may be NULL. */
static int vocab_open(struct vocab **out, const struct str *pieces, size_t count, const char *path, struct error *err)
{
    struct vocab *vocab = vocab_make(VOCAB_WORDPIECE, pieces, count, (const uint32_t[ROLES]){0});
    if (find_specials(vocab, path, err) < 0) {
        vocab_close(vocab);
        return -1;
    }
    set_frames(vocab);
    *out = vocab;
    return 0;
}

int vocab_from_pieces(struct vocab **vocab, const struct str *pieces, size_t count, struct error *err)
{
    return vocab_open(vocab, pieces, count, NULL, err);
}

/* Cuts the file's text into trimmed lines; by Hugging Face's rules without the empty ones at its end. The caller frees
 * *lines. */
static int split_lines(struct str text, const char *path, enum vocab_rules rules, struct str **lines, size_t *count,
                       struct error *err)
{
    size_t capacity = 0;
    const char *const end = text.data + text.size;
    for (const char *at = text.data; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const struct str line = trim(str_range(at, newline ? newline : end), rules);
        if (line.size > VOCAB_PIECE_BYTES_MAX)
            return fail_at(err, ERR_UNSAFE, path, (uint64_t)(at - text.data), "a piece of more than %u bytes",
                           VOCAB_PIECE_BYTES_MAX);
        if (*count == VOCAB_PIECES_MAX)
            return fail_at(err, ERR_UNSAFE, path, (uint64_t)(at - text.data), "more than %u pieces", VOCAB_PIECES_MAX);
        *lines = mem_room(*lines, *count + 1, &capacity, sizeof **lines);
        (*lines)[(*count)++] = line;
        at = newline ? newline + 1 : end;
    }
    while (rules == VOCAB_HF && *count && (*lines)[*count - 1].size == 0)
        (*count)--;
    return 0;
}

/* The offset of the first ill-formed byte. */
static uint64_t first_bad_byte(struct str text)
{
    size_t at = 0;
    uint32_t code_point;
    unsigned skip;
    for (unsigned size; at < text.size; at += size)
        if (!(size = utf8_decode(text.data + at, text.size - at, &code_point, &skip)))
            break;
    return at;
}

int vocab_read(struct vocab **out, const char *path, enum vocab_rules rules, struct error *err)
{
    struct buf file = {0};
    struct str *lines = NULL;
    size_t count = 0;
    int result = file_read_all(path, VOCAB_FILE_BYTES_MAX, &file, err);
    if (result < 0)
        goto out;
    if (rules == VOCAB_GOOGLE) {
        file.size = utf8_repair(file.data, file.size, NULL);
    } else if (!utf8_valid(buf_str(&file))) {
        result = fail_at(err, ERR_INPUT, path, first_bad_byte(buf_str(&file)), "the vocabulary is not UTF-8");
        goto out;
    }
    result = split_lines(buf_str(&file), path, rules, &lines, &count, err);
    if (result < 0)
        goto out;
    result = vocab_open(out, lines, count, path, err);
out:
    mem_free(lines);
    buf_release(&file);
    return result;
}

int vocab_write(const struct vocab *vocab, const char *path, struct error *err)
{
    return file_write_all(path, vocab->text, vocab->text_bytes, err);
}

void vocab_close(struct vocab *vocab)
{
    if (!vocab)
        return;
    bpe_rules_close(vocab->bpe);
    mem_free(vocab->added.items);
    mem_free(vocab->added_text);
    mem_free(vocab->pieces);
    mem_free(vocab->text);
    mem_free(vocab);
}
