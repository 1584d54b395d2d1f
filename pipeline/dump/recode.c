/* The decoder gives the same text for any division of its input, so where an error is seen, and how much text precedes
 * it, does not depend on how much a caller requests at once. */
#include "pipeline/dump/recode.h"

#include "base/mem.h"
#include "pipeline/dump/guess_encoding.h"

#include <assert.h>

#define IN_BYTES ((size_t)64 << 10)

struct recode {
    struct recode_options options;
    struct decoder *decoder;
    next_bytes_fn *read;
    void *context;
    struct buf in; /* the first in_taken bytes are consumed */
    size_t in_taken;
    uint64_t in_from;         /* offset of in.data[0] in what is read */
    bool at_end;              /* nothing follows `in` */
    char spare[DECODER_ROOM]; /* text that did not fit where it was wanted: [spare_taken, spare_size) of it is left */
    size_t spare_taken, spare_size;
};

int recode_open(struct recode **recode, const struct recode_options *options, struct str start, next_bytes_fn *read,
                void *context, struct error *err)
{
    struct decoder *decoder;
    TRY(decoder_open(&decoder, &options->encoding, err));
    *recode = mem_clear(1, sizeof **recode);
    **recode = (struct recode){.options = *options, .decoder = decoder, .read = read, .context = context};
    buf_reserve(&(*recode)->in, IN_BYTES);
    buf_add_str(&(*recode)->in, start);
    return 0;
}

void recode_close(struct recode *recode)
{
    if (!recode)
        return;
    decoder_close(recode->decoder);
    buf_release(&recode->in);
    mem_free(recode);
}

/* Adds what is read next to the incomplete character that is left. */
static int refill(struct recode *recode, struct error *err)
{
    const size_t left = recode->in.size - recode->in_taken;
    if (left > 0)
        memmove(recode->in.data, recode->in.data + recode->in_taken, left);
    recode->in_from += recode->in_taken;
    recode->in_taken = 0;
    recode->in.size = left;
    buf_reserve(&recode->in, IN_BYTES);
    const int64_t got = recode->read(recode->context, recode->in.data + left, IN_BYTES, err);
    TRY(got);
    recode->in.size += (size_t)got;
    recode->at_end = (size_t)got < IN_BYTES;
    return 0;
}

static int refuse(const struct recode *recode, struct error *err)
{
    const struct recode_options *options = &recode->options;
    return encoding_refuse(options->name, options->encoding.name, options->packed, recode->in_from + recode->in_taken,
                           err);
}

/* Decodes into out[0..bytes); *made is what was written. */
static enum decoder_result decode(struct recode *recode, char *out, size_t bytes, size_t *made)
{
    struct decoder_step step = {.in = (const uint8_t *)recode->in.data + recode->in_taken,
                                .in_bytes = recode->in.size - recode->in_taken,
                                .out = out,
                                .out_bytes = bytes,
                                .last = recode->at_end};
    const enum decoder_result result = decoder_step(recode->decoder, &step);
    recode->in_taken = recode->in.size - step.in_bytes;
    *made = bytes - step.out_bytes;
    return result;
}

int64_t recode_read(struct recode *recode, void *out, size_t bytes, struct error *err)
{
    size_t given = 0;
    while (given < bytes) {
        const size_t room = bytes - given, there = recode->spare_size - recode->spare_taken;
        const size_t part = there < room ? there : room;
        memcpy((char *)out + given, recode->spare + recode->spare_taken, part);
        recode->spare_taken += part;
        given += part;
        if (part > 0)
            continue;
        size_t made;
        enum decoder_result result;
        if (room >= DECODER_ROOM) {
            result = decode(recode, (char *)out + given, room, &made);
            given += made;
        } else {
            result = decode(recode, recode->spare, DECODER_ROOM, &made);
            recode->spare_taken = 0;
            recode->spare_size = made;
        }
        assert(result != DECODER_FULL || made > 0);
        if (result == DECODER_BAD && made == 0)
            return refuse(recode, err);
        if (result == DECODER_MORE && recode->at_end && made == 0)
            break;
        if (result == DECODER_MORE && !recode->at_end)
            TRY(refill(recode, err));
    }
    return (int64_t)given;
}
