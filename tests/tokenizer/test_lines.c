/* The output of `dsdata tokenize`. */
#include "tests/tokenizer/help.h"

#include "tokenizer/lines.h"

static void check(const char *pieces, enum lines_format format, bool special, struct str text, const char *expected)
{
    SCOPED(vocab_close_at) struct vocab *vocab = vocab_of(pieces);
    SCOPED(tokenizer_close_at)
    struct tokenizer *tokenizer = tokenizer_open(vocab, &(struct tokenizer_options){.strip_accents = true});
    SCOPED(tokenizer_state_close_at) struct tokenizer_state *words = tokenizer_state_open(tokenizer);
    struct lines *lines = lines_open(vocab, &(struct lines_options){format, special});
    SCOPED(ids_release) struct ids ids = {0};
    SCOPED(buf_release) struct buf out = {0};
    lines_tokenize(lines, words, text, &ids, &out);
    assert_string_equal(buf_text(&out), expected);
    assert_int_equal(out.size, strlen(expected));
    lines_close(lines);
}

#define VOCAB "[PAD] [UNK] [CLS] [SEP] [MASK] a b ##c d e f g h i j k"

TEST(ids_stand_with_a_blank_between)
{
    check(VOCAB, LINES_IDS, false, STR("a bc\nk x\n"), "5 6 7\n15 1\n");
    check(VOCAB, LINES_IDS, true, STR("a\n\nb\n"), "2 5 3\n2 3\n2 6 3\n");
}

TEST(lines_end_at_lf_only)
{
    check(VOCAB, LINES_IDS, false, STR(""), "");
    check(VOCAB, LINES_IDS, false, STR("\n"), "\n");
    check(VOCAB, LINES_IDS, false, STR("a"), "5\n");
    check(VOCAB, LINES_IDS, false, STR("a\n\n"), "5\n\n");
    check(VOCAB, LINES_IDS, false, STR("a\r\nb\rd\n"), "5\n6 8\n");
    check(VOCAB, LINES_IDS, false, STR("a\u2028b\u2029d\xC2\x85\x0B\x0C\n"), "5 6 8\n");
    check(VOCAB, LINES_IDS, false, STR("a \0 b\n"), "5 6\n");
}

TEST(pieces_and_json)
{
    check(VOCAB, LINES_PIECES, false, STR("A bc x\n\n"), "a b ##c [UNK]\n\n");
    check(VOCAB, LINES_PIECES, true, STR("a"), "[CLS] a [SEP]\n");
    check(VOCAB, LINES_JSON, true, STR("bc\n"), "{\"ids\":[2,6,7,3],\"pieces\":[\"[CLS]\",\"b\",\"##c\",\"[SEP]\"]}\n");
    check("[PAD] [UNK] [CLS] [SEP] [MASK] \" \\ \u00E7", LINES_JSON, false, STR("\"\\\n\n"),
          "{\"ids\":[5,6],\"pieces\":[\"\\\"\",\"\\\\\"]}\n{\"ids\":[],\"pieces\":[]}\n");
}
