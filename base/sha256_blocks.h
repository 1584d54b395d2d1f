/* SHA-256 of whole blocks with the processor's SHA extensions. Only sha256.c uses it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHA256_BLOCK_BYTES 64

extern const uint32_t sha256_k[64]; /* FIPS 180-4, 4.2.2 */

bool sha256_has_instructions(void);
/* Updates `state` by `count` blocks. Requires sha256_has_instructions(). */
void sha256_add_blocks(uint32_t state[8], const uint8_t *blocks, size_t count);
