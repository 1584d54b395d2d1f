#include "pipeline/dump/ahead.h"

#include "base/mem.h"
#include "base/parallel.h"

#include <assert.h>

struct unit {
    const uint8_t *in;
    size_t in_bytes;
    struct buf text;
    bool whole; /* it was decoded to its last byte */
};

struct ahead {
    const struct codec *codec;
    uint8_t *in; /* [AHEAD_STORED_MAX] */
    void **decoders;
    size_t decoder_count; /* one per thread */
    struct unit units[AHEAD_UNITS_MAX];
    size_t count, given; /* units decoded completely; of these, units given */
    size_t text_max;     /* largest text of a unit; 0: none was decoded yet */
};

struct ahead *ahead_open(const struct codec *codec)
{
    if (!codec->measure)
        return NULL;
    struct ahead *ahead = mem_clear(1, sizeof *ahead);
    ahead->codec = codec;
    ahead->in = mem_array(AHEAD_STORED_MAX, 1);
    ahead->decoder_count = (size_t)parallel_threads();
    ahead->decoders = mem_clear(ahead->decoder_count, sizeof *ahead->decoders);
    return ahead;
}

void ahead_close(struct ahead *ahead)
{
    if (!ahead)
        return;
    for (size_t i = 0; i < ahead->decoder_count; i++)
        ahead->codec->close(ahead->decoders[i]);
    for (size_t i = 0; i < AHEAD_UNITS_MAX; i++)
        buf_release(&ahead->units[i].text);
    mem_free(ahead->decoders);
    mem_free(ahead->in);
    mem_free(ahead);
}

size_t ahead_memory(const struct ahead *ahead)
{
    size_t bytes = ahead ? AHEAD_STORED_MAX + (ahead->text_max > 0 ? AHEAD_TEXT_MAX : 0) : 0;
    for (size_t i = 0; ahead && i < ahead->decoder_count; i++)
        bytes += ahead->decoders[i] ? ahead->codec->memory(ahead->decoders[i]) : 0;
    return bytes;
}

/* A unit with more text than its share of the buffer, or this many times as much as its stored bytes, is left to the
 * other reader. */
#define TIMES_MAX 64

static void decode_unit(const void *args, size_t task, int thread)
{
    struct ahead *ahead = *(struct ahead *const *)args;
    struct unit *unit = &ahead->units[task];
    const size_t most = smaller(ahead->text_max, TIMES_MAX * unit->in_bytes);
    assert((size_t)thread < ahead->decoder_count); /* the number of threads is set before inputs are opened */
    void **decoder = &ahead->decoders[thread];
    if (*decoder)
        ahead->codec->again(*decoder);
    else
        *decoder = ahead->codec->open();
    struct codec_step step = {unit->in, unit->in_bytes, NULL, 0};
    enum codec_result result = CODEC_MORE;
    buf_reset(&unit->text);
    while (result == CODEC_MORE && unit->text.size < most) {
        const size_t room = smaller(most - unit->text.size, unit->text.size + 4 * unit->in_bytes + 64),
                     left = step.in_bytes;
        buf_reserve(&unit->text, room);
        step.out = (uint8_t *)unit->text.data + unit->text.size;
        step.out_bytes = room;
        result = ahead->codec->step(*decoder, &step);
        unit->text.size += room - step.out_bytes;
        if (step.in_bytes == left && step.out_bytes == room)
            break;
    }
    unit->whole = result == CODEC_END && step.in_bytes == 0;
}

int ahead_make(struct ahead *ahead, struct file *file, uint64_t from, struct error *err)
{
    const int64_t got = file_read_at(file, ahead->in, AHEAD_STORED_MAX, from, err);
    TRY(got);
    size_t found = 0, bytes;
    assert(ahead->given == ahead->count); /* decoding again would overwrite text that nobody has seen */
    for (size_t at = 0; found < AHEAD_UNITS_MAX && ahead->codec->measure(ahead->in + at, (size_t)got - at, &bytes);) {
        struct unit *unit = &ahead->units[found++];
        unit->in = ahead->in + at;
        unit->in_bytes = bytes;
        at += bytes;
        assert(bytes > 0 && at <= (size_t)got);
    }
    ahead->count = ahead->given = 0;
    if (found < 2)
        return 0;
    ahead->text_max = AHEAD_TEXT_MAX / found;
    parallel(found, decode_unit, &ahead);
    while (ahead->count < found && ahead->units[ahead->count].whole)
        ahead->count++;
    return (int)ahead->count;
}

bool ahead_next(struct ahead *ahead, struct str *text, size_t *stored)
{
    if (!ahead || ahead->given == ahead->count)
        return false;
    const struct unit *unit = &ahead->units[ahead->given++];
    assert(unit->whole);
    *text = buf_str(&unit->text);
    *stored = unit->in_bytes;
    return true;
}
