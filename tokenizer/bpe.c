/* Merging the pieces of a word. Most words are short: there, the ranks of all neighbours stand in an array, and each
 * step takes the least. A long word has a heap of neighbours instead, so that its time is n·log n. */
#include "tokenizer/bpe.h"

#include <assert.h>

#define SHORT_MAX 48 /* pieces */
#define NO_RANK   UINT32_MAX

struct pair {
    uint32_t left, right, rank, both; /* rank NO_RANK: an empty place */
};

struct bpe {
    uint32_t of_byte[256], unknown;
    bool fuse_unknown;
    struct pair *pairs; /* [pair_mask + 1], by hash of the two, then linear */
    size_t pair_mask;
    uint32_t *words; /* [word_mask + 1]: with ignore_merges, the ids of all pieces by hash of their bytes; else NULL */
    size_t word_mask;
    struct str *bytes; /* by id: what the piece stands for */
    struct buf text;
};

/* ---- letters of bytes ---- */

/* A byte that Latin-1 shows is its own letter; the others take the letters from U+0100 on, in order. */
static bool is_shown(unsigned byte)
{
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xFF && byte != 0xAD);
}

uint32_t bpe_letter(unsigned char byte)
{
    if (is_shown(byte))
        return byte;
    if (byte <= 0x20)
        return 0x100u + byte;
    return byte == 0xAD ? 0x143u : 0x100u + 33u + (byte - 0x7Fu);
}

bool bpe_bytes(struct str piece, struct buf *out)
{
    const size_t before = out->size;
    for (size_t at = 0; at < piece.size;) {
        uint32_t letter;
        unsigned skip;
        at += utf8_decode(piece.data + at, piece.size - at, &letter, &skip);
        const uint32_t byte = letter < 0x100   ? letter
                              : letter < 0x121 ? letter - 0x100
                              : letter < 0x143 ? letter - 0x121 + 0x7F
                                               : 0xAD;
        if (bpe_letter((unsigned char)byte) != letter) {
            out->size = before;
            return false;
        }
        buf_add_byte(out, (char)byte);
    }
    return true;
}

/* ---- tables ---- */

static inline size_t pair_hash(uint32_t left, uint32_t right)
{
    const uint64_t both = ((uint64_t)left << 32 | right) * 0x9E3779B97F4A7C15u;
    return (size_t)(both ^ both >> 32);
}

static inline const struct pair *pair_find(const struct bpe *bpe, uint32_t left, uint32_t right)
{
    for (size_t at = pair_hash(left, right);; at++) {
        const struct pair *pair = &bpe->pairs[at & bpe->pair_mask];
        if ((pair->left == left && pair->right == right) || pair->rank == NO_RANK)
            return pair;
    }
}

static size_t word_hash(struct str word)
{
    uint64_t hash = 0xCBF29CE484222325u; /* FNV-1a */
    for (size_t i = 0; i < word.size; i++)
        hash = (hash ^ (unsigned char)word.data[i]) * 0x100000001B3u;
    return (size_t)(hash ^ hash >> 29);
}

static size_t table_mask(size_t entries)
{
    size_t size = 2;
    while (size < 2 * entries + 1)
        size *= 2;
    return size - 1;
}

static void open_pairs(struct bpe *bpe, const struct bpe_rules *rules)
{
    bpe->pair_mask = table_mask(rules->merge_count);
    bpe->pairs = mem_array(bpe->pair_mask + 1, sizeof *bpe->pairs);
    for (size_t i = 0; i <= bpe->pair_mask; i++)
        bpe->pairs[i] = (struct pair){VOCAB_NONE, VOCAB_NONE, NO_RANK, 0};
    for (size_t rank = 0; rank < rules->merge_count; rank++) {
        const struct bpe_merge *merge = &rules->merges[rank];
        struct pair *pair = &bpe->pairs[pair_find(bpe, merge->left, merge->right) - bpe->pairs];
        *pair = (struct pair){merge->left, merge->right, (uint32_t)rank, merge->both}; /* of equal ones the last */
    }
}

static void open_words(struct bpe *bpe, const struct vocab *vocab)
{
    bool *const outside = vocab_outside(vocab);
    bpe->word_mask = table_mask(vocab->count);
    bpe->words = mem_array(bpe->word_mask + 1, sizeof *bpe->words);
    memset(bpe->words, 0xFF, (bpe->word_mask + 1) * sizeof *bpe->words);
    bpe->bytes = mem_clear(vocab->count, sizeof *bpe->bytes);
    buf_reserve(&bpe->text, vocab->text_bytes);
    for (uint32_t id = 0; id < vocab->count; id++) {
        const size_t from = bpe->text.size;
        if (outside[id] || vocab->pieces[id].size == 0 || !bpe_bytes(vocab->pieces[id], &bpe->text))
            continue;
        bpe->bytes[id] = (struct str){bpe->text.data + from, bpe->text.size - from};
        size_t at = word_hash(bpe->bytes[id]);
        while (bpe->words[at & bpe->word_mask] != VOCAB_NONE)
            at++;
        bpe->words[at & bpe->word_mask] = id;
    }
    mem_free(outside);
}

struct bpe *bpe_open(const struct bpe_rules *rules, const struct vocab *vocab)
{
    struct bpe *bpe = mem_clear(1, sizeof *bpe);
    memcpy(bpe->of_byte, rules->of_byte, sizeof bpe->of_byte);
    bpe->unknown = rules->unknown;
    bpe->fuse_unknown = rules->fuse_unknown;
    open_pairs(bpe, rules);
    if (rules->ignore_merges)
        open_words(bpe, vocab);
    return bpe;
}

void bpe_close(struct bpe *bpe)
{
    if (!bpe)
        return;
    mem_free(bpe->pairs);
    mem_free(bpe->words);
    mem_free(bpe->bytes);
    buf_release(&bpe->text);
    mem_free(bpe);
}

void bpe_rules_close(struct bpe_rules *rules)
{
    if (!rules)
        return;
    mem_free(rules->merges);
    mem_free(rules);
}

/* ---- words ---- */

/* The pieces of a word's bytes. */
static size_t begin(const struct bpe *bpe, struct str word, uint32_t *pieces)
{
    size_t count = 0;
    bool known = true;
    for (size_t i = 0; i < word.size; i++) {
        uint32_t id = bpe->of_byte[(unsigned char)word.data[i]];
        const bool was_known = known;
        known = id != VOCAB_NONE;
        if (!known)
            id = was_known || !bpe->fuse_unknown ? bpe->unknown : VOCAB_NONE;
        if (id != VOCAB_NONE)
            pieces[count++] = id;
    }
    return count;
}

static void merge_short(const struct bpe *bpe, uint32_t *pieces, size_t count, struct ids *out)
{
    uint32_t ranks[SHORT_MAX], both[SHORT_MAX]; /* of a piece and the next */
    for (size_t i = 0; i + 1 < count; i++) {
        const struct pair *pair = pair_find(bpe, pieces[i], pieces[i + 1]);
        ranks[i] = pair->rank;
        both[i] = pair->both;
    }
    while (count > 1) {
        size_t least = 0;
        for (size_t i = 1; i + 1 < count; i++)
            if (ranks[i] < ranks[least])
                least = i;
        if (ranks[least] == NO_RANK)
            break;
        pieces[least] = both[least];
        count--;
        const size_t rest = count - least - 1; /* pieces after the new one */
        memmove(pieces + least + 1, pieces + least + 2, rest * sizeof *pieces);
        memmove(ranks + least, ranks + least + 1, rest * sizeof *ranks);
        memmove(both + least, both + least + 1, rest * sizeof *both);
        for (size_t i = least > 0 ? least - 1 : 0; i <= least && i + 1 < count; i++) {
            const struct pair *pair = pair_find(bpe, pieces[i], pieces[i + 1]);
            ranks[i] = pair->rank;
            both[i] = pair->both;
        }
    }
    ids_reserve(out, count);
    memcpy(out->data + out->count, pieces, count * sizeof *pieces);
    out->count += count;
}

/* Of a long word: a piece, in a list. */
struct link {
    uint32_t id;           /* VOCAB_NONE: it is part of the one before */
    uint32_t before, next; /* places; NO_RANK: none */
};

/* Neighbours that may be merged, if their rank is still this one. */
struct chance {
    uint32_t rank, at;
};

static bool is_before(const struct chance *a, const struct chance *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

static void push(struct chance *heap, size_t *count, struct chance chance)
{
    size_t at = (*count)++;
    for (; at > 0 && is_before(&chance, &heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = chance;
}

static struct chance pop(struct chance *heap, size_t *count)
{
    const struct chance top = heap[0], last = heap[--*count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < *count; at = child) {
        child += child + 1 < *count && is_before(&heap[child + 1], &heap[child]);
        if (!is_before(&heap[child], &last))
            break;
        heap[at] = heap[child];
    }
    heap[at] = last;
    return top;
}

static void offer(const struct bpe *bpe, const struct link *links, uint32_t at, struct chance *heap, size_t *count)
{
    if (at == NO_RANK || links[at].next == NO_RANK)
        return;
    const uint32_t rank = pair_find(bpe, links[at].id, links[links[at].next].id)->rank;
    if (rank != NO_RANK)
        push(heap, count, (struct chance){rank, at});
}

/* Each of the count - 1 first neighbours is offered once, and each of at most count - 1 merges offers two. */
static void merge_long(const struct bpe *bpe, struct chance *heap, struct link *links, size_t count, struct ids *out)
{
    size_t chances = 0;
    for (uint32_t i = 0; i + 1 < count; i++)
        offer(bpe, links, i, heap, &chances);
    while (chances > 0) {
        const struct chance chance = pop(heap, &chances);
        struct link *const link = &links[chance.at];
        if (link->id == VOCAB_NONE || link->next == NO_RANK)
            continue;
        struct link *const gone = &links[link->next];
        const struct pair *const pair = pair_find(bpe, link->id, gone->id);
        if (pair->rank != chance.rank)
            continue;
        link->id = pair->both;
        gone->id = VOCAB_NONE;
        link->next = gone->next;
        if (link->next != NO_RANK)
            links[link->next].before = chance.at;
        offer(bpe, links, link->before, heap, &chances);
        offer(bpe, links, chance.at, heap, &chances);
    }
    for (uint32_t at = 0; at != NO_RANK; at = links[at].next)
        ids_add(out, links[at].id);
}

void bpe_scratch_release(struct bpe_scratch *scratch)
{
    mem_free(scratch->memory);
    *scratch = (struct bpe_scratch){0};
}

static void cut_long(const struct bpe *bpe, struct bpe_scratch *scratch, struct str word, struct ids *out)
{
    assert(word.size < UINT32_MAX / 4);
    const size_t bytes = word.size * (3 * sizeof(struct chance) + sizeof(struct link) + sizeof(uint32_t));
    if (scratch->capacity < bytes) {
        mem_free(scratch->memory);
        scratch->memory = mem_alloc(bytes);
        scratch->capacity = bytes;
    }
    struct chance *const heap = scratch->memory;
    struct link *const links = (struct link *)(heap + 3 * word.size);
    uint32_t *const pieces = (uint32_t *)(links + word.size);
    const size_t count = begin(bpe, word, pieces);
    for (uint32_t i = 0; i < count; i++)
        links[i] = (struct link){pieces[i], i > 0 ? i - 1 : NO_RANK, i + 1 < count ? i + 1 : NO_RANK};
    if (count > 0)
        merge_long(bpe, heap, links, count, out);
}

void bpe_word(const struct bpe *bpe, struct bpe_scratch *scratch, struct str word, struct ids *out)
{
    if (bpe->words) {
        for (size_t at = word_hash(word);; at++) {
            const uint32_t id = bpe->words[at & bpe->word_mask];
            if (id == VOCAB_NONE)
                break;
            if (str_equal(bpe->bytes[id], word)) {
                ids_add(out, id);
                return;
            }
        }
    }
    if (word.size > SHORT_MAX) {
        cut_long(bpe, scratch, word, out);
        return;
    }
    uint32_t pieces[SHORT_MAX];
    merge_short(bpe, pieces, begin(bpe, word, pieces), out);
}
