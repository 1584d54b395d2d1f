#include "trainer/keep/safetensors.h"

#include <assert.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/json.h"

/* The reference writer's order: wider types first, then names. */
static int by_alignment(const void *a, const void *b)
{
    const struct tensor *x = *(const struct tensor *const *)a, *y = *(const struct tensor *const *)b;
    if (tensor_type_bytes(x->type) != tensor_type_bytes(y->type))
        return tensor_type_bytes(x->type) > tensor_type_bytes(y->type) ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* The header as the reference writes it: compact JSON, padded with blanks so that the data starts 8-byte aligned. */
static void header_text(const struct tensor *const *order, size_t count, const char *kind, struct buf *out)
{
    json_auto_t *header = json_object();
    uint64_t end = 0;
    json_object_set_new(header, "__metadata__", json_pack("{s:s, s:s*}", "format", "pt", "kind", kind));
    for (size_t i = 0; i < count; i++) {
        const struct tensor *tensor = order[i];
        json_t *shape = json_array();
        for (uint32_t d = 0; d < tensor->rank; d++)
            json_array_append_new(shape, json_integer((json_int_t)tensor->shape[d]));
        json_object_set_new(header, tensor->name,
                            json_pack("{s:s, s:o, s:[I,I]}", "dtype", tensor_type_name(tensor->type), "shape", shape,
                                      "data_offsets", (json_int_t)end, (json_int_t)(end + tensor->bytes)));
        end += tensor->bytes;
    }
    json_add_text(header, JSON_COMPACT, out);
    while (out->size % 8 != 0)
        buf_add_byte(out, ' ');
}

static int put(struct file *file, struct hash *hash, const void *data, uint64_t bytes, struct error *err)
{
    hash_add(hash, data, bytes);
    return bytes > 0 ? file_write(file, data, bytes, err) : 0;
}

static int put_tensor(struct file *file, struct hash *hash, const struct tensor *tensor, size_t i,
                      const struct tensor_source *source, struct error *err)
{
    if (!source)
        return put(file, hash, tensor->data, tensor->bytes, err);
    SCOPED(mem_free_at) void *data = mem_alloc(tensor->bytes);
    TRY(source->read(source->context, i, data, err));
    return put(file, hash, data, tensor->bytes, err);
}

int safetensors_write(const char *path, const struct tensor *tensors, size_t count, uint64_t *hash, struct error *err)
{
    return safetensors_write_from(path, tensors, count, NULL, NULL, hash, err);
}

int safetensors_write_from(const char *path, const struct tensor *tensors, size_t count,
                           const struct tensor_source *source, const char *kind, uint64_t *hash, struct error *err)
{
    const struct tensor **order = mem_array(count, sizeof *order);
    uint64_t data_bytes = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t bytes = 0;
        const bool fits = tensor_shape_bytes(&tensors[i], &bytes);
        assert(fits && bytes == tensors[i].bytes);
        order[i] = &tensors[i];
        data_bytes += bytes;
    }
    if (count > 0)
        qsort(order, count, sizeof *order, by_alignment);

    SCOPED(buf_release) struct buf header = {0};
    header_text(order, count, kind, &header);
    const uint64_t header_bytes = header.size;
    struct hash *running = hash_open();
    struct file file = FILE_CLOSED;
    int result = file_create(&file, path, err);
    if (result == 0)
        result = put(&file, running, &header_bytes, 8, err);
    if (result == 0)
        result = put(&file, running, header.data, header.size, err);
    for (size_t i = 0; i < count && result == 0; i++)
        result = put_tensor(&file, running, order[i], (size_t)(order[i] - tensors), source, err);
    assert(result < 0 || file.written == sizeof header_bytes + header.size + data_bytes); /* as the header says */
    if (result == 0)
        result = file_commit(&file, err);
    file_close(&file);
    if (hash)
        *hash = hash_value(running);
    hash_close(running);
    mem_free(order);
    return result;
}
