/* Comes in: a word. Goes out: ids. The vocabulary is held as a trie whose nodes stand in breadth-first order, so that
 * the children of node n are the nodes first[n] … first[n + 1] - 1 and their labels lie side by side:
 *
 *     node       0     1 2 3     4 5 6 …            pieces that go on inside a word ("##ing") are in the same trie:
 *     label      -     # a b     # n t …            the node behind "##" is where their search starts
 *     first      1     4 5 …
 *
 * Nine bytes per node, built from the sorted pieces in one pass. The longest match needs no hashing and no copies;
 * words are at most 200 characters, so the restart at each piece costs nothing that matters. */
#include "tokenizer/wordpiece.h"

#include "base/mem.h"

#include <assert.h>
#include <stdlib.h>

#define NO_PIECE UINT32_MAX
#define NO_NODE  UINT32_MAX

struct wordpiece {
    uint32_t *first; /* [nodes + 1] first child */
    uint32_t *piece; /* [nodes] the id of the piece that ends here, or NO_PIECE */
    uint8_t *label;  /* [nodes] the byte that leads here from the parent */
    uint32_t unk;
    size_t letters_max;
    uint32_t inside;        /* the node behind "##", or NO_NODE */
    uint32_t start[2][256]; /* children of the root and of `inside` by byte, or NO_NODE */
};

struct entry {
    struct str piece;
    uint32_t id;
};

/* By bytes; of equal pieces the later id first, which is the one that counts. */
static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    const int order = str_compare(x->piece, y->piece);
    return order ? order : (x->id < y->id) - (x->id > y->id);
}

/* The pieces sorted, without double ones. */
static struct entry *sorted_entries(const struct vocab *vocab, size_t *count)
{
    struct entry *entries = mem_array(vocab->count, sizeof *entries);
    for (uint32_t i = 0; i < vocab->count; i++)
        entries[i] = (struct entry){vocab->pieces[i], i};
    qsort(entries, vocab->count, sizeof *entries, compare_entries);
    *count = 0;
    for (uint32_t i = 0; i < vocab->count; i++)
        if (!*count || !str_equal(entries[*count - 1].piece, entries[i].piece))
            entries[(*count)++] = entries[i];
    return entries;
}

/* One node per distinct prefix. */
static size_t count_nodes(const struct entry *entries, size_t count)
{
    size_t nodes = 1;
    for (size_t i = 0; i < count; i++) {
        size_t common = 0;
        if (i)
            while (common < entries[i - 1].piece.size && common < entries[i].piece.size &&
                   entries[i - 1].piece.data[common] == entries[i].piece.data[common])
                common++;
        nodes += entries[i].piece.size - common;
    }
    assert(nodes < NO_NODE);
    return nodes;
}

/* Nodes wait in a queue as ranges of sorted entries that share their first `depth` bytes. */
static void build_trie(struct wordpiece *wordpiece, const struct entry *entries, size_t count, size_t nodes)
{
    struct range {
        uint32_t from, to, depth;
    } *const queue = mem_array(nodes, sizeof *queue);
    queue[0] = (struct range){0, (uint32_t)count, 0};
    uint32_t known = 1;
    for (uint32_t node = 0; node < nodes; node++) {
        assert(node < known);
        struct range range = queue[node];
        const uint32_t depth = range.depth;
        wordpiece->first[node] = known;
        wordpiece->piece[node] = NO_PIECE;
        if (range.from < range.to && entries[range.from].piece.size == depth)
            wordpiece->piece[node] = entries[range.from++].id;
        while (range.from < range.to) {
            const char byte = entries[range.from].piece.data[depth];
            uint32_t to = range.from + 1;
            while (to < range.to && entries[to].piece.data[depth] == byte)
                to++;
            wordpiece->label[known] = (uint8_t)byte;
            queue[known++] = (struct range){range.from, to, depth + 1};
            range.from = to;
        }
    }
    assert(known == nodes);
    wordpiece->first[nodes] = known;
    mem_free(queue);
}

static uint32_t child(const struct wordpiece *wordpiece, uint32_t node, uint8_t byte)
{
    const uint32_t first = wordpiece->first[node], end = wordpiece->first[node + 1];
    if (end - first <= 8) { /* most nodes have one or two */
        for (uint32_t i = first; i < end; i++)
            if (wordpiece->label[i] == byte)
                return i;
        return NO_NODE;
    }
    const uint8_t *found = memchr(wordpiece->label + first, byte, end - first);
    return found ? (uint32_t)(found - wordpiece->label) : NO_NODE;
}

struct wordpiece *wordpiece_open(const struct vocab *vocab, size_t letters_max)
{
    size_t count;
    struct entry *entries = sorted_entries(vocab, &count);
    const size_t nodes = count_nodes(entries, count);
    struct wordpiece *wordpiece = mem_clear(1, sizeof *wordpiece);
    wordpiece->first = mem_array(nodes + 1, sizeof *wordpiece->first);
    wordpiece->piece = mem_array(nodes, sizeof *wordpiece->piece);
    wordpiece->label = mem_clear(nodes, sizeof *wordpiece->label);
    wordpiece->unk = vocab->unk;
    wordpiece->letters_max = letters_max;
    build_trie(wordpiece, entries, count, nodes);
    mem_free(entries);
    const uint32_t hash = child(wordpiece, 0, '#');
    wordpiece->inside = hash == NO_NODE ? NO_NODE : child(wordpiece, hash, '#');
    for (unsigned byte = 0; byte < 256; byte++) {
        wordpiece->start[0][byte] = child(wordpiece, 0, (uint8_t)byte);
        wordpiece->start[1][byte] =
            wordpiece->inside == NO_NODE ? NO_NODE : child(wordpiece, wordpiece->inside, (uint8_t)byte);
    }
    return wordpiece;
}

void wordpiece_close(struct wordpiece *wordpiece)
{
    if (!wordpiece)
        return;
    mem_free(wordpiece->first);
    mem_free(wordpiece->piece);
    mem_free(wordpiece->label);
    mem_free(wordpiece);
}

static bool too_long(struct str word, size_t letters_max)
{
    if (word.size <= letters_max)
        return false;
    size_t letters = 0;
    for (size_t i = 0; i < word.size && letters <= letters_max; i++)
        letters += ((unsigned char)word.data[i] & 0xC0) != 0x80;
    return letters > letters_max;
}

void wordpiece_word(const struct wordpiece *wordpiece, struct str word, struct ids *out)
{
    assert(word.size);
    const size_t before = out->count;
    if (too_long(word, wordpiece->letters_max)) {
        ids_add(out, wordpiece->unk);
        return;
    }
    /* Pieces are whole characters, so a match in bytes ends where a character ends. */
    for (size_t at = 0; at < word.size;) {
        uint32_t node = wordpiece->start[at > 0][(uint8_t)word.data[at]];
        uint32_t best = NO_PIECE;
        size_t best_end = at;
        for (size_t end = at + 1; node != NO_NODE; end++) {
            if (wordpiece->piece[node] != NO_PIECE) {
                best = wordpiece->piece[node];
                best_end = end;
            }
            if (end == word.size)
                break;
            node = child(wordpiece, node, (uint8_t)word.data[end]);
        }
        if (best == NO_PIECE) {
            out->count = before;
            ids_add(out, wordpiece->unk);
            return;
        }
        ids_add(out, best);
        at = best_end;
    }
}
