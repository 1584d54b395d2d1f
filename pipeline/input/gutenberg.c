#include "pipeline/input/gutenberg.h"

#define HEADER_MAX ((size_t)64 << 10) /* bytes before the line that begins the text */

static bool starts(struct str line, const char *prefix)
{
    const struct str wanted = str_of(prefix);
    return line.size >= wanted.size && str_equal_ascii_nocase((struct str){line.data, wanted.size}, wanted);
}

/* "*** START OF THE PROJECT GUTENBERG EBOOK …", "***START OF THIS …"; *rest follows the stars and their blanks. */
static bool has_stars(struct str line, struct str *rest)
{
    if (!starts(line, "***"))
        return false;
    *rest = str_trim((struct str){line.data + 3, line.size - 3});
    return true;
}

static bool begins_text(struct str line)
{
    struct str rest;
    return (has_stars(line, &rest) &&
            (starts(rest, "START OF THE PROJECT GUTENBERG") || starts(rest, "START OF THIS PROJECT GUTENBERG"))) ||
           starts(line, "*END*THE SMALL PRINT!") || starts(line, "*END THE SMALL PRINT!");
}

static bool ends_text(struct str line)
{
    struct str rest;
    return (has_stars(line, &rest) &&
            (starts(rest, "END OF THE PROJECT GUTENBERG") || starts(rest, "END OF THIS PROJECT GUTENBERG"))) ||
           starts(line, "End of the Project Gutenberg E") || starts(line, "End of Project Gutenberg's") ||
           starts(line, "End of this Project Gutenberg E");
}

/* The title in the mark may go on in further lines, up to the stars that close it. */
static const char *after_mark(struct str line, const char *end)
{
    const char *stop = line.data + line.size;
    for (int lines = 1; lines < 4 && !str_ends(str_trim(str_range(line.data, stop)), STR("*")); lines++) {
        const char *next = stop < end ? memchr(stop + 1, '\n', (size_t)(end - stop - 1)) : NULL;
        if (!next || str_is_blank(str_range(stop + 1, next)))
            break;
        stop = next;
    }
    return stop < end ? stop + 1 : end;
}

struct str gutenberg_text(struct str file)
{
    const char *from = file.data, *end = file.data + file.size;
    for (const char *at = file.data; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const struct str line = str_range(at, newline ? newline : end), trimmed = str_trim(line);
        at = newline ? newline + 1 : end;
        if (from == file.data && (size_t)(line.data - file.data) < HEADER_MAX && begins_text(trimmed))
            from = at = after_mark(line, end);
        else if (ends_text(trimmed))
            end = line.data;
    }
    return str_range(from, end);
}
