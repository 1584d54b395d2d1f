#include "pipeline/dump/encodings.h"

#include "base/mem.h"
#include "base/str.h"
#include "pipeline/dump/encoding_tables.h"

#include <assert.h>
#include <errno.h>
#include <iconv.h>
#include <limits.h>
#include <stdio.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

#define NAME_BYTES 40u
#define MARK       0xFEFFu

/* The names of the WHATWG Encoding Standard where it has one, those of IANA otherwise. The names of Shift_JIS, EUC-KR
 * and GB2312 mean the larger sets that programs write under these names (as that standard has it). Rows of single-byte
 * encodings without other names than in encoding_tables are not needed here. */
static const struct {
    struct encoding encoding;
    const char *aliases; /* each between blanks, as fold gives them */
} named[] = {
    {{.name = "utf-8"}, " utf utf8sig unicode11utf8 usascii ascii "},
    {{.name = "utf-8-lossy", .lossy = true}, " utf8replace utf8ignore "},
    {{.name = "utf-16", .method = ENCODING_UTF16}, " ucs2 unicode u16 "},
    {{.name = "utf-16le", .method = ENCODING_UTF16, .order = ORDER_LITTLE}, " ucs2le unicodelittle "},
    {{.name = "utf-16be", .method = ENCODING_UTF16, .order = ORDER_BIG}, " ucs2be unicodebig "},
    {{.name = "utf-32", .method = ENCODING_UTF32}, " ucs4 u32 "},
    {{.name = "utf-32le", .method = ENCODING_UTF32, .order = ORDER_LITTLE}, " ucs4le "},
    {{.name = "utf-32be", .method = ENCODING_UTF32, .order = ORDER_BIG}, " ucs4be "},
    {{.name = "shift_jis", .method = ENCODING_ICONV, .iconv = "CP932"},
     " sjis cp932 ms932 windows31j mskanji windows932 xsjis 932 "},
    {{.name = "euc-jp", .method = ENCODING_ICONV, .iconv = "EUC-JP"}, " ujis xeucjp "},
    {{.name = "iso-2022-jp", .method = ENCODING_ICONV, .iconv = "ISO-2022-JP"}, " jis csiso2022jp "},
    {{.name = "gb18030", .method = ENCODING_ICONV, .iconv = "GB18030"},
     " gbk gb2312 cp936 ms936 936 windows936 euccn chinese gb xgbk "},
    {{.name = "big5", .method = ENCODING_ICONV, .iconv = "BIG5"}, " big5tw cnbig5 cp950 950 xxbig5 "},
    {{.name = "big5-hkscs", .method = ENCODING_ICONV, .iconv = "BIG5-HKSCS"}, " hkscs "},
    {{.name = "euc-tw", .method = ENCODING_ICONV, .iconv = "EUC-TW"}, " "},
    {{.name = "euc-kr", .method = ENCODING_ICONV, .iconv = "UHC"},
     " uhc cp949 ms949 949 windows949 korean ksc5601 ksx1001 ksc56011987 "},
    {{.name = "johab", .method = ENCODING_ICONV, .iconv = "JOHAB"}, " cp1361 ms1361 "},
};

/* Other names of single-byte encodings, folded. "cp1251", "1251", "ibm866", "iso88592" and the like follow a rule. */
static const struct {
    const char *name, *aliases;
} singles[] = {
    {"iso-8859-1", " latin1 l1 latin ibm819 cp819 "},
    {"iso-8859-2", " latin2 l2 "},
    {"iso-8859-3", " latin3 l3 "},
    {"iso-8859-4", " latin4 l4 "},
    {"iso-8859-5", " cyrillic "},
    {"iso-8859-6", " arabic asmo708 "},
    {"iso-8859-7", " greek greek8 elot928 "},
    {"iso-8859-8", " hebrew iso88598i "},
    {"iso-8859-9", " latin5 l5 "},
    {"iso-8859-10", " latin6 l6 "},
    {"iso-8859-11", " thai tis620 "},
    {"iso-8859-13", " latin7 l7 "},
    {"iso-8859-14", " latin8 l8 "},
    {"iso-8859-15", " latin9 latin0 l9 "},
    {"iso-8859-16", " latin10 l10 "},
    {"windows-1252", " ansi western "},
    {"koi8-r", " koi8 koi koi8ru "},
    {"kz-1048", " rk1048 strk1048 "},
    {"ptcp154", " cp154 pt154 cyrillicasian "},
    {"macintosh", " mac macroman xmacroman "},
    {"x-mac-ce", " maccentraleurope maclatin2 maccenteuro maccentraleurroman "},
    {"x-mac-cyrillic", " maccyrillic xmacukrainian "},
    {"x-mac-croatian", " maccroatian "},
    {"x-mac-greek", " macgreek "},
    {"x-mac-iceland", " maciceland "},
    {"x-mac-romanian", " macromanian "},
    {"x-mac-turkish", " macturkish "},
};

/* Lower case, without what separates; false: too long for any name. */
static bool fold(const char *name, char out[NAME_BYTES])
{
    size_t size = 0;
    for (; *name; name++) {
        const char c = *name;
        if (strchr("-_.: ", c))
            continue;
        if (size == NAME_BYTES - 1)
            return false;
        out[size++] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    out[size] = '\0';
    return size > 0;
}

static bool is_alias(const char *folded, const char *aliases)
{
    char between[NAME_BYTES + 2];
    snprintf(between, sizeof between, " %s ", folded);
    return strstr(aliases, between) != NULL;
}

/* "cp1251", "ms1251", "ibm1251", "win1251" and "1251" are "windows1251" or "ibm1251". */
static bool is_page(const char *folded, const char *own)
{
    static const char *const prefixes[] = {"cp", "ms", "ibm", "win", "windows", "dos", "xcp", ""};
    const size_t letters = strncmp(own, "windows", 7) == 0 ? 7 : strncmp(own, "ibm", 3) == 0 ? 3 : 0;
    for (size_t i = 0; letters > 0 && i < sizeof prefixes / sizeof *prefixes; i++) {
        const size_t size = strlen(prefixes[i]);
        if (strncmp(folded, prefixes[i], size) == 0 && strcmp(folded + size, own + letters) == 0)
            return true;
    }
    return false;
}

static bool is_single(const char *folded, const struct encoding_table *table)
{
    char own[NAME_BYTES];
    fold(table->name, own);
    if (strcmp(folded, own) == 0 || is_page(folded, own))
        return true;
    for (size_t i = 0; i < sizeof singles / sizeof *singles; i++)
        if (strcmp(singles[i].name, table->name) == 0)
            return is_alias(folded, singles[i].aliases);
    return false;
}

bool encoding_find(const char *name, struct encoding *encoding)
{
    char folded[NAME_BYTES], own[NAME_BYTES];
    if (!fold(name, folded))
        return false;
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        *encoding = named[i].encoding;
        fold(encoding->name, own);
        if (strcmp(folded, own) == 0 || is_alias(folded, named[i].aliases))
            return true;
    }
    for (const struct encoding_table *table = encoding_tables; table->name; table++)
        if (is_single(folded, table)) {
            *encoding =
                (struct encoding){.name = table->name, .method = ENCODING_SINGLE, .characters = table->characters};
            return true;
        }
    return false;
}

struct nearest {
    char typed[NAME_BYTES];
    const char *name;
    unsigned least;
};

static void compare(struct nearest *nearest, struct str spelled, const char *name)
{
    const unsigned far = str_distance(str_of(nearest->typed), spelled);
    if (far < nearest->least) {
        nearest->least = far;
        nearest->name = name;
    }
}

static void compare_all(struct nearest *nearest, const char *name, const char *aliases)
{
    char own[NAME_BYTES];
    fold(name, own);
    compare(nearest, str_of(own), name);
    for (const char *at = aliases, *stop; *at && (stop = strchr(at + 1, ' ')) != NULL; at = stop)
        compare(nearest, str_range(at + 1, stop), name);
}

const char *encoding_nearest(const char *name)
{
    struct nearest nearest = {.name = "utf-8", .least = UINT_MAX};
    if (!fold(name, nearest.typed))
        return nearest.name;
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        compare_all(&nearest, named[i].encoding.name, named[i].aliases);
    for (size_t i = 0; i < sizeof singles / sizeof *singles; i++)
        compare_all(&nearest, singles[i].name, singles[i].aliases);
    for (const struct encoding_table *table = encoding_tables; table->name; table++)
        compare_all(&nearest, table->name, "");
    return nearest.name;
}

const char *encoding_library(const struct encoding *encoding)
{
    static char library[48];
    if (encoding->method != ENCODING_ICONV)
        return NULL;
#if defined(__GLIBC__)
    snprintf(library, sizeof library, "glibc %s", gnu_get_libc_version());
#elif defined(_LIBICONV_VERSION)
    snprintf(library, sizeof library, "libiconv %d.%d", _libiconv_version >> 8, _libiconv_version & 0xff);
#else
    snprintf(library, sizeof library, "another C library");
#endif
    return library;
}

/* ----------------------------------------------------------------------------------------------------- decoders */

struct decoder {
    struct encoding encoding;
    enum byte_order order; /* settled by the first characters */
    bool begun;            /* a mark is not expected any more */
    iconv_t iconv;
};

#define NO_ICONV ((iconv_t)-1)

int decoder_open(struct decoder **decoder, const struct encoding *encoding, struct error *err)
{
    assert(encoding_converts(encoding));
    iconv_t opened = NO_ICONV;
    if (encoding->method == ENCODING_ICONV) {
        opened = iconv_open("UTF-8", encoding->iconv);
        if (opened == NO_ICONV && errno == ENOMEM)
            die(ERR_RESOURCE, "out of memory for a decoder");
        if (opened == NO_ICONV) {
            fail(err, ERR_UNSAFE, "--encoding %s: this system's iconv does not have it", encoding->name);
            return hint(err,
                        "install its conversion modules (Debian: libc6, Fedora: glibc-gconv-extra), or convert the "
                        "text to UTF-8 elsewhere");
        }
    }
    *decoder = mem_clear(1, sizeof **decoder);
    **decoder = (struct decoder){.encoding = *encoding, .order = encoding->order, .iconv = opened};
    return 0;
}

void decoder_close(struct decoder *decoder)
{
    if (decoder && decoder->iconv != NO_ICONV)
        iconv_close(decoder->iconv);
    mem_free(decoder);
}

static enum decoder_result step_single(const struct decoder *decoder, struct decoder_step *step)
{
    while (step->in_bytes > 0) {
        const uint8_t byte = *step->in;
        const uint32_t character = byte < 0x80 ? byte : decoder->encoding.characters[byte - 0x80];
        if (byte >= 0x80 && character == 0)
            return DECODER_BAD;
        if (step->out_bytes < 3)
            return DECODER_FULL;
        const unsigned size = utf8_write(character, step->out);
        step->out += size;
        step->out_bytes -= size;
        step->in++;
        step->in_bytes--;
    }
    return DECODER_MORE;
}

static uint32_t unit_of(const uint8_t *bytes, size_t width, enum byte_order order)
{
    uint32_t unit = 0;
    for (size_t i = 0; i < width; i++)
        unit = unit << 8 | bytes[order == ORDER_BIG ? i : width - 1 - i];
    return unit;
}

/* The character at `bytes`, and the bytes that it takes. 0 bytes: it is incomplete; SIZE_MAX: ill-formed. */
static size_t wide_character(const uint8_t *bytes, size_t size, size_t width, enum byte_order order,
                             uint32_t *character)
{
    if (size < width)
        return 0;
    *character = unit_of(bytes, width, order);
    if (width == 4)
        return *character > 0x10FFFF || *character >> 11 == 0xD800 >> 11 ? SIZE_MAX : 4;
    if (*character >> 11 != 0xD800 >> 11)
        return 2;
    if (*character >= 0xDC00)
        return SIZE_MAX;
    if (size < 4)
        return 0;
    const uint32_t low = unit_of(bytes + 2, 2, order);
    if (low >> 10 != 0xDC00 >> 10)
        return SIZE_MAX;
    *character = 0x10000 + ((*character - 0xD800) << 10) + (low - 0xDC00);
    return 4;
}

/* Settles the order by a mark, if the encoding leaves it open. */
static void settle_order(struct decoder *decoder, const uint8_t *bytes, size_t width)
{
    if (decoder->order == ORDER_BY_MARK)
        decoder->order = unit_of(bytes, width, ORDER_BIG) == MARK ? ORDER_BIG : ORDER_LITTLE;
}

static enum decoder_result step_wide(struct decoder *decoder, size_t width, struct decoder_step *step)
{
    while (step->in_bytes > 0) {
        uint32_t character = 0;
        if (step->in_bytes >= width)
            settle_order(decoder, step->in, width);
        const size_t size = wide_character(step->in, step->in_bytes, width, decoder->order, &character);
        if (size == 0)
            return step->last ? DECODER_BAD : DECODER_MORE;
        if (size == SIZE_MAX)
            return DECODER_BAD;
        if (step->out_bytes < 4)
            return DECODER_FULL;
        const bool mark = !decoder->begun && character == MARK;
        const unsigned made = mark ? 0 : utf8_write(character, step->out);
        decoder->begun = true;
        step->out += made;
        step->out_bytes -= made;
        step->in += size;
        step->in_bytes -= size;
    }
    return DECODER_MORE;
}

static enum decoder_result step_iconv(struct decoder *decoder, struct decoder_step *step)
{
    if (step->out_bytes < DECODER_ROOM)
        return DECODER_FULL;
    char *in = (char *)(uintptr_t)step->in;
    size_t in_bytes = step->in_bytes;
    const size_t done = iconv(decoder->iconv, &in, &in_bytes, &step->out, &step->out_bytes);
    const int why = done == (size_t)-1 ? errno : 0;
    assert(in_bytes <= step->in_bytes);
    step->in = (const uint8_t *)in;
    step->in_bytes = in_bytes;
    if (why == E2BIG)
        return DECODER_FULL;
    if (why == EILSEQ || (why == EINVAL && step->last))
        return DECODER_BAD;
    if (why == 0 && step->last) /* what a stateful encoding still holds */
        iconv(decoder->iconv, NULL, NULL, &step->out, &step->out_bytes);
    return DECODER_MORE;
}

enum decoder_result decoder_step(struct decoder *decoder, struct decoder_step *step)
{
    switch (decoder->encoding.method) {
    case ENCODING_SINGLE:
        return step_single(decoder, step);
    case ENCODING_UTF16:
        return step_wide(decoder, 2, step);
    case ENCODING_UTF32:
        return step_wide(decoder, 4, step);
    case ENCODING_ICONV:
        return step_iconv(decoder, step);
    case ENCODING_UTF8:
        break;
    }
    assert(false); /* decoder_open takes no encoding that does not convert */
    return DECODER_BAD;
}
