/* Puts the dataset built in DIR/.fresh in the place of the old one, if any. After each step, the names on disk tell the
 * next start where this one was interrupted (fresh.h). */
#include "pipeline/build/fresh.h"

#include "base/mem.h"
#include "pipeline/build/owned.h"
#include "pipeline/store/spill.h"

#define REPLACED_NAME "replaced.json"

char *fresh_site(const char *directory)
{
    return path_join(directory, FRESH_NAME);
}

int fresh_look(const char *directory, struct error *err)
{
    SCOPED(mem_free_at) char *site = fresh_site(directory);
    const enum path_kind kind = path_kind(site);
    if (kind == PATH_ABSENT)
        return FRESH_ABSENT;
    const int found = kind == PATH_FOLDER ? owned_look(site, NULL, err) : OWNED_NOTHING;
    if (found != OWNED_NOTHING)
        return found < 0 ? -1 : found == OWNED_MANIFEST ? FRESH_COMPLETE : FRESH_UNFINISHED;
    const int empty = kind == PATH_FOLDER ? owned_is_empty(site, err) : 0;
    if (empty != 0)
        return empty < 0 ? -1 : FRESH_ABSENT;
    fail_at(err, ERR_USAGE, site, ERROR_NO_OFFSET, "is in the way: no build with --fresh made it");
    return hint(err, "move it away; nothing was touched");
}

/* ------------------------------------------------------------------------------------------------------ lists */

/* Lists the files in `owner` that the manifest at directory/name covers; it may have been moved aside. 1, 0: there is
 * none, < 0. */
static int list_by_manifest(const char *directory, const char *name, const char *owner, struct path_list *files,
                            struct error *err)
{
    SCOPED(manifest_release) struct manifest manifest;
    SCOPED(mem_free_at) char *path = path_join(directory, name);
    const int found = owned_manifest(path, &manifest, err);
    return found > 0 && owned_of_manifest(files, &manifest, owner, err) < 0 ? -1 : found;
}

static int list_by_journal(const char *directory, struct path_list *files, struct error *err)
{
    SCOPED(journal_release) struct journal journal;
    const int found = owned_journal(directory, &journal, err);
    return found > 0 && owned_of_journal(files, &journal, directory, err) < 0 ? -1 : found;
}

/* Lists everything to be removed. */
static int list_old(const char *directory, struct path_list *files, struct error *err)
{
    SCOPED(mem_free_at) char *site = fresh_site(directory);
    TRY(list_by_manifest(site, REPLACED_NAME, directory, files, err));
    TRY(list_by_manifest(directory, MANIFEST_NAME, directory, files, err));
    TRY(list_by_journal(directory, files, err));
    return owned_check(files, directory, err);
}

static int refuse_input(const char *input, const char *directory, struct error *err)
{
    fail_at(err, ERR_USAGE, input, ERROR_NO_OFFSET, "is an input and would be removed from %s by --fresh", directory);
    return hint(err, "copy it elsewhere and name the copy, or choose another --out; nothing was touched");
}

static int check_inputs(const struct path_list *files, const char *directory, const struct path_list *inputs,
                        struct error *err)
{
    for (size_t i = 0; i < files->count; i++) {
        SCOPED(mem_free_at) char *path = path_join(directory, files->names[i]);
        for (size_t j = 0; j < inputs->count; j++)
            if (path_same(path, inputs->names[j]))
                return refuse_input(inputs->names[j], directory, err);
    }
    return 0;
}

/* --vocab may be a folder that holds the file. */
static int check_vocabulary(const char *site, const char *vocab, struct error *err)
{
    bool same = false;
    for (int i = 0; i < TOKENIZER_FILES; i++) {
        SCOPED(mem_free_at) char *ours = path_join(site, tokenizer_file_names[i]);
        SCOPED(mem_free_at) char *inside = path_join(vocab, tokenizer_file_names[i]);
        same = same || path_same(ours, vocab) || path_same(ours, inside);
    }
    return same ? refuse_input(vocab, site, err) : 0;
}

int fresh_check(const char *directory, const struct path_list *inputs, const char *vocab, struct error *err)
{
    SCOPED(path_list_release) struct path_list old = {0}, unfinished = {0};
    char name[] = MANIFEST_NAME, *names[] = {name};
    const struct path_list manifest = {.names = names, .count = 1};
    SCOPED(mem_free_at) char *site = fresh_site(directory);
    TRY(list_old(directory, &old, err));
    TRY(check_inputs(&old, directory, inputs, err));
    TRY(check_inputs(&manifest, directory, inputs, err));
    if (!path_exists(site))
        return 0;
    TRY(list_by_journal(site, &unfinished, err));
    TRY(owned_check(&unfinished, site, err));
    TRY(check_inputs(&unfinished, site, inputs, err));
    return vocab ? check_vocabulary(site, vocab, err) : 0;
}

/* ----------------------------------------------------------------------------------------------------- remove */

/* Removes files, spills and finally the journal, which until then identifies them as ours. */
static int clear(const char *directory, const struct path_list *files, struct error *err)
{
    TRY(spill_remove_all(directory, err));
    TRY(owned_remove(files, directory, err));
    return journal_remove(directory, err);
}

int fresh_discard(const char *directory, struct error *err)
{
    SCOPED(path_list_release) struct path_list files = {0};
    SCOPED(mem_free_at) char *site = fresh_site(directory);
    TRY(list_by_journal(site, &files, err));
    TRY(owned_check(&files, site, err));
    return clear(site, &files, err);
}

/* Removes the old dataset. Its manifest is moved away first, so that no reader finds it beside the remaining files; it
 * is kept because it lists what to remove. */
static int remove_old(const char *directory, const char *site, struct error *err)
{
    SCOPED(path_list_release) struct path_list files = {0};
    SCOPED(mem_free_at) char *manifest = path_join(directory, MANIFEST_NAME), *aside = path_join(site, REPLACED_NAME);
    TRY(list_old(directory, &files, err));
    if (path_exists(manifest))
        TRY(path_rename(manifest, aside, err));
    TRY(clear(directory, &files, err));
    TRY(path_remove(aside, err));
    /* Otherwise a power loss might bring back the list of files to remove, beside new files of the same names. */
    TRY(path_sync_directory(directory, err));
    return path_sync_directory(site, err);
}

/* ------------------------------------------------------------------------------------------------------ place */

static int place(const char *directory, const char *site, const char *name, struct error *err)
{
    SCOPED(mem_free_at) char *from = path_join(site, name), *to = path_join(directory, name);
    if (path_exists(from) && path_exists(to)) {
        fail_at(err, ERR_USAGE, to, ERROR_NO_OFFSET, "is in the way of the new dataset, and not part of the old one");
        return hint(err, "move it away; the same command then continues");
    }
    if (path_exists(from))
        return path_rename(from, to, err);
    return path_exists(to) || strcmp(name, BUILD_NAME) == 0
               ? 0
               : fail_at(err, ERR_VERIFY, from, ERROR_NO_OFFSET, "a file of the new dataset is missing");
}

static int place_length(const char *directory, const char *site, const struct manifest_length *length,
                        struct error *err)
{
    char name[SHARD_NAME_BYTES], folder[32];
    snprintf(folder, sizeof folder, "seq%u", length->seq);
    SCOPED(mem_free_at) char *from = path_join(site, folder), *to = path_join(directory, folder);
    if (length->shards > 0)
        TRY(path_make_directory(to, err));
    for (uint32_t shard = 0; shard < length->shards; shard++)
        TRY(place(directory, site, manifest_shard_name(length, shard, name), err));
    return length->split == SPLIT_VALID ? path_remove_empty(from, err) : 0;
}

static int place_new(const char *directory, const char *site, const struct manifest *manifest, struct error *err)
{
    for (size_t i = 0; i < manifest->length_count; i++)
        TRY(place_length(directory, site, &manifest->lengths[i], err));
    struct manifest_text texts[MANIFEST_TEXTS];
    for (size_t count = manifest_texts(manifest, texts), i = 0; i < count; i++)
        TRY(place(directory, site, texts[i].name, err));
    TRY(place(directory, site, BUILD_NAME, err));
    TRY(place(directory, site, MANIFEST_NAME, err));
    TRY(path_remove_empty(site, err));
    return path_sync_directory(directory, err);
}

int fresh_replace(const char *directory, struct error *err)
{
    SCOPED(manifest_release) struct manifest manifest;
    SCOPED(mem_free_at) char *site = fresh_site(directory), *path = path_join(site, MANIFEST_NAME);
    const int found = owned_manifest(path, &manifest, err);
    TRY(found);
    if (found == 0)
        return fail_at(err, ERR_VERIFY, site, ERROR_NO_OFFSET, "holds no complete dataset");
    TRY(owned_tidy(site, err));
    TRY(remove_old(directory, site, err));
    return place_new(directory, site, &manifest, err);
}

int fresh_old_bytes(const char *directory, uint64_t *bytes, struct error *err)
{
    SCOPED(manifest_release) struct manifest manifest;
    SCOPED(mem_free_at) char *path = path_join(directory, MANIFEST_NAME);
    const int found = owned_manifest(path, &manifest, err);
    *bytes = 0;
    struct manifest_text texts[MANIFEST_TEXTS];
    for (size_t count = found > 0 ? manifest_texts(&manifest, texts) : 0, i = 0; i < count; i++)
        *bytes += texts[i].bytes;
    for (size_t i = 0; i < manifest.length_count; i++)
        *bytes += manifest_length_bytes(&manifest, &manifest.lengths[i]);
    return found < 0 ? -1 : 0;
}
