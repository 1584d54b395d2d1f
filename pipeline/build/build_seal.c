/* The last part of dsdata build: the spills of all extents → shards, manifest, summary. Several processes share the
 * shards; the first writes the rest. */
#include "pipeline/build/build.h"

#include "base/mem.h"
#include "pipeline/build/advice.h"
#include "pipeline/build/owned.h"
#include "pipeline/build/fresh.h"
#include "pipeline/store/seal.h"

#include <stdlib.h>
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

/* What was dropped and how often, and what unknown templates held. */
static void fill_counts(const struct build *build, struct manifest *manifest)
{
    const struct dataset_recipe *recipe = &build->recipe;
    const struct counts *counts = &build->whole.counts;
    /* A reason that only an option gives is left out where it did not occur, so that datasets made without the option
     * keep their bytes. */
    for (int fate = PAGE_KEPT + 1; fate < PAGE_FATES; fate++)
        if (!page_fate_is_asked_for((enum page_fate)fate) || counts->pages[fate] > 0 ||
            (fate == PAGE_DUPLICATE && recipe->drop_duplicates))
            manifest_add_dropped(manifest, page_fate_name((enum page_fate)fate), counts->pages[fate],
                                 counts->dropped[fate]);
    for (int fate = 0; fate < FATES; fate++)
        manifest_add_fate(manifest, fate_name((enum fate)fate), counts->fates[fate]);
    manifest->unknown = (struct manifest_unknown){.count = counts->templates,
                                                  .bytes = counts->template_bytes,
                                                  .characters = counts->template_characters,
                                                  .sentences = counts->template_sentences};
    manifest->repaired_documents = counts->repaired_documents;
    for (int repair = 0; repair < REPAIRS; repair++)
        if (counts->repaired[repair] > 0)
            manifest_add_repaired(manifest, repair_name((enum repair)repair), counts->repaired[repair]);
    manifest->leaks = counts->leaks;
    const struct name_counts *languages = &build->whole.missing.languages;
    for (size_t i = 0; i < languages->count; i++)
        manifest_add_language(manifest, name_counts_name(languages, &languages->rows[i]), languages->rows[i].count,
                              languages->rows[i].bytes);
}

static void fill_options(const struct dataset_recipe *recipe, struct manifest *manifest)
{
    json_auto_t *options = dataset_recipe_json(recipe);
    const char *name;
    json_t *value;
    json_object_foreach(options, name, value)
    {
        char *text = json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
        manifest_add_option(manifest, name, text ? text : json_string_value(value));
        free(text);
    }
}

/* The samples and shards of each length and split. */
static void fill_lengths(const struct build *build, struct manifest *manifest)
{
    const struct dataset_recipe *recipe = &build->recipe;
    const struct counts *counts = &build->whole.counts;
    for (size_t set = 0; set < 2 * recipe->length_count; set++) {
        const uint64_t samples = counts->samples[set];
        const uint64_t record = digest_entry_bytes(recipe, set / 2, build->vocab->count) - sizeof(struct sample_key);
        uint64_t shards = (samples * record + recipe->shard_bytes - 1) / recipe->shard_bytes;
        if (shards > samples) /* --shard-bytes is below a record: no shard is empty */
            shards = samples;
        manifest_add_length(manifest, recipe->seq[set / 2], recipe->predictions[set / 2], (enum split)(set % 2),
                            samples, counts->tokens[set], (uint32_t)shards);
    }
}

/* Describes the dataset, except for the hashes of its shards. */
static void fill_manifest(const struct build *build, struct manifest *manifest)
{
    const struct dataset_recipe *recipe = &build->recipe;
    const struct counts *counts = &build->whole.counts;
    const struct vocab *vocab = build->vocab;
    *manifest = (struct manifest){.text_version = TEXT_VERSION,
                                  .vocab_size = vocab->count,
                                  .vocab_bytes = vocab->text_bytes,
                                  .vocab_hash = vocab->hash,
                                  .special = {.pad = vocab->pad,
                                              .unk = vocab->unk == VOCAB_NONE ? vocab->mask : vocab->unk,
                                              .cls = vocab->cls,
                                              .sep = vocab->sep,
                                              .mask = vocab->mask},
                                  .cased = recipe->cased,
                                  .accents_kept = !recipe->strip_accents,
                                  .pairs = recipe->pairs,
                                  .masking = recipe->masking,
                                  .mask_millionths = recipe->mask_prob,
                                  .seed = recipe->seed,
                                  .documents = counts->documents,
                                  .pages_kept = counts->pages[PAGE_KEPT]};
    fill_counts(build, manifest);
    fill_options(recipe, manifest);
    manifest_add_tokenizer(manifest, &build->files);
    /* Without names: the manifest depends on what was read, not on where it was. */
    for (size_t i = 0; i < build->inputs.count; i++)
        manifest_add_source(
            manifest,
            (struct manifest_source){.bytes = dump_bytes(build->inputs.dumps[i]),
                                     .hash = build->whole.hashes[i],
                                     .kind = (int)dump_kind(build->inputs.dumps[i]), /* names in this order */
                                     .rule = build->inputs.articles[i].held_by_text ? VALID_BY_TEXT : VALID_BY_ID});
    fill_lengths(build, manifest);
}

/* Counts documents of equal text. Dropped ones are counted already. Others are found by their hashes, which are the
 * last set; Google's program makes none. First process only. */
static int count_duplicates(struct build *build, struct error *err)
{
    build->facts.duplicates = build->whole.counts.pages[PAGE_DUPLICATE];
    if (build->recipe.drop_duplicates)
        return 0;
    return duplicates_count(&build->extents, build->sets, build->journal.set_count, build->plan.load_bytes_max,
                            &build->facts.duplicates, err);
}

/* Seals this process's share of the shards. Afterwards the manifest has the hashes of all. */
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
    int result = ranks_barrier(build->ranks, seal(&options, err), err);
    progress_close(&build->progress);
    for (size_t i = 0; result == 0 && i < manifest->length_count; i++)
        result = ranks_all_reduce(build->ranks, manifest->lengths[i].hashes, manifest->lengths[i].shards, err);
    mem_free(extents);
    return result;
}

/* Writes what makes the directory a dataset, then removes what only the build needed. */
static int complete(struct build *build, struct manifest *manifest, struct error *err)
{
    TRY(count_duplicates(build, err));
    TRY(summary_build_json(build->site, build->settings, &build->inputs, &build->plan, build->journal.identity,
                           &build->whole.counts, &build->whole.missing, &build->facts, err));
    TRY(manifest_write(manifest, build->site, err));
    TRY(build->settings->fresh ? fresh_replace(build->directory, err) : owned_tidy(build->directory, err));
    advice_after(build->settings, &build->recipe, &build->whole.counts, manifest);
    advice_split(build->settings, &build->recipe, &build->whole.counts, manifest);
    return summary_print(build->directory, build->settings, &build->plan, manifest, &build->whole.counts,
                         &build->whole.missing, &build->facts, err);
}

/* A build without documents leaves no files, so that other options can be tried. */
static int refuse_nothing(struct build *build, struct error *err)
{
    struct error ignored;
    struct path_list files = {0};
    if (build_is_first(build) && build->settings->fresh)
        fresh_discard(build->directory, &ignored);
    else if (build_is_first(build) && owned_of_journal(&files, &build->journal, build->site, &ignored) == 0 &&
             owned_remove(&files, build->site, &ignored) == 0)
        owned_tidy(build->site, &ignored);
    path_list_release(&files);
    return inputs_gave_nothing(&build->inputs, &build->whole.counts, err);
}

int build_finish(struct build *build, struct error *err)
{
    const double begun = clock_now();
    TRY(ranks_barrier(build->ranks, inputs_measure(&build->inputs, err), err)); /* if an earlier start read them */
    TRY(ranks_barrier(build->ranks, extents_read(&build->extents, err), err));
    extents_sum(&build->extents, &build->whole);
    if (build->whole.counts.documents == 0)
        return build_by_all(build, refuse_nothing, err);
    struct manifest manifest;
    fill_manifest(build, &manifest);
    int result = seal_share(build, &manifest, err);
    build->facts.seal_seconds = clock_now() - begun;
    build->facts.seconds = build->facts.earlier_seconds + clock_now() - build->started;
    if (result == 0)
        result = ranks_barrier(build->ranks, build_is_first(build) ? complete(build, &manifest, err) : 0, err);
    manifest_release(&manifest);
    return result;
}
