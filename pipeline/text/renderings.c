/* Renderings that a user adds: a file of lines "name = pattern", read once, then a sorted table. */
#include "pipeline/text/renderings.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"

#include <stdlib.h>

#define FILE_BYTES_MAX    (16u << 20)
#define PATTERN_BYTES_MAX 1024u
#define PATTERN_PARTS_MAX 64u /* a bound on how often a byte of an argument is shown */

struct rendering_row {
    struct str name, pattern;
    size_t line;
};

struct templates {
    struct rendering_row *rows;
    size_t count, capacity;
    struct arena arena;
};

static int compare_rows(const void *a, const void *b)
{
    const struct rendering_row *left = a, *right = b;
    const int order = str_compare(left->name, right->name);
    return order ? order : (left->line > right->line) - (left->line < right->line);
}

const struct str *templates_find(const struct templates *templates, struct str name)
{
    size_t low = 0, high = templates ? templates->count : 0;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = str_compare(templates->rows[middle].name, name);
        if (order == 0)
            return &templates->rows[middle].pattern;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* Behind the '$' at pattern[at]: where its argument's name ends; 0 where there is none. */
static size_t check_argument(struct str pattern, size_t at)
{
    size_t end = at + 1;
    if (end < pattern.size && pattern.data[end] == '{') {
        const char *close = memchr(pattern.data + end, '}', pattern.size - end);
        return close && close > pattern.data + end + 1 ? (size_t)(close - pattern.data) + 1 : 0;
    }
    while (end < pattern.size && pattern.data[end] >= '0' && pattern.data[end] <= '9')
        end++;
    return end == at + 1 || end > at + 3 || pattern.data[at + 1] == '0' ? 0 : end;
}

/* What is wrong with a pattern, or NULL. */
static const char *check_pattern(struct str pattern)
{
    bool in_group = false;
    size_t parts = 0;
    if (pattern.size > PATTERN_BYTES_MAX)
        return "the rendering is longer than 1024 bytes";
    for (size_t at = 0; at < pattern.size;) {
        const char byte = pattern.data[at];
        if (byte == '$') {
            at = check_argument(pattern, at);
            if (at == 0)
                return "behind a $ stands a number from 1 to 99 or a ${name}; a dollar sign is \\$";
            if (++parts > PATTERN_PARTS_MAX)
                return "the rendering has more than 64 arguments";
            continue;
        }
        if ((unsigned char)byte < ' ' && byte != '\t')
            return "the rendering holds a control character";
        if (byte == '{' && in_group)
            return "a { stands in another {; a brace that shows is \\{";
        if (byte == '}' && !in_group)
            return "a } closes nothing; a brace that shows is \\}";
        if (byte == '\\' && at + 1 == pattern.size)
            return "a \\ stands at the end";
        in_group = byte == '{' || (in_group && byte != '}');
        at += byte == '\\' ? 2 : 1;
    }
    return in_group ? "a { is not closed" : NULL;
}

static int add_row(struct templates *templates, struct str line, size_t number, const char *path, struct error *err)
{
    const char *equals = memchr(line.data, '=', line.size);
    if (!equals)
        return fail(err, ERR_USAGE, "%s, line %zu: it is no \"name = rendering\"", path, number);
    char canonical[NAME_BYTES_MAX];
    const struct str name = name_canonical(str_trim(str_range(line.data, equals)), canonical);
    const struct str pattern = str_trim(str_range(equals + 1, line.data + line.size));
    if (name.size == 0)
        return fail(err, ERR_USAGE, "%s, line %zu: the template's name is empty or longer than %u bytes", path, number,
                    NAME_BYTES_MAX - 5);
    if (memchr(name.data, '|', name.size) || memchr(name.data, '{', name.size) || memchr(name.data, '}', name.size))
        return fail(err, ERR_USAGE, "%s, line %zu: no template's name holds a bar or a brace", path, number);
    const char *mistake = check_pattern(pattern);
    if (mistake)
        return fail(err, ERR_USAGE, "%s, line %zu: %s", path, number, mistake);
    if (templates->count == templates->capacity) {
        templates->capacity = templates->capacity ? templates->capacity * 2 : 64;
        templates->rows = mem_grow(templates->rows, templates->capacity, sizeof templates->rows[0]);
    }
    templates->rows[templates->count++] =
        (struct rendering_row){arena_copy(&templates->arena, name), arena_copy(&templates->arena, pattern), number};
    return 0;
}

static int read_rows(struct templates *templates, struct str file, const char *path, struct error *err)
{
    size_t number = 0;
    if (str_starts(file, STR("\xEF\xBB\xBF")))
        file = (struct str){file.data + 3, file.size - 3};
    while (file.size > 0) {
        const char *stop = memchr(file.data, '\n', file.size);
        const size_t size = stop ? (size_t)(stop - file.data) : file.size;
        const struct str line = str_trim((struct str){file.data, size});
        file = (struct str){file.data + size, file.size - size};
        if (stop)
            file = (struct str){file.data + 1, file.size - 1};
        number++;
        if (line.size == 0 || line.data[0] == '#')
            continue;
        if (!utf8_valid(line))
            return fail(err, ERR_USAGE, "%s, line %zu: it is not UTF-8", path, number);
        TRY(add_row(templates, line, number, path, err));
    }
    if (templates->count > 0)
        qsort(templates->rows, templates->count, sizeof templates->rows[0], compare_rows);
    for (size_t i = 1; i < templates->count; i++)
        if (str_equal(templates->rows[i].name, templates->rows[i - 1].name))
            return fail(err, ERR_USAGE, "%s, line %zu: \"%s\" stands in line %zu already", path,
                        templates->rows[i].line, templates->rows[i].name.data, templates->rows[i - 1].line);
    return 0;
}

int templates_read(struct templates **out, const char *path, char hash[17], struct error *err)
{
    struct buf file = {0};
    *out = NULL;
    int result = file_read_all(path, FILE_BYTES_MAX, &file, err);
    struct templates *templates = mem_clear(1, sizeof *templates);
    if (result == 0)
        result = read_rows(templates, buf_str(&file), path, err);
    if (result == 0)
        hash_text(hash64(file.data, file.size), hash);
    buf_release(&file);
    if (result < 0) {
        templates_free(templates);
        return -1;
    }
    *out = templates;
    return 0;
}

void templates_free(struct templates *templates)
{
    if (!templates)
        return;
    arena_release(&templates->arena);
    mem_free(templates->rows);
    mem_free(templates);
}
