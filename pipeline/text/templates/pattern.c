/* Patterns: "$1 ($2)", "{#if $1|$1 m|none}". Functions are nested at most PATTERN_DEPTH_MAX deep, which renderings.c
 * checks, so the recursion is bounded. */
#include "pipeline/text/templates/call.h"

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
            wanted.otherwise = str_range(pattern.data + from, pattern.data + i);
        i++;
    } else {
        unsigned number = 0;
        while (i < pattern.size && pattern.data[i] >= '0' && pattern.data[i] <= '9' && number < 10)
            number = number * 10 + (unsigned)(pattern.data[i++] - '0');
        wanted.argument = call_numbered(call, number);
    }
    *at = i < pattern.size ? i : pattern.size;
    return wanted;
}

size_t pattern_skip(struct str pattern, size_t at)
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

struct str pattern_part(struct str *rest, char separator)
{
    size_t at = 0;
    while (at < rest->size && rest->data[at] != separator) {
        if (rest->data[at] == '{')
            at = pattern_skip(*rest, at);
        else
            at += rest->data[at] == '\\' ? 2 : 1;
    }
    if (at > rest->size)
        at = rest->size;
    const struct str part = {rest->data, at};
    const size_t after = at < rest->size ? at + 1 : at;
    *rest = (struct str){rest->data + after, rest->size - after};
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
        struct str part = pattern_part(&rest, '|'), shown = part;
        const struct str key = str_trim(pattern_part(&shown, '='));
        const bool has_value = key.size < str_trim(part).size;
        falls |= str_equal(key, value);
        if (has_value && falls)
            return shown;
        if (has_value ? str_equal(key, STR("#default")) : rest.size == 0)
            fallback = has_value ? shown : part;
    }
    return fallback;
}

/* {#name a|b|c}; `inner` is the text after '#'. */
static void walk_function(struct call *call, struct str inner, struct sink *sink, unsigned depth)
{
    struct buf value = {0}, other = {0};
    bool opaque = false, other_opaque = false;
    struct str name = pattern_part(&inner, ' ');
    if (depth >= PATTERN_DEPTH_MAX) {
        sink->failed = true;
        return;
    }
    const struct str whole = pattern_part(&inner, '|'), first = value_of(call, whole, &value, depth, &opaque);
    sink->asked = true;
    if (str_equal(name, STR("if"))) {
        const struct str then = pattern_part(&inner, '|'), otherwise = pattern_part(&inner, '|');
        walk_pattern(call, opaque || first.size > 0 ? then : otherwise, sink, depth + 1);
        sink->found = true;
    } else if (str_equal(name, STR("ifeq"))) {
        const struct str second = value_of(call, pattern_part(&inner, '|'), &other, depth, &other_opaque);
        const struct str then = pattern_part(&inner, '|'), otherwise = pattern_part(&inner, '|');
        sink->failed |= opaque || other_opaque;
        walk_pattern(call, str_equal(first, second) ? then : otherwise, sink, depth + 1);
        sink->found = true;
    } else if (str_equal(name, STR("switch"))) {
        sink->failed |= opaque;
        walk_pattern(call, choose_case(first, inner), sink, depth + 1);
        sink->found = true;
    } else if (str_equal(name, STR("expr")) || str_equal(name, STR("ifexpr"))) {
        const struct expr expr = expr_read(first);
        call->steps += first.size;
        const struct str then = pattern_part(&inner, '|'), otherwise = pattern_part(&inner, '|');
        sink->failed |= opaque || expr.error;
        if (name.size > strlen("expr"))
            walk_pattern(call, expr_holds(&expr) ? then : otherwise, sink, depth + 1);
        else
            give_text(call, str_of(expr.text), sink);
        sink->found = true;
    } else if (str_equal(name, STR("title"))) {
        give_text(call, call->page->title, sink);
        sink->found = true;
    } else if (str_equal(name, STR("now"))) {
        char text[16];
        sink->failed |= first.size != 1 || !call_revision_time(call, first.data[0], text);
        if (!sink->failed)
            give_text(call, str_of(text), sink);
        sink->found = true;
    } else if (str_equal(name, STR("time"))) {
        struct buf shown = {0};
        const struct str text = value_of(call, pattern_part(&inner, '|'), &other, depth, &other_opaque);
        sink->failed |=
            opaque || other_opaque || !call_format_time(call, first, text, &shown) || shown.size > PATTERN_TIME_MAX;
        give_text(call, buf_str(&shown), sink);
        sink->found = true;
        buf_release(&shown);
    } else if (str_ends(name, STR("first")) || str_equal(name, STR("lc")) || str_equal(name, STR("uc"))) {
        if (opaque) { /* show it unchanged: its words are what matters */
            walk_pattern(call, whole, sink, depth + 1);
        } else {
            case_add(name, first, &other);
            give_text(call, buf_str(&other), sink);
            sink->found |= first.size > 0;
        }
    } else if (str_equal(name, STR("num"))) {
        char out[NUMBER_BYTES_MAX], local[NUMBER_BYTES_MAX];
        double number;
        int precision;
        sink->failed |= opaque;
        sink->found |= first.size > 0;
        if (first.size <= NUMBER_BYTES_MAX / 4 && number_read(first, &number, &precision))
            give_text(call, number_localise(call->page->style, number_group(first, out), local), sink);
        else
            give_text(call, first, sink);
    }
    buf_release(&value);
    buf_release(&other);
}

static void walk_pattern(struct call *call, struct str pattern, struct sink *sink, unsigned depth)
{
    call->steps += pattern.size;
    for (size_t at = 0; at < pattern.size;) {
        const char byte = pattern.data[at];
        if (byte == '$') {
            give_argument(call, pattern_argument(call, pattern, &at), sink);
        } else if (byte == '{' && at + 1 < pattern.size && pattern.data[at + 1] == '#') {
            const size_t after = pattern_skip(pattern, at);
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
        } else {
            size_t end = byte == '\\' && at + 1 < pattern.size ? ++at + 1 : at;
            while (end < pattern.size && !strchr("${}\\", pattern.data[end]))
                end++;
            end += end == at;
            give_text(call, (struct str){pattern.data + at, end - at}, sink);
            at = end;
        }
    }
}

bool show_pattern(struct call *call, struct str pattern)
{
    const size_t mark = strlen("¶");
    struct sink sink = {0};
    call->is_block = str_starts(pattern, STR("¶"));
    const size_t from = call->is_block ? mark : 0;
    walk_pattern(call, (struct str){pattern.data + from, pattern.size - from}, &sink, 0);
    call->has_pattern &= !sink.failed;
    return pattern.size > 0 && (sink.found || !sink.asked) && !sink.failed;
}
