/* For every masked place the piece with the largest logit, as facts and as lines:
 *
 *     sample 37
 *       model       3 of 4   the [c]ana[l] was du[g] in [a≠1] 837
 *       always      0 of 4   the [e]ana[e] was du[e] in [e] 837
 *
 * A guess is in brackets, green if it is right, red if not; the right piece follows after ≠. */
#include "trainer/tune/guesses.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/output.h"
#include "trainer/data/piece_text.h"
#include "trainer/tune/class_task.h"

#include <stdio.h>

/* ---- facts ---- */

static json_t *piece_json(const struct vocab *vocab, uint32_t id)
{
    SCOPED(buf_release) struct buf text = {0};
    vocab_readable(vocab, id, &text);
    json_t *piece = json_name(buf_text(&text));
    return piece;
}

struct guessing {
    struct engine *engine;
    const struct source *source;
    struct vocab *vocab;
    uint32_t commonest;
    struct sequence sequence;
    struct batch batch;
};

/* Finds the label that most masked places have; of equals the first piece. */
static int find_commonest(struct guessing *g, uint64_t samples, struct error *err)
{
    SCOPED(mem_free_at) uint64_t *counts = mem_clear(g->vocab->count, sizeof *counts);
    const struct marks *marks = &g->sequence.marks[HEAD_MASKED];
    for (uint64_t k = 0; k < samples; k++) {
        TRY(g->source->fetch(g->source->context, k, &g->sequence, err));
        for (uint32_t i = 0; i < marks->count; i++)
            counts[marks->labels[i]]++;
    }
    for (uint32_t i = 1; i < g->vocab->count; i++)
        g->commonest = counts[i] > counts[g->commonest] ? i : g->commonest;
    return 0;
}

/* Marks are in the order of their places. */
static json_t *sample_json(struct guessing *g, uint64_t number, const float *logits)
{
    struct sequence *sequence = &g->sequence;
    const struct marks *marks = &sequence->marks[HEAD_MASKED];
    json_t *guesses = json_array(), *pieces = json_array();
    int right = 0, commonest_right = 0;
    for (uint32_t i = 0; i < marks->count; i++) {
        const uint32_t label = marks->labels[i],
                       guess = class_of(logits + (size_t)i * g->vocab->count, g->vocab->count);
        right += guess == label;
        commonest_right += g->commonest == label;
        json_array_append_new(guesses,
                              json_pack("{s:i, s:i, s:o, s:i}", "position", (int)marks->tokens[i], "id", (int)guess,
                                        "piece", piece_json(g->vocab, guess), "label", (int)label));
        sequence->ids[marks->tokens[i]] = label;
    }
    for (uint32_t i = 0; i < sequence->length; i++)
        json_array_append_new(pieces, piece_json(g->vocab, sequence->ids[i]));
    return json_pack("{s:I, s:i, s:i, s:i, s:o, s:o}", "sample", (json_int_t)number, "masked", (int)marks->count,
                     "right", right, "commonest_right", commonest_right, "pieces", pieces, "guesses", guesses);
}

/* Reads the first rows of the last pass, without the columns that pad the vocabulary. */
static void read_logits(const struct guessing *g, int32_t rows, float *logits)
{
    const struct ops *ops = g->engine->ops;
    const size_t columns = (size_t)vocabulary_padded(model_config(g->engine->model)), pieces = g->vocab->count;
    const size_t bytes = (size_t)rows * columns * ops->storage_size;
    void *there = model_logits(g->engine->model, HEAD_MASKED);
    void *stored = ops->map(ops->device, there, bytes, MAP_READ);
    for (size_t row = 0; row < (size_t)rows; row++)
        for (size_t i = 0; i < pieces; i++)
            logits[row * pieces + i] = precision_load(ops->precision, stored, row * columns + i);
    ops->unmap(ops->device, there, stored, bytes, MAP_READ);
}

/* Predicts sample k, alone in a micro-batch. */
static int guess(struct guessing *g, uint64_t k, json_t *samples, struct error *err)
{
    const struct source *source = g->source;
    const struct pack_limits *limits = &g->engine->limits;
    struct model_metrics ignored = {0};
    TRY(source->fetch(source->context, k, &g->sequence, err));
    const int32_t rows = (int32_t)g->sequence.marks[HEAD_MASKED].count;
    SCOPED(mem_free_at) float *logits = mem_array((size_t)rows * g->vocab->count + 1, sizeof *logits);
    pack_clear(&g->batch);
    pack_add(&g->batch, limits, &g->sequence, 0);
    pack_finish(&g->batch, limits);
    model_evaluate(g->engine->model, &g->batch, &ignored);
    if (rows > 0)
        read_logits(g, rows, logits);
    json_t *json = sample_json(g, source->number(source->context, k), logits);
    if (source->part)
        json_object_set_new(json, "dataset", json_integer(source->part(source->context, k) + 1));
    json_array_append_new(samples, json);
    return 0;
}

int guesses_make(json_t **guesses, struct engine *engine, const struct source *source, const struct dataset *dataset,
                 uint64_t samples, uint64_t shown, struct error *err)
{
    struct guessing g = {.engine = engine, .source = source};
    TRY(dataset_vocab(&g.vocab, dataset->directory, &dataset->manifest, err));
    json_t *list = json_array();
    g.sequence = sequence_make(&source->room);
    pack_init(&g.batch, &engine->limits);
    int result = find_commonest(&g, samples, err);
    for (uint64_t i = 0; i < shown && result == 0; i++)
        result = guess(&g, i * samples / shown, list, err);
    if (result == 0)
        *guesses = json_pack("{s:b, s:{s:i, s:o}, s:O}", "byte_level", g.vocab->kind == VOCAB_BPE_BYTES, "commonest",
                             "id", (int)g.commonest, "piece", piece_json(g.vocab, g.commonest), "samples", list);
    json_decref(list);
    pack_release(&g.batch);
    sequence_release(&g.sequence);
    vocab_close(g.vocab);
    return result;
}

/* ---- lines ---- */

struct style {
    const char *right, *wrong, *was, *off;
    bool byte_level;
};

static void add_piece(struct buf *line, const char *piece)
{
    const size_t size = strlen(piece) + 1;
    SCOPED(mem_free_at) char *safe = mem_alloc(size);
    buf_add_text(line, log_safe(piece, safe, size));
}

static void add_guess(struct buf *line, const char *piece, const char *label, bool truth, const struct style *c)
{
    const bool bytes = c->byte_level, right = strcmp(piece, label) == 0;
    const bool alike = piece_goes_on(piece, bytes) == piece_goes_on(label, bytes);
    buf_addf(line, "[%s", right ? c->right : c->wrong);
    add_piece(line, alike ? piece_bare(piece, bytes) : piece);
    buf_add_text(line, c->off);
    if (truth && !right) {
        buf_addf(line, "%s≠", c->was);
        add_piece(line, alike ? piece_bare(label, bytes) : label);
        buf_add_text(line, c->off);
    }
    buf_add_text(line, "]");
}

/* Prints the sample's text with a guess at every masked place: the model's, with the right piece, or `always`. */
static void print_row(const json_t *sample, const char *always, const struct style *c)
{
    const json_t *pieces = json_object_get(sample, "pieces"), *guesses = json_object_get(sample, "guesses"), *value;
    SCOPED(buf_release) struct buf line = {0};
    size_t i, next = 0;
    const size_t last = json_array_size(pieces) - 1;
    json_array_foreach(pieces, i, value)
    {
        const char *piece = json_string_value(value);
        const json_t *at = json_array_get(guesses, next);
        if (i == 0 || (i == last && !at)) /* [CLS], and [SEP] at the end */
            continue;
        if (!piece_goes_on(piece, c->byte_level) && line.size > 0)
            buf_add_text(&line, " ");
        if (at && (size_t)json_integer_value(json_object_get(at, "position")) == i) {
            add_guess(&line, always ? always : json_string_value(json_object_get(at, "piece")), piece, !always, c);
            next++;
        } else {
            add_piece(&line, strcmp(piece, "[SEP]") == 0 ? "|" : piece_bare(piece, c->byte_level));
        }
    }
    printf("%s\n", buf_text(&line));
}

static int count_of(const json_t *sample, const char *name)
{
    return (int)json_integer_value(json_object_get(sample, name));
}

void guesses_print(const json_t *guesses, bool coloured)
{
    struct style c = coloured ? (struct style){"\033[32m", "\033[31m", "\033[2m", "\033[0m", false}
                              : (struct style){"", "", "", "", false};
    c.byte_level = json_is_true(json_object_get(guesses, "byte_level"));
    const char *commonest = json_string_value(json_object_get(json_object_get(guesses, "commonest"), "piece"));
    SCOPED(buf_release) struct buf always = {0};
    const json_t *samples = json_object_get(guesses, "samples"), *sample;
    int masked = 0, right = 0, commonest_right = 0;
    size_t i;
    add_piece(&always, commonest);
    json_array_foreach(samples, i, sample)
    {
        printf("sample %d", count_of(sample, "sample"));
        if (json_object_get(sample, "dataset"))
            printf(" of dataset %d", count_of(sample, "dataset"));
        printf("\n");
        printf("  model      %2d of %-2d  ", count_of(sample, "right"), count_of(sample, "masked"));
        print_row(sample, NULL, &c);
        printf("  always     %2d of %-2d  ", count_of(sample, "commonest_right"), count_of(sample, "masked"));
        print_row(sample, commonest, &c);
        masked += count_of(sample, "masked");
        right += count_of(sample, "right");
        commonest_right += count_of(sample, "commonest_right");
    }
    printf("right      the model %d of %d; always %s, the commonest piece, %d of %d\n", right, masked,
           buf_text(&always), commonest_right, masked);
}
