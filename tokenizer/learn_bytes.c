/* Learns a byte-level BPE: the merges of merger.h on the bytes of words, in their order, until the vocabulary is full.
 * Pieces that later merges absorb stay, because those merges need them. */
#include "tokenizer/bpe.h"
#include "tokenizer/learn.h"
#include "tokenizer/merger.h"

#include "base/mem.h"

#define BYTES_PER_LETTER 40u /* of the lexicon, roughly: the byte, its place, and pairs */

const char *const special_names[] = {[NAMES_BERT] = "bert", [NAMES_ROBERTA] = "roberta"};

/* Specials in the order of their ids, which for RoBERTa is that of its published models. */
static const struct {
    const char *name;
    enum vocab_role role;
} specials[SPECIAL_NAMES][ROLES] = {
    [NAMES_BERT] =
        {{"[PAD]", ROLE_PAD}, {"[UNK]", ROLE_UNK}, {"[CLS]", ROLE_CLS}, {"[SEP]", ROLE_SEP}, {"[MASK]", ROLE_MASK}},
    [NAMES_ROBERTA] =
        {{"<s>", ROLE_CLS}, {"<pad>", ROLE_PAD}, {"</s>", ROLE_SEP}, {"<unk>", ROLE_UNK}, {"<mask>", ROLE_MASK}},
};

/* The rules without merges. */
static struct bpe_rules *rules_of(const uint32_t of_byte[256])
{
    struct bpe_rules *rules = mem_clear(1, sizeof *rules);
    rules->pattern = split_pattern_find(NULL);
    rules->nfc = true;
    rules->unknown = VOCAB_NONE;
    memcpy(rules->of_byte, of_byte, sizeof rules->of_byte);
    return rules;
}

/* The vocabulary of the merges made: number n of the merger has the id ROLES + n - 1. */
static struct vocab *make_vocab(enum special_names names, const struct lexicon *lexicon, const struct merger *merger)
{
    const size_t letters = lexicon->alphabet_count, count = ROLES + (merger ? merger->made_count - 1 : letters);
    struct str *const pieces = mem_array(count, sizeof *pieces);
    size_t *const ends = mem_array(count, sizeof *ends);
    struct buf text = {0};
    uint32_t roles[ROLES], of_byte[256];
    for (size_t id = 0; id < count; id++) {
        const uint16_t letter = (uint16_t)(id - ROLES + 1), *row = &letter;
        size_t size = 1;
        if (id < ROLES) {
            buf_add_text(&text, specials[names][id].name);
            roles[specials[names][id].role] = (uint32_t)id;
            size = 0;
        } else if (id >= ROLES + letters) {
            row = lexicon->letters + merger->made[id - ROLES + 1].piece.example;
            size = merger->made[id - ROLES + 1].piece.letters;
        }
        buf_reserve(&text, 4 * size);
        for (size_t i = 0; i < size; i++)
            text.size += utf8_write(lexicon->alphabet[row[i]], text.data + text.size);
        ends[id] = text.size;
    }
    for (size_t id = 0; id < count; id++)
        pieces[id] = str_range(text.data + (id ? ends[id - 1] : 0), text.data + ends[id]);
    for (unsigned byte = 0; byte < 256; byte++)
        of_byte[byte] = (uint32_t)(ROLES - 1 + lexicon_rank_of_byte(lexicon, (unsigned char)byte));
    struct vocab *vocab = vocab_make(VOCAB_BPE_BYTES, pieces, count, roles);
    vocab->bpe = rules_of(of_byte);
    vocab->added.items = mem_clear(ROLES, sizeof *vocab->added.items);
    for (uint32_t id = 0; id < ROLES; id++)
        vocab->added.items[vocab->added.count++] =
            (struct added_token){.content = vocab->pieces[id],
                                 .id = id,
                                 .special = true,
                                 .lstrip = id == vocab->mask}; /* as in published ones */
    buf_release(&text);
    mem_free(ends);
    mem_free(pieces);
    return vocab;
}

struct vocab *vocab_of_bytes(enum special_names names)
{
    struct lexicon lexicon;
    struct word_counts *none = word_counts_open(0);
    lexicon_init_bytes(&lexicon, none, 1);
    struct vocab *vocab = make_vocab(names, &lexicon, NULL);
    lexicon_release(&lexicon);
    word_counts_close(none);
    return vocab;
}

void learn_bytes(const struct word_counts *counts, const struct learn_options *options, size_t bytes_max,
                 struct vocab **vocab, struct learn_report *report)
{
    struct lexicon lexicon;
    struct merger merger;
    struct merged merged = {0};
    struct bpe_merge *merges = NULL;
    size_t count = 0, capacity = 0;
    lexicon_init_bytes(&lexicon, counts, bytes_max / BYTES_PER_LETTER);
    merger_init(&merger, &lexicon, options->vocab_size - ROLES - lexicon.alphabet_count);
    while (merger_next(&merger, options->min_frequency, &merged)) {
        merges = mem_room(merges, count + 1, &capacity, sizeof *merges);
        merges[count++] =
            (struct bpe_merge){merged.left + ROLES - 1, merged.right + ROLES - 1, merged.both + ROLES - 1};
    }
    *vocab = make_vocab(options->names, &lexicon, &merger);
    (*vocab)->bpe->merges = merges;
    (*vocab)->bpe->merge_count = count;
    *report = (struct learn_report){.pieces = (*vocab)->count,
                                    .letters = (uint32_t)lexicon.alphabet_count,
                                    .words = lexicon.word_count,
                                    .words_left_out = lexicon.words_left_out,
                                    .threshold = merged.count};
    merger_release(&merger);
    lexicon_release(&lexicon);
}
