/* bf16: the upper half of a float. The compiler vectorises loops over these functions. */
#pragma once

#include <stdint.h>
#include <string.h>

static inline float bf16_to_float(uint16_t stored)
{
    const uint32_t bits = (uint32_t)stored << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Rounds to nearest, ties to even; a NaN stays one (its rounding could carry into infinity or the sign). */
static inline uint16_t bf16_from_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    const uint32_t nan = bits >> 16 | 0x40;
    return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? nan : rounded);
}
