/* Renderings from a user or a dump: a file of lines "name = pattern", read once into a hash table. */
#include "pipeline/text/templates/renderings.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "pipeline/text/templates/expand_body.h"
#include "pipeline/text/templates/pattern.h"

#define WIKITEXT    STR("@wikitext")
#define ALIASES_MAX 8u /* longest chain of aliases */

#define GIVEN(name) {#name, render_##name, true},
#define OURS(name)  {#name, render_##name, false},

// clang-format off
static const struct {
    const char *name;
    render *render; /* NULL: a mark */
    bool is_given;
} bindings[] = {
    {"box", NULL, true}, {"note", NULL, true}, {"page", NULL, true}, {"table", NULL, true}, RENDERERS_GIVEN(GIVEN) RENDERERS_OURS(OURS)
};
// clang-format on

struct templates {
    struct rendering_row *rows; /* in the order of the file */
    size_t count, capacity;
    uint32_t *slots; /* [slot_count], a power of two: 1 + the row of that hash, or the next free one; 0: free */
    size_t slot_count;
    struct arena arena;
    struct body_cache *bodies;
};

/* The slot of the name, or the free one where it belongs. */
static uint32_t *find_slot(const struct templates *templates, struct str name)
{
    size_t at = hash64(name.data, name.size) & (templates->slot_count - 1);
    while (templates->slots[at] != 0 && !str_equal(templates->rows[templates->slots[at] - 1].name, name))
        at = (at + 1) & (templates->slot_count - 1);
    return &templates->slots[at];
}

static const struct rendering_row *find_row(const struct templates *templates, struct str name)
{
    if (!templates || templates->count == 0)
        return NULL;
    const uint32_t slot = *find_slot(templates, name);
    return slot == 0 ? NULL : &templates->rows[slot - 1];
}

const struct rendering_row *templates_find(const struct templates *templates, struct str *name)
{
    const struct rendering_row *row = find_row(templates, *name);
    for (unsigned i = 0; row && row->kind == RENDERING_ALIAS; i++) {
        *name = row->pattern;
        row = i < ALIASES_MAX ? find_row(templates, *name) : NULL;
    }
    return row;
}

size_t templates_index(const struct templates *templates, const struct rendering_row *row)
{
    return (size_t)(row - templates->rows);
}

const struct rendering_row *templates_row(const struct templates *templates, size_t index)
{
    return &templates->rows[index];
}

struct body_cache *templates_bodies(const struct templates *templates)
{
    return templates->bodies;
}

/* The end of the argument's name after the '$' at pattern[at]; 0 if it is invalid. */
static size_t check_argument(struct str pattern, size_t at)
{
    size_t end = at + 1;
    if (end < pattern.size && pattern.data[end] == '{') {
        const char *close = memchr(pattern.data + end, '}', pattern.size - end);
        return close && close > pattern.data + end + 1 ? (size_t)(close - pattern.data) + 1 : 0;
    }
    while (end < pattern.size && ascii_is_digit(pattern.data[end]))
        end++;
    return end == at + 1 || end > at + 3 || pattern.data[at + 1] == '0' ? 0 : end;
}

const char *pattern_mistake(struct str pattern)
{
    bool in_group = false;
    size_t parts = 0, depth = 0, of_page = 0;
    /* A dump calls templates by the million, so the limits bound what one call can cost. */
    if (pattern.size > PATTERN_BYTES_MAX)
        return "the rendering is longer than 1024 bytes";
    for (size_t at = 0; at < pattern.size;) {
        const char byte = pattern.data[at];
        if (byte == '$') {
            at = check_argument(pattern, at);
            if (at == 0)
                return "a $ must be followed by a number from 1 to 99 or {name}; a dollar sign is \\$";
            if (++parts > PATTERN_PARTS_MAX)
                return "the rendering has more than 64 arguments";
            continue;
        }
        if ((unsigned char)byte < ' ' && byte != '\t')
            return "the rendering holds a control character";
        if (byte == '{' && in_group)
            return "a { is inside another {; a literal brace is \\{";
        if (byte == '{' && at + 1 < pattern.size && pattern.data[at + 1] == '#') {
            const struct str function = {pattern.data + at + 2, pattern.size - at - 2};
            of_page += str_starts(function, STR("ti")) || str_starts(function, STR("now"));
            if (of_page > PATTERN_PAGE_MAX)
                return "the rendering asks more than 4 times for the page's title or time";
            const size_t name = pattern_function(function);
            if (name == 0)
                return "{# must be followed by expr, if, ifeq, ifexpr, lc, lcfirst, now, num, switch, time, title, uc "
                       "or "
                       "ucfirst, and a blank";
            at += strlen("{#") + name;
            if (++depth > PATTERN_DEPTH_MAX)
                return "functions are nested more than 8 deep";
            continue;
        }
        if (byte == '}' && !in_group && depth == 0)
            return "a } closes nothing; a literal brace is \\}";
        if (byte == '\\' && at + 1 == pattern.size)
            return "a \\ is at the end";
        depth -= byte == '}' && !in_group;
        in_group = byte == '{' || (in_group && byte != '}');
        at += byte == '\\' ? 2 : 1;
    }
    return in_group || depth > 0 ? "a { is not closed" : NULL;
}

/* "@convert" */
static const char *bind(struct rendering_row *row, struct str name)
{
    for (size_t i = 0; i < sizeof bindings / sizeof *bindings; i++) {
        if (!str_equal(name, str_of(bindings[i].name)))
            continue;
        if (!bindings[i].is_given)
            return "only the tables of the program itself may name this @renderer";
        row->kind = bindings[i].render ? RENDERING_BOUND : RENDERING_MARK;
        row->render = bindings[i].render;
        row->pattern = str_equal(name, STR("join")) ? STR(", ") : STR(""); /* its parameter */
        return NULL;
    }
    return "an @ must be followed by box, chem, convert, coord, cvt, date, fraction, join, langx, note, number, page, "
           "table, "
           "unit, val or wikitext; a literal @ is \\@";
}

/* The wikitext after "@wikitext ": \n is a line end, \s a blank, \\ a backslash. */
static struct str read_body(struct templates *templates, struct str text)
{
    char *body = arena_alloc(&templates->arena, text.size + 1);
    size_t size = 0;
    for (size_t at = text.size > 0; at < text.size;) {
        const char *escape = memchr(text.data + at, '\\', text.size - at - 1);
        const size_t plain = escape ? (size_t)(escape - text.data) - at : text.size - at;
        memcpy(body + size, text.data + at, plain);
        size += plain;
        at += plain;
        if (escape) {
            const char byte = text.data[at + 1];
            body[size++] = (char)(byte == 'n' ? '\n' : byte == 's' ? ' ' : byte);
            at += 2;
        }
    }
    return (struct str){body, size};
}

/* What is wrong with the text after the name's '=', or NULL. */
static const char *read_rendering(struct templates *templates, struct str text, struct rendering_row *row)
{
    if (str_starts(text, STR(">"))) {
        char canonical[NAME_BYTES_MAX];
        const struct str target = name_canonical(str_trim(str_from(text, 1)), canonical);
        row->kind = RENDERING_ALIAS;
        row->pattern = arena_copy(&templates->arena, target);
        return target.size == 0 ? "=> must be followed by the name of another template" : NULL;
    }
    text = str_trim(text);
    if (str_starts(text, WIKITEXT) && (text.size == WIKITEXT.size || text.data[WIKITEXT.size] == ' ')) {
        row->kind = RENDERING_WIKITEXT;
        row->pattern = read_body(templates, str_from(text, WIKITEXT.size));
        return NULL;
    }
    if (str_starts(text, STR("@")))
        return bind(row, str_from(text, 1));
    row->kind = RENDERING_PATTERN;
    row->pattern = arena_copy(&templates->arena, text);
    return pattern_mistake(text);
}

static int add_row(struct templates *templates, struct str line, size_t number, const char *path, struct error *err)
{
    const char *equals = memchr(line.data, '=', line.size);
    if (!equals)
        return fail(err, ERR_USAGE, "%s, line %zu: not of the form \"name = rendering\"", path, number);
    char canonical[NAME_BYTES_MAX];
    const struct str name = name_canonical(str_trim(str_range(line.data, equals)), canonical);
    if (name.size == 0)
        return fail(err, ERR_USAGE, "%s, line %zu: the template's name is empty or longer than %u bytes", path, number,
                    NAME_BYTES_MAX - 5);
    if (str_has(name, '|') || str_has(name, '{') || str_has(name, '}'))
        return fail(err, ERR_USAGE, "%s, line %zu: no template's name holds a bar or a brace", path, number);
    struct rendering_row row = {.name = arena_copy(&templates->arena, name), .line = number};
    const char *mistake = read_rendering(templates, str_range(equals + 1, line.data + line.size), &row);
    if (mistake)
        return fail(err, ERR_USAGE, "%s, line %zu: %s", path, number, mistake);
    templates->rows = mem_room(templates->rows, templates->count + 1, &templates->capacity, sizeof templates->rows[0]);
    templates->rows[templates->count++] = row;
    return 0;
}

static int index_rows(struct templates *templates, const char *path, struct error *err)
{
    templates->slot_count = 64;
    while (templates->slot_count < 2 * templates->count)
        templates->slot_count *= 2;
    templates->slots = mem_clear(templates->slot_count, sizeof templates->slots[0]);
    for (size_t i = 0; i < templates->count; i++) {
        uint32_t *slot = find_slot(templates, templates->rows[i].name);
        if (*slot != 0)
            return fail(err, ERR_USAGE, "%s, line %zu: \"%s\" is already in line %zu", path, templates->rows[i].line,
                        templates->rows[i].name.data, templates->rows[*slot - 1].line);
        *slot = (uint32_t)i + 1;
    }
    templates->bodies = body_cache_open(templates->count);
    return 0;
}

static int read_rows(struct templates *templates, struct str file, const char *path, struct error *err)
{
    size_t number = 0;
    if (str_starts(file, STR("\xEF\xBB\xBF")))
        file = str_from(file, 3);
    while (file.size > 0) {
        const char *stop = memchr(file.data, '\n', file.size);
        const size_t size = stop ? (size_t)(stop - file.data) : file.size;
        const struct str line = str_trim((struct str){file.data, size});
        file = str_from(file, size);
        if (stop)
            file = str_from(file, 1);
        number++;
        if (line.size == 0 || line.data[0] == '#')
            continue;
        if (!utf8_valid(line))
            return fail(err, ERR_USAGE, "%s, line %zu: it is not UTF-8", path, number);
        TRY(add_row(templates, line, number, path, err));
    }
    return index_rows(templates, path, err);
}

int templates_read(struct templates **out, const char *path, char hash[17], struct error *err)
{
    SCOPED(buf_release) struct buf file = {0};
    *out = NULL;
    TRY(file_read_all(path, TEMPLATES_BYTES_MAX, &file, err));
    return templates_parse(out, buf_str(&file), path, hash, err);
}

int templates_parse(struct templates **out, struct str file, const char *path, char hash[17], struct error *err)
{
    struct templates *templates = mem_clear(1, sizeof *templates);
    *out = NULL;
    if (read_rows(templates, file, path, err) < 0) {
        templates_free(templates);
        return -1;
    }
    hash_text(hash64(file.data, file.size), hash);
    *out = templates;
    return 0;
}

size_t templates_memory(const struct templates *templates)
{
    const size_t text = arena_bytes(&templates->arena), bodies = 4 * text; /* spans and pieces, as in real templates */
    return text + templates->capacity * sizeof templates->rows[0] + templates->slot_count * sizeof templates->slots[0] +
           (bodies < BODY_CACHE_BYTES_MAX ? bodies : BODY_CACHE_BYTES_MAX);
}

void templates_free(struct templates *templates)
{
    if (!templates)
        return;
    arena_release(&templates->arena);
    body_cache_close(templates->bodies);
    mem_free(templates->slots);
    mem_free(templates->rows);
    mem_free(templates);
}
