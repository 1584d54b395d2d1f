/* Prints one record as a table, a line for each token: what the model sees and, where it has to guess, the original and
 * how it was masked; or the same as JSON. */
#include "pipeline/verbs/show_sample.h"

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/output.h"
#include "pipeline/build/facts.h"
#include "shards/dataset.h"
#include "tokenizer/vocab.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* The position of the sample, and what is needed to print it. */
struct view {
    const struct sample *sample;
    const struct vocab *vocab; /* NULL: ids only */
    const struct shard_header *header;
    uint64_t number, of; /* in the split or shard */
    bool colours;
};

struct colours {
    const char *dim, *masked, *label, *off;
};

static struct colours colours_of(const struct view *view)
{
    return view->colours ? (struct colours){"\033[2m", "\033[1;33m", "\033[32m", "\033[0m"}
                         : (struct colours){"", "", "", ""};
}

/* The text of a piece, safe for a terminal; "#17" if it is unknown. */
static char *piece_text(const struct view *view, uint32_t id, char *out, size_t out_size)
{
    if (!view->vocab || id >= view->vocab->count) {
        snprintf(out, out_size, "#%u", id);
        return out;
    }
    SCOPED(buf_release) struct buf text = {0};
    vocab_readable(view->vocab, id, &text);
    log_safe(buf_text(&text), out, out_size);
    return out;
}

/* How the masked token was changed (80/10/10). */
static const char *mask_of(const struct view *view, uint32_t id, uint32_t label)
{
    return id == view->header->special.mask ? "masked" : id == label ? "kept" : "random";
}

/* Blanks that fill a column, counted in characters. */
static int padding(const char *text, int columns)
{
    int used = 0;
    for (; *text; text++)
        used += (*text & 0xC0) != 0x80;
    return used < columns ? columns - used : 0;
}

static void print_table(const struct view *view)
{
    enum { PIECE_COLUMNS = 18 };
    const struct sample *sample = view->sample;
    const struct colours c = colours_of(view);
    char piece[256], label[256];
    printf("%sposition  segment  %-*s  mask    original%s\n", c.dim, PIECE_COLUMNS, "piece", c.off);
    for (uint32_t i = 0, next = 0; i < sample->length; i++) {
        const bool masked = next < sample->masked && sample->positions[next] == i;
        piece_text(view, sample->ids[i], piece, sizeof(piece));
        printf("%8u  %c        %s%s%s", i, i < sample->a_length ? 'A' : 'B', masked ? c.masked : "", piece,
               masked ? c.off : "");
        if (masked) {
            const uint32_t original = sample->labels[next++];
            printf("%*s  %-6s  %s%s%s", padding(piece, PIECE_COLUMNS), "", mask_of(view, sample->ids[i], original),
                   c.label, piece_text(view, original, label, sizeof(label)), c.off);
        }
        printf("\n");
    }
}

/* The relation of B to A. */
static const char *relation(const struct view *view)
{
    const bool random = view->sample->is_random_next;
    switch ((enum pair_kind)view->header->pairs) {
    case PAIRS_SOP:
        return random ? "A follows B: swapped" : "B follows A";
    case PAIRS_NONE:
        return "one segment";
    default:
        return random ? "B is random" : "B follows A";
    }
}

static void print_sample(const struct view *view)
{
    const struct sample *sample = view->sample;
    char of[32], place[32];
    printf("sample %s of %s, length %u, split %s\n", format_count(view->number, place), format_count(view->of, of),
           view->header->seq, split_names[view->header->split]);
    printf("%u tokens (A %u, B %u), %u masked; %s\n", sample->length, sample->a_length,
           sample->length - sample->a_length, sample->masked, relation(view));
    printf("document A %" PRIu64 ", document B %" PRIu64 "\n\n", sample->document_a, sample->document_b);
    print_table(view);
}

static json_t *tokens_json(const struct view *view)
{
    const struct sample *sample = view->sample;
    json_t *tokens = json_array();
    char text[256];
    for (uint32_t i = 0, next = 0; i < sample->length; i++) {
        json_t *token = json_object();
        json_object_set_new(token, "position", json_integer(i));
        json_object_set_new(token, "id", json_integer(sample->ids[i]));
        json_object_set_new(token, "piece", json_string(piece_text(view, sample->ids[i], text, sizeof(text))));
        json_object_set_new(token, "segment", json_integer(i >= sample->a_length));
        if (next < sample->masked && sample->positions[next] == i) {
            const uint32_t label = sample->labels[next++];
            json_object_set_new(token, "mask", json_string(mask_of(view, sample->ids[i], label)));
            json_object_set_new(token, "label", json_integer(label));
            json_object_set_new(token, "label_piece", json_string(piece_text(view, label, text, sizeof(text))));
        }
        json_array_append_new(tokens, token);
    }
    return tokens;
}

static json_t *sample_json(const struct view *view)
{
    const struct sample *sample = view->sample;
    json_t *object = json_object();
    json_object_set_new(object, "sample", json_integer((json_int_t)view->number));
    json_object_set_new(object, "samples", json_integer((json_int_t)view->of));
    json_object_set_new(object, "seq", json_integer(view->header->seq));
    json_object_set_new(object, "split", json_string(split_names[view->header->split]));
    json_object_set_new(object, "length", json_integer(sample->length));
    json_object_set_new(object, "masked", json_integer(sample->masked));
    json_object_set_new(object, "next_sentence_label", json_integer(sample->is_random_next));
    json_object_set_new(object, "page_id", json_integer((json_int_t)sample->document_a));
    json_object_set_new(object, "page_id_b", json_integer((json_int_t)sample->document_b));
    json_object_set_new(object, "tokens", tokens_json(view));
    return object;
}

static int out_of_range(const char *path, uint64_t number, uint64_t samples, struct error *err)
{
    if (samples == 0)
        return fail_at(err, ERR_USAGE, path, ERROR_NO_OFFSET, "this split is empty: there is no sample to show");
    return fail_at(err, ERR_USAGE, path, ERROR_NO_OFFSET,
                   "there is no sample %" PRIu64 "; samples are numbered 0 to %" PRIu64, number, samples - 1);
}

static int print_view(const struct dsdata_settings *settings, struct view *view, struct error *err)
{
    view->colours = output_colours();
    if (settings->json)
        return facts_print(sample_json(view), err);
    print_sample(view);
    return 0;
}

static void say_next_sample(const struct dsdata_settings *settings, const char *directory, uint64_t sample)
{
    char number[24];
    struct buf command = {0};
    buf_add_text(&command, "dsdata show");
    command_path(&command, directory);
    if (settings_given(settings, "seq")) {
        snprintf(number, sizeof number, "%" PRIu64, settings->seq_one);
        command_option(&command, "seq", number);
    }
    if (settings->split == SPLIT_VALID)
        command_option(&command, "split", "valid");
    snprintf(number, sizeof number, "%" PRIu64, sample);
    command_option(&command, "sample", number);
    say_next(command.data);
}

int show_sample_of_dataset(const struct dsdata_settings *settings, const char *directory, struct error *err)
{
    struct dataset dataset;
    struct vocab *vocab = NULL;
    TRY(dataset_open(&dataset, directory, (uint32_t)settings->seq_one, (enum split)settings->split, err));
    struct sample sample = sample_make(&dataset.layout);
    int result = dataset_vocab(&vocab, directory, &dataset.manifest, err);
    if (result == 0 && settings->sample >= dataset.samples)
        result = out_of_range(directory, settings->sample, dataset.samples, err);
    if (result == 0)
        result = dataset_sample(&dataset, settings->sample, &sample, err);
    if (result == 0) {
        struct view view = {&sample, vocab, &dataset.shards[0].header, settings->sample, dataset.samples, false};
        result = print_view(settings, &view, err);
    }
    if (result == 0 && !settings->json)
        say_next_sample(settings, directory, settings->sample + 1 < dataset.samples ? settings->sample + 1 : 0);
    vocab_close(vocab);
    sample_release(&sample);
    dataset_close(&dataset);
    return result;
}

/* The vocabulary of the dataset that contains the shard (DIR/seqN/X.dss), if the shard uses it; else NULL. */
static struct vocab *vocabulary_of(const struct shard *shard)
{
    struct error ignored;
    struct vocab *vocab = NULL;
    SCOPED(buf_release) struct buf folder = {0};
    const char *slash = strrchr(shard->path, '/');
    buf_add(&folder, shard->path, slash ? (size_t)(slash - shard->path) : 0);
    buf_add_text(&folder, slash ? "/.." : "..");
    struct manifest manifest;
    if (manifest_read(&manifest, buf_text(&folder), &ignored) < 0)
        return NULL;
    if (manifest.vocab_hash == shard->header.vocab_hash)
        dataset_vocab(&vocab, buf_text(&folder), &manifest, &ignored);
    manifest_release(&manifest);
    return vocab;
}

int show_sample_of_shard(const struct dsdata_settings *settings, const char *path, struct error *err)
{
    struct shard shard;
    TRY(shard_open(&shard, path, err));
    struct sample sample = sample_make(&shard.layout);
    struct vocab *vocab = vocabulary_of(&shard);
    const uint64_t samples = shard.header.record_count;
    int result = settings->sample < samples ? shard_sample(&shard, settings->sample, &sample, err)
                                            : out_of_range(path, settings->sample, samples, err);
    if (result == 0) {
        struct view view = {&sample, vocab, &shard.header, settings->sample, samples, false};
        result = print_view(settings, &view, err);
    }
    vocab_close(vocab);
    sample_release(&sample);
    shard_close(&shard);
    return result;
}
