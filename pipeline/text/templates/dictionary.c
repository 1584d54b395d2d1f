#include "pipeline/text/templates/dictionary.h"

#include "base/arena.h"
#include "base/mem.h"
#include "pipeline/text/templates/pattern.h"
#include "pipeline/text/templates/renderings.h"

#include <stdlib.h>

#define DEPTH_MAX    16u /* templates in templates */
#define COMPUTED_MAX 48u /* templates that one computed name may stand for */
#define TRIES_MAX    64u /* of computed names, for one template */
#define ALIASES_MAX  8u
#define ARGS_MAX     48u

struct entry {
    struct str name, text;
    struct str waiting; /* its rendering with unexpanded calls, if one of their names is computed; else "" */
    enum body_kind kind;
    enum { ENTRY_RAW, ENTRY_OPEN, ENTRY_DONE } state;
    size_t number; /* in the order of adding */
};

struct dictionary {
    struct entry *entries;
    size_t count, capacity;
    struct arena arena;
    size_t bytes;
    struct str code;
    unsigned tries; /* left for the template being resolved */
};

struct dictionary *dictionary_open(void)
{
    return mem_clear(1, sizeof(struct dictionary));
}

void dictionary_close(struct dictionary *d)
{
    if (!d)
        return;
    arena_release(&d->arena);
    mem_free(d->entries);
    mem_free(d);
}

void dictionary_add(struct dictionary *d, struct str name, enum body_kind kind, struct str text)
{
    d->bytes += sizeof(struct entry) + name.size + text.size;
    if (d->bytes > DICTIONARY_BYTES_MAX)
        return;
    if (d->count == d->capacity) {
        d->capacity = d->capacity ? d->capacity * 2 : 256;
        d->entries = mem_grow(d->entries, d->capacity, sizeof d->entries[0]);
    }
    d->entries[d->count] = (struct entry){
        .name = arena_copy(&d->arena, name), .text = arena_copy(&d->arena, text), .kind = kind, .number = d->count};
    d->count++;
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *left = a, *right = b;
    const int order = str_compare(left->name, right->name);
    return order ? order : (left->number > right->number) - (left->number < right->number);
}

static void sort_entries(struct dictionary *d)
{
    size_t kept = 0;
    if (d->count > 0)
        qsort(d->entries, d->count, sizeof d->entries[0], compare_entries);
    for (size_t i = 0; i < d->count; i++)
        if (kept == 0 || !str_equal(d->entries[i].name, d->entries[kept - 1].name))
            d->entries[kept++] = d->entries[i];
    d->count = kept;
}

static struct entry *find(const struct dictionary *d, struct str name)
{
    size_t low = 0, high = d->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = str_compare(d->entries[middle].name, name);
        if (order == 0)
            return &d->entries[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* Finds an entry through its redirects; *name becomes the last name. */
static struct entry *find_resolved(const struct dictionary *d, struct str *name)
{
    struct entry *entry = find(d, *name);
    for (unsigned i = 0; entry && entry->kind == BODY_ALIAS; i++) {
        *name = entry->text;
        entry = i < ALIASES_MAX ? find(d, *name) : NULL;
    }
    return entry;
}

/* ---- a pattern with its arguments put in ---- */

struct args {
    size_t count;
    struct str keys[ARGS_MAX], values[ARGS_MAX]; /* values are patterns */
};

/* The last argument of that name; NULL: not given. */
static const struct str *arg_of(const struct args *args, struct str key)
{
    for (size_t i = args->count; i-- > 0;)
        if (str_equal(args->keys[i], key))
            return &args->values[i];
    return NULL;
}

static bool is_constant(struct str pattern)
{
    return pattern.size == 0 || (!memchr(pattern.data, '$', pattern.size) && !memchr(pattern.data, '{', pattern.size));
}

/* The value of "${a|b=c}" or "$1" at pattern[*at], which is skipped. The pattern may end within it: those whose calls
 * have computed names were not checked yet. */
static struct str value_at(struct str pattern, size_t *at, const struct args *args)
{
    size_t i = *at + 1, end = i;
    if (i >= pattern.size || pattern.data[i] != '{') {
        while (end < pattern.size && pattern.data[end] >= '0' && pattern.data[end] <= '9')
            end++;
        *at = end;
        const struct str *value = arg_of(args, str_range(pattern.data + i, pattern.data + end));
        return value ? *value : STR("");
    }
    *at = pattern_skip(pattern, i++);
    end = *at > i ? *at - 1 : i;
    struct str names = str_range(pattern.data + i, pattern.data + end), found = STR(""), otherwise = STR("");
    const char *equals = memchr(names.data, '=', names.size);
    if (equals) {
        otherwise = str_range(equals + 1, names.data + names.size);
        names = str_range(names.data, equals);
    }
    while (names.size > 0 && found.size == 0) {
        const struct str *value = arg_of(args, pattern_part(&names, '|'));
        found = value ? *value : STR("");
    }
    return found.size > 0 ? found : otherwise;
}

static bool put(struct str pattern, const struct args *args, bool in_function, unsigned depth, struct buf *out);

/* {#name a|b|c}; `inner` is the text after '#'. If the condition is known, only the chosen part is added. */
static bool put_function(struct str inner, const struct args *args, bool in_function, unsigned depth, struct buf *out)
{
    struct buf first = {0};
    struct str rest = inner;
    const struct str name = pattern_part(&rest, ' '), condition = pattern_part(&rest, '|');
    bool good = put(condition, args, true, depth + 1, &first);
    const bool settled = is_constant(buf_str(&first));
    const struct str *given = str_equal(name, STR("given")) ? arg_of(args, str_trim(condition)) : NULL;
    if (good && str_equal(name, STR("given"))) {
        if (given)
            buf_add_str(out, *given);
        else
            good = put(pattern_part(&rest, '|'), args, in_function, depth + 1, out);
    } else if (good && settled && str_equal(name, STR("if"))) {
        const struct str then = pattern_part(&rest, '|'), otherwise = pattern_part(&rest, '|');
        good = put(str_trim(buf_str(&first)).size > 0 ? then : otherwise, args, in_function, depth + 1, out);
    } else if (good) {
        buf_addf(out, "{#%.*s ", (int)name.size, name.data);
        buf_add_str(out, buf_str(&first));
        while (good && rest.size > 0) {
            struct str part = pattern_part(&rest, '|');
            buf_add_byte(out, '|');
            if (str_equal(name, STR("switch"))) {
                struct str shown = part;
                const struct str key = pattern_part(&shown, '=');
                if (key.size < part.size) {
                    good = put(key, args, true, depth + 1, out);
                    buf_add_byte(out, '=');
                    part = shown;
                }
            }
            good = good && put(part, args, true, depth + 1, out);
        }
        buf_add_byte(out, '}');
    }
    buf_release(&first);
    return good;
}

/* {, $3}: shown if one of its arguments exists. */
static bool put_group(struct str inner, const struct args *args, bool in_function, unsigned depth, struct buf *out)
{
    struct buf values = {0};
    bool good = true;
    for (size_t at = 0; at < inner.size;) {
        if (inner.data[at] == '$')
            buf_add_str(&values, value_at(inner, &at, args));
        else
            at += inner.data[at] == '\\' ? 2 : 1;
    }
    if (is_constant(buf_str(&values))) {
        good = values.size == 0 || put(inner, args, in_function, depth + 1, out);
    } else {
        buf_addf(out, "{#if ");
        buf_add_str(out, buf_str(&values));
        buf_add_byte(out, '|');
        good = put(inner, args, true, depth + 1, out);
        buf_add_byte(out, '}');
    }
    buf_release(&values);
    return good;
}

/* Appends the pattern with its arguments inserted; false if it becomes too long or too deep. */
static bool put(struct str pattern, const struct args *args, bool in_function, unsigned depth, struct buf *out)
{
    if (depth > DEPTH_MAX || out->size > 4 * PATTERN_BYTES_MAX)
        return false;
    for (size_t at = 0; at < pattern.size;) {
        const char byte = pattern.data[at];
        if (byte == '$') {
            buf_add_str(out, value_at(pattern, &at, args));
        } else if (byte == '{') {
            const size_t after = pattern_skip(pattern, at);
            const bool is_function = at + 1 < pattern.size && pattern.data[at + 1] == '#';
            const size_t from = at + (is_function ? 2 : 1);
            if (after <= from)
                return false;
            const struct str inner = str_range(pattern.data + from, pattern.data + after - 1);
            if (!(is_function ? put_function : put_group)(inner, args, in_function, depth, out))
                return false;
            at = after;
        } else if (byte == '\\' && at + 1 < pattern.size) {
            buf_add(out, pattern.data + at, 2);
            at += 2;
        } else {
            if (in_function && (byte == '|' || byte == '='))
                buf_add_byte(out, '\\');
            buf_add_byte(out, byte);
            at++;
        }
    }
    return out->size <= 4 * PATTERN_BYTES_MAX;
}

/* ------------------------------------------------------------------------------------ calls become what they show */

static void resolve(struct dictionary *d, struct entry *entry, unsigned depth);

/* The position after the BODY_END of the call that begins at text[at]. */
static size_t call_end(struct str text, size_t at)
{
    size_t depth = 0;
    for (; at < text.size; at++) {
        depth += text.data[at] == BODY_CALL;
        if (text.data[at] == BODY_END && --depth == 0)
            return at + 1;
    }
    return text.size;
}

/* The position of the next BODY_KEY or BODY_END of this call. */
static size_t value_end(struct str text, size_t at)
{
    while (at < text.size && text.data[at] != BODY_KEY && text.data[at] != BODY_END) {
        if (text.data[at] == BODY_CALL)
            at = call_end(text, at);
        else
            at++;
    }
    return at;
}

/* What the template of that name shows, as a pattern; BODY_OTHER: unknown. */
static enum body_kind pattern_of(struct dictionary *d, struct str name, unsigned depth, struct str *pattern)
{
    struct entry *entry = find_resolved(d, &name);
    *pattern = STR("");
    if (entry) {
        resolve(d, entry, depth);
        *pattern = entry->text;
        if (entry->state == ENTRY_DONE && entry->kind != BODY_OTHER)
            return entry->kind;
    }
    const char *row = template_pattern(name, d->code);
    *pattern = row ? str_of(row) : STR("");
    return row ? BODY_PATTERN : BODY_OTHER;
}

static enum body_kind expand(struct dictionary *d, struct str text, bool in_function, unsigned depth, struct buf *out);

/* Expands a template whose own calls have computed names, by inserting the arguments of this call into them. */
static enum body_kind expand_waiting(struct dictionary *d, struct str waiting, const struct args *args,
                                     bool in_function, unsigned depth, struct buf *out)
{
    struct buf text = {0};
    enum body_kind kind = BODY_OTHER;
    if (d->tries > 0 && depth <= DEPTH_MAX) {
        d->tries--;
        if (put(waiting, args, in_function, depth, &text))
            kind = expand(d, buf_str(&text), in_function, depth + 1, out);
    }
    buf_release(&text);
    return kind;
}

/* Expands the template with its arguments, which begin at text[at]. */
static enum body_kind expand_named(struct dictionary *d, struct str name, struct str text, size_t at, bool in_function,
                                   unsigned depth, struct buf *out)
{
    struct str pattern, called = name;
    enum body_kind kind = pattern_of(d, name, depth + 1, &pattern);
    const struct entry *entry = find_resolved(d, &called);
    const struct str waiting = kind == BODY_OTHER && entry ? entry->waiting : STR("");
    if (kind == BODY_NOTE)
        return BODY_PATTERN;
    if (kind != BODY_PATTERN && waiting.size == 0)
        return kind == BODY_BOUND ? BODY_OTHER : kind;
    kind = BODY_PATTERN;
    struct args args = {0};
    struct buf values[ARGS_MAX] = {{0}};
    while (at < text.size && text.data[at] == BODY_KEY && args.count < ARGS_MAX && kind == BODY_PATTERN) {
        const char *value = memchr(text.data + at, BODY_VALUE, text.size - at);
        if (!value)
            break;
        const size_t from = (size_t)(value - text.data) + 1, end = value_end(text, from);
        args.keys[args.count] = str_range(text.data + at + 1, value);
        kind = expand(d, str_range(text.data + from, text.data + end), true, depth + 1, &values[args.count]);
        args.count++;
        at = end;
    }
    for (size_t i = 0; i < args.count; i++)
        args.values[i] = buf_str(&values[i]);
    const bool is_block = str_starts(pattern, PATTERN_BREAK) && (out->size > 0 || in_function);
    if (kind == BODY_PATTERN && waiting.size > 0)
        kind = expand_waiting(d, waiting, &args, in_function, depth, out);
    else if (kind == BODY_PATTERN && !put(pattern, &args, in_function, depth, out))
        kind = BODY_OTHER;
    if (is_block && !str_equal(pattern, PATTERN_BREAK))
        buf_add_str(out, PATTERN_BREAK);
    for (size_t i = 0; i < args.count; i++)
        buf_release(&values[i]);
    return kind;
}

/* Appends the text of a pattern without arguments. */
static void add_plain(struct str pattern, struct buf *out)
{
    for (size_t at = 0; at < pattern.size; at++) {
        at += pattern.data[at] == '\\' && at + 1 < pattern.size;
        buf_add_byte(out, pattern.data[at]);
    }
}

static void add_escaped(struct str text, struct buf *out)
{
    for (size_t at = 0; at < text.size; at++) {
        if (strchr("${}\\|=", text.data[at]))
            buf_add_byte(out, '\\');
        buf_add_byte(out, text.data[at]);
    }
}

/* "tl-${1}x" → "Tl-", "${1}", "x" if the name contains one argument; false if it contains none, or nothing else. */
static bool cut_name(struct str pattern, struct buf *prefix, struct str *asked, struct buf *suffix)
{
    size_t from = 0;
    while (from < pattern.size && pattern.data[from] != '$' && pattern.data[from] != '{')
        from += pattern.data[from] == '\\' ? 2 : 1;
    if (from >= pattern.size)
        return false;
    size_t end = from + 1;
    if (pattern.data[from] == '{' || (end < pattern.size && pattern.data[end] == '{'))
        end = pattern_skip(pattern, pattern.data[from] == '{' ? from : end);
    else
        while (end < pattern.size && pattern.data[end] >= '0' && pattern.data[end] <= '9')
            end++;
    const struct str rest = {pattern.data + end, pattern.size - end};
    *asked = (struct str){pattern.data + from, end - from};
    add_plain((struct str){pattern.data, from}, prefix);
    add_plain(rest, suffix);
    return is_constant(rest) && prefix->size + suffix->size >= 2;
}

/* Expands a call whose name depends on an argument: a choice among the templates that the name may mean. */
static enum body_kind expand_choice(struct dictionary *d, struct str computed, struct str text, size_t at,
                                    unsigned depth, struct buf *out)
{
    struct buf prefix = {0}, suffix = {0};
    struct str asked;
    char canonical[NAME_BYTES_MAX];
    enum body_kind kind = cut_name(computed, &prefix, &asked, &suffix) ? BODY_PATTERN : BODY_OTHER;
    size_t count = 0;
    buf_add_byte(&prefix, 'X'); /* so that a blank before the argument stays */
    struct str begin = name_canonical(buf_str(&prefix), canonical);
    const struct str end = buf_str(&suffix);
    if (begin.size < 2)
        kind = BODY_OTHER;
    begin.size -= begin.size > 0;
    if (kind == BODY_PATTERN) {
        buf_addf(out, "{#switch ");
        buf_add_str(out, asked);
    }
    for (size_t i = 0; i < d->count && kind == BODY_PATTERN; i++) {
        const struct str name = d->entries[i].name;
        if (name.size <= begin.size + end.size || !str_starts(name, begin) || !str_ends(name, end))
            continue;
        if (++count > COMPUTED_MAX || d->tries == 0 || out->size > 4 * PATTERN_BYTES_MAX) {
            kind = BODY_OTHER;
            break;
        }
        d->tries--;
        buf_add_byte(out, '|');
        add_escaped((struct str){name.data + begin.size, name.size - begin.size - end.size}, out);
        buf_add_byte(out, '=');
        kind = expand_named(d, name, text, at, true, depth, out);
    }
    if (count == 0)
        kind = BODY_OTHER;
    buf_add_text(out, "|#default={#expr ?}}"); /* an error, so that other names are not rendered */
    buf_release(&prefix);
    buf_release(&suffix);
    return kind;
}

/* Expands the call in `text`: its name, then its arguments. */
static enum body_kind expand_call(struct dictionary *d, struct str text, bool in_function, unsigned depth,
                                  struct buf *out)
{
    const size_t at = value_end(text, 1);
    struct str name = {text.data + 1, at - 1};
    struct buf computed = {0}, plain = {0};
    char canonical[NAME_BYTES_MAX];
    enum body_kind kind = BODY_PATTERN;
    if (name.size == 0 || name.data[0] != BODY_COMPUTED)
        return expand_named(d, name, text, at, in_function, depth, out);
    kind = expand(d, (struct str){name.data + 1, name.size - 1}, true, depth + 1, &computed);
    name = str_trim(buf_str(&computed));
    if (kind == BODY_PATTERN && is_constant(name)) {
        add_plain(name, &plain);
        name = name_canonical(buf_str(&plain), canonical);
        kind = name.size > 0 ? expand_named(d, name, text, at, in_function, depth, out) : BODY_OTHER;
    } else if (kind == BODY_PATTERN) {
        kind = expand_choice(d, name, text, at, depth, out);
    }
    buf_release(&computed);
    buf_release(&plain);
    return kind;
}

/* Appends a rendering with its calls expanded: BODY_PATTERN, or the kind that it is instead. */
static enum body_kind expand(struct dictionary *d, struct str text, bool in_function, unsigned depth, struct buf *out)
{
    if (depth > DEPTH_MAX)
        return BODY_OTHER;
    for (size_t at = 0; at < text.size;) {
        if (text.data[at] != BODY_CALL) {
            const char *call = memchr(text.data + at, BODY_CALL, text.size - at);
            const size_t end = call ? (size_t)(call - text.data) : text.size;
            /* A call in a function's braces stands in a function. */
            buf_add(out, text.data + at, end - at);
            for (; at < end; at++) {
                in_function |= text.data[at] == '{' && at + 1 < end && text.data[at + 1] == '#';
            }
            continue;
        }
        const size_t end = call_end(text, at);
        const enum body_kind kind = expand_call(d, str_range(text.data + at, text.data + end), in_function, depth, out);
        if (kind != BODY_PATTERN)
            return kind;
        if (out->size > 4 * PATTERN_BYTES_MAX)
            return BODY_OTHER;
        at = end;
    }
    return BODY_PATTERN;
}

/* A template that only calls one with a renderer gets that renderer as well: {{cvt|…}}. */
static bool takes_over(struct dictionary *d, struct entry *entry, unsigned depth)
{
    const struct str text = entry->text;
    if (text.size == 0 || text.data[0] != BODY_CALL || call_end(text, 0) != text.size)
        return false;
    struct str name = {text.data + 1, value_end(text, 1) - 1};
    struct entry *other = find_resolved(d, &name);
    if (!other)
        return false;
    resolve(d, other, depth + 1);
    if (other->kind != BODY_BOUND || other->state != ENTRY_DONE)
        return false;
    entry->kind = BODY_BOUND;
    entry->text = other->text;
    return true;
}

static void settle(struct dictionary *d, struct entry *entry, enum body_kind kind, struct str text)
{
    entry->kind = kind;
    entry->text = kind == BODY_PATTERN ? arena_copy(&d->arena, text) : STR("");
}

/* Escapes an @ that begins a pattern, where a reader of the line would look for a binding. */
static void protect_at(struct buf *pattern)
{
    const struct str text = str_trim(buf_str(pattern));
    if (!str_starts(text, STR("@")))
        return;
    const size_t at = (size_t)(text.data - pattern->data);
    buf_add_byte(pattern, '\0');
    memmove(pattern->data + at + 1, pattern->data + at, pattern->size - 1 - at);
    pattern->data[at] = '\\';
}

static void resolve(struct dictionary *d, struct entry *entry, unsigned depth)
{
    if (entry->state != ENTRY_RAW)
        return; /* a template that calls itself stays unknown */
    const unsigned tries = d->tries;
    entry->state = ENTRY_OPEN;
    d->tries = TRIES_MAX;
    if (entry->kind == BODY_PATTERN && !takes_over(d, entry, depth)) {
        struct buf out = {0};
        const struct str waiting = entry->text;
        enum body_kind kind = depth > DEPTH_MAX ? BODY_OTHER : expand(d, entry->text, false, depth, &out);
        if (kind == BODY_PATTERN && str_ends(str_trim(buf_str(&out)), STR("\\")) && out.data[out.size - 1] != '\\')
            buf_add_text(&out, "{#if |}"); /* &#32; alone: a line's end is trimmed when it is read */
        protect_at(&out);
        const struct str pattern = buf_str(&out);
        if (kind == BODY_PATTERN && str_trim(pattern).size == 0)
            kind = BODY_NOTE;
        else if (kind == BODY_PATTERN && (pattern_mistake(pattern) || !utf8_valid(pattern)))
            kind = BODY_OTHER;
        settle(d, entry, kind, pattern);
        if (kind == BODY_OTHER && waiting.size > 0 && memchr(waiting.data, BODY_COMPUTED, waiting.size))
            entry->waiting = waiting;
        buf_release(&out);
    } else if (entry->kind == BODY_BOUND && str_equal(entry->text, STR("lang"))) {
        settle(d, entry, BODY_PATTERN, STR("${text|2}"));
    }
    entry->state = ENTRY_DONE;
    d->tries = tries;
}

/* A line cannot say it of any name. */
static bool has_line(struct str name)
{
    return name.size > 0 && name.data[0] != '#' && !memchr(name.data, '=', name.size) &&
           !memchr(name.data, '|', name.size) && !memchr(name.data, '{', name.size) &&
           !memchr(name.data, '}', name.size) && !memchr(name.data, '\n', name.size);
}

static void print_entry(struct dictionary *d, const struct entry *entry, struct buf *out)
{
    static const char *const marks[] = {[BODY_NOTE] = "@note", [BODY_BOX] = "@box", [BODY_TABLE] = "@table"};
    struct str resolved = entry->name, pattern;
    if (!has_line(entry->name) || entry->kind == BODY_OTHER)
        return;
    if (entry->kind == BODY_ALIAS) {
        if (!has_line(entry->text) || str_equal(entry->text, entry->name))
            return;
        const struct entry *target = find_resolved(d, &resolved);
        const bool known = (target && target->kind != BODY_OTHER) ||
                           pattern_of(d, resolved, 0, &pattern) != BODY_OTHER || template_has_row(resolved, d->code);
        if (known)
            buf_addf(out, "%.*s => %.*s\n", (int)entry->name.size, entry->name.data, (int)entry->text.size,
                     entry->text.data);
        return;
    }
    buf_addf(out, "%.*s = ", (int)entry->name.size, entry->name.data);
    if (entry->kind == BODY_BOUND)
        buf_addf(out, "@%.*s\n", (int)entry->text.size, entry->text.data);
    else if (entry->kind == BODY_PATTERN)
        buf_addf(out, "%.*s\n", (int)entry->text.size, entry->text.data);
    else
        buf_addf(out, "%s\n", marks[entry->kind]);
}

struct dictionary_facts dictionary_print(struct dictionary *d, struct str code, struct buf *out)
{
    struct dictionary_facts facts = {0};
    d->code = code;
    sort_entries(d);
    for (size_t i = 0; i < d->count; i++)
        resolve(d, &d->entries[i], 0);
    if (d->count > 0)
        buf_addf(
            out,
            "# Templates of a wiki (%.*s), from its own pages: what each shows, \"=>\" another name of one, @ how one "
            "is drawn.\n",
            (int)code.size, code.data);
    for (size_t i = 0; i < d->count; i++) {
        struct entry *entry = &d->entries[i];
        struct str name = entry->name;
        const struct entry *target = find_resolved(d, &name);
        facts.read++;
        facts.rendered += target && (target->kind == BODY_PATTERN || target->kind == BODY_BOUND);
        print_entry(d, entry, out);
    }
    return facts;
}
