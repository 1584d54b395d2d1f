/* Learning a vocabulary with both algorithms: their guarantees, and what the result must not depend on. Greedy is also
 * compared with a naive implementation (tests/flow/vocab_bpe.py does it for bpe). */
#include "tests/tokenizer/help.h"

#include "tokenizer/coverage.h"
#include "tokenizer/learn.h"

static enum learn_algorithm algorithm; /* of this run of the tests */

static struct vocab *learn(const struct word_counts *counts, uint32_t size, uint32_t unused,
                           struct learn_report *report)
{
    struct vocab *vocab = NULL;
    struct error err;
    const struct learn_options options = {.algorithm = algorithm, .vocab_size = size, .unused = unused};
    assert_int_equal(vocab_learn(counts, &options, &vocab, report, &err), 0);
    return vocab;
}

static bool has(const struct vocab *vocab, const char *piece)
{
    uint32_t id;
    return vocab_find(vocab, str_of(piece), &id);
}

static void assert_piece(const struct vocab *vocab, uint32_t id, const char *piece)
{
    assert_true(id < vocab->count);
    if (!str_equal(vocab->pieces[id], str_of(piece)))
        fail_msg("piece %u is %.*s, not %s", id, (int)vocab->pieces[id].size, vocab->pieces[id].data, piece);
}

static uint32_t draw(uint32_t *seed, uint32_t below)
{
    *seed = *seed * 1664525 + 1013904223;
    return (*seed >> 8) % below;
}

/* Words of random syllables, some frequent. `order` changes the order of the calls only. */
static struct word_counts *random_words(uint32_t words, uint32_t order)
{
    static const char *const syllables[] = {"ka",     "no",           "ri",  "sto", "en", "a",
                                            "\u00F6", "\u0436\u0430", "ing", "s",   "t"};
    struct word_counts *counts = word_counts_open(16 << 20);
    for (uint32_t i = 0; i < words; i++) {
        uint32_t seed = order ? words - 1 - i : i;
        char word[64] = "";
        for (uint32_t k = draw(&seed, 5) + 1; k; k--)
            strcat(word, syllables[draw(&seed, 11)]);
        word_counts_add(counts, str_of(word), 1 + 1000 / (draw(&seed, 300) + 1));
    }
    word_counts_add(counts, STR("."), 5000);
    word_counts_add(counts, STR("\u4E2D"), 500);
    return counts;
}

TEST(the_layout_is_that_of_published_models)
{
    SCOPED(word_counts_close_at) struct word_counts *counts = random_words(2000, 0);
    struct learn_report report;
    struct vocab *vocab = learn(counts, 400, 0, &report);
    assert_int_equal(vocab->count, 400);
    assert_int_equal(report.pieces, 400);
    assert_int_equal(vocab->pad, 0);
    assert_piece(vocab, 1, "[unused0]");
    assert_piece(vocab, 99, "[unused98]");
    assert_int_equal(vocab->unk, 100);
    assert_int_equal(vocab->cls, 101);
    assert_int_equal(vocab->sep, 102);
    assert_int_equal(vocab->mask, 103);
    assert_piece(vocab, 104, "."); /* letters in the order of code points; a letter that is always a whole word has no
                                    * ## form */
    assert_piece(vocab, 105, "a");
    assert_false(has(vocab, "##.") || has(vocab, "##\u4E2D"));
    assert_true(has(vocab, "\u4E2D") && has(vocab, "\u0436") && has(vocab, "##\u0436") && has(vocab, "##a"));
    assert_int_equal(report.letters, 15);
    assert_piece(vocab, 104 + 15 + 13 - 1, "##\u0436");
    vocab_close(vocab);

    vocab = learn(counts, 400, 3, &report);
    assert_int_equal(vocab->count, 400);
    assert_piece(vocab, 104, "[unused99]");
    assert_piece(vocab, 106, "[unused101]");
    assert_piece(vocab, 107, ".");
    vocab_close(vocab);
}

TEST(the_result_depends_on_the_counts_alone)
{
    struct word_counts *counts[3] = {random_words(3000, 0), random_words(3000, 1), word_counts_open(16 << 20)};
    for (size_t i = word_counts_size(counts[0]); i-- > 0;) { /* backwards, by merging */
        SCOPED(word_counts_close_at) struct word_counts *one = word_counts_open(0);
        uint64_t n;
        const struct str word = word_counts_word(counts[0], i, &n);
        word_counts_add(one, word, n);
        word_counts_merge(counts[2], one);
    }
    const uint32_t sizes[] = {200, 300, 1000, 5000};
    for (size_t size = 0; size < 4; size++) {
        struct vocab *vocab[3];
        for (size_t i = 0; i < 3; i++)
            vocab[i] = learn(counts[i], sizes[size], 0, NULL);
        assert_true(vocab[0]->hash == vocab[1]->hash && vocab[0]->hash == vocab[2]->hash);
        for (size_t i = 0; i < 3; i++)
            vocab_close(vocab[i]);
    }
    for (size_t i = 0; i < 3; i++)
        word_counts_close(counts[i]);
}

/* The definition, letter by letter: count every row of letters from every cut; from the longest on, subtract the count
 * of each row from those it begins with. */
#define ROWS 40000
struct row {
    char text[40];
    unsigned letters;
    bool inside, chosen;
    int64_t count;
};

static struct row rows[ROWS];
static size_t row_count;

static struct row *row_of(const char *text, unsigned letters, bool inside, bool make)
{
    uint32_t hash = inside;
    for (unsigned i = 0; i < letters; i++)
        hash = hash * 31 + (unsigned char)text[i];
    static uint32_t slots[1 << 17];
    if (!row_count)
        memset(slots, 0, sizeof slots);
    for (uint32_t at = hash * 2654435761u >> 15;; at = (at + 1) & 0x1FFFF) {
        if (!slots[at]) {
            if (!make)
                return NULL;
            assert_true(row_count < ROWS && letters < sizeof rows->text);
            struct row *row = &rows[row_count++];
            *row = (struct row){.letters = letters, .inside = inside};
            memcpy(row->text, text, letters);
            slots[at] = (uint32_t)row_count;
            return row;
        }
        struct row *row = &rows[slots[at] - 1];
        if (row->letters == letters && row->inside == inside && memcmp(row->text, text, letters) == 0)
            return row;
    }
}

static void naive_round(const struct word_counts *counts, int64_t threshold, bool first)
{
    for (size_t i = 0; i < row_count; i++)
        rows[i].count = 0;
    for (size_t i = 0; i < word_counts_size(counts); i++) {
        uint64_t n;
        const struct str word = word_counts_word(counts, i, &n);
        for (size_t cut = 0, next; cut < word.size && word.size > 1; cut = next) {
            next = cut + 1;
            for (size_t end = cut + 1; end <= word.size; end++) {
                struct row *row = row_of(word.data + cut, (unsigned)(end - cut), cut > 0, first);
                row->count += (int64_t)n;
                if (!first && row->chosen)
                    next = end;
            }
        }
    }
    for (unsigned letters = 39; letters > 1; letters--)
        for (size_t i = 0; i < row_count; i++) {
            if (rows[i].letters != letters)
                continue;
            rows[i].chosen = rows[i].count >= threshold;
            for (unsigned k = 1; rows[i].chosen && k < letters; k++)
                row_of(rows[i].text, k, rows[i].inside, false)->count -= rows[i].count;
        }
}

TEST(pieces_are_those_of_the_definition)
{
    if (algorithm != LEARN_GREEDY)
        return;
    SCOPED(word_counts_close_at) struct word_counts *counts = word_counts_open(1 << 20);
    for (uint32_t i = 0; i < 800; i++) {
        static const char *const syllables[] = {"ka", "no", "ri", "sto", "en", "a", "ing", "s", "t"};
        uint32_t seed = i;
        char word[64] = "";
        for (uint32_t k = draw(&seed, 5) + 1; k; k--)
            strcat(word, syllables[draw(&seed, 9)]);
        word_counts_add(counts, str_of(word), 1 + 1000 / (draw(&seed, 300) + 1));
    }
    const uint32_t sizes[] = {200, 300, 500};
    for (size_t s = 0; s < 3; s++) {
        struct learn_report report;
        SCOPED(vocab_close_at) struct vocab *vocab = learn(counts, sizes[s], 0, &report);
        const size_t wanted = sizes[s] - LEARN_SPECIALS - 2 * report.letters;
        size_t found[2];
        for (int higher = 1; higher >= 0; higher--) { /* a threshold one higher gives too few pieces, this one enough */
            row_count = 0;
            for (int round = 0; round < 4; round++)
                naive_round(counts, (int64_t)report.threshold + higher, round == 0);
            found[higher] = 0;
            for (size_t i = 0; i < row_count; i++)
                found[higher] += rows[i].chosen;
        }
        assert_true(found[1] < wanted && found[0] >= wanted);
        int64_t before = INT64_MAX;
        for (uint32_t id = LEARN_SPECIALS + 2 * report.letters; id < vocab->count; id++) {
            const struct str piece = vocab->pieces[id];
            const bool inside = str_starts(piece, STR("##"));
            const struct row *row = row_of(piece.data + 2 * inside, (unsigned)piece.size - 2 * inside, inside, false);
            assert_true(row && row->chosen);
            assert_true(row->count < before || (row->count == before && str_compare(vocab->pieces[id - 1], piece) < 0));
            before = row->count;
        }
        assert_int_equal(vocab->count, sizes[s]);
    }
}

TEST(little_text_gives_fewer_pieces)
{
    SCOPED(word_counts_close_at) struct word_counts *counts = word_counts_open(0);
    struct learn_report report;
    struct vocab *vocab = learn(counts, 30522, 0, &report);
    assert_int_equal(vocab->count, LEARN_SPECIALS);
    assert_int_equal(report.words, 0);
    vocab_close(vocab);
    word_counts_add(counts, STR("a"), 1);
    word_counts_add(counts, STR("bond"), 1);
    vocab = learn(counts, 30522, 0, &report);
    assert_int_equal(vocab->count, LEARN_SPECIALS + 10); /* only the letters: a row that occurs once is not a piece */
    vocab_close(vocab);
    word_counts_add(counts, STR("bond"), 1);
    word_counts_add(counts, STR("bondo"), 1);
    vocab = learn(counts, 30522, 0, &report);
    assert_true(has(vocab, "bond") && !has(vocab, "bondo"));
    assert_int_equal(report.pieces, vocab->count);
    if (algorithm == LEARN_GREEDY) { /* rows whose counts all went to longer pieces fill up the vocabulary */
        assert_piece(vocab, LEARN_SPECIALS + 10, "bond");
        assert_piece(vocab, LEARN_SPECIALS + 11, "##nd");
        assert_piece(vocab, LEARN_SPECIALS + 12, "##ond");
        assert_int_equal(vocab->count, LEARN_SPECIALS + 13);
    }
    vocab_close(vocab);
}

TEST(rare_letters_are_left_out)
{
    SCOPED(word_counts_close_at) struct word_counts *counts = word_counts_open(1 << 20);
    for (uint32_t i = 0; i < 2000; i++) { /* ideographs of falling frequency */
        char letter[4];
        const unsigned size = utf8_write(0x4E00 + i, letter);
        word_counts_add(counts, (struct str){letter, size}, 10000 - i);
    }
    word_counts_add(counts, STR("\u4E00\u55DA"), 1); /* one of them is kept, the other is not */
    struct learn_report report;
    struct vocab *vocab = learn(counts, 5000, 0, &report);
    assert_int_equal(report.letters, 1000);
    assert_int_equal(report.letters_left_out, 1001);
    assert_int_equal(report.words_left_out, 1);
    assert_true(has(vocab, "\u4E00") && has(vocab, "\u51E7") && !has(vocab, "\u51E8"));
    vocab_close(vocab);
    vocab = learn(counts, 200, 0, &report); /* as many as there is room for */
    assert_int_equal(vocab->count, 200);
    vocab_close(vocab);
}

/* Letters take half of the room, and more of it only until all but a thousandth of the text is covered. */
TEST(rare_letters_take_little_of_the_room)
{
    SCOPED(word_counts_close_at) struct word_counts *counts = word_counts_open(0);
    struct learn_report report;
    word_counts_add(counts, STR("abcde"), 2000); /* ten pieces: half of the room for 20 */
    word_counts_add(counts, STR("f"), 50);       /* one in 200 letters */
    word_counts_add(counts, STR("g"), 5);        /* one in 2000 */
    vocab_close(learn(counts, 200, 200 - LEARN_SPECIALS - 20, &report));
    assert_int_equal(report.letters, 6);
    assert_int_equal(report.letters_left_out, 1);
}

TEST(no_room_is_an_error)
{
    SCOPED(word_counts_close_at) struct word_counts *counts = word_counts_open(0);
    struct vocab *vocab;
    struct error err;
    const struct learn_options options = {.algorithm = algorithm, .vocab_size = 200, .unused = 96};
    assert_int_equal(vocab_learn(counts, &options, &vocab, NULL, &err), -1);
    assert_int_equal(err.kind, ERR_USAGE);
}

/* Rare pieces and rare letters are left out only if options say so. */
TEST(frequency_and_alphabet_are_bounded)
{
    SCOPED(word_counts_close_at) struct word_counts *counts = word_counts_open(0);
    word_counts_add(counts, STR("moon"), 100);
    word_counts_add(counts, STR("river"), 10);
    word_counts_add(counts, STR("quiz"), 3);
    struct learn_report report;
    struct vocab *vocab;
    struct error err;
    struct learn_options options = {.algorithm = algorithm, .vocab_size = 300};
    assert_int_equal(vocab_learn(counts, &options, &vocab, &report, &err), 0);
    assert_true(has(vocab, "moon") && has(vocab, "river") && has(vocab, "quiz") && report.letters == 10);
    vocab_close(vocab);
    options.min_frequency = 10;
    assert_int_equal(vocab_learn(counts, &options, &vocab, &report, &err), 0);
    assert_true(has(vocab, "moon") && has(vocab, "river") && !has(vocab, "quiz") && has(vocab, "q"));
    assert_int_equal(report.threshold, 10);
    vocab_close(vocab);
    options.min_frequency = 11;
    options.limit_alphabet = 3; /* o, m, n */
    assert_int_equal(vocab_learn(counts, &options, &vocab, &report, &err), 0);
    assert_true(has(vocab, "moon") && !has(vocab, "river") && has(vocab, "##n") && !has(vocab, "r"));
    assert_int_equal(report.letters, 3);
    assert_int_equal(report.letters_left_out, 7);
    vocab_close(vocab);
}

/* Long words, deep repetitions, huge counts, little memory. */
TEST(hostile_words_do_no_harm)
{
    struct word_counts *counts = word_counts_open(64 << 20);
    char word[256];
    memset(word, 'a', sizeof word);
    for (size_t size = 1; size <= 110; size++)
        word_counts_add(counts, (struct str){word, size}, UINT64_C(1) << 50);
    struct learn_report report;
    struct vocab *vocab = learn(counts, 300, 0, &report);
    assert_int_equal(report.words, 99);
    assert_int_equal(report.words_left_out, 10); /* longer than 100 letters */
    for (uint32_t id = 0; id < vocab->count; id++)
        assert_true(vocab->pieces[id].size <= 2 + (algorithm == LEARN_GREEDY ? 50 : 100));
    vocab_close(vocab);
    word_counts_close(counts);

    counts = random_words(5000, 0);
    struct error err;
    const struct learn_options options = {.algorithm = algorithm, .vocab_size = 1000, .bytes_max = 100000};
    assert_int_equal(vocab_learn(counts, &options, &vocab, &report, &err), 0);
    assert_true(report.words_left_out > report.words && report.words > 10);
    vocab_close(vocab);
    word_counts_close(counts);
}

/* A learned vocabulary tokenizes its own text without unknown words. */
TEST(learned_words_are_known)
{
    SCOPED(word_counts_close_at) struct word_counts *counts = random_words(3000, 0);
    SCOPED(vocab_close_at) struct vocab *vocab = learn(counts, 500, 0, NULL);
    SCOPED(tokenizer_close_at) struct tokenizer *tokenizer = tokenizer_open(vocab, &(struct tokenizer_options){0});
    SCOPED(tokenizer_state_close_at) struct tokenizer_state *words = tokenizer_state_open(tokenizer);
    SCOPED(ids_release) struct ids ids = {0};
    for (size_t i = 0; i < word_counts_size(counts); i++) {
        uint64_t n;
        tokenizer_ids(words, word_counts_word(counts, i, &n), &ids);
    }
    for (size_t i = 0; i < ids.count; i++)
        assert_true(ids.data[i] != vocab->unk);
}

/* If all words are equally rare, as many as fit into memory are used, regardless of their order. */
TEST(of_equally_rare_words_some_are_learned)
{
    uint64_t hashes[2];
    for (uint32_t order = 0; order < 2; order++) {
        SCOPED(word_counts_close_at) struct word_counts *counts = word_counts_open(16 << 20);
        for (uint32_t i = 0; i < 5000; i++) {
            char word[16];
            snprintf(word, sizeof word, "word%u", 10000 + (order ? 4999 - i : i));
            word_counts_add(counts, str_of(word), 3);
        }
        struct learn_report report;
        SCOPED(vocab_close_at) struct vocab *vocab = NULL;
        struct error err;
        const struct learn_options options = {.algorithm = algorithm, .vocab_size = 300, .bytes_max = 480000};
        assert_int_equal(vocab_learn(counts, &options, &vocab, &report, &err), 0);
        assert_true(report.words > 800 && report.words < 1200 && report.words + report.words_left_out == 5000);
        assert_int_equal(vocab->count, 300);
        hashes[order] = vocab->hash;
    }
    assert_true(hashes[0] == hashes[1]);
}

/* The sums of a coverage. */
TEST(coverage_adds_up)
{
    SCOPED(word_counts_close_at) struct word_counts *counts = word_counts_open(0);
    word_counts_add(counts, STR("moon"), 90);
    word_counts_add(counts, STR("moons"), 9);
    SCOPED(vocab_close_at) struct vocab *vocab = learn(counts, 200, 0, NULL);
    word_counts_add(counts, STR("s"), 3);
    word_counts_add(counts, STR("moonq"), 7); /* no such letter */
    struct coverage coverage;
    coverage_measure(vocab, &(struct tokenizer_options){0}, counts, &coverage);
    assert_true(coverage.words == 109 && coverage.whole == 102 && coverage.unknown == 7 && coverage.pieces == 109);
    assert_true(coverage.letters == 4 * 90 + 5 * 9 + 3 + 5 * 7 && coverage.foreign == 7);
    word_counts_reset(counts);
    coverage_measure(vocab, &(struct tokenizer_options){0}, counts, &coverage);
    assert_true(coverage.words == 0 && coverage.pieces == 0);
}

/* The most frequent of the letters left out are named. */
TEST(letters_left_out_are_named)
{
    SCOPED(word_counts_close_at) struct word_counts *counts = word_counts_open(0);
    word_counts_add(counts, STR("ab"), 50);
    word_counts_add(counts, STR("cd"), 7);
    word_counts_add(counts, STR("e"), 9);
    struct learn_report report;
    SCOPED(vocab_close_at) struct vocab *vocab = NULL;
    struct error err;
    const struct learn_options options = {.algorithm = algorithm, .vocab_size = 200, .limit_alphabet = 2};
    assert_int_equal(vocab_learn(counts, &options, &vocab, &report, &err), 0);
    assert_true(report.letters == 2 && report.letters_left_out == 3);
    assert_true(report.left_out[0].code_point == 'e' && report.left_out[0].count == 9);
    assert_true(report.left_out[1].code_point == 'c' && report.left_out[2].code_point == 'd');
}

int main(void)
{
    algorithm = LEARN_GREEDY;
    const int failed = unit_run();
    algorithm = LEARN_BPE;
    return failed + unit_run();
}
