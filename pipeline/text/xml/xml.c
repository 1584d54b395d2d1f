#include "pipeline/text/xml/xml.h"

#include "base/mem.h"
#include "pipeline/text/xml/xml_mend.h"
#include "pipeline/text/xml/xml_scan.h"

#include <assert.h>
#include <expat.h>
#include <limits.h>

#define ELEMENT_DEPTH_MAX 16u /* dumps have 5; a deeper page is malformed */
#define KNOWN_NAME_BYTES  16u /* of an element's name on the fast path, with its NUL */

struct page_parser {
    bool expat_alone;
    struct page_fields fields;
    unsigned depth;   /* open elements */
    bool in_revision; /* inside page/revision */
    bool malformed;
    struct str *field;    /* the field whose characters are being read, or NULL */
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

static void XMLCALL on_start(void *data, const char *name, const char **attributes)
{
    (void)attributes;
    struct page_parser *parser = data;
    const unsigned depth = parser->depth++;
    if (depth >= ELEMENT_DEPTH_MAX || (depth == 0 && strcmp(name, "page") != 0))
        parser->malformed = true;
    if (parser->field) /* a tag of the text that is not escaped */
        parser->malformed = true;
    if (depth == 1 && strcmp(name, "revision") == 0) {
        parser->in_revision = true;
        page_fields_begin_revision(&parser->fields);
    } else if (depth == 1 && strcmp(name, "redirect") == 0) {
        parser->fields.is_redirect = true;
    }
    if (depth != (parser->in_revision ? 2u : 1u))
        return;
    parser->field = page_field(&parser->fields, str_of(name), parser->in_revision);
    parser->field_depth = parser->depth;
    parser->field_start = parser->size;
    if (parser->field == &parser->fields.text) /* the second one of its revision */
        parser->malformed |= parser->fields.text.data != NULL;
}

static bool takes_characters(const struct page_parser *parser)
{
    return parser->field && parser->depth == parser->field_depth;
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
    if (!parser->field || depth != parser->field_depth)
        return;
    *parser->field = content;
    parser->field = NULL;
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

/* Makes the page of the fields that were found. */
static void take_fields(const struct page_fields *fields, struct page *page)
{
    const struct {
        struct str from, *to;
    } texts[] = {{fields->title, &page->title},
                 {fields->timestamp, &page->timestamp},
                 {fields->model, &page->model},
                 {fields->text, &page->text},
                 {fields->id, &page->id_text}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].from.data)
            *texts[i].to = texts[i].from;
    page->id_text = str_trim(page->id_text);
    if (fields->id.data)
        set_number(page, page->id_text, INT64_MAX, &page->id);
    if (fields->revision_id.data)
        set_number(page, str_trim(fields->revision_id), INT64_MAX, &page->revision_id);
    if (fields->ns.data) {
        uint64_t value;
        const struct str text = str_trim(fields->ns);
        const bool negative = str_starts(text, STR("-"));
        page->has_ns = set_number(page, str_from(text, negative), INT32_MAX, &value);
        page->ns = negative ? -(int32_t)value : (int32_t)value;
    }
    page->is_redirect = fields->is_redirect;
}

static void begin(struct page_parser *parser, char *out, size_t capacity)
{
    *parser = (struct page_parser){
        .expat_alone = parser->expat_alone, .out = out, .capacity = capacity, .mended = parser->mended};
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
    *page =
        (struct page){.id_text = STR(""), .title = STR(""), .timestamp = STR(""), .model = STR(""), .text = STR("")};
    if (!utf8_valid(trimmed)) {
        buf_reset(&parser->mended);
        utf8_replace(trimmed, &parser->mended);
        trimmed = buf_str(&parser->mended);
        page->repairs = 1u << REPAIR_ENCODING;
    }
    if (!begins_page(trimmed) || trimmed.size > INT_MAX)
        return -1;
    char *out = arena_alloc(arena, trimmed.size + XML_SCAN_ROOM);
    begin(parser, out, trimmed.size);
    bool good = !parser->expat_alone && parse_known(parser, trimmed);
    if (!good) {
        begin(parser, out, trimmed.size);
        good = parse_any(parser, trimmed);
    }
    assert(parser->size <= parser->capacity); /* no field is longer than the XML that it is from */
    if (!good || parser->malformed) {
        good = xml_mend(trimmed, out, &parser->fields);
        page->repairs |= !good ? 0 : parser->fields.repairs ? parser->fields.repairs : 1u << REPAIR_TAG;
    }
    if (good)
        take_fields(&parser->fields, page);
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
