/* Cuts words into pieces. The vocabulary is a trie in one array (a double array): the child of a node by a byte, if it
 * exists, is at the node's base XOR that byte, and its label is that byte. No two nodes have the same base, so the
 * label is proof enough, and a step costs one look-up whatever the byte:
 *
 *     nodes[nodes[n].base ^ byte].label == byte
 *
 * Pieces that continue a word ("##ing") are in the same trie: their search starts at the node after "##". Words have at
 * most 200 characters, so restarting the search at each piece is cheap. */
#include "tokenizer/wordpiece.h"

#include <assert.h>
#include <stdlib.h>

#define NO_PIECE      0x7FFFFFu
#define NO_LABEL      0x100u
#define ROOT          0u
#define BLOCK         256u /* all children of a node are in one block of this many places */
#define INSERTION_MAX 16u  /* more entries are sorted by counting */

/* A node without children has base 0. That leads into the first block, which holds only the root, and the root has no
 * label. */
struct node {
    uint32_t base;
    uint32_t piece : 23; /* the id of the piece that ends here, or NO_PIECE */
    uint32_t label : 9;  /* the byte that leads here from the parent, or NO_LABEL */
};
_Static_assert(sizeof(struct node) == 8 && VOCAB_PIECES_MAX < NO_PIECE, "a piece's id has a place in a node");

struct wordpiece {
    struct node *nodes;
    uint32_t starts[2]; /* where the search starts: at the start of a word, and inside a word */
    uint32_t unk;
    size_t letters_max;
};

/* A piece, or the part of it that is not in the trie yet. */
struct entry {
    const char *data;
    uint32_t size, id;
};

/* The byte of an entry at `depth`, plus 1; 0 where the entry ends there. */
static inline unsigned label_at(const struct entry *entry, uint32_t depth)
{
    return entry->size > depth ? (uint8_t)entry->data[depth] + 1u : 0;
}

/* Sorts by the labels at `depth`; a stable sort. */
static void sort_entries(struct entry *entries, size_t count, uint32_t depth, struct entry *scratch)
{
    if (count <= INSERTION_MAX) {
        for (size_t i = 1; i < count; i++) {
            const struct entry entry = entries[i];
            const unsigned label = label_at(&entry, depth);
            size_t to = i;
            for (; to && label_at(&entries[to - 1], depth) > label; to--)
                entries[to] = entries[to - 1];
            entries[to] = entry;
        }
        return;
    }
    size_t starts[BLOCK + 2] = {0};
    for (size_t i = 0; i < count; i++)
        starts[label_at(&entries[i], depth) + 1]++;
    for (size_t label = 0; label <= BLOCK; label++)
        starts[label + 1] += starts[label];
    for (size_t i = 0; i < count; i++)
        scratch[starts[label_at(&entries[i], depth)]++] = entries[i];
    memcpy(entries, scratch, count * sizeof *entries);
}

struct building {
    struct node *nodes;
    uint32_t blocks, capacity;
    uint64_t taken[BLOCK / 64],
        based[BLOCK / 64]; /* of the last block: places taken, and places that are some node's base */
};

static void add_block(struct building *building)
{
    if (building->blocks == building->capacity) {
        building->capacity = 2 * building->capacity + 16;
        assert(building->capacity <= UINT32_MAX / BLOCK);
        building->nodes = mem_grow(building->nodes, (size_t)building->capacity * BLOCK, sizeof *building->nodes);
    }
    struct node *const nodes = building->nodes + (size_t)building->blocks++ * BLOCK;
    for (unsigned i = 0; i < BLOCK; i++)
        nodes[i] = (struct node){.piece = NO_PIECE, .label = NO_LABEL};
    memset(building->taken, 0, sizeof building->taken);
    memset(building->based, 0, sizeof building->based);
}

static bool has(const uint64_t bits[BLOCK / 64], unsigned i)
{
    return bits[i / 64] >> i % 64 & 1;
}

static void set(uint64_t bits[BLOCK / 64], unsigned i)
{
    bits[i / 64] |= (uint64_t)1 << i % 64;
}

static bool fits(const struct building *building, const uint8_t *labels, unsigned count, unsigned base)
{
    bool free = !has(building->based, base);
    for (unsigned i = 0; free && i < count; i++)
        free = !has(building->taken, base ^ labels[i]);
    return free;
}

/* A base in the last block where children with these labels fit; BLOCK where there is none. */
static unsigned find_base(const struct building *building, const uint8_t *labels, unsigned count)
{
    for (unsigned i = 0; i < BLOCK / 64; i++)
        for (uint64_t free = ~building->taken[i]; free; free &= free - 1) {
            const unsigned base = (64 * i + (unsigned)__builtin_ctzll(free)) ^ labels[0];
            if (fits(building, labels, count, base))
                return base;
        }
    return BLOCK;
}

/* Reserves places for children with these labels; returns their base. Only the last block is tried, so that building
 * takes linear time; one place in thirteen stays empty. */
static uint32_t place(struct building *building, const uint8_t *labels, unsigned count)
{
    unsigned base = building->blocks > 1 ? find_base(building, labels, count) : BLOCK;
    if (base == BLOCK) {
        add_block(building);
        base = 0;
    }
    assert(fits(building, labels, count, base));
    set(building->based, base);
    for (unsigned i = 0; i < count; i++)
        set(building->taken, base ^ labels[i]);
    return (building->blocks - 1) * BLOCK + base;
}

/* A node whose children are still to be added: the entries that share their first `depth` bytes. */
struct range {
    uint32_t from, to, depth, node;
};

static struct node *build_trie(struct entry *entries, size_t count)
{
    assert(count < NO_PIECE);
    struct building building = {0};
    add_block(&building);
    struct entry *const scratch = mem_array(count, sizeof *scratch);
    size_t waiting = 1, capacity = 2 * BLOCK;
    struct range *stack = mem_array(capacity, sizeof *stack);
    stack[0] = (struct range){0, (uint32_t)count, 0, ROOT};
    while (waiting) {
        struct range range = stack[--waiting];
        const uint32_t depth = range.depth;
        /* Entries that end here come first, then those of each child together. */
        sort_entries(entries + range.from, range.to - range.from, depth, scratch);
        for (; range.from < range.to && entries[range.from].size == depth; range.from++)
            building.nodes[range.node].piece = entries[range.from].id & NO_PIECE; /* of equal pieces the last one
                                                                                   * counts */
        uint8_t labels[BLOCK];
        uint32_t ends[BLOCK];
        unsigned children = 0;
        for (uint32_t at = range.from; at < range.to; children++) {
            labels[children] = (uint8_t)entries[at].data[depth];
            while (at < range.to && (uint8_t)entries[at].data[depth] == labels[children])
                at++;
            ends[children] = at;
        }
        if (!children)
            continue;
        const uint32_t base = place(&building, labels, children);
        building.nodes[range.node].base = base;
        stack = mem_room(stack, waiting + children, &capacity, sizeof *stack);
        for (unsigned i = 0; i < children; i++) {
            assert(building.nodes[base ^ labels[i]].label == NO_LABEL); /* no two nodes have one child */
            building.nodes[base ^ labels[i]].label = labels[i];
            stack[waiting++] = (struct range){i ? ends[i - 1] : range.from, ends[i], depth + 1, base ^ labels[i]};
        }
    }
    mem_free(stack);
    mem_free(scratch);
    return building.nodes;
}

/* The node at the end of a path from the root, or one without children. */
static uint32_t node_of(const struct node *nodes, struct str path)
{
    uint32_t node = ROOT;
    for (size_t i = 0; i < path.size; i++) {
        node = nodes[node].base ^ (uint8_t)path.data[i];
        if (nodes[node].label != (uint8_t)path.data[i])
            return ROOT + 1;
    }
    return node;
}

struct wordpiece *wordpiece_open(const struct vocab *vocab, size_t letters_max)
{
    struct entry *entries = mem_array(vocab->count, sizeof *entries);
    bool *const outside = vocab_outside(vocab);
    size_t count = 0;
    for (uint32_t i = 0; i < vocab->count; i++)
        if (!outside[i])
            entries[count++] = (struct entry){vocab->pieces[i].data, (uint32_t)vocab->pieces[i].size, i};
    mem_free(outside);
    struct wordpiece *wordpiece = mem_clear(1, sizeof *wordpiece);
    wordpiece->nodes = build_trie(entries, count);
    wordpiece->starts[0] = ROOT;
    wordpiece->starts[1] = node_of(wordpiece->nodes, STR("##"));
    wordpiece->unk = vocab->unk;
    wordpiece->letters_max = letters_max;
    mem_free(entries);
    return wordpiece;
}

void wordpiece_close(struct wordpiece *wordpiece)
{
    if (!wordpiece)
        return;
    mem_free(wordpiece->nodes);
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

static void cut(const struct wordpiece *wordpiece, struct str word, bool begins, struct ids *out)
{
    assert(word.size);
    const size_t before = out->count;
    if (too_long(word, wordpiece->letters_max)) {
        ids_add(out, wordpiece->unk);
        return;
    }
    const struct node *const nodes = wordpiece->nodes;
    /* Pieces are whole characters, so a match of bytes ends at the end of a character. */
    for (size_t at = 0; at < word.size;) {
        const struct node *node = &nodes[wordpiece->starts[at > 0 || !begins]];
        uint32_t best = NO_PIECE;
        size_t best_end = at;
        for (size_t end = at; end < word.size;) {
            const uint8_t byte = (uint8_t)word.data[end++];
            node = &nodes[node->base ^ byte];
            if (node->label != byte)
                break;
            best_end = node->piece != NO_PIECE ? end : best_end;
            best = node->piece != NO_PIECE ? node->piece : best;
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

void wordpiece_word(const struct wordpiece *wordpiece, struct str word, struct ids *out)
{
    cut(wordpiece, word, true, out);
}

void wordpiece_rest(const struct wordpiece *wordpiece, struct str rest, struct ids *out)
{
    cut(wordpiece, rest, false, out);
}
