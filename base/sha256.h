/* SHA-256 (FIPS 180-4), for sums that others compare and sign. XXH3 (hash.h) detects accidents only: an attacker can
 * make two texts with one XXH3. */
#pragma once

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHA256_BYTES       32
#define SHA256_DIGITS      64
#define SHA256_BLOCK_BYTES 64
#define HMAC_BYTES         SHA256_BYTES

struct sha256 {
    uint32_t state[8];
    uint64_t bytes;                    /* so far */
    uint8_t block[SHA256_BLOCK_BYTES]; /* the last bytes % 64 of them */
};

struct sha256 sha256_begin(void);
void sha256_add(struct sha256 *sha, const void *data, size_t bytes);
/* The sum as bytes, or as SHA256_DIGITS hexadecimal digits and a NUL; sha256_text returns out. Nothing may be added
 * afterwards. */
void sha256_end(struct sha256 *sha, unsigned char out[SHA256_BYTES]);
char *sha256_text(struct sha256 *sha, char out[SHA256_DIGITS + 1]);

/* Parses a line of a list as sha256sum(1) writes it, without its '\n': the digits, a blank, a blank or '*', the name. A
 * '\r' at the end does not belong to the name. The digits are returned in lower case. False: not such a line. */
bool sha256_line(struct str line, char digits[SHA256_DIGITS + 1], struct str *name);

/* A sum in progress as text, for a journal; and back, given the number of bytes added so far. False: not such a
 * text. */
void sha256_save(const struct sha256 *sha, struct buf *out);
bool sha256_load(struct sha256 *sha, uint64_t bytes, struct str saved);

/* HMAC-SHA-256 (RFC 2104) proves that whoever sent a message knows a key, without sending the key. Both of any
 * length. */
void hmac_sha256(struct str key, struct str message, unsigned char mac[HMAC_BYTES]);
/* Compares in a time that does not depend on the bytes, so that a guess cannot be improved byte by byte. */
bool hmac_same(const unsigned char a[HMAC_BYTES], const unsigned char b[HMAC_BYTES]);
