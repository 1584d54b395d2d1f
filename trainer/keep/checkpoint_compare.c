/* In: a checkpoint's tensors and computed ones. Out: the first that differs. */
#include "trainer/keep/checkpoint.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"

static int compare_tensor(const struct safetensors *file, const char *path, const char *name, size_t count,
                          const float *computed, uint64_t step, struct error *err)
{
    size_t at = 0;
    float there;
    const struct tensor *tensor = safetensors_find(file, name);
    if (!tensor || tensor->type != TENSOR_F32 || tensor->bytes != count * sizeof *computed)
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
    static const char *const prefixes[CHECKPOINT_ARRAYS] = {"", FIRST_PREFIX, SECOND_PREFIX};
    const float *const flat[CHECKPOINT_ARRAYS] = {parts->weights, parts->first, parts->second};
    const struct params *params = parts->params;
    int result = 0;
    assert(parts->source || flat[array]);
    for (size_t i = 0; result == 0 && i < params->count; i++) {
        const struct param *param = &params->items[i];
        float *read = parts->source ? mem_array(param->count, sizeof *read) : NULL;
        char name[128];
        snprintf(name, sizeof name, "%s%s", prefixes[array], param->name);
        if (read)
            result = parts->source->read(parts->source->context, array, i, read, err);
        if (result == 0)
            result =
                compare_tensor(file, path, name, param->count, read ? read : flat[array] + param->offset, step, err);
        mem_free(read);
    }
    return result;
}

int checkpoint_compare(const char *directory, const struct checkpoint_parts *parts, uint64_t step, char hash[34],
                       struct error *err)
{
    struct safetensors model = {0}, moments = {0};
    char *model_path = path_join(directory, WEIGHTS_NAME), *moments_path = path_join(directory, MOMENTS_NAME);
    int result = safetensors_open(&model, model_path, err);
    if (result == 0)
        result = safetensors_open(&moments, moments_path, err);
    if (result == 0)
        result = compare_array(&model, model_path, parts, CHECKPOINT_WEIGHTS, step, err);
    if (result == 0)
        result = compare_array(&moments, moments_path, parts, CHECKPOINT_FIRST, step, err);
    if (result == 0)
        result = compare_array(&moments, moments_path, parts, CHECKPOINT_SECOND, step, err);
    if (result == 0) {
        char first[17], second[17];
        hash_text(hash64(model.file.data, model.file.size), first);
        hash_text(hash64(moments.file.data, moments.file.size), second);
        snprintf(hash, 34, "%s+%s", first, second);
    }
    safetensors_close(&model);
    safetensors_close(&moments);
    mem_free(model_path);
    mem_free(moments_path);
    return result;
}
