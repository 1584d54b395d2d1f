/* fp16: IEEE 754's binary16, in plain arithmetic that the compiler vectorises on every level. */
#pragma once

#include <stdint.h>
#include <string.h>

static inline float fp16_to_float(uint16_t stored)
{
    const uint32_t magnitude = (uint32_t)(stored & 0x7fff) << 13;
    float value;
    uint32_t bits;
    memcpy(&value, &magnitude, sizeof value);
    value *= 0x1p112f; /* corrects the bias of the exponent; right for subnormals too */
    memcpy(&bits, &value, sizeof bits);
    bits |= magnitude >= 0x0f800000 ? 0x7f800000 : 0; /* infinity and NaN */
    bits |= (uint32_t)(stored & 0x8000) << 16;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Rounds to nearest, ties to even; from 65,520 on to infinity; a NaN stays a NaN. */
static inline uint16_t fp16_from_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint32_t magnitude = bits & 0x7fffffff;
    const uint32_t normal = (magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13;
    float small;
    memcpy(&small, &magnitude, sizeof small);
    small += 0.5f; /* the last bit of the sum is worth 2^-24, the step of fp16's subnormals: it rounds as they do */
    uint32_t subnormal;
    memcpy(&subnormal, &small, sizeof subnormal);
    subnormal -= 0x3f000000;
    uint32_t result = magnitude < 0x38800000 ? subnormal : normal;
    result = magnitude >= 0x477ff000 ? 0x7c00 : result; /* rounds to infinity */
    result = magnitude > 0x7f800000 ? 0x7e00 : result;
    return (uint16_t)(result | (bits >> 16 & 0x8000));
}
