/* Names of functions and letters are those of FIPS 180-4, sections 4.1.2, 5 and 6.2. */
#include "base/sha256.h"

/* Section 4.2.2: the first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

/* Section 5.3.3: the first 32 bits of the fractional parts of the square roots of the first 8 primes. */
struct sha256 sha256_begin(void)
{
    return (struct sha256){
        .state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

static uint32_t turn(uint32_t x, unsigned bits)
{
    return x >> bits | x << (32 - bits);
}

static uint32_t big_endian(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* Section 6.2.2. */
static void add_block(uint32_t state[8], const uint8_t *block)
{
    uint32_t w[64];
    for (int t = 0; t < 16; t++)
        w[t] = big_endian(block + 4 * t);
    for (int t = 16; t < 64; t++) {
        const uint32_t early = w[t - 15], late = w[t - 2];
        w[t] = w[t - 16] + w[t - 7] + (turn(early, 7) ^ turn(early, 18) ^ early >> 3) +
               (turn(late, 17) ^ turn(late, 19) ^ late >> 10);
    }
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (int t = 0; t < 64; t++) {
        const uint32_t choice = (e & f) ^ (~e & g), majority = (a & b) ^ (a & c) ^ (b & c);
        const uint32_t t1 = h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + choice + k[t] + w[t];
        const uint32_t t2 = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + majority;
        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    const uint32_t further[8] = {a, b, c, d, e, f, g, h};
    for (int i = 0; i < 8; i++)
        state[i] += further[i];
}

void sha256_add(struct sha256 *sha, const void *data, size_t bytes)
{
    const uint8_t *from = data;
    while (bytes > 0) {
        const size_t held = sha->bytes % sizeof sha->block, room = sizeof sha->block - held;
        const size_t part = bytes < room ? bytes : room;
        memcpy(sha->block + held, from, part);
        if (part == room)
            add_block(sha->state, sha->block);
        sha->bytes += part;
        from += part;
        bytes -= part;
    }
}

void sha256_end(struct sha256 *sha, unsigned char out[SHA256_BYTES])
{
    /* Section 5.1.1: a one bit, zeros up to 8 bytes before the end of a block, the length in bits. */
    static const uint8_t padding[64] = {0x80};
    const uint64_t bits = sha->bytes * 8;
    uint8_t length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)(bits >> (56 - 8 * i));
    sha256_add(sha, padding, 1 + (119 - sha->bytes % 64) % 64);
    sha256_add(sha, length, sizeof length);
    for (int i = 0; i < SHA256_BYTES; i++)
        out[i] = (unsigned char)(sha->state[i / 4] >> (24 - 8 * (i % 4)));
}

char *sha256_text(struct sha256 *sha, char out[65])
{
    unsigned char bytes[SHA256_BYTES];
    sha256_end(sha, bytes);
    return hex_write(bytes, sizeof bytes, out);
}

/* ---- HMAC, with the names of RFC 2104, section 2 ---- */

/* H((key xor pad), text), where `key` is filled up with zeros to a block. */
static void hash_padded(const unsigned char key[SHA256_BLOCK_BYTES], unsigned char pad, struct str text,
                        unsigned char out[SHA256_BYTES])
{
    unsigned char block[SHA256_BLOCK_BYTES];
    struct sha256 sha = sha256_begin();
    for (size_t i = 0; i < sizeof block; i++)
        block[i] = key[i] ^ pad;
    sha256_add(&sha, block, sizeof block);
    sha256_add(&sha, text.data, text.size);
    sha256_end(&sha, out);
}

void hmac_sha256(struct str key, struct str message, unsigned char mac[HMAC_BYTES])
{
    unsigned char block[SHA256_BLOCK_BYTES] = {0}, inner[SHA256_BYTES];
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

/* ---- lists and journals ---- */

bool sha256_line(struct str line, char digits[SHA256_DIGITS + 1], struct str *name)
{
    unsigned char bytes[SHA256_BYTES];
    if (line.size > 0 && line.data[line.size - 1] == '\r')
        line.size--;
    if (line.size < SHA256_DIGITS + 3 || line.data[SHA256_DIGITS] != ' ' ||
        (line.data[SHA256_DIGITS + 1] != ' ' && line.data[SHA256_DIGITS + 1] != '*') || memchr(line.data, 0, line.size))
        return false;
    if (!hex_read((struct str){line.data, SHA256_DIGITS}, bytes))
        return false;
    hex_write(bytes, sizeof bytes, digits);
    *name = str_range(line.data + SHA256_DIGITS + 2, line.data + line.size);
    return true;
}

void sha256_save(const struct sha256 *sha, struct buf *out)
{
    for (size_t i = 0; i < 8; i++)
        buf_addf(out, "%08x", sha->state[i]);
    for (size_t i = 0; i < sha->bytes % sizeof sha->block; i++)
        buf_addf(out, "%02x", sha->block[i]);
}

bool sha256_load(struct sha256 *sha, uint64_t bytes, struct str saved)
{
    const size_t held = bytes % sizeof sha->block;
    unsigned char read[SHA256_BYTES + SHA256_BLOCK_BYTES];
    if (saved.size != 2 * (SHA256_BYTES + held) || !hex_read(saved, read))
        return false;
    *sha = (struct sha256){.bytes = bytes};
    for (size_t i = 0; i < 8; i++)
        sha->state[i] = big_endian(read + 4 * i);
    memcpy(sha->block, read + SHA256_BYTES, held);
    return true;
}
