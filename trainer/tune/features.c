/* Pieces in, samples out. */
#include "trainer/tune/features.h"

#include <assert.h>
#include <string.h>

void features_truncate(struct ids *a, struct ids *b, size_t most)
{
    while (a->count + b->count > most)
        (a->count > b->count ? a : b)->count--;
}

static void append(struct ids *out, const struct ids *more)
{
    ids_reserve(out, more->count);
    if (more->count > 0)
        memcpy(out->data + out->count, more->data, more->count * sizeof *out->data);
    out->count += more->count;
}

uint32_t features_pair(struct ids *a, struct ids *b, uint32_t cls, uint32_t sep, uint32_t length, struct ids *out)
{
    struct ids none = {0};
    assert(length >= (b ? 3 : 2));
    features_truncate(a, b ? b : &none, length - (b ? 3 : 2));
    out->count = 0;
    ids_add(out, cls);
    append(out, a);
    ids_add(out, sep);
    const uint32_t a_length = (uint32_t)out->count;
    if (b) {
        append(out, b);
        ids_add(out, sep);
    }
    assert(a_length <= out->count && out->count <= length);
    return a_length;
}
