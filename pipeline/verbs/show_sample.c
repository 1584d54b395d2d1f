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
        const uint32_t id = sample->ids[i];
        json_t *token = json_pack("{si sI ss si}", "position", (int)i, "id", (json_int_t)id, "piece",
                                  piece_text(view, id, text, sizeof text), "segment", (int)(i >= sample->a_length));
        if (next < sample->masked && sample->positions[next] == i) {
            const uint32_t label = sample->labels[next++];
            json_object_update_new(token,
                                   json_pack("{ss sI ss}", "mask", mask_of(view, id, label), "label", (json_int_t)label,
                                             "label_piece", piece_text(view, label, text, sizeof text)));
        }
        json_array_append_new(tokens, token);
    }
    return tokens;
}

static json_t *sample_json(const struct view *view)
{
    const struct sample *sample = view->sample;
    return json_pack(
        "{sI sI sI ss sI sI sI sI sI so}", "sample", (json_int_t)view->number, "samples", (json_int_t)view->of, "seq",
        (json_int_t)view->header->seq, "split", split_names[view->header->split], "length", (json_int_t)sample->length,
        "masked", (json_int_t)sample->masked, "next_sentence_label", (json_int_t)sample->is_random_next, "page_id",
        (json_int_t)sample->document_a, "page_id_b", (json_int_t)sample->document_b, "tokens", tokens_json(view));
}

static int out_of_range(const char *path, uint64_t number, uint64_t samples, struct error *err)
{
    if (samples == 0)
        return fail_at(err, ERR_USAGE, path, ERROR_NO_OFFSET, "this split is empty: there is no sample to show");
    return fail_at(err, ERR_USAGE, path, ERROR_NO_OFFSET,
                   "there is no sample %" PRIu64 "; samples are numbered 0 to %" PRIu64, number, samples - 1);
}

static int print_view(const struct dsdata_settings *settings, const struct view *view, struct error *err)
{
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
    SCOPED(dataset_close) struct dataset dataset = {0};
    SCOPED(vocab_close_at) struct vocab *vocab = NULL;
    TRY(dataset_open(&dataset, directory, (uint32_t)settings->seq_one, (enum split)settings->split, err));
    SCOPED(sample_release) struct sample sample = sample_make(&dataset.layout);
    TRY(dataset_vocab(&vocab, directory, &dataset.manifest, err));
    if (settings->sample >= dataset.samples)
        return out_of_range(directory, settings->sample, dataset.samples, err);
    TRY(dataset_sample(&dataset, settings->sample, &sample, err));
    const struct view view = {&sample,          vocab,           &dataset.shards[0].header,
                              settings->sample, dataset.samples, output_colours()};
    TRY(print_view(settings, &view, err));
    if (!settings->json)
        say_next_sample(settings, directory, settings->sample + 1 < dataset.samples ? settings->sample + 1 : 0);
    return 0;
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
    SCOPED(manifest_release) struct manifest manifest = {0};
    if (manifest_read(&manifest, buf_text(&folder), &ignored) == 0 && manifest.vocab_hash == shard->header.vocab_hash)
        dataset_vocab(&vocab, buf_text(&folder), &manifest, &ignored);
    return vocab;
}

int show_sample_of_shard(const struct dsdata_settings *settings, const char *path, struct error *err)
{
    SCOPED(shard_close) struct shard shard = {0};
    TRY(shard_open(&shard, path, err));
    SCOPED(sample_release) struct sample sample = sample_make(&shard.layout);
    SCOPED(vocab_close_at) struct vocab *vocab = vocabulary_of(&shard);
    const uint64_t samples = shard.header.record_count;
    if (settings->sample >= samples)
        return out_of_range(path, settings->sample, samples, err);
    TRY(shard_sample(&shard, settings->sample, &sample, err));
    const struct view view = {&sample, vocab, &shard.header, settings->sample, samples, output_colours()};
    return print_view(settings, &view, err);
}
