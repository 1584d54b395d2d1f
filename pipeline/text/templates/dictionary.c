#include "pipeline/text/templates/dictionary.h"

#include "base/mem.h"
#include "pipeline/text/templates/modules.h"
#include "pipeline/text/templates/transclusion.h"
#include "pipeline/text/words/links.h"

#include <stdlib.h>

struct str redirect_title(struct str text)
{
    const size_t open = str_find(text, STR("[["));
    if (open == SIZE_MAX)
        return STR("");
    const struct str target = {text.data + open + 2, text.size - open - 2};
    size_t size = 0;
    while (size < target.size && !strchr("]|#\n", target.data[size]))
        size++;
    return (struct str){target.data, size};
}

/* The name of the template that a redirect leads to. */
static bool add_target(struct str text, struct buf *out)
{
    const struct str title = redirect_title(text);
    const char *colon = memchr(title.data, ':', title.size);
    char canonical[NAME_BYTES_MAX];
    const struct str name = name_canonical(colon ? str_range(colon + 1, title.data + title.size) : STR(""), canonical);
    buf_add_str(out, name);
    return name.size > 0;
}

/* The kind of the one span that is all of the text, but for blanks, comments and categories; SPAN_NONE: there is
 * more. */
static enum span_kind only_span(const struct spans *spans, struct str text)
{
    enum span_kind kind = SPAN_NONE;
    uint32_t at = 0;
    for (size_t i = 0; i <= spans->count; i = spans->items[i].next) {
        const bool ended = i == spans->count;
        const uint32_t stop = ended ? (uint32_t)text.size : spans->items[i].start;
        if (str_trim(str_part(text, at, stop)).size > 0)
            return SPAN_NONE;
        if (ended)
            return kind;
        const struct span *span = &spans->items[i];
        at = span->end;
        if (span->kind == SPAN_COMMENT ||
            (span->kind == SPAN_LINK && str_starts(span_inner(text, span), STR("Category:"))))
            continue;
        if (kind != SPAN_NONE || (span->kind == SPAN_TABLE && span->tag)) /* the head of a table is not one */
            return SPAN_NONE;
        kind = (enum span_kind)span->kind;
    }
    return kind;
}

enum body_kind body_read(struct body_reader *reader, const struct language *language, struct str wikitext,
                         bool is_redirect, struct buf *out)
{
    const struct magic magic = magic_find(language, str_of(language->code));
    buf_reset(out);
    buf_reserve(out, 1); /* so that an empty text has an address */
    if (is_redirect || link_is_redirect(wikitext, &magic))
        return add_target(wikitext, out) ? BODY_ALIAS : BODY_OTHER;
    if (wikitext.size > BODY_BYTES_MAX)
        return BODY_OTHER;
    transclusion_take(wikitext, out);
    const struct str body = buf_str(out);
    spans_find(&reader->spans, &magic, false, body);
    const enum span_kind only = only_span(&reader->spans, body);
    return only == SPAN_TABLE ? BODY_TABLE : only == SPAN_TEMPLATE ? BODY_CALL : BODY_WIKITEXT;
}

void body_reader_release(struct body_reader *reader)
{
    spans_release(&reader->spans);
}

#define INVOKE      STR("#invoke:")
#define ALIASES_MAX 8u
#define CALLS_MAX   8u /* templates that only call another */

/* Sizes are ranked by their first four bits, so that a rank has sizes within an eighth of each other. */
#define RANKS       256u
#define CALL_WEIGHT 64u /* the size of a body that only calls another template counts this many times */
#define LINE_BYTES  24u /* of a line besides the name and the body, at most */
#define HEAD_BYTES  256u

struct entry {
    struct str name, text; /* one piece of memory, at name.data */
    enum body_kind kind;
    bool is_cut;   /* only the beginning of the text is left, with the name that it calls */
    uint8_t rank;  /* of the size of the rest of the text */
    size_t number; /* in the order of adding */
};

struct dictionary {
    struct templates *modules;
    struct entry *entries;
    size_t count, capacity, added;
    uint64_t bytes_max, bytes, ranked[RANKS]; /* of ranks up to the limit */
    unsigned limit;                           /* texts of higher ranks are left out */
};

struct dictionary *dictionary_open(size_t bytes_max)
{
    struct dictionary *d = mem_clear(1, sizeof *d);
    d->bytes_max = bytes_max > HEAD_BYTES ? bytes_max - HEAD_BYTES : 0;
    d->limit = RANKS - 1;
    d->modules = modules_open();
    return d;
}

void dictionary_close(struct dictionary *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < d->count; i++)
        mem_free((char *)(uintptr_t)d->entries[i].name.data);
    templates_free(d->modules);
    mem_free(d->entries);
    mem_free(d);
}

static unsigned rank_of(uint64_t bytes)
{
    if (bytes < 8)
        return (unsigned)bytes;
    const unsigned bits = 63u - (unsigned)__builtin_clzll(bytes);
    return 8 * (bits - 2) + (unsigned)(bytes >> (bits - 3) & 7);
}

/* Bytes of the text in the file. */
static size_t printed_bytes(struct str text)
{
    size_t bytes = text.size + 1;
    for (size_t i = 0; i < text.size; i++)
        bytes += text.data[i] == '\n' || text.data[i] == '\\';
    return bytes;
}

static size_t called_end(struct str text)
{
    const size_t open = str_find(text, STR("{{"));
    size_t end = open == SIZE_MAX ? 0 : open + 2;
    while (end < text.size && !strchr("|}{<\n", text.data[end]))
        end++;
    return end;
}

/* What is kept of a text that is left out. */
static size_t kept_bytes(enum body_kind kind, struct str text)
{
    const size_t end = kind == BODY_CALL ? called_end(text) : kind == BODY_ALIAS ? text.size : 0;
    return end <= 2 * NAME_BYTES_MAX ? end : 0;
}

static void cut(struct entry *entry)
{
    const size_t kept = kept_bytes(entry->kind, entry->text);
    if (kept == 0)
        entry->kind = BODY_OTHER;
    char *data = mem_grow((char *)(uintptr_t)entry->name.data, entry->name.size + kept + 1, 1);
    data[entry->name.size + kept] = 0;
    entry->name.data = data;
    entry->text = (struct str){data + entry->name.size, kept};
    entry->is_cut = true;
}

/* Lowers the limit until all that is below it fits. */
static void lower_limit(struct dictionary *d)
{
    if (d->bytes <= d->bytes_max)
        return;
    while (d->limit > 0 && d->bytes > d->bytes_max)
        d->bytes -= d->ranked[d->limit--];
    for (size_t i = 0; i < d->count; i++)
        if (d->entries[i].rank > d->limit && !d->entries[i].is_cut)
            cut(&d->entries[i]);
}

static void count_bytes(struct dictionary *d, unsigned rank, uint64_t bytes)
{
    if (rank > d->limit)
        return;
    d->ranked[rank] += bytes;
    d->bytes += bytes;
}

void dictionary_add(struct dictionary *d, struct str name, enum body_kind kind, struct str text)
{
    const size_t kept = kept_bytes(kind, text), printed = printed_bytes(text);
    const unsigned rank = rank_of(printed * (kind == BODY_CALL ? CALL_WEIGHT : 1));
    const size_t base = sizeof(struct entry) + name.size + kept + LINE_BYTES;
    d->entries = mem_room(d->entries, d->count + 1, &d->capacity, sizeof d->entries[0]);
    char *data = mem_alloc(name.size + text.size + 1);
    memcpy(data, name.data, name.size);
    if (text.size > 0)
        memcpy(data + name.size, text.data, text.size);
    struct entry *entry = &d->entries[d->count++];
    *entry = (struct entry){.name = {data, name.size},
                            .text = {data + name.size, text.size},
                            .kind = kind,
                            .rank = (uint8_t)rank,
                            .number = d->added++};
    if (rank > d->limit)
        cut(entry);
    count_bytes(d, 0, base);
    count_bytes(d, rank, printed);
    lower_limit(d);
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
    for (size_t i = 0; i < d->count; i++) {
        if (kept > 0 && str_equal(d->entries[i].name, d->entries[kept - 1].name))
            mem_free((char *)(uintptr_t)d->entries[i].name.data);
        else
            d->entries[kept++] = d->entries[i];
    }
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

/* The folded name of the one call that the text is. */
static struct str called_name(struct str text, char out[NAME_BYTES_MAX])
{
    const size_t open = str_find(text, STR("{{"));
    return name_canonical(str_trim(str_part(text, open + 2, called_end(text))), out);
}

/* The templates of a wiki are mostly navigation: one call of a template that draws a box. */
static enum body_kind kind_of(const struct dictionary *d, const struct entry *entry)
{
    enum body_kind kind = entry->kind;
    for (unsigned i = 0; kind == BODY_CALL && i < CALLS_MAX; i++) {
        char canonical[NAME_BYTES_MAX], folded[NAME_BYTES_MAX];
        struct str name = called_name(entry->text, canonical);
        const struct str function = name_fold(name, folded);
        if (str_starts(function, INVOKE) && module_is_box(d->modules, str_trim(str_from(function, INVOKE.size))))
            return BODY_BOX;
        entry = find_resolved(d, &name);
        kind = entry ? entry->kind : BODY_WIKITEXT;
    }
    return kind == BODY_TABLE || kind == BODY_BOX || kind == BODY_PAGE ? kind
           : entry && entry->kind == BODY_OTHER                        ? BODY_OTHER
                                                                       : BODY_WIKITEXT;
}

/* A line cannot say it of any name. */
static bool has_line(struct str name)
{
    return name.size > 0 && name.data[0] != '#' && !str_has(name, '=') && !str_has(name, '|') && !str_has(name, '{') &&
           !str_has(name, '}') && !str_has(name, '\n');
}

static void print_body(struct str text, struct buf *out)
{
    buf_add_text(out, "@wikitext ");
    for (size_t at = 0; at < text.size; at++) {
        const char byte = text.data[at];
        if (byte == '\n')
            buf_add_text(out, "\\n");
        else if (byte == '\\')
            buf_add_text(out, "\\\\");
        else if (byte == ' ' && at + 1 == text.size)
            buf_add_text(out, "\\s");
        else if ((unsigned char)byte >= ' ' || byte == '\t')
            buf_add_byte(out, byte);
    }
}

static void print_entry(struct dictionary *d, const struct entry *entry, struct buf *out)
{
    if (!has_line(entry->name) || entry->kind == BODY_OTHER)
        return;
    if (entry->kind == BODY_ALIAS) {
        if (has_line(entry->text) && !str_equal(entry->text, entry->name))
            buf_addf(out, "%.*s => %.*s\n", (int)entry->name.size, entry->name.data, (int)entry->text.size,
                     entry->text.data);
        return;
    }
    const enum body_kind kind = kind_of(d, entry);
    if (kind == BODY_OTHER || (kind == BODY_WIKITEXT && entry->is_cut) || !utf8_valid(entry->text))
        return;
    buf_addf(out, "%.*s = ", (int)entry->name.size, entry->name.data);
    if (kind == BODY_WIKITEXT)
        print_body(entry->text, out);
    else
        buf_add_text(out, kind == BODY_TABLE ? "@table" : kind == BODY_PAGE ? "@page" : "@box");
    buf_add_byte(out, '\n');
}

struct dictionary_facts dictionary_print(struct dictionary *d, struct str code, struct buf *out)
{
    struct dictionary_facts facts = {0};
    sort_entries(d);
    if (d->count > 0)
        buf_addf(out,
                 "# Templates of a wiki (%.*s), from its own pages: what a call inserts, \"=>\" another name of one.\n",
                 (int)code.size, code.data);
    for (size_t i = 0; i < d->count; i++) {
        const struct entry *entry = &d->entries[i];
        struct str name = entry->name;
        const struct entry *target = find_resolved(d, &name);
        facts.read += entry->kind != BODY_PAGE;
        facts.rendered += entry->kind != BODY_PAGE && target && target->kind != BODY_OTHER;
        facts.left_out += entry->is_cut && (entry->kind == BODY_OTHER || kind_of(d, entry) == BODY_WIKITEXT);
        print_entry(d, entry, out);
    }
    return facts;
}
