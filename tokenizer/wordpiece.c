/* Comes in: a word. Goes out: ids. The vocabulary is held as a trie in one array (a double array): the child of a node
 * by a byte, if there is one, is at its base XOR that byte, and says so by its label. No two nodes have the same base,
 * so the label is proof enough, and a step costs one look-up whatever the byte:
 *
 *     nodes[nodes[n].base ^ byte].label == byte
 *
 * Pieces that go on inside a word ("##ing") are in the same trie: the node behind "##" is where their search starts.
 * Words are at most 200 characters, so the restart at each piece costs nothing that matters. */
#include "tokenizer/wordpiece.h"

#include "base/mem.h"

#include <assert.h>
#include <stdlib.h>

#define NO_PIECE    0x7FFFFFu
#define NO_LABEL    0x100u
#define ROOT        0u
#define BLOCK       256u /* a node's children are all in one block of so many places */
#define OPEN_BLOCKS 2u   /* only the last ones are tried for more nodes, so that building takes linear time */

/* One without children has base 0: it leads into the first block, where only the root stands, which has no label. */
struct node {
    uint32_t base;
    uint32_t piece : 23; /* the id of the piece that ends here, or NO_PIECE */
    uint32_t label : 9;  /* the byte that leads here from the parent, or NO_LABEL */
};
_Static_assert(sizeof(struct node) == 8 && VOCAB_PIECES_MAX < NO_PIECE, "a piece's id has a place in a node");

struct wordpiece {
    struct node *nodes;
    uint32_t starts[2]; /* where the search starts: of a word, and inside a word */
    uint32_t unk;
    size_t letters_max;
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
    assert(nodes < UINT32_MAX);
    return nodes;
}

/* Which places of a block are taken, and which are some node's base. */
struct places {
    uint64_t taken[BLOCK / 64], based[BLOCK / 64];
};

struct building {
    struct node *nodes;
    struct places *blocks;
    uint32_t count, capacity; /* of blocks */
};

static void add_block(struct building *building)
{
    if (building->count == building->capacity) {
        building->capacity = 2 * building->capacity + 16;
        assert(building->capacity <= UINT32_MAX / BLOCK);
        building->blocks = mem_grow(building->blocks, building->capacity, sizeof *building->blocks);
        building->nodes = mem_grow(building->nodes, (size_t)building->capacity * BLOCK, sizeof *building->nodes);
    }
    struct node *const nodes = building->nodes + (size_t)building->count * BLOCK;
    for (unsigned i = 0; i < BLOCK; i++)
        nodes[i] = (struct node){.piece = NO_PIECE, .label = NO_LABEL};
    building->blocks[building->count++] = (struct places){0};
}

static bool has(const uint64_t bits[BLOCK / 64], unsigned i)
{
    return bits[i / 64] >> i % 64 & 1;
}

static bool fits(const struct places *block, const uint8_t *labels, unsigned count, unsigned base)
{
    bool free = !has(block->based, base);
    for (unsigned i = 0; free && i < count; i++)
        free = !has(block->taken, base ^ labels[i]);
    return free;
}

/* A base for a node with these labels below it; BLOCK where the block has none. */
static unsigned base_in_block(const struct places *block, const uint8_t *labels, unsigned count)
{
    for (unsigned i = 0; i < BLOCK / 64; i++)
        for (uint64_t free = ~block->taken[i]; free; free &= free - 1) {
            const unsigned base = (64 * i + (unsigned)__builtin_ctzll(free)) ^ labels[0];
            if (fits(block, labels, count, base))
                return base;
        }
    return BLOCK;
}

/* Takes places for children with these labels; returns their base. */
static uint32_t place(struct building *building, const uint8_t *labels, unsigned count)
{
    uint32_t number = building->count > OPEN_BLOCKS ? building->count - OPEN_BLOCKS : 1;
    unsigned base = BLOCK;
    for (; base == BLOCK && number < building->count; number++)
        base = base_in_block(&building->blocks[number], labels, count);
    if (base == BLOCK) {
        add_block(building);
        number = building->count;
        base = 0;
    }
    struct places *const block = &building->blocks[--number];
    block->based[base / 64] |= (uint64_t)1 << base % 64;
    for (unsigned i = 0; i < count; i++)
        block->taken[(base ^ labels[i]) / 64] |= (uint64_t)1 << (base ^ labels[i]) % 64;
    return number * BLOCK + base;
}

/* Nodes wait in a queue as ranges of sorted entries that share their first `depth` bytes. */
static struct node *build_trie(const struct entry *entries, size_t count, size_t nodes)
{
    struct range {
        uint32_t from, to, depth, node;
    } *const queue = mem_array(nodes, sizeof *queue);
    struct building building = {0};
    add_block(&building);
    queue[0] = (struct range){0, (uint32_t)count, 0, ROOT};
    size_t known = 1;
    for (size_t next = 0; next < known; next++) {
        struct range range = queue[next];
        const uint32_t depth = range.depth;
        if (range.from < range.to && entries[range.from].piece.size == depth)
            building.nodes[range.node].piece = entries[range.from++].id & NO_PIECE;
        uint8_t labels[BLOCK];
        uint32_t ends[BLOCK];
        unsigned children = 0;
        for (uint32_t at = range.from; at < range.to; children++) {
            labels[children] = (uint8_t)entries[at].piece.data[depth];
            while (at < range.to && (uint8_t)entries[at].piece.data[depth] == labels[children])
                at++;
            ends[children] = at;
        }
        if (!children)
            continue;
        const uint32_t base = place(&building, labels, children);
        building.nodes[range.node].base = base;
        for (unsigned i = 0; i < children; i++) {
            building.nodes[base ^ labels[i]].label = labels[i];
            queue[known++] = (struct range){i ? ends[i - 1] : range.from, ends[i], depth + 1, base ^ labels[i]};
        }
    }
    assert(known == nodes);
    mem_free(queue);
    mem_free(building.blocks);
    return building.nodes;
}

/* The node where a path from the root ends, or one without children. */
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
    size_t count;
    struct entry *entries = sorted_entries(vocab, &count);
    struct wordpiece *wordpiece = mem_clear(1, sizeof *wordpiece);
    wordpiece->nodes = build_trie(entries, count, count_nodes(entries, count));
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

void wordpiece_word(const struct wordpiece *wordpiece, struct str word, struct ids *out)
{
    assert(word.size);
    const size_t before = out->count;
    if (too_long(word, wordpiece->letters_max)) {
        ids_add(out, wordpiece->unk);
        return;
    }
    const struct node *const nodes = wordpiece->nodes;
    /* Pieces are whole characters, so a match in bytes ends where a character ends. */
    for (size_t at = 0; at < word.size;) {
        const struct node *node = &nodes[wordpiece->starts[at > 0]];
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
