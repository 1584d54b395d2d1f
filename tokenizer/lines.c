/* Comes in: lines. Goes out: their ids as text. */
#include "tokenizer/lines.h"

static void add_number(struct buf *out, uint32_t number)
{
    char digits[10];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    buf_add(out, digits + at, sizeof digits - at);
}

static void add_ids(struct buf *out, const struct ids *ids, char between)
{
    for (size_t i = 0; i < ids->count; i++) {
        if (i)
            buf_add_byte(out, between);
        add_number(out, ids->data[i]);
    }
}

static void add_pieces(struct buf *out, const struct ids *ids, const struct vocab *vocab)
{
    for (size_t i = 0; i < ids->count; i++) {
        if (i)
            buf_add_byte(out, ' ');
        buf_add_str(out, vocab->pieces[ids->data[i]]);
    }
}

/* A JSON string (RFC 8259) of well-formed UTF-8. */
static void add_string(struct buf *out, struct str text)
{
    buf_add_byte(out, '"');
    for (size_t i = 0; i < text.size; i++) {
        const char byte = text.data[i];
        if ((unsigned char)byte < 0x20) {
            buf_addf(out, "\\u%04x", byte);
            continue;
        }
        if (byte == '"' || byte == '\\')
            buf_add_byte(out, '\\');
        buf_add_byte(out, byte);
    }
    buf_add_byte(out, '"');
}

static void add_json(struct buf *out, const struct ids *ids, const struct vocab *vocab)
{
    buf_add_text(out, "{\"ids\":[");
    add_ids(out, ids, ',');
    buf_add_text(out, "],\"pieces\":[");
    for (size_t i = 0; i < ids->count; i++) {
        if (i)
            buf_add_byte(out, ',');
        add_string(out, vocab->pieces[ids->data[i]]);
    }
    buf_add_text(out, "]}");
}

void lines_tokenize(struct tokenizer_state *state, const struct vocab *vocab, const struct lines_options *options,
                    struct str text, struct ids *ids, struct buf *out)
{
    const char *const end = text.data + text.size;
    for (const char *at = text.data; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *const line_end = newline ? newline : end;
        ids->count = 0;
        if (options->special)
            ids_add(ids, vocab->cls);
        tokenizer_ids(state, str_range(at, line_end), ids);
        if (options->special)
            ids_add(ids, vocab->sep);
        switch (options->format) {
        case LINES_IDS:
            add_ids(out, ids, ' ');
            break;
        case LINES_PIECES:
            add_pieces(out, ids, vocab);
            break;
        case LINES_JSON:
            add_json(out, ids, vocab);
            break;
        }
        buf_add_byte(out, '\n');
        at = newline ? newline + 1 : end;
    }
}
