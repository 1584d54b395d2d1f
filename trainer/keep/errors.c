#include "trainer/keep/errors.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/mem.h"
#include "trainer/keep/safetensors.h"

#define WORKER    "worker_error"
#define SERVER    "server_error"
#define NAME_SIZE 64

static void name_of(char name[NAME_SIZE], uint32_t rank, uint32_t size)
{
    snprintf(name, NAME_SIZE, ERRORS_NAME "/rank-%05" PRIu32 "-of-%05" PRIu32 ".safetensors", rank, size);
}

static const char mean_name[] = ERRORS_NAME "/mean.safetensors";

static struct tensor tensor_of(const char *name, const float *values, size_t count)
{
    return (struct tensor){
        .name = name, .type = TENSOR_F32, .rank = 1, .shape = {count}, .data = values, .bytes = count * sizeof *values};
}

static int write_file(const char *directory, const char *name, const float *worker, size_t count, const float *server,
                      size_t part, json_t *hashes, struct error *err)
{
    const struct tensor tensors[] = {tensor_of(WORKER, worker, count), tensor_of(SERVER, server, part)};
    uint64_t hash = 0;
    char hex[17];
    SCOPED(mem_free_at) char *path = path_join(directory, name);
    const int result = safetensors_write(path, tensors, 2, &hash, err);
    assert(!json_object_get(hashes, name));
    json_object_set_new(hashes, name, json_string(hash_text(hash, hex)));
    return result;
}

int errors_write(const char *directory, const struct checkpoint_errors *e, json_t *hashes, struct error *err)
{
    char name[NAME_SIZE];
    assert(e->size > 0 && e->part[0] == 0 && e->part[e->size] == e->count && e->whole <= e->count);
    SCOPED(mem_free_at) float *mean = mem_clear(e->count, sizeof *mean), *one = mem_array(e->count, sizeof *one);
    SCOPED(mem_free_at) float *server = mem_array(e->count, sizeof *server);
    SCOPED(mem_free_at) char *folder = path_join(directory, ERRORS_NAME);
    TRY(path_make_directory(folder, err));
    for (uint32_t r = 0; r < e->size; r++) {
        TRY(e->read(e->context, r, one, server + e->part[r], err));
        for (size_t i = 0; i < e->count; i++)
            mean[i] += one[i];
        name_of(name, r, e->size);
        TRY(write_file(directory, name, one, e->count, server + e->part[r], e->part[r + 1] - e->part[r], hashes, err));
    }
    for (size_t i = 0; i < e->count; i++)
        mean[i] /= (float)e->size;
    return write_file(directory, mean_name, mean, e->whole, server, e->whole, hashes, err);
}

static bool is_there(const char *directory, const char *name)
{
    SCOPED(mem_free_at) char *path = path_join(directory, name);
    return path_exists(path);
}

bool errors_of(const char *directory, uint32_t size)
{
    char name[NAME_SIZE];
    name_of(name, 0, size);
    return is_there(directory, name);
}

bool errors_any(const char *directory)
{
    return is_there(directory, mean_name);
}

static int take(const struct safetensors *file, const char *path, const char *name, float *out, size_t count,
                struct error *err)
{
    const struct tensor *tensor = safetensors_find(file, name);
    if (!tensor || tensor->type != TENSOR_F32 || tensor_elements(tensor) != count)
        return fail_at(err, ERR_MISMATCH, path, ERROR_NO_OFFSET, "has no %s of %zu numbers, which this run needs", name,
                       count);
    tensor_to_f32(tensor, out);
    return 0;
}

static int read_file(const char *directory, const char *name, float *worker, size_t count, float *server, size_t part,
                     struct error *err)
{
    SCOPED(safetensors_close) struct safetensors file = {0};
    SCOPED(mem_free_at) char *path = path_join(directory, name);
    TRY(safetensors_open(&file, path, err));
    TRY(take(&file, path, WORKER, worker, count, err));
    return take(&file, path, SERVER, server, part, err);
}

int errors_read(const char *directory, uint32_t rank, uint32_t size, size_t count, float *worker, size_t part,
                float *server, struct error *err)
{
    char name[NAME_SIZE];
    name_of(name, rank, size);
    return read_file(directory, name, worker, count, server, part, err);
}

int errors_read_mean(const char *directory, size_t whole, float *worker, float *server, struct error *err)
{
    return read_file(directory, mean_name, worker, whole, server, whole, err);
}
