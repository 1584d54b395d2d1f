/* pipeline/google: Python's random numbers, Python's strip, and the instances that Google's create_pretraining_data.py
 * gave for a small text (sequence length 32, 5 predictions, 2 copies, seed 12345, its defaults otherwise). */
#include "pipeline/google/google.h"
#include "pipeline/google/instances.h"
#include "tests/unit.h"
#include "tokenizer/tokenizer.h"

/* ------------------------------------------------------------------------------------------ random numbers */

static struct twister seeded(uint64_t seed)
{
    struct twister twister;
    twister_seed(&twister, seed);
    return twister;
}

/* Python 3.11: r = random.Random(12345); r.getrandbits(32), r.random(), r.randint(0, 9), r.shuffle(list(range(10))). */
TEST(draws_as_python)
{
    static const uint32_t words[] = {1789368711u, 3146859322u, 43676229u, 3522623596u};
    static const double reals[] = {.41661987254534116, .010169169457068361, .8252065092537432, .2986398551995928,
                                   .3684116894884757};
    static const uint32_t numbers[] = {6, 0, 4, 5, 3, 4, 9, 6, 2, 5}, order[] = {8, 7, 3, 5, 1, 2, 9, 4, 0, 6};
    struct twister twister = seeded(12345);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(twister_word(&twister), words[i]);
    twister = seeded(12345);
    for (size_t i = 0; i < 5; i++)
        assert_true(twister_real(&twister) == reals[i]);
    twister = seeded(12345);
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(twister_between(&twister, 0, 9), numbers[i]);
    twister = seeded(12345);
    uint32_t items[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    twister_shuffle(&twister, items, 10);
    assert_memory_equal(items, order, sizeof order);
}

/* The same for seeds of one and two words: the first word, and the 2,000th, after the state was renewed three times. */
TEST(seeds_of_any_size)
{
    static const struct {
        uint64_t seed;
        uint32_t first, late;
    } cases[] = {{0ull, 3626764237u, 3908016617u},
                 {1ull, 577090037u, 1058062369u},
                 {4294967295ull, 2728839433u, 2640887251u},
                 {4294967296ull, 485306839u, 4134838374u},
                 {18446744073709551615ull, 93740670u, 4117718281u},
                 {1311768467463790320ull, 3646699384u, 1513430740u}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct twister twister = seeded(cases[i].seed);
        assert_int_equal(twister_word(&twister), cases[i].first);
        for (int word = 0; word < 1998; word++)
            twister_word(&twister);
        assert_int_equal(twister_word(&twister), cases[i].late);
    }
}

TEST(one_choice_draws_too)
{
    struct twister twister = seeded(12345), other = seeded(12345);
    assert_int_equal(twister_between(&twister, 3, 3), 3);
    /* A choice from one value draws single bits until one is 0. The first words begin with 0x6a and 0xbb. */
    assert_true(twister_word(&other) >> 31 == 0);
    assert_int_equal(twister_word(&twister), twister_word(&other));
    assert_true(twister_word(&twister) >> 31 == 0);
    twister = seeded(12345);
    twister_word(&twister);
    twister_between(&twister, 3, 3); /* a word whose first bit is 1 is skipped */
    assert_int_equal(twister_word(&twister), 3522623596u);
    uint32_t item = 7;
    struct twister same = twister;
    twister_shuffle(&twister, &item, 1);
    twister_shuffle(&twister, &item, 0);
    assert_memory_equal(&twister, &same, sizeof same);
}

/* ------------------------------------------------------------------------------------------ lines */

TEST(strips_as_python)
{
    static const char *const cases[][2] = {
        {"", ""},
        {" a b ", "a b"},
        {"\r\n\t\v\f a", "a"},
        {"\x1c\x1d\x1e\x1f\xc2\x85\xc2\xa0\xe1\x9a\x80", ""},
        {"\xe2\x80\x80\xe2\x80\x8a\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaf\xe2\x81\x9f\xe3\x80\x80", ""},
        {"\xe3\x80\x80\xe4\xb8\xad\xe3\x80\x80", "\xe4\xb8\xad"},
        {"\xe2\x80\x8b", "\xe2\x80\x8b"},     /* U+200B */
        {"\xef\xbb\xbf x", "\xef\xbb\xbf x"}, /* U+FEFF */
        {"\xc3\xa9\xc2\xa0", "\xc3\xa9"},
        {"\x01", "\x01"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct str got = python_strip(str_of(cases[i][0]));
        assert_true(str_equal(got, str_of(cases[i][1])));
    }
}

/* ------------------------------------------------------------------------------------------ instances */

static const char pieces_text[] =
    "[PAD] [UNK] [CLS] [SEP] [MASK] the a cat dog sat ran on mat log big small ##s ##ing run jump . , and in red blue "
    "house tree bird sang old man sea";

/* One sentence per line, an empty line between documents. */
static const char *const text[] = {"The cat sat on the mat.",
                                   "A big dog ran in the red house.",
                                   "The bird sang.",
                                   "",
                                   "The old man and the sea.",
                                   "Small cats jumping, running dogs and a blue tree.",
                                   "The man ran.",
                                   "A bird sang in the big tree.",
                                   "",
                                   "Red dogs and blue cats.",
                                   "The sea sang on."};

static const char *const by_piece[] = {
    "[CLS] small [MASK] ##s jump [MASK] , [UNK] dog ##s [MASK] a blue tree . [SEP] the bird sang . [SEP] R=1 2:cat "
    "5:##ing 10:and",
    "[CLS] the old man [MASK] the sea . [SEP] the sea sang on . [SEP] R=1 4:and 9:the",
    "[CLS] red dog ##s and blue cat ##s [MASK] [SEP] the sea sang on . [SEP] R=0 8:. 12:sang",
    "[CLS] the man ran [MASK] [SEP] a [MASK] sang in the big tree . [SEP] R=0 4:. 7:bird",
    "[CLS] the cat sat [MASK] the mat . a big [MASK] ran in the red house . [SEP] [MASK] bird sang . [SEP] R=0 4:on "
    "10:dog 18:the",
    "[CLS] the bird [MASK] . [SEP] the sea sang [MASK] . [SEP] R=1 3:sang 9:on",
    "[CLS] [MASK] dog [MASK] and blue cat ##s . [SEP] a bird [MASK] in the big tree . [SEP] R=1 1:red 3:##s 12:sang",
    "[CLS] the cat sat on the mat . a big dog [MASK] in [MASK] red house . [SEP] the man [MASK] . a [MASK] sang in the "
    "big tree . [SEP] R=1 6:mat 11:ran 13:the 20:ran 23:bird",
    "[CLS] man and the [MASK] . small cat ##s [MASK] ##ing , [UNK] dog ##s and [SEP] cat [MASK] on the mat [MASK] a "
    "big "
    "[MASK] ran in the red house [SEP] R=1 4:sea 9:jump 18:sat 22:. 25:dog",
    "[CLS] the [MASK] sang on . [SEP] small cat ##s jump ##ing , [MASK] dog ##s and [MASK] blue tree . the man ran . "
    "[MASK] bird sang in the [MASK] [SEP] R=1 2:sea 13:[UNK] 17:a 25:a 30:big",
    "[CLS] the man ran . [SEP] [MASK] bird sang in the [MASK] tree . [SEP] R=0 6:a 11:big"};

static const char first_by_word[] =
    "[CLS] old man and the sea . small cat ##s jump ##ing , [UNK] [MASK] [MASK] [MASK] a blue tree . the [SEP] a bird "
    "[MASK] in the [PAD] tree . [SEP] R=0 14:dog 15:##s 16:and 25:sang 28:big";

static struct vocab *make_vocab(void)
{
    struct str pieces[64];
    size_t count = 0;
    for (const char *at = pieces_text; *at;) {
        const char *end = strchrnul(at, ' ');
        pieces[count++] = str_range(at, end);
        at = *end ? end + 1 : end;
    }
    struct error err = {0};
    struct vocab *vocab = NULL;
    assert_int_equal(count, 33);
    assert_int_equal(vocab_from_pieces(&vocab, pieces, count, &err), 0);
    return vocab;
}

static void read_text(const struct vocab *vocab, struct documents *documents)
{
    struct tokenizer *tokenizer =
        tokenizer_open(vocab, &(struct tokenizer_options){.strip_accents = true, .profile = PROFILE_GOOGLE});
    struct tokenizer_state *state = tokenizer_state_open(tokenizer);
    SCOPED(ids_release) struct ids ids = {0};
    documents_begin(documents, 1, false);
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        if (!*text[i]) {
            documents_end(documents);
            documents_begin(documents, documents->count + 1, false);
        }
        ids.count = 0;
        tokenizer_ids(state, str_of(text[i]), &ids);
        documents_sentence(documents, ids.data, ids.count);
    }
    documents_end(documents);
    tokenizer_state_close(state);
    tokenizer_close(tokenizer);
}

struct listing {
    const struct vocab *vocab;
    size_t count;
    struct buf lines[64];
};

static bool list(void *context, const struct sample *sample)
{
    struct listing *listing = context;
    const struct str *pieces = listing->vocab->pieces;
    struct buf *out = &listing->lines[listing->count++];
    for (uint32_t i = 0; i < sample->length; i++)
        buf_addf(out, "%.*s ", (int)pieces[sample->ids[i]].size, pieces[sample->ids[i]].data);
    buf_addf(out, "R=%u", sample->is_random_next);
    for (uint32_t i = 0; i < sample->masked; i++)
        buf_addf(out, " %u:%.*s", sample->positions[i], (int)pieces[sample->labels[i]].size,
                 pieces[sample->labels[i]].data);
    assert_int_equal(sample->ids[sample->a_length - 1], listing->vocab->sep);
    assert_true((sample->document_a == sample->document_b) == !sample->is_random_next);
    return true;
}

/* The instances in their final order; released by the caller. */
static void make(bool whole_words, uint64_t seed, struct listing *listing)
{
    struct vocab *vocab = make_vocab();
    SCOPED(documents_release) struct documents documents = {0};
    read_text(vocab, &documents);
    assert_int_equal(documents.count, 3);
    const struct instance_rules rules = {.seq = 32,
                                         .predictions = 5,
                                         .mask_prob = 0.15,
                                         .short_seq_prob = 0.1,
                                         .copies = 2,
                                         .whole_words = whole_words,
                                         .vocab = vocab};
    struct instances *instances = instances_open(&documents, &rules, seed);
    struct listing made = {.vocab = vocab};
    assert_true(instances_make(instances, list, &made));
    SCOPED(mem_free_at) uint32_t *places = instances_places(instances, made.count);
    *listing = (struct listing){.count = made.count};
    for (size_t i = 0; i < made.count; i++)
        listing->lines[places[i]] = made.lines[i];

    /* A second call gives the same. */
    struct listing again = {.vocab = vocab};
    assert_true(instances_make(instances, list, &again));
    assert_int_equal(again.count, made.count);
    for (size_t i = 0; i < made.count; i++) {
        assert_string_equal(buf_text(&again.lines[i]), buf_text(&listing->lines[places[i]]));
        buf_release(&again.lines[i]);
    }
    instances_close(instances);
    vocab_close(vocab);
}

static void release(struct listing *listing)
{
    for (size_t i = 0; i < listing->count; i++)
        buf_release(&listing->lines[i]);
}

TEST(the_instances_of_googles_program)
{
    struct listing listing;
    make(false, 12345, &listing);
    assert_int_equal(listing.count, 11);
    for (size_t i = 0; i < 11; i++)
        assert_string_equal(buf_text(&listing.lines[i]), by_piece[i]);
    release(&listing);

    make(true, 12345, &listing);
    assert_int_equal(listing.count, 11);
    assert_string_equal(buf_text(&listing.lines[0]), first_by_word);
    release(&listing);

    make(false, 12346, &listing);
    assert_string_not_equal(buf_text(&listing.lines[0]), by_piece[0]);
    release(&listing);
}

static bool stop_at_third(void *context, const struct sample *sample)
{
    size_t *count = context;
    (void)sample;
    return ++*count < 3;
}

TEST(stops_when_asked)
{
    struct vocab *vocab = make_vocab();
    SCOPED(documents_release) struct documents documents = {0};
    read_text(vocab, &documents);
    const struct instance_rules rules = {.seq = 16, .predictions = 4, .copies = 9, .vocab = vocab};
    struct instances *instances = instances_open(&documents, &rules, 1);
    size_t count = 0;
    assert_false(instances_make(instances, stop_at_third, &count));
    assert_int_equal(count, 3);
    instances_close(instances);
    vocab_close(vocab);
}
