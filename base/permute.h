/* A keyed permutation of [0, n) by arithmetic: no table, O(1), so an order of any length is one number.
 * A balanced Feistel network over the next even number of bits, walked until it lands inside [0, n) ("cycle walking",
 * Black and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002); rounds use Philox 4x32-10. */
#pragma once

#include <stdint.h>

/* The image of i < n, n >= 1, under the permutation that `key` names. */
uint64_t permute(uint64_t i, uint64_t n, uint64_t key);
