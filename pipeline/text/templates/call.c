#include "pipeline/text/templates/call.h"

#include "base/mem.h"
#include "pipeline/text/templates/number_style.h"
#include "pipeline/text/templates/plain.h"

#include <assert.h>

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n';
}

/* "12" → 12; 0: it is no number, or one that no call has. */
static unsigned argument_number(struct str name)
{
    unsigned value = 0;
    for (size_t i = 0; i < name.size; i++) {
        if (!ascii_is_digit(name.data[i]) || value > 99)
            return 0;
        value = value * 10 + (unsigned)(name.data[i] - '0');
    }
    return value;
}

void argument_trim(struct str page, struct argument *argument)
{
    while (argument->from < argument->to && is_blank(page.data[argument->from]))
        argument->from++;
    while (argument->from < argument->to && is_blank(page.data[argument->to - 1]))
        argument->to--;
}

static void add_argument(struct call *call, struct argument argument)
{
    if (call->count == ARGUMENTS_MAX)
        return;
    argument_trim(call->page->text, &argument);
    assert(call->span->start < argument.from && argument.from <= argument.to && argument.to <= call->span->end);
    call->arguments[call->count++] = argument;
}

void call_read(struct call *call, uint32_t index, uint32_t colon)
{
    struct span_walk walk = span_walk(call->page->text, call->page->spans, index);
    const char *text = call->page->text.data;
    uint32_t equals;
    unsigned position = 0;
    bool more = span_walk_to_bar(&walk, &equals); /* the template's name */
    if (colon > 0)
        add_argument(call, (struct argument){.name = STR("0"), .from = colon, .to = walk.at, .child = index + 1});
    while (more) {
        struct argument argument = {.name = STR(""), .from = ++walk.at, .child = walk.child};
        more = span_walk_to_bar(&walk, &equals);
        argument.to = walk.at;
        if (equals < walk.at && colon == 0) {
            argument.name = str_trim(str_range(text + argument.from, text + equals));
            argument.number = argument_number(argument.name);
            argument.from = equals + 1;
        } else {
            argument.number = ++position;
        }
        add_argument(call, argument);
    }
    call->steps += walk.steps;
}

const struct argument *call_numbered(const struct call *call, unsigned number)
{
    for (size_t i = call->count; i-- > 0;)
        if (call->arguments[i].number == number && number > 0)
            return call->arguments[i].from < call->arguments[i].to ? &call->arguments[i] : NULL;
    return NULL;
}

const struct argument *call_argument(const struct call *call, const char *name)
{
    const struct str wanted = str_of(name);
    const unsigned number = argument_number(wanted);
    if (number > 0)
        return call_numbered(call, number);
    for (size_t i = call->count; i-- > 0;)
        if (str_equal(call->arguments[i].name, wanted))
            return call->arguments[i].from < call->arguments[i].to ? &call->arguments[i] : NULL;
    return NULL;
}

struct str call_value_of(struct call *call, const struct argument *argument)
{
    struct buf *scratch = &call->out->scratch;
    if (!argument)
        return STR("");
    const size_t bytes_max = (size_t)VALUE_GROWTH_MAX * VALUE_BYTES_MAX;
    if (argument->to - argument->from > VALUE_BYTES_MAX || scratch->size + bytes_max > scratch->capacity) {
        call->is_opaque = true;
        return STR("");
    }
    const size_t from = scratch->size;
    const unsigned templates = call->out->value_templates;
    const char *const data = scratch->data;
    call->is_opaque |= !plain_add(call->page, call, argument->from, argument->to, argument->child, scratch);
    if (call->out->value_templates > templates && argument->to > call->out->read_end)
        call->out->read_end = argument->to;
    assert(scratch->data == data); /* values handed out before are still valid */
    call->steps += argument->to - argument->from;
    return str_trim(str_from(buf_str(scratch), from));
}

struct str call_value(struct call *call, const char *name)
{
    return call_value_of(call, call_argument(call, name));
}

bool call_says(struct call *call, const char *name, const char *value)
{
    return str_equal(call_value(call, name), str_of(value));
}

bool call_number(struct call *call, const char *name, long *number)
{
    const struct str value = call_value(call, name);
    *number = 0;
    for (size_t i = 0; i < value.size; i++) {
        if (value.data[i] == ',')
            continue;
        if (!ascii_is_digit(value.data[i]) || *number > 100000000)
            return false;
        *number = *number * 10 + (value.data[i] - '0');
    }
    return value.size > 0;
}

struct str call_plain_number(struct call *call, struct str typed)
{
    struct buf *scratch = &call->out->scratch;
    char out[NUMBER_BYTES_MAX];
    const struct str plain = number_plain(call->page->style, typed, out);
    if (str_equal(plain, typed) || scratch->size + plain.size > scratch->capacity)
        return typed;
    buf_add_str(scratch, plain);
    return (struct str){scratch->data + scratch->size - plain.size, plain.size};
}

bool call_english(const struct call *call)
{
    return call->page->language == language_english();
}

/* Showing. */

void renders_push(struct renders *renders, struct part part)
{
    renders->parts = mem_room(renders->parts, renders->count + 1, &renders->capacity, sizeof renders->parts[0]);
    renders->parts[renders->count++] = part;
}

void show(struct call *call, struct str text)
{
    struct renders *out = call->out;
    const uint32_t from = (uint32_t)out->text.size;
    assert(call->first_part <= out->count);
    buf_add_str(&out->text, text);
    if (out->count > call->first_part && out->parts[out->count - 1].kind == PART_TEXT)
        out->parts[out->count - 1].to = (uint32_t)out->text.size;
    else
        renders_push(out, (struct part){PART_TEXT, from, (uint32_t)out->text.size});
    call->steps += text.size;
}

void show_text(struct call *call, const char *text)
{
    show(call, str_of(text));
}

void show_plain_number(struct call *call, struct str plain)
{
    char out[NUMBER_BYTES_MAX];
    show(call, number_localise(call->page->style, plain, out));
}

void show_argument(struct call *call, const struct argument *argument)
{
    if (!argument) {
        renders_push(call->out, (struct part){PART_GAP, 0, 0});
    } else if (argument->from >= call->shown) {
        renders_push(call->out, (struct part){PART_ARGUMENT, argument->from, argument->to});
        call->shown = argument->to;
    } else {
        const size_t from = call->out->text.size;
        const bool whole = plain_add(call->page, NULL, argument->from, argument->to, argument->child, &call->out->text);
        renders_push(call->out, (struct part){PART_TEXT, (uint32_t)from, (uint32_t)call->out->text.size});
        if (!whole)
            renders_push(call->out, (struct part){PART_GAP, 0, 0});
        call->steps += argument->to - argument->from;
    }
}

void show_if(struct call *call, const char *before, const struct argument *argument, const char *after)
{
    if (!argument)
        return;
    if (*before)
        show_text(call, before);
    show_argument(call, argument);
    if (*after)
        show_text(call, after);
}
