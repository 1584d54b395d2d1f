/* A record is a line, or the lines up to a number of blank ones. Inside a document only line ends matter. */
#include "pipeline/dump/cutter.h"

#include <string.h>

#define BLANK_LINE (1u << 16) /* pages.match counts the blank lines before an open document's line in units of this */

static bool is_blank(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static size_t blanks_at(const char *from, const char *to)
{
    const char *at = from;
    while (at < to && is_blank(*at))
        at++;
    return (size_t)(at - from);
}

/* Without trailing ASCII blanks, and without a last line that is blank. */
static struct str without_blank_end(struct str text)
{
    for (size_t size = SIZE_MAX; size != text.size;) {
        size = text.size;
        while (text.size > 0 && is_blank(text.data[text.size - 1]))
            text.size--;
        const char *newline = text.size > 0 ? memrchr(text.data, '\n', text.size) : NULL;
        const struct str line = str_range(newline ? newline : text.data, text.data + text.size);
        if (str_is_blank(line))
            text.size -= line.size;
    }
    return text;
}

/* Ends the record. If all of it is blank, there is none. */
static void lines_end(struct cutter *cutter)
{
    struct buf *text = &cutter->group.text;
    const size_t from = cutter->record_from, size = cutter->skip ? 0 : text->size - from;
    const size_t kept = cutter->skip ? 0 : without_blank_end((struct str){text->data + from, size}).size;
    cutter->match = 0;
    if (cutter->skip || kept > 0) {
        record_end(cutter, size - kept);
        return;
    }
    text->size = from;
    cutter->open = false;
}

static size_t feed_lines(struct cutter *cutter, struct str text, struct group *out, bool *full)
{
    const char *at = text.data, *end = text.data + text.size, *from = at;
    while (at < end) {
        if (!cutter->open) {
            if (cutter->match > 0) {
                cutter->match--;
                at++;
                continue;
            }
            at += blanks_at(at, end);
            if (at == end)
                break;
            from = at;
            *full = record_begin(cutter, cutter->window, (uint64_t)(at - text.data), out);
            cutter->match = BLANK_SO_FAR;
            if (*full)
                return (size_t)(at - text.data);
        }
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const unsigned state = utf8_blank(cutter->match % BLANK_LINE, str_range(at, newline ? newline : end));
        unsigned blank_lines = cutter->match / BLANK_LINE;
        at = newline ? newline + 1 : end;
        cutter->match = state + blank_lines * BLANK_LINE;
        if (!newline)
            break;
        blank_lines = state == BLANK_SO_FAR ? blank_lines + 1 : 0;
        if (cutter->blank_lines == 0 || blank_lines == cutter->blank_lines) {
            record_add(cutter, str_range(from, at));
            lines_end(cutter);
        } else {
            cutter->match = BLANK_SO_FAR + (cutter->blank_lines == WHOLE_FILE ? 0 : blank_lines * BLANK_LINE);
        }
    }
    if (cutter->open)
        record_add(cutter, str_range(from, at));
    return text.size;
}

static bool is_match(const struct cutter *cutter, const struct dump_state *state)
{
    return cutter->open ? state->match / BLANK_LINE <= cutter->blank_lines : state->match < 4;
}

const struct record_cut cut_lines = {.feed = feed_lines, .end = lines_end, .is_match = is_match};
