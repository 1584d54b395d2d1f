/* A directory in; which files are meant, whether they are whole, and what they hold, out. */
#include "trainer/keep/checkpoint.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "trainer/keep/json.h"

/* The checkpoint that `latest` names. */
static int read_latest(const char *run, const char *latest, char **files, struct error *err)
{
    struct buf text = {0};
    int result = file_read_all(latest, 4096, &text, err);
    if (result == 0) {
        const struct str trimmed = str_trim(buf_str(&text));
        char name[64];
        snprintf(name, sizeof name, "%.*s", trimmed.size < sizeof name ? (int)trimmed.size : 0, trimmed.data);
        if (!state_is_step_name(name)) {
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
        return fail_at(err, ERR_USAGE, directory, ERROR_NO_OFFSET,
                       path_exists(directory) ? "is not a directory" : "no such directory");
    char *latest = path_join(directory, LATEST_NAME), *state = path_join(directory, STATE_NAME);
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
            result =
                fail_at(err, ERR_VERIFY, path, ERROR_NO_OFFSET, "is damaged: its hash is not the one in state.json");
        file_unmap(&file); /* an empty mapping where it failed */
    }
    mem_free(path);
    return result;
}

int checkpoint_verify(const char *directory, struct checkpoint_state *state, json_t **identity, struct error *err)
{
    json_t *json = NULL, *files;
    char *path = path_join(directory, STATE_NAME);
    int result = 0;
    if (!path_exists(path))
        result = fail_at(err, ERR_VERIFY, path, ERROR_NO_OFFSET, "is missing from the checkpoint");
    if (result == 0)
        result = json_file_read(path, ERR_VERIFY, &json, err);
    if (result == 0)
        result = state_take(path, json, state, err);
    files = json_object_get(json, "files");
    if (result == 0 && (!json_object_get(files, WEIGHTS_NAME) || !json_object_get(files, MOMENTS_NAME)))
        result = fail_at(err, ERR_VERIFY, path, ERROR_NO_OFFSET, "does not name all files of a checkpoint");
    const char *name;
    json_t *hash;
    json_object_foreach(files, name, hash) if (result == 0) result =
        verify_file(directory, name, json_string_value(hash), err);
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
