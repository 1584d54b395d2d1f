#include "pipeline/build/rehearsal.h"

#include "base/progress.h"
#include "pipeline/build/digest.h"
#include "pipeline/input/feed.h"
#include "pipeline/build/vocabulary.h"

#include <stdlib.h>

#define CHOICE_KEY        0x7265686561727365ull /* names the permutation that picks windows */
#define EXPANSION         5u                    /* of bzip2, for choosing only */
#define WINDOWS_MAX       2048u
#define PACKED_WINDOWS    3u /* from the beginning of a gzip, Zstandard or xz file */
#define PACKED_INPUTS_MAX 8u /* as many such files */

/* What was seen of the inputs of a kind. */
struct seen {
    double text;                        /* of all of their text, estimated */
    uint64_t window_bytes, window_text; /* of windows: bytes of the file, and decoded */
    uint64_t covered;                   /* bytes of text whose documents were read */
    uint64_t samples[SETS_MAX];
};

struct rehearsal {
    struct feed feed; /* first: see feed.h */
    const struct inputs *inputs;
    struct place *places;
    size_t count, capacity;
    uint64_t limit; /* of --limit; 0: none */
    bool whole;     /* the inputs are so short that all are read */
    bool ordered;   /* they are read from their beginning, rather than in windows */
    bool cut;       /* and not to their end */
    struct seen kinds[SOURCE_KINDS];
    struct counts counts; /* of all */
};

/* --------------------------------------------------------------------------------------------------- windows */

static void add_place(struct rehearsal *rehearsal, struct place place)
{
    rehearsal->places =
        mem_room(rehearsal->places, rehearsal->count + 1, &rehearsal->capacity, sizeof *rehearsal->places);
    rehearsal->places[rehearsal->count++] = place;
}

static uint64_t text_of_window(const struct inputs *inputs, struct place place)
{
    const struct dump *dump = inputs->dumps[place.file];
    const uint64_t c = dump_window_bytes(dump), from = place.window * c, left = dump_bytes(dump) - from;
    return (left < c ? left : c) * (dump_container(dump) == CONTAINER_BZIP2 ? EXPANSION : 1);
}

static int by_place(const void *left, const void *right)
{
    return place_compare(*(const struct place *)left, *(const struct place *)right);
}

/* Decides how to read. Chooses windows in a fixed random order until they have REHEARSAL_BYTES of text, and the
 * beginnings of inputs whose windows are not known. */
static void choose(struct rehearsal *rehearsal)
{
    const struct inputs *inputs = rehearsal->inputs;
    uint64_t windows = 0, text = 0, packed = 0, all = 0;
    for (size_t i = 0; i < inputs->count; i++) {
        windows += dump_windows(inputs->dumps[i]);
        packed += dump_windows(inputs->dumps[i]) == 0;
        all += dump_text_bytes(inputs->dumps[i]);
    }
    rehearsal->whole = all <= REHEARSAL_BYTES;
    rehearsal->ordered = rehearsal->whole || rehearsal->limit > 0;
    for (uint64_t i = 0; i < windows && text < REHEARSAL_BYTES && i < WINDOWS_MAX; i++) {
        const struct place place = inputs_place(inputs, permute(i, windows, CHOICE_KEY));
        text += text_of_window(inputs, place);
        add_place(rehearsal, place);
    }
    const uint64_t step = packed > PACKED_INPUTS_MAX ? packed / PACKED_INPUTS_MAX : 1;
    uint64_t number = 0;
    for (uint32_t i = 0; i < inputs->count; i++)
        if (dump_windows(inputs->dumps[i]) == 0 && number++ % step == 0)
            for (uint64_t window = 0; window < PACKED_WINDOWS; window++)
                add_place(rehearsal, (struct place){.file = i, .window = window});
    qsort(rehearsal->places, rehearsal->count, sizeof *rehearsal->places, by_place);
}

/* ------------------------------------------------------------------------------------------------- the belt */

static void digest_window(const void *context, void *digest, void *slot)
{
    const struct rehearsal *rehearsal = context;
    struct digest_job *job = slot;
    job->feed.group.window = rehearsal->ordered ? job->feed.group.window : (uint32_t)job->feed.window;
    digest_run_job(context, digest, slot);
}

static int gather(void *context, void *slot, struct error *err)
{
    struct rehearsal *rehearsal = context;
    const struct digest_job *job = slot;
    const struct dump *dump = rehearsal->inputs->dumps[job->feed.file];
    const struct dump_piece *piece = &job->feed.piece;
    struct seen *seen = &rehearsal->kinds[dump_kind(dump)];
    (void)err;
    seen->window_bytes += piece->window_size;
    seen->window_text += dump_container(dump) == CONTAINER_BZIP2 ? piece->text.size : piece->window_size;
    seen->covered += job->digested.counts.input_bytes;
    for (size_t set = 0; set < SETS_MAX; set++)
        seen->samples[set] += job->digested.counts.samples[set];
    counts_add(&rehearsal->counts, &job->digested.counts);
    rehearsal->cut = rehearsal->ordered && !rehearsal->whole && rehearsal->counts.input_bytes > REHEARSAL_BYTES;
    return rehearsal->cut ? BELT_END : BELT_NEXT;
}

static int run(struct rehearsal *rehearsal, const struct dataset_recipe *recipe, const struct vocab *vocab,
               const struct resource_plan *plan, struct error *err)
{
    const struct tokenizer_options words = dataset_recipe_words(recipe);
    struct tokenizer *tokenizer = tokenizer_open(vocab, &words);
    const struct digest_options digest = {
        .recipe = recipe, .inputs = rehearsal->inputs, .tokenizer = tokenizer, .vocab = vocab};
    struct feed_work work = digest_work(&digest);
    work.work = digest_window;
    work.end_name = "gather";
    work.end = gather;
    rehearsal->feed = feed_whole(rehearsal->inputs, rehearsal->limit);
    if (!rehearsal->ordered) {
        rehearsal->feed.chosen = rehearsal->places;
        rehearsal->feed.chosen_count = rehearsal->count;
    }
    feed_open(&rehearsal->feed, &work);
    const int result = feed_run(&rehearsal->feed, plan->depth, plan->threads, NULL, err);
    feed_close(&rehearsal->feed);
    tokenizer_close(tokenizer);
    return result == 0 && stop_requested() ? fail(err, ERR_STOPPED, "stopped on request") : result;
}

/* ------------------------------------------------------------------------------------------------- the figures */

/* Estimates all text of each kind. */
static void sum_text(struct rehearsal *rehearsal)
{
    const struct inputs *inputs = rehearsal->inputs;
    for (size_t i = 0; i < inputs->count; i++) {
        const struct dump *dump = inputs->dumps[i];
        struct seen *seen = &rehearsal->kinds[dump_kind(dump)];
        if (dump_container(dump) == CONTAINER_BZIP2 && seen->window_bytes > 0)
            seen->text += (double)dump_bytes(dump) * (double)seen->window_text / (double)seen->window_bytes;
        else
            seen->text += (double)dump_text_guess(dump);
    }
}

/* How many times as much as was seen there is of a kind. */
static double scale_of(const struct rehearsal *rehearsal, const struct seen *seen)
{
    if (rehearsal->cut)
        return (double)rehearsal->limit / (double)counts_pages(&rehearsal->counts);
    if (rehearsal->ordered)
        return 1;
    return seen->covered > 0 ? seen->text / (double)seen->covered : 0;
}

static uint64_t shard_bytes(uint64_t samples, uint64_t record_bytes, uint64_t shard_bytes_max)
{
    const uint64_t bytes = samples * record_bytes, shards = bytes / shard_bytes_max + 1;
    return bytes + bytes / SHARD_BLOCK_BYTES * 8 + shards * (SHARD_HEADER_BYTES + SHARD_FOOTER_BYTES + 8);
}

static void plan_by(const struct rehearsal *rehearsal, const struct dataset_recipe *recipe, const struct vocab *vocab,
                    struct resource_plan *plan)
{
    double text = 0, samples[SETS_MAX] = {0};
    for (size_t kind = 0; kind < SOURCE_KINDS; kind++) {
        const struct seen *seen = &rehearsal->kinds[kind];
        const double scale = scale_of(rehearsal, seen);
        text += rehearsal->ordered ? scale * (double)seen->covered : seen->text;
        for (size_t set = 0; set < SETS_MAX; set++)
            samples[set] += scale * (double)seen->samples[set];
    }
    const uint64_t other = plan->disk_bytes - 2 * plan->dataset_bytes; /* what the plan counts besides */
    uint64_t spilled = 0;
    plan->xml_bytes = (uint64_t)text;
    plan->dataset_bytes = 0;
    for (uint32_t i = 0; i < vocab->count; i++)
        plan->dataset_bytes += vocab->pieces[i].size + 1;
    for (size_t i = 0; i < recipe->length_count; i++) {
        const uint64_t entry = digest_entry_bytes(recipe, i, vocab->count), record = entry - sizeof(struct sample_key);
        plan->samples[i] = 0;
        for (enum split split = SPLIT_TRAIN; split <= SPLIT_VALID; split++) {
            const uint64_t count = (uint64_t)(samples[2 * i + split] + 0.5);
            plan->samples[i] += count;
            plan->dataset_bytes += count > 0 ? shard_bytes(count, record, recipe->shard_bytes) : 0;
        }
        spilled += plan->samples[i] * entry;
    }
    plan->disk_bytes = plan->dataset_bytes + spilled + other;
}

int rehearse(const struct inputs *inputs, const struct dataset_recipe *recipe, const struct vocab *vocab,
             struct resource_plan *plan, struct error *err)
{
    if (inputs_pipe(inputs) || recipe->compat == COMPAT_GOOGLE)
        return 0;
    struct rehearsal rehearsal = {.inputs = inputs, .limit = recipe->limit};
    struct vocab *learned = NULL;
    struct vocabulary_facts facts;
    choose(&rehearsal);
    int result = 0;
    if (!vocab && rehearsal.whole)
        result = vocabulary_learn(inputs, recipe, plan, false, &learned, &facts, err);
    else if (!vocab)
        result = vocabulary_learn_from(inputs, rehearsal.places, rehearsal.count, recipe, plan, &learned, &facts, err);
    if (result == 0)
        result = run(&rehearsal, recipe, vocab ? vocab : learned, plan, err);
    const uint64_t pages = counts_pages(&rehearsal.counts);
    if (result == 0 && rehearsal.counts.documents > 0) {
        sum_text(&rehearsal);
        plan_by(&rehearsal, recipe, vocab ? vocab : learned, plan);
    } else if (result == 0 && (pages > 0 || rehearsal.whole)) {
        result = inputs_gave_nothing(inputs, &rehearsal.counts, err);
    }
    vocab_close(learned);
    mem_free(rehearsal.places);
    return result;
}
