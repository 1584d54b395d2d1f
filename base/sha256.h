/* SHA-256 (FIPS 180-4), for sums that strangers compare and sign: XXH3 (hash.h) finds accidents, and an
 * attacker can make two texts with one XXH3. With the processor's own instructions where it has them. */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHA256_DIGITS 64

struct sha256 {
    uint32_t state[8];
    uint64_t bytes;    /* so far */
    uint8_t block[64]; /* the last bytes % 64 of them */
};

struct sha256 sha256_begin(void);
void sha256_add(struct sha256 *sha, const void *data, size_t bytes);
/* SHA256_DIGITS hexadecimal digits and a NUL. Returns out. Nothing may be added afterwards. */
char *sha256_text(struct sha256 *sha, char out[SHA256_DIGITS + 1]);

/* A line of a list as sha256sum(1) writes it, without its '\n': the digits, a blank, a blank or '*', the name; a '\r'
 * at the end is none of the name. The digits come out in lower case. False: it is none. */
bool sha256_line(struct str line, char digits[SHA256_DIGITS + 1], struct str *name);

/* A sum that is not complete as text, for a journal; and from it, with the bytes it had. False: it is none. */
void sha256_save(const struct sha256 *sha, struct buf *out);
bool sha256_load(struct sha256 *sha, uint64_t bytes, struct str saved);

#endif
