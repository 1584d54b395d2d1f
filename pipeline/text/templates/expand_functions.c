/* The parser functions that choose between texts. Source: MediaWiki's help page of the extension ParserFunctions. */
#include "pipeline/text/templates/expand_call.h"
#include "pipeline/text/templates/expr.h"

#define ERROR "<strong class=\"error\">Expression error</strong>" /* as #expr shows one, for #iferror */

/* Adds a branch; nothing if the call does not have it. */
static void add_branch(struct expander *e, const struct expand_source *source, const struct call_piece *pieces,
                       size_t count, size_t branch, struct buf *out)
{
    if (branch < count)
        buf_add_str(out, expand_trimmed(e, source, &pieces[branch]));
}

static bool piece_value(struct expander *e, const struct expand_source *source, const struct call_piece *piece,
                        struct str *value)
{
    const bool known = expand_value(e, source, piece->from, piece->to, piece->child, value);
    *value = str_trim(*value);
    return known;
}

static struct str without_comments(struct expander *e, struct str text)
{
    size_t at = str_find(text, STR("<!--"));
    if (at == SIZE_MAX)
        return str_trim(text);
    struct buf out = {0};
    while (at != SIZE_MAX) {
        buf_add(&out, text.data, at);
        text = (struct str){text.data + at, text.size - at};
        const size_t end = str_find(text, STR("-->"));
        const size_t size = end == SIZE_MAX ? text.size : end + 3;
        text = (struct str){text.data + size, text.size - size};
        at = str_find(text, STR("<!--"));
    }
    buf_add_str(&out, text);
    const struct str shown = arena_copy(&e->arena, buf_str(&out));
    buf_release(&out);
    return str_trim(shown);
}

static void expand_ifeq(struct expander *e, const struct expand_source *source, struct str left,
                        const struct call_piece *pieces, size_t count, struct buf *out)
{
    struct str right = STR("");
    if (count > 1 && !piece_value(e, source, &pieces[1], &right)) {
        e->is_incomplete = true;
        return;
    }
    add_branch(e, source, pieces, count, values_equal(left, without_comments(e, right)) ? 2 : 3, out);
}

static void expand_iferror(struct expander *e, const struct expand_source *source, struct str value,
                           const struct call_piece *pieces, size_t count, struct buf *out)
{
    const bool errs = str_find(value, STR("class=\"error\"")) != SIZE_MAX;
    if (errs)
        add_branch(e, source, pieces, count, 1, out);
    else if (count > 2)
        add_branch(e, source, pieces, count, 2, out);
    else
        buf_add_str(out, value);
}

/* {{#switch: value | a | b = shown | #default = shown | last is the default }} */
static void expand_switch(struct expander *e, const struct expand_source *source, struct str wanted,
                          const struct call_piece *pieces, size_t count, struct buf *out)
{
    struct call_piece fallback = {0};
    bool falls = false, falls_to_default = false, has_fallback = false;
    for (size_t i = 1; i < count; i++) {
        const struct call_piece *piece = &pieces[i];
        const bool has_value = piece->equals < piece->to;
        struct str key;
        struct call_piece text = *piece;
        text.to = has_value ? piece->equals : piece->to;
        if (!piece_value(e, source, &text, &key)) {
            e->is_incomplete = true;
            return;
        }
        key = without_comments(e, key);
        falls |= values_equal(key, wanted);
        falls_to_default |=
            str_equal(key, STR("#default")) || str_equal(magic_function(e->magic, key), STR("#default"));
        if (has_value) {
            text.from = piece->equals + 1;
            text.to = piece->to;
        }
        if (has_value && falls) {
            buf_add_str(out, expand_trimmed(e, source, &text));
            return;
        }
        if (has_value ? falls_to_default : i + 1 == count) {
            fallback = text;
            has_fallback = true;
            falls_to_default = false;
        }
    }
    if (has_fallback)
        buf_add_str(out, expand_trimmed(e, source, &fallback));
}

static void expand_expr(struct expander *e, struct str text, struct buf *out)
{
    const struct expr expr = expr_read(text);
    e->work += text.size;
    buf_add_text(out, expr.error ? ERROR : expr.text);
}

static void expand_ifexpr(struct expander *e, const struct expand_source *source, struct str text,
                          const struct call_piece *pieces, size_t count, struct buf *out)
{
    const struct expr expr = expr_read(text);
    e->work += text.size;
    if (expr.error)
        buf_add_text(out, ERROR);
    else
        add_branch(e, source, pieces, count, expr_holds(&expr) ? 1 : 2, out);
}

bool expand_function(struct expander *e, const struct expand_source *source, struct str name, struct str value,
                     bool is_known, const struct call_piece *pieces, size_t count, struct buf *out)
{
    enum { IF, IF_EQ, IF_ERROR, IF_EXISTS, IF_EXPR, SWITCH, EXPR, FUNCTIONS };
    static const char *const names[FUNCTIONS] = {
        [IF] = "#if:",          [IF_EQ] = "#ifeq:",    [IF_ERROR] = "#iferror:", [IF_EXISTS] = "#ifexist:",
        [IF_EXPR] = "#ifexpr:", [SWITCH] = "#switch:", [EXPR] = "#expr:"};
    unsigned function = 0;
    while (function < FUNCTIONS && !str_equal(name, str_of(names[function])))
        function++;
    if (function == FUNCTIONS)
        return false;
    const struct str text = without_comments(e, value);
    if (!is_known && function != IF_EXISTS)
        e->is_incomplete = true;
    else if (function == IF)
        add_branch(e, source, pieces, count, text.size > 0 ? 1 : 2, out);
    else if (function == IF_EXISTS) /* a page is taken to exist */
        add_branch(e, source, pieces, count, text.size > 0 || !is_known ? 1 : 2, out);
    else if (function == IF_EQ)
        expand_ifeq(e, source, text, pieces, count, out);
    else if (function == IF_ERROR)
        expand_iferror(e, source, text, pieces, count, out);
    else if (function == IF_EXPR)
        expand_ifexpr(e, source, text, pieces, count, out);
    else if (function == SWITCH)
        expand_switch(e, source, text, pieces, count, out);
    else
        expand_expr(e, text, out);
    return true;
}
