/* The vocabulary and tokenizer beside a model's weights. A dataset of other pieces would train rows that mean something
 * else, and nothing in the weights would show it. */
#include "trainer/recipe/text.h"

#include <inttypes.h>

#include "base/json.h"
#include "base/log.h"
#include "base/output.h"
#include "base/progress.h"
#include "tokenizer/bpe.h"
#include "tokenizer/tokenizer_files.h"
#include "tokenizer/tokenizer_rules.h"
#include "trainer/data/input.h"

#define LOST_NAMED 10u

static int need_role(const struct vocab *vocab, const char *directory, enum vocab_role role, struct error *err)
{
    if (vocab->roles[role] != VOCAB_NONE)
        return 0;
    fail_at(err, ERR_UNSAFE, directory, ERROR_NO_OFFSET, "its tokenizer has no %s token", vocab_role_name(role));
    return hint(err, "tokenizer_config.json or special_tokens_map.json names it: pad_token, cls_token, sep_token, "
                     "mask_token");
}

static int check_frames(const struct vocab *vocab, const char *directory, struct error *err)
{
    TRY(need_role(vocab, directory, ROLE_PAD, err));
    TRY(need_role(vocab, directory, ROLE_CLS, err));
    TRY(need_role(vocab, directory, ROLE_SEP, err));
    if (vocab->before.count == 1 && vocab->after.count == 1)
        return 0;
    fail_at(err, ERR_UNSAFE, directory, ERROR_NO_OFFSET, "its tokenizer puts %zu tokens before a text and %zu after it",
            vocab->before.count, vocab->after.count);
    return hint(err, "a model of BERT's kind needs one before and one after: a post_processor TemplateProcessing or "
                     "RobertaProcessing in tokenizer.json");
}

static void open_tokenizer(struct text *text)
{
    text->tokenizer = tokenizer_open(text->vocab, &text->words);
    text->state = tokenizer_state_open(text->tokenizer);
}

int text_open(struct text *text, const char *directory, struct model_config *config, struct error *err)
{
    struct tokenizer_facts facts;
    *text = (struct text){.directory = mem_copy_text(directory)};
    TRY(tokenizer_read(&facts, directory, PROFILE_HF, err));
    text->vocab = facts.vocab;
    TRY(check_frames(text->vocab, directory, err));
    text->words = facts.words;
    if (facts.vocab->count > (uint32_t)config->vocabulary) {
        fail_at(err, ERR_MISMATCH, directory, ERROR_NO_OFFSET,
                "the vocabulary has %" PRIu32 " pieces, the model has embeddings of %" PRId32, facts.vocab->count,
                config->vocabulary);
        return hint(err, "put the tokenizer files that the model was trained with beside its weights");
    }
    config->spare = config->vocabulary - (int32_t)facts.vocab->count;
    open_tokenizer(text);
    return 0;
}

int text_need_mask(const struct text *text, struct error *err)
{
    return need_role(text->vocab, text->directory, ROLE_MASK, err);
}

static void open_again(struct text *text)
{
    tokenizer_state_close(text->state);
    tokenizer_close(text->tokenizer);
    open_tokenizer(text);
}

void text_take_masks(struct text *text)
{
    text->words.mask_in_text = true;
    open_again(text);
}

bool text_take_specials(struct text *text, const struct settings *settings, const struct origin *origin)
{
    text->words.special_in_text =
        settings->special_in_text || json_is_true(json_object_get(origin->identity, "special_in_text"));
    if (text->words.special_in_text)
        open_again(text);
    return text->words.special_in_text;
}

int text_need_pairs(const struct text *text, struct error *err)
{
    if (text->vocab->between.count > 0)
        return 0;
    fail_at(err, ERR_UNSAFE, text->directory, ERROR_NO_OFFSET, "its tokenizer does not say how two texts become one");
    return hint(err, "supported is a \"pair\" with the same tokens around both as around one text, and some between");
}

void text_word(const struct text *text, struct str word, struct ids *out)
{
    struct buf spaced = {0};
    if (text->vocab->kind == VOCAB_WORDPIECE || str_starts(word, STR(" "))) {
        tokenizer_ids(text->state, word, out);
        return;
    }
    buf_add_byte(&spaced, ' ');
    buf_add_str(&spaced, word);
    tokenizer_ids(text->state, buf_str(&spaced), out);
    buf_release(&spaced);
}

void text_join(const struct text *text, uint32_t id, struct buf *out)
{
    const struct str piece = text->vocab->pieces[id];
    const bool inside = str_starts(piece, STR("##"));
    if (text->vocab->kind != VOCAB_WORDPIECE) {
        text_piece(text, id, out);
        return;
    }
    buf_add_text(out, out->size > 0 && !inside ? " " : "");
    buf_add(out, piece.data + (inside ? 2 : 0), piece.size - (inside ? 2 : 0));
}

static const struct added_token *added_of(const struct vocab *vocab, uint32_t id)
{
    for (size_t i = 0; i < vocab->added.count; i++)
        if (vocab->added.items[i].id == id)
            return &vocab->added.items[i];
    return NULL;
}

void text_piece(const struct text *text, uint32_t id, struct buf *out)
{
    const struct vocab *vocab = text->vocab;
    const struct added_token *added = added_of(vocab, id);
    if (added)
        buf_add_str(out, added->content);
    else if (vocab->kind == VOCAB_WORDPIECE || !bpe_bytes(vocab->pieces[id], out))
        buf_add_str(out, vocab->pieces[id]);
}

void text_say_spare(const struct model_config *config)
{
    char rows[32], pieces[32], spare[32];
    if (config->spare > 0)
        log_say("note       the table has %s rows, the tokenizer %s pieces: the %s spare %s kept and never predicted",
                format_count((uint64_t)config->vocabulary, rows), format_count((uint64_t)model_pieces(config), pieces),
                format_count((uint64_t)config->spare, spare), config->spare == 1 ? "row is" : "rows are");
}

void text_close(struct text *text)
{
    if (text->tokenizer) {
        tokenizer_state_close(text->state);
        tokenizer_close(text->tokenizer);
    }
    vocab_close(text->vocab);
    mem_free(text->directory);
    *text = (struct text){0};
}

/* ---- against a dataset ---- */

static int refuse_fewer(const char *path, uint32_t pieces, struct error *err)
{
    fail_at(err, ERR_MISMATCH, path, ERROR_NO_OFFSET,
            "has %" PRIu32 " pieces, the first of the dataset's, which has more", pieces);
    return hint(err, "training with --grow-vocab appends rows for the others");
}

static int refuse_more(const char *path, const struct vocab *theirs, uint32_t first, struct error *err)
{
    fail_at(err, ERR_MISMATCH, path, ERROR_NO_OFFSET,
            "has %" PRIu32 " pieces, the dataset only the first %" PRIu32 " of them (the next is %.*s)", theirs->count,
            first, (int)theirs->pieces[first].size, theirs->pieces[first].data);
    char *directory = path_parent(path);
    hint_command(err, "build the dataset with the model's pieces: dsdata build --vocab %s", directory);
    mem_free(directory);
    return -1;
}

/* Checks that their pieces are the dataset's, one per line of `ours`; with `first` they may be its first ones only. */
static int check_pieces(const char *path, const struct vocab *theirs, struct str ours, bool first, struct error *err)
{
    for (uint32_t id = 0;; id++) {
        struct str line;
        const bool more = input_line(&ours, &line);
        if (id == theirs->count && (!more || first))
            return 0;
        if (id == theirs->count)
            return refuse_fewer(path, id, err);
        if (!more)
            return refuse_more(path, theirs, id, err);
        if (!str_equal(line, theirs->pieces[id]))
            return fail_at(err, ERR_MISMATCH, path, ERROR_NO_OFFSET,
                           "is not the dataset's vocabulary: piece %" PRIu32 " differs", id);
    }
}

static int check_words(const char *path, const struct tokenizer_options *theirs, const struct tokenizer_words *ours,
                       struct error *err)
{
    if (theirs->cased != ours->cased)
        return fail_at(err, ERR_MISMATCH, path, ERROR_NO_OFFSET, "is of %s text, the dataset is %s",
                       theirs->cased ? "cased" : "uncased", ours->cased ? "cased" : "uncased");
    if (theirs->strip_accents != ours->strip_accents)
        return fail_at(err, ERR_MISMATCH, path, ERROR_NO_OFFSET, "is of text %s accents, the dataset's text %s them",
                       theirs->strip_accents ? "without" : "with", ours->strip_accents ? "lost" : "kept");
    if (theirs->joined != ours->joined)
        return fail_at(err, ERR_MISMATCH, path, ERROR_NO_OFFSET, "takes ideographs %s, the dataset %s",
                       theirs->joined ? "together" : "one by one", ours->joined ? "together" : "one by one");
    return 0;
}

static int refuse_kind(const char *path, const char *theirs, const char *ours, struct error *err)
{
    fail_at(err, ERR_MISMATCH, path, ERROR_NO_OFFSET, "is %s, the dataset's vocabulary is %s", theirs, ours);
    return hint_command(err, "build the dataset with the model's pieces: dsdata build --vocab %s", path);
}

/* Checks what `read` says, a file or a directory; `file` is the one that has its pieces (`first`: check_pieces). */
static int check_one(const char *read, const char *file, struct str pieces, bool first,
                     const struct tokenizer_words *words, struct error *err)
{
    struct tokenizer_facts facts;
    TRY(tokenizer_read(&facts, read, PROFILE_HF, err));
    int result = facts.vocab->kind == VOCAB_WORDPIECE ? 0 : refuse_kind(read, "a byte-level BPE", "WordPiece", err);
    if (result == 0)
        result = check_pieces(file, facts.vocab, pieces, first, err);
    if (result == 0 && facts.said)
        result = check_words(read, &facts.words, words, err);
    vocab_close(facts.vocab);
    return result;
}

static int refuse_unknown(const char *directory, struct error *err)
{
    fail_at(err, ERR_MISMATCH, directory, ERROR_NO_OFFSET,
            "has embeddings for more pieces than the dataset has, and neither vocab.txt nor tokenizer.json");
    return hint(err, "put the tokenizer files that the model was trained with beside its weights");
}

/* Neither vocab.txt nor other files of a tokenizer are in the directory. */
static int without_files(const char *directory, bool needed, struct error *err)
{
    if (needed)
        return refuse_unknown(directory, err);
    log_say("note       %s has neither vocab.txt nor tokenizer.json: its vocabulary is taken for the dataset's",
            directory);
    return 0;
}

int text_check(const char *directory, struct str pieces, const struct tokenizer_words *words, bool needed,
               struct error *err)
{
    char *vocab = path_join(directory, "vocab.txt"), *json = path_join(directory, "tokenizer.json");
    char *merges = path_join(directory, "merges.txt");
    const bool has_vocab = path_exists(vocab), has_json = path_exists(json);
    const bool has_merges = !has_vocab && !has_json && path_exists(merges);
    int result = 0;
    if (has_merges)
        result = check_one(directory, merges, pieces, false, words, err);
    if (has_vocab || has_json)
        result = check_one(directory, has_json ? json : vocab, pieces, false, words, err);
    if (result == 0 && has_vocab && has_json) /* other programs read it; it has no added tokens, which come last */
        result = check_one(vocab, vocab, pieces, true, words, err);
    if (!has_vocab && !has_json && !has_merges)
        result = without_files(directory, needed, err);
    mem_free(vocab);
    mem_free(json);
    mem_free(merges);
    return result;
}

/* Of equal pieces: the flags and the order. */
static bool same_tokens(const struct added_tokens *a, const struct added_tokens *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++) {
        const struct added_token *x = &a->items[i], *y = &b->items[i];
        same = x->id == y->id && x->special == y->special && x->single_word == y->single_word &&
               x->lstrip == y->lstrip && x->rstrip == y->rstrip && x->normalized == y->normalized;
    }
    return same;
}

/* What differs between two tokenizers, or NULL. */
static const char *difference(const struct vocab *theirs, const struct vocab *ours)
{
    const struct bpe_rules *a = theirs->bpe, *b = ours->bpe;
    if (theirs->count != ours->count || theirs->hash != ours->hash)
        return "pieces";
    if (a->merge_count != b->merge_count || a->ignore_merges != b->ignore_merges ||
        (a->merge_count > 0 && memcmp(a->merges, b->merges, a->merge_count * sizeof *a->merges) != 0))
        return "merges";
    if (a->pattern != b->pattern || a->prefix_space != b->prefix_space || a->nfc != b->nfc ||
        a->unknown != b->unknown || a->fuse_unknown != b->fuse_unknown)
        return "rules for words";
    if (!same_tokens(&theirs->added, &ours->added))
        return "added tokens";
    return memcmp(theirs->roles, ours->roles, sizeof ours->roles) != 0 ? "special tokens" : NULL;
}

static int check_bpe(const char *model, const struct vocab *ours, struct error *err)
{
    struct tokenizer_facts facts;
    TRY(tokenizer_read(&facts, model, PROFILE_HF, err));
    const bool wordpiece = facts.vocab->kind == VOCAB_WORDPIECE;
    const char *what = wordpiece ? NULL : difference(facts.vocab, ours);
    vocab_close(facts.vocab);
    if (wordpiece)
        return refuse_kind(model, "WordPiece", "a byte-level BPE", err);
    if (!what)
        return 0;
    fail_at(err, ERR_MISMATCH, model, ERROR_NO_OFFSET, "its tokenizer and the dataset's have other %s", what);
    return hint_command(err, "build the dataset with the model's tokenizer: dsdata build --vocab %s", model);
}

/* ---- the files of a training ---- */

static void set_length(uint32_t length, struct buf *config)
{
    json_t *json = json_loadb(config->data, config->size, 0, NULL);
    json = json ? json : json_object();
    json_object_set_new(json, "model_max_length", json_integer(length));
    config->size = 0;
    json_add_text(json, JSON_INDENT(2), config);
    buf_add_byte(config, '\n');
    json_decref(json);
}

static void raise_length(uint32_t length, struct buf *config)
{
    json_t *json = json_loadb(config->data, config->size, 0, NULL);
    const json_t *most = json_object_get(json, "model_max_length");
    const bool less = json_is_integer(most) && json_integer_value(most) < (json_int_t)length;
    json_decref(json);
    if (less)
        set_length(length, config);
}

/* A class that the trained model's config.json would not lead to is named. */
static int name_class(const char *directory, struct buf *config, struct error *err)
{
    static const char *const names[] = {[RULES_CLASS_OTHER] = "PreTrainedTokenizerFast",
                                        [RULES_CLASS_GPT2] = "GPT2Tokenizer",
                                        [RULES_CLASS_ROBERTA] = "RobertaTokenizer",
                                        [RULES_CLASS_BERT] = "PreTrainedTokenizerFast"};
    json_auto_t *json = NULL;
    TRY(rules_read_beside(directory, "tokenizer_config.json", &json, err));
    if (json_object_get(json, "tokenizer_class"))
        return 0;
    json = json ? json : json_object();
    json_object_set_new(json, "tokenizer_class", json_string(names[rules_class_of(directory, json)]));
    config->size = 0;
    json_add_text(json, JSON_INDENT(2), config);
    buf_add_byte(config, '\n');
    return 0;
}

static int copy_files(const char *directory, uint32_t length, struct tokenizer_files *files, struct error *err)
{
    TRY(tokenizer_copy(files, directory, err));
    TRY(name_class(directory, &files->config, err));
    raise_length(length, &files->config);
    return 0;
}

int text_files(const struct text *text, uint32_t positions, uint32_t length, struct tokenizer_files *files,
               struct error *err)
{
    const char *directory = text->directory;
    const struct tokenizer_words words = {text->words.cased, text->words.strip_accents, text->words.joined};
    if (text->vocab->kind != VOCAB_WORDPIECE)
        return copy_files(directory, length, files, err);
    TRY(tokenizer_make(files, directory, (struct str){text->vocab->text, text->vocab->text_bytes}, &words, positions,
                       err));
    return text_keep(directory, length, files, err);
}

int text_keep(const char *directory, uint32_t length, struct tokenizer_files *files, struct error *err)
{
    char *path = path_join(directory, "tokenizer.json");
    int result = 0;
    if (path_exists(path)) {
        result = tokenizer_copy_one(files, TOKENIZER_JSON, directory, err);
        if (result == 0)
            result = tokenizer_copy_one(files, TOKENIZER_CONFIG, directory, err);
        if (result == 0)
            raise_length(length, &files->config);
    } else
        text_warn_lost(directory);
    mem_free(path);
    return result;
}

int text_bpe_files(const struct dataset *dataset, const char *model, bool needed, uint32_t positions, uint32_t length,
                   struct tokenizer_files *files, struct error *err)
{
    struct vocab *ours;
    if (model && !tokenizer_present(model)) {
        TRY(without_files(model, needed, err));
        model = NULL;
    }
    if (model) {
        TRY(dataset_vocab(&ours, dataset->directory, &dataset->manifest, err));
        const int result = check_bpe(model, ours, err);
        vocab_close(ours);
        TRY(result);
    }
    TRY(copy_files(model ? model : dataset->directory, length, files, err));
    if (!model)
        set_length(positions, &files->config);
    return 0;
}

void text_warn_lost(const char *directory)
{
    json_t *names = tokenizer_added(directory);
    struct buf text = {0};
    for (size_t i = 0; i < json_array_size(names) && i < LOST_NAMED; i++)
        buf_addf(&text, "%s%.40s", i > 0 ? ", " : "", json_string_value(json_array_get(names, i)));
    if (json_array_size(names) > LOST_NAMED)
        buf_addf(&text, " … (%zu in all)", json_array_size(names));
    if (text.size > 0)
        log_warn("added-tokens-lost: the trained model's tokenizer will not search text for %s", buf_text(&text));
    buf_release(&text);
    json_decref(names);
}
