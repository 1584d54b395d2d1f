#include "tokenizer/word_starts.h"

#include "base/mem.h"
#include "tokenizer/bpe.h"

/* What a piece says about the words of a text: it begins one, goes on with one, or has bytes that have to be cut. */
enum piece_kind { PIECE_BEGINS, PIECE_GOES_ON, PIECE_BYTES };

struct word_starts {
    uint8_t *kinds;                      /* [pieces] enum piece_kind */
    size_t *ends;                        /* [pieces] where the bytes of a piece end in `bytes` */
    struct buf bytes;                    /* of all PIECE_BYTES */
    const struct split_pattern *pattern; /* NULL: there are none */
    uint8_t *facts;
};

struct word_starts *word_starts_open(const struct vocab *vocab)
{
    struct word_starts *words = mem_clear(1, sizeof *words);
    const struct bpe_rules *bpe = vocab->bpe;
    words->kinds = mem_clear(vocab->count, sizeof *words->kinds);
    words->ends = mem_clear(vocab->count, sizeof *words->ends);
    for (uint32_t id = 0; id < vocab->count; id++)
        if (!bpe)
            words->kinds[id] = str_starts(vocab->pieces[id], STR("##")) ? PIECE_GOES_ON : PIECE_BEGINS;
        else
            words->kinds[id] = id == bpe->unknown ? PIECE_BEGINS : PIECE_BYTES;
    for (size_t i = 0; bpe && i < vocab->added.count; i++)
        words->kinds[vocab->added.items[i].id] = PIECE_BEGINS;
    for (uint32_t id = 0; id < vocab->count; id++) {
        if (words->kinds[id] == PIECE_BYTES && !bpe_bytes(vocab->pieces[id], &words->bytes))
            words->kinds[id] = PIECE_BEGINS;
        words->ends[id] = words->bytes.size;
    }
    if (bpe) {
        words->pattern = bpe->pattern;
        words->facts = split_facts_open();
    }
    return words;
}

void word_starts_close(struct word_starts *words)
{
    if (!words)
        return;
    mem_free(words->kinds);
    mem_free(words->ends);
    mem_free(words->facts);
    buf_release(&words->bytes);
    mem_free(words);
}

static struct str bytes_of(const struct word_starts *words, uint32_t id)
{
    const size_t from = id > 0 ? words->ends[id - 1] : 0;
    return (struct str){words->bytes.data + from, words->ends[id] - from};
}

/* Makes letters of the bytes that are no part of a character. */
static void mend(struct buf *text)
{
    unsigned skip;
    for (size_t at = 0; at < text->size; at += skip) {
        at += utf8_good((struct str){text->data + at, text->size - at}, &skip);
        memset(text->data + at, 'x', skip);
    }
}

/* Marks ids that all have bytes. */
static void mark_text(const struct word_starts *words, const uint32_t *ids, size_t count, struct buf *text,
                      bool *starts)
{
    buf_reset(text);
    for (size_t i = 0; i < count; i++)
        buf_add_str(text, bytes_of(words, ids[i]));
    mend(text);
    const char *at = text->data, *const end = at + text->size;
    size_t word = 0, piece = 0; /* offsets of the next word and of piece i */
    for (size_t i = 0; i < count; piece += bytes_of(words, ids[i++]).size) {
        while (word < piece) {
            at = split_word(words->pattern, words->facts, at, end);
            word = (size_t)(at - text->data);
        }
        starts[i] = word == piece;
    }
}

void word_starts_mark(const struct word_starts *words, const uint32_t *ids, size_t count, bool *starts)
{
    struct buf text = {0};
    for (size_t i = 0, to; i < count; i = to) {
        to = i + 1;
        if (words->kinds[ids[i]] != PIECE_BYTES) {
            starts[i] = words->kinds[ids[i]] == PIECE_BEGINS;
            continue;
        }
        while (to < count && words->kinds[ids[to]] == PIECE_BYTES)
            to++;
        mark_text(words, ids + i, to - i, &text, starts + i);
    }
    buf_release(&text);
}
