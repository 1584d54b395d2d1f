// room: pipeline
// bytes: 4096
/* In: an encoding, how the input is divided, and bytes of a text. Held: what a decoder gives is well-formed, ends at
 * the same place and is the same for any division; so is the verdict on UTF-8, which is utf8_valid's; the guess is an
 * encoding that exists, and whether the text is prose has an answer. */
#include "tests/fuzz/fuzz.h"

#include "pipeline/dump/encodings.h"
#include "pipeline/dump/guess_encoding.h"
#include "pipeline/dump/structured.h"
#include "pipeline/dump/well_formed.h"

static const char *const names[] = {"utf-16",       "utf-16le", "utf-16be", "utf-32",    "utf-32be", "windows-1252",
                                    "windows-1255", "koi8-r",   "gb18030",  "shift_jis", "euc-kr",   "big5"};

/* Decodes in parts of `step` bytes (0: whole) with `room` bytes of output at a time. Returns where it stopped. */
static size_t decode(const char *name, struct str text, size_t step, size_t room, struct buf *out)
{
    struct encoding encoding;
    struct decoder *decoder;
    struct error err;
    char made[64];
    const bool found = encoding_find(name, &encoding);
    assert(found);
    if (decoder_open(&decoder, &encoding, &err) < 0)
        return 0; /* a system without this encoding */
    size_t at = 0, end = step ? 0 : text.size;
    enum decoder_result result = DECODER_MORE;
    while (result != DECODER_BAD) {
        end = end + step < text.size ? end + step : text.size;
        do {
            struct decoder_step part = {(const uint8_t *)text.data + at, end - at, made, room, end == text.size};
            result = decoder_step(decoder, &part);
            assert(part.out_bytes <= room && part.in_bytes <= end - at);
            at = end - part.in_bytes;
            buf_add(out, made, room - part.out_bytes);
        } while (result == DECODER_FULL);
        if (end == text.size)
            break;
    }
    decoder_close(decoder);
    return at;
}

static void check_utf8(struct str text, size_t step)
{
    struct well_formed state = {0};
    uint64_t bad = 0, expected = 0;
    unsigned skip;
    bool good = true;
    for (size_t at = 0; good && at < text.size; at += step)
        good =
            well_formed_feed(&state, (struct str){text.data + at, text.size - at < step ? text.size - at : step}, &bad);
    good = good && well_formed_end(&state, &bad);
    assert(good == utf8_valid(text));
    expected = utf8_good(text, &skip);
    assert(good || bad == expected);
}

int fuzz_input(const uint8_t *data, size_t size)
{
    const char *name = names[take_byte(&data, &size) % (sizeof names / sizeof *names)];
    const size_t step = 1 + take_byte(&data, &size), room = DECODER_ROOM + take_byte(&data, &size) % 48;
    const struct str text = as_str(data, size);
    SCOPED(buf_release) struct buf whole = {0}, parts = {0};
    struct encoding encoding;
    if (size == 0)
        return 0;
    const size_t stopped = decode(name, text, 0, 64, &whole);
    const size_t again = decode(name, text, step, room, &parts);
    assert(stopped == again && str_equal(buf_str(&whole), buf_str(&parts)));
    assert(utf8_valid(buf_str(&whole)));
    check_utf8(text, step);
    if (step % 8 == 0) { /* it takes a hundred times as long as the rest */
        const struct encoding_guess guess = encoding_guess(text);
        assert(!guess.encoding || encoding_find(guess.encoding, &encoding));
    }
    const struct structured *form = structured_find(text);
    assert(!form || form->name);
    structured_zip(text);
    return 0;
}
