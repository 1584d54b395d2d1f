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
    if (differences.size == 0)
        return 0;
    fail_at(err, ERR_MISMATCH, directory, ERROR_NO_OFFSET, "holds the build of another command line: %s",
            buf_text(&differences));
    return hint(err, "choose another --out, or start anew there with --fresh");
}

static int compare_finished(const char *directory, json_t *identity, struct error *err)
{
    SCOPED(mem_free_at) char *path = path_join(directory, BUILD_NAME);
    json_auto_t *build = NULL;
    const int result = path_exists(path) ? json_read(path, BUILD_BYTES_MAX, ERR_MISMATCH, &build, err) : 0;
    if (result < 0 && err->kind == ERR_RESOURCE) /* an I/O error says nothing about the file */
        return -1;
    json_t *there = json_object_get(build, "identity");
    if (json_is_object(there))
        return compare(directory, there, identity, err);
    fail_at(err, ERR_MISMATCH, path, ERROR_NO_OFFSET,
            "a finished dataset, but this file does not say which command built it");
    return hint(err, "choose another --out, or start anew there with --fresh");
}

int directory_look(const char *directory, const json_t *identity, struct journal *journal, struct error *err)
{
    json_t *here = (json_t *)identity; /* jansson's readers do not take const */
    *journal = (struct journal){0};
    if (!path_exists(directory))
        return DIRECTORY_NEW;
    if (!path_is_directory(directory))
        return fail_at(err, ERR_USAGE, directory, ERROR_NO_OFFSET, "--out is a file, not a directory");
    const int found = owned_look(directory, journal, err);
    TRY(found);
    if (found == OWNED_MANIFEST)
        return compare_finished(directory, here, err) < 0 ? -1 : DIRECTORY_FINISHED;
    if (found == OWNED_JOURNAL) {
        if (compare(directory, journal->identity, here, err) == 0)
            return DIRECTORY_BUILDING;
        journal_release(journal);
        return -1;
    }
    const int empty = owned_is_empty(directory, err);
    TRY(empty);
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
    int found = owned_look(directory, NULL, err);
    if (found == OWNED_NOTHING)
        found = fresh_look(directory, err); /* FRESH_ABSENT is 0 */
    return found == 0 ? owned_is_empty(directory, err) : found < 0 ? -1 : 1;
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
