/* Finds, verifies and reads checkpoints. Reading trusts nothing but the hashes in state.json. */
#include "trainer/keep/checkpoint.h"

#include <stdio.h>

#include "base/hash.h"
#include "base/mem.h"
#include "shards/manifest.h"
#include "base/json.h"

/* Finds the checkpoint that `latest` names. */
static int read_latest(const char *run, const char *latest, char **files, struct error *err)
{
    SCOPED(buf_release) struct buf text = {0};
    TRY(file_read_all(latest, 4096, &text, err));
    const struct str trimmed = str_trim(buf_str(&text));
    char name[64];
    snprintf(name, sizeof name, "%.*s", trimmed.size < sizeof name ? (int)trimmed.size : 0, trimmed.data);
    if (!state_is_step_name(name)) {
        fail_at(err, ERR_VERIFY, latest, ERROR_NO_OFFSET, "does not name a checkpoint");
        return hint(err, "without this file the newest directory of %.300s/" CHECKPOINTS_NAME " is used", run);
    }
    SCOPED(mem_free_at) char *directory = path_join(run, CHECKPOINTS_NAME);
    *files = path_join(directory, name);
    return 0;
}

char *checkpoint_before(const char *run, const char *name)
{
    struct error ignored = {0};
    SCOPED(path_list_release) struct path_list list = {0};
    char *directory = path_join(run, CHECKPOINTS_NAME), *before = NULL;
    if (path_is_directory(directory) && path_list(&list, directory, &ignored) == 0)
        for (size_t i = list.count; i-- > 0 && !before;)
            if (state_is_step_name(list.names[i]) && (!name || strcmp(list.names[i], name) < 0))
                before = path_join(directory, list.names[i]);
    mem_free(directory);
    return before;
}

/* The run that a folder in it, or in its folder checkpoints, is part of; NULL: none. The caller mem_free's it. */
static char *run_around(const char *directory)
{
    char *at = path_parent(directory);
    for (int level = 0; level < 2; level++) {
        char *record = path_join(at, RUN_NAME);
        const bool run = path_exists(record);
        mem_free(record);
        if (run)
            return at;
        char *above = path_parent(at);
        mem_free(at);
        at = above;
    }
    mem_free(at);
    return NULL;
}

/* The first run in a directory of runs; NULL: none. The caller mem_free's it. */
static char *run_inside(const char *directory)
{
    struct error ignored = {0};
    SCOPED(path_list_release) struct path_list list = {0};
    char *run = NULL;
    if (path_is_directory(directory) && path_list(&list, directory, &ignored) == 0)
        for (size_t i = 0; i < list.count && !run; i++) {
            SCOPED(mem_free_at) char *inside = path_join(directory, list.names[i]);
            SCOPED(mem_free_at) char *record = path_join(inside, RUN_NAME);
            if (path_exists(record))
                run = mem_copy_text(inside);
        }
    return run;
}

int checkpoint_hint_place(const char *directory, struct error *err)
{
    char who[LOCK_WHO_BYTES];
    SCOPED(mem_free_at) char *dataset = path_join(directory, MANIFEST_NAME), *record = path_join(directory, RUN_NAME);
    SCOPED(mem_free_at) char *run = path_exists(directory) ? run_around(directory) : NULL;
    SCOPED(mem_free_at) char *inside = run_inside(directory);
    if (path_exists(dataset))
        hint(err, "it is a dataset, the value of --shards; dsdata show describes it");
    else if (path_exists(record) && lock_look(directory, who))
        hint(err, "it is a run that has not saved a checkpoint yet; %s trains it", who);
    else if (path_exists(record))
        hint(err, "it is a run that has not saved a checkpoint yet; the command that began it continues it");
    else if (run)
        hint(err, "it is part of the run %.400s", run);
    else if (inside)
        hint(err, "it holds runs: give one of them, such as %.400s", inside);
    return -1;
}

int checkpoint_refuse(const char *directory, const char *why, struct error *err)
{
    fail_at(err, ERR_USAGE, directory, ERROR_NO_OFFSET, "%s", why);
    hint(err, "give a run of dstrain, one of its checkpoints, or a Hugging Face directory");
    return checkpoint_hint_place(directory, err);
}

int checkpoint_locate(const char *directory, enum model_source *source, char **files, struct error *err)
{
    *files = NULL;
    if (!path_is_directory(directory))
        return checkpoint_refuse(directory, path_exists(directory) ? "is not a directory" : "no such directory", err);
    SCOPED(mem_free_at) char *latest = path_join(directory, LATEST_NAME), *state = path_join(directory, STATE_NAME);
    if (path_exists(latest)) {
        *source = SOURCE_RUN;
        TRY(read_latest(directory, latest, files, err));
    } else if (path_exists(state)) {
        *source = SOURCE_CHECKPOINT;
        *files = mem_copy_text(directory);
    } else { /* `latest` may be lost in a copy, or not written yet */
        *files = checkpoint_before(directory, NULL);
        *source = *files ? SOURCE_RUN : SOURCE_HUGGING_FACE;
        if (!*files)
            *files = mem_copy_text(directory);
    }
    return 0;
}

static int verify_file(const char *directory, const char *name, const char *expected, struct error *err)
{
    uint64_t hash = 0, found = 0;
    SCOPED(mem_free_at) char *path = path_join(directory, name);
    if (!expected || hash_parse(expected, &hash) < 0)
        return fail_at(err, ERR_VERIFY, directory, ERROR_NO_OFFSET, "state.json is damaged: its list of files");
    if (!path_exists(path))
        return fail_at(err, ERR_VERIFY, path, ERROR_NO_OFFSET, "is missing from the checkpoint");
    TRY(file_hash(path, &found, err));
    if (found != hash)
        return fail_at(err, ERR_VERIFY, path, ERROR_NO_OFFSET, "is damaged: its hash is not the one in state.json");
    return 0;
}

/* Whether `name` is that of a file in the directory itself or in errors/. */
static bool is_name(const char *name)
{
    const size_t folder = strlen(ERRORS_NAME "/");
    const bool below = strncmp(name, ERRORS_NAME "/", folder) == 0;
    return below ? name[folder + strspn(name + folder, "abcdefghijklmnopqrstuvwxyz0123456789-.")] == '\0'
                 : name[strspn(name, "abcdefghijklmnopqrstuvwxyz._")] == '\0';
}

/* Whether the list has the files that every checkpoint has, and all names are safe to open and to print. */
static bool are_names(const json_t *files)
{
    const char *name;
    json_t *hash;
    bool safe = true;
    json_object_foreach((json_t *)files, name, hash) safe = safe && is_name(name);
    return safe && json_object_get(files, WEIGHTS_NAME) && json_object_get(files, MOMENTS_NAME);
}

/* Reads state.json into *json, which the caller json_decref's, on error too. */
static int read_state(const char *directory, struct checkpoint_state *state, json_t **json, struct error *err)
{
    SCOPED(mem_free_at) char *path = path_join(directory, STATE_NAME);
    *json = NULL;
    if (!path_exists(path))
        return fail_at(err, ERR_VERIFY, path, ERROR_NO_OFFSET, "is missing from the checkpoint");
    TRY(json_read(path, STATE_BYTES_MAX, ERR_VERIFY, json, err));
    TRY(state_take(path, *json, state, err));
    if (!are_names(json_object_get(*json, "files")))
        return fail_at(err, ERR_VERIFY, path, ERROR_NO_OFFSET, "does not name the files of a checkpoint");
    return 0;
}

int checkpoint_verify(const char *directory, struct checkpoint_state *state, json_t **identity, struct error *err)
{
    json_t *json;
    int result = read_state(directory, state, &json, err);
    const char *name;
    json_t *hash;
    json_object_foreach(json_object_get(json, "files"), name, hash) if (result == 0) result =
        verify_file(directory, name, json_string_value(hash), err);
    if (result == 0 && identity)
        *identity = json_incref(json_object_get(json, "run"));
    json_decref(json);
    return result;
}

/* Whether `name` in a checkpoint is one of the run's. Where state.json is damaged, the files that every checkpoint has
 * are. */
static bool is_own(const char *name, const json_t *files)
{
    static const char *const usual[] = {STATE_NAME, ERRORS_NAME, "config.json", WEIGHTS_NAME, MOMENTS_NAME};
    bool own = json_object_get(files, name) != NULL;
    for (size_t i = 0; i < sizeof usual / sizeof *usual && !own; i++)
        own = strcmp(name, usual[i]) == 0;
    for (size_t i = 0; i < TOKENIZER_FILES && !own; i++)
        own = strcmp(name, tokenizer_file_names[i]) == 0;
    return own;
}

int checkpoint_foreign(const char *directory, char **foreign, struct error *err)
{
    struct checkpoint_state state;
    SCOPED(path_list_release) struct path_list list = {0};
    json_t *json;
    *foreign = NULL;
    int result = read_state(directory, &state, &json, err);
    if (result < 0 && err->kind == ERR_VERIFY) {
        *err = (struct error){0};
        result = 0;
    }
    if (result == 0)
        result = path_list(&list, directory, err);
    for (size_t i = 0; i < list.count && !*foreign; i++)
        if (!is_own(list.names[i], json_object_get(json, "files")))
            *foreign = mem_copy_text(list.names[i]);
    json_decref(json);
    return result;
}

/* Counts the file, and notes it if `result` and `err` report damage; any other error is returned, as is one of opening
 * the file to learn its size. */
static int note_file(const char *directory, const char *prefix, const char *name, int result,
                     struct verify_report *report, struct error *err)
{
    if (result < 0 && err->kind != ERR_VERIFY)
        return -1;
    SCOPED(buf_release) struct buf full = {0};
    struct error ignored = {0};
    struct mapping file = {0};
    SCOPED(mem_free_at) char *path = path_join(directory, name);
    const bool there = path_exists(path);
    const int mapped = there ? file_map(&file, path, result < 0 ? &ignored : err) : 0;
    buf_addf(&full, "%s%s", prefix, name);
    if (result < 0)
        verify_note(report, buf_text(&full), 0, file.size,
                    there ? "the checkpoint's file is damaged" : "the checkpoint's file is missing");
    report->files++;
    report->bytes += file.size;
    file_unmap(&file);
    return result < 0 ? 0 : mapped;
}

int checkpoint_survey(const char *directory, const char *prefix, struct verify_progress progress,
                      struct verify_report *report, struct error *err)
{
    struct checkpoint_state state;
    struct error found = {0};
    json_t *json;
    const bool readable = read_state(directory, &state, &json, &found) == 0;
    int result = note_file(directory, prefix, STATE_NAME, readable ? 0 : -1, report, &found);
    const char *name;
    json_t *hash;
    json_object_foreach(readable ? json_object_get(json, "files") : NULL, name, hash)
    {
        if (result == 0 && progress.report(progress.context, report->bytes, 0) < 0)
            result = fail(&found, ERR_STOPPED, "stopped; nothing was changed");
        if (result == 0)
            result = note_file(directory, prefix, name, verify_file(directory, name, json_string_value(hash), &found),
                               report, &found);
    }
    if (result < 0)
        *err = found;
    json_decref(json);
    return result;
}

int checkpoint_read(const char *directory, const struct params *params, float *weights, float *first, float *second,
                    struct error *err)
{
    SCOPED(mem_free_at) char *model = path_join(directory, WEIGHTS_NAME), *moments = path_join(directory, MOMENTS_NAME);
    if (weights) {
        SCOPED(safetensors_close) struct safetensors file = {0};
        TRY(safetensors_open(&file, model, err));
        TRY(names_read_own(&file, model, "", params, weights, err));
    }
    if (first || second) {
        SCOPED(safetensors_close) struct safetensors file = {0};
        TRY(safetensors_open(&file, moments, err));
        if (first)
            TRY(names_read_own(&file, moments, FIRST_PREFIX, params, first, err));
        if (second)
            TRY(names_read_own(&file, moments, SECOND_PREFIX, params, second, err));
    }
    return 0;
}
