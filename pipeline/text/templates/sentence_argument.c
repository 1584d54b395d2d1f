/* A template without a rendering whose only argument is a sentence or a list: a person wrote it to be read. Not if its
 * name says note, source, box or banner in any language. */
#include "pipeline/text/templates/call.h"
#include "pipeline/text/words/links.h"

#define SENTENCE_WORDS_MIN 8u
#define NAMED_WORDS_MAX    3u /* of an argument with a name: a date, a code */

/* The words, in tenths, outside spans of page[from, to): text between blanks is a word, and so is a link; in scripts
 * without blanks, two ideographs or five letters of Thai, Lao, Burmese and Khmer are one. */
static unsigned count_words(struct call *call, uint32_t from, uint32_t to, uint32_t child)
{
    const unsigned char *text = (const unsigned char *)call->page->text.data;
    unsigned tenths = 0;
    bool in_word = false;
    for (uint32_t at = from; at < to && tenths < 10 * SENTENCE_WORDS_MIN; call->steps++) {
        const struct span *span = spans_at(call->page->spans, &child, at);
        if (span) {
            tenths += span->kind == SPAN_LINK && !in_word ? 10 : 0;
            in_word |= span->kind == SPAN_LINK;
            at = span->end;
            continue;
        }
        const unsigned char byte = text[at++];
        const unsigned char second = at < to ? text[at] : 0;
        const bool is_wide = byte >= 0xE3 && byte <= 0xE9 && !(byte == 0xE3 && second == 0x80);
        const bool is_unspaced = (byte == 0xE0 && second >= 0xB8 && second <= 0xBB) ||
                                 (byte == 0xE1 && (second == 0x80 || second == 0x81 || second == 0x9E));
        const bool is_letter = byte >= 0x80 || ascii_is_digit((char)byte) || ascii_is_letter((char)byte);
        tenths += is_wide ? 5 : is_unspaced ? 2 : is_letter && !in_word ? 10 : 0;
        in_word = !strchr(" \t\n", byte) && (in_word || is_letter);
    }
    return tenths;
}

static bool is_list(struct str page, const struct argument *argument)
{
    return argument->from < argument->to && strchr("*#", page.data[argument->from]) &&
           page.data[argument->from - 1] == '\n';
}

/* True for text without lists, tables, headings and pictures; with is_list: a list with items. */
static bool is_running_text(struct call *call, const struct argument *argument, bool is_list)
{
    const struct spans *spans = call->page->spans;
    const char *text = call->page->text.data;
    uint32_t child = argument->child, at = argument->from;
    const char *const signs = is_list ? "|!{=\n" : "*#:;|!{=\n";
    const bool begins_span = spans_at(spans, &child, at) != NULL;
    if (!is_list && strchr("*#:;|!{=<[&", text[at]) && !begins_span)
        return false;
    while (at < argument->to) {
        const bool inside = child < spans->count && spans->items[child].start < argument->to;
        const uint32_t end = inside ? spans->items[child].start : argument->to;
        for (; at < end; at++, call->steps++)
            if (text[at] == '\n' && at + 1 < argument->to && strchr(signs, text[at + 1]))
                return false;
        if (!inside)
            break;
        const struct span *span = &spans->items[child];
        const struct str inner = span_inner(call->page->text, span);
        if (span->kind == SPAN_TABLE)
            return false;
        if (span->kind == SPAN_LINK && link_kind_of(call->page->namespaces, inner) == LINK_FILE)
            return false;
        call->steps += inner.size < NAME_BYTES_MAX ? inner.size : NAME_BYTES_MAX;
        at = span->end;
        child = span->next;
    }
    return true;
}

static unsigned pair_bit(const char *bytes)
{
    return (31u * (unsigned char)bytes[0] + (unsigned char)bytes[1]) % 256;
}

/* Parts are longer than a byte, and few begin with two bytes that the name has. */
bool name_says_note(struct str name)
{
    uint64_t pairs[4] = {0};
    for (size_t at = 0; at + 1 < name.size; at++) {
        const unsigned bit = pair_bit(name.data + at);
        pairs[bit / 64] |= UINT64_C(1) << bit % 64;
    }
    for (size_t i = 0; i < note_name_parts.count; i++) {
        const char *part = note_name_parts.items[i];
        const unsigned bit = pair_bit(part);
        if (pairs[bit / 64] >> bit % 64 & 1 && str_find(name, str_of(part)) != SIZE_MAX)
            return true;
    }
    return false;
}

bool template_sentence(const struct template_page *page, uint32_t index, struct renders *renders,
                       struct rendering *rendering, uint64_t *steps)
{
    char canonical[NAME_BYTES_MAX], folded[NAME_BYTES_MAX];
    struct call call = {.page = page, .span = &page->spans->items[index], .out = renders};
    const struct str name = name_fold(template_name(page->text, page->spans, index, canonical), folded);
    const struct argument *sentence = NULL;
    bool has_items = false;
    bool is_one = name.size > 0 && !memchr(name.data, ':', name.size) && !words_have(silent_templates, name) &&
                  !name_says_note(name);
    if (is_one)
        call_read(&call, index, 0);
    for (size_t i = 0; i < call.count && is_one; i++) {
        const struct argument *argument = &call.arguments[i];
        if (argument->from == argument->to)
            continue;
        const bool is_named = argument->name.size > 0 && argument->number != 1;
        const unsigned tenths = count_words(&call, argument->from, argument->to, argument->child);
        is_one = is_named ? tenths <= 10 * NAMED_WORDS_MAX : !sentence && tenths >= 10 * SENTENCE_WORDS_MIN;
        if (!is_named) {
            sentence = argument;
            has_items = is_list(page->text, argument);
        }
    }
    is_one = is_one && sentence && is_running_text(&call, sentence, has_items);
    *steps += call.steps;
    if (!is_one)
        return false;
    *rendering = (struct rendering){.part = renders->count, .text = renders->text.size, .is_block = has_items};
    renders_push(renders, (struct part){PART_ARGUMENT, sentence->from, sentence->to});
    return true;
}
