/* dsdata build, in the order of the flow: inputs → vocabulary → one belt over all windows → spills → shards → manifest.
 *
 *              ordered        parallel         ordered          parallel          ordered
 *   dumps ─►  │  read  │ ─►  │  decode  │ ─►  │    cut    │ ─►  │  digest  │ ─►  │ collect │ ─► spills, journal
 *                                                                                     then: seal ─► shards, manifest
 *
 * Killed anywhere, the same command goes on from the journal and ends with the same bytes. */
#include "base/belt.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/progress.h"
#include "pipeline/collector.h"
#include "pipeline/digest.h"
#include "pipeline/directory.h"
#include "pipeline/feed.h"
#include "pipeline/google/google.h"
#include "pipeline/inputs.h"
#include "pipeline/plan.h"
#include "pipeline/published.h"
#include "pipeline/settings.h"
#include "pipeline/store/seal.h"
#include "pipeline/summary.h"
#include "pipeline/vocabulary.h"
#include "pipeline/workers.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct build {
    struct feed feed; /* first: see feed.h */
    const struct settings *settings;
    struct inputs inputs;
    struct recipe recipe;
    json_t *identity; /* see directory.h */
    char *directory;
    struct lock lock;
    struct plan plan;
    struct vocab *vocab;
    struct tokenizer *tokenizer;
    struct workers digests;
    struct collector collector; /* with the journal and the spills */
    struct build_facts facts;   /* for the summary */
    struct progress progress;
    double started; /* clock */
};

/* What travels on the belt: a window, the group that it completed, what became of it. */
struct job {
    struct feed_job feed; /* first: see feed.h */
    struct harvest harvest;
};

static int digest_job(void *context, void *slot, uint64_t number, struct error *err)
{
    struct build *build = context;
    struct job *job = slot;
    (void)number;
    (void)err;
    struct digest *digest = workers_take(&build->digests);
    digest_group(digest, &build->inputs.articles[job->feed.file], &job->feed.group, &job->harvest);
    workers_give(&build->digests, digest);
    return BELT_NEXT;
}

static int collect(void *context, void *slot, uint64_t number, struct error *err)
{
    struct build *build = context;
    struct job *job = slot;
    (void)number;
    TRY(collector_add(&build->collector, &job->feed, &job->harvest, err));
    if (progress_due(&build->progress))
        summary_progress(&build->progress, &build->inputs, job->feed.file, job->feed.window,
                         &build->collector.journal.counts, clock_now() - build->started);
    return BELT_NEXT;
}

static void release_job(void *slot)
{
    struct job *job = slot;
    feed_job_release(&job->feed);
    harvest_release(&job->harvest);
}

static void *open_digest(const void *options)
{
    return digest_open(options);
}

static void close_digest(void *digest)
{
    digest_close(digest);
}

static int hint_safe(const struct build *build, struct error *err)
{
    if (!build->directory || !path_is_directory(build->directory))
        return hint(err, "nothing was written; the same command tries again");
    return hint(err, "what was done is safe in %s; the same command goes on from there", build->directory);
}

/* Reads all inputs into the spills. */
static int read_inputs(struct build *build, struct error *err)
{
    static const struct belt_step steps[] = {{"read", 1, feed_read},
                                             {"decode", 0, feed_decode},
                                             {"cut", 1, feed_cut},
                                             {"digest", 0, digest_job},
                                             {"collect", 1, collect}};
    const struct digest_options digest = {
        .recipe = &build->recipe, .tokenizer = build->tokenizer, .vocab = build->vocab};
    const struct belt_options belt = {.steps = steps,
                                      .step_count = sizeof steps / sizeof *steps,
                                      .depth = build->plan.depth,
                                      .threads = build->plan.threads,
                                      .job_size = sizeof(struct job),
                                      .job_release = release_job,
                                      .context = build};
    _Static_assert(sizeof steps / sizeof *steps == BUILD_STEPS, "the summary has a row for each");
    build->feed.inputs = &build->inputs;
    build->feed.limit = build->recipe.limit;
    workers_open(&build->digests, open_digest, close_digest, &digest);
    progress_open(&build->progress);
    int result = belt_run(&belt, build->facts.loads, err);
    progress_close(&build->progress);
    workers_close(&build->digests);

    struct collector *collector = &build->collector;
    if (result < 0) { /* keep what was collected before the failure; the first error is the one to tell */
        struct error ignored;
        if (collector->settled)
            collector_save(collector, JOURNAL_READING, &ignored);
        return -1;
    }
    const bool whole = collector_whole(collector);
    TRY(collector_save(collector, whole ? JOURNAL_SEALING : JOURNAL_READING, err));
    if (whole)
        return 0;
    return fail(err, ERR_STOPPED, "stopped on request");
}

/* The vocabulary, and its copy in the dataset. */
static int settle_vocabulary(struct build *build, struct error *err)
{
    char *path = path_join(build->directory, VOCAB_NAME);
    int result = 0;
    if (build->recipe.learned && build->collector.journal.stage > JOURNAL_VOCABULARY) {
        result = vocab_read(&build->vocab, path, VOCAB_OWN, err);
    } else {
        if (build->recipe.learned)
            result = vocabulary_learn(&build->inputs, &build->recipe, &build->plan, false, &build->vocab,
                                      &build->facts.vocabulary, err);
        if (result == 0 && build->recipe.learned && build->vocab->count < build->recipe.vocab_size)
            log_warn("so little text gives a vocabulary of %u pieces only, %u were asked for", build->vocab->count,
                     build->recipe.vocab_size);
        if (result == 0)
            result = vocab_write(build->vocab, path, err);
    }
    mem_free(path);
    return result;
}

static void seal_progress(void *context, uint64_t records)
{
    struct build *build = context;
    build->facts.sealed += records;
    if (progress_due(&build->progress)) {
        uint64_t samples = 0;
        for (size_t set = 0; set < SETS_MAX; set++)
            samples += build->collector.journal.counts.samples[set];
        progress_show(&build->progress, (double)build->facts.sealed / (double)samples, "sealing  %llu of %llu samples",
                      (unsigned long long)build->facts.sealed, (unsigned long long)samples);
    }
}

/* The templates that a table of renderings would gain most from. */
static void add_templates(const struct build *build, struct manifest *manifest)
{
    const struct counts *counts = &build->collector.journal.counts;
    const struct tally *templates = &build->collector.journal.templates;
    uint32_t top[MANIFEST_TEMPLATES_MAX];
    const size_t count = tally_top(templates, top, MANIFEST_TEMPLATES_MAX);
    _Static_assert(TALLY_NAME_BYTES_MAX <= MANIFEST_NAME_BYTES, "any name may come into the list");
    for (size_t i = 0; i < count; i++) {
        const struct tally_row *row = &templates->rows[top[i]];
        manifest_add_template(manifest, tally_name(templates, row), row->count, row->bytes);
    }
    manifest->unknown = (struct manifest_unknown){.count = counts->templates,
                                                  .bytes = counts->template_bytes,
                                                  .characters = counts->template_characters,
                                                  .missed = templates->missed};
}

/* What the dataset is, but for the hashes of its shards. */
static void fill_manifest(const struct build *build, struct manifest *manifest)
{
    const struct recipe *recipe = &build->recipe;
    const struct counts *counts = &build->collector.journal.counts;
    const struct vocab *vocab = build->vocab;
    *manifest = (struct manifest){
        .text_version = TEXT_VERSION,
        .vocab_size = vocab->count,
        .vocab_bytes = vocab->text_bytes,
        .vocab_hash = vocab->hash,
        .special = {.pad = vocab->pad, .unk = vocab->unk, .cls = vocab->cls, .sep = vocab->sep, .mask = vocab->mask},
        .cased = recipe->cased,
        .accents_kept = !recipe->strip_accents,
        .pairs = recipe->pairs,
        .masking = recipe->masking,
        .mask_millionths = recipe->mask_prob,
        .seed = recipe->seed,
        .documents = counts->documents,
        .pages_kept = counts->pages[PAGE_KEPT]};
    for (int fate = PAGE_KEPT + 1; fate < PAGE_FATES; fate++)
        manifest_add_dropped(manifest, page_fate_name((enum page_fate)fate), counts->pages[fate],
                             counts->dropped[fate]);
    for (int fate = 0; fate < FATES; fate++)
        manifest_add_fate(manifest, fate_name((enum fate)fate), counts->fates[fate]);
    add_templates(build, manifest);

    json_t *options = recipe_json(recipe);
    const char *name;
    json_t *value;
    json_object_foreach(options, name, value)
    {
        char *text = json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
        manifest_add_option(manifest, name, text ? text : json_string_value(value));
        free(text);
    }
    json_decref(options);
    for (size_t i = 0; i < build->inputs.count; i++)
        manifest_add_source(manifest, dump_bytes(build->inputs.dumps[i]), build->collector.hashes[i]);

    for (size_t set = 0; set < 2 * recipe->length_count; set++) {
        const uint64_t samples = counts->samples[set];
        const uint64_t record = digest_entry_bytes(recipe, set / 2, vocab->count) - sizeof(struct sample_key);
        uint64_t shards = (samples * record + recipe->shard_bytes - 1) / recipe->shard_bytes;
        if (shards > samples)
            shards = samples;
        manifest_add_length(manifest, recipe->seq[set / 2], recipe->predictions[set / 2], (enum split)(set % 2),
                            samples, counts->tokens[set], (uint32_t)shards);
    }
}

/* Spills → shards and manifest; then what only the build needed is removed. */
static int finish(struct build *build, struct error *err)
{
    const double begun = clock_now();
    struct manifest manifest;
    fill_manifest(build, &manifest);
    const struct seal_options options = {.directory = build->directory,
                                         .spill = &build->collector.spill,
                                         .key_bytes = sizeof(struct sample_key),
                                         .manifest = &manifest,
                                         .load_bytes_max = build->plan.load_bytes_max,
                                         .threads = build->plan.threads,
                                         .progress = seal_progress,
                                         .context = build};
    progress_open(&build->progress);
    int result = seal(&options, err);
    progress_close(&build->progress);
    build->facts.seal_seconds = clock_now() - begun;
    build->facts.seconds = build->collector.earlier_seconds + clock_now() - build->started;
    if (result == 0)
        result =
            summary_build_json(build->directory, build->settings, &build->inputs, &build->plan,
                               build->collector.journal.identity, &build->collector.journal.counts, &build->facts, err);
    if (result == 0)
        result = manifest_write(&manifest, build->directory, err);
    if (result == 0)
        result = directory_tidy(build->directory, err);
    if (result == 0)
        result = summary_print(build->directory, build->settings, &build->plan, &manifest,
                               &build->collector.journal.counts, &build->facts, err);
    manifest_release(&manifest);
    return result;
}

/* --compat google: the same, as Google's program reads and draws. */
static int read_like_google(struct build *build, struct error *err)
{
    const struct google_options options = {.inputs = &build->inputs,
                                           .recipe = &build->recipe,
                                           .tokenizer = build->tokenizer,
                                           .vocab = build->vocab,
                                           .memory_bytes = build->plan.room_bytes};
    progress_open(&build->progress);
    int result = google_read(&options, &build->collector, &build->progress, err);
    progress_close(&build->progress);
    return result;
}

/* Everything behind the plan: the directory is ours and locked. */
static int run(struct build *build, bool resume, struct error *err)
{
    if (!resume) {
        build->collector.journal.stage = JOURNAL_VOCABULARY;
        TRY(journal_write(&build->collector.journal, build->directory, err));
    }
    TRY(settle_vocabulary(build, err));
    if (stop_requested())
        return fail(err, ERR_STOPPED, "stopped on request");
    const struct tokenizer_options words = recipe_words(&build->recipe);
    build->tokenizer = tokenizer_open(build->vocab, &words);
    struct collector *collector = &build->collector;
    const enum journal_stage stage = collector->journal.stage;
    /* A pipe cannot be read from its middle, nor can Google's draws begin there: such a build starts anew. */
    const bool anew = inputs_pipe(&build->inputs) || build->recipe.compat == COMPAT_GOOGLE;
    if (stage == JOURNAL_SEALING || (stage == JOURNAL_READING && !anew)) {
        TRY(collector_resume(collector, build->vocab->count, &build->feed, err));
        log_say("going on with %s: %s", build->directory, stage == JOURNAL_SEALING ? "sealing" : "reading");
    } else {
        TRY(collector_start(collector, &build->plan, build->vocab->count, err));
    }
    if (stage != JOURNAL_SEALING)
        TRY(build->recipe.compat == COMPAT_GOOGLE ? read_like_google(build, err) : read_inputs(build, err));
    return finish(build, err);
}

static int already_finished(struct build *build, struct error *err)
{
    struct manifest manifest;
    TRY(directory_tidy(build->directory, err)); /* a kill between the manifest and the end of the last start */
    TRY(manifest_read(&manifest, build->directory, err));
    int result = summary_finished(build->directory, build->settings, &manifest, err);
    manifest_release(&manifest);
    return result;
}

/* {"inputs", "vocabulary", "recipe"}: see directory.h. */
static int make_identity(const struct build *build, json_t **identity, struct error *err)
{
    json_t *inputs = json_array();
    for (size_t i = 0; i < build->inputs.count; i++) {
        uint64_t fingerprint = 0;
        if (inputs_fingerprint(&build->inputs, i, &fingerprint, err) < 0) {
            json_decref(inputs);
            return -1;
        }
        char text[17];
        json_array_append_new(inputs, json_pack("{si sI ss}", "kind", (int)dump_kind(build->inputs.dumps[i]), "bytes",
                                                (json_int_t)dump_bytes(build->inputs.dumps[i]), "fingerprint",
                                                hash_text(fingerprint, text)));
    }
    char text[17];
    *identity = json_pack("{so ss so}", "inputs", inputs, "vocabulary",
                          build->recipe.learned ? "learned" : hash_text(build->vocab->hash, text), "recipe",
                          recipe_json(&build->recipe));
    return 0;
}

static int check_disk(const struct build *build, struct error *err)
{
    char needed[32], there[32];
    char *parent = mem_copy_text(build->directory); /* the nearest folder that exists */
    while (!path_is_directory(parent)) {
        char *slash = strrchr(parent, '/');
        if (slash)
            slash[slash == parent] = '\0';
        else
            strcpy(parent, ".");
    }
    int64_t bytes = path_free_bytes(parent, err);
    mem_free(parent);
    if (bytes < 0)
        return -1;
    if ((uint64_t)bytes < build->plan.disk_bytes) {
        fail_at(err, ERR_RESOURCE, build->directory, ERROR_NO_OFFSET,
                "needs about %s of disk while building, %s are free", format_bytes(build->plan.disk_bytes, needed),
                format_bytes((uint64_t)bytes, there));
        return hint(err, "nothing was written; choose an --out on a larger disk, or fewer lengths with --seq");
    }
    return 0;
}

static int start(struct build *build, struct opt_paths bare, struct error *err)
{
    const struct settings *settings = build->settings;
    if (inputs_ask_for_pipe(settings, bare) && (!settings->vocab || !settings->out))
        return fail(err, ERR_USAGE, "standard input can be read once only: it needs --vocab and --out");
    TRY(inputs_open(&build->inputs, settings, bare, err));
    TRY(recipe_make(settings, inputs_english(&build->inputs, settings), &build->recipe, err));
    memcpy(build->recipe.templates, build->inputs.templates_hash, sizeof build->recipe.templates);
    const struct tokenizer_options words = recipe_words(&build->recipe);
    if (build->vocab)
        TRY(published_fits(settings->vocab, build->vocab, &words, err));
    build->directory = settings->out ? mem_copy_text(settings->out) : inputs_stem(&build->inputs);
    const uint32_t vocab_size = build->vocab ? build->vocab->count : build->recipe.vocab_size;
    TRY(plan_make(settings, &build->inputs, &build->recipe, vocab_size, &build->plan, err));
    TRY(make_identity(build, &build->identity, err));
    summary_plan(build->directory, settings, &build->inputs, &build->recipe, &build->plan);
    if (settings->dry_run)
        return summary_dry_run(settings, &build->plan, &build->recipe);

    if (!path_exists(build->directory)) {
        TRY(check_disk(build, err));
        TRY(path_make_directory(build->directory, err));
    }
    TRY(lock_take(&build->lock, build->directory, err));
    if (settings->fresh)
        TRY(directory_clear(build->directory, err));
    int state = directory_look(build->directory, build->identity, &build->collector.journal, err);
    if (state < 0)
        return -1;
    if (state == DIRECTORY_FINISHED)
        return already_finished(build, err);
    build->collector.directory = build->directory;
    build->collector.inputs = &build->inputs;
    build->collector.recipe = &build->recipe;
    if (state == DIRECTORY_NEW)
        build->collector.journal.identity = json_incref(build->identity);
    return run(build, state == DIRECTORY_BUILDING, err);
}

int verb_build(void *data, struct opt_paths bare, struct error *err)
{
    struct settings *settings = data;
    if (settings->compat == COMPAT_GOOGLE)
        TRY(google_settle(settings, bare, err));
    struct build build = {.settings = settings, .lock = {.fd = -1}, .started = clock_now()};
    stop_on_signals();
    int result = settings->vocab ? published_vocab(settings, &build.vocab, err) : 0;
    if (result == 0)
        result = start(&build, bare, err);
    if (result < 0 && (err->kind == ERR_RESOURCE || err->kind == ERR_STOPPED) && !err->hint[0])
        hint_safe(&build, err);
    collector_close(&build.collector);
    tokenizer_close(build.tokenizer);
    vocab_close(build.vocab);
    json_decref(build.identity);
    inputs_close(&build.inputs);
    lock_release(&build.lock);
    mem_free(build.directory);
    return result;
}
