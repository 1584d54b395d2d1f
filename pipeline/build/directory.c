#include "pipeline/build/directory.h"

#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"
#include "pipeline/build/dataset_recipe.h"
#include "pipeline/build/fresh.h"
#include "pipeline/build/owned.h"

#include <stdlib.h>

static int refuse_foreign(const char *directory, struct error *err)
{
    fail_at(err, ERR_USAGE, directory, ERROR_NO_OFFSET, "the directory is not empty, and it is not a dataset");
    return hint(err, "choose another --out");
}

static void add_difference(struct buf *out, const char *name, const json_t *there, const json_t *here)
{
    SCOPED(buf_release) struct buf a = {0}, b = {0};
    dataset_recipe_value_text(name, there, &a);
    dataset_recipe_value_text(name, here, &b);
    buf_addf(out, "%s%s %s there, ", out->size ? "; " : "", name, buf_text(&a));
    buf_addf(out, "%s here", buf_text(&b));
}

static int compare(const char *directory, json_t *there, json_t *here, struct error *err)
{
    SCOPED(buf_release) struct buf differences = {0};
    json_t *recipe_there = json_object_get(there, "recipe"), *recipe_here = json_object_get(here, "recipe");
    const char *name;
    json_t *value;
    json_object_foreach(recipe_here, name, value) if (!json_equal(value, json_object_get(recipe_there, name)))
        add_difference(&differences, name, json_object_get(recipe_there, name), value);
    json_object_foreach(recipe_there, name, value) if (!json_object_get(recipe_here, name))
        add_difference(&differences, name, value, NULL);
    if (!json_equal(json_object_get(there, "inputs"), json_object_get(here, "inputs")))
        buf_addf(&differences, "%sthe inputs, or their order, differ", differences.size ? "; " : "");
    if (!json_equal(json_object_get(there, "vocabulary"), json_object_get(here, "vocabulary")))
        buf_addf(&differences, "%sthe vocabulary differs", differences.size ? "; " : "");
    int result = 0;
    if (differences.size > 0) {
        fail_at(err, ERR_MISMATCH, directory, ERROR_NO_OFFSET, "holds the build of another command line: %s",
                buf_text(&differences));
        result = hint(err, "choose another --out, or start anew there with --fresh");
    }
    return result;
}

static int compare_finished(const char *directory, json_t *identity, struct error *err)
{
    SCOPED(mem_free_at) char *path = path_join(directory, BUILD_NAME);
    json_auto_t *build = NULL;
    int result = path_exists(path) ? json_read(path, BUILD_BYTES_MAX, ERR_MISMATCH, &build, err) : 0;
    json_t *there = json_object_get(build, "identity");
    const bool failed = result < 0 && err->kind == ERR_RESOURCE; /* an I/O error says nothing about the file */
    if (!failed && json_is_object(there)) {
        result = compare(directory, there, identity, err);
    } else if (!failed) {
        fail_at(err, ERR_MISMATCH, path, ERROR_NO_OFFSET,
                "a finished dataset, but this file does not say which command built it");
        result = hint(err, "choose another --out, or start anew there with --fresh");
    }
    return result;
}

/* 1 if there is an intact manifest, else 0; < 0. */
static int has_manifest(const char *directory, struct error *err)
{
    struct manifest manifest;
    SCOPED(mem_free_at) char *path = path_join(directory, MANIFEST_NAME);
    const int found = owned_manifest(path, &manifest, err);
    manifest_release(&manifest);
    return found;
}

int directory_look(const char *directory, const json_t *identity, struct journal *journal, struct error *err)
{
    json_t *here = (json_t *)identity; /* jansson's readers do not take const */
    *journal = (struct journal){0};
    if (!path_exists(directory))
        return DIRECTORY_NEW;
    if (!path_is_directory(directory))
        return fail_at(err, ERR_USAGE, directory, ERROR_NO_OFFSET, "--out is a file, not a directory");
    int found = has_manifest(directory, err);
    if (found > 0)
        return compare_finished(directory, here, err) < 0 ? -1 : DIRECTORY_FINISHED;
    if (found == 0)
        found = owned_journal(directory, journal, err);
    if (found < 0)
        return -1;
    if (found) {
        if (compare(directory, journal->identity, here, err) < 0) {
            journal_release(journal);
            return -1;
        }
        return DIRECTORY_BUILDING;
    }
    const int empty = owned_is_empty(directory, err);
    if (empty < 0)
        return -1;
    return empty ? DIRECTORY_NEW : refuse_foreign(directory, err);
}

int directory_inputs(const struct inputs *inputs, json_t **list, struct error *err)
{
    char text[17];
    *list = json_array();
    for (size_t i = 0; i < inputs->count; i++) {
        uint64_t fingerprint = 0;
        if (inputs_fingerprint(inputs, i, &fingerprint, err) < 0) {
            json_decref(*list);
            return -1;
        }
        json_array_append_new(*list, json_pack("{si sI ss}", "kind", (int)dump_kind(inputs->dumps[i]), "bytes",
                                               (json_int_t)dump_stored_bytes(inputs->dumps[i]), "fingerprint",
                                               hash_text(fingerprint, text)));
    }
    return 0;
}

/* 1, 0, < 0. */
static int is_ours(const char *directory, struct error *err)
{
    struct journal journal;
    int found = has_manifest(directory, err);
    if (found == 0) {
        found = owned_journal(directory, &journal, err);
        journal_release(&journal);
    }
    if (found == 0) {
        found = fresh_look(directory, err);
        found = found < 0 ? -1 : found != FRESH_ABSENT;
    }
    return found == 0 ? owned_is_empty(directory, err) : found;
}

int directory_check(const char *directory, struct error *err)
{
    if (!path_is_directory(directory))
        return 0;
    /* Check twice, because another process may have replaced one thing by the other between two checks. */
    int ours = is_ours(directory, err);
    if (ours == 0 || (ours < 0 && err->kind != ERR_RESOURCE)) {
        *err = (struct error){0};
        ours = is_ours(directory, err);
    }
    return ours < 0 ? -1 : ours > 0 ? 0 : refuse_foreign(directory, err);
}
