/* From a template to its rendering: its name, the row of that name, and the renderers that are a few lines long. */
#include "pipeline/text/templates/call.h"

#include "base/mem.h"
#include "pipeline/parts/page_parts.h"
#include "pipeline/text/templates/plain.h"
#include "pipeline/text/templates/renderings.h"

#include <assert.h>

/* Renderers that need no file of their own. */

bool render_nothing(struct call *call)
{
    show(call, STR(""));
    return true;
}

/* A picture, or a remark like "(en)": left out with what surrounds it, without a hole. */
bool render_gone(struct call *call)
{
    call->has_pattern = true;
    return false;
}

/* All unnamed arguments, separated by the parameter. */
bool render_join(struct call *call)
{
    bool any = false;
    for (size_t i = 0; i < call->count; i++) {
        const struct argument *argument = &call->arguments[i];
        if (argument->number == 0 || argument->from == argument->to)
            continue;
        if (any)
            show(call, call->parameter);
        show_argument(call, argument);
        any = true;
    }
    return any;
}

struct str template_name(struct str page, const struct spans *spans, uint32_t index, char out[NAME_BYTES_MAX])
{
    assert(index < spans->count);
    const struct span *span = &spans->items[index];
    uint32_t start = span->inner_start, end = span->inner_end, inner = index + 1;
    if (inner < spans->count && spans->items[inner].kind == SPAN_COMMENT && spans->items[inner].start == start) {
        start = spans->items[inner].end; /* {{<!-- comment -->name}} */
        inner++;
    }
    if (inner < spans->count && spans->items[inner].start < end)
        end = spans->items[inner].start;
    const uint32_t limit = end - start > NAME_BYTES_MAX ? start + NAME_BYTES_MAX : end;
    uint32_t at = start;
    while (at < limit && page.data[at] != '|')
        at++;
    if (at == limit && limit < end)
        return STR("");
    struct str typed = str_trim(str_part(page, start, at));
    const size_t prefix = strlen("template:");
    if (typed.size > prefix && str_equal_ascii_nocase((struct str){typed.data, prefix}, STR("template:")))
        typed = str_from(typed, prefix);
    return name_canonical(typed, out);
}

/* Finding the rendering of a name. */

/* The rows of a wiki or a language; an empty list if it has none. */
static const struct row_list *list_of(struct str code)
{
    static const struct row_list none;
    for (size_t i = 0; i < row_list_count; i++)
        if (str_equal(str_of(row_lists[i].code), code))
            return &row_lists[i];
    return &none;
}

static void find_lists(const struct template_page *page, const struct row_list *lists[ROW_LISTS])
{
    lists[0] = list_of(page->siteinfo ? page->siteinfo->dbname : STR(""));
    lists[1] = list_of(page->code);
    lists[2] = list_of(STR("all"));
    lists[3] = &parser_functions;
}

/* The row of that name that applies on the page's wiki; rows of the wiki come before those of its language. */
static const struct row *find_row(struct renders *out, const struct template_page *page, struct str name)
{
    uint32_t number;
    if (!out->lists[0]) {
        find_lists(page, out->lists);
        for (size_t i = 0; i < ROW_LISTS; i++)
            for (size_t k = 0; k < out->lists[i]->count; k++)
                name_table_add(&out->rows[i], str_of(out->lists[i]->rows[k].name), (uint32_t)k);
    }
    for (size_t i = 0; i < ROW_LISTS; i++)
        if (name_table_find(&out->rows[i], name, &number))
            return &out->lists[i]->rows[number];
    return NULL;
}

const struct row *call_row(const struct call *call, struct str name)
{
    return find_row(call->out, call->page, name);
}

bool template_has_row(struct renders *renders, struct str name, const struct template_page *page)
{
    return find_row(renders, page, name) != NULL;
}

/* {{formatnum:1234|R}}: its row, and where its first argument begins. */
static const struct row *find_function(const struct call *call, uint32_t *argument)
{
    const struct str page = call->page->text, name = call->name;
    const struct span *span = call->span;
    const char *colon = memchr(name.data, ':', name.size);
    if (!colon)
        return NULL;
    const char *typed = memchr(page.data + span->inner_start, ':', span->inner_end - span->inner_start);
    if (!typed)
        return NULL;
    *argument = (uint32_t)(typed - page.data) + 1;
    char folded[NAME_BYTES_MAX + 1];
    const struct str own = magic_function(call->page->magic, str_range(name.data, colon));
    if (own.size == 0)
        return find_row(call->out, call->page, name_fold(str_range(name.data, colon + 1), folded));
    struct str function = name_fold(own, folded);
    folded[function.size++] = ':';
    return find_row(call->out, call->page, function);
}

/* {{IPA-de|…}} */
static bool is_pronunciation(struct str name)
{
    return str_starts(name, STR("IPA-")) || str_starts(name, STR("Ipa-"));
}

/* A note, or a function that shows nothing: {{DEFAULTSORT:key}}. */
static bool is_silent(struct str name)
{
    char folded[NAME_BYTES_MAX];
    const struct str whole = name_fold(name, folded);
    const char *colon = memchr(whole.data, ':', whole.size);
    return words_have(silent_templates, whole) || is_pronunciation(name) ||
           (colon && words_have(silent_templates, str_range(whole.data, colon + 1)));
}

/* {{USA}}; on the French wiki also {{USA-d}}, with a flag. */
static bool is_capital_code(const struct call *call, struct str name)
{
    if (name.size != 3 && !(name.size == 5 && str_ends(name, STR("-d")) && str_equal(call->page->code, STR("fr"))))
        return false;
    for (size_t at = 0; at < 3; at++)
        if (name.data[at] < 'A' || name.data[at] > 'Z')
            return false;
    return true;
}

static bool show_row(struct call *call, uint32_t index, const struct row *row, uint32_t colon)
{
    assert(call->count == 0); /* arguments are read once */
    call_read(call, index, colon);
    call->has_pattern |= !row->render;
    call->parameter = str_of(row->pattern);
    return row->render ? row->render(call) : show_pattern(call, call->parameter);
}

/* A rendering of a file: what a body cannot say, such as a redirect to a row of ours. */
static bool show_added(struct call *call, uint32_t index, const struct rendering_row *row)
{
    call_read(call, index, 0);
    call->is_added = true;
    call->parameter = row->pattern;
    return row->render ? row->render(call) : show_pattern(call, call->parameter);
}

/* Decides what a call shows. These answer in turn, and the first that knows the name decides:
 *
 *     1. --templates, and of the dump what is no body (renderings.c, expand.h): a note, a box or a table shows nothing
 *     2. parser functions, then rows of the page's wiki and of all wikis (data/templates)
 *     3. names that are codes: {{USA}}, {{lang-fr|…}}, {{IPA-fr|…}}
 *     4. the form of the arguments (shapes.c)
 *
 * What none of them knows is unknown: it leaves no hole if its name is one of silent_templates, and where words can
 * stand, the walk shows an argument that is a sentence (template_sentence). */
static bool template_resolve(struct call *call, uint32_t index)
{
    const struct str code = call->page->code;
    const struct rendering_row *said = templates_find(call->page->templates, &call->name);
    if (said && said->kind == RENDERING_WIKITEXT) /* its body needs what cannot be computed: expand.h */
        said = NULL;
    call->has_pattern = said != NULL;
    if (said)
        return said->kind != RENDERING_MARK && show_added(call, index, said);
    uint32_t colon = 0;
    const struct row *row = find_function(call, &colon);
    if (row)
        return show_row(call, index, row, colon);
    row = find_row(call->out, call->page, call->name);
    const struct str variable = row ? STR("") : magic_function(call->page->magic, call->name);
    row = variable.size > 0 ? find_row(call->out, call->page, variable) : row;
    if (row)
        return show_row(call, index, row, 0);
    const char *country = is_capital_code(call, call->name) ? country_of((struct str){call->name.data, 3}, code) : NULL;
    if (country) {
        show_text(call, country);
        return true;
    }
    if (is_pronunciation(call->name)) {
        call_read(call, index, 0);
        return render_pronunciation(call);
    }
    if (str_starts(call->name, STR("Lang-"))) {
        call_read(call, index, 0);
        return render_lang_of(call, str_from(call->name, 5));
    }
    return render_shape(call, index);
}

/* True if the texts shown have more {{ than }}, or fewer. */
static bool has_loose_braces(const struct call *call)
{
    const struct renders *renders = call->out;
    long open = 0;
    for (size_t i = call->first_part; i < renders->count; i++) {
        const struct part *part = &renders->parts[i];
        for (uint32_t at = part->from; part->kind == PART_TEXT && at + 1 < part->to; at++) {
            const char *text = renders->text.data + at;
            const bool is_pair = (*text == '{' || *text == '}') && text[1] == *text;
            open += is_pair ? (*text == '{' ? 1 : -1) : 0;
            at += is_pair;
        }
    }
    return open != 0;
}

static struct rendering render_again(const struct template_page *page, uint32_t index, struct renders *renders,
                                     uint64_t *steps)
{
    char name[NAME_BYTES_MAX];
    struct call call;
    call.page = page;
    call.span = &page->spans->items[index];
    call.out = renders;
    call.name = template_name(page->text, page->spans, index, name);
    call.parameter = STR("");
    call.first_part = renders->count;
    call.shown = 0;
    call.is_block = call.is_poem = call.is_opaque = call.is_added = false;
    call.count = 0;
    call.has_pattern = false;
    call.steps = NAME_BYTES_MAX;
    struct rendering rendering = {.part = renders->count, .text = renders->text.size};
    rendering.dropped = call.name.size == 0 || !template_resolve(&call, index);
    rendering.is_unknown = rendering.dropped && !call.has_pattern;
    rendering.is_silent = rendering.is_unknown && is_silent(call.name);
    rendering.is_function = call.count > 0 && str_equal(call.arguments[0].name, STR("0"));
    rendering.is_block = call.is_block;
    rendering.is_poem = call.is_poem;
    rendering.is_added = call.is_added;
    rendering.has_braces = call.is_added && has_loose_braces(&call);
    if (rendering.dropped)
        renders_pop(renders, &rendering);
    *steps += call.steps;
    return rendering;
}

struct rendering template_render(const struct template_page *page, uint32_t index, struct renders *renders,
                                 uint64_t *steps)
{
    buf_reserve(&renders->text, 1); /* so that an empty text has an address */
    buf_reset(&renders->scratch);
    buf_reserve(&renders->scratch, 16 * VALUE_GROWTH_MAX * VALUE_BYTES_MAX);
    renders->value_templates = 0;
    renders->read_before = renders->read_end;
    return render_again(page, index, renders, steps);
}

void renders_say(char *text, size_t size)
{
    for (size_t at = 0; at < size; at++)
        text[at] = (char)(text[at] == MEANT_TAG ? '<' : text[at] == MEANT_BRACKET ? '[' : text[at]);
}

static void add_said(struct buf *out, struct str text)
{
    buf_add_str(out, text);
    renders_say(out->data + out->size - text.size, text.size);
}

bool call_add_template(struct call *call, uint32_t index, struct buf *out)
{
    struct renders *renders = call->out;
    const struct span *span = &call->page->spans->items[index];
    const size_t scratch = renders->scratch.size, from = out->size;
    if (renders->value_templates == VALUE_TEMPLATES_MAX || span->start < renders->read_before)
        return false;
    renders->value_templates++;
    struct rendering rendering = render_again(call->page, index, renders, &call->steps);
    renders->scratch.size = scratch;                          /* its own values have been used */
    bool known = !rendering.dropped || !rendering.is_unknown; /* one whose arguments are all missing shows nothing */
    for (size_t i = rendering.part; known && i < renders->count; i++) {
        const struct part part = renders->parts[i];
        known = out->size + (part.to - part.from) <= out->capacity;
        if (known && part.kind == PART_TEXT)
            add_said(out, (struct str){renders->text.data + part.from, part.to - part.from});
        else if (known && part.kind == PART_BREAK && out->size < out->capacity)
            buf_add_byte(out, ' ');
        else if (known && part.kind == PART_ARGUMENT)
            known = plain_add(call->page, call, part.from, part.to, index + 1, out);
        known &= out->size - from <= (size_t)VALUE_GROWTH_MAX * (span->end - span->start);
    }
    if (!rendering.dropped)
        renders_pop(renders, &rendering);
    return known;
}

struct rendering argument_render(const struct template_page *page, uint32_t index, struct renders *renders,
                                 uint64_t *steps)
{
    struct rendering rendering = {.dropped = true, .part = renders->count, .text = renders->text.size};
    struct span_walk walk = span_walk(page->text, page->spans, index);
    uint32_t equals;
    if (span_walk_to_bar(&walk, &equals)) {
        struct argument argument = {.from = ++walk.at};
        span_walk_to_bar(&walk, &equals);
        argument.to = walk.at;
        argument_trim(page->text, &argument);
        rendering.dropped = argument.from == argument.to;
        if (!rendering.dropped)
            renders_push(renders, (struct part){PART_ARGUMENT, argument.from, argument.to});
    }
    *steps += walk.steps;
    return rendering;
}

void renders_pop(struct renders *renders, const struct rendering *rendering)
{
    assert(rendering->part <= renders->count && rendering->text <= renders->text.size); /* a stack */
    renders->count = rendering->part;
    renders->text.size = rendering->text;
}

void renders_release(struct renders *renders)
{
    mem_free(renders->parts);
    buf_release(&renders->text);
    buf_release(&renders->scratch);
    for (size_t i = 0; i < ROW_LISTS; i++)
        name_table_release(&renders->rows[i]);
    *renders = (struct renders){0};
}
