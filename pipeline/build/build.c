/* dsdata build, in the order of the flow: inputs → vocabulary → spills → shards → manifest. After being killed at any
 * point, the same command continues from its journals and ends with the same bytes. Several processes (ranks.h) run all
 * of this in parallel: what only one may do is done by the first, and the others learn the result. */
#include "pipeline/build/build.h"

#include "base/cores.h"
#include "base/log.h"
#include "base/output.h"
#include "pipeline/build/build_reading.h"
#include "pipeline/build/directory.h"
#include "pipeline/build/owned.h"
#include "pipeline/build/fresh.h"
#include "pipeline/google/google.h"
#include "pipeline/build/rehearsal.h"
#include "tokenizer/bpe_write.h"
#include "tokenizer/tokenizer_files.h"

#include <unistd.h>

int build_by_all(struct build *build, build_step *step, struct error *err)
{
    return ranks_barrier(build->ranks, step(build, err), err);
}

int build_by_first(struct build *build, build_step *step, struct error *err)
{
    return ranks_barrier(build->ranks, build_is_first(build) ? step(build, err) : 0, err);
}

/* In all processes but the first. */
static int by_others(struct build *build, build_step *step, struct error *err)
{
    return ranks_barrier(build->ranks, build_is_first(build) ? 0 : step(build, err), err);
}

static int hint_safe(const struct build *build, struct error *err)
{
    if (!build->directory || !path_is_directory(build->directory))
        return hint(err, "nothing was written; the same command tries again");
    if (build->settings->fresh)
        return hint(err,
                    "what was done is safe in %s, and what stood in %s before goes only when it is complete; the same "
                    "command continues from there",
                    build->site, build->directory);
    return hint(err, "what was done is safe in %s; the same command continues from there", build->directory);
}

/* Writes vocab.txt and, of a byte-level BPE, the tokenizer's files. */
static int write_vocabulary(struct build *build, const char *path, struct error *err)
{
    struct tokenizer_files *files = &build->files;
    if (build->recipe.learned && build->vocab->kind == VOCAB_BPE_BYTES) {
        bpe_write_json(build->vocab, build->recipe.names == NAMES_ROBERTA, &files->tokenizer);
        bpe_write_config(build->vocab, &files->config);
    }
    for (int i = 0; i < TOKENIZER_FILES; i++) {
        SCOPED(mem_free_at) char *to = path_join(build->site, tokenizer_file_names[i]);
        if (files->all[i].size > 0)
            TRY(file_write_all(to, files->all[i].data, files->all[i].size, err));
    }
    return vocab_write(build->vocab, path, err);
}

/* Reads the vocabulary that an earlier start has learned. */
static int read_learned(struct build *build, const char *path, struct error *err)
{
    struct tokenizer_facts facts;
    if (build->recipe.kind == VOCAB_WORDPIECE)
        return vocab_read(&build->vocab, path, VOCAB_OWN, err);
    TRY(tokenizer_read(&facts, build->site, PROFILE_HF, err));
    build->vocab = facts.vocab;
    return tokenizer_copy(&build->files, build->site, err);
}

/* Learns or reads the vocabulary, and copies it into the dataset. */
static int settle_vocabulary(struct build *build, struct error *err)
{
    SCOPED(mem_free_at) char *path = path_join(build->site, VOCAB_NAME);
    char given[32], wanted[32];
    struct vocabulary_facts *facts = &build->facts.vocabulary;
    if (!build->recipe.learned)
        return write_vocabulary(build, path, err);
    if (build->journal.stage > JOURNAL_VOCABULARY)
        return read_learned(build, path, err);
    TRY(vocabulary_learn(&build->inputs, &build->recipe, &build->plan, false, &build->vocab, facts, err));
    if (!vocabulary_warn_size(&build->recipe, facts) && build->vocab->count < build->recipe.vocab_size &&
        facts->words > 0) /* else the end of the build says that there is no text */
        log_warn("the text is too short: it gives a vocabulary of %s pieces, not of %s",
                 format_count(build->vocab->count, given), format_count(build->recipe.vocab_size, wanted));
    return write_vocabulary(build, path, err);
}

/* --compat google: reads the inputs as Google's program does. */
static int read_like_google(struct build *build, struct error *err)
{
    struct collector collector = {.directory = build->site,
                                  .inputs = &build->inputs,
                                  .sets = build->sets,
                                  .set_count = build->journal.set_count,
                                  .started = clock_now()};
    const struct dataset_recipe *recipe = &build->recipe;
    const struct google_options options = {.inputs = &build->inputs,
                                           .rules = {.seq = recipe->seq[0],
                                                     .predictions = recipe->predictions[0],
                                                     .mask_prob = recipe->mask_prob / (double)MILLION,
                                                     .short_seq_prob = recipe->short_seq_prob / (double)MILLION,
                                                     .copies = recipe->copies,
                                                     .whole_words = recipe->masking == MASKS_WHOLE_WORD,
                                                     .vocab = build->vocab},
                                           .seed = recipe->seed,
                                           .tokenizer = build->tokenizer,
                                           .memory_bytes = build->plan.room_bytes};
    TRY(extents_read(&build->extents, err));
    extents_release(&build->extents);
    int result = collector_open(&collector, 0, err);
    progress_open(&build->progress);
    if (result == 0)
        result = google_read(&options,
                             &(struct google_output){.spill = &collector.spill,
                                                     .counts = &collector.extent.counts,
                                                     .hashes = collector.extent.hashes},
                             &build->progress, err);
    if (result == 0) {
        collector.extent.file = (uint32_t)build->inputs.count;
        result = collector_save(&collector, err);
    }
    progress_close(&build->progress);
    collector_close(&collector);
    return result;
}

static int read_inputs(struct build *build, bool only_notes, struct error *err)
{
    const bool drops = repeats_wanted(&build->recipe) && !only_notes;
    const struct reading_options options = {.directory = build->site,
                                            .inputs = &build->inputs,
                                            .recipe = &build->recipe,
                                            .plan = &build->plan,
                                            .vocab = build->vocab,
                                            .tokenizer = build->tokenizer,
                                            .repeats = drops ? &build->repeats : NULL,
                                            .only_notes = only_notes,
                                            .sets = build->sets,
                                            .set_count = build->journal.set_count,
                                            .ranks = build->ranks};
    return build->recipe.compat == COMPAT_GOOGLE ? read_like_google(build, err)
                                                 : reading_run(&options, &build->facts, err);
}

static int enter_stage(struct build *build, enum journal_stage stage, struct error *err)
{
    json_decref(build->journal.command); /* of an earlier start */
    build->journal.command = json_array();
    for (int i = 0; i < build->settings->argc; i++)
        json_array_append_new(build->journal.command, json_name(build->settings->argv[i]));
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
    journal->set_count = REPEATS_SETS;
    journal->bucket_bits[0] = build->plan.bucket_bits[2 * build->recipe.length_count];
    journal->bucket_bits[1] = 0;
    return enter_stage(build, JOURNAL_HASHING, err);
}

static int enter_sealing(struct build *build, struct error *err)
{
    return enter_stage(build, JOURNAL_SEALING, err);
}

/* Settles the vocabulary and the buckets of the spills. First process only. */
static int prepare(struct build *build, struct error *err)
{
    struct journal *journal = &build->journal;
    if (!journal->identity) {
        journal->identity = json_incref(build->identity);
        TRY(enter_stage(build, JOURNAL_VOCABULARY, err));
    }
    TRY(build_keep_templates(build, err));
    TRY(settle_vocabulary(build, err));
    if (stop_requested())
        return fail(err, ERR_STOPPED, "stopped on request");
    if (journal->stage == JOURNAL_VOCABULARY)
        return repeats_wanted(&build->recipe) ? enter_hashing(build, err) : enter_reading(build, err);
    /* A pipe cannot be read from its middle, and Google's draws cannot begin there: such a build starts again. */
    if (journal->stage == JOURNAL_READING && (inputs_pipe(&build->inputs) || build->recipe.compat == COMPAT_GOOGLE))
        return spill_remove_all(build->site, err);
    return 0;
}

/* The other processes load what the first has prepared. */
static int take_journal(struct build *build, struct error *err)
{
    journal_release(&build->journal); /* that of the stage before */
    build->journal = (struct journal){0};
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

/* The sets of the spills, according to the journal: those of the samples, then that of the hashes; or those of
 * repeats.h. */
static int settle_sets(struct build *build, struct error *err)
{
    const struct journal *journal = &build->journal;
    const size_t hashes = 2 * build->recipe.length_count;
    const bool notes = journal->stage == JOURNAL_HASHING;
    if (journal->set_count != (notes ? REPEATS_SETS : hashes + 1))
        return journal_damaged(build->site, err);
    if (notes)
        repeats_sets(&build->recipe, journal->bucket_bits[0], build->sets);
    for (size_t set = 0; !notes && set < journal->set_count; set++)
        build->sets[set] = (struct spill_set){
            .entry_bytes = set == hashes ? (uint32_t)sizeof(struct sample_key)
                                         : (uint32_t)digest_entry_bytes(&build->recipe, set / 2, build->vocab->count),
            .bucket_bits = journal->bucket_bits[set]};
    build->extents.spill_count = spill_bucket_count(build->sets, journal->set_count);
    return 0;
}

/* Lists the repeated documents when all notes are in the spills. If killed between the last two steps, a build hashes
 * again. */
static int end_hashing(struct build *build, struct error *err)
{
    TRY(extents_read(&build->extents, err));
    TRY(repeats_list(&build->recipe, &build->extents, build->sets, build->plan.load_bytes_max, build->plan.room_bytes,
                     err));
    extents_release(&build->extents);
    return enter_reading(build, err);
}

/* The first of two passes over the inputs. */
static int find_repeats(struct build *build, struct error *err)
{
    if (build_is_first(build))
        log_say("looking for documents of equal text%s; then the inputs are read again",
                build->recipe.near_duplicates > 0 ? ", or nearly" : "");
    TRY(read_inputs(build, true, err));
    TRY(build_by_first(build, end_hashing, err));
    TRY(by_others(build, take_journal, err));
    return settle_sets(build, err);
}

static int open_repeats(struct build *build, struct error *err)
{
    return repeats_open(&build->repeats, &build->recipe, build->site, err);
}

/* Counts the windows of compressed inputs, which takes a pass of its own, unless a single process reads everything from
 * the beginning and does not need the number. */
static int know_windows(struct build *build, struct error *err)
{
    const int several = extents_several(build->site, err);
    TRY(several);
    return several || ranks_count(build->ranks) > 1 ? inputs_measure(&build->inputs, err) : 0;
}

/* Everything after the plan. The directory is ours and locked. */
static int run(struct build *build, struct error *err)
{
    struct journal *journal = &build->journal;
    TRY(build_by_first(build, prepare, err));
    TRY(by_others(build, take_over, err));
    TRY(settle_sets(build, err));
    TRY(build_by_all(build, know_windows, err));

    const struct tokenizer_options words = dataset_recipe_words(&build->recipe);
    build->tokenizer = tokenizer_open(build->vocab, &words);
    if (journal->stage == JOURNAL_SEALING) {
        if (build_is_first(build))
            log_say("continuing %s: sealing", build->site);
    } else {
        if (journal->stage == JOURNAL_HASHING)
            TRY(find_repeats(build, err));
        if (repeats_wanted(&build->recipe))
            TRY(build_by_all(build, open_repeats, err));
        TRY(read_inputs(build, false, err));
        TRY(build_by_first(build, enter_sealing, err));
    }
    return build_finish(build, err);
}

/* Checks the size only; dsdata verify reads every byte. */
static int check_file(const char *directory, const char *name, uint64_t bytes, struct error *err)
{
    SCOPED(mem_free_at) char *path = path_join(directory, name);
    SCOPED(file_close) struct file file = FILE_CLOSED;
    const bool there = path_is_file(path);
    if (there) {
        TRY(file_open_read(&file, path, err));
        const int64_t size = file_size(&file, err);
        TRY(size);
        if ((uint64_t)size == bytes)
            return 0;
    }
    fail_at(err, ERR_VERIFY, path, ERROR_NO_OFFSET, "the dataset was finished, but this file is %s",
            there ? "of another size" : "missing");
    return hint(err, "dsdata verify names all that is damaged; --fresh builds the dataset anew");
}

static int check_files(const char *directory, const struct manifest *manifest, struct error *err)
{
    struct manifest_text texts[MANIFEST_TEXTS];
    for (size_t count = manifest_texts(manifest, texts), i = 0; i < count; i++)
        TRY(check_file(directory, texts[i].name, texts[i].bytes, err));
    for (size_t i = 0; i < manifest->length_count; i++)
        for (uint32_t shard = 0; shard < manifest->lengths[i].shards; shard++) {
            char name[SHARD_NAME_BYTES];
            struct shard_header header;
            manifest_shard_header(manifest, &manifest->lengths[i], shard, &header);
            TRY(check_file(directory, manifest_shard_name(&manifest->lengths[i], shard, name),
                           shard_file_bytes(&header), err));
        }
    return 0;
}

static int already_finished(struct build *build, struct error *err)
{
    TRY(owned_tidy(build->directory, err)); /* if the last start was killed after writing the manifest */
    SCOPED(manifest_release) struct manifest manifest;
    TRY(manifest_read(&manifest, build->directory, err));
    TRY(check_files(build->directory, &manifest, err));
    return summary_finished(build->directory, build->settings, &manifest, err);
}

/* For --dry-run the plan is made from what a part of the inputs gave. Its error is reported after the warnings about
 * the inputs, as for the build itself. */
static int show_plan(struct build *build, struct error *err)
{
    const bool tries = build->settings->dry_run;
    const int result = tries ? rehearse(&build->inputs, &build->recipe, build->vocab, &build->plan, err) : 0;
    summary_plan(build->directory, build->settings, &build->inputs, &build->recipe, &build->plan);
    return result;
}

/* An enum directory_state, the same in all processes. */
static int claim(struct build *build, struct error *err)
{
    const int claimed = build_is_first(build) ? build_claim(build, err) : 0;
    TRY(ranks_barrier(build->ranks, claimed < 0 ? -1 : 0, err));
    uint64_t state = (uint64_t)claimed; /* of the others 0 */
    TRY(ranks_all_reduce(build->ranks, &state, 1, err));
    return (int)state;
}

static int start(struct build *build, struct error *err)
{
    struct dsdata_settings *settings = build->settings;
    build->directory = settings->out ? mem_copy_text(settings->out) : inputs_stem(settings, build->bare);
    build->site = settings->fresh ? fresh_site(build->directory) : mem_copy_text(build->directory);
    TRY(build_by_first(build, build_settle_fresh, err));
    TRY(build_by_all(build, build_open, err));
    TRY(build_by_all(build, build_plan, err));
    TRY(build_by_first(build, build_check_directory, err));
    TRY(build_by_first(build, show_plan, err));
    TRY(build_templates(build, err));
    TRY(build_by_all(build, build_identify, err));
    TRY(build_compare(build, err));
    if (settings->dry_run)
        return build_is_first(build) ? summary_dry_run(settings, &build->plan, &build->recipe) : 0;

    const int state = claim(build, err);
    TRY(state);
    TRY(ranks_watch(build->ranks, build->directory, &build->lock, err));
    if (state == DIRECTORY_FINISHED)
        return build_by_first(build, already_finished, err);
    build->extents = (struct extents){.directory = build->site, .inputs = &build->inputs, .limit = build->recipe.limit};
    return run(build, err);
}

/* Divides the cores of a machine among its processes. A launcher may have bound us to fewer. */
static uint64_t share_cores(const struct ranks *ranks)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const uint64_t share = cores > 0 ? (uint64_t)cores / ranks_here(ranks) : 1, bound = cores_allowed();
    return share < 1 ? 1 : share < bound ? share : bound;
}

int dsdata_build(void *data, struct opt_paths bare, struct error *err)
{
    struct dsdata_settings *settings = data;
    if (settings->compat == COMPAT_GOOGLE)
        TRY(google_settle(settings, bare, err));
    struct build build = {
        .settings = settings, .bare = bare, .lock = {.fd = -1}, .spool.lock = {.fd = -1}, .started = clock_now()};
    TRY(ranks_open(&build.ranks, messages_mpi(), build.settings->peer_timeout, err));
    build.facts.processes = ranks_count(build.ranks);
    build.facts.seals = true;
    if (!build_is_first(&build))
        log_open("dsdata", LOG_QUIET, settings->json);
    if (build.ranks && settings->threads == 0)
        settings->threads = share_cores(build.ranks);
    stop_on_signals();
    int result = start(&build, err);
    if (result < 0 && (err->kind == ERR_RESOURCE || err->kind == ERR_STOPPED) && !err->hint[0])
        hint_safe(&build, err);
    if (result < 0 && settings->fresh && build_is_first(&build) && build.lock.fd >= 0)
        build_say_unfinished(&build);
    if (result < 0 && err->kind == ERR_VERIFY && settings->fresh)
        hint(err, "remove %s, and the same command starts anew", build.site);
    repeats_close(&build.repeats);
    extents_release(&build.extents);
    extent_release(&build.whole);
    journal_release(&build.journal);
    tokenizer_close(build.tokenizer);
    vocab_close(build.vocab);
    tokenizer_release(&build.files);
    json_decref(build.identity);
    inputs_close(&build.inputs);
    buf_release(&build.templates);
    spool_release(&build.spool);
    const bool speaks = ranks_speaks(build.ranks);
    ranks_close(build.ranks, &build.lock);
    if (build.made && result < 0)
        path_remove_empty(build.directory, &(struct error){0});
    mem_free(build.directory);
    mem_free(build.site);
    return result < 0 && !speaks ? (int)err->kind : result;
}
