#include "trainer/keep/tensor.h"

#include <math.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/str.h"

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
