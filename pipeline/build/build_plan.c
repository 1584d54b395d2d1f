/* The first part of dsdata build: what to do (inputs, recipe, plan, identity), then the directory to do it in. At the
 * end the struct build has a directory that is ours and locked. */
#include "pipeline/build/build.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "pipeline/build/directory.h"
#include "pipeline/build/fresh.h"
#include "pipeline/google/google.h"
#include "pipeline/build/published.h"
#include "pipeline/build/template_pass.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Unless the directory holds files that are not ours. */
static int lock_directory(struct build *build, struct error *err)
{
    TRY(directory_check(build->directory, err));
    return build->lock.fd < 0 ? lock_take(&build->lock, build->directory, err) : 0;
}

/* Refuses what several processes cannot do. */
static int refuse_several(const struct build *build, struct error *err)
{
    if (ranks_count(build->ranks) == 1)
        return 0;
    if (inputs_ask_for_pipe(build->settings, build->bare))
        return fail(err, ERR_USAGE, "standard input can be read by one process only");
    if (build->settings->compat == COMPAT_GOOGLE)
        return fail(err, ERR_USAGE, "--compat google draws random numbers in sequence: start one process");
    return 0;
}

/* Of the pieces; of a byte-level BPE also of its files, which have the merges. */
static uint64_t hash_of_vocabulary(const struct build *build)
{
    uint64_t hash = build->vocab->hash;
    for (int i = 0; i < TOKENIZER_FILES; i++) {
        const struct buf *file = &build->files.all[i];
        const uint64_t both[] = {hash, (uint64_t)i, hash64(file->data, file->size)};
        hash = file->size > 0 ? hash64(both, sizeof both) : hash;
    }
    return hash;
}

/* The first pass is for the vocabulary, or for duplicates. */
static bool reads_twice(const struct dsdata_settings *settings)
{
    return !settings->vocab || settings->duplicates == DUPLICATES_DROP || settings->near_duplicates > 0;
}

/* Stores standard input on disk. */
static int spool(struct build *build, struct error *err)
{
    build->made = !path_exists(build->directory);
    if (build->made)
        TRY(path_make_directory(build->directory, err));
    TRY(lock_directory(build, err));
    TRY(spool_take(&build->spool, build->directory, err));
    build->settings->spool = build->spool.path;
    return 0;
}

int build_open(struct build *build, struct error *err)
{
    struct dsdata_settings *settings = build->settings;
    struct dataset_recipe recipe;
    TRY(refuse_several(build, err));
    if (settings->out && strcmp(settings->out, "-") == 0) {
        fail(err, ERR_USAGE, "--out -: a dataset is a directory, not a stream");
        return hint(err, "name a directory; ./- is one of that name");
    }
    /* Whatever can be refused without the inputs is refused before they are read, which may take hours. */
    TRY(dataset_recipe_check_kind(settings, "vocab-kind", err));
    TRY(dataset_recipe_make(settings, true, &recipe, err));
    if (inputs_ask_for_pipe(settings, build->bare) && !settings->out)
        return fail(err, ERR_USAGE, "standard input has no name for the dataset: give --out DIR");
    if (settings->vocab) {
        TRY(published_vocab(settings, &build->vocab, err));
        TRY(vocab_need_roles(build->vocab, settings->vocab, err));
        if (build->vocab->kind == VOCAB_BPE_BYTES || vocab_finds_tokens(build->vocab))
            TRY(tokenizer_copy(&build->files, settings->vocab, err));
    }
    if (inputs_ask_for_pipe(settings, build->bare) && reads_twice(settings) && !settings->dry_run)
        TRY(spool(build, err));
    TRY(inputs_open(&build->inputs, settings, build->bare, err));
    build->facts.of_pages = inputs_of_pages(&build->inputs);
    return settings->compat == COMPAT_GOOGLE ? google_check(&build->inputs, err) : 0;
}

/* Takes the renderings that an earlier start made for the same dataset, according to its journal or manifest. False:
 * there are none. */
static bool take_templates(struct build *build)
{
    struct error ignored;
    SCOPED(journal_release) struct journal journal = {0};
    SCOPED(manifest_release) struct manifest manifest = {0};
    SCOPED(mem_free_at) char *path = path_join(build->site, TEMPLATES_NAME);
    SCOPED(mem_free_at) char *finished = path_join(build->site, MANIFEST_NAME);
    const char *noted = NULL;
    char hash[17];
    if (path_exists(finished) && manifest_read(&manifest, build->site, &ignored) == 0)
        noted = manifest_option(&manifest, "templates");
    else if (journal_read(&journal, build->site, &ignored) > 0)
        noted = json_string_value(json_object_get(json_object_get(journal.identity, "recipe"), "templates"));
    build->templates_kept = noted && path_exists(path) &&
                            file_read_all(path, TEMPLATES_BYTES_MAX, &build->templates, &ignored) == 0 &&
                            strcmp(hash_text(hash64(build->templates.data, build->templates.size), hash), noted) == 0;
    if (!build->templates_kept)
        buf_reset(&build->templates);
    return build->templates_kept;
}

/* Makes the renderings of the dump's own templates; the other processes receive them as bytes. First process only. */
static int make_templates(struct build *build, struct error *err)
{
    struct dictionary_facts facts;
    if (build->settings->dry_run || !template_pass_wanted(build->settings, &build->inputs) || take_templates(build))
        return 0;
    TRY(template_pass(build->settings, &build->inputs, &build->templates, &facts, err));
    template_pass_say(&facts);
    return 0;
}

int build_templates(struct build *build, struct error *err)
{
    TRY(build_by_first(build, make_templates, err));
    TRY(ranks_broadcast(build->ranks, &build->templates, err));
    return template_pass_use(&build->inputs, buf_str(&build->templates), TEMPLATES_NAME, err);
}

int build_keep_templates(struct build *build, struct error *err)
{
    SCOPED(mem_free_at) char *path = path_join(build->site, TEMPLATES_NAME);
    return build->templates.size == 0 || build->templates_kept
               ? 0
               : file_write_all(path, build->templates.data, build->templates.size, err);
}

int build_plan(struct build *build, struct error *err)
{
    struct dsdata_settings *settings = build->settings;
    TRY(dataset_recipe_make(settings, inputs_english(&build->inputs), &build->recipe, err));
    dataset_recipe_take_inputs(&build->recipe, &build->inputs);
    if (build->vocab)
        build->recipe.kind = build->vocab->kind;
    const struct tokenizer_options words = dataset_recipe_words(&build->recipe);
    if (build->vocab)
        TRY(published_fits(settings->vocab, build->vocab, &words, err));
    const uint32_t vocab_size = build->vocab               ? build->vocab->count
                                : build->recipe.vocab_size ? build->recipe.vocab_size
                                                           : VOCABULARY_SIZE_USUAL;
    TRY(resource_plan_make(settings, &build->inputs, &build->recipe, vocab_size, &build->plan, err));
    if (settings->fresh)
        TRY(fresh_old_bytes(build->directory, &build->plan.old_bytes, err));
    build->plan.spool_bytes = build->spool.bytes;
    build->plan.disk_bytes += build->plan.old_bytes + build->plan.spool_bytes;
    return 0;
}

int build_identify(struct build *build, struct error *err)
{
    json_t *inputs;
    char text[17];
    memcpy(build->recipe.templates, build->inputs.templates_hash, sizeof build->recipe.templates);
    build->recipe.templates_bytes = build->templates.size;
    TRY(directory_inputs(&build->inputs, &inputs, err));
    build->identity = json_pack("{so ss so}", "inputs", inputs, "vocabulary",
                                build->recipe.learned ? "learned" : hash_text(hash_of_vocabulary(build), text),
                                "recipe", dataset_recipe_json(&build->recipe)); /* see directory.h */
    return 0;
}

int build_compare(struct build *build, struct error *err)
{
    SCOPED(buf_release) struct buf first = {0};
    SCOPED(mem_free_at) char *own = json_dumps(build->identity, JSON_COMPACT | JSON_SORT_KEYS);
    if (build_is_first(build))
        buf_add_text(&first, own);
    int result = ranks_broadcast(build->ranks, &first, err);
    if (result == 0 && !str_equal(buf_str(&first), str_of(own)))
        result = fail(err, ERR_MISMATCH, "process %u has other inputs, vocabulary or options than the first one",
                      ranks_rank(build->ranks));
    return ranks_barrier(build->ranks, result, err);
}

static int check_disk(const struct build *build, struct error *err)
{
    char needed[32], there[32];
    const uint64_t more = build->plan.disk_bytes - build->plan.old_bytes - build->plan.spool_bytes;
    const int64_t bytes = path_free_bytes(build->directory, err);
    TRY(bytes);
    if ((uint64_t)bytes >= more)
        return 0;
    fail_at(err, ERR_RESOURCE, build->directory, ERROR_NO_OFFSET, "needs about %s of disk while building, %s are free",
            format_bytes(more, needed), format_bytes((uint64_t)bytes, there));
    return hint(err, "nothing was written; choose an --out on a larger disk, or fewer lengths with --seq");
}

int build_check_directory(struct build *build, struct error *err)
{
    TRY(path_check_writable(build->directory, err));
    TRY(directory_check(build->directory, err));
    const bool created = build->made || !path_exists(build->directory);
    return created && !build->settings->dry_run ? check_disk(build, err) : 0;
}

int build_settle_fresh(struct build *build, struct error *err)
{
    struct error unlike = {0}; /* claim_fresh reports what is not ours */
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
    log_say("continuing %s: the new dataset is complete and takes the place of the old one", build->directory);
    TRY(fresh_replace(build->directory, err));
    build->replaced = true;
    return 0;
}

/* --fresh, in a directory that is ours: refuses if something would be lost, then examines the site. */
static int claim_fresh(struct build *build, struct error *err)
{
    struct error differs = {0};
    if (build->replaced &&
        directory_look(build->directory, build->identity, &build->journal, &differs) == DIRECTORY_FINISHED)
        return DIRECTORY_FINISHED; /* of this very command: this start has only finished what an earlier one had
                                    * begun */
    const struct opt_paths *exclude = &build->settings->exclude;
    SCOPED(mem_free_at) char **names = mem_clear(build->inputs.count + exclude->count + 2, sizeof *names);
    struct path_list inputs = {.names = names};
    for (size_t i = 0; i < build->inputs.count; i++)
        inputs.names[inputs.count++] = build->inputs.paths[i];
    if (settings_templates_file(build->settings))
        inputs.names[inputs.count++] = (char *)(uintptr_t)settings_templates_file(build->settings);
    for (size_t i = 0; i < exclude->count; i++)
        inputs.names[inputs.count++] = (char *)(uintptr_t)exclude->items[i];
    TRY(fresh_check(build->directory, &inputs, build->settings->vocab, err));
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

void build_say_unfinished(const struct build *build)
{
    struct error ignored = {0};
    if (fresh_look(build->directory, &ignored) == FRESH_UNFINISHED)
        log_say("note       %s/" FRESH_NAME " holds an unfinished build beside what was there: the same command with "
                "--fresh continues it",
                build->directory);
}

int build_claim(struct build *build, struct error *err)
{
    TRY(path_make_directory(build->directory, err));
    TRY(lock_directory(build, err));
    if (!build->spool.path)
        TRY(spool_clear(build->directory, err));
    TRY(build_settle_fresh(build, err)); /* for a process that was killed since the first check */
    if (build->settings->fresh)
        return claim_fresh(build, err);
    build_say_unfinished(build);
    return directory_look(build->directory, build->identity, &build->journal, err);
}
