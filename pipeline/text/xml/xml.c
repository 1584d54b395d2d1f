#include "pipeline/text/xml/xml.h"

#include "base/mem.h"
#include "pipeline/text/xml/xml_mend.h"
#include "pipeline/text/xml/xml_scan.h"

#include <assert.h>
#include <expat.h>
#include <limits.h>

#define ELEMENT_DEPTH_MAX 16u /* dumps have 5; a deeper page is malformed */
#define KNOWN_NAME_BYTES  16u /* of an element's name on the fast path, with its NUL */

enum field { FIELD_NONE, FIELD_TITLE, FIELD_NS, FIELD_ID, FIELD_REVISION_ID, FIELD_TIMESTAMP, FIELD_MODEL, FIELD_TEXT };

struct page_parser {
    bool expat_alone;
    struct page *page;
    unsigned depth;   /* open elements */
    bool in_revision; /* inside page/revision */
    bool malformed;
    bool has_text;        /* the open revision had its <text> */
    enum field field;     /* the field whose characters are being read, or FIELD_NONE */
    unsigned field_depth; /* of its element */
    char *out; /* in the arena: fields one after the other; text outside fields is overwritten by the next field */
    size_t size, capacity;
    size_t field_start; /* of the open field, in out */
    struct buf mended;  /* the fragment, if it was not UTF-8 */
};

/* Sets *value to the whole number that the element's content is, without a sign; what is none is 0, as if it were
 * absent, and a repair. */
static bool set_number(struct page *page, struct str text, uint64_t max, uint64_t *value)
{
    bool is_number = text.size > 0;
    *value = 0;
    for (size_t at = 0; at < text.size && is_number; at++) {
        const unsigned digit = (unsigned)(text.data[at] - '0');
        is_number = digit <= 9 && *value <= (max - digit) / 10;
        *value = *value * 10 + digit;
    }
    if (!is_number) {
        *value = 0;
        page->repairs |= 1u << REPAIR_ID;
    }
    return is_number;
}

static void set_id(struct page *page, struct str text)
{
    page->id_text = text;
    set_number(page, text, INT64_MAX, &page->id);
}

static void set_ns(struct page *page, struct str text)
{
    uint64_t value;
    const bool negative = str_starts(text, STR("-"));
    page->has_ns = set_number(page, str_from(text, negative), INT32_MAX, &value);
    page->ns = negative ? -(int32_t)value : (int32_t)value;
}

static void set_revision_id(struct page *page, struct str text)
{
    set_number(page, text, INT64_MAX, &page->revision_id);
}

/* The field that an element inside page or page/revision holds. */
static enum field field_of(const struct page_parser *parser, const char *name)
{
    static const struct {
        const char *name;
        bool in_revision;
        enum field field;
    } fields[] = {{"title", false, FIELD_TITLE},
                  {"ns", false, FIELD_NS},
                  {"id", false, FIELD_ID},
                  {"id", true, FIELD_REVISION_ID},
                  {"timestamp", true, FIELD_TIMESTAMP},
                  {"model", true, FIELD_MODEL},
                  {"text", true, FIELD_TEXT}};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (fields[i].in_revision == parser->in_revision && strcmp(fields[i].name, name) == 0)
            return fields[i].field;
    return FIELD_NONE;
}

static void XMLCALL on_start(void *data, const char *name, const char **attributes)
{
    (void)attributes;
    struct page_parser *parser = data;
    const unsigned depth = parser->depth++;
    if (depth >= ELEMENT_DEPTH_MAX || (depth == 0 && strcmp(name, "page") != 0))
        parser->malformed = true;
    if (parser->field != FIELD_NONE) /* a tag of the text that is not escaped */
        parser->malformed = true;
    if (depth == 1 && strcmp(name, "revision") == 0) {
        parser->in_revision = true;
        parser->has_text = false;
        parser->page->timestamp = parser->page->model = parser->page->text = STR("");
        parser->page->revision_id = 0;
    } else if (depth == 1 && strcmp(name, "redirect") == 0) {
        parser->page->is_redirect = true;
    }
    if (depth != (parser->in_revision ? 2u : 1u))
        return;
    parser->field = field_of(parser, name);
    parser->field_depth = parser->depth;
    parser->field_start = parser->size;
    if (parser->field == FIELD_TEXT) {
        parser->malformed |= parser->has_text;
        parser->has_text = true;
    }
}

static bool takes_characters(const struct page_parser *parser)
{
    return parser->field != FIELD_NONE && parser->depth == parser->field_depth;
}

static void XMLCALL on_characters(void *data, const char *characters, int count)
{
    struct page_parser *parser = data;
    if (!takes_characters(parser))
        return;
    assert(parser->size + (size_t)count <= parser->capacity);
    memcpy(parser->out + parser->size, characters, (size_t)count);
    parser->size += (size_t)count;
}

static void XMLCALL on_end(void *data, const char *name)
{
    (void)name;
    struct page_parser *parser = data;
    assert(parser->depth > 0 && parser->field_start <= parser->size);
    /* It stays valid with the page: the output has room for all of it and is never moved. */
    const struct str content = {parser->out + parser->field_start, parser->size - parser->field_start};
    const unsigned depth = parser->depth--;
    if (parser->in_revision && depth == 2)
        parser->in_revision = false;
    if (parser->field == FIELD_NONE || depth != parser->field_depth)
        return;
    struct page *page = parser->page;
    switch (parser->field) {
    case FIELD_TITLE:
        page->title = content;
        break;
    case FIELD_TIMESTAMP:
        page->timestamp = content;
        break;
    case FIELD_MODEL:
        page->model = content;
        break;
    case FIELD_TEXT:
        page->text = content;
        break;
    case FIELD_NS:
        set_ns(page, str_trim(content));
        break;
    case FIELD_ID:
        set_id(page, str_trim(content));
        break;
    case FIELD_REVISION_ID:
        set_revision_id(page, str_trim(content));
        break;
    case FIELD_NONE:
        break;
    }
    parser->field = FIELD_NONE;
}

static void *grow(void *memory, size_t bytes)
{
    return mem_grow(memory, bytes, 1);
}

struct page_parser *page_parser_open(void)
{
    return mem_clear(1, sizeof(struct page_parser));
}

/* The slow path, for all of XML. Each page gets its own parser: a reused one would count the memory that a hostile page
 * requested against later pages, and refuse them. */
static bool parse_any(struct page_parser *parser, struct str fragment)
{
    static const XML_Memory_Handling_Suite memory = {mem_alloc, grow, mem_free};
    const XML_Parser expat = XML_ParserCreate_MM("UTF-8", &memory, NULL);
    assert(expat);
    XML_SetUserData(expat, parser);
    XML_SetElementHandler(expat, on_start, on_end);
    XML_SetCharacterDataHandler(expat, on_characters);
    const bool good = XML_Parse(expat, fragment.data, (int)fragment.size, 1) == XML_STATUS_OK;
    XML_ParserFree(expat);
    return good;
}

/* The fast path, for XML as MediaWiki writes it; false if it is anything else, or malformed. */
static bool parse_known(struct page_parser *parser, struct str fragment)
{
    char names[ELEMENT_DEPTH_MAX][KNOWN_NAME_BYTES]; /* of the open elements */
    for (size_t at = 0; at < fragment.size;) {
        struct xml_tag tag;
        if (!xml_scan_tag(fragment, &at, &tag) || tag.name.size >= KNOWN_NAME_BYTES)
            return false;
        if (!tag.closing) {
            if (parser->depth == ELEMENT_DEPTH_MAX)
                return false;
            char *name = names[parser->depth];
            memcpy(name, tag.name.data, tag.name.size);
            name[tag.name.size] = '\0';
            on_start(parser, name, NULL);
        }
        if (tag.closing || tag.empty) {
            if (parser->depth == 0 || !str_equal(tag.name, str_of(names[parser->depth - 1])))
                return false;
            on_end(parser, names[parser->depth - 1]);
        }
        if (parser->depth == 0)
            return at == fragment.size;
        const size_t size = xml_scan_characters(fragment, &at, parser->out + parser->size);
        if (takes_characters(parser))
            parser->size += size;
    }
    return false;
}

/* The way for what is not well-formed. */
static bool parse_mended(struct page_parser *parser, struct str fragment)
{
    struct mended_page mended;
    struct page *page = parser->page;
    if (!xml_mend(fragment, parser->out, &mended))
        return false;
    const struct {
        struct str from, *to;
    } texts[] = {{mended.title, &page->title},
                 {mended.timestamp, &page->timestamp},
                 {mended.model, &page->model},
                 {mended.text, &page->text}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].from.data)
            *texts[i].to = texts[i].from;
    if (mended.id.data)
        set_id(page, str_trim(mended.id));
    if (mended.ns.data)
        set_ns(page, str_trim(mended.ns));
    if (mended.revision_id.data)
        set_revision_id(page, str_trim(mended.revision_id));
    page->is_redirect = mended.is_redirect;
    page->repairs |= mended.repairs ? mended.repairs : 1u << REPAIR_TAG;
    return true;
}

static void begin(struct page_parser *parser, struct page *page, char *out, size_t capacity)
{
    const uint32_t repairs = page->repairs;
    *page = (struct page){.id_text = STR(""),
                          .title = STR(""),
                          .timestamp = STR(""),
                          .model = STR(""),
                          .text = STR(""),
                          .repairs = repairs};
    *parser = (struct page_parser){
        .expat_alone = parser->expat_alone, .page = page, .out = out, .capacity = capacity, .mended = parser->mended};
}

static bool begins_page(struct str fragment)
{
    static const char after[] = " \t\r\n>/";
    const struct str tag = STR("<page");
    return str_starts(fragment, tag) && fragment.size > tag.size && fragment.data[tag.size] &&
           strchr(after, fragment.data[tag.size]);
}

int page_parse(struct page_parser *parser, struct str fragment, struct arena *arena, struct page *page)
{
    struct str trimmed = str_trim(fragment);
    page->repairs = 0;
    if (!utf8_valid(trimmed)) {
        buf_reset(&parser->mended);
        utf8_replace(trimmed, &parser->mended);
        trimmed = buf_str(&parser->mended);
        page->repairs = 1u << REPAIR_ENCODING;
    }
    const uint32_t repairs = page->repairs;
    if (!begins_page(trimmed) || trimmed.size > INT_MAX) {
        begin(parser, page, NULL, 0);
        return -1;
    }
    char *out = arena_alloc(arena, trimmed.size + XML_SCAN_ROOM);
    begin(parser, page, out, trimmed.size);
    bool good = !parser->expat_alone && parse_known(parser, trimmed);
    if (!good) {
        page->repairs = repairs;
        begin(parser, page, out, trimmed.size);
        good = parse_any(parser, trimmed);
    }
    assert(parser->size <= parser->capacity); /* no field is longer than the XML that it is from */
    if (!good || parser->malformed) {
        page->repairs = repairs;
        begin(parser, page, out, trimmed.size);
        good = parse_mended(parser, trimmed);
    }
    return good ? 0 : -1;
}

void page_parser_use_expat(struct page_parser *parser)
{
    parser->expat_alone = true;
}

void page_parser_close(struct page_parser *parser)
{
    if (parser)
        buf_release(&parser->mended);
    mem_free(parser);
}
