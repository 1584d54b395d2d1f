/* dsdata build, in the order of the flow: inputs → vocabulary → spills → shards → manifest. Killed anywhere, the same
 * command goes on from its journals and ends with the same bytes. Several processes (ranks.h) go through all of this side
 * by side: what one alone may do the first does, and the others learn how it ended. */
#include "base/cores.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/progress.h"
#include "pipeline/advice.h"
#include "pipeline/directory.h"
#include "pipeline/duplicates.h"
#include "pipeline/fresh.h"
#include "pipeline/google/google.h"
#include "pipeline/inputs.h"
#include "pipeline/plan.h"
#include "pipeline/published.h"
#include "pipeline/reading.h"
#include "pipeline/settings.h"
#include "pipeline/store/seal.h"
#include "pipeline/summary.h"
#include "pipeline/vocabulary.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct build {
    struct settings *settings;
    struct ranks *ranks; /* NULL: one process alone */
    struct inputs inputs;
    struct recipe recipe;
    json_t *identity; /* see directory.h */
    char *directory;  /* as the user names it; locked */
    char *site;       /* where the dataset is built: the directory itself, or with --fresh .fresh in it */
    bool replaced;    /* this start has finished what an earlier one with --fresh had begun to put in place */
    struct lock lock;
    struct plan plan;
    struct vocab *vocab;
    struct tokenizer *tokenizer;
    struct journal journal;
    struct spill_set sets[SETS_MAX];
    struct duplicates duplicates; /* to be dropped */
    struct extents extents;
    struct extent whole;      /* their sum */
    struct build_facts facts; /* for the summary */
    struct progress progress;
    double started; /* clock */
};

static bool is_first(const struct build *build)
{
    return ranks_rank(build->ranks) == 0;
}

static int hint_safe(const struct build *build, struct error *err)
{
    if (!build->directory || !path_is_directory(build->directory))
        return hint(err, "nothing was written; the same command tries again");
    if (build->settings->fresh)
        return hint(err,
                    "what was done is safe in %s, and what stood in %s before goes only when it is complete; the same "
                    "command goes on from there",
                    build->site, build->directory);
    return hint(err, "what was done is safe in %s; the same command goes on from there", build->directory);
}

/* The vocabulary, and its copy in the dataset. */
static int settle_vocabulary(struct build *build, struct error *err)
{
    char *path = path_join(build->site, VOCAB_NAME);
    int result = 0;
    if (build->recipe.learned && build->journal.stage > JOURNAL_VOCABULARY) {
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
            samples += build->whole.counts.samples[set];
        summary_sealing(&build->progress, &build->facts, samples / ranks_count(build->ranks) + 1);
    }
}

/* What the dataset is, but for the hashes of its shards. */
static void fill_manifest(const struct build *build, struct manifest *manifest)
{
    const struct recipe *recipe = &build->recipe;
    const struct counts *counts = &build->whole.counts;
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
        if ((fate != PAGE_DUPLICATE || recipe->drop_duplicates) && (fate != PAGE_SHORT || recipe->min_words > 0))
            manifest_add_dropped(manifest, page_fate_name((enum page_fate)fate), counts->pages[fate],
                                 counts->dropped[fate]);
    for (int fate = 0; fate < FATES; fate++)
        manifest_add_fate(manifest, fate_name((enum fate)fate), counts->fates[fate]);
    manifest->unknown = (struct manifest_unknown){
        .count = counts->templates, .bytes = counts->template_bytes, .characters = counts->template_characters};

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
        manifest_add_source(manifest, dump_bytes(build->inputs.dumps[i]), build->whole.hashes[i]);

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

/* Documents of equal text, by the first process. Those that were dropped are counted; the others are found by their hashes,
 * the last set, which Google's program does not make. */
static int count_duplicates(struct build *build, struct error *err)
{
    build->facts.duplicates = build->whole.counts.pages[PAGE_DUPLICATE];
    if (build->recipe.drop_duplicates)
        return 0;
    return duplicates_count(&build->extents, build->sets, build->journal.set_count, build->plan.load_bytes_max,
                            &build->facts.duplicates, err);
}

/* The shards of this process; the manifest has the hashes of all. */
static int seal_share(struct build *build, struct manifest *manifest, struct error *err)
{
    struct seal_extent *extents;
    const struct seal_options options = {
        .spills = extents_spills(&build->extents, build->sets, manifest->length_count, &extents),
        .share = ranks_rank(build->ranks),
        .shares = ranks_count(build->ranks),
        .key_bytes = sizeof(struct sample_key),
        .manifest = manifest,
        .load_bytes_max = build->plan.load_bytes_max,
        .threads = build->plan.threads,
        .progress = seal_progress,
        .context = build};
    progress_open(&build->progress);
    progress_begin(&build->progress, 0);
    build->progress.guess = summary_seal_seconds(&build->facts, &build->plan, build->facts.read_share);
    int result = ranks_agree(build->ranks, seal(&options, err), err);
    progress_close(&build->progress);
    for (size_t i = 0; result == 0 && i < manifest->length_count; i++)
        result = ranks_sum(build->ranks, manifest->lengths[i].hashes, manifest->lengths[i].shards, err);
    mem_free(extents);
    return result;
}

/* What makes the directory a dataset; then what only the build needed is removed. */
static int complete(struct build *build, struct manifest *manifest, struct error *err)
{
    TRY(count_duplicates(build, err));
    TRY(summary_build_json(build->site, build->settings, &build->inputs, &build->plan, build->journal.identity,
                           &build->whole.counts, &build->whole.templates, &build->facts, err));
    TRY(manifest_write(manifest, build->site, err));
    TRY(build->settings->fresh ? fresh_replace(build->directory, err) : directory_tidy(build->directory, err));
    advice_after(build->settings, &build->recipe, &build->whole.counts);
    return summary_print(build->directory, build->settings, &build->plan, manifest, &build->whole.counts, &build->facts,
                         err);
}

/* A build without a document leaves no files, so that other options may be tried. */
static int refuse_nothing(const struct build *build, struct error *err)
{
    struct error ignored;
    char *vocab = path_join(build->site, VOCAB_NAME);
    if (is_first(build) && build->settings->fresh)
        fresh_discard(build->directory, &ignored);
    else if (is_first(build) && path_remove(vocab, &ignored) == 0)
        directory_tidy(build->site, &ignored);
    mem_free(vocab);
    return inputs_gave_nothing(&build->inputs, &build->whole.counts, err);
}

/* Spills → shards and manifest. */
static int finish(struct build *build, struct error *err)
{
    const double begun = clock_now();
    TRY(ranks_agree(build->ranks, inputs_measure(&build->inputs, err), err)); /* where an earlier start read them */
    TRY(ranks_agree(build->ranks, extents_read(&build->extents, err), err));
    extents_sum(&build->extents, &build->whole);
    if (build->whole.counts.documents == 0)
        return ranks_agree(build->ranks, refuse_nothing(build, err), err);
    struct manifest manifest;
    fill_manifest(build, &manifest);
    int result = seal_share(build, &manifest, err);
    build->facts.seal_seconds = clock_now() - begun;
    build->facts.seconds = build->facts.earlier_seconds + clock_now() - build->started;
    if (result == 0)
        result = ranks_agree(build->ranks, is_first(build) ? complete(build, &manifest, err) : 0, err);
    manifest_release(&manifest);
    return result;
}

/* --compat google: the same, as Google's program reads and draws. */
static int read_like_google(struct build *build, struct error *err)
{
    struct collector collector = {.directory = build->site,
                                  .inputs = &build->inputs,
                                  .sets = build->sets,
                                  .set_count = build->journal.set_count,
                                  .started = clock_now()};
    const struct google_options options = {.inputs = &build->inputs,
                                           .recipe = &build->recipe,
                                           .tokenizer = build->tokenizer,
                                           .vocab = build->vocab,
                                           .memory_bytes = build->plan.room_bytes};
    TRY(extents_read(&build->extents, err));
    extents_release(&build->extents);
    int result = collector_open(&collector, 0, err);
    progress_open(&build->progress);
    if (result == 0)
        result = google_read(&options, &collector, &build->progress, err);
    progress_close(&build->progress);
    collector_close(&collector);
    return result;
}

static int read_inputs(struct build *build, bool only_hashes, struct error *err)
{
    const bool drops = build->recipe.drop_duplicates && !only_hashes;
    const struct reading_options options = {.directory = build->site,
                                            .inputs = &build->inputs,
                                            .recipe = &build->recipe,
                                            .plan = &build->plan,
                                            .vocab = build->vocab,
                                            .tokenizer = build->tokenizer,
                                            .duplicates = drops ? &build->duplicates : NULL,
                                            .only_hashes = only_hashes,
                                            .sets = build->sets,
                                            .set_count = build->journal.set_count,
                                            .ranks = build->ranks};
    return build->recipe.compat == COMPAT_GOOGLE ? read_like_google(build, err)
                                                 : reading_run(&options, &build->facts, err);
}

static int enter_stage(struct build *build, enum journal_stage stage, struct error *err)
{
    build->journal.stage = stage;
    return journal_write(&build->journal, build->site, err);
}

static int enter_reading(struct build *build, struct error *err)
{
    struct journal *journal = &build->journal;
    journal->set_count = 2 * build->recipe.length_count + 1;
    memcpy(journal->bucket_bits, build->plan.bucket_bits, sizeof journal->bucket_bits);
    return enter_stage(build, JOURNAL_READING, err);
}

static int enter_hashing(struct build *build, struct error *err)
{
    struct journal *journal = &build->journal;
    journal->set_count = 1;
    journal->bucket_bits[0] = build->plan.bucket_bits[2 * build->recipe.length_count];
    return enter_stage(build, JOURNAL_HASHING, err);
}

/* The vocabulary and the buckets of the spills are settled, by the first process. */
static int prepare(struct build *build, struct error *err)
{
    struct journal *journal = &build->journal;
    if (!journal->identity) {
        journal->identity = json_incref(build->identity);
        TRY(enter_stage(build, JOURNAL_VOCABULARY, err));
    }
    TRY(settle_vocabulary(build, err));
    if (stop_requested())
        return fail(err, ERR_STOPPED, "stopped on request");
    if (journal->stage == JOURNAL_VOCABULARY)
        return build->recipe.drop_duplicates ? enter_hashing(build, err) : enter_reading(build, err);
    /* A pipe cannot be read from its middle, nor can Google's draws begin there: such a build starts anew. */
    if (journal->stage == JOURNAL_READING && (inputs_pipe(&build->inputs) || build->recipe.compat == COMPAT_GOOGLE))
        return spill_remove_all(build->site, err);
    return 0;
}

/* The others take over what the first has prepared. */
static int take_journal(struct build *build, struct error *err)
{
    const int found = journal_read(&build->journal, build->site, err);
    if (found == 0)
        return fail_at(err, ERR_RESOURCE, build->site, ERROR_NO_OFFSET,
                       "is not the directory that the first process sees");
    return found < 0 ? -1 : 0;
}

static int take_over(struct build *build, struct error *err)
{
    TRY(take_journal(build, err));
    return build->recipe.learned ? settle_vocabulary(build, err) : 0;
}

/* The sets of the spills, as the journal has them: those of the samples, then that of the hashes; or that alone. */
static int settle_sets(struct build *build, struct error *err)
{
    const struct journal *journal = &build->journal;
    const size_t hashes = journal->set_count - 1;
    if (hashes != (journal->stage == JOURNAL_HASHING ? 0 : 2 * build->recipe.length_count)) {
        fail_at(err, ERR_VERIFY, build->site, ERROR_NO_OFFSET, "the journal of this build cannot be read");
        return hint(err, "start anew with --fresh");
    }
    for (size_t set = 0; set < journal->set_count; set++)
        build->sets[set] = (struct spill_set){
            .entry_bytes = set == hashes ? (uint32_t)sizeof(struct sample_key)
                                         : (uint32_t)digest_entry_bytes(&build->recipe, set / 2, build->vocab->count),
            .bucket_bits = journal->bucket_bits[set]};
    build->extents.spill_count = spill_bucket_count(build->sets, journal->set_count);
    return 0;
}

/* All hashes are in the spills. A kill between the last two steps costs another pass. */
static int end_hashing(struct build *build, struct error *err)
{
    TRY(extents_read(&build->extents, err));
    const int result = duplicates_list(&build->extents, build->sets, build->plan.load_bytes_max, err);
    extents_release(&build->extents);
    return result == 0 ? enter_reading(build, err) : result;
}

/* The first of two passes over the inputs. */
static int find_duplicates(struct build *build, struct error *err)
{
    if (is_first(build))
        log_say("looking for documents of equal text; then the inputs are read again");
    TRY(read_inputs(build, true, err));
    TRY(ranks_agree(build->ranks, is_first(build) ? end_hashing(build, err) : 0, err));
    if (!is_first(build)) {
        journal_release(&build->journal);
        build->journal = (struct journal){0};
    }
    TRY(ranks_agree(build->ranks, is_first(build) ? 0 : take_journal(build, err), err));
    return settle_sets(build, err);
}

/* One process that reads all from its beginning can do without the number of windows of compressed inputs, which takes a
 * pass of its own. */
static int know_windows(const struct build *build, struct error *err)
{
    const int several = extents_several(build->site, err);
    TRY(several);
    return several || ranks_count(build->ranks) > 1 ? inputs_measure(&build->inputs, err) : 0;
}

/* Everything after the plan: the directory is ours and locked. */
static int run(struct build *build, struct error *err)
{
    struct journal *journal = &build->journal;
    TRY(ranks_agree(build->ranks, is_first(build) ? prepare(build, err) : 0, err));
    TRY(ranks_agree(build->ranks, is_first(build) ? 0 : take_over(build, err), err));
    TRY(settle_sets(build, err));
    TRY(ranks_agree(build->ranks, know_windows(build, err), err));

    const struct tokenizer_options words = recipe_words(&build->recipe);
    build->tokenizer = tokenizer_open(build->vocab, &words);
    if (journal->stage == JOURNAL_SEALING) {
        if (is_first(build))
            log_say("going on with %s: sealing", build->site);
    } else {
        if (journal->stage == JOURNAL_HASHING)
            TRY(find_duplicates(build, err));
        if (build->recipe.drop_duplicates)
            TRY(ranks_agree(build->ranks, duplicates_open(&build->duplicates, build->site, err), err));
        TRY(read_inputs(build, false, err));
        TRY(ranks_agree(build->ranks, is_first(build) ? enter_stage(build, JOURNAL_SEALING, err) : 0, err));
    }
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
                                                (json_int_t)dump_stored_bytes(build->inputs.dumps[i]), "fingerprint",
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
    const uint64_t more = build->plan.disk_bytes - build->plan.old_bytes;
    const int64_t bytes = path_free_bytes(build->directory, err);
    if (bytes < 0)
        return -1;
    if ((uint64_t)bytes < more) {
        fail_at(err, ERR_RESOURCE, build->directory, ERROR_NO_OFFSET,
                "needs about %s of disk while building, %s are free", format_bytes(more, needed),
                format_bytes((uint64_t)bytes, there));
        return hint(err, "nothing was written; choose an --out on a larger disk, or fewer lengths with --seq");
    }
    return 0;
}

/* An earlier start with --fresh was interrupted while it put its dataset in place: that is done first of all, because
 * --vocab may name a file that is on its way. By the first process. */
static int settle(struct build *build, struct error *err)
{
    struct error unlike = {0}; /* what is not ours is claim_fresh's to refuse */
    int state = build->settings->dry_run ? FRESH_ABSENT : fresh_look(build->directory, &unlike);
    if (state < 0 && unlike.kind == ERR_RESOURCE)
        *err = unlike;
    if (state != FRESH_COMPLETE)
        return err->kind == ERR_RESOURCE ? -1 : 0;
    if (build->lock.fd < 0)
        TRY(lock_take(&build->lock, build->directory, err));
    state = fresh_look(build->directory, err);
    if (state != FRESH_COMPLETE)
        return state < 0 ? -1 : 0;
    log_say("going on with %s: the new dataset is complete and takes the place of the old one", build->directory);
    TRY(fresh_replace(build->directory, err));
    build->replaced = true;
    return 0;
}

/* --fresh, in a directory that is ours: refuses what would be lost, then looks at the site. */
static int claim_fresh(struct build *build, struct error *err)
{
    struct error differs = {0};
    if (build->replaced &&
        directory_look(build->directory, build->identity, &build->journal, &differs) == DIRECTORY_FINISHED)
        return DIRECTORY_FINISHED; /* of this very command: it has only finished what it had begun */
    struct path_list inputs = {.names = mem_clear(build->inputs.count + 2, sizeof *inputs.names)};
    for (size_t i = 0; i < build->inputs.count; i++)
        inputs.names[inputs.count++] = (char *)(uintptr_t)build->inputs.paths[i];
    if (build->settings->templates)
        inputs.names[inputs.count++] = (char *)(uintptr_t)build->settings->templates;
    const int checked = fresh_check(build->directory, &inputs, build->settings->vocab, err);
    mem_free(inputs.names);
    TRY(checked);
    TRY(fresh_look(build->directory, err));
    int state = directory_look(build->site, build->identity, &build->journal, err);
    if (state < 0 && err->kind == ERR_MISMATCH) {
        log_say("%s held the unfinished build of another command: removed", build->site);
        *err = (struct error){0};
        TRY(fresh_discard(build->directory, err));
        state = DIRECTORY_NEW;
    }
    if (state == DIRECTORY_NEW) {
        TRY(check_disk(build, err));
        TRY(path_make_directory(build->site, err));
    }
    return state;
}

/* Says that DIR/.fresh is there: what a failed build left. */
static void say_unfinished(const struct build *build)
{
    struct error ignored = {0};
    if (fresh_look(build->directory, &ignored) == FRESH_UNFINISHED)
        log_say("note       %s/" FRESH_NAME " holds an unfinished build beside what was there: the same command with "
                "--fresh goes on with it",
                build->directory);
}

/* The directory is made, locked and looked at; by the first process. An enum directory_state, or < 0. */
static int claim(struct build *build, struct error *err)
{
    if (!path_exists(build->directory)) {
        TRY(check_disk(build, err));
        TRY(path_make_directory(build->directory, err));
    }
    TRY(directory_check(build->directory, err));
    if (build->lock.fd < 0)
        TRY(lock_take(&build->lock, build->directory, err));
    TRY(settle(build, err)); /* of a process that was killed since the first look */
    if (build->settings->fresh)
        return claim_fresh(build, err);
    say_unfinished(build);
    return directory_look(build->directory, build->identity, &build->journal, err);
}

/* Several processes must see the same inputs and options. */
static int compare_identities(struct build *build, struct error *err)
{
    struct buf first = {0};
    char *own = json_dumps(build->identity, JSON_COMPACT | JSON_SORT_KEYS);
    if (is_first(build))
        buf_add_text(&first, own);
    int result = ranks_give(build->ranks, &first, err);
    if (result == 0 && !str_equal(buf_str(&first), str_of(own)))
        result = fail(err, ERR_MISMATCH, "process %u has other inputs, vocabulary or options than the first one",
                      ranks_rank(build->ranks));
    free(own);
    buf_release(&first);
    return ranks_agree(build->ranks, result, err);
}

/* What several processes cannot do. */
static int refuse_several(const struct build *build, struct opt_paths bare, struct error *err)
{
    if (ranks_count(build->ranks) == 1)
        return 0;
    if (inputs_ask_for_pipe(build->settings, bare))
        return fail(err, ERR_USAGE, "standard input can be read by one process only");
    if (build->settings->compat == COMPAT_GOOGLE)
        return fail(err, ERR_USAGE, "--compat google draws in turn: start dsdata once");
    return 0;
}

static int make_plan(struct build *build, struct opt_paths bare, struct error *err)
{
    struct settings *settings = build->settings;
    TRY(refuse_several(build, bare, err));
    if (inputs_ask_for_pipe(settings, bare) && (!settings->vocab || !settings->out))
        return fail(err, ERR_USAGE, "standard input can be read once only: it needs --vocab and --out");
    if (inputs_ask_for_pipe(settings, bare) && settings->duplicates == DUPLICATES_DROP)
        return fail(err, ERR_USAGE, "standard input can be read once only: --duplicates drop reads the inputs twice");
    if (settings->vocab)
        TRY(published_vocab(settings, &build->vocab, err));
    TRY(inputs_open(&build->inputs, settings, bare, err));
    TRY(recipe_make(settings, inputs_english(&build->inputs), &build->recipe, err));
    build->recipe.lang = build->inputs.lang;
    build->recipe.languages = build->inputs.named;
    build->recipe.forms = build->inputs.forms;
    memcpy(build->recipe.templates, build->inputs.templates_hash, sizeof build->recipe.templates);
    const struct tokenizer_options words = recipe_words(&build->recipe);
    if (build->vocab)
        TRY(published_fits(settings->vocab, build->vocab, &words, err));
    const uint32_t vocab_size = build->vocab ? build->vocab->count : build->recipe.vocab_size;
    TRY(plan_make(settings, &build->inputs, &build->recipe, vocab_size, &build->plan, err));
    if (settings->fresh)
        TRY(fresh_old_bytes(build->directory, &build->plan.old_bytes, err));
    build->plan.disk_bytes += build->plan.old_bytes;
    return make_identity(build, &build->identity, err);
}

static int start(struct build *build, struct opt_paths bare, struct error *err)
{
    build->directory = build->settings->out ? mem_copy_text(build->settings->out) : inputs_stem(build->settings, bare);
    build->site = build->settings->fresh ? fresh_site(build->directory) : mem_copy_text(build->directory);
    TRY(ranks_agree(build->ranks, is_first(build) ? settle(build, err) : 0, err));
    TRY(ranks_agree(build->ranks, make_plan(build, bare, err), err));
    TRY(compare_identities(build, err));
    if (is_first(build))
        summary_plan(build->directory, build->settings, &build->inputs, &build->recipe, &build->plan);
    if (build->settings->dry_run)
        return is_first(build) ? summary_dry_run(build->settings, &build->plan, &build->recipe) : 0;

    uint64_t state = 0;
    const int claimed = is_first(build) ? claim(build, err) : 0;
    TRY(ranks_agree(build->ranks, claimed < 0 ? -1 : 0, err));
    state = (uint64_t)claimed;
    TRY(ranks_sum(build->ranks, &state, 1, err));
    TRY(ranks_watch(build->ranks, build->directory, &build->lock, err));
    if (state == DIRECTORY_FINISHED)
        return ranks_agree(build->ranks, is_first(build) ? already_finished(build, err) : 0, err);
    build->extents = (struct extents){.directory = build->site, .inputs = &build->inputs, .limit = build->recipe.limit};
    return run(build, err);
}

/* The cores of a machine that several processes share; what a launcher bound us to may be fewer. */
static uint64_t share_cores(const struct ranks *ranks)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const uint64_t share = cores > 0 ? (uint64_t)cores / ranks_here(ranks) : 1, bound = cores_allowed();
    return share < 1 ? 1 : share < bound ? share : bound;
}

int verb_build(void *data, struct opt_paths bare, struct error *err)
{
    struct settings *settings = data;
    if (settings->compat == COMPAT_GOOGLE)
        TRY(google_settle(settings, bare, err));
    struct build build = {.settings = settings, .lock = {.fd = -1}, .started = clock_now()};
    TRY(ranks_open(&build.ranks, messages_mpi(), build.settings->peer_timeout, err));
    build.facts.processes = ranks_count(build.ranks);
    if (!is_first(&build))
        log_open("dsdata", LOG_QUIET, settings->json);
    if (build.ranks && settings->threads == 0)
        settings->threads = share_cores(build.ranks);
    stop_on_signals();
    int result = start(&build, bare, err);
    if (result < 0 && (err->kind == ERR_RESOURCE || err->kind == ERR_STOPPED) && !err->hint[0])
        hint_safe(&build, err);
    if (result < 0 && settings->fresh && is_first(&build) && build.lock.fd >= 0)
        say_unfinished(&build);
    if (result < 0 && err->kind == ERR_VERIFY && settings->fresh)
        hint(err, "remove %s, and the same command starts anew", build.site);
    duplicates_close(&build.duplicates);
    extents_release(&build.extents);
    extent_release(&build.whole);
    journal_release(&build.journal);
    tokenizer_close(build.tokenizer);
    vocab_close(build.vocab);
    json_decref(build.identity);
    inputs_close(&build.inputs);
    const bool speaks = ranks_speaks(build.ranks);
    ranks_close(build.ranks, &build.lock);
    mem_free(build.directory);
    mem_free(build.site);
    return result < 0 && !speaks ? (int)err->kind : result;
}
