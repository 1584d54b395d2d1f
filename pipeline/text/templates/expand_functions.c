/* The parser functions that choose between texts. Source: MediaWiki's help page of the extension ParserFunctions. */
#include "pipeline/text/templates/expand_call.h"
#include "pipeline/text/templates/expr.h"

#define ERROR "<strong class=\"error\">Expression error</strong>" /* as #expr shows one, for #iferror */

/* Adds a branch; nothing if the call does not have it. */
static void add_branch(struct expander *e, const struct expand_source *source, struct call_parts parts, size_t branch,
                       struct buf *out)
{
    if (branch < parts.count)
        buf_add_str(out, expand_trimmed(e, source, &parts.items[branch]));
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
        text = str_from(text, at);
        const size_t end = str_find(text, STR("-->"));
        const size_t size = end == SIZE_MAX ? text.size : end + 3;
        text = str_from(text, size);
        at = str_find(text, STR("<!--"));
    }
    buf_add_str(&out, text);
    const struct str shown = keep(e, buf_str(&out));
    buf_release(&out);
    return str_trim(shown);
}

static void expand_ifeq(struct expander *e, const struct expand_source *source, struct str left,
                        struct call_parts parts, struct buf *out)
{
    struct str right = STR("");
    if (parts.count > 1 && !piece_value(e, source, &parts.items[1], &right)) {
        e->is_incomplete = true;
        return;
    }
    add_branch(e, source, parts, values_equal(left, without_comments(e, right)) ? 2 : 3, out);
}

static void expand_iferror(struct expander *e, const struct expand_source *source, struct str value,
                           struct call_parts parts, struct buf *out)
{
    const bool errs = str_find(value, STR("class=\"error\"")) != SIZE_MAX;
    if (errs)
        add_branch(e, source, parts, 1, out);
    else if (parts.count > 2)
        add_branch(e, source, parts, 2, out);
    else
        buf_add_str(out, value);
}

/* {{#switch: value | a | b = shown | #default = shown | last is the default }} */
static void expand_switch(struct expander *e, const struct expand_source *source, struct str wanted,
                          struct call_parts parts, struct buf *out)
{
    struct call_piece fallback = {0};
    bool falls = false, falls_to_default = false, has_fallback = false;
    for (size_t i = 1; i < parts.count; i++) {
        const struct call_piece *piece = &parts.items[i];
        const bool has_value = piece->equals < piece->to;
        struct str key;
        struct call_piece text = *piece;
        text.to = has_value ? piece->equals : piece->to;
        spend(e, 1 + text.to - text.from);
        if (!piece_value(e, source, &text, &key)) {
            e->is_incomplete = true;
            return;
        }
        key = without_comments(e, key);
        falls |= values_equal(key, wanted);
        falls_to_default |= str_starts(key, STR("#")) && (str_equal(key, STR("#default")) ||
                                                          str_equal(magic_function(e->magic, key), STR("#default")));
        if (has_value) {
            text.from = piece->equals + 1;
            text.to = piece->to;
        }
        if (has_value && falls) {
            buf_add_str(out, expand_trimmed(e, source, &text));
            return;
        }
        if (has_value ? falls_to_default : i + 1 == parts.count) {
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
    spend(e, text.size);
    buf_add_text(out, expr.error ? ERROR : expr.text);
}

static void expand_ifexpr(struct expander *e, const struct expand_source *source, struct str text,
                          struct call_parts parts, struct buf *out)
{
    const struct expr expr = expr_read(text);
    spend(e, text.size);
    if (expr.error)
        buf_add_text(out, ERROR);
    else
        add_branch(e, source, parts, expr_holds(&expr) ? 1 : 2, out);
}

enum choice { IF, IF_EQ, IF_ERROR, IF_EXISTS, IF_EXPR, SWITCH, EXPR, CHOICES };

unsigned choice_find(struct str name)
{
    static const char *const names[CHOICES] = {
        [IF] = "#if:",          [IF_EQ] = "#ifeq:",    [IF_ERROR] = "#iferror:", [IF_EXISTS] = "#ifexist:",
        [IF_EXPR] = "#ifexpr:", [SWITCH] = "#switch:", [EXPR] = "#expr:"};
    for (unsigned i = 0; i < CHOICES; i++)
        if (str_equal(name, str_of(names[i])))
            return i + 1;
    return 0;
}

void expand_function(struct expander *e, const struct expand_source *source, unsigned function, struct str value,
                     bool is_known, struct call_parts parts, struct buf *out)
{
    const enum choice choice = (enum choice)(function - 1);
    const struct str text = without_comments(e, value);
    spend(e, CALL_WORK);
    if (!is_known && choice != IF_EXISTS)
        e->is_incomplete = true;
    else if (choice == IF)
        add_branch(e, source, parts, text.size > 0 ? 1 : 2, out);
    else if (choice == IF_EXISTS)
        add_branch(e, source, parts, !is_known || page_exists(e, text) ? 1 : 2, out);
    else if (choice == IF_EQ)
        expand_ifeq(e, source, text, parts, out);
    else if (choice == IF_ERROR)
        expand_iferror(e, source, text, parts, out);
    else if (choice == IF_EXPR)
        expand_ifexpr(e, source, text, parts, out);
    else if (choice == SWITCH)
        expand_switch(e, source, text, parts, out);
    else
        expand_expr(e, text, out);
}
