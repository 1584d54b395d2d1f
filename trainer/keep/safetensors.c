/* Checked views of the tensors in a file. The header is JSON, so jansson parses it (its nesting limit bounds the
 * stack); every number in it is checked here before it is used as an offset or a size. */
#include "trainer/keep/safetensors_index.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <math.h>
#include <stdio.h>

#include "base/json.h"
#include "base/mem.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "safetensors are little-endian: this reader maps them"
#endif

static const struct {
    const char *name;
    uint32_t bytes;
} types[] = {
    [TENSOR_F64] = {"F64", 8},   [TENSOR_F32] = {"F32", 4}, [TENSOR_F16] = {"F16", 2}, [TENSOR_BF16] = {"BF16", 2},
    [TENSOR_I64] = {"I64", 8},   [TENSOR_I32] = {"I32", 4}, [TENSOR_I16] = {"I16", 2}, [TENSOR_I8] = {"I8", 1},
    [TENSOR_U64] = {"U64", 8},   [TENSOR_U32] = {"U32", 4}, [TENSOR_U16] = {"U16", 2}, [TENSOR_U8] = {"U8", 1},
    [TENSOR_BOOL] = {"BOOL", 1},
};
_Static_assert(sizeof types / sizeof *types == TENSOR_TYPES, "a row for every type");

const char *tensor_type_name(enum tensor_type type)
{
    return types[type].name;
}

uint32_t tensor_type_bytes(enum tensor_type type)
{
    return types[type].bytes;
}

uint64_t tensor_elements(const struct tensor *tensor)
{
    return tensor->bytes / types[tensor->type].bytes;
}

struct tensor tensor_range(const struct tensor *tensor, uint64_t at, uint64_t count)
{
    const uint32_t each = tensor_type_bytes(tensor->type);
    return (struct tensor){.name = tensor->name,
                           .type = tensor->type,
                           .rank = 1,
                           .shape = {count},
                           .data = (const char *)tensor->data + at * each,
                           .bytes = count * each};
}

bool tensor_type_floats(enum tensor_type type)
{
    return type == TENSOR_F64 || type == TENSOR_F32 || type == TENSOR_F16 || type == TENSOR_BF16;
}

bool tensor_is_finite(const struct tensor *tensor)
{
    enum { BLOCK = 4096 };
    float block[BLOCK];
    const uint64_t count = tensor_elements(tensor);
    bool finite = true;
    for (uint64_t at = 0; at < count && finite; at += BLOCK) {
        const uint64_t size = count - at < BLOCK ? count - at : BLOCK;
        const struct tensor part = tensor_range(tensor, at, size);
        if (tensor_to_f32(&part, block) < 0)
            return true;
        for (uint64_t i = 0; i < size; i++)
            finite &= isfinite(block[i]) != 0;
    }
    return finite;
}

char *tensor_shape_text(const struct tensor *tensor, char *out, size_t out_size)
{
    SCOPED(buf_release) struct buf text = {0};
    buf_add_byte(&text, '[');
    for (uint32_t i = 0; i < tensor->rank; i++)
        buf_addf(&text, "%s%" PRIu64, i > 0 ? ", " : "", tensor->shape[i]);
    buf_add_byte(&text, ']');
    snprintf(out, out_size, "%s", buf_text(&text));
    return out;
}

bool tensor_shape_bytes(const struct tensor *tensor, uint64_t *bytes)
{
    uint64_t product = types[tensor->type].bytes;
    bool empty = false;
    for (uint32_t i = 0; i < tensor->rank; i++)
        empty |= tensor->shape[i] == 0;
    for (uint32_t i = 0; i < tensor->rank && !empty; i++)
        if (__builtin_mul_overflow(product, tensor->shape[i], &product))
            return false;
    *bytes = empty ? 0 : product;
    return product <= INT64_MAX;
}

static float from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* IEEE 754 binary16 to binary32; exact. */
static float from_half(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000u) << 16, exponent = (half >> 10) & 31u, mantissa = half & 0x3ffu;
    if (exponent == 31)
        return from_bits(sign | 0x7f800000u | mantissa << 13);
    if (exponent == 0) /* zero or subnormal: mantissa * 2^-24, exact in binary32 */
        return (sign ? -1.0f : 1.0f) * (float)mantissa * 0x1p-24f;
    return from_bits(sign | (exponent + 112) << 23 | mantissa << 13);
}

int tensor_to_f32(const struct tensor *tensor, float *out)
{
    const uint64_t count = tensor_elements(tensor);
    const uint8_t *data = tensor->data;
    for (uint64_t i = 0; i < count; i++) {
        uint16_t half;
        double wide;
        switch (tensor->type) {
        case TENSOR_F32:
            if (count > 0)
                memcpy(out, data, tensor->bytes);
            return 0;
        case TENSOR_F64:
            memcpy(&wide, data + 8 * i, 8);
            out[i] = (float)wide;
            break;
        case TENSOR_F16:
            memcpy(&half, data + 2 * i, 2);
            out[i] = from_half(half);
            break;
        case TENSOR_BF16:
            memcpy(&half, data + 2 * i, 2);
            out[i] = from_bits((uint32_t)half << 16);
            break;
        default:
            return -1;
        }
    }
    return 0;
}

static int bad(const char *path, const char *name, const char *what, struct error *err)
{
    if (name)
        return fail_at(err, ERR_UNSAFE, path, ERROR_NO_OFFSET, "not a valid safetensors file: tensor %.100s: %s", name,
                       what);
    return fail_at(err, ERR_UNSAFE, path, ERROR_NO_OFFSET, "not a valid safetensors file: %s", what);
}

/* Reads a JSON array of counts, each in [0, INT64_MAX], and returns its length; -1 if it is anything else or longer
 * than `max`. */
static int counts_of(const json_t *array, uint64_t *out, size_t max)
{
    const size_t size = json_array_size(array);
    if (!json_is_array(array) || size > max)
        return -1;
    for (size_t i = 0; i < size; i++) {
        const json_t *number = json_array_get(array, i);
        if (!json_is_integer(number) || json_integer_value(number) < 0)
            return -1;
        out[i] = (uint64_t)json_integer_value(number);
    }
    return (int)size;
}

/* Reads one entry of the header. *from becomes the offset in the data part, which the caller turns into a pointer once
 * the whole layout has been checked. */
static int entry_read(const char *path, const char *name, const json_t *entry, struct tensor *tensor, uint64_t *from,
                      struct error *err)
{
    const char *type = json_string_value(json_object_get(entry, "dtype"));
    const json_t *shape = json_object_get(entry, "shape");
    const json_t *range = json_object_get(entry, "data_offsets");
    if (!json_is_object(entry) || !type || !shape || !range || json_object_size(entry) != 3)
        return bad(path, name, "its entry is not exactly dtype, shape, data_offsets", err);

    tensor->type = TENSOR_TYPES;
    for (int i = 0; i < TENSOR_TYPES; i++)
        if (strcmp(type, tensor_type_name((enum tensor_type)i)) == 0)
            tensor->type = (enum tensor_type)i;
    if (tensor->type == TENSOR_TYPES)
        return bad(path, name, "unknown dtype", err);

    const int rank = counts_of(shape, tensor->shape, TENSOR_RANK_MAX);
    if (rank < 0)
        return bad(path, name, "its shape is not a list of at most 8 counts", err);
    tensor->rank = (uint32_t)rank;
    if (!tensor_shape_bytes(tensor, &tensor->bytes))
        return bad(path, name, "its shape overflows", err);

    uint64_t offsets[2];
    if (counts_of(range, offsets, 2) != 2 || offsets[0] > offsets[1])
        return bad(path, name, "its data_offsets are not two rising counts", err);
    if (offsets[1] - offsets[0] != tensor->bytes)
        return bad(path, name, "its data_offsets do not agree with dtype and shape", err);
    *from = offsets[0];
    return 0;
}

static bool metadata_ok(const json_t *metadata)
{
    if (!json_is_object(metadata))
        return false;
    const char *key;
    const json_t *value;
    json_object_foreach((json_t *)metadata, key, value) if (!json_is_string(value)) return false;
    return true;
}

struct placed {
    uint64_t from;
    struct tensor tensor;
};

static int by_place(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return (x->tensor.bytes > y->tensor.bytes) - (x->tensor.bytes < y->tensor.bytes); /* empty ones first */
}

int safetensors_by_name(const void *a, const void *b)
{
    return strcmp(((const struct tensor *)a)->name, ((const struct tensor *)b)->name);
}

/* Checks that the tensors, end to end, cover exactly the data part, and points each at its bytes. */
static int place(const char *path, struct placed *placed, size_t count, const uint8_t *data, uint64_t data_bytes,
                 struct error *err)
{
    uint64_t end = 0;
    qsort(placed, count, sizeof *placed, by_place);
    for (size_t i = 0; i < count; i++) {
        struct tensor *tensor = &placed[i].tensor;
        if (placed[i].from != end)
            return bad(path, tensor->name,
                       placed[i].from < end ? "its bytes overlap another's" : "bytes before it belong to no tensor",
                       err);
        end += tensor->bytes; /* no overflow: `end` equals `from`, and both terms fit in 63 bits */
    }
    if (end != data_bytes)
        return fail_at(err, ERR_VERIFY, path, ERROR_NO_OFFSET,
                       "the header describes %" PRIu64 " bytes of data, the file holds %" PRIu64 ": %s", end,
                       data_bytes, end > data_bytes ? "it was cut off" : "something was appended");
    for (size_t i = 0; i < count; i++)
        placed[i].tensor.data = data + placed[i].from;
    return 0;
}

static int header_read(struct safetensors *file, const char *path, const json_t *header, uint64_t data_at,
                       struct error *err)
{
    SCOPED(mem_free_at) struct placed *placed = mem_array(json_object_size(header), sizeof *placed);
    size_t count = 0;
    const char *name;
    const json_t *entry;
    json_object_foreach((json_t *)header, name, entry)
    {
        if (strcmp(name, "__metadata__") == 0) {
            if (!metadata_ok(entry))
                return bad(path, NULL, "__metadata__ does not map strings to strings", err);
        } else {
            struct placed *next = &placed[count++];
            *next = (struct placed){.tensor.name = arena_copy(&file->names, str_of(name)).data};
            TRY(entry_read(path, name, entry, &next->tensor, &next->from, err));
        }
    }
    TRY(place(path, placed, count, file->file.data + data_at, file->file.size - data_at, err));
    assert(count <= json_object_size(header));
    file->tensors = mem_array(count, sizeof *file->tensors);
    file->count = count;
    for (size_t i = 0; i < count; i++)
        file->tensors[i] = placed[i].tensor;
    qsort(file->tensors, count, sizeof *file->tensors, safetensors_by_name);
    return 0;
}

static int open_file(struct safetensors *file, const char *path, struct error *err)
{
    uint64_t header_bytes = 0;
    json_error_t why;
    TRY(file_map(&file->file, path, err));
    if (file->file.size < 8)
        return fail_at(err, ERR_VERIFY, path, ERROR_NO_OFFSET, "too short for a safetensors file");
    memcpy(&header_bytes, file->file.data, 8);
    const char *text = (const char *)file->file.data + 8;
    if (header_bytes > SAFETENSORS_HEADER_BYTES_MAX)
        return bad(path, NULL, "its header would be larger than 16 MiB", err);
    if (header_bytes > file->file.size - 8)
        return fail_at(err, ERR_VERIFY, path, file->file.size, "the file ends within its header");
    if (header_bytes < 2 || text[0] != '{')
        return bad(path, NULL, "its header is not a JSON object", err);
    json_auto_t *header = json_parse((struct str){text, header_bytes}, SAFETENSORS_HEADER_BYTES_MAX, &why);
    if (!header)
        return fail_at(err, ERR_UNSAFE, path, 8u + (uint64_t)why.position,
                       "not a valid safetensors file: header: %.200s", why.text);
    return header_read(file, path, header, 8 + header_bytes, err);
}

int safetensors_open(struct safetensors *file, const char *path, struct error *err)
{
    *file = (struct safetensors){0};
    const int result =
        safetensors_is_index(path) ? safetensors_open_parts(file, path, err) : open_file(file, path, err);
    if (result < 0)
        safetensors_close(file);
    return result;
}

const struct tensor *safetensors_find(const struct safetensors *file, const char *name)
{
    const struct tensor wanted = {.name = name};
    if (file->count == 0)
        return NULL;
    return bsearch(&wanted, file->tensors, file->count, sizeof wanted, safetensors_by_name);
}

void safetensors_close(struct safetensors *file)
{
    for (size_t i = 0; i < file->part_count; i++)
        safetensors_close(&file->parts[i]);
    mem_free(file->parts);
    file_unmap(&file->file);
    mem_free(file->tensors);
    arena_release(&file->names);
    *file = (struct safetensors){0};
}
