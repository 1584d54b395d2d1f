/* Patterns: "$1 ($2)", "{#if $1|$1 m|none}". Functions are nested at most PATTERN_DEPTH_MAX deep, which renderings.c
 * checks, so the recursion is bounded. */
#include "pipeline/text/templates/call.h"

#include "base/mem.h"
#include "pipeline/text/templates/expr.h"
#include "pipeline/text/templates/number_style.h"
#include "pipeline/text/templates/pattern.h"

/* What the '$' at pattern[*at], which is skipped, asks for: an argument, else a default text, else nothing. */
struct wanted {
    const struct argument *argument;
    struct str otherwise;
};

static struct wanted pattern_argument(const struct call *call, struct str pattern, size_t *at)
{
    struct wanted wanted = {.otherwise = STR("")};
    size_t i = *at + 1;
    if (i < pattern.size && pattern.data[i] == '{') {
        while (i < pattern.size && pattern.data[i] != '}' && pattern.data[i] != '=') {
            const size_t from = ++i;
            while (i < pattern.size && !strchr("}|=", pattern.data[i]))
                i++;
            char name[NAME_BYTES_MAX];
            const size_t size = i - from < sizeof name ? i - from : sizeof name - 1;
            memcpy(name, pattern.data + from, size);
            name[size] = 0;
            if (!wanted.argument)
                wanted.argument = call_argument(call, name);
        }
        const size_t from = i + 1;
        while (i < pattern.size && pattern.data[i] != '}')
            i++;
        if (from < i)
            wanted.otherwise = str_part(pattern, from, i);
        i++;
    } else {
        unsigned number = 0;
        while (i < pattern.size && ascii_is_digit(pattern.data[i]) && number < 10)
            number = number * 10 + (unsigned)(pattern.data[i++] - '0');
        wanted.argument = call_numbered(call, number);
    }
    *at = i < pattern.size ? i : pattern.size;
    return wanted;
}

/* The position after the '}' that matches the '{' at pattern[at]. */
static size_t skip_braces(struct str pattern, size_t at)
{
    size_t depth = 0;
    for (; at < pattern.size; at++) {
        if (pattern.data[at] == '\\')
            at++;
        else if (pattern.data[at] == '{')
            depth++;
        else if (pattern.data[at] == '}' && --depth == 0)
            return at + 1;
    }
    return pattern.size;
}

/* Takes the part of *rest before the first separator outside braces, and removes the separator. */
static struct str take_part(struct str *rest, char separator)
{
    size_t at = 0;
    while (at < rest->size && rest->data[at] != separator) {
        if (rest->data[at] == '{')
            at = skip_braces(*rest, at);
        else
            at += rest->data[at] == '\\' ? 2 : 1;
    }
    if (at > rest->size)
        at = rest->size;
    const struct str part = {rest->data, at};
    const size_t after = at < rest->size ? at + 1 : at;
    *rest = str_from(*rest, after);
    return part;
}

/* The position after the '}' that ends the group at pattern[at]; *wanted: one of its arguments exists. */
static size_t pattern_group(const struct call *call, struct str pattern, size_t at, bool *wanted)
{
    *wanted = false;
    for (at++; at < pattern.size && pattern.data[at] != '}';) {
        if (pattern.data[at] == '$')
            *wanted |= pattern_argument(call, pattern, &at).argument != NULL;
        else
            at += pattern.data[at] == '\\' ? 2 : 1;
    }
    return at + 1 < pattern.size ? at + 1 : pattern.size;
}

/* The destination of a pattern's parts: they are shown, or collected as a value. */
struct sink {
    struct buf *value; /* NULL: they are shown */
    bool asked, found; /* arguments were asked for; one of them exists */
    bool failed;       /* a value that is needed cannot be read */
};

static void walk_pattern(struct call *call, struct str pattern, struct sink *sink, unsigned depth);

static void give_text(struct call *call, struct str text, struct sink *sink)
{
    if (!sink->value)
        show(call, text);
    else if (sink->value->size + text.size <= PATTERN_VALUE_MAX)
        buf_add_str(sink->value, text);
    else
        sink->failed = true;
}

static void give_break(struct call *call, struct sink *sink)
{
    if (sink->value)
        give_text(call, STR(" "), sink);
    else
        renders_push(call->out, (struct part){PART_BREAK, 0, 0});
}

static void give_argument(struct call *call, struct wanted wanted, struct sink *sink)
{
    sink->asked = true;
    sink->found |= wanted.argument || wanted.otherwise.size > 0;
    if (!wanted.argument && wanted.otherwise.size > 0)
        give_text(call, wanted.otherwise, sink);
    else if (!sink->value)
        show_argument(call, wanted.argument);
    else if (wanted.argument)
        give_text(call, call_value_of(call, wanted.argument), sink);
}

/* The plain text of a part of a function; *opaque: it contains a template, so it is unknown here. */
static struct str value_of(struct call *call, struct str part, struct buf *value, unsigned depth, bool *opaque)
{
    struct sink sink = {.value = value};
    const bool before = call->is_opaque;
    call->is_opaque = false;
    walk_pattern(call, part, &sink, depth + 1);
    *opaque = call->is_opaque || sink.failed;
    call->is_opaque = before;
    return str_trim(buf_str(value));
}

/* The case that {{#switch:}} selects: "Value|a=x|b|c=y|z". */
static struct str choose_case(struct str value, struct str rest)
{
    bool falls = false;
    struct str fallback = STR("");
    while (rest.size > 0) {
        struct str part = take_part(&rest, '|'), shown = part;
        const struct str key = str_trim(take_part(&shown, '='));
        const bool has_value = key.size < str_trim(part).size;
        falls |= str_equal(key, value);
        if (has_value && falls)
            return shown;
        if (has_value ? str_equal(key, STR("#default")) : rest.size == 0)
            fallback = has_value ? shown : part;
    }
    return fallback;
}

/* A function of a pattern: {#name first|rest}. */
struct pattern_call {
    struct call *call;
    struct sink *sink;
    unsigned depth;
    struct str name, first; /* `first`: the plain text of the first part */
    bool is_opaque;         /* it is unknown */
    struct str part, rest;  /* the first part as it stands; the others */
};

/* Shows one of the next two parts. */
static void walk_branch(struct pattern_call *p, bool holds)
{
    const struct str then = take_part(&p->rest, '|'), otherwise = take_part(&p->rest, '|');
    walk_pattern(p->call, holds ? then : otherwise, p->sink, p->depth + 1);
}

static struct expr first_expr(struct pattern_call *p)
{
    const struct expr expr = expr_read(p->first);
    p->call->steps += p->first.size;
    p->sink->failed |= p->is_opaque || expr.error;
    return expr;
}

/* Each function shows its result, and returns whether that is something even where no argument exists. */

static bool walk_if(struct pattern_call *p)
{
    walk_branch(p, p->is_opaque || p->first.size > 0);
    return true;
}

static bool walk_ifeq(struct pattern_call *p)
{
    SCOPED(buf_release) struct buf value = {0};
    bool opaque;
    const struct str second = value_of(p->call, take_part(&p->rest, '|'), &value, p->depth, &opaque);
    p->sink->failed |= p->is_opaque || opaque;
    walk_branch(p, str_equal(p->first, second));
    return true;
}

static bool walk_ifexpr(struct pattern_call *p)
{
    const struct expr expr = first_expr(p);
    walk_branch(p, expr_holds(&expr));
    return true;
}

static bool walk_expr(struct pattern_call *p)
{
    const struct expr expr = first_expr(p);
    give_text(p->call, str_of(expr.text), p->sink);
    return true;
}

static bool walk_switch(struct pattern_call *p)
{
    p->sink->failed |= p->is_opaque;
    walk_pattern(p->call, choose_case(p->first, p->rest), p->sink, p->depth + 1);
    return true;
}

static bool walk_title(struct pattern_call *p)
{
    give_text(p->call, p->call->page->title, p->sink);
    return true;
}

static bool walk_now(struct pattern_call *p)
{
    char text[16];
    p->sink->failed |= p->first.size != 1 || !call_revision_time(p->call, p->first.data[0], text);
    if (!p->sink->failed)
        give_text(p->call, str_of(text), p->sink);
    return true;
}

static bool walk_time(struct pattern_call *p)
{
    SCOPED(buf_release) struct buf value = {0}, shown = {0};
    bool opaque;
    const struct str text = value_of(p->call, take_part(&p->rest, '|'), &value, p->depth, &opaque);
    p->sink->failed |= p->is_opaque || opaque || !call_format_time(p->call, p->first, text, STR(""), &shown) ||
                       shown.size > PATTERN_TIME_MAX;
    give_text(p->call, buf_str(&shown), p->sink);
    return true;
}

static bool walk_case(struct pattern_call *p)
{
    if (p->is_opaque) { /* show it unchanged: its words are what matters */
        walk_pattern(p->call, p->part, p->sink, p->depth + 1);
        return false;
    }
    SCOPED(buf_release) struct buf value = {0};
    case_add(p->name, p->first, &value);
    give_text(p->call, buf_str(&value), p->sink);
    return p->first.size > 0;
}

static bool walk_num(struct pattern_call *p)
{
    char out[NUMBER_BYTES_MAX], local[NUMBER_BYTES_MAX];
    double number;
    int precision;
    struct str shown = p->first;
    if (p->first.size <= NUMBER_BYTES_MAX / 4 && number_read(p->first, &number, &precision))
        shown = number_localise(p->call->page->style, number_group(p->first, out), local);
    p->sink->failed |= p->is_opaque;
    give_text(p->call, shown, p->sink);
    return p->first.size > 0;
}

static const struct {
    const char *name;
    bool (*walk)(struct pattern_call *p);
} functions[] = {
    {"expr", walk_expr},    {"if", walk_if},   {"ifeq", walk_ifeq},    {"ifexpr", walk_ifexpr}, {"lc", walk_case},
    {"lcfirst", walk_case}, {"now", walk_now}, {"num", walk_num},      {"switch", walk_switch}, {"time", walk_time},
    {"title", walk_title},  {"uc", walk_case}, {"ucfirst", walk_case},
};

size_t pattern_function(struct str text)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        const size_t size = strlen(functions[i].name);
        if (str_starts(text, str_of(functions[i].name)) && size < text.size && text.data[size] == ' ')
            return size + 1;
    }
    return 0;
}

/* {#name first|rest}; `inner` is the text after '#'. */
static void walk_function(struct call *call, struct str inner, struct sink *sink, unsigned depth)
{
    if (depth >= PATTERN_DEPTH_MAX) {
        sink->failed = true;
        return;
    }
    SCOPED(buf_release) struct buf value = {0};
    struct pattern_call p = {.call = call, .sink = sink, .depth = depth};
    p.name = take_part(&inner, ' ');
    p.part = take_part(&inner, '|');
    p.rest = inner;
    p.first = value_of(call, p.part, &value, depth, &p.is_opaque);
    sink->asked = true;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (str_equal(p.name, str_of(functions[i].name)))
            sink->found |= functions[i].walk(&p);
}

static bool is_break(struct str pattern, size_t at)
{
    return pattern.data[at] == PATTERN_BREAK.data[0] && str_starts(str_from(pattern, at), PATTERN_BREAK);
}

static void walk_pattern(struct call *call, struct str pattern, struct sink *sink, unsigned depth)
{
    call->steps += pattern.size;
    for (size_t at = 0; at < pattern.size;) {
        const char byte = pattern.data[at];
        if (byte == '$') {
            give_argument(call, pattern_argument(call, pattern, &at), sink);
        } else if (byte == '{' && at + 1 < pattern.size && pattern.data[at + 1] == '#') {
            const size_t after = skip_braces(pattern, at);
            if (after > at + 3)
                walk_function(call, (struct str){pattern.data + at + 2, after - at - 3}, sink, depth);
            at = after;
        } else if (byte == '{') {
            bool wanted;
            const size_t after = pattern_group(call, pattern, at, &wanted);
            sink->asked = true;
            at = wanted ? at + 1 : after;
        } else if (byte == '}') {
            at++;
        } else if (is_break(pattern, at)) {
            give_break(call, sink);
            at += PATTERN_BREAK.size;
        } else {
            const bool is_escaped = byte == '\\' && at + 1 < pattern.size;
            size_t end = is_escaped ? ++at + 1 : at;
            if (is_escaped && strchr("<[", pattern.data[at]) && !sink->value) {
                const char meant = pattern.data[at] == '<' ? MEANT_TAG : MEANT_BRACKET;
                show(call, (struct str){&meant, 1});
                at++;
                continue;
            }
            while (end < pattern.size && !strchr("${}\\", pattern.data[end]) && !is_break(pattern, end))
                end++;
            end += end == at;
            give_text(call, (struct str){pattern.data + at, end - at}, sink);
            at = end;
        }
    }
}

bool show_pattern(struct call *call, struct str pattern)
{
    struct sink sink = {0};
    call->is_block = str_starts(pattern, PATTERN_BREAK);
    const size_t from = call->is_block ? PATTERN_BREAK.size : 0;
    walk_pattern(call, str_from(pattern, from), &sink, 0);
    call->has_pattern &= !sink.failed;
    return pattern.size > 0 && (sink.found || !sink.asked) && !sink.failed;
}
