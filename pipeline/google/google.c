#include "pipeline/google/google.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/random.h"
#include "pipeline/pairs/pairs.h"
#include "tokenizer/tokenizer.h"

#include <inttypes.h>

/* str.isspace() of Python 3. */
static bool is_space(uint32_t c)
{
    return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

struct str python_strip(struct str text)
{
    uint32_t c;
    unsigned bytes, skip;
    while (text.size > 0 && (bytes = utf8_decode(text.data, text.size, &c, &skip)) > 0 && is_space(c)) {
        text.data += bytes;
        text.size -= bytes;
    }
    while (text.size > 0) {
        size_t start = text.size - 1;
        while (start > 0 && ((unsigned char)text.data[start] & 0xc0) == 0x80)
            start--;
        if (utf8_decode(text.data + start, text.size - start, &c, &skip) == 0 || !is_space(c))
            break;
        text.size = start;
    }
    return text;
}

#define ID_BITS 52 /* of a document's id, as for other text */

struct corpus {
    const struct google_options *options;
    const struct google_output *output;
    struct counts *counts;
    struct progress *progress;
    struct tokenizer_state *tokenizer;
    struct documents documents;
    struct hash *text;       /* of the document's lines, for its id; NULL: none yet */
    uint64_t document_bytes; /* of the same */
    uint32_t repairs;        /* of the same: bits of enum repair */
    struct buf line;         /* a line that continues in the next window */
    struct ids ids;
    uint64_t bytes_read;
};

/* -------------------------------------------------------------------------------------- the command line */

int google_settle(struct dsdata_settings *settings, struct opt_paths bare, struct error *err)
{
    const size_t texts = settings->inputs[SOURCE_TEXT].count;
    if (texts == 0 || texts < settings_named_inputs(settings) + bare.count)
        return fail(err, ERR_USAGE, "--compat google reads text files only, named by --text");
    if (inputs_ask_for_pipe(settings, bare))
        return fail(err, ERR_USAGE, "--compat google does not read standard input");
    if (settings->seq.count != 1) {
        fail(err, ERR_USAGE, "--compat google makes samples of one length");
        return hint(err, "name it, for example --seq 128");
    }
    static const char *const foreign[] = {"pairs",     "pack",       "valid",           "limit",
                                          "text-form", "duplicates", "near-duplicates", "min-words",
                                          "max-words", "only-lang",  "filter",          "exclude"};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (settings_given(settings, foreign[i]))
            return fail(err, ERR_USAGE,
                        "--%s and --compat google exclude each other: Google's program has no such choice", foreign[i]);
    if (settings_given(settings, "profile") && settings->profile != PROFILE_GOOGLE)
        return fail(err, ERR_USAGE, "--compat google is for --profile google");
    settings->profile = PROFILE_GOOGLE;
    settings->valid = 0;
    return 0;
}

int google_check(const struct inputs *inputs, struct error *err)
{
    for (size_t file = 0; file < inputs->count; file++)
        if (dump_container(inputs->dumps[file]) != CONTAINER_NONE) {
            fail_at(err, ERR_USAGE, inputs->paths[file], ERROR_NO_OFFSET,
                    "is compressed: --compat google reads plain files only");
            return hint(err, "unpack it into a file, and name that file");
        }
    return 0;
}

/* -------------------------------------------------------------------------------------- text → documents */

/* The script begins a document at the start and after every empty line, and drops empty documents at the end. */
static void end_document(struct corpus *corpus)
{
    if (!corpus->text)
        return;
    struct documents *documents = &corpus->documents;
    documents->items[documents->count].id = hash_value(corpus->text) >> (64 - ID_BITS);
    hash_close(corpus->text);
    corpus->text = NULL;
    const uint64_t bytes = corpus->document_bytes;
    const uint32_t repairs = corpus->repairs;
    corpus->document_bytes = 0;
    corpus->repairs = 0;
    if (documents_end(documents)) {
        corpus->counts->documents++;
        corpus->counts->pages[PAGE_KEPT]++;
        corpus->counts->fates[FATE_KEPT] += bytes;
        counts_repairs(corpus->counts, repairs);
    } else {
        corpus->counts->pages[PAGE_EMPTY]++;
        corpus->counts->dropped[PAGE_EMPTY] += bytes;
    }
}

static void take_line(struct corpus *corpus, char *data, size_t size)
{
    struct counts *counts = corpus->counts;
    uint64_t ill_formed = 0;
    const size_t well_formed = utf8_repair(data, size, &ill_formed);
    const struct str line = python_strip((struct str){data, well_formed});
    counts->fates[FATE_MARKUP] += well_formed - line.size;
    if (line.size == 0) {
        end_document(corpus);
        return;
    }
    if (!corpus->text) {
        corpus->text = hash_open();
        documents_begin(&corpus->documents, 0, false);
    }
    if (ill_formed > 0)
        corpus->repairs |= 1u << REPAIR_ENCODING;
    hash_add(corpus->text, line.data, line.size);
    hash_add(corpus->text, "\n", 1);
    corpus->document_bytes += line.size;
    corpus->ids.count = 0;
    tokenizer_ids(corpus->tokenizer, line, &corpus->ids);
    documents_sentence(&corpus->documents, corpus->ids.data, corpus->ids.count);
    counts->text_bytes += line.size + 1;
    counts->sentences += corpus->ids.count > 0;
    counts->pieces += corpus->ids.count;
    for (size_t i = 0; i < corpus->ids.count; i++)
        counts->unknown += corpus->ids.data[i] == corpus->options->rules.vocab->unk;
}

/* Splits a window into lines; a line that does not end in it waits for the next window. */
static int take_bytes(struct corpus *corpus, const char *path, const char *data, size_t size, struct error *err)
{
    for (const char *at = data, *end = data + size; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        buf_add(&corpus->line, at, (size_t)((stop ? stop : end) - at));
        if (corpus->line.size > PAGE_BYTES_MAX)
            return fail_at(err, ERR_UNSAFE, path, corpus->bytes_read, "a line of more than %u MiB",
                           PAGE_BYTES_MAX >> 20);
        if (!stop)
            break;
        take_line(corpus, corpus->line.data, corpus->line.size);
        corpus->counts->fates[FATE_MARKUP]++;
        buf_reset(&corpus->line);
        at = stop + 1;
    }
    corpus->bytes_read += size;
    corpus->counts->input_bytes += size;
    return 0;
}

static uint64_t memory_held(const struct corpus *corpus)
{
    const struct documents *documents = &corpus->documents;
    return documents->id_count * sizeof *documents->ids + documents->sentence_count * sizeof *documents->ends +
           documents->count * (sizeof *documents->items + 3 * sizeof(uint32_t)); /* two lists, and the order */
}

static int refuse_memory(uint64_t needed, uint64_t there, struct error *err)
{
    char needs[32], has[32];
    fail(err, ERR_RESOURCE, "--compat google keeps the whole corpus in memory: about %s, and --memory has room for %s",
         format_bytes(needed, needs), format_bytes(there, has));
    return hint(err, "give more --memory or less text; without --compat google memory is bounded");
}

static int check_memory(const struct corpus *corpus, struct error *err)
{
    const uint64_t held = memory_held(corpus), there = corpus->options->memory_bytes;
    if (held <= there)
        return 0;
    const double share = (double)corpus->bytes_read / (double)inputs_bytes(corpus->options->inputs);
    return refuse_memory((uint64_t)((double)held / share), there, err);
}

static int stopped(struct error *err)
{
    fail(err, ERR_STOPPED, "stopped on request");
    return hint(err, "the same command starts anew");
}

static int read_window(struct corpus *corpus, uint32_t file, uint64_t window, struct dump_piece *piece,
                       struct group *group, struct error *err)
{
    struct dump *dump = corpus->options->inputs->dumps[file];
    const int filled = dump_read(dump, window, piece, err);
    if (filled < 0)
        return -1;
    if (filled)
        TRY(take_bytes(corpus, corpus->options->inputs->paths[file], piece->bytes.data, piece->window_size, err));
    /* The groups are not used, but cutting computes the hash of the file. */
    TRY(dump_decode(dump, piece, err));
    int more;
    while ((more = dump_cut(dump, piece, group, err)) > 0)
        ;
    return more < 0 ? -1 : filled;
}

/* If a file does not end in a line feed, its last line ends nevertheless, but its document continues. */
static int read_file(struct corpus *corpus, uint32_t file, struct error *err)
{
    struct dump_piece piece = {0};
    struct group group = {0};
    int result = 1;
    for (uint64_t window = 0; result > 0; window++) {
        result = stop_requested() ? stopped(err) : read_window(corpus, file, window, &piece, &group, err);
        if (result > 0)
            result = check_memory(corpus, err) < 0 ? -1 : 1;
        if (progress_due(corpus->progress))
            progress_show(corpus->progress,
                          (double)corpus->bytes_read / (double)inputs_bytes(corpus->options->inputs) / 2,
                          "reading  %" PRIu64 " MB of text", corpus->bytes_read / 1000000);
    }
    if (result == 0 && corpus->line.size > 0)
        take_line(corpus, corpus->line.data, corpus->line.size);
    buf_reset(&corpus->line);
    corpus->output->hashes[file] = dump_hash(corpus->options->inputs->dumps[file]);
    piece_release(&piece);
    group_release(&group);
    return result;
}

static int read_corpus(struct corpus *corpus, struct error *err)
{
    const struct inputs *inputs = corpus->options->inputs;
    for (uint32_t file = 0; file < inputs->count; file++)
        TRY(read_file(corpus, file, err));
    end_document(corpus);
    return 0;
}

/* -------------------------------------------------------------------------------------- documents → spill */

struct writing {
    struct corpus *corpus;
    struct shard_layout layout;
    char *entry;
    size_t entry_bytes;
    const uint32_t *places;
    uint64_t count, made; /* in all; made so far */
    unsigned shift;       /* moves a place to the top bits of the key */
    struct error *err;
    int result;
};

static bool count_sample(void *context, const struct sample *sample)
{
    uint64_t *count = context;
    (void)sample;
    return ++*count < UINT32_MAX && !stop_requested();
}

static bool write_sample(void *context, const struct sample *sample)
{
    struct writing *w = context;
    struct counts *counts = w->corpus->counts;
    const struct sample_key key = {.key = (uint64_t)w->places[w->made++] << w->shift};
    memcpy(w->entry, &key, sizeof key);
    record_encode(&w->layout, sample, (uint8_t *)w->entry + sizeof key);
    counts->samples[SPLIT_TRAIN]++;
    counts->tokens[SPLIT_TRAIN] += sample->length;
    w->result = spill_add(w->corpus->output->spill, SPLIT_TRAIN, w->entry, w->entry_bytes, w->err);
    if (progress_due(w->corpus->progress))
        progress_show(w->corpus->progress, 0.5 + (double)w->made / (double)w->count / 2,
                      "making  %" PRIu64 " of %" PRIu64 " samples", w->made, w->count);
    return w->result == 0 && !stop_requested();
}

/* Makes the instances twice: the first pass counts them, so that the shuffle at the end can give each its place. */
static int write_instances(struct corpus *corpus, struct instances *instances, struct error *err)
{
    const struct instance_rules *rules = &corpus->options->rules;
    struct writing w = {.corpus = corpus, .err = err, .shift = 63};
    if (!instances_make(instances, count_sample, &w.count))
        return stop_requested() ? stopped(err) : fail(err, ERR_UNSAFE, "more than 2^32 samples");
    const uint64_t needed = memory_held(corpus) + 2 * w.count * sizeof *w.places;
    if (needed > corpus->options->memory_bytes)
        return refuse_memory(needed, corpus->options->memory_bytes, err);
    while (w.shift > 0 && (w.count - 1) >> (64 - w.shift))
        w.shift--;
    uint32_t *places = instances_places(instances, w.count);
    w.places = places;
    w.layout = shard_layout_make(rules->seq, rules->predictions, rules->vocab->count);
    w.entry_bytes = sizeof(struct sample_key) + w.layout.record_bytes;
    w.entry = mem_clear(1, w.entry_bytes);
    const bool whole = instances_make(instances, write_sample, &w);
    mem_free(w.entry);
    mem_free(places);
    return whole || w.result < 0 ? w.result : stopped(err);
}

static int make_instances(struct corpus *corpus, struct error *err)
{
    const struct google_options *options = corpus->options;
    struct instances *instances = instances_open(&corpus->documents, &options->rules, options->seed);
    int result = write_instances(corpus, instances, err);
    instances_close(instances);
    return result;
}

int google_read(const struct google_options *options, const struct google_output *output, struct progress *progress,
                struct error *err)
{
    struct corpus corpus = {.options = options,
                            .output = output,
                            .counts = output->counts,
                            .progress = progress,
                            .tokenizer = tokenizer_state_open(options->tokenizer)};
    int result = read_corpus(&corpus, err);
    if (result == 0 && corpus.documents.count > 0)
        result = make_instances(&corpus, err);
    if (corpus.text)
        hash_close(corpus.text);
    tokenizer_state_close(corpus.tokenizer);
    documents_release(&corpus.documents);
    buf_release(&corpus.line);
    ids_release(&corpus.ids);
    return result;
}
