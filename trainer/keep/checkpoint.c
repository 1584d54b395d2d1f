/* Order of writing: files → state.json → rename of the directory → latest → removal of old ones. See the header. */
#include "trainer/keep/checkpoint.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "trainer/config.h"
#include "trainer/keep/json.h"

#define STATE_VERSION 1
#define WEIGHTS_NAME  "model.safetensors"
#define MOMENTS_NAME  "optimizer.safetensors"
#define FIRST_PREFIX  "first_moment."
#define SECOND_PREFIX "second_moment."

#define TEMPORARY ".tmp"

/* ---- directories ---- */

/* A directory of ours with the files in it, no deeper: first it loses its name, so that no half is ever taken for whole. */
static int remove_directory(const char *path, struct error *err)
{
    struct buf doomed = {0};
    struct path_list files = {0};
    int result = 0;
    buf_add_text(&doomed, path);
    if (!str_ends(buf_str(&doomed), STR(TEMPORARY))) {
        buf_add_text(&doomed, ".old" TEMPORARY);
        result = path_rename(path, buf_text(&doomed), err);
    }
    if (result == 0)
        result = path_list(&files, buf_text(&doomed), err);
    for (size_t i = 0; i < files.count && result == 0; i++) {
        char *file = path_join(doomed.data, files.names[i]);
        result = path_remove(file, err);
        mem_free(file);
    }
    if (result == 0)
        result = path_remove(buf_text(&doomed), err);
    path_list_release(&files);
    buf_release(&doomed);
    return result;
}

static bool is_step(const char *name)
{
    return strncmp(name, "step-", 5) == 0 && strlen(name) > 5 && strspn(name + 5, "0123456789") == strlen(name + 5);
}

/* Removes what a crash or a failed removal left under temporary names. */
static int tidy(const char *run, struct error *err)
{
    struct path_list list = {0};
    char *directory = path_join(run, CHECKPOINTS_NAME);
    int result = path_is_directory(directory) ? path_list(&list, directory, err) : 0;
    for (size_t i = 0; i < list.count && result == 0; i++) {
        char *path = path_join(directory, list.names[i]);
        if (strncmp(list.names[i], "step-", 5) == 0 && str_ends(str_of(path), STR(TEMPORARY)))
            result = remove_directory(path, err);
        mem_free(path);
    }
    path_list_release(&list);
    mem_free(directory);
    return result;
}

static uint64_t step_of(const char *name)
{
    return strtoull(name + 5, NULL, 10);
}

/* Removes the checkpoints before the newest `keep` up to `step`; 0 keeps all. */
static int remove_old(const char *directory, uint64_t step, uint64_t keep, struct error *err)
{
    struct path_list list;
    TRY(path_list(&list, directory, err)); /* sorted by name, which with eight digits is by step */
    uint64_t kept = 0;
    int result = 0;
    for (size_t i = list.count; i-- > 0 && result == 0;) {
        if (!is_step(list.names[i]) || step_of(list.names[i]) > step)
            continue;
        if (++kept <= keep || keep == 0)
            continue;
        char *path = path_join(directory, list.names[i]);
        result = remove_directory(path, err);
        mem_free(path);
    }
    path_list_release(&list);
    return result;
}

/* ---- writing ---- */

static int write_text(const char *directory, const char *name, struct str text, json_t *hashes, struct error *err)
{
    char hex[17];
    char *path = path_join(directory, name);
    const int result = file_write_all(path, text.data, text.size, err);
    json_object_set_new(hashes, name, json_string(hash_text(hash64(text.data, text.size), hex)));
    mem_free(path);
    return result;
}

static int write_json(const char *directory, const char *name, const json_t *value, json_t *hashes, struct error *err)
{
    struct buf text = {0};
    json_add_text(value, JSON_INDENT(2), &text);
    buf_add_byte(&text, '\n');
    const int result = write_text(directory, name, buf_str(&text), hashes, err);
    buf_release(&text);
    return result;
}

static int write_weights(const char *directory, const struct checkpoint_parts *parts, json_t *hashes, struct error *err)
{
    uint64_t hash = 0;
    char hex[17];
    char *path = path_join(directory, WEIGHTS_NAME);
    const int result = names_write(path, parts->params, parts->weights, &hash, err);
    json_object_set_new(hashes, WEIGHTS_NAME, json_string(hash_text(hash, hex)));
    mem_free(path);
    return result;
}

static int write_moments(const char *directory, const struct checkpoint_parts *parts, json_t *hashes, struct error *err)
{
    const size_t count = parts->params->count;
    uint64_t hash = 0;
    char hex[17];
    struct arena names = {0};
    struct tensor *tensors = mem_array(2 * count, sizeof *tensors);
    char *path = path_join(directory, MOMENTS_NAME);
    names_tensors(parts->params, FIRST_PREFIX, parts->first, &names, tensors);
    names_tensors(parts->params, SECOND_PREFIX, parts->second, &names, tensors + count);
    const int result = safetensors_write(path, tensors, 2 * count, &hash, err);
    json_object_set_new(hashes, MOMENTS_NAME, json_string(hash_text(hash, hex)));
    mem_free(path);
    mem_free(tensors);
    arena_release(&names);
    return result;
}

/* XXH3 of the object as compact text: state.json names the hashes of all other files, and this one is its own. */
static void state_hash(const json_t *state, char out[17])
{
    struct buf text = {0};
    json_add_text(state, JSON_COMPACT, &text);
    hash_text(hash64(text.data, text.size), out);
    buf_release(&text);
}

static json_t *state_json(const struct checkpoint_parts *parts, const struct checkpoint_state *state, json_t *hashes)
{
    char hash[17];
    json_t *json =
        json_pack("{s:i, s:I, s:I, s:I, s:I, s:f, s:I, s:O, s:O}", "state_version", STATE_VERSION, "step",
                  (json_int_t)state->step, "updates", (json_int_t)state->updates, "samples", (json_int_t)state->samples,
                  "tokens", (json_int_t)state->tokens, "norm_max", state->norm_max, "norm_max_step",
                  (json_int_t)state->norm_max_step, "files", hashes, "run", parts->identity);
    state_hash(json, hash);
    json_object_set_new(json, "hash", json_string(hash));
    return json;
}

/* All files, the state last, into an empty directory. */
static int write_files(const char *directory, const struct checkpoint_parts *parts,
                       const struct checkpoint_state *state, struct error *err)
{
    json_t *hashes = json_object(), *config = config_json(parts->config, parts->pad_id), *whole = NULL;
    int result = write_json(directory, "config.json", config, hashes, err);
    if (result == 0)
        result = write_weights(directory, parts, hashes, err);
    if (result == 0)
        result = write_moments(directory, parts, hashes, err);
    if (result == 0)
        result = write_text(directory, "vocab.txt", buf_str(&parts->tokenizer->vocab), hashes, err);
    if (result == 0)
        result = write_text(directory, "tokenizer.json", buf_str(&parts->tokenizer->tokenizer), hashes, err);
    if (result == 0)
        result = write_text(directory, "tokenizer_config.json", buf_str(&parts->tokenizer->config), hashes, err);
    if (result == 0) {
        char *path = path_join(directory, CHECKPOINT_STATE_NAME);
        whole = state_json(parts, state, hashes);
        result = json_file_write(path, whole, err);
        mem_free(path);
    }
    json_decref(whole);
    json_decref(config);
    json_decref(hashes);
    return result;
}

static int set_latest(const char *run, const char *name, struct error *err)
{
    char text[64];
    char *path = path_join(run, LATEST_NAME);
    const int size = snprintf(text, sizeof text, "%s\n", name);
    const int result = file_write_all(path, text, (size_t)size, err);
    mem_free(path);
    return result;
}

int checkpoint_write(const char *run, const struct checkpoint_parts *parts, const struct checkpoint_state *state,
                     uint64_t keep_last, struct error *err)
{
    char name[64], temporary[80];
    snprintf(name, sizeof name, "step-%08" PRIu64, state->step);
    snprintf(temporary, sizeof temporary, "%s" TEMPORARY, name);
    char *directory = path_join(run, CHECKPOINTS_NAME);
    char *final = path_join(directory, name), *unfinished = path_join(directory, temporary);

    int result = tidy(run, err);
    if (result == 0)
        result = path_make_directory(unfinished, err);
    if (result == 0)
        result = write_files(unfinished, parts, state, err);
    if (result == 0 && path_exists(final)) /* a crash came between its rename and `latest` */
        result = remove_directory(final, err);
    if (result == 0)
        result = path_rename(unfinished, final, err);
    if (result == 0)
        result = set_latest(run, name, err);
    else if (path_is_directory(unfinished)) {
        struct error second = {0};
        remove_directory(unfinished, &second); /* best effort: the first error is the one to tell */
    }
    if (result == 0)
        result = remove_old(directory, state->step, keep_last, err);
    mem_free(directory);
    mem_free(final);
    mem_free(unfinished);
    return result;
}

/* ---- reading ---- */

/* The checkpoint that `latest` names. */
static int read_latest(const char *run, const char *latest, char **files, struct error *err)
{
    struct buf text = {0};
    int result = file_read_all(latest, 4096, &text, err);
    if (result == 0) {
        const struct str trimmed = str_trim(buf_str(&text));
        char name[64];
        snprintf(name, sizeof name, "%.*s", trimmed.size < sizeof name ? (int)trimmed.size : 0, trimmed.data);
        if (!is_step(name)) {
            result = fail_at(err, ERR_VERIFY, latest, ERROR_NO_OFFSET, "does not name a checkpoint");
        } else {
            char *directory = path_join(run, CHECKPOINTS_NAME);
            *files = path_join(directory, name);
            mem_free(directory);
        }
    }
    buf_release(&text);
    return result;
}

int checkpoint_locate(const char *directory, enum model_source *source, char **files, struct error *err)
{
    *files = NULL;
    if (!path_is_directory(directory))
        return fail_at(err, ERR_USAGE, directory, ERROR_NO_OFFSET, path_exists(directory) ? "is not a directory"
                                                                                          : "no such directory");
    char *latest = path_join(directory, LATEST_NAME), *state = path_join(directory, CHECKPOINT_STATE_NAME);
    int result = 0;
    if (path_exists(latest)) {
        *source = SOURCE_RUN;
        result = read_latest(directory, latest, files, err);
    } else {
        *source = path_exists(state) ? SOURCE_CHECKPOINT : SOURCE_HUGGING_FACE;
        *files = mem_copy_text(directory);
    }
    mem_free(latest);
    mem_free(state);
    return result;
}

static int verify_file(const char *directory, const char *name, const char *expected, struct error *err)
{
    struct mapping file;
    uint64_t hash = 0;
    char *path = path_join(directory, name);
    int result = 0;
    if (strchr(name, '/') || !expected || hash_parse(expected, &hash) < 0) {
        result = fail_at(err, ERR_VERIFY, directory, ERROR_NO_OFFSET, "state.json is damaged: its list of files");
    } else if (!path_exists(path)) {
        result = fail_at(err, ERR_VERIFY, path, ERROR_NO_OFFSET, "is missing from the checkpoint");
    } else {
        result = file_map(&file, path, err);
        if (result == 0 && hash64(file.size > 0 ? (const void *)file.data : "", file.size) != hash)
            result = fail_at(err, ERR_VERIFY, path, ERROR_NO_OFFSET, "is damaged: its hash is not the one in state.json");
        file_unmap(&file); /* an empty mapping where it failed */
    }
    mem_free(path);
    return result;
}

/* A whole number of state.json; -1 where it is none. */
static int take(const json_t *json, const char *key, uint64_t *out)
{
    const json_t *value = json_object_get(json, key);
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return -1;
    *out = (uint64_t)json_integer_value(value);
    return 0;
}

static int take_state(const char *path, json_t *json, struct checkpoint_state *state, struct error *err)
{
    uint64_t version = 0;
    char hash[17];
    if (take(json, "state_version", &version) == 0 && version > STATE_VERSION)
        return fail_at(err, ERR_MISMATCH, path, ERROR_NO_OFFSET, "was written by a newer version of dstrain");
    if (version != STATE_VERSION || take(json, "step", &state->step) < 0 || take(json, "updates", &state->updates) < 0 ||
        take(json, "samples", &state->samples) < 0 || take(json, "tokens", &state->tokens) < 0 ||
        take(json, "norm_max_step", &state->norm_max_step) < 0 || !json_is_number(json_object_get(json, "norm_max")) ||
        !json_is_object(json_object_get(json, "files")) || !json_is_object(json_object_get(json, "run")))
        return fail_at(err, ERR_VERIFY, path, ERROR_NO_OFFSET, "is damaged: a key is missing or of another kind");
    json_t *written = json_incref(json_object_get(json, "hash"));
    json_object_del(json, "hash");
    state_hash(json, hash);
    const bool intact = json_is_string(written) && strcmp(json_string_value(written), hash) == 0;
    json_decref(written);
    if (!intact)
        return fail_at(err, ERR_VERIFY, path, ERROR_NO_OFFSET, "is damaged: its own hash does not match");
    state->norm_max = json_number_value(json_object_get(json, "norm_max"));
    return 0;
}

int checkpoint_verify(const char *directory, struct checkpoint_state *state, json_t **identity, struct error *err)
{
    json_t *json = NULL, *files;
    char *path = path_join(directory, CHECKPOINT_STATE_NAME);
    int result = 0;
    if (!path_exists(path))
        result = fail_at(err, ERR_VERIFY, path, ERROR_NO_OFFSET, "is missing from the checkpoint");
    if (result == 0)
        result = json_file_read(path, ERR_VERIFY, &json, err);
    if (result == 0)
        result = take_state(path, json, state, err);
    files = json_object_get(json, "files");
    if (result == 0 && (!json_object_get(files, WEIGHTS_NAME) || !json_object_get(files, MOMENTS_NAME)))
        result = fail_at(err, ERR_VERIFY, path, ERROR_NO_OFFSET, "does not name all files of a checkpoint");
    const char *name;
    json_t *hash;
    json_object_foreach (files, name, hash)
        if (result == 0)
            result = verify_file(directory, name, json_string_value(hash), err);
    if (result == 0 && identity)
        *identity = json_incref(json_object_get(json, "run"));
    json_decref(json);
    mem_free(path);
    return result;
}

int checkpoint_read(const char *directory, const struct params *params, float *weights, float *first, float *second,
                    struct error *err)
{
    struct safetensors file = {0};
    char *model = path_join(directory, WEIGHTS_NAME), *moments = path_join(directory, MOMENTS_NAME);
    int result = 0;
    if (weights) {
        result = safetensors_open(&file, model, err);
        if (result == 0)
            result = names_read_own(&file, model, "", params, weights, err);
        safetensors_close(&file);
    }
    if (result == 0 && (first || second)) {
        result = safetensors_open(&file, moments, err);
        if (result == 0 && first)
            result = names_read_own(&file, moments, FIRST_PREFIX, params, first, err);
        if (result == 0 && second)
            result = names_read_own(&file, moments, SECOND_PREFIX, params, second, err);
        safetensors_close(&file);
    }
    mem_free(model);
    mem_free(moments);
    return result;
}

uint64_t checkpoint_bytes(const struct params *params)
{
    return (uint64_t)params->total * sizeof(float) * 3 + (8u << 20); /* weights, two moments; tokenizer's files */
}
