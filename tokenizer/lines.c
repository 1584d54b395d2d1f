/* Tokenizes lines and formats their ids or pieces as text. */
#include "tokenizer/lines.h"

#include <inttypes.h>
#include <stdio.h>

/* The decimal text of an id. */
struct decimal {
    char digits[7];
    uint8_t count;
};
_Static_assert(VOCAB_PIECES_MAX < 10000000, "an id has at most seven digits");

struct lines {
    const struct vocab *vocab;
    struct lines_options options;
    struct decimal *decimals; /* [vocab->count] */
};

struct lines *lines_open(const struct vocab *vocab, const struct lines_options *options)
{
    struct lines *lines = mem_clear(1, sizeof *lines);
    lines->vocab = vocab;
    lines->options = *options;
    lines->decimals = mem_array(vocab->count, sizeof *lines->decimals);
    for (uint32_t id = 0; id < vocab->count; id++) {
        char text[16] = {0};
        lines->decimals[id].count = (uint8_t)snprintf(text, sizeof text, "%" PRIu32, id);
        memcpy(lines->decimals[id].digits, text, sizeof lines->decimals[id].digits);
    }
    return lines;
}

void lines_close(struct lines *lines)
{
    if (!lines)
        return;
    mem_free(lines->decimals);
    mem_free(lines);
}

static void add_ids(const struct lines *lines, const struct ids *ids, char between, struct buf *out)
{
    buf_reserve(out, 1 + (1 + sizeof(struct decimal)) * ids->count);
    char *to = out->data + out->size;
    for (size_t i = 0; i < ids->count; i++) {
        const struct decimal *decimal = &lines->decimals[ids->data[i]];
        *to = between;
        to += i > 0;
        memcpy(to, decimal, sizeof *decimal);
        to += decimal->count;
    }
    out->size = (size_t)(to - out->data);
}

static void add_pieces(const struct lines *lines, const struct ids *ids, struct buf *out)
{
    for (size_t i = 0; i < ids->count; i++) {
        if (i)
            buf_add_byte(out, ' ');
        buf_add_str(out, lines->vocab->pieces[ids->data[i]]);
    }
}

static void add_json(const struct lines *lines, const struct ids *ids, struct buf *out)
{
    buf_add_text(out, "{\"ids\":[");
    add_ids(lines, ids, ',', out);
    buf_add_text(out, "],\"pieces\":[");
    for (size_t i = 0; i < ids->count; i++) {
        if (i)
            buf_add_byte(out, ',');
        buf_add_json(out, lines->vocab->pieces[ids->data[i]]);
    }
    buf_add_text(out, "]}");
}

void lines_tokenize(const struct lines *lines, struct tokenizer_state *state, struct str text, struct ids *ids,
                    struct buf *out)
{
    const struct vocab *vocab = lines->vocab;
    const char *const end = text.data + text.size;
    for (const char *at = text.data; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *const line_end = newline ? newline : end;
        ids->count = 0;
        for (size_t i = 0; lines->options.special && i < vocab->before.count; i++)
            ids_add(ids, vocab->before.ids[i]);
        tokenizer_ids(state, str_range(at, line_end), ids);
        for (size_t i = 0; lines->options.special && i < vocab->after.count; i++)
            ids_add(ids, vocab->after.ids[i]);
        switch (lines->options.format) {
        case LINES_IDS:
            add_ids(lines, ids, ' ', out);
            break;
        case LINES_PIECES:
            add_pieces(lines, ids, out);
            break;
        case LINES_JSON:
            add_json(lines, ids, out);
            break;
        }
        buf_add_byte(out, '\n');
        at = newline ? newline + 1 : end;
    }
}
