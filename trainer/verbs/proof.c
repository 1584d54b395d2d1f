#include "trainer/verbs/proof.h"

#include <inttypes.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "trainer/recipe/recipe.h"
#include "trainer/run/run.h"
#include "trainer/verbs/export_files.h"
#include "trainer/verbs/stretch.h"

#define PROVENANCE_VERSION   1
#define PROVENANCE_BYTES_MAX (64u << 20) /* 100 checkpoints of 400 tensors have 4 MB */

static void own_hash(const json_t *provenance, char out[17])
{
    SCOPED(buf_release) struct buf text = {0};
    json_add_text(provenance, JSON_COMPACT, &text);
    hash_text(hash64(text.data, text.size), out);
}

static json_t *hash_json(uint64_t hash)
{
    char text[17];
    return json_string(hash_text(hash, text));
}

static int hash_of_file(const char *directory, const char *name, uint64_t *hash, struct error *err)
{
    SCOPED(mem_free_at) char *path = path_join(directory, name);
    return path_exists(path) ? file_hash(path, hash, err)
                             : fail_at(err, ERR_VERIFY, path, ERROR_NO_OFFSET, "no such file");
}

/* The hash of each tensor of a checkpoint's weights. */
static int hash_tensors(const char *directory, json_t *tensors, struct error *err)
{
    struct safetensors file;
    char *path = path_join(directory, WEIGHTS_NAME);
    const int result = safetensors_open(&file, path, err);
    mem_free(path);
    TRY(result);
    for (size_t i = 0; i < file.count; i++)
        json_object_set_new(tensors, file.tensors[i].name,
                            hash_json(hash64(file.tensors[i].data, file.tensors[i].bytes)));
    safetensors_close(&file);
    return 0;
}

static json_t *sources_of(const json_t *dataset)
{
    json_t *list = json_array(), *names = json_object_get(json_object_get(dataset, "build"), "sources"), *source;
    size_t i;
    json_array_foreach(json_object_get(json_object_get(dataset, "manifest"), "sources"), i, source)
    {
        const char *name = json_string_value(json_object_get(json_array_get(names, i), "name"));
        const char *base = name && strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
        json_array_append_new(list,
                              json_pack("{s:s*, s:O*, s:O*}", "name", base, "bytes", json_object_get(source, "bytes"),
                                        "hash", json_object_get(source, "hash")));
    }
    return list;
}

static json_t *datasets_of(const json_t *there)
{
    json_t *list = json_array(), *dataset;
    size_t i;
    json_array_foreach((json_t *)there, i, dataset)
    {
        const json_t *manifest = json_object_get(dataset, "manifest");
        json_array_append_new(list, json_pack("{s:O*, s:O*, s:o}", "root_hash", json_object_get(manifest, "root_hash"),
                                              "text_version", json_object_get(manifest, "text_version"), "sources",
                                              sources_of(dataset)));
    }
    return list;
}

static json_t *starts_of(const json_t *record)
{
    static const char *const kept[] = {"step",      "version", "command",           "device", "micro_batch", "zero",
                                       "processes", "wire",    "arithmetic_version"};
    json_t *list = json_array(), *start;
    size_t i;
    json_array_foreach(json_object_get(record, "starts"), i, start)
    {
        json_t *one = json_object();
        for (size_t k = 0; k < sizeof kept / sizeof *kept; k++)
            if (json_object_get(start, kept[k]))
                json_object_set(one, kept[k], json_object_get(start, kept[k]));
        json_array_append_new(list, one);
    }
    return list;
}

const char *proof_bits(const json_t *record)
{
    size_t i;
    const json_t *start;
    bool everywhere = true;
    if (!json_is_true(json_object_get(json_object_get(record, "identity"), "same_bits")))
        return "this device, library and number of processes";
    json_array_foreach(json_object_get(record, "starts"), i, start)
    {
        const char *device = json_string_value(json_object_get(start, "device"));
        everywhere = everywhere && device && ops_same_everywhere(device);
    }
    return everywhere ? PROVENANCE_EVERYWHERE : "devices like this one, any number of processes";
}

static json_t *checkpoint_of(const char *run, uint64_t step)
{
    struct checkpoint_state state;
    struct error found = {0};
    uint64_t weights = 0, moments = 0;
    SCOPED(mem_free_at) char *directory = checkpoint_path(run, step);
    json_auto_t *tensors = json_object();
    int result = checkpoint_verify(directory, &state, NULL, &found);
    if (result == 0)
        result = hash_of_file(directory, WEIGHTS_NAME, &weights, &found);
    if (result == 0)
        result = hash_of_file(directory, MOMENTS_NAME, &moments, &found);
    if (result == 0)
        result = hash_tensors(directory, tensors, &found);
    if (result == 0)
        return json_pack("{s:I, s:o, s:o, s:O}", "step", (json_int_t)step, "weights", hash_json(weights), "moments",
                         hash_json(moments), "tensors", tensors);
    log_say("note       " PROVENANCE_NAME " is without step %" PRIu64 ": %s: %s", step, found.file, found.text);
    return NULL;
}

int proof_make(const struct about *about, json_t **provenance, struct error *err)
{
    const json_t *record = about->record, *identity = json_object_get(record, "identity");
    uint64_t *steps = NULL;
    size_t count = 0;
    char hash[17];
    *provenance = NULL;
    if (!json_is_object(identity) || !about->precision)
        return 0;
    json_auto_t *checkpoints = json_array();
    const int result = stretch_kept(about->run, &steps, &count, err);
    for (size_t i = 0; i < count && result == 0; i++) {
        json_t *one = checkpoint_of(about->run, steps[i]);
        if (one)
            json_array_append_new(checkpoints, one);
    }
    mem_free(steps);
    if (result == 0 && json_array_size(checkpoints) > 0) {
        *provenance =
            json_pack("{s:i, s:s, s:i, s:s, s:o, s:O, s:s, s:o, s:O}", "provenance_version", PROVENANCE_VERSION,
                      "program", "dstrain " DS_VERSION, "arithmetic_version", ARITHMETIC_VERSION, "bits",
                      proof_bits(record), "datasets", datasets_of(about->datasets), "identity", identity, "precision",
                      about->precision, "starts", starts_of(record), "checkpoints", checkpoints);
        own_hash(*provenance, hash);
        json_object_set_new(*provenance, "hash", json_string(hash));
    }
    return result;
}

static bool is_complete(const json_t *json)
{
    size_t i;
    const json_t *one;
    bool complete =
        json_is_object(json_object_get(json, "identity")) && json_is_array(json_object_get(json, "starts")) &&
        json_is_string(json_object_get(json, "precision")) && json_array_size(json_object_get(json, "checkpoints")) > 0;
    json_array_foreach(json_object_get(json, "checkpoints"), i, one) complete =
        complete && json_integer_value(json_object_get(one, "step")) > 0 &&
        json_is_string(json_object_get(one, "weights")) && json_is_string(json_object_get(one, "moments")) &&
        json_is_object(json_object_get(one, "tensors"));
    return complete;
}

int proof_read(const char *path, json_t **provenance, struct error *err)
{
    char hash[17];
    *provenance = NULL;
    TRY(json_read(path, PROVENANCE_BYTES_MAX, ERR_VERIFY, provenance, err));
    const json_int_t version = json_integer_value(json_object_get(*provenance, "provenance_version"));
    if (version > PROVENANCE_VERSION)
        return fail_at(err, ERR_MISMATCH, path, ERROR_NO_OFFSET, "was written by a newer version of dstrain");
    json_t *written = json_incref(json_object_get(*provenance, "hash"));
    json_object_del(*provenance, "hash");
    own_hash(*provenance, hash);
    const bool intact = json_is_string(written) && strcmp(json_string_value(written), hash) == 0;
    json_decref(written);
    if (version < 1 || !is_complete(*provenance))
        return fail_at(err, ERR_VERIFY, path, ERROR_NO_OFFSET, "is not a " PROVENANCE_NAME " of dstrain export");
    if (!intact)
        return fail_at(err, ERR_VERIFY, path, ERROR_NO_OFFSET, "was altered: its own hash does not match");
    return 0;
}

static const json_t *entry_of(const json_t *provenance, uint64_t step)
{
    size_t i;
    const json_t *one;
    json_array_foreach(json_object_get(provenance, "checkpoints"), i,
                       one) if ((uint64_t)json_integer_value(json_object_get(one, "step")) == step) return one;
    return NULL;
}

bool proof_names(const json_t *provenance, uint64_t step)
{
    return entry_of(provenance, step) != NULL;
}

uint64_t proof_last(const json_t *provenance)
{
    const json_t *list = json_object_get(provenance, "checkpoints");
    return (uint64_t)json_integer_value(json_object_get(json_array_get(list, json_array_size(list) - 1), "step"));
}

/* Says which tensor is the first whose hash is another. */
static void first_difference(const char *directory, const json_t *entry, char *out, size_t size)
{
    struct error ignored = {0};
    json_t *here = json_object(), *there = json_object_get(entry, "tensors"), *hash;
    const char *name;
    snprintf(out, size, "no tensor differs, the file's header does");
    if (hash_tensors(directory, here, &ignored) == 0) {
        bool found = false;
        json_object_foreach(here, name, hash)
        {
            if (found || json_equal(hash, json_object_get(there, name)))
                continue;
            snprintf(out, size, "the first tensor that differs is %.120s", name);
            found = true;
        }
    }
    json_decref(here);
}

static int compare_file(const json_t *entry, const char *key, const char *path, const char *directory, const char *name,
                        char text[17], struct error *err)
{
    uint64_t hash = 0;
    char first[160];
    const char *named = json_string_value(json_object_get(entry, key));
    TRY(hash_of_file(directory, name, &hash, err));
    if (strcmp(hash_text(hash, text), named) == 0)
        return 0;
    SCOPED(mem_free_at) char *file = path_join(directory, name);
    fail_at(err, ERR_VERIFY, file, ERROR_NO_OFFSET, "has XXH3 %s, %.60s says %.16s", text, path, named);
    if (strcmp(key, "weights") == 0) {
        first_difference(directory, entry, first, sizeof first);
        hint(err, "%s", first);
    }
    return -1;
}

static int compare_one(const json_t *provenance, const json_t *entry, const char *path, const char *directory,
                       char weights[17], struct error *err)
{
    json_t *state = about_read(directory, STATE_NAME, STATE_BYTES_MAX);
    char moments[17];
    int result = 0;
    if (json_is_object(json_object_get(state, "run")))
        result = run_is_of(directory, json_object_get(state, "run"), json_object_get(provenance, "identity"), err);
    json_decref(state);
    if (result < 0)
        return hint(err, "(now …) is what %.60s says", path);
    TRY(compare_file(entry, "weights", path, directory, WEIGHTS_NAME, weights, err));
    return compare_file(entry, "moments", path, directory, MOMENTS_NAME, moments, err);
}

int proof_compare(const json_t *provenance, const char *path, const char *run, uint64_t from, uint64_t to,
                  size_t *count, uint64_t *last, char weights[17], struct error *err)
{
    size_t i;
    const json_t *entry;
    int result = 0;
    *count = 0;
    *last = 0;
    json_array_foreach(json_object_get(provenance, "checkpoints"), i, entry)
    {
        const uint64_t step = (uint64_t)json_integer_value(json_object_get(entry, "step"));
        char *directory = checkpoint_path(run, step);
        if (result == 0 && step >= from && step <= to && path_is_directory(directory)) {
            result = compare_one(provenance, entry, path, directory, weights, err);
            *last = step;
            ++*count;
        }
        mem_free(directory);
    }
    return result;
}

int proof_compare_model(const json_t *provenance, const char *path, const char *directory, uint64_t *step,
                        char weights[17], struct error *err)
{
    uint64_t hash = 0;
    size_t i;
    const json_t *entry;
    TRY(hash_of_file(directory, WEIGHTS_NAME, &hash, err));
    *step = proof_last(provenance);
    json_array_foreach(json_object_get(provenance, "checkpoints"), i, entry)
    {
        if (strcmp(json_string_value(json_object_get(entry, "weights")), hash_text(hash, weights)) == 0)
            *step = (uint64_t)json_integer_value(json_object_get(entry, "step"));
    }
    return compare_file(entry_of(provenance, *step), "weights", path, directory, WEIGHTS_NAME, weights, err);
}

static bool is_provenance(const char *name)
{
    return strcmp(name, PROVENANCE_NAME) == 0;
}

static int write_provenance(const struct export_job *job, const char *to, json_t *written, struct error *err)
{
    if (!job->provenance)
        return 0;
    SCOPED(mem_free_at) char *path = path_join(to, PROVENANCE_NAME);
    const int result = json_file_write(path, job->provenance, err);
    json_array_append_new(written, json_string(PROVENANCE_NAME));
    return result;
}

const struct export_part export_part_provenance = {is_provenance, write_provenance};
