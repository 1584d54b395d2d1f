/* The names are those of RFC 2104, section 2. */
#include "base/hmac.h"

#define BLOCK_BYTES 64 /* B: what SHA-256 hashes at a time */

/* H((key xor pad), text), where `key` is filled up with zeros to a block. */
static void hash_padded(const unsigned char key[BLOCK_BYTES], unsigned char pad, struct str text,
                        unsigned char out[SHA256_BYTES])
{
    unsigned char block[BLOCK_BYTES];
    struct sha256 sha = sha256_begin();
    for (size_t i = 0; i < sizeof block; i++)
        block[i] = key[i] ^ pad;
    sha256_add(&sha, block, sizeof block);
    sha256_add(&sha, text.data, text.size);
    sha256_end(&sha, out);
}

void hmac_sha256(struct str key, struct str message, unsigned char mac[HMAC_BYTES])
{
    unsigned char block[BLOCK_BYTES] = {0}, inner[SHA256_BYTES];
    if (key.size > sizeof block) {
        struct sha256 sha = sha256_begin();
        sha256_add(&sha, key.data, key.size);
        sha256_end(&sha, block);
    } else if (key.size > 0) {
        memcpy(block, key.data, key.size);
    }
    hash_padded(block, 0x36, message, inner);
    hash_padded(block, 0x5c, (struct str){(const char *)inner, sizeof inner}, mac);
}

bool hmac_same(const unsigned char a[HMAC_BYTES], const unsigned char b[HMAC_BYTES])
{
    volatile unsigned char different = 0; /* so that the compiler does not stop at the first difference */
    for (size_t i = 0; i < HMAC_BYTES; i++)
        different |= a[i] ^ b[i];
    return different == 0;
}
