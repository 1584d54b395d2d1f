/* Every piece is letters of bytes or a special, so that a quote and a backslash are all that JSON escapes. */
#include "tokenizer/bpe_write.h"

#include "tokenizer/bpe.h"

#include <assert.h>

static void add_text(struct buf *out, struct str text)
{
    buf_add_byte(out, '"');
    for (size_t i = 0; i < text.size; i++) {
        assert((unsigned char)text.data[i] >= 0x20);
        if (text.data[i] == '"' || text.data[i] == '\\')
            buf_add_byte(out, '\\');
        buf_add_byte(out, text.data[i]);
    }
    buf_add_byte(out, '"');
}

static void add_added(const struct vocab *vocab, struct buf *out)
{
    buf_add_text(out, "  \"added_tokens\": [");
    for (size_t i = 0; i < vocab->added.count; i++) {
        const struct added_token *token = &vocab->added.items[i];
        buf_addf(out, "%s\n    {\"id\": %u, \"content\": ", i ? "," : "", token->id);
        add_text(out, token->content);
        buf_addf(out,
                 ", \"single_word\": false, \"lstrip\": %s, \"rstrip\": false, \"normalized\": false, "
                 "\"special\": true}",
                 token->lstrip ? "true" : "false");
    }
    buf_add_text(out, "\n  ],\n");
}

static void add_special(const struct vocab *vocab, uint32_t id, unsigned type, struct buf *out)
{
    buf_add_text(out, "{\"SpecialToken\": {\"id\": ");
    add_text(out, vocab->pieces[id]);
    buf_addf(out, ", \"type_id\": %u}}", type);
}

/* Token types are 0 with RoBERTa's two separators, because its models have one type. */
static void add_template(const struct vocab *vocab, bool two_separators, struct buf *out)
{
    const unsigned second = two_separators ? 0 : 1;
    buf_add_text(out, "  \"post_processor\": {\"type\": \"TemplateProcessing\",\n");
    for (unsigned pair = 0; pair < 2; pair++) {
        buf_addf(out, "    \"%s\": [", pair ? "pair" : "single");
        add_special(vocab, vocab->cls, 0, out);
        buf_add_text(out, ", {\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}, ");
        add_special(vocab, vocab->sep, 0, out);
        if (pair && two_separators) {
            buf_add_text(out, ", ");
            add_special(vocab, vocab->sep, 0, out);
        }
        if (pair) {
            buf_addf(out, ", {\"Sequence\": {\"id\": \"B\", \"type_id\": %u}}, ", second);
            add_special(vocab, vocab->sep, second, out);
        }
        buf_add_text(out, "],\n");
    }
    buf_add_text(out, "    \"special_tokens\": {");
    const uint32_t ids[] = {vocab->cls, vocab->sep};
    for (size_t i = 0; i < 2; i++) {
        buf_add_text(out, i ? ", " : "");
        add_text(out, vocab->pieces[ids[i]]);
        buf_add_text(out, ": {\"id\": ");
        add_text(out, vocab->pieces[ids[i]]);
        buf_addf(out, ", \"ids\": [%u], \"tokens\": [", ids[i]);
        add_text(out, vocab->pieces[ids[i]]);
        buf_add_text(out, "]}");
    }
    buf_add_text(out, "}},\n");
}

void bpe_write_json(const struct vocab *vocab, bool two_separators, struct buf *out)
{
    const struct bpe_rules *rules = vocab->bpe;
    assert(rules->nfc && !rules->prefix_space && rules->pattern == split_pattern_find(NULL));
    buf_add_text(out, "{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n  \"padding\": null,\n");
    add_added(vocab, out);
    buf_add_text(out, "  \"normalizer\": {\"type\": \"NFC\"},\n"
                      "  \"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false, "
                      "\"trim_offsets\": true, \"use_regex\": true},\n");
    add_template(vocab, two_separators, out);
    buf_add_text(out, "  \"decoder\": {\"type\": \"ByteLevel\", \"add_prefix_space\": true, \"trim_offsets\": true, "
                      "\"use_regex\": true},\n"
                      "  \"model\": {\"type\": \"BPE\", \"dropout\": null, \"unk_token\": null, "
                      "\"continuing_subword_prefix\": null,\n    \"end_of_word_suffix\": null, \"fuse_unk\": false, "
                      "\"byte_fallback\": false, \"ignore_merges\": false,\n    \"vocab\": {");
    for (uint32_t id = 0; id < vocab->count; id++) {
        buf_add_text(out, id ? ",\n      " : "\n      ");
        add_text(out, vocab->pieces[id]);
        buf_addf(out, ": %u", id);
    }
    buf_add_text(out, "\n    },\n    \"merges\": [");
    for (size_t i = 0; i < rules->merge_count; i++) {
        buf_add_text(out, i ? ",\n      [" : "\n      [");
        add_text(out, vocab->pieces[rules->merges[i].left]);
        buf_add_text(out, ", ");
        add_text(out, vocab->pieces[rules->merges[i].right]);
        buf_add_text(out, "]");
    }
    buf_add_text(out, "\n    ]\n  }\n}\n");
}

void bpe_write_config(const struct vocab *vocab, struct buf *out)
{
    buf_add_text(out, "{\n  \"made_by\": \"dsdata vocab\",\n  \"tokenizer_class\": \"PreTrainedTokenizerFast\",\n"
                      "  \"clean_up_tokenization_spaces\": false");
    static const char *const keys[ROLES] = {
        [ROLE_PAD] = "pad", [ROLE_UNK] = "unk", [ROLE_CLS] = "cls", [ROLE_SEP] = "sep", [ROLE_MASK] = "mask"};
    for (size_t role = 0; role < ROLES; role++) {
        buf_addf(out, ",\n  \"%s_token\": ", keys[role]);
        add_text(out, vocab->pieces[vocab->roles[role]]);
    }
    buf_add_text(out, "\n}\n");
}
