/* SHA-256 (FIPS 180-4), for sums that strangers compare and sign: XXH3 (hash.h) finds accidents, and an
 * attacker can make two texts with one XXH3. */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

struct sha256 {
    uint32_t state[8];
    uint64_t bytes;    /* so far */
    uint8_t block[64]; /* the last bytes % 64 of them */
};

struct sha256 sha256_begin(void);
void sha256_add(struct sha256 *sha, const void *data, size_t bytes);
/* 64 hexadecimal digits and a NUL. Returns out. Nothing may be added afterwards. */
char *sha256_text(struct sha256 *sha, char out[65]);

#endif
