/* The vocabulary and tokenizer beside a model's weights. A dataset of other pieces would train rows that mean something
 * else, and nothing in the weights would show it. */
#include "trainer/recipe/text.h"

#include <inttypes.h>

#include "base/file.h"
#include "base/json_write.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/output.h"
#include "base/progress.h"
#include "tokenizer/tokenizer_files.h"
#include "trainer/data/input.h"

#define KEPT_BYTES_MAX (64u << 20) /* of a tokenizer.json */
#define LOST_NAMED     10u

int text_open(struct text *text, const char *directory, struct model_config *config, struct error *err)
{
    struct tokenizer_facts facts;
    *text = (struct text){0};
    TRY(tokenizer_read(&facts, directory, PROFILE_HF, err));
    text->vocab = facts.vocab;
    TRY(vocab_need_wordpiece(text->vocab, directory, err));
    text->words = facts.words;
    if (facts.vocab->count > (uint32_t)config->vocabulary) {
        fail_at(err, ERR_MISMATCH, directory, ERROR_NO_OFFSET,
                "the vocabulary has %" PRIu32 " pieces, the model has embeddings of %" PRId32, facts.vocab->count,
                config->vocabulary);
        return hint(err, "put the tokenizer files that the model was trained with beside its weights");
    }
    config->spare = config->vocabulary - (int32_t)facts.vocab->count;
    text->tokenizer = tokenizer_open(text->vocab, &text->words);
    text->state = tokenizer_state_open(text->tokenizer);
    return 0;
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

/* Checks what `read` says, a file or a directory; `file` is the one that has its pieces (`first`: check_pieces). */
static int check_one(const char *read, const char *file, struct str pieces, bool first,
                     const struct tokenizer_words *words, struct error *err)
{
    struct tokenizer_facts facts;
    TRY(tokenizer_read(&facts, read, PROFILE_HF, err));
    int result = vocab_need_wordpiece(facts.vocab, read, err);
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

int text_check(const char *directory, struct str pieces, const struct tokenizer_words *words, bool needed,
               struct error *err)
{
    char *vocab = path_join(directory, "vocab.txt"), *json = path_join(directory, "tokenizer.json");
    const bool has_vocab = path_exists(vocab), has_json = path_exists(json);
    int result = 0;
    if (has_vocab || has_json)
        result = check_one(directory, has_json ? json : vocab, pieces, false, words, err);
    if (result == 0 && has_vocab && has_json) /* other programs read it; it has no added tokens, which come last */
        result = check_one(vocab, vocab, pieces, true, words, err);
    if (!has_vocab && !has_json && needed)
        result = refuse_unknown(directory, err);
    else if (!has_vocab && !has_json)
        log_say("note       %s has neither vocab.txt nor tokenizer.json: its vocabulary is taken for the dataset's",
                directory);
    mem_free(vocab);
    mem_free(json);
    return result;
}

/* ---- the files of a training ---- */

static int take_file(const char *directory, const char *name, struct buf *out, struct error *err)
{
    struct buf text = {0};
    char *path = path_join(directory, name);
    int result = 0;
    if (path_exists(path)) {
        result = file_read_all(path, KEPT_BYTES_MAX, &text, err);
        if (result == 0) {
            buf_release(out);
            *out = text;
        } else
            buf_release(&text);
    }
    mem_free(path);
    return result;
}

static void raise_length(uint32_t length, struct buf *config)
{
    json_t *json = json_loadb(config->data, config->size, 0, NULL);
    const json_t *most = json_object_get(json, "model_max_length");
    if (json_is_integer(most) && json_integer_value(most) < (json_int_t)length) {
        json_object_set_new(json, "model_max_length", json_integer(length));
        config->size = 0;
        json_add_text(json, JSON_INDENT(2), config);
        buf_add_byte(config, '\n');
    }
    json_decref(json);
}

int text_keep(const char *directory, uint32_t length, struct tokenizer_files *files, struct error *err)
{
    char *path = path_join(directory, "tokenizer.json");
    int result = 0;
    if (path_exists(path)) {
        result = take_file(directory, "tokenizer.json", &files->tokenizer, err);
        if (result == 0)
            result = take_file(directory, "tokenizer_config.json", &files->config, err);
        if (result == 0)
            raise_length(length, &files->config);
    } else
        text_warn_lost(directory);
    mem_free(path);
    return result;
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
