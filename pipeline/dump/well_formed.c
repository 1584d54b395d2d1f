#include "pipeline/dump/well_formed.h"

#include <assert.h>

#define CHARACTER_BYTES_MAX 4u

/* Completes the character that is held with the first bytes of *text, and takes them from it. */
static bool complete(struct well_formed *state, struct str *text, uint64_t *bad)
{
    while (state->pending > 0) {
        char bytes[CHARACTER_BYTES_MAX];
        uint32_t character;
        unsigned skip = 0, size = 0;
        for (; size < state->pending; size++)
            bytes[size] = (char)(state->held >> 8 * (state->pending - 1 - size));
        if (text->size > 0)
            bytes[size++] = text->data[0];
        const unsigned length = utf8_decode(bytes, size, &character, &skip);
        if (length == 0 && skip < size) {
            *bad = state->passed - state->pending;
            return false;
        }
        if (text->size == 0)
            return true;
        *text = (struct str){text->data + 1, text->size - 1};
        state->held = state->held << 8 | (unsigned char)bytes[size - 1];
        state->passed++;
        state->pending = length ? 0 : state->pending + 1;
        assert(state->pending < CHARACTER_BYTES_MAX); /* four bytes are complete, or were wrong before */
    }
    return true;
}

bool well_formed_feed(struct well_formed *state, struct str text, uint64_t *bad)
{
    for (unsigned i = 1; state->after_gap && i < CHARACTER_BYTES_MAX && text.size > 0; i++) {
        if (((unsigned char)text.data[0] & 0xC0) != 0x80)
            break;
        text = (struct str){text.data + 1, text.size - 1};
        state->passed++;
    }
    state->after_gap = state->after_gap && text.size == 0;
    if (!complete(state, &text, bad))
        return false;
    unsigned skip = 0;
    const size_t good = utf8_good(text, &skip), left = text.size - good;
    state->passed += good;
    if (left == 0)
        return true;
    if (skip < left) {
        *bad = state->passed;
        return false;
    }
    state->held = 0;
    for (size_t i = good; i < text.size; i++)
        state->held = state->held << 8 | (unsigned char)text.data[i];
    state->pending = (uint32_t)left;
    state->passed += left;
    return true;
}

bool well_formed_end(const struct well_formed *state, uint64_t *bad)
{
    *bad = state->passed - state->pending;
    return state->pending == 0;
}

void well_formed_gap(struct well_formed *state)
{
    state->pending = state->held = 0;
    state->after_gap = true;
}
