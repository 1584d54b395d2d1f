/* {{#tag:name|content|attribute=value}}: what the tag itself would show. */
#include "pipeline/text/markup/entities.h"
#include "pipeline/text/markup/formula.h"
#include "pipeline/text/markup/tags.h"
#include "pipeline/text/templates/call.h"

/* Shows text that is not wikitext: line ends are blanks, entities are decoded except in code. */
static void show_literal(struct call *call, struct str text, bool is_code)
{
    for (size_t at = 0; at < text.size;) {
        uint32_t code_point;
        char encoded[4];
        size_t size = text.data[at] == '&' && !is_code
                          ? entity_decode((struct str){text.data + at, text.size - at}, &code_point)
                          : 0;
        if (size > 0)
            show(call, (struct str){encoded, utf8_write(code_point < ' ' ? ' ' : code_point, encoded)});
        else if ((unsigned char)text.data[at] >= ' ')
            show(call, (struct str){text.data + at, 1});
        else
            show(call, STR(" "));
        at += size > 0 ? size : 1;
    }
}

static bool show_formula(struct call *call, struct str tex)
{
    struct buf shown = {0};
    call->steps += tex.size;
    const bool is_text = formula_add(tex, &shown);
    if (is_text)
        show(call, buf_str(&shown));
    buf_release(&shown);
    return is_text;
}

static bool has_attribute(const struct call *call, struct str name)
{
    const char *page = call->page->text.data;
    for (size_t i = 2; i < call->count; i++)
        if (str_starts(str_range(page + call->arguments[i].from, page + call->arguments[i].to), name))
            return true;
    return false;
}

/* False, without a hole, for what the tag would leave out: notes, pictures, code. */
bool render_tag(struct call *call)
{
    const struct str name = call_value(call, "0");
    const struct tag *tag = name.size > 0 && !call->is_opaque ? tag_find(name) : NULL;
    const struct argument *content = call_argument(call, "1");
    if (!tag)
        return false;
    call->has_pattern = true;
    if (!content || tag->kind == TAG_BREAK)
        return false;
    const struct str text = str_range(call->page->text.data + content->from, call->page->text.data + content->to);
    if (tag->fate == FATE_MATH)
        return text.size <= FORMULA_BYTES_MAX && show_formula(call, text);
    if (tag->kind == TAG_LITERAL || (tag->kind == TAG_CODE && has_attribute(call, STR("inline")))) {
        call->steps += text.size;
        show_literal(call, text, tag->kind == TAG_CODE);
        return true;
    }
    if (tag->kind == TAG_TABLE || tag->kind >= TAG_DROP)
        return false;
    call->is_block = tag->ends_paragraph;
    call->is_poem = tag->kind == TAG_POEM;
    if (tag->kind == TAG_QUOTE)
        show_text(call, "\"");
    show_argument(call, content);
    if (tag->kind == TAG_QUOTE)
        show_text(call, "\"");
    return true;
}
