#include "base/hash.h"

#include "base/error.h"
#include "base/str.h"

#include <stdio.h>
#include <xxhash.h>

/* A struct hash is an XXH3_state_t; only the library knows its layout. */
static XXH3_state_t *state_of(struct hash *hash)
{
    return (XXH3_state_t *)hash;
}

uint64_t hash64(const void *data, size_t bytes)
{
    return XXH3_64bits(data, bytes);
}

struct hash *hash_open(void)
{
    XXH3_state_t *state = XXH3_createState();
    if (!state)
        die(ERR_RESOURCE, "out of memory");
    XXH3_64bits_reset(state);
    return (struct hash *)state;
}

void hash_add(struct hash *hash, const void *data, size_t bytes)
{
    if (bytes)
        XXH3_64bits_update(state_of(hash), data, bytes);
}

uint64_t hash_value(const struct hash *hash)
{
    return XXH3_64bits_digest((const XXH3_state_t *)hash);
}

void hash_close(struct hash *hash)
{
    XXH3_freeState(state_of(hash));
}

char *hash_text(uint64_t hash, char out[17])
{
    snprintf(out, 17, "%016llx", (unsigned long long)hash);
    return out;
}

int hash_parse(const char *text, uint64_t *hash)
{
    uint64_t value = 0;
    for (int i = 0; i < 16; i++) {
        const int digit = hex_digit(text[i]);
        if (digit < 0)
            return -1;
        value = value << 4 | (unsigned)digit;
    }
    if (text[16])
        return -1;
    *hash = value;
    return 0;
}
