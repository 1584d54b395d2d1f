/* The JSON is what `tokenizers` 0.2x writes for BertTokenizerFast. */
#include "trainer/keep/tokenizer_write.h"

#include <assert.h>

#include "base/json.h"

enum { PAD, UNK, CLS, SEP, MASK, SPECIALS };
static const char *const specials[SPECIALS] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};

/* Makes {"piece": id}, in order; a piece that occurs twice has its last id, as in Python's loader. */
static int pieces_of(const char *path, struct str vocab, json_t *pieces, struct error *err)
{
    json_int_t id = 0;
    for (const char *at = vocab.data, *end = at + vocab.size; at < end; id++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        struct str line = str_range(at, stop ? stop : end);
        at = stop ? stop + 1 : end;
        if (line.size > 0 && line.data[line.size - 1] == '\r')
            line.size--;
        json_t *number = json_integer(id);
        if (json_object_setn_new(pieces, line.data, line.size, number) < 0)
            return fail_at(err, ERR_INPUT, path, (uint64_t)(line.data - vocab.data), "line %d is not UTF-8",
                           (int)id + 1);
    }
    return 0;
}

static json_t *template_part(const char *kind, const char *name, int type)
{
    return json_pack("{s:{s:s, s:i}}", kind, "id", name, "type_id", type);
}

/* [CLS] A [SEP], or [CLS] A [SEP] B [SEP]. */
static json_t *template_of(json_int_t cls, json_int_t sep)
{
    return json_pack("{s:s, s:[o,o,o], s:[o,o,o,o,o], s:{s:{s:s, s:[I], s:[s]}, s:{s:s, s:[I], s:[s]}}}", "type",
                     "TemplateProcessing", "single", template_part("SpecialToken", "[CLS]", 0),
                     template_part("Sequence", "A", 0), template_part("SpecialToken", "[SEP]", 0), "pair",
                     template_part("SpecialToken", "[CLS]", 0), template_part("Sequence", "A", 0),
                     template_part("SpecialToken", "[SEP]", 0), template_part("Sequence", "B", 1),
                     template_part("SpecialToken", "[SEP]", 1), "special_tokens", "[CLS]", "id", "[CLS]", "ids", cls,
                     "tokens", "[CLS]", "[SEP]", "id", "[SEP]", "ids", sep, "tokens", "[SEP]");
}

/* Takes ownership of `pieces`. */
static json_t *tokenizer_of(json_t *pieces, const json_int_t ids[SPECIALS], const struct tokenizer_words *words)
{
    json_t *added = json_array();
    for (int i = 0; i < SPECIALS; i++)
        json_array_append_new(added,
                              json_pack("{s:I, s:s, s:b, s:b, s:b, s:b, s:b}", "id", ids[i], "content", specials[i],
                                        "single_word", 0, "lstrip", 0, "rstrip", 0, "normalized", 0, "special", 1));
    json_t *model = json_pack("{s:s, s:s, s:s, s:i, s:o}", "type", "WordPiece", "unk_token", "[UNK]",
                              "continuing_subword_prefix", "##", "max_input_chars_per_word", 100, "vocab", pieces);
    json_t *normalizer =
        json_pack("{s:s, s:b, s:b, s:b, s:b}", "type", "BertNormalizer", "clean_text", 1, "handle_chinese_chars",
                  !words->joined, "strip_accents", words->strip_accents, "lowercase", !words->cased);
    return json_pack("{s:s, s:n, s:n, s:o, s:o, s:{s:s}, s:o, s:{s:s, s:s, s:b}, s:o}", "version", "1.0", "truncation",
                     "padding", "added_tokens", added, "normalizer", normalizer, "pre_tokenizer", "type",
                     "BertPreTokenizer", "post_processor", template_of(ids[CLS], ids[SEP]), "decoder", "type",
                     "WordPiece", "prefix", "##", "cleanup", 1, "model", model);
}

static void take_text(json_t *value, struct buf *out)
{
    assert(value); /* pieces are UTF-8, so that all of it can be packed */
    json_add_text(value, JSON_INDENT(2), out);
    buf_add_byte(out, '\n');
    json_decref(value);
}

int tokenizer_make(struct tokenizer_files *files, const char *path, struct str vocab,
                   const struct tokenizer_words *words, uint32_t length_max, struct error *err)
{
    *files = (struct tokenizer_files){0};
    json_t *pieces = json_object();
    json_int_t ids[SPECIALS];
    int result = pieces_of(path, vocab, pieces, err);
    for (int i = 0; i < SPECIALS && result == 0; i++) {
        const json_t *id = json_object_get(pieces, specials[i]);
        ids[i] = json_integer_value(id);
        if (!id)
            result = fail_at(err, ERR_INPUT, path, ERROR_NO_OFFSET, "has no %s", specials[i]);
    }
    if (result < 0) {
        json_decref(pieces);
        return result;
    }
    buf_add_str(&files->vocab, vocab);
    take_text(tokenizer_of(pieces, ids, words), &files->tokenizer);
    take_text(json_pack("{s:s, s:b, s:b, s:b, s:i, s:s, s:s, s:s, s:s, s:s}", "tokenizer_class", "BertTokenizer",
                        "do_lower_case", !words->cased, "strip_accents", words->strip_accents, "tokenize_chinese_chars",
                        !words->joined, "model_max_length", (int)length_max, "pad_token", "[PAD]", "unk_token", "[UNK]",
                        "cls_token", "[CLS]", "sep_token", "[SEP]", "mask_token", "[MASK]"),
              &files->config);
    return 0;
}
