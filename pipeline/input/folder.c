#include "pipeline/input/folder.h"

#include "base/file.h"
#include "base/text_lines.h"
#include "base/log.h"
#include "base/mem.h"
#include "pipeline/dump/codecs.h"

#include <stdio.h>
#include <stdlib.h>

#define SUMS_NAME      "SHA256SUMS"
#define SUMS_BYTES_MAX ((size_t)16 << 20)
#define DIGITS_MAX     18 /* of a number in a name */

/* ----------------------------------------------------------------------------------------------------- names */

/* Removes `end` from the end of *text; false if *text does not end with it. */
static bool take_end(struct str *text, const char *end)
{
    const bool ends = str_ends(*text, str_of(end));
    text->size -= ends ? strlen(end) : 0;
    return ends;
}

/* Removes a number and the letter before it from the end of *text: "…p41242" and 'p'. */
static bool take_number(struct str *text, char letter, uint64_t *number)
{
    size_t from = text->size;
    while (from > 0 && text->data[from - 1] >= '0' && text->data[from - 1] <= '9')
        from--;
    if (from == text->size || text->size - from > DIGITS_MAX || from == 0 || text->data[from - 1] != letter)
        return false;
    *number = 0;
    for (size_t at = from; at < text->size; at++)
        *number = *number * 10 + (unsigned)(text->data[at] - '0');
    text->size = from - 1;
    return true;
}

/* Removes "-p10p1147431" or "-p45046r266092r5566832" from the end of *text. */
static bool take_pages(struct str *text, struct part_name *out)
{
    struct str rest = *text;
    struct part_name pages = {.has_pages = true};
    if (take_number(&rest, 'r', &pages.revision_last)) {
        if (!take_number(&rest, 'r', &pages.revision) || !take_number(&rest, 'p', &pages.page))
            return false;
        pages.last = pages.page;
    } else if (!take_number(&rest, 'p', &pages.last) || !take_number(&rest, 'p', &pages.page)) {
        return false;
    }
    if (!take_end(&rest, "-") || pages.page > pages.last || pages.revision > pages.revision_last)
        return false;
    *text = rest;
    *out = pages;
    return true;
}

bool part_name_read(struct str name, struct part_name *out)
{
    *out = (struct part_name){0};
    if (!codec_cut_extension(&name))
        take_end(&name, ".7z"); /* which opening will refuse, with what to type */
    if (take_end(&name, ".xml")) {
        take_pages(&name, out);
    } else { /* older: "…-pages-articles1.xml-p1p41242" */
        if (!take_pages(&name, out) || !take_end(&name, ".xml"))
            return false;
        while (name.size > 0 && name.data[name.size - 1] >= '0' && name.data[name.size - 1] <= '9')
            name.size--;
    }
    out->export = name;
    return name.size > 0 && name.data[0] != '.';
}

/* The name of a part whose download was not completed. */
static bool is_partial(struct str name)
{
    static const char *const ends[] = {".part", ".partial", ".tmp", ".crdownload", ".download", ".aria2"};
    struct part_name part;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (take_end(&name, ends[i]))
            return part_name_read(name, &part);
    return false;
}

/* ------------------------------------------------------------------------------------------------- the parts */

/* A part found while the folder is read. */
struct found {
    struct part_name name; /* views of `text` */
    char *text;            /* the file's name, owned by the list */
    char sha256[SHA256_DIGITS + 1];
};

struct listing {
    const char *path; /* of the folder */
    bool salvage;
    struct found *parts;
    size_t count;
};

static int by_place(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    if (x->name.page != y->name.page)
        return x->name.page < y->name.page ? -1 : 1;
    if (x->name.revision != y->name.revision)
        return x->name.revision < y->name.revision ? -1 : 1;
    return strcmp(x->text, y->text);
}

static void find_parts(struct listing *listing, const struct path_list *names)
{
    listing->parts = mem_clear(names->count + 1, sizeof *listing->parts);
    for (size_t i = 0; i < names->count; i++) {
        struct found *found = &listing->parts[listing->count];
        SCOPED(mem_free_at) char *path = path_join(listing->path, names->names[i]);
        found->text = names->names[i];
        if (is_partial(str_of(found->text)) && path_is_file(path))
            log_warn("%s was not downloaded completely: it is skipped", path);
        if (part_name_read(str_of(found->text), &found->name) && path_is_file(path))
            listing->count++;
    }
    if (listing->count > 0)
        qsort(listing->parts, listing->count, sizeof *listing->parts, by_place);
}

static struct str wiki_of(struct str export)
{
    const char *dash = memchr(export.data, '-', export.size);
    return dash ? str_range(export.data, dash) : export;
}

/* Refuses parts of several exports, and parts with the same pages. */
static int refuse_mixture(const struct listing *listing, struct error *err)
{
    for (size_t i = 1; i < listing->count; i++) {
        const struct found *first = &listing->parts[0], *before = &listing->parts[i - 1], *part = &listing->parts[i];
        if (!str_equal(first->name.export, part->name.export)) {
            const bool wikis = !str_equal(wiki_of(first->name.export), wiki_of(part->name.export));
            fail_at(err, ERR_USAGE, listing->path, ERROR_NO_OFFSET, "holds parts of two %s: %s and %s",
                    wikis ? "wikis" : "exports", first->text, part->text);
            return hint(err, "a folder is one dump: name the files of one, as in %s/%.*s*", listing->path,
                        (int)first->name.export.size, first->name.export.data);
        }
        const bool page_alone = before->name.revision_last > 0 && part->name.revision_last > 0;
        const bool whole = before->name.has_pages != part->name.has_pages;
        if (whole ||
            (page_alone && before->name.page == part->name.page ? part->name.revision <= before->name.revision_last
                                                                : part->name.page <= before->name.last)) {
            fail_at(err, ERR_USAGE, listing->path, ERROR_NO_OFFSET, "holds the same pages twice: in %s and in %s",
                    before->text, part->text);
            return hint(err, "remove one of them, or name the files to read");
        }
    }
    return 0;
}

/* ------------------------------------------------------------------------------------------------------ sums */

static struct str base_name(struct str path)
{
    const char *slash = memrchr(path.data, '/', path.size);
    return slash ? str_range(slash + 1, path.data + path.size) : path;
}

static struct found *find(const struct listing *listing, struct str name)
{
    for (size_t i = 0; i < listing->count; i++)
        if (str_equal(str_of(listing->parts[i].text), name))
            return &listing->parts[i];
    return NULL;
}

/* Reads the lines of SHA256SUMS that name parts. *missing is the first part listed that does not exist. */
static int read_sums(const struct listing *listing, const char *path, struct str text, struct str *missing,
                     size_t *missing_count, struct error *err)
{
    struct str line;
    for (size_t number = 1; str_line(&text, &line); number++) {
        char digits[SHA256_DIGITS + 1];
        struct str name;
        struct part_name part;
        if (str_trim(line).size == 0)
            continue;
        if (!sha256_line(line, digits, &name)) {
            fail_at(err, ERR_INPUT, path, ERROR_NO_OFFSET, "line %zu is not in the format of sha256sum", number);
            return hint(err, "download it again; without the file nothing is checked");
        }
        name = base_name(name);
        if (!part_name_read(name, &part))
            continue;
        struct found *found = find(listing, name);
        if (!found && (*missing_count)++ == 0)
            *missing = name;
        if (found && found->sha256[0] && strcmp(found->sha256, digits) != 0)
            return fail_at(err, ERR_INPUT, path, ERROR_NO_OFFSET,
                           "line %zu has a different sum for %s than an earlier line", number, found->text);
        if (found)
            memcpy(found->sha256, digits, sizeof digits);
    }
    return 0;
}

static int tell_missing(const struct listing *listing, struct str missing, size_t count, struct error *err)
{
    char others[48] = "";
    if (count > 1)
        snprintf(others, sizeof others, ", nor %s %zu more", count == 2 ? "is" : "are", count - 1);
    if (listing->salvage) {
        log_warn("%s: %.*s, which %s lists, is not there%s", listing->path, (int)missing.size, missing.data, SUMS_NAME,
                 others);
        return 0;
    }
    fail_at(err, ERR_INPUT, listing->path, ERROR_NO_OFFSET, "%.*s, which %s lists, is not there%s", (int)missing.size,
            missing.data, SUMS_NAME, others);
    return hint(err, "download what is missing (get_dump.sh goes on with a folder), or go on without: --salvage");
}

static int take_sums(const struct listing *listing, struct error *err)
{
    SCOPED(mem_free_at) char *path = path_join(listing->path, SUMS_NAME);
    SCOPED(buf_release) struct buf text = {0};
    struct str missing = {0};
    size_t missing_count = 0;
    const bool is_there = path_is_file(path);
    if (is_there)
        TRY(file_read_all(path, SUMS_BYTES_MAX, &text, err));
    TRY(read_sums(listing, path, buf_str(&text), &missing, &missing_count, err));
    if (missing_count > 0)
        TRY(tell_missing(listing, missing, missing_count, err));
    for (size_t i = 0; is_there && i < listing->count; i++)
        if (!listing->parts[i].sha256[0])
            log_warn("%s/%s is not listed in %s: it is read, and not checked", listing->path, listing->parts[i].text,
                     SUMS_NAME);
    return 0;
}

/* ------------------------------------------------------------------------------------------------ all of it */

bool folder_is_export(const char *path)
{
    SCOPED(path_list_release) struct path_list names = {0};
    struct error ignored;
    size_t parts = 0, others = 0;
    bool paged = false;
    if (path_list(&names, path, &ignored) < 0)
        return false;
    for (size_t i = 0; i < names.count; i++) {
        const struct str name = str_of(names.names[i]);
        struct part_name part;
        SCOPED(mem_free_at) char *file = path_join(path, names.names[i]);
        const bool is_part = part_name_read(name, &part) && path_is_file(file);
        parts += is_part;
        paged |= is_part && (part.has_pages || str_find(part.export, STR("-pages-")) != SIZE_MAX);
        others += !is_part && name.data[0] != '.' && !str_equal(name, STR(SUMS_NAME)) && !is_partial(name);
    }
    return paged || (parts > 0 && others == 0);
}

/* True if a later part has newer revisions of the same page. */
static bool is_older(const struct listing *listing, size_t i)
{
    return i + 1 < listing->count && listing->parts[i].name.revision_last > 0 &&
           listing->parts[i].name.page == listing->parts[i + 1].name.page;
}

static void hand_out(const struct listing *listing, struct folder *folder)
{
    folder->parts = mem_array(listing->count, sizeof *folder->parts);
    for (size_t i = 0; i < listing->count; i++) {
        if (is_older(listing, i))
            continue;
        struct folder_part *part = &folder->parts[folder->count++];
        part->path = path_join(listing->path, listing->parts[i].text);
        memcpy(part->sha256, listing->parts[i].sha256, sizeof part->sha256);
    }
}

static void listing_release(struct listing *listing)
{
    mem_free(listing->parts);
}

int folder_read(struct folder *folder, const char *path, bool salvage, struct error *err)
{
    SCOPED(listing_release) struct listing listing = {.path = path, .salvage = salvage};
    SCOPED(path_list_release) struct path_list names = {0};
    *folder = (struct folder){0};
    TRY(path_list(&names, path, err));
    find_parts(&listing, &names);
    TRY(refuse_mixture(&listing, err));
    TRY(take_sums(&listing, err));
    if (listing.count == 0) {
        fail_at(err, ERR_USAGE, path, ERROR_NO_OFFSET, "is a directory without a part of a dump");
        return hint(err, "parts have names such as enwiki-2026-11-01-p10p1147431.xml.bz2; name other files one by one");
    }
    hand_out(&listing, folder);
    return 0;
}

void folder_release(struct folder *folder)
{
    for (size_t i = 0; i < folder->count; i++)
        mem_free(folder->parts[i].path);
    mem_free(folder->parts);
    *folder = (struct folder){0};
}
