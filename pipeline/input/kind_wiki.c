/* The dump of a wiki: MediaWiki's XML, of which a record is a <page>. */
#include "pipeline/dump/siteinfo.h"
#include "pipeline/input/article_reader.h"
#include "pipeline/input/input_kind.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* ----------------------------------------------------------------------------------------------- recognition */

static bool recognise(struct str text)
{
    return text.data[0] == '<' && str_find(text, STR("<mediawiki")) != SIZE_MAX;
}

/* The encoding that an XML declaration names (XML 1.0, 2.8 and 4.3.3); empty if it names none. */
static struct str declared_encoding(struct str text)
{
    static const char blanks[] = " \t\r\n";
    const char *end = text.data + text.size, *stop = memchr(text.data, '>', text.size);
    const size_t at = stop ? str_find(str_range(text.data, stop), STR("encoding")) : SIZE_MAX;
    if (!str_starts(text, STR("<?xml")) || at == SIZE_MAX)
        return STR("");
    const char *from = text.data + at + strlen("encoding");
    while (from < end && (*from == '=' || strchr(blanks, *from)))
        from++;
    const char *close = from < end ? memchr(from + 1, *from, (size_t)(end - from - 1)) : NULL;
    return close && (*from == '"' || *from == '\'') ? str_range(from + 1, close) : STR("");
}

static bool is_utf8_name(struct str name)
{
    struct encoding encoding;
    char text[64];
    snprintf(text, sizeof text, "%.*s", (int)(name.size < sizeof text ? name.size : 0), name.data);
    return encoding_find(text, &encoding) && !encoding_converts(&encoding);
}

/* With --encoding the declaration is not heeded. */
static int check(const struct sniffed *sniffed, struct error *err)
{
    const struct str text = text_begin(sniffed->head), declared = declared_encoding(text);
    if (declared.size > 0 && !sniffed->encoding->name && !is_utf8_name(declared))
        return sniff_refuse_encoding(sniffed->name, declared, err);
    if (str_find(text, STR("<page>")) == SIZE_MAX)
        return sniff_refuse(sniffed->name, "is a dump without pages",
                            "pages-articles dumps have pages; dumps of logs do not", err);
    return 0;
}

/* ------------------------------------------------------------------------------------------------ a document */

/* The first kind that applies counts. */
static enum page_fate fate_of_kinds(uint32_t kinds)
{
    if (kinds & KIND_DISAMBIGUATION)
        return PAGE_DISAMBIGUATION;
    if (kinds & KIND_LIST)
        return PAGE_LIST;
    return kinds & KIND_STUB ? PAGE_STUB : PAGE_KEPT;
}

static bool is_kept(const struct article_options *options, int32_t ns)
{
    for (size_t i = 0; i < options->namespace_count; i++)
        if (options->namespaces[i] == ns)
            return true;
    return options->namespace_count == 0 && ns == 0;
}

static enum page_fate read(struct article_reader *reader, const struct article_options *options, struct str record,
                           struct article *article)
{
    struct page page; /* reader->wikitext was opened with the options */
    if (page_parse(reader->parser, record, &reader->arena, &page) < 0)
        return PAGE_MALFORMED;
    article->repairs |= page.repairs;
    if (page.id > 0 && page.id < (1ull << ID_BITS)) {
        article->has_id = true;
        article->id = page.id;
    } else {
        article_set_text_id(article, page.id == 0 && (page.repairs >> REPAIR_ID & 1) == 0 ? STR("") : page.id_text);
    }
    article->revision_id = page.revision_id;
    article->title = page.title;
    article->timestamp = page.timestamp;
    article->bytes = page.text.size;
    if (!is_kept(options, page.has_ns ? page.ns : wikitext_namespace(reader->wikitext, page.title)))
        return PAGE_NAMESPACE;
    if (page.is_redirect)
        return PAGE_REDIRECT;
    if (page.model.size > 0 && !str_equal(page.model, STR("wikitext")))
        return PAGE_MODEL;
    wikitext_read(reader->wikitext, &page, &reader->text, &reader->facts);
    if (reader->facts.is_redirect)
        return PAGE_REDIRECT;
    return fate_of_kinds(reader->facts.kinds);
}

/* --------------------------------------------------------------------------------------------- the beginning */

/* The end of what begins at `at` with `open` and ends with `close`, the line's end if it does not; `at` if nothing
 * begins there. */
static const char *skip(const char *at, const char *end, const char *open, const char *close)
{
    if (!str_starts(str_range(at, end), str_of(open)))
        return at;
    const size_t found = str_find(str_range(at, end), str_of(close));
    return found == SIZE_MAX ? end : at + found + strlen(close);
}

/* Adds the lines of a wiki's XML that begin as paragraphs do: without a tag, a template, a list, a row of a table.
 * Their templates and references, which may be in any language, are left out, as far as they show without a parser. */
static void add_paragraphs(struct str xml, const char *text_key, struct buf *out)
{
    (void)text_key;
    for (const char *at = xml.data, *end = xml.data + xml.size; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop + 1 : end;
        const unsigned char first = (unsigned char)*at;
        if (first < 0x80 && first != '\'' && !isalpha(first))
            at = stop;
        while (at < stop) {
            const char *next = skip(at, stop, "{{", "}}");
            if (next == at)
                next = skip(at, stop, "&lt;ref", "ref&gt;");
            if (next == at)
                next = skip(at, stop, "<", ">");
            if (next == at)
                buf_add_byte(out, *next++);
            at = next;
        }
    }
}

/* The <id> before the <revision> of each page. The head begins inside the first page. */
static void add_ids(struct split_ids *ids, struct str head, bool whole, const char *id_key)
{
    (void)whole;
    (void)id_key;
    while (head.size > 0 && ids->count < SPLIT_IDS) {
        const size_t next = str_find(head, STR("<page>"));
        const struct str page = {head.data, next == SIZE_MAX ? head.size : next};
        const size_t id = str_find(page, STR("<id>")), revision = str_find(page, STR("<revision"));
        if (id < revision && revision != SIZE_MAX) {
            const struct str rest = str_range(page.data + id + 4, page.data + page.size);
            const size_t end = str_find(rest, STR("<"));
            const struct str text = str_trim((struct str){rest.data, end});
            if (text.size > 0 && !str_equal(text, STR("0")))
                split_ids_add(ids, text);
        }
        head = next == SIZE_MAX ? STR("") : str_range(page.data + next + 6, head.data + head.size);
    }
}

const struct input_kind wiki_kind = {
    .records = {.called = "a dump",
                .readable = "a Wikipedia dump (.xml or .xml.bz2)",
                .refused = "is not a MediaWiki dump: it does not begin with <mediawiki>",
                .not_text = "is a MediaWiki dump, not text",
                .recognise = recognise,
                .check = check,
                .read_head = siteinfo_read,
                .cut = &cut_pages},
    .name = "wiki",
    .one = "a wiki",
    .extensions = (const char *const[]){".xml", NULL},
    .options = (const char *const[]){"keep", "drop", "variant", "namespaces", "templates", NULL},
    .bytes_per_piece = 15, /* most of it is XML and markup */
    .of_pages = true,
    .read_folder = folder_read,
    .read = read,
    .add_prose = add_paragraphs,
    .add_ids = add_ids};
