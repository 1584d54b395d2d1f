#include "pipeline/text/xml/xml_scan.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define STEP_BYTES     XML_SCAN_ROOM /* checked and copied at once */
#define ATTRIBUTES_MAX 4u

/* Bytes of character data that need attention: 0xEF begins U+FFFE and U+FFFF, which XML does not allow. */
static bool is_stop(unsigned char byte)
{
    return byte == '<' || byte == '>' || byte == '&' || byte == 0xEF || (byte < ' ' && byte != '\n');
}

/* Copies STEP_BYTES bytes. Bit i of the result says whether from[i] is a stop. */
#ifdef __SSE2__
static unsigned copy_step(char *to, const char *from)
{
    const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)from);
    _mm_storeu_si128((__m128i *)(void *)to, bytes);
    const __m128i angle = _mm_cmpeq_epi8(_mm_or_si128(bytes, _mm_set1_epi8('<' ^ '>')), _mm_set1_epi8('>'));
    const __m128i high = _mm_cmpeq_epi8(bytes, _mm_set1_epi8((char)0xEF));
    const __m128i reference = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('&'));
    const __m128i control = _mm_andnot_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\n')),
                                             _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(' ' - 1)), bytes));
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(angle, reference), _mm_or_si128(high, control)));
}
#else
static unsigned copy_step(char *to, const char *from)
{
    unsigned stops = 0;
    for (unsigned i = 0; i < STEP_BYTES; i++) {
        stops |= (unsigned)is_stop((unsigned char)from[i]) << i;
        to[i] = from[i];
    }
    return stops;
}
#endif

size_t xml_reference(struct str text, char *character)
{
    static const struct {
        struct str name;
        char character;
    } references[] = {
        {{"&lt;", 4}, '<'}, {{"&gt;", 4}, '>'}, {{"&amp;", 5}, '&'}, {{"&quot;", 6}, '"'}, {{"&apos;", 6}, '\''}};
    for (size_t i = 0; i < sizeof references / sizeof references[0]; i++)
        if (str_starts(text, references[i].name)) {
            *character = references[i].character;
            return references[i].name.size;
        }
    return 0;
}

/* The size of the stop at the start of `text` (other than '<'), and its character; 0 if it is not supported. */
static size_t read_stop(struct str text, char *character)
{
    *character = text.data[0];
    switch ((unsigned char)text.data[0]) {
    case '&':
        return xml_reference(text, character);
    case '\t':
        return 1;
    case 0xEF:
        return text.size >= 3 && (unsigned char)text.data[1] == 0xBF && (unsigned char)text.data[2] >= 0xBE ? 0 : 1;
    default:
        return 0;
    }
}

size_t xml_scan_characters(struct str xml, size_t *at, char *out)
{
    size_t from = *at, size = 0;
    while (from < xml.size) {
        if (xml.size - from >= STEP_BYTES) {
            const unsigned stops = copy_step(out + size, xml.data + from);
            const unsigned plain = stops == 0 ? STEP_BYTES : (unsigned)__builtin_ctz(stops);
            from += plain;
            size += plain;
            if (stops == 0)
                continue;
        } else if (!is_stop((unsigned char)xml.data[from])) {
            out[size++] = xml.data[from++];
            continue;
        }
        if (xml.data[from] == '<')
            break;
        char character;
        const size_t taken = read_stop(str_from(xml, from), &character);
        if (taken == 0)
            break;
        from += taken;
        out[size++] = character;
    }
    *at = from;
    return size;
}

/* ------------------------------------------------------------------------------------------------------ tags */

/* The name at `at`; empty if none begins there. One colon between two letters is allowed: xml:space. */
static struct str read_name(struct str xml, size_t at)
{
    size_t end = at;
    while (end < xml.size &&
           (ascii_is_letter(xml.data[end]) || (end > at && (ascii_is_digit(xml.data[end]) || xml.data[end] == ':'))))
        end++;
    return str_part(xml, at, end);
}

/* The position after the quoted value at `at`; SIZE_MAX if it is not supported. */
static size_t skip_value(struct str xml, size_t at)
{
    while (at < xml.size && xml.data[at] != '"') {
        char character;
        const bool stops = is_stop((unsigned char)xml.data[at]);
        const size_t taken = stops ? read_stop(str_from(xml, at), &character) : 1;
        if (taken == 0)
            return SIZE_MAX;
        at += taken;
    }
    return at < xml.size ? at : SIZE_MAX;
}

static bool skip_text(struct str xml, size_t *at, struct str text)
{
    const bool is_there = str_starts(str_from(xml, *at), text);
    *at += is_there ? text.size : 0;
    return is_there;
}

static bool is_among(const struct str *names, unsigned count, struct str name)
{
    for (unsigned i = 0; i < count; i++)
        if (str_equal(names[i], name))
            return true;
    return false;
}

bool xml_scan_tag(struct str xml, size_t *at, struct xml_tag *tag)
{
    if (!skip_text(xml, at, STR("<")))
        return false;
    tag->closing = skip_text(xml, at, STR("/"));
    tag->empty = false;
    tag->name = read_name(xml, *at);
    *at += tag->name.size;
    if (tag->name.size == 0)
        return false;
    struct str attributes[ATTRIBUTES_MAX];
    for (unsigned count = 0; !tag->closing; count++) {
        const bool blank = skip_text(xml, at, STR(" "));
        tag->empty = skip_text(xml, at, STR("/"));
        if (tag->empty || !blank)
            break;
        const struct str name = read_name(xml, *at);
        if (count == ATTRIBUTES_MAX || name.size == 0 || is_among(attributes, count, name))
            return false;
        attributes[count] = name;
        *at += name.size;
        if (!skip_text(xml, at, STR("=\"")))
            return false;
        *at = skip_value(xml, *at);
        if (*at == SIZE_MAX)
            return false;
        (*at)++;
    }
    return skip_text(xml, at, STR(">"));
}
