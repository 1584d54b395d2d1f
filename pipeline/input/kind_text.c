/* Plain text: a record is a document, whose lines have a form (--text-form, inputs_form.h). */
#include "pipeline/dump/plain_text.h"
#include "pipeline/input/article_reader.h"
#include "pipeline/input/gutenberg.h"
#include "pipeline/input/input_kind.h"

#include <string.h>

/* A record of text with U+FFFD for bytes that are not UTF-8, and without NUL bytes. */
static struct str well_formed(struct article_reader *reader, struct str bytes, struct article *article)
{
    const bool nul = memchr(bytes.data, 0, bytes.size), ill_formed = !utf8_valid(bytes);
    struct buf *mended = &reader->mended;
    if (!nul && !ill_formed)
        return bytes;
    article->repairs |= (uint32_t)ill_formed << REPAIR_ENCODING | (uint32_t)nul << REPAIR_NUL;
    buf_reset(mended);
    utf8_replace(bytes, mended);
    size_t size = 0;
    for (size_t at = 0; at < mended->size; at++)
        if (mended->data[at])
            mended->data[size++] = mended->data[at];
    return (struct str){mended->data, size};
}

static enum page_fate read(struct article_reader *reader, const struct article_options *options, struct str record,
                           struct article *article)
{
    struct str text = well_formed(reader, record, article);
    if (options->form == FORM_FILE) {
        const struct str framed = text;
        text = gutenberg_text(framed);
        article->repairs |= (uint32_t)(text.size < framed.size) << REPAIR_FRAME;
    }
    return article_read_lines(reader, text, options->wrapped, article);
}

static void probe(struct str lines, bool whole, const struct language *language, const char *text_key,
                  struct probe *probe)
{
    (void)text_key;
    text_layout_read(lines, whole, language, &probe->layout);
}

const struct input_kind text_kind = {.records = {.called = "text",
                                                 .readable = "plain text",
                                                 .refused = "is not text",
                                                 .recognise = plain_text_recognise,
                                                 .check = plain_text_check,
                                                 .plain = true,
                                                 .strict_utf8 = true,
                                                 .cut = &cut_lines},
                                     .name = "text",
                                     .one = "plain text",
                                     .extensions = (const char *const[]){".txt", NULL},
                                     .options = (const char *const[]){"text-form", NULL},
                                     .bytes_per_piece = 4,
                                     .read = read,
                                     .probe = probe};
