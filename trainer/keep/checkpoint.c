/* Order of writing: files → state.json → rename of the directory → latest → removal of old ones. See the header. */
#include "trainer/keep/checkpoint.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "trainer/model/config.h"
#include "base/json.h"

#define TEMPORARY ".tmp"
#define NAME_SIZE 64 /* bytes of a checkpoint's name, with its folder */

static int remove_files(const char *directory, struct error *err)
{
    SCOPED(path_list_release) struct path_list files = {0};
    TRY(path_list(&files, directory, err));
    for (size_t i = 0; i < files.count; i++) {
        SCOPED(mem_free_at) char *file = path_join(directory, files.names[i]);
        if (strcmp(files.names[i], ERRORS_NAME) == 0 && path_is_directory(file))
            TRY(remove_files(file, err));
        TRY(path_remove(file, err));
    }
    return 0;
}

/* Removes a checkpoint's directory with its files and errors/. Renames it first, so that a half-removed one is never
 * taken for complete. Syncs the parent at the end: after a run's last save nothing would tidy up a directory that a
 * power loss brings back. */
static int remove_directory(const char *path, struct error *err)
{
    SCOPED(buf_release) struct buf doomed = {0};
    buf_add_text(&doomed, path);
    if (!str_ends(buf_str(&doomed), STR(TEMPORARY))) {
        buf_add_text(&doomed, ".old" TEMPORARY);
        TRY(path_rename(path, buf_text(&doomed), err));
    }
    TRY(remove_files(buf_text(&doomed), err));
    TRY(path_remove(buf_text(&doomed), err));
    return path_sync_directory_of(buf_text(&doomed), err);
}

int checkpoint_tidy(const char *run, struct error *err)
{
    SCOPED(path_list_release) struct path_list list = {0};
    SCOPED(mem_free_at) char *directory = path_join(run, CHECKPOINTS_NAME);
    int result = path_is_directory(directory) ? path_list(&list, directory, err) : 0;
    for (size_t i = 0; i < list.count && result == 0; i++) {
        SCOPED(mem_free_at) char *path = path_join(directory, list.names[i]);
        if (strncmp(list.names[i], "step-", 5) == 0 && str_ends(str_of(path), STR(TEMPORARY)))
            result = remove_directory(path, err);
    }
    return result;
}

static uint64_t step_of(const char *name)
{
    assert(state_is_step_name(name));
    return strtoull(name + 5, NULL, 10);
}

char *checkpoint_path(const char *run, uint64_t step)
{
    char name[NAME_SIZE];
    snprintf(name, sizeof name, CHECKPOINTS_NAME "/step-%08" PRIu64, step);
    return path_join(run, name);
}

bool checkpoint_exists(const char *run, uint64_t step)
{
    SCOPED(mem_free_at) char *path = checkpoint_path(run, step);
    return path_is_directory(path);
}

uint64_t checkpoint_best(const char *run)
{
    struct error ignored = {0};
    SCOPED(buf_release) struct buf text = {0};
    SCOPED(mem_free_at) char *path = path_join(run, BEST_NAME);
    uint64_t step = 0;
    if (path_exists(path) && file_read_all(path, NAME_SIZE, &text, &ignored) == 0) {
        if (text.size > 0 && text.data[text.size - 1] == '\n')
            text.size--;
        if (state_is_step_name(buf_text(&text)) && checkpoint_exists(run, step_of(buf_text(&text))))
            step = step_of(buf_text(&text));
    }
    return step;
}

int checkpoint_keep(const char *run, uint64_t step, uint64_t keep_last, uint64_t keep_every, struct error *err)
{
    SCOPED(path_list_release) struct path_list list = {0};
    SCOPED(mem_free_at) char *directory = path_join(run, CHECKPOINTS_NAME);
    const uint64_t best = checkpoint_best(run);
    uint64_t kept = 0;
    int result = path_list(&list, directory, err); /* sorted by name; with eight digits that is by step */
    for (size_t i = list.count; i-- > 0 && result == 0;) {
        if (!state_is_step_name(list.names[i]) || step_of(list.names[i]) > step)
            continue;
        if (++kept <= keep_last || keep_last == 0 || (keep_every > 0 && step_of(list.names[i]) % keep_every == 0) ||
            step_of(list.names[i]) == best)
            continue;
        char *path = path_join(directory, list.names[i]), *foreign;
        result = checkpoint_foreign(path, &foreign, err);
        if (result == 0 && !foreign)
            result = remove_directory(path, err);
        else if (foreign && kept == keep_last + 1) /* said once */
            log_say("note       %s is kept: %s in it does not belong to the run", path, foreign);
        mem_free(foreign);
        mem_free(path);
    }
    return result;
}

static int write_text(const char *directory, const char *name, struct str text, json_t *hashes, struct error *err)
{
    char hex[17];
    SCOPED(mem_free_at) char *path = path_join(directory, name);
    const int result = file_write_all(path, text.data, text.size, err);
    assert(!json_object_get(hashes, name)); /* each file once */
    json_object_set_new(hashes, name, json_string(hash_text(hash64(text.data, text.size), hex)));
    return result;
}

static int write_json(const char *directory, const char *name, const json_t *value, json_t *hashes, struct error *err)
{
    SCOPED(buf_release) struct buf text = {0};
    json_add_text(value, JSON_INDENT(2), &text);
    buf_add_byte(&text, '\n');
    return write_text(directory, name, buf_str(&text), hashes, err);
}

static const char *const prefixes[CHECKPOINT_ARRAYS] = {"", FIRST_PREFIX, SECOND_PREFIX};

/* The tensors of an array (names_tensors), without data if they come from a source. */
static size_t array_tensors(const struct checkpoint_parts *parts, enum checkpoint_array array, struct arena *names,
                            struct tensor *out)
{
    const float *const flat[CHECKPOINT_ARRAYS] = {parts->weights, parts->first, parts->second};
    assert(array < CHECKPOINT_ARRAYS && (parts->source || flat[array]));
    return names_tensors(parts->params, prefixes[array], parts->source ? NULL : flat[array], names, out);
}

/* Reads tensor number `tensor` of an array from the source: all parameters that are one in the file. */
static int read_tensor(const struct checkpoint_parts *parts, enum checkpoint_array array, size_t tensor, float *data,
                       struct error *err)
{
    const struct param *items = parts->params->items;
    size_t first = 0;
    for (; tensor > 0; tensor--)
        first += (size_t)items[first].parts;
    assert(first < parts->params->count);
    for (size_t i = first; i < first + (size_t)items[first].parts; data += items[i++].count)
        TRY(parts->source->read(parts->source->context, array, i, data, err));
    return 0;
}

/* A file whose first tensors are those of the array `first`. */
struct file_source {
    const struct checkpoint_parts *parts;
    enum checkpoint_array first;
    size_t count; /* tensors of an array */
};

static int read_of_file(void *context, size_t i, void *data, struct error *err)
{
    const struct file_source *file = context;
    const enum checkpoint_array array = file->first + (enum checkpoint_array)(i / file->count);
    return read_tensor(file->parts, array, i % file->count, data, err);
}

/* Writes the tensors of `arrays` arrays, starting with `first`, as one file. */
static int write_arrays(const char *directory, const char *name, const struct checkpoint_parts *parts,
                        enum checkpoint_array first, size_t arrays, json_t *hashes, struct error *err)
{
    struct file_source context = {parts, first, 0};
    const struct tensor_source source = {read_of_file, &context};
    uint64_t hash = 0;
    char hex[17];
    SCOPED(arena_release) struct arena names = {0};
    SCOPED(mem_free_at) struct tensor *tensors = mem_array(arrays * parts->params->count, sizeof *tensors);
    SCOPED(mem_free_at) char *path = path_join(directory, name);
    assert(!json_object_get(hashes, name));
    for (size_t a = 0; a < arrays; a++)
        context.count = array_tensors(parts, first + (enum checkpoint_array)a, &names, tensors + a * context.count);
    const int result =
        safetensors_write_from(path, tensors, arrays * context.count, parts->source ? &source : NULL, NULL, &hash, err);
    json_object_set_new(hashes, name, json_string(hash_text(hash, hex)));
    return result;
}

/* The pieces that a text begins and ends with, under both names of each. */
static void add_ends(json_t *config, const struct checkpoint_parts *parts)
{
    static const char *const begins[] = {"bos_token_id", "cls_token_id"}, *const ends[] = {"eos_token_id",
                                                                                           "sep_token_id"};
    for (int i = 0; i < 2 && architecture_of(parts->config)->layout->names_ends; i++) {
        json_object_set_new(config, begins[i], json_integer(parts->cls_id));
        json_object_set_new(config, ends[i], json_integer(parts->sep_id));
    }
}

/* Writes all files, state.json last, into an empty directory. */
static int write_files(const char *directory, const struct checkpoint_parts *parts,
                       const struct checkpoint_state *state, struct error *err)
{
    json_auto_t *hashes = json_object(), *config = config_json(parts->config, parts->pad_id), *whole = NULL;
    add_ends(config, parts);
    TRY(write_json(directory, "config.json", config, hashes, err));
    TRY(write_arrays(directory, WEIGHTS_NAME, parts, CHECKPOINT_WEIGHTS, 1, hashes, err));
    TRY(write_arrays(directory, MOMENTS_NAME, parts, CHECKPOINT_FIRST, 2, hashes, err));
    if (parts->errors)
        TRY(errors_write(directory, parts->errors, hashes, err));
    for (int i = 0; i < TOKENIZER_FILES; i++)
        if (parts->tokenizer->all[i].size > 0)
            TRY(write_text(directory, tokenizer_file_names[i], buf_str(&parts->tokenizer->all[i]), hashes, err));
    SCOPED(mem_free_at) char *path = path_join(directory, STATE_NAME);
    whole = state_json(state, hashes, parts->identity);
    return json_file_write(path, whole, err);
}

/* Writes `latest` or `best`. */
static int set_pointer(const char *run, const char *pointer, uint64_t step, struct error *err)
{
    char text[NAME_SIZE];
    SCOPED(mem_free_at) char *path = path_join(run, pointer);
    const int size = snprintf(text, sizeof text, "step-%08" PRIu64 "\n", step);
    return file_write_all(path, text, (size_t)size, err);
}

int checkpoint_set_best(const char *run, uint64_t step, struct error *err)
{
    return set_pointer(run, BEST_NAME, step, err);
}

int checkpoint_set_latest(const char *run, uint64_t step, struct error *err)
{
    return set_pointer(run, LATEST_NAME, step, err);
}

int checkpoint_write(const char *run, const struct checkpoint_parts *parts, const struct checkpoint_state *state,
                     uint64_t keep_last, uint64_t keep_every, struct error *err)
{
    SCOPED(buf_release) struct buf name = {0};
    SCOPED(mem_free_at) char *final = checkpoint_path(run, state->step);
    buf_addf(&name, "%s" TEMPORARY, final);
    const char *unfinished = buf_text(&name);

    int result = checkpoint_tidy(run, err);
    if (result == 0)
        result = path_make_directory(unfinished, err);
    if (result == 0)
        result = write_files(unfinished, parts, state, err);
    if (result == 0 && path_exists(final)) /* left by a crash between its rename and the update of `latest` */
        result = remove_directory(final, err);
    if (result == 0)
        result = path_rename(unfinished, final, err);
    if (result == 0)
        result = checkpoint_set_latest(run, state->step, err);
    else if (path_is_directory(unfinished)) {
        struct error second = {0};
        remove_directory(unfinished, &second); /* best effort: the first error is the one to report */
    }
    if (result == 0)
        result = checkpoint_keep(run, state->step, keep_last, keep_every, err);
    return result;
}

uint64_t checkpoint_bytes(const struct params *params)
{
    return (uint64_t)params->total * sizeof(float) * 3 + (8u << 20); /* weights and two moments; tokenizer's files */
}

/* Bit by bit: numbers that are equal may have other bits, as those of zero. */
static int compare_tensor(const struct safetensors *file, const char *path, const struct tensor *ours,
                          const float *computed, uint64_t step, struct error *err)
{
    size_t at = 0;
    float there;
    const char *name = ours->name;
    const struct tensor *tensor = safetensors_find(file, name);
    if (!tensor || tensor->type != TENSOR_F32 || tensor->bytes != ours->bytes)
        return fail_at(err, ERR_VERIFY, path, ERROR_NO_OFFSET, "has no tensor %.100s of the model's shape", name);
    if (memcmp(tensor->data, computed, tensor->bytes) == 0)
        return 0;
    const char *bytes = tensor->data;
    while (memcmp(bytes + at * sizeof there, computed + at, sizeof there) == 0)
        at++;
    memcpy(&there, bytes + at * sizeof there, sizeof there);
    return fail_at(err, ERR_VERIFY, path, ERROR_NO_OFFSET,
                   "%.100s is not what step %" PRIu64 " computes: element %zu is %.9g there and %.9g here", name, step,
                   at, (double)there, (double)computed[at]);
}

static int compare_array(const struct safetensors *file, const char *path, const struct checkpoint_parts *parts,
                         enum checkpoint_array array, uint64_t step, struct error *err)
{
    SCOPED(arena_release) struct arena names = {0};
    SCOPED(mem_free_at) struct tensor *tensors = mem_array(parts->params->count, sizeof *tensors);
    const size_t count = array_tensors(parts, array, &names, tensors);
    for (size_t i = 0; i < count; i++) {
        SCOPED(mem_free_at) float *read = parts->source ? mem_alloc(tensors[i].bytes) : NULL;
        if (read)
            TRY(read_tensor(parts, array, i, read, err));
        TRY(compare_tensor(file, path, &tensors[i], read ? read : tensors[i].data, step, err));
    }
    return 0;
}

int checkpoint_compare(const char *directory, const struct checkpoint_parts *parts, uint64_t step, char hash[34],
                       struct error *err)
{
    char first[17], second[17];
    SCOPED(safetensors_close) struct safetensors model = {0}, moments = {0};
    SCOPED(mem_free_at) char *model_path = path_join(directory, WEIGHTS_NAME);
    SCOPED(mem_free_at) char *moments_path = path_join(directory, MOMENTS_NAME);
    TRY(safetensors_open(&model, model_path, err));
    TRY(safetensors_open(&moments, moments_path, err));
    TRY(compare_array(&model, model_path, parts, CHECKPOINT_WEIGHTS, step, err));
    TRY(compare_array(&moments, moments_path, parts, CHECKPOINT_FIRST, step, err));
    TRY(compare_array(&moments, moments_path, parts, CHECKPOINT_SECOND, step, err));
    hash_text(hash64(model.file.data, model.file.size), first);
    hash_text(hash64(moments.file.data, moments.file.size), second);
    snprintf(hash, 34, "%s+%s", first, second);
    return 0;
}
