/* How vocab.txt is read and written. */
#include "tests/tokenizer/help.h"

#include "tokenizer/vocab_check.h"

#include "base/hash.h"

#define FILE_NAME "test_vocab.txt"
#define SPECIALS  "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n"

static int read_text(struct str text, struct vocab **vocab, struct error *err)
{
    assert_int_equal(file_write_all(FILE_NAME, text.data, text.size, err), 0);
    *err = (struct error){0};
    const int result = vocab_read(vocab, FILE_NAME, VOCAB_HF, err);
    remove(FILE_NAME);
    return result;
}

static struct vocab *good(struct str text)
{
    struct vocab *vocab = NULL;
    struct error err;
    assert_int_equal(read_text(text, &vocab, &err), 0);
    return vocab;
}

static struct error bad(struct str text)
{
    struct vocab *vocab = NULL;
    struct error err;
    assert_int_equal(read_text(text, &vocab, &err), -1);
    assert_null(vocab);
    assert_string_equal(err.file, FILE_NAME);
    return err;
}

static void assert_piece(const struct vocab *vocab, uint32_t id, const char *piece)
{
    assert_true(id < vocab->count);
    assert_true(str_equal(vocab->pieces[id], str_of(piece)));
}

TEST(ids_are_line_numbers)
{
    SCOPED(vocab_close_at) struct vocab *vocab = good(STR("the\n" SPECIALS "##s\n"));
    assert_int_equal(vocab->count, 7);
    assert_piece(vocab, 0, "the");
    assert_piece(vocab, 6, "##s");
    assert_int_equal(vocab->pad, 1);
    assert_int_equal(vocab->unk, 2);
    assert_int_equal(vocab->cls, 3);
    assert_int_equal(vocab->sep, 4);
    assert_int_equal(vocab->mask, 5);
    uint32_t id;
    assert_true(vocab_find(vocab, STR("##s"), &id) && id == 6);
    assert_false(vocab_find(vocab, STR("s"), &id));
    vocab_close(NULL);
}

TEST(line_ends_are_trimmed_and_may_be_missing)
{
    const struct str plain = STR(SPECIALS "a\nb\n");
    const struct str same[] = {
        STR("[PAD]\r\n[UNK]\r\n[CLS]\r\n[SEP]\r\n[MASK]\r\na\r\nb\r\n"),
        STR(SPECIALS "a\nb"),
        STR(SPECIALS "a\nb\n\n\r\n \n"),
        STR(SPECIALS "a \t\xC2\xA0\xE2\x80\xA8\nb\xC2\x85\x0B\xE3\x80\x80\n"),
    };
    SCOPED(vocab_close_at) struct vocab *expected = good(plain);
    assert_int_equal(expected->count, 7);
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        SCOPED(vocab_close_at) struct vocab *vocab = good(same[i]);
        assert_int_equal(vocab->count, 7);
        assert_true(vocab->hash == expected->hash);
    }
    assert_true(expected->hash == hash64(plain.data, plain.size));
}

TEST(of_equal_pieces_the_last_counts)
{
    SCOPED(vocab_close_at) struct vocab *vocab = good(STR(SPECIALS "a\nb\na\n[UNK]\n"));
    uint32_t id;
    assert_int_equal(vocab->count, 9);
    assert_true(vocab_find(vocab, STR("a"), &id) && id == 7);
    assert_int_equal(vocab->unk, 8);
    SCOPED(tokenizer_close_at) struct tokenizer *tokenizer = tokenizer_open(vocab, &(struct tokenizer_options){0});
    SCOPED(tokenizer_state_close_at) struct tokenizer_state *words = tokenizer_state_open(tokenizer);
    SCOPED(ids_release) struct ids ids = {0};
    tokenizer_ids(words, STR("a b c"), &ids);
    assert_int_equal(ids.count, 3);
    assert_int_equal(ids.data[0], 7);
    assert_int_equal(ids.data[1], 6);
    assert_int_equal(ids.data[2], 8);
}

TEST(an_empty_line_inside_is_a_piece_that_matches_nothing)
{
    SCOPED(vocab_close_at) struct vocab *vocab = good(STR("\n" SPECIALS "\na\n##b\n##\n"));
    assert_int_equal(vocab->count, 10);
    assert_piece(vocab, 0, "");
    assert_piece(vocab, 6, "");
    assert_string_equal(pieces_of(vocab, STR("a ab c"), false, true), "a a ##b [UNK]");
}

TEST(a_byte_order_mark_belongs_to_the_first_piece)
{
    const struct error err = bad(STR("\xEF\xBB\xBF" SPECIALS));
    assert_int_equal(err.kind, ERR_INPUT);
    assert_non_null(strstr(err.text, "[PAD]"));
    assert_non_null(strstr(err.hint, "byte order mark"));
    SCOPED(vocab_close_at)
    struct vocab *vocab = good(STR("\xEF\xBB\xBF"
                                   "a\n" SPECIALS));
    assert_piece(vocab, 0,
                 "\xEF\xBB\xBF"
                 "a");
}

TEST(a_missing_special_is_named)
{
    static const char *const specials[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    for (size_t missing = 0; missing < 5; missing++) {
        SCOPED(buf_release) struct buf text = {0};
        for (size_t i = 0; i < 5; i++)
            buf_addf(&text, "%s\n", i == missing ? "x" : specials[i]);
        const struct error err = bad(buf_str(&text));
        assert_int_equal(err.kind, ERR_INPUT);
        assert_non_null(strstr(err.text, specials[missing]));
    }
    assert_int_equal(bad(STR("")).kind, ERR_INPUT);
    assert_int_equal(bad(STR("\n")).kind, ERR_INPUT);
}

TEST(what_is_not_utf8_is_refused)
{
    const struct error err = bad(STR(SPECIALS "a\xFFz\n"));
    assert_int_equal(err.kind, ERR_INPUT);
    assert_int_equal(err.offset, strlen(SPECIALS) + 1);
}

TEST(limits_hold)
{
    SCOPED(buf_release) struct buf text = {0};
    buf_add_text(&text, SPECIALS);
    const size_t specials = text.size;
    for (size_t i = 5; i < VOCAB_PIECES_MAX; i++)
        buf_add_text(&text, "a\n");
    struct vocab *vocab = good(buf_str(&text));
    assert_int_equal(vocab->count, VOCAB_PIECES_MAX);
    vocab_close(vocab);
    buf_add_text(&text, "a\n");
    assert_int_equal(bad(buf_str(&text)).kind, ERR_UNSAFE);

    text.size = specials;
    buf_reserve(&text, VOCAB_PIECE_BYTES_MAX + 2);
    memset(text.data + text.size, 'a', VOCAB_PIECE_BYTES_MAX + 1);
    text.size += VOCAB_PIECE_BYTES_MAX;
    vocab = good(buf_str(&text));
    assert_int_equal(vocab->pieces[5].size, VOCAB_PIECE_BYTES_MAX);
    vocab_close(vocab);
    text.size++;
    assert_int_equal(bad(buf_str(&text)).kind, ERR_UNSAFE);
}

/* By Google's rules both ends of a line are stripped as by Python, ill-formed bytes are dropped, and empty lines are
 * kept. */
TEST(lines_by_googles_rules)
{
    struct vocab *vocab;
    struct error err;
    const struct str text = STR(SPECIALS " \x1Fthe\x1C\u2028\r\n\u3000\na\xFF"
                                         "b\n\n\n");
    assert_int_equal(file_write_all(FILE_NAME, text.data, text.size, &err), 0);
    assert_int_equal(vocab_read(&vocab, FILE_NAME, VOCAB_GOOGLE, &err), 0);
    assert_int_equal(vocab->count, 10);
    assert_piece(vocab, 5, "the");
    assert_piece(vocab, 6, "");
    assert_piece(vocab, 7, "ab");
    assert_piece(vocab, 9, "");
    /* The copy in a dataset reads back unchanged. */
    struct vocab *own;
    assert_int_equal(vocab_write(vocab, FILE_NAME, &err), 0);
    assert_int_equal(vocab_read(&own, FILE_NAME, VOCAB_OWN, &err), 0);
    assert_true(own->hash == vocab->hash && own->count == vocab->count);
    vocab_close(own);
    vocab_close(vocab);
    remove(FILE_NAME);
}

TEST(a_missing_file_is_the_users_mistake)
{
    struct vocab *vocab;
    struct error err = {0};
    assert_int_equal(vocab_read(&vocab, "no/such/vocab.txt", VOCAB_HF, &err), -1);
    assert_int_equal(err.kind, ERR_USAGE);
}

TEST(what_is_written_reads_back)
{
    SCOPED(vocab_close_at) struct vocab *vocab = vocab_of("a ##b \xC3\xA9"), *again = NULL;
    struct error err;
    assert_int_equal(vocab_write(vocab, FILE_NAME, &err), 0);
    assert_int_equal(vocab_read(&again, FILE_NAME, VOCAB_HF, &err), 0);
    remove(FILE_NAME);
    assert_int_equal(again->count, vocab->count);
    assert_true(again->hash == vocab->hash);
    assert_int_equal(again->mask, vocab->mask);
    for (uint32_t i = 0; i < vocab->count; i++)
        assert_true(str_equal(again->pieces[i], vocab->pieces[i]));
}

/* Each defect stands on lines of its own: its count and its first line are told, and no other's. */
TEST(every_defect_has_its_own_line)
{
    static const char *const lines[] = {"a\r", "b ", "", "twice", "\xff", NULL};
    for (size_t shift = 0; shift < 5; shift++) {
        SCOPED(buf_release) struct buf text = {0};
        struct vocab_defects found;
        uint64_t first[5], line = 0;
        buf_add_text(&text, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n");
        for (line = 5; line < 10; line++) {
            const size_t kind = (line + shift) % 5;
            first[kind] = line + 1;
            buf_addf(&text, "%s\n", lines[kind]);
        }
        buf_add_text(&text, "twice\nlast\n");
        vocab_inspect(buf_str(&text), &found);
        assert_int_equal(found.lines, 12);
        assert_true(found.crlf == 1 && found.first_crlf == first[0]);
        assert_true(found.spaced == 1 && found.first_spaced == first[1]);
        assert_true(found.empty == 1 && found.first_empty == first[2]);
        assert_true(found.duplicates == 1 && found.first_duplicate == first[3]);
        assert_true(found.ill_formed == 1 && found.first_ill_formed == first[4]);
        assert_true(found.missing_count == 0 && !found.byte_order_mark && !found.no_final_newline);
    }
}

/* Every role needs a piece of its own, but for the unknown one. */
TEST(a_role_without_a_piece_of_its_own_is_named)
{
    const struct str pieces[] = {STR("<pad>"), STR("<s>"), STR("</s>"), STR("<mask>")};
    uint32_t roles[ROLES] = {[ROLE_PAD] = 0, [ROLE_UNK] = VOCAB_NONE, [ROLE_CLS] = 1, [ROLE_SEP] = 2, [ROLE_MASK] = 3};
    for (int wrong = 0; wrong < 3; wrong++) {
        struct error err = {0};
        if (wrong)
            roles[ROLE_MASK] = wrong == 1 ? VOCAB_NONE : 2;
        SCOPED(vocab_close_at) struct vocab *vocab = vocab_make(VOCAB_WORDPIECE, pieces, 4, roles);
        assert_int_equal(vocab->sep, 2);
        assert_int_equal(vocab_need_roles(vocab, "x.json", &err), wrong ? -1 : 0);
        if (wrong == 1)
            assert_string_equal(err.text, "this tokenizer has no mask token");
        else if (wrong)
            assert_string_equal(err.text, "this tokenizer has </s> as its separator and its mask token");
        assert_int_equal(err.kind, wrong ? ERR_UNSAFE : 0);
    }
}
