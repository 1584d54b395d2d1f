/* The decoder always works from one buffer of fixed size into another, so that where an error is seen, and how much
 * text precedes it, does not depend on how much a caller requests at once. */
#include "pipeline/dump/unpack.h"

#include "base/mem.h"
#include "pipeline/dump/ahead.h"

#include <assert.h>
#include <inttypes.h>

#define IN_BYTES    ((size_t)128 << 10)
#define OUT_BYTES   ((size_t)256 << 10)
#define PROBE_BYTES ((size_t)256 << 10) /* this much text decoded after damage is no accident */

#define DAMAGE_HINT                                                                                                    \
    "compare the file with the checksum published beside it; if they differ, download it again, or leave out what is " \
    "damaged with --salvage"

struct unpack {
    struct unpack_options options;
    const struct codec *codec;
    void *decoder;
    struct ahead *ahead; /* NULL: a stream, or units that do not tell their size */
    uint64_t alone_to;   /* up to this byte of the file, units are decoded one by one */
    struct file *file;   /* NULL: a stream, which `next` gives */
    next_bytes_fn *next;
    void *context;
    bool inside;   /* inside a unit */
    bool ended;    /* there is no more text */
    bool at_end;   /* the file was read to its end */
    struct buf in; /* bytes of the file; the first in_taken are consumed */
    size_t in_taken;
    uint64_t in_from;   /* offset of in.data[0] in the file */
    uint64_t unit_from; /* where the unit begins */
    uint8_t *out;       /* [OUT_BYTES] */
    const char *given;  /* text to give: `out`, or a unit of `ahead`; [given_taken, given_size) of it are left */
    size_t given_taken, given_size;
    uint64_t made;                                /* bytes of text so far, given or not */
    uint64_t stretch, stretch_from, stretch_made; /* the current stretch of the file, where it begins, its text so
                                                   * far */
    struct gap *gaps;
    size_t gap_count;
};

struct unpack *unpack_open(const struct unpack_options *options, struct file *file, next_bytes_fn *next, void *context,
                           struct str start)
{
    struct unpack *unpack = mem_clear(1, sizeof *unpack);
    unpack->options = *options;
    unpack->codec = codec_of(options->container);
    unpack->decoder = unpack->codec->open();
    unpack->file = file;
    unpack->next = next;
    unpack->context = context;
    unpack->ahead = file ? ahead_open(unpack->codec) : NULL;
    unpack->out = mem_array(OUT_BYTES, 1);
    buf_add_str(&unpack->in, start);
    return unpack;
}

void unpack_close(struct unpack *unpack)
{
    if (!unpack)
        return;
    unpack->codec->close(unpack->decoder);
    ahead_close(unpack->ahead);
    buf_release(&unpack->in);
    mem_free(unpack->out);
    mem_free(unpack->gaps);
    mem_free(unpack);
}

const struct gap *unpack_gaps(const struct unpack *unpack, size_t *count)
{
    *count = unpack->gap_count;
    return unpack->gaps;
}

size_t unpack_memory(const struct unpack *unpack)
{
    return unpack->codec->memory(unpack->decoder) + IN_BYTES + OUT_BYTES + ahead_memory(unpack->ahead);
}

uint64_t unpack_stored(const struct unpack *unpack)
{
    return unpack->in_from + unpack->in_taken;
}

/* Reads on if fewer than `bytes` are left in the buffer. */
static int refill(struct unpack *unpack, size_t bytes, struct error *err)
{
    if (unpack->at_end || unpack->in.size - unpack->in_taken >= bytes)
        return 0;
    const size_t left = unpack->in.size - unpack->in_taken;
    assert(unpack->in_taken <= unpack->in.size && left < IN_BYTES);
    if (left > 0)
        memmove(unpack->in.data, unpack->in.data + unpack->in_taken, left);
    unpack->in_from += unpack->in_taken;
    unpack->in_taken = 0;
    unpack->in.size = left;
    buf_reserve(&unpack->in, IN_BYTES);
    const int64_t got =
        unpack->file ? file_read_at(unpack->file, unpack->in.data + left, IN_BYTES - left, unpack->in_from + left, err)
                     : unpack->next(unpack->context, unpack->in.data + left, IN_BYTES - left, err);
    TRY(got);
    unpack->in.size += (size_t)got;
    unpack->at_end = (size_t)got < IN_BYTES - left;
    return 0;
}

/* ---------------------------------------------------------------------------------------------------- salvage */

/* True if a unit that can be decoded for a while begins at `from`, whose first bytes look like one. */
static int probe(struct unpack *unpack, uint64_t from, struct error *err)
{
    void *decoder = unpack->codec->open();
    SCOPED(mem_free_at) uint8_t *in = mem_array(IN_BYTES, 1), *out = mem_array(PROBE_BYTES, 1);
    size_t made = 0;
    int64_t got = (int64_t)IN_BYTES;
    enum codec_result result = CODEC_MORE;
    while (result == CODEC_MORE && made < PROBE_BYTES && got == (int64_t)IN_BYTES) {
        got = file_read_at(unpack->file, in, IN_BYTES, from, err);
        if (got < 0)
            break;
        struct codec_step step = {in, (size_t)got, out + made, PROBE_BYTES - made};
        do
            result = unpack->codec->step(decoder, &step);
        while (result == CODEC_MORE && step.in_bytes > 0 && step.out_bytes > 0);
        made = PROBE_BYTES - step.out_bytes;
        from += (uint64_t)got;
    }
    unpack->codec->close(decoder);
    return got < 0 ? -1 : result == CODEC_END || (result == CODEC_MORE && made > 0);
}

/* Finds the first unit from `from` on that can be decoded. 1; 0: there is none; < 0. */
static int find_unit(struct unpack *unpack, uint64_t from, uint64_t *found, struct error *err)
{
    SCOPED(mem_free_at) uint8_t *bytes = mem_array(IN_BYTES, 1);
    int result = 0;
    for (bool last = false; !last && result == 0;) {
        const int64_t got = file_read_at(unpack->file, bytes, IN_BYTES, from, err);
        last = got < (int64_t)IN_BYTES;
        result = got < 0 ? -1 : 0;
        size_t at = 0;
        for (; result == 0 && (int64_t)(at + unpack->codec->magic_bytes) <= got; at++) {
            if (!unpack->codec->begins(bytes + at, unpack->codec->magic_bytes))
                continue;
            result = probe(unpack, *found = from + at, err);
        }
        from += at;
    }
    return result;
}

static void gap_add(struct unpack *unpack, uint64_t bytes)
{
    assert(unpack->gap_count == 0 || unpack->gaps[unpack->gap_count - 1].at <= unpack->made);
    unpack->gaps = mem_grow(unpack->gaps, unpack->gap_count + 1, sizeof *unpack->gaps);
    unpack->gaps[unpack->gap_count++] = (struct gap){unpack->made, bytes};
}

/* Continues after damage. A misled decoder may have run past the beginning of the next unit, so the search starts at
 * the beginning of the damaged one. A stream cannot be read again, so its text ends here. */
static int pass_over(struct unpack *unpack, struct error *err)
{
    const uint64_t at = unpack_stored(unpack);
    uint64_t found = at;
    *err = (struct error){0};
    const int more = unpack->file ? find_unit(unpack, unpack->unit_from + 1, &found, err) : 0;
    TRY(more);
    if (!more) {
        struct error ignored;
        const int64_t bytes = unpack->file ? file_size(unpack->file, &ignored) : -1;
        gap_add(unpack, bytes > (int64_t)at ? (uint64_t)bytes - at : 0);
        unpack->ended = true;
        return 0;
    }
    gap_add(unpack, found > at ? found - at : 0);
    unpack->in_from = found;
    unpack->in.size = unpack->in_taken = 0;
    unpack->at_end = unpack->inside = false;
    return 0;
}

/* *err says what is damaged. With salvage, skips it. */
static int refuse(struct unpack *unpack, struct error *err)
{
    hint(err, DAMAGE_HINT);
    return unpack->options.salvage ? pass_over(unpack, err) : -1;
}

/* ----------------------------------------------------------------------------------------------------- decode */

static int truncated(struct unpack *unpack, struct error *err)
{
    fail_at(err, ERR_INPUT, unpack->options.name, unpack->in_from + unpack->in.size,
            "the file is truncated: it ends inside the %s %s that begins at byte %" PRIu64, unpack->codec->name,
            unpack->codec->unit, unpack->unit_from);
    unpack->in_taken = unpack->in.size;
    return refuse(unpack, err);
}

/* Between units: another begins, or the file ends. */
static int begin_unit(struct unpack *unpack, struct error *err)
{
    const uint8_t *bytes = (const uint8_t *)unpack->in.data + unpack->in_taken;
    const size_t left = unpack->in.size - unpack->in_taken;
    if (left == 0) {
        unpack->ended = true;
        return 0;
    }
    if (unpack->codec->padded && unpack_stored(unpack) > 0 && bytes[0] == 0) {
        unpack->in_taken++;
        return 0;
    }
    unpack->unit_from = unpack_stored(unpack);
    if (unpack->ahead && unpack->unit_from >= unpack->alone_to) {
        const int made = ahead_make(unpack->ahead, unpack->file, unpack->unit_from, err);
        TRY(made);
        if (made > 0)
            return 0;
        unpack->alone_to = unpack->unit_from + AHEAD_STORED_MAX;
    }
    if (!unpack->codec->begins(bytes, left)) {
        fail_at(err, ERR_INPUT, unpack->options.name, unpack->unit_from,
                unpack->unit_from > 0 ? "the %s data end here, but other bytes follow"
                                      : "damaged: it begins like a %s file, but is not one",
                unpack->codec->name);
        return refuse(unpack, err);
    }
    if (left < unpack->codec->magic_bytes)
        return truncated(unpack, err);
    unpack->codec->again(unpack->decoder);
    unpack->inside = true;
    return 0;
}

int unpack_check_ratio(const struct unpack_options *options, uint64_t at, uint64_t bytes, uint64_t made,
                       struct error *err)
{
    const uint64_t ratio = made / (bytes ? bytes : 1);
    uint64_t allows = options->ratio_max;
    char text[32], times[32], compressed[32];
    if (made <= options->ratio_text_min || ratio <= options->ratio_max)
        return 0;
    while (allows / 2 < ratio && allows < UINT64_MAX / 10) /* leave room: the ratio may rise further */
        allows *= 10;
    fail_at(err, ERR_UNSAFE, options->name, at, "%s before here decompress to %s, %s times as much",
            format_bytes(bytes, compressed), format_bytes(made, text), format_count(ratio, times));
    return hint(err, "perhaps a decompression bomb; if you trust it: --max-ratio %" PRIu64, allows);
}

static int refuse_large(const struct unpack *unpack, struct error *err)
{
    char most[32];
    fail_at(err, ERR_UNSAFE, unpack->options.name, unpack->unit_from,
            "the %s %s that begins here needs more than %s of memory to be decoded", unpack->codec->name,
            unpack->codec->unit, format_bytes(CODEC_BYTES_MAX, most));
    return hint(err, unpack->options.container == CONTAINER_ZSTD
                         ? "if you trust it: zstd -dc --long=31 FILE | dsdata build - --out D"
                         : "if you trust it: xz -dc FILE | dsdata build - --out D");
}

/* Counts `bytes` of text made from the file at `at`; they belong to the stretch where `at` is. */
static int count_text(struct unpack *unpack, uint64_t at, size_t bytes, struct error *err)
{
    if (at / RATIO_STRETCH != unpack->stretch) {
        unpack->stretch = at / RATIO_STRETCH;
        unpack->stretch_from = at;
        unpack->stretch_made = 0;
    }
    unpack->made += bytes;
    unpack->stretch_made += bytes;
    const uint64_t now = unpack_stored(unpack);
    return unpack_check_ratio(&unpack->options, now, now > unpack->stretch_from ? now - unpack->stretch_from : 0,
                              unpack->stretch_made, err);
}

/* Gives the next unit that was decoded ahead. */
static int take_ahead(struct unpack *unpack, struct str text, size_t stored, struct error *err)
{
    const uint64_t at = unpack_stored(unpack);
    assert(!unpack->inside && unpack->given_size == 0); /* units come whole, and the text before was given */
    unpack->in_from = at + stored;
    unpack->in.size = unpack->in_taken = 0;
    unpack->at_end = false;
    unpack->given = text.data;
    unpack->given_size = text.size;
    return count_text(unpack, at, text.size, err);
}

/* One step of the decoder, within one stretch of the file. */
static int decode(struct unpack *unpack, struct error *err)
{
    const uint64_t at = unpack_stored(unpack), stretch = at / RATIO_STRETCH;
    const size_t left = unpack->in.size - unpack->in_taken;
    const uint64_t room = (stretch + 1) * RATIO_STRETCH - at;
    struct codec_step step = {(const uint8_t *)unpack->in.data + unpack->in_taken, left < room ? left : (size_t)room,
                              unpack->out, OUT_BYTES};
    const size_t offered = step.in_bytes;
    const enum codec_result result = unpack->codec->step(unpack->decoder, &step);
    assert(step.in_bytes <= offered && step.out_bytes <= OUT_BYTES); /* a library kept to its buffers */
    unpack->in_taken += offered - step.in_bytes;
    unpack->given = (const char *)unpack->out;
    unpack->given_size = OUT_BYTES - step.out_bytes;
    TRY(count_text(unpack, at, unpack->given_size, err));
    switch (result) {
    case CODEC_END:
        unpack->inside = false;
        return 0;
    case CODEC_DAMAGED:
        fail_at(err, ERR_INPUT, unpack->options.name, unpack_stored(unpack),
                "damaged: the %s %s that begins at byte %" PRIu64
                " cannot be decoded further, or its checksum does not "
                "match",
                unpack->codec->name, unpack->codec->unit, unpack->unit_from);
        return refuse(unpack, err);
    case CODEC_LARGE:
        return refuse_large(unpack, err);
    case CODEC_MORE:
        break;
    }
    const bool moved = unpack->given_size > 0 || step.in_bytes < offered;
    return !moved && unpack->at_end ? truncated(unpack, err) : 0;
}

int64_t unpack_read(struct unpack *unpack, void *out, size_t bytes, struct error *err)
{
    size_t given = 0;
    while (given < bytes) {
        const size_t there = unpack->given_size - unpack->given_taken;
        const size_t part = there < bytes - given ? there : bytes - given;
        struct str text;
        size_t stored;
        if (part > 0)
            memcpy((char *)out + given, unpack->given + unpack->given_taken, part);
        unpack->given_taken += part;
        given += part;
        if (part > 0)
            continue;
        if (unpack->ended)
            break;
        unpack->given_taken = unpack->given_size = 0;
        if (ahead_next(unpack->ahead, &text, &stored)) {
            TRY(take_ahead(unpack, text, stored, err));
            continue;
        }
        TRY(refill(unpack, unpack->inside ? 1 : MAGIC_BYTES_MAX, err));
        TRY(unpack->inside ? decode(unpack, err) : begin_unit(unpack, err));
    }
    assert(given == bytes || unpack->ended); /* callers take fewer bytes for the end */
    return (int64_t)given;
}
