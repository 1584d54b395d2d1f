#include "pipeline/text/xml/xml_mend.h"

#include "pipeline/text/xml/xml_scan.h"

#define FIELD_BYTES_MAX 4096u /* of a field other than text, in which its end tag is sought */
#define CDATA_BEGIN     STR("<![CDATA[")
#define CDATA_END       STR("]]>")

struct mending {
    struct str xml;
    size_t at;
    char *out;
    struct page_fields *page;
    bool in_revision;
    size_t sought; /* up to here the end tag of an earlier field was sought in vain; so no byte is passed over twice */
};

static struct str rest_of(const struct mending *m, size_t at)
{
    return str_from(m->xml, at);
}

static bool is_name(char byte)
{
    return ascii_is_letter(byte) || ascii_is_digit(byte);
}

/* True if the tag <name or </name begins the text. */
static bool begins(struct str text, struct str mark, struct str name)
{
    if (!str_starts(text, mark))
        return false;
    text = str_from(text, mark.size);
    return str_starts(text, name) && (text.size == name.size || !is_name(text.data[name.size]));
}

static bool is_end(struct str text, struct str name)
{
    return begins(text, STR("</"), name);
}

/* The position of the next '<' at or after `at`; the end of the fragment if there is none. */
static size_t next_tag(const struct mending *m, size_t at)
{
    const char *found = at < m->xml.size ? memchr(m->xml.data + at, '<', m->xml.size - at) : NULL;
    return found ? (size_t)(found - m->xml.data) : m->xml.size;
}

/* The position after the tag at `at`; *empty: it ends with "/>". A '>' in a quoted value does not end it. */
static size_t after_tag(const struct mending *m, size_t at, bool *empty)
{
    char quote = '\0';
    const size_t from = at, limit = m->xml.size - at < FIELD_BYTES_MAX ? m->xml.size : at + FIELD_BYTES_MAX;
    for (; at < limit && (quote || m->xml.data[at] != '>'); at++)
        if (m->xml.data[at] == '"' || m->xml.data[at] == '\'')
            quote = !quote ? m->xml.data[at] : quote == m->xml.data[at] ? '\0' : quote;
    if (at == limit) /* an open quotation mark */
        for (at = from; at < limit && m->xml.data[at] != '>'; at++)
            ;
    *empty = at < limit && m->xml.data[at - 1] == '/';
    return at < limit ? at + 1 : limit;
}

/* ------------------------------------------------------------------------------------------------- characters */

static bool allowed(uint32_t character)
{
    return character == '\t' || character == '\n' || character == '\r' || (character >= ' ' && character < 0xD800) ||
           (character >= 0xE000 && character < 0xFFFE) || (character >= 0x10000 && character <= 0x10FFFF);
}

/* The size of "&#123;" or "&#x7b;" at the start of the text, and its value, at most 0x110000; 0 if there is none. */
static size_t read_number(struct str text, uint32_t *value)
{
    const bool hex = text.size > 2 && text.data[2] == 'x';
    const size_t first = hex ? 3 : 2;
    size_t at = first;
    *value = 0;
    for (; at < text.size && text.data[at] != ';'; at++) {
        const char lower = (char)(text.data[at] | 0x20);
        unsigned digit = 16;
        if (text.data[at] >= '0' && text.data[at] <= '9')
            digit = (unsigned)(text.data[at] - '0');
        else if (hex && lower >= 'a' && lower <= 'f')
            digit = (unsigned)(lower - 'a') + 10;
        if (digit == 16)
            return 0;
        *value = *value * (hex ? 16 : 10) + digit;
        if (*value > 0x110000)
            *value = 0x110000;
    }
    return at > first && at < text.size ? at + 1 : 0;
}

/* Decodes the reference at the start of the text to `out`; returns its size, 0 if there is none. */
static size_t read_reference(struct str text, char out[4], unsigned *written, uint32_t *repairs)
{
    const size_t named = xml_reference(text, out);
    *written = 1;
    if (named > 0)
        return named;
    uint32_t value;
    const size_t size = str_starts(text, STR("&#")) ? read_number(text, &value) : 0;
    if (size == 0 || !allowed(value))
        *repairs |= 1u << REPAIR_REFERENCE;
    if (size > 0) /* "&#0;" is no shorter than U+FFFD */
        *written = utf8_write(allowed(value) ? value : 0xFFFD, out);
    return size;
}

/* Appends the content of a field, decoded; returns it. */
static struct str decode(struct mending *m, struct str content)
{
    struct str field = {m->out, 0};
    size_t cdata = 0; /* up to here, references are none */
    for (size_t at = 0; at < content.size;) {
        const struct str rest = str_from(content, at);
        char bytes[4];
        unsigned written = 0;
        size_t taken = 0;
        if (at >= cdata && rest.data[0] == '<' && str_starts(rest, CDATA_BEGIN)) {
            const size_t end = str_find(rest, CDATA_END);
            cdata = end == SIZE_MAX ? content.size : at + end;
            at += CDATA_BEGIN.size;
            continue;
        }
        if (cdata > 0 && at == cdata && str_starts(rest, CDATA_END)) {
            at += CDATA_END.size;
            continue;
        }
        if (at >= cdata && rest.data[0] == '<')
            m->page->repairs |= 1u << REPAIR_TAG;
        if (at >= cdata && rest.data[0] == '&')
            taken = read_reference(rest, bytes, &written, &m->page->repairs);
        if (taken == 0) {
            uint32_t character;
            unsigned skip;
            taken = written = utf8_decode(rest.data, rest.size, &character, &skip);
            memcpy(bytes, rest.data, taken);
            if (character == '\r') { /* line ends of XML */
                bytes[0] = '\n';
                written = rest.size < 2 || rest.data[1] != '\n';
            } else if (!allowed(character)) {
                m->page->repairs |= 1u << (character ? REPAIR_CHARACTER : REPAIR_NUL);
                written = 0;
            }
        }
        memcpy(m->out, bytes, written);
        m->out += written;
        at += taken;
    }
    field.size = (size_t)(m->out - field.data);
    return field;
}

/* --------------------------------------------------------------------------------------------------- elements */

/* Takes the content of a short field up to its end tag. */
static struct str take_field(struct mending *m, struct str name)
{
    const size_t from = m->at, limit = m->xml.size - from < FIELD_BYTES_MAX ? m->xml.size : from + FIELD_BYTES_MAX;
    const size_t end = next_tag(m, from);
    for (size_t at = end; from >= m->sought && at < limit; at = next_tag(m, at + 1))
        if (is_end(rest_of(m, at), name)) {
            bool empty;
            m->at = after_tag(m, at, &empty);
            return str_part(m->xml, from, at);
        }
    m->page->repairs |= 1u << REPAIR_TAG;
    m->sought = m->sought > limit ? m->sought : limit;
    m->at = end;
    return str_part(m->xml, from, end);
}

/* True if an element of the export, or the end of one, follows the end tag at `at`: it is no text about XML. */
static bool is_followed(const struct mending *m, size_t at)
{
    static const struct str names[] = {{"sha1", 4}, {"model", 5}, {"format", 6}, {"content", 7}, {"text", 4}};
    bool empty;
    struct str rest = rest_of(m, after_tag(m, at, &empty));
    while (rest.size > 0 && (*rest.data == ' ' || *rest.data == '\t' || *rest.data == '\n' || *rest.data == '\r'))
        rest = str_from(rest, 1);
    bool followed = rest.size == 0 || is_end(rest, STR("revision")) || is_end(rest, STR("page"));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        followed |= begins(rest, STR("<"), names[i]);
    return followed;
}

/* Takes the content of <text>; false if it has no end. */
static bool take_text(struct mending *m, struct str *content)
{
    size_t end = SIZE_MAX, at = next_tag(m, m->at);
    for (; at < m->xml.size; at = next_tag(m, at + 1)) {
        const struct str rest = rest_of(m, at);
        if (is_end(rest, STR("revision")) || is_end(rest, STR("page")) || begins(rest, STR("<"), STR("revision")))
            break;
        if (is_end(rest, STR("text"))) {
            end = at;
            if (is_followed(m, at))
                break;
        }
    }
    if (end == SIZE_MAX)
        return false;
    *content = str_part(m->xml, m->at, end);
    m->at = end + 1;
    return true;
}

void page_fields_begin_revision(struct page_fields *fields)
{
    fields->revision_id = fields->timestamp = fields->model = fields->text = (struct str){0};
}

struct str *page_field(struct page_fields *fields, struct str name, bool in_revision)
{
    const struct {
        struct str name;
        bool in_revision;
        struct str *field;
    } known[] = {{STR("title"), false, &fields->title},
                 {STR("ns"), false, &fields->ns},
                 {STR("id"), false, &fields->id},
                 {STR("id"), true, &fields->revision_id},
                 {STR("timestamp"), true, &fields->timestamp},
                 {STR("model"), true, &fields->model},
                 {STR("text"), true, &fields->text}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].in_revision == in_revision && str_equal(known[i].name, name))
            return known[i].field;
    return NULL;
}

/* The name of the element that begins at the start of the text; empty if none does. */
static struct str name_of(struct str text)
{
    size_t end = 1;
    while (end < text.size && is_name(text.data[end]))
        end++;
    return str_part(text, 1, end);
}

/* Elements that are passed over with all that they hold. */
static bool is_opaque(struct str name)
{
    static const struct str names[] = {{"contributor", 11}, {"comment", 7}, {"upload", 6}, {"sha1", 4}, {"origin", 6}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_equal(name, names[i]))
            return true;
    return false;
}

/* Takes the tag at m->at with what belongs to it; false if the page is malformed. */
static bool take_tag(struct mending *m)
{
    const struct str tag = rest_of(m, m->at), name = name_of(tag);
    const bool is_text = str_equal(name, STR("text"));
    struct str *field = is_text ? &m->page->text : page_field(m->page, name, m->in_revision), content;
    bool empty;
    if (str_equal(name, STR("revision"))) {
        m->in_revision = true;
        page_fields_begin_revision(m->page);
    } else if (is_end(tag, STR("revision"))) {
        m->in_revision = false;
    } else if (str_equal(name, STR("redirect"))) {
        m->page->is_redirect |= !m->in_revision;
    }
    m->at = after_tag(m, m->at, &empty);
    if (is_opaque(name) && !empty) {
        take_field(m, name);
    } else if (field && !field->data) { /* the first one counts */
        if (is_text && !empty && !take_text(m, &content))
            return false;
        *field = empty ? STR("") : decode(m, is_text ? content : take_field(m, name));
    }
    return true;
}

bool xml_mend(struct str fragment, char *out, struct page_fields *fields)
{
    struct mending m = {.xml = fragment, .out = out, .page = fields};
    *fields = (struct page_fields){0};
    while ((m.at = next_tag(&m, m.at)) < m.xml.size)
        if (!take_tag(&m))
            return false;
    return fields->text.data != NULL;
}
