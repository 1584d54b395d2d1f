/* Counts what is wrong with a vocabulary's file or its pieces, and notes the first place of each fault. The tokenizer
 * itself judges the pieces: a piece can only come out of it if it passes through unchanged. */
#include "tokenizer/vocab_check.h"

#include "tokenizer/bpe.h"

#include <stdlib.h>

static void note(uint64_t *count, uint64_t *first, uint64_t line)
{
    if ((*count)++ == 0)
        *first = line;
}

struct line {
    struct str text;
    uint64_t number;
};

/* By bytes, then by place. */
static int compare_lines(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    const int order = str_compare(x->text, y->text);
    return order ? order : (x->number > y->number) - (x->number < y->number);
}

static struct str without_end(struct str line, struct vocab_defects *defects)
{
    if (line.size && line.data[line.size - 1] == '\r') {
        line.size--;
        note(&defects->crlf, &defects->first_crlf, defects->lines);
    }
    const struct str trimmed = vocab_trim(line);
    if (trimmed.size < line.size)
        note(&defects->spaced, &defects->first_spaced, defects->lines);
    return trimmed;
}

static bool has(const struct line *lines, size_t count, const char *piece)
{
    for (size_t i = 0; i < count; i++)
        if (str_equal(lines[i].text, str_of(piece)))
            return true;
    return false;
}

void vocab_inspect(struct str file, struct vocab_defects *defects)
{
    static const char *const specials[VOCAB_SPECIALS] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    *defects = (struct vocab_defects){.byte_order_mark = str_starts(file, STR("\xEF\xBB\xBF")),
                                      .no_final_newline = file.size && file.data[file.size - 1] != '\n'};
    struct line *lines = NULL;
    size_t count = 0, capacity = 0;
    const char *const end = file.size ? file.data + file.size : file.data;
    for (const char *at = file.data; at < end;) {
        const char *const newline = memchr(at, '\n', (size_t)(end - at));
        const char *const stop = newline ? newline : end;
        defects->lines++;
        if (!utf8_valid(str_range(at, stop)))
            note(&defects->ill_formed, &defects->first_ill_formed, defects->lines);
        const struct str text = without_end(str_range(at, stop), defects);
        if (text.size == 0)
            note(&defects->empty, &defects->first_empty, defects->lines);
        lines = mem_room(lines, count + 1, &capacity, sizeof *lines);
        if (text.size)
            lines[count++] = (struct line){text, defects->lines};
        at = newline ? newline + 1 : end;
    }
    for (size_t i = 0; i < VOCAB_SPECIALS; i++)
        if (!has(lines, count, specials[i]))
            defects->missing[defects->missing_count++] = specials[i];
    if (count)
        qsort(lines, count, sizeof *lines, compare_lines);
    for (size_t i = 0; i + 1 < count; i++)
        if (str_equal(lines[i].text, lines[i + 1].text) &&
            (defects->duplicates++ == 0 || lines[i].number < defects->first_duplicate))
            defects->first_duplicate = lines[i].number;
    mem_free(lines);
}

struct sight {
    struct str piece;
    size_t words;
    bool same;
};

static void look(void *context, struct str word)
{
    struct sight *sight = context;
    sight->words++;
    sight->same = str_equal(word, sight->piece);
}

/* Lower-case ASCII letters only: no option changes them, so the tokenizer need not be asked. */
static bool is_plain(struct str piece)
{
    size_t plain = 0;
    while (plain < piece.size && piece.data[plain] >= 'a' && piece.data[plain] <= 'z')
        plain++;
    return plain == piece.size;
}

/* False for pieces that are not judged: empty ones, and those in square brackets. Takes "##" off. */
static bool judged(struct str *piece)
{
    if (piece->size == 0 || (piece->size > 2 && piece->data[0] == '[' && piece->data[piece->size - 1] == ']'))
        return false;
    if (piece->size > 2 && str_starts(*piece, STR("##")))
        *piece = (struct str){piece->data + 2, piece->size - 2};
    return true;
}

static bool comes_out(struct tokenizer_state *state, struct str piece)
{
    struct sight sight = {.piece = piece};
    if (is_plain(piece))
        return true;
    tokenizer_words(state, piece, look, &sight);
    return sight.words == 1 && sight.same;
}

/* ---- byte-level BPE ---- */

static bool has_id(const struct ids *ids, uint32_t id)
{
    for (size_t i = 0; i < ids->count; i++)
        if (ids->data[i] == id)
            return true;
    return false;
}

/* A piece comes out of a text if it comes out of its own, because merges inside it do not depend on what is around it.
 * Some are cut off from a word only where a letter or a sign is next to them. */
static bool bytes_come_out(struct tokenizer_state *state, struct str bytes, uint32_t id)
{
    static const char *const around[][2] = {{"", ""}, {"a", ""}, {"!", ""}, {"1", ""}, {"", "a"}, {" ", ""}};
    struct buf text = {0};
    struct ids ids = {0};
    bool found = false;
    for (size_t i = 0; i < sizeof around / sizeof *around && !found; i++) {
        buf_reset(&text);
        buf_add_text(&text, around[i][0]);
        buf_add_str(&text, bytes);
        buf_add_text(&text, around[i][1]);
        ids.count = 0;
        tokenizer_ids(state, buf_str(&text), &ids);
        found = has_id(&ids, id);
    }
    buf_release(&text);
    ids_release(&ids);
    return found;
}

/* Parts of characters are no text: only the merges are asked about them. */
static bool part_comes_out(const struct bpe *bpe, struct bpe_scratch *scratch, struct str bytes, uint32_t id)
{
    struct ids ids = {0};
    bpe_word(bpe, scratch, bytes, &ids);
    const bool found = ids.count == 1 && ids.data[0] == id;
    ids_release(&ids);
    return found;
}

static void bytes_unreachable(const struct vocab *vocab, const struct tokenizer_options *options,
                              struct vocab_unreachable *found)
{
    struct tokenizer *tokenizer = tokenizer_open(vocab, options);
    struct tokenizer_state *state = tokenizer_state_open(tokenizer);
    struct bpe *bpe = bpe_open(vocab->bpe, vocab);
    struct bpe_scratch scratch = {0};
    struct buf bytes = {0};
    bool *const added = mem_clear(vocab->count, sizeof *added);
    for (size_t i = 0; i < vocab->added.count; i++)
        added[vocab->added.items[i].id] = true;
    for (uint32_t id = 0; id < vocab->count; id++) {
        buf_reset(&bytes);
        if (added[id] || vocab->pieces[id].size == 0)
            continue;
        found->pieces++;
        const bool spelled = bpe_bytes(vocab->pieces[id], &bytes);
        const struct str text = buf_str(&bytes);
        if (spelled && (utf8_valid(text) ? bytes_come_out(state, text, id) : part_comes_out(bpe, &scratch, text, id)))
            continue;
        if (found->unreachable++ == 0)
            found->first = id;
    }
    mem_free(added);
    buf_release(&bytes);
    bpe_scratch_release(&scratch);
    bpe_close(bpe);
    tokenizer_state_close(state);
    tokenizer_close(tokenizer);
}

void vocab_unreachable(const struct vocab *vocab, const struct tokenizer_options *options,
                       const struct tokenizer_options *other, struct vocab_unreachable *found)
{
    *found = (struct vocab_unreachable){0};
    if (vocab->kind == VOCAB_BPE_BYTES) {
        bytes_unreachable(vocab, options, found);
        return;
    }
    struct tokenizer *tokenizers[] = {tokenizer_open(NULL, options), tokenizer_open(NULL, other ? other : options)};
    struct tokenizer_state *states[] = {tokenizer_state_open(tokenizers[0]), tokenizer_state_open(tokenizers[1])};
    for (uint32_t i = 0; i < vocab->count; i++) {
        struct str piece = vocab->pieces[i];
        if (!judged(&piece))
            continue;
        found->pieces++;
        if (comes_out(states[0], piece))
            continue;
        found->unreachable++;
        const bool helped = other && comes_out(states[1], piece);
        if (found->unreachable == 1 || (helped && found->helped == 0))
            found->first = i;
        found->helped += helped;
    }
    for (int i = 0; i < 2; i++) {
        tokenizer_state_close(states[i]);
        tokenizer_close(tokenizers[i]);
    }
}
