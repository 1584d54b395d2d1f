#include "pipeline/text/markup/signs.h"

#include "base/cpu.h"
#include "base/mem.h"

#include <assert.h>

void sign_set_add(struct sign_set *set, unsigned char byte)
{
    assert(byte < 0x80);
    set->rows[byte % 16] |= (uint8_t)(1u << byte / 16);
}

void signs_base(const struct sign_set *set, const char *text, size_t words, uint64_t *bits)
{
    bool is_sign[256] = {false};
    for (unsigned byte = 0; byte < 0x80; byte++)
        is_sign[byte] = set->rows[byte % 16] >> byte / 16 & 1;
    for (size_t word = 0; word < words; word++) {
        bits[word] = 0;
        for (unsigned k = 0; k < 64; k++)
            bits[word] |= (uint64_t)is_sign[(unsigned char)text[64 * word + k]] << k;
    }
}

static signs_loop *loop_of_machine(void)
{
#if defined(__x86_64__)
    if (vector_level() >= VECTOR_AVX2)
        return signs_avx2;
#endif
    return signs_base;
}

void signs_find(struct signs *signs, const struct sign_set *set, struct str text)
{
    const size_t words = text.size / 64;
    signs->bits = mem_room(signs->bits, words + 1, &signs->capacity, sizeof *signs->bits);
    char rest[64] = {0};
    signs_loop *const loop = loop_of_machine();
    loop(set, text.data, words, signs->bits);
    if (text.size % 64 > 0)
        memcpy(rest, text.data + 64 * words, text.size % 64);
    loop(set, rest, 1, signs->bits + words);
}

void signs_release(struct signs *signs)
{
    mem_free(signs->bits);
    *signs = (struct signs){0};
}
