/* Links in a template's body, internal and external. */
#include "pipeline/text/templates/body_compiler.h"
#include "pipeline/text/templates/pattern.h"
#include "pipeline/text/words/links.h"

/* True if a link shows a picture or nothing: [[File:{{{1}}}.svg|20px]], [[{{#if:{{{1|}}}|File:{{{1}}}}}|20px]]. */
static bool is_hidden_link(const struct compiler *c, struct str target, const struct body_piece *pieces, size_t count)
{
    const char *const text = c->text.data;
    char folded[NAME_BYTES_MAX];
    size_t word = 0;
    for (size_t at = 0; at < target.size; at++) {
        const struct str prefix = {target.data + word, at - word};
        if (target.data[at] == ':' && link_is_hidden((struct str){prefix.data, prefix.size + 1}) &&
            (word == 0 || !language_is_code(name_fold(prefix, folded)))) /* a language only at the beginning */
            return true;
        if (strchr("|{}[]=:\n", target.data[at]))
            word = at + 1;
    }
    if (target.size > 0 && target.data[0] != '{')
        return false;
    for (size_t i = 1; i < count; i++) { /* a computed target: the options tell whether it is a picture */
        const struct str option = str_trim(str_range(text + pieces[i].from, text + pieces[i].to));
        if (str_equal(option, STR("thumb")) || str_equal(option, STR("frameless")) ||
            str_starts(option, STR("link=")) || str_starts(option, STR("alt=")) ||
            (option.size > 2 && str_ends(option, STR("px")) &&
             (option.data[0] == '{' || option.data[option.size - 3] <= '9')))
            return true;
    }
    return false;
}

/* The branch of a choice at the end of a link's target: what follows a bar in it is the label. */
static void compile_link_branch(struct compiler *c, const struct body_piece *target, uint32_t choice,
                                const struct body_piece *branch, unsigned depth)
{
    const struct spans *spans = c->spans;
    struct body_piece label = *branch;
    bool has_bar = false;
    for (uint32_t i = branch->child; i < spans->count && spans->items[i].end <= branch->to; i = spans->items[i].next) {
        const struct str span = str_range(c->text.data + spans->items[i].start, c->text.data + spans->items[i].end);
        if (spans->items[i].start < branch->from || has_bar || !str_equal(span, STR("{{!}}")))
            continue;
        has_bar = true;
        label.from = spans->items[i].end;
        label.child = spans->items[i].next;
    }
    if (!has_bar)
        body_compile(c, target->from, choice, target->child, depth + 1);
    if (str_find(str_range(c->text.data + label.from, c->text.data + label.to), STR("{{!}}")) != SIZE_MAX)
        body_stop(c, BODY_OTHER);
    body_compile_piece(c, label.from, label.to, label.child, depth);
}

/* [[{{{1}}}{{#if:{{{2|}}}|{{!}}{{{2}}}}}]]: what is shown depends on whether there is a bar. */
static void compile_link_with_choice(struct compiler *c, const struct body_piece *target, unsigned depth)
{
    const struct spans *spans = c->spans;
    uint32_t index = target->child;
    while (index < spans->count && spans->items[index].end < target->to)
        index = spans->items[index].next;
    const struct span *choice = index < spans->count ? &spans->items[index] : NULL;
    struct body_piece pieces[BODY_PIECES_MAX];
    const char *text = c->text.data;
    if (!choice || choice->kind != SPAN_TEMPLATE || choice->end != target->to ||
        !str_starts(str_range(text + choice->inner_start, text + choice->inner_end), STR("#if:")) ||
        memmem(text + target->from, choice->start - target->from, "{{!}}", 5)) {
        body_stop(c, BODY_OTHER);
        return;
    }
    const size_t count = body_pieces(c, index, pieces);
    const struct body_piece nothing = {.from = target->to, .to = target->to, .child = choice->next};
    const bool outer = c->in_function;
    c->in_function = true;
    buf_add_text(c->out, "{#if ");
    body_compile_piece(c, choice->inner_start + (uint32_t)strlen("#if:"), pieces[0].to, pieces[0].child, depth);
    for (size_t i = 1; i < 3; i++) {
        buf_add_byte(c->out, '|');
        compile_link_branch(c, target, choice->start, i < count ? &pieces[i] : &nothing, depth);
    }
    buf_add_byte(c->out, '}');
    c->in_function = outer;
}

void links_compile(struct compiler *c, uint32_t index, unsigned depth)
{
    struct body_piece pieces[BODY_PIECES_MAX];
    const size_t count = body_pieces(c, index, pieces);
    struct str target = str_trim(str_range(c->text.data + pieces[0].from, c->text.data + pieces[0].to));
    const bool is_plain = str_starts(target, STR(":"));
    if (!is_plain && is_hidden_link(c, target, pieces, count))
        return;
    if (count > 1) {
        body_compile(c, pieces[1].from, c->spans->items[index].inner_end, pieces[1].child, depth + 1);
        return;
    }
    pieces[0].from += is_plain;
    if (str_find(target, STR("{{!}}")) != SIZE_MAX) {
        compile_link_with_choice(c, &pieces[0], depth);
        return;
    }
    if (is_plain || !str_starts(target, STR("{{"))) {
        body_compile(c, pieces[0].from, pieces[0].to, pieces[0].child, depth + 1);
        return;
    }
    const bool outer = c->in_function; /* the target is computed */
    c->in_function = true;
    buf_add_text(c->out, "{#link ");
    body_compile(c, pieces[0].from, pieces[0].to, pieces[0].child, depth + 1);
    buf_add_byte(c->out, '}');
    c->in_function = outer;
}

/* External links. */

/* The first ']' of the line outside spans; `to` if there is none. The last result is kept, so that lines of many open
 * brackets are not searched again. */
static uint32_t find_bracket_end(struct compiler *c, struct cursor cursor)
{
    const uint32_t from = cursor.at;
    if (cursor.to == c->bracket_to && from >= c->bracket_from && from <= c->bracket_stop)
        cursor.at = c->bracket_stop;
    while (cursor.at < cursor.to && (cursor_span(c, &cursor) || !strchr("]\n", c->text.data[cursor.at])))
        cursor_step(c, &cursor);
    c->bracket_from = from;
    c->bracket_stop = cursor.at;
    c->bracket_to = cursor.to;
    return cursor.at < cursor.to && c->text.data[cursor.at] == ']' ? cursor.at : cursor.to;
}

/* Moves past an address, and past the blanks after it: *end is the address's end. */
static void skip_address(const struct compiler *c, struct cursor *cursor, uint32_t *end)
{
    const char *text = c->text.data;
    while (cursor->at < cursor->to) {
        const struct span *span = cursor_span(c, cursor);
        if (span ? span->kind != SPAN_TEMPLATE && span->kind != SPAN_ARGUMENT
                 : (unsigned char)text[cursor->at] <= ' ' || strchr("[]<>\"", text[cursor->at]) ||
                       str_starts(str_range(text + cursor->at, text + cursor->to), STR("''")))
            break;
        cursor_step(c, cursor);
    }
    *end = cursor->at;
    while (cursor->at < cursor->to && body_is_blank(text[cursor->at]))
        cursor_step(c, cursor);
}

/* True if the span gives an address, whatever it is called with. */
static bool gives_address(const struct compiler *c, const struct span *span)
{
    static const char *const names[] = {"fullurl:", "canonicalurl:", "filepath:", "SERVER"};
    const struct str inner = str_range(c->text.data + span->inner_start, c->text.data + span->inner_end);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (span->kind == SPAN_TEMPLATE && str_starts(inner, str_of(names[i])))
            return true;
    return false;
}

/* [{{{url}}} label]: a link if the parameter is an address, else text in brackets. */
static void compile_computed_link(struct compiler *c, struct cursor address, struct cursor label, unsigned depth)
{
    const bool outer = c->in_function;
    const size_t before = c->out->size;
    c->in_function = true;
    buf_add_text(c->out, "{#iflink ");
    const size_t from = c->out->size;
    body_compile(c, address.at, address.to, address.child, depth + 1);
    if (c->kind != BODY_PATTERN) { /* nothing can tell; most are addresses */
        c->kind = BODY_PATTERN;
        c->out->size = before;
        c->in_function = outer;
        body_compile(c, label.at, label.to, label.child, depth + 1);
        return;
    }
    const size_t to = c->out->size;
    buf_add_byte(c->out, '|');
    body_compile(c, label.at, label.to, label.child, depth + 1);
    const size_t end = c->out->size;
    c->in_function = outer;
    if (end - c->start > 4 * PATTERN_BYTES_MAX)
        body_stop(c, BODY_OTHER);
    if (c->kind != BODY_PATTERN)
        return;
    buf_reserve(c->out, end); /* so that its own bytes can be added */
    buf_add_text(c->out, "|\\[");
    buf_add(c->out, c->out->data + from, to - from);
    if (label.at < label.to) {
        buf_add_byte(c->out, ' ');
        buf_add(c->out, c->out->data + to + 1, end - to - 1);
    }
    buf_add_text(c->out, "]}");
}

bool links_compile_bracket(struct compiler *c, struct cursor *cursor, unsigned depth)
{
    struct cursor address = *cursor;
    cursor_step(c, &address);
    const struct span *span = cursor_span(c, &address);
    const bool is_computed = span && (span->kind == SPAN_ARGUMENT || span->kind == SPAN_TEMPLATE);
    const bool is_link = is_computed ? gives_address(c, span)
                                     : link_scheme(str_range(c->text.data + address.at, c->text.data + address.to)) > 0;
    const uint32_t close = is_link || is_computed ? find_bracket_end(c, address) : address.to;
    if (close == address.to)
        return false;
    address.to = close;
    struct cursor label = address;
    skip_address(c, &label, &address.to);
    buf_add_byte(c->typed, MARKUP_GAP);
    if (is_link)
        body_compile(c, label.at, label.to, label.child, depth + 1);
    else
        compile_computed_link(c, address, label, depth);
    buf_add_byte(c->typed, MARKUP_GAP);
    while (cursor->at <= close)
        cursor_step(c, cursor);
    return true;
}
