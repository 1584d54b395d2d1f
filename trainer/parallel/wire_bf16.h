/* Gradients as --wire bf16 sends them: floats come in and rounded ones go out, and back. On all threads of the CPU. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* [count] each. To the nearest, ties to even. */
void wire_bf16_round(const float *from, uint16_t *to, size_t count);
void wire_bf16_widen(const uint16_t *from, float *to, size_t count);
