#include "pipeline/text/paragraphs.h"

#include "pipeline/text/tidy.h"
#include "pipeline/text/words/word_lists.h"

#include <assert.h>

#define PROSE_WORDS_MIN 8u /* a list item with fewer words does not count as a sentence */

void paragraph_begin(struct paragraphs *paragraphs, enum paragraph_kind kind)
{
    assert(!paragraphs->is_open && paragraphs->captions.size == 0);
    paragraphs->is_open = true;
    paragraphs->has_gap = false;
    paragraphs->kind = kind;
    paragraphs->start = paragraphs->out->size;
}

void paragraph_blank(struct paragraphs *paragraphs)
{
    struct buf *out = paragraphs->out;
    if (out->size > paragraphs->start && out->data[out->size - 1] != ' ')
        buf_add_byte(out, ' ');
}

void paragraph_gap(struct paragraphs *paragraphs, char gap)
{
    struct buf *out = paragraphs->out;
    paragraphs->has_gap = true;
    if (out->size == paragraphs->start || !is_gap(out->data[out->size - 1]))
        buf_add_byte(out, gap);
    else if (gap == GAP)
        out->data[out->size - 1] = GAP;
}

static bool is_nothing(char byte)
{
    return byte == ' ' || byte == '\t' || is_gap(byte);
}

bool paragraph_is_empty(const struct paragraphs *paragraphs, size_t from)
{
    const struct buf *out = paragraphs->out;
    for (size_t at = from; at < out->size; at++)
        if (!is_nothing(out->data[at]))
            return false;
    return true;
}

static const struct words stops = WORDS(".", "!", "?", "。", "।", "！", "？", "؟", "۔", "։", "።", "།");
static const struct words closings = WORDS("\"", "'", ")", "]", "”", "’", "“", "»", "」", "』", "）");

bool paragraph_text_stops(struct str text)
{
    for (size_t size; (size = words_ending(closings, text)) > 0;)
        text.size -= size;
    return words_ending(stops, text) > 0;
}

/* True if it ends like a sentence (a bracket or quotation mark may follow the mark) and has enough words; in scripts
 * without blanks, letters count. The share of links makes no difference: of items that end like this, those full of
 * links are sentences too. */
static bool reads_as_sentence(struct str text)
{
    if (!paragraph_text_stops(text))
        return false;
    size_t words = 0;
    for (size_t at = 0; at < text.size && words < PROSE_WORDS_MIN; at++) {
        const unsigned char byte = (unsigned char)text.data[at];
        const bool begins = at == 0 || text.data[at - 1] == ' ';
        const bool is_wide = byte >= 0xE3 && byte <= 0xED; /* U+3000 to U+DFFF: kana, ideographs, Hangul */
        words += (begins && byte != ' ') || is_wide;
    }
    return words >= PROSE_WORDS_MIN;
}

static bool is_letter(char byte)
{
    return (unsigned char)byte >= 0x80 || ascii_is_digit(byte) || ascii_is_letter(byte);
}

/* True if there are letters or digits of any script. What is left of a line of removed templates has none. */
static bool has_letters(struct str text)
{
    for (size_t at = 0; at < text.size; at++)
        if (is_letter(text.data[at]))
            return true;
    return false;
}

bool paragraph_words(struct paragraphs *paragraphs, size_t from, size_t *first, size_t *last)
{
    const struct buf *out = paragraphs->out;
    *first = from;
    *last = out->size;
    paragraphs->steps += out->size - from;
    while (*first < out->size && !is_letter(out->data[*first]))
        ++*first;
    while (*last > *first && !is_letter(out->data[*last - 1]))
        --*last;
    return (*last)-- > *first;
}

bool paragraph_stops(const struct paragraphs *paragraphs, size_t from, size_t at)
{
    struct str before = {paragraphs->out->data + from, at - from};
    while (before.size > 0 && is_gap(before.data[before.size - 1]))
        before.size--;
    return paragraph_text_stops(before);
}

static bool wants(const struct paragraphs *paragraphs, struct str text)
{
    switch (paragraphs->kind) {
    case PARAGRAPH_HEADING:
        return paragraphs->keep & KEEP_HEADINGS;
    case PARAGRAPH_ITEM:
        return paragraphs->keep & KEEP_LISTS || (paragraphs->keep & KEEP_PROSE_LISTS && reads_as_sentence(text));
    case PARAGRAPH_PRE:
        return paragraphs->keep & KEEP_PRE;
    default:
        return true;
    }
}

static size_t count_gaps(struct str text)
{
    size_t gaps = 0;
    for (size_t at = 0; at < text.size; at++)
        gaps += is_gap(text.data[at]);
    return gaps;
}

/* Tidies and trims `out` after `from`; the view is empty if nothing is left. */
static struct str finish(struct paragraphs *paragraphs, size_t from, bool has_gap)
{
    struct buf *out = paragraphs->out;
    assert(paragraphs->start <= from && from <= out->size);
    size_t size = out->size - from;
    paragraphs->mended = SIZE_MAX;
    paragraphs->steps += 3 * size;
    if (size == 0)
        return STR("");
    if (has_gap) {
        size -= count_gaps((struct str){out->data + from, size});
        out->size = from + tidy(out->data + from, out->size - from, &paragraphs->steps);
    }
    const struct str text = str_trim(str_from(buf_str(out), from));
    if (text.size == 0 || (has_gap && !has_letters(text)))
        return STR("");
    memmove(out->data + from, text.data, text.size);
    out->size = from + text.size;
    paragraphs->mended = size > text.size ? size - text.size : 0;
    return (struct str){out->data + from, text.size};
}

bool paragraph_end(struct paragraphs *paragraphs)
{
    if (!paragraphs->is_open)
        return true;
    struct buf *out = paragraphs->out;
    const struct str text = finish(paragraphs, paragraphs->start, paragraphs->has_gap);
    const bool wanted = text.size == 0 || wants(paragraphs, text);
    if (text.size > 0 && wanted)
        buf_add_byte(out, '\n');
    else
        out->size = paragraphs->start;
    buf_add_str(out, buf_str(&paragraphs->captions));
    buf_reset(&paragraphs->captions);
    paragraphs->is_open = false;
    paragraphs->start = out->size;
    return wanted;
}

void paragraph_cut_caption(struct paragraphs *paragraphs, size_t from)
{
    struct buf *out = paragraphs->out;
    const struct str caption = finish(paragraphs, from, true);
    if (caption.size > 0) {
        buf_add_str(&paragraphs->captions, caption);
        buf_add_byte(&paragraphs->captions, '\n');
    }
    out->size = from;
}
