/* Every encoding in which a language is written is tried. The one in which the bytes, as text of that language, would
 * take the fewest bits is the guess. The bits come from rough models: of a language, the order of its letters by
 * frequency (as they are commonly given); of Chinese, Japanese and Korean, in which part of the character set common
 * characters are. */
#include "pipeline/dump/guess_encoding.h"

#include <inttypes.h>
#include <math.h>
#include <utf8proc.h>

#define SAMPLE_BYTES_MAX ((size_t)256 << 10)
#define MARKED_MAX       20000u /* bytes above 7F that are enough for a verdict */

#define WESTERN  "windows-1252 macintosh ibm850 "
#define CENTRAL  "windows-1250 iso-8859-2 ibm852 x-mac-ce "
#define BALTIC   "windows-1257 iso-8859-13 iso-8859-4 ibm775 "
#define TURKISH  "windows-1254 iso-8859-9 ibm857 x-mac-turkish "
#define CYRILLIC "windows-1251 ibm866 iso-8859-5 x-mac-cyrillic ibm855 "

/* Letters beyond ASCII, the most frequent first. Where encodings give equal bits, the first row and name win. */
static const struct alphabet {
    const char *group, *encodings, *letters; /* group: for users */
} alphabets[] = {
    {"Western European", WESTERN, "éèàêçùîôâûœëïü"},         /* French */
    {"Western European", WESTERN, "üäößé"},                  /* German */
    {"Western European", WESTERN, "óíáéñúü¿¡"},              /* Spanish */
    {"Western European", WESTERN, "ãçáéíóêõúâàô"},           /* Portuguese */
    {"Western European", WESTERN, "àèùòìé"},                 /* Italian */
    {"Western European", WESTERN, "äöåé"},                   /* Swedish or Finnish */
    {"Western European", WESTERN, "øåæéöü"},                 /* Danish or Norwegian */
    {"Western European", WESTERN, "íáðóéþöúýæ"},             /* Icelandic */
    {"Western European", WESTERN, "àéíèóçúòï·ü"},            /* Catalan */
    {"Western European", WESTERN, "ëéïèóü"},                 /* Dutch */
    {"Western European", WESTERN, "äõüöšž"},                 /* Estonian */
    {"Central European", CENTRAL, "łąęóżśćńź"},              /* Polish */
    {"Central European", CENTRAL, "íáéěščřžýůúťďňó"},        /* Czech */
    {"Central European", CENTRAL, "áíéžčšýúľťňďôóäŕĺ"},      /* Slovak */
    {"Central European", CENTRAL, "áéöóőíüúű"},              /* Hungarian */
    {"Central European", CENTRAL, "šžčćđ"},                  /* Croatian or Slovene */
    {"Central European", CENTRAL "iso-8859-16 ", "ăîşţâșț"}, /* Romanian */
    {"Western European", WESTERN, "ëç"},                     /* Albanian */
    {"Baltic", BALTIC, "ėšųžįūąčę"},                         /* Lithuanian */
    {"Baltic", BALTIC, "āīēšūņļžčģķ"},                       /* Latvian */
    {"Turkish", TURKISH, "ıüşçöğâîİ"},
    {"Cyrillic", "koi8-r " CYRILLIC, "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё"}, /* Russian */
    {"Cyrillic", "koi8-u " CYRILLIC, "оаинвітерскулдпмязьбгчйхжшїцюєщфґ"}, /* Ukrainian */
    {"Cyrillic", CYRILLIC, "анірокетлсявдыуьмпзбгчхшйцжэўюфё"},            /* Belarusian */
    {"Cyrillic", CYRILLIC, "аоиетнсрвлкдпмзяъугбчйщжцхюшфь"},              /* Bulgarian */
    {"Cyrillic", CYRILLIC, "аоиентрсувкјдплмзгбњчљцшжћхфђџќѓѕ"},           /* Serbian or Macedonian */
    {"Greek", "windows-1253 iso-8859-7 ibm737 x-mac-greek ibm869 ", "αοιτενσηρπκυλςμίόωέάδγχήθύφώβξζψϊΐϋ"},
    {"Hebrew", "windows-1255 iso-8859-8 ibm862 ", "יוהלארתבמשנעדםחקפכטזןגסצףץך"},
    {"Arabic", "windows-1256 iso-8859-6 ibm720 ", "اليمنروتهبةعدسفكقأحجشطصىإخضذثزء،غئظؤآ"},
    {"Thai", "windows-874 ", "านรกอเง่มยลวดท้สตะีัปบคหิแจพชขใไ์ืุโถู็ผำณซธศษภญึฐฟ๊ฎฝฤฏ๋ฉฒฌฆฬๆ"},
    {"Vietnamese", "windows-1258 ", "đưôăơâê\u0301\u0300\u0323\u0309\u0303áàéèóòúùíì"},
    {"Western European", WESTERN, "’“”—é"}, /* English */
};

/* Bits of a character. Texts of any language have some of these signs. */
static const char signs[] = "“”‘’„«»–—…\u00A0", rare_signs[] = "‚‹›·•°§©®™€£№½×¿¡\u00AD";
#define SIGN_BITS    7.0F
#define RARE_BITS    10.0F
#define FOREIGN_BITS 12.0F /* another letter */
#define SYMBOL_BITS  15.0F
#define CONTROL_BITS 24.0F
#define MIXED_BITS   6.0F /* more: a letter of another script beside an ASCII one */
#define TWICE_BITS   4.0F /* more: a Latin letter with an accent beside another */
#define CAPITAL_BITS 3.0F /* more: a capital */
#define INSIDE_BITS  8.0F /* more: a capital after a small letter */
#define NONE_BITS    60.0F

enum look_of { OTHER, SMALL, CAPITAL };

/* What a byte above 7F would be. */
struct byte_model {
    float bits;
    uint8_t look; /* enum look_of */
    bool latin, combines;
};

static uint32_t next_letter(const char **at)
{
    uint32_t character = 0;
    unsigned skip;
    *at += utf8_decode(*at, strlen(*at), &character, &skip);
    return character;
}

/* The place of a character in a list, and in *count the list's length. */
static size_t place_in(const char *list, uint32_t character, size_t *count)
{
    size_t place = SIZE_MAX;
    for (*count = 0; *list; ++*count)
        if (next_letter(&list) == character && place == SIZE_MAX)
            place = *count;
    return place;
}

static struct byte_model model_of(const struct alphabet *alphabet, uint32_t character)
{
    if (character == 0)
        return (struct byte_model){.bits = NONE_BITS};
    const utf8proc_property_t *property = utf8proc_get_property((utf8proc_int32_t)character);
    const bool letter = property->category >= UTF8PROC_CATEGORY_LU && property->category <= UTF8PROC_CATEGORY_LO;
    const bool mark = property->category == UTF8PROC_CATEGORY_MN || property->category == UTF8PROC_CATEGORY_MC;
    const uint32_t small = (uint32_t)utf8proc_tolower((utf8proc_int32_t)character);
    struct byte_model model = {.latin = letter && character < 0x250, .combines = mark};
    size_t count = 0, ignored;
    model.look = (uint8_t)(!letter && !mark ? OTHER : small != character ? CAPITAL : SMALL);
    size_t place = place_in(alphabet->letters, character, &count);
    if (place != SIZE_MAX && small != character)
        model.look = letter ? SMALL : OTHER; /* a capital that the language itself lists */
    if (place == SIZE_MAX)
        place = place_in(alphabet->letters, small, &count);
    if (place != SIZE_MAX)
        model.bits = log2f((float)count) * 0.6F + 5.0F * (float)place / (float)count;
    else if (place_in(signs, character, &ignored) != SIZE_MAX)
        model.bits = SIGN_BITS;
    else if (place_in(rare_signs, character, &ignored) != SIZE_MAX)
        model.bits = RARE_BITS;
    else if (property->category == UTF8PROC_CATEGORY_CC || property->category == UTF8PROC_CATEGORY_CO)
        model.bits = CONTROL_BITS;
    else
        model.bits = letter || mark ? FOREIGN_BITS : SYMBOL_BITS;
    return model;
}

static bool is_ascii_letter(uint8_t byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

/* The bits of the sample's bytes above 7F, each in its neighbourhood. */
static double bits_of_alphabet(struct str sample, const struct byte_model models[128])
{
    const uint8_t *bytes = (const uint8_t *)sample.data;
    struct byte_model before = {0};
    double bits = 0;
    for (size_t i = 0; i < sample.size; i++) {
        struct byte_model here = {0};
        if (bytes[i] < 0x80) {
            if (is_ascii_letter(bytes[i]))
                here = (struct byte_model){.look = bytes[i] >= 'a' ? SMALL : CAPITAL, .latin = true};
            if (before.bits > 0 && before.look != OTHER && !before.latin && !before.combines && here.look != OTHER)
                bits += (double)MIXED_BITS;
            before = here;
            continue;
        }
        here = models[bytes[i] - 0x80];
        bits += (double)here.bits;
        if (here.look == CAPITAL)
            bits += (double)(before.look == SMALL ? INSIDE_BITS : CAPITAL_BITS);
        if (here.look != OTHER && before.look != OTHER && !here.combines) {
            if (here.latin != before.latin)
                bits += (double)MIXED_BITS;
            else if (here.latin && before.bits > 0)
                bits += (double)TWICE_BITS;
        }
        before = here;
    }
    return bits;
}

/* -------------------------------------------------------------------------------------------- several bytes each */

/* Bits of the two bytes of a character; 0: they are none. */
typedef double pair_bits(unsigned lead, unsigned trail);

static bool between(unsigned byte, unsigned first, unsigned last)
{
    return byte >= first && byte <= last;
}

static double bits_of_sjis(unsigned lead, unsigned trail)
{
    if (!between(trail, 0x40, 0xFC) || trail == 0x7F || between(lead, 0xA0, 0xDF) || lead < 0x81 || lead > 0xFC)
        return 0;
    if ((lead == 0x82 && trail >= 0x9F) || (lead == 0x83 && trail <= 0x96) || (lead == 0x81 && trail <= 0x42))
        return 6; /* kana, comma, full stop */
    if (lead <= 0x84)
        return 10;
    return between(lead, 0x88, 0x97) ? 12 : 17;
}

static double bits_of_euc_jp(unsigned lead, unsigned trail)
{
    if (!between(trail, 0xA1, 0xFE) || (lead != 0x8E && !between(lead, 0xA1, 0xFE)))
        return 0;
    if (lead == 0xA4 || lead == 0xA5 || (lead == 0xA1 && trail <= 0xA3))
        return 6;
    if (lead == 0xA1 || lead == 0xA3)
        return 10;
    return between(lead, 0xB0, 0xCF) ? 12 : 17;
}

static double bits_of_gb(unsigned lead, unsigned trail)
{
    if (!between(lead, 0x81, 0xFE) || !between(trail, 0x40, 0xFE) || trail == 0x7F)
        return 0;
    if ((lead == 0xA1 && between(trail, 0xA2, 0xB1)) || (lead == 0xA3 && (trail == 0xAC || trail == 0xBA)))
        return 6;
    if (trail < 0xA1 || lead < 0xA1)
        return 18;
    if (lead <= 0xA3)
        return 10;
    return between(lead, 0xB0, 0xD7) ? 10 : lead < 0xB0 ? 14 : 16;
}

static double bits_of_big5(unsigned lead, unsigned trail)
{
    if (!between(lead, 0x81, 0xFE) || !(between(trail, 0x40, 0x7E) || between(trail, 0xA1, 0xFE)))
        return 0;
    if (lead == 0xA1 && trail <= 0x4B)
        return 6;
    if (between(lead, 0xA4, 0xC6))
        return trail < 0x80 ? 9 : 11;
    return between(lead, 0xC9, 0xF9) ? 16 : lead >= 0xA1 && lead <= 0xA3 ? 12 : 20;
}

static double bits_of_uhc(unsigned lead, unsigned trail)
{
    const bool further = between(trail, 0x41, 0x5A) || between(trail, 0x61, 0x7A) || between(trail, 0x81, 0xA0);
    if (!between(lead, 0x81, 0xFD) || !(further || between(trail, 0xA1, 0xFE)))
        return 0;
    if (further || lead <= 0xA0)
        return 17;
    return between(lead, 0xB0, 0xC8) ? 9 : lead < 0xB0 ? 12 : 17;
}

static const struct {
    const char *encoding, *group;
    pair_bits *bits;
    bool kana; /* A1 to DF are characters of one byte */
} pairs[] = {
    {"gb18030", "Chinese", bits_of_gb, false},     {"big5", "Chinese", bits_of_big5, false},
    {"shift_jis", "Japanese", bits_of_sjis, true}, {"euc-jp", "Japanese", bits_of_euc_jp, false},
    {"euc-kr", "Korean", bits_of_uhc, false},
};

static double bits_of_pairs(struct str sample, size_t row)
{
    const uint8_t *bytes = (const uint8_t *)sample.data;
    double bits = 0;
    for (size_t i = 0; i < sample.size; i++) {
        if (bytes[i] < 0x80)
            continue;
        const double two = i + 1 < sample.size ? pairs[row].bits(bytes[i], bytes[i + 1]) : 12; /* cut off */
        if (two > 0) {
            bits += two;
            i++;
        } else {
            bits += pairs[row].kana && between(bytes[i], 0xA1, 0xDF) ? 10 : (double)NONE_BITS;
        }
    }
    return bits;
}

/* ------------------------------------------------------------------------------------------------ UTF-8, -16, -32 */

/* Units that any text has: blanks, ends of lines, ASCII letters, the common punctuation of Chinese and Japanese. */
static bool is_common(uint32_t unit)
{
    return unit == '\n' || unit == '\r' || (unit >= ' ' && unit < 0x7F) || unit == 0x3001 || unit == 0x3002 ||
           unit == 0xFF0C;
}

/* How much of the sample is such units, if it is all text: 0 to 1. */
static double share_of_common(struct str sample, const char *name)
{
    struct encoding encoding;
    struct decoder *decoder;
    struct error ignored;
    char out[4096];
    size_t common = 0, all = 0;
    struct decoder_step step = {.in = (const uint8_t *)sample.data, .in_bytes = sample.size};
    if (!encoding_find(name, &encoding) || decoder_open(&decoder, &encoding, &ignored) < 0)
        return 0;
    enum decoder_result result = DECODER_FULL;
    while (result == DECODER_FULL) {
        step.out = out;
        step.out_bytes = sizeof out;
        result = decoder_step(decoder, &step);
        for (size_t at = 0; at < sizeof out - step.out_bytes; all++) {
            uint32_t character = 0;
            unsigned skip = 1;
            const unsigned size = utf8_decode(out + at, sizeof out - step.out_bytes - at, &character, &skip);
            at += size ? size : skip;
            common += is_common(character);
            if (character < '\t')
                result = DECODER_BAD;
        }
    }
    decoder_close(decoder);
    return result == DECODER_BAD || all == 0 ? 0 : (double)common / (double)all;
}

/* True if it has next to no control characters but NUL, as text in any encoding of single bytes or pairs. */
static bool looks_printed(struct str sample)
{
    size_t control = 0;
    for (size_t i = 0; i < sample.size; i++) {
        const unsigned char byte = (unsigned char)sample.data[i];
        control += byte > 0 && byte < ' ' && byte != '\x1b' && !between(byte, '\t', '\r');
    }
    return control * 100 <= sample.size;
}

/* True for UTF-8 with a few NUL bytes. */
static bool has_some_nul(struct str sample)
{
    size_t nul = 0;
    for (size_t i = 0; i < sample.size; i++)
        nul += sample.data[i] == '\0';
    return nul * 3 <= sample.size && looks_printed(sample) && utf8_valid(sample);
}

static const char *guess_wide(struct str sample)
{
    static const char *const names[] = {"utf-32le", "utf-32be", "utf-16le", "utf-16be"};
    const char *best = NULL;
    double most = 0.005;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const double share = share_of_common(sample, names[i]);
        if (share > most) {
            most = share;
            best = names[i];
        }
    }
    return best;
}

/* Counts characters of several bytes and ill-formed bytes; a character may be cut off at either end. */
static void count_utf8(struct str sample, size_t *good, size_t *bad)
{
    size_t at = 0, tail = 0;
    *good = *bad = 0;
    while (at < 3 && at < sample.size && ((unsigned char)sample.data[at] & 0xC0) == 0x80)
        at++;
    if (at == sample.size)
        at = 0;
    const size_t cut_off = at;
    while (at < sample.size) {
        uint32_t character;
        unsigned skip = 1;
        const unsigned size = utf8_decode(sample.data + at, sample.size - at, &character, &skip);
        *good += size > 1;
        *bad += size == 0 && at + skip < sample.size;
        tail += size == 0 && at + skip == sample.size;
        at += size ? size : skip;
    }
    if (*good == 0)
        *bad += cut_off + tail;
}

/* A part of the sample that is enough for a verdict, beginning near the first byte above 7F. */
static struct str part_of(struct str sample, size_t *marked)
{
    size_t from = 0, to;
    *marked = 0;
    while (from < sample.size && (unsigned char)sample.data[from] < 0x80)
        from++;
    from = from > 64 ? from - 64 : 0;
    for (to = from; to < sample.size && to - from < SAMPLE_BYTES_MAX && *marked < MARKED_MAX; to++)
        *marked += (unsigned char)sample.data[to] >= 0x80;
    return str_range(sample.data + from, sample.data + to);
}

static void try_alphabet(struct str sample, const struct alphabet *alphabet, double *least, struct encoding_guess *best)
{
    for (const char *at = alphabet->encodings, *stop; (stop = strchr(at, ' ')) != NULL; at = stop + 1) {
        char name[32] = "";
        struct encoding encoding;
        struct byte_model models[128];
        memcpy(name, at, (size_t)(stop - at));
        if (!encoding_find(name, &encoding))
            continue;
        for (size_t i = 0; i < 128; i++)
            models[i] = model_of(alphabet, encoding.characters[i]);
        const double bits = bits_of_alphabet(sample, models);
        if (bits < *least) {
            *least = bits;
            *best = (struct encoding_guess){encoding.name, alphabet->group};
        }
    }
}

/* "utf-8", "utf-8-lossy", or a name of UTF-16 or UTF-32; NULL: it seems to be none of them. */
static const char *guess_unicode(struct str sample)
{
    size_t good, bad;
    if (sample.size > SAMPLE_BYTES_MAX && memchr(sample.data, 0, sample.size))
        sample.size = SAMPLE_BYTES_MAX; /* UTF-16 and UTF-32: from its first byte */
    if (memchr(sample.data, 0, sample.size))
        return has_some_nul(sample) ? "utf-8" : guess_wide(sample);
    count_utf8(sample, &good, &bad);
    if (bad == 0)
        return "utf-8";
    return good >= 4 * bad ? "utf-8-lossy" : NULL;
}

struct encoding_guess encoding_guess(struct str sample)
{
    size_t marked;
    struct encoding_guess best = {.encoding = guess_unicode(sample)};
    if (best.encoding || memchr(sample.data, 0, sample.size) || !looks_printed(sample))
        return best;
    sample = part_of(sample, &marked);
    double least = 11.0 * (double)marked; /* what takes more bits than this is no text */
    for (size_t i = 0; i < sizeof alphabets / sizeof *alphabets; i++)
        try_alphabet(sample, &alphabets[i], &least, &best);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const double bits = bits_of_pairs(sample, i);
        if (bits < least) {
            least = bits;
            best = (struct encoding_guess){pairs[i].encoding, pairs[i].group};
        }
    }
    return best;
}

/* -------------------------------------------------------------------------------------------------------- messages */

int encoding_refuse(const char *name, const char *encoding, bool packed, uint64_t at, struct error *err)
{
    if (!packed)
        return fail_at(err, ERR_UNSAFE, name, at, "is not text in %s: no character begins here", encoding);
    return fail_at(err, ERR_UNSAFE, name, ERROR_NO_OFFSET,
                   "is not text in %s: no character begins at byte %" PRIu64 " of its decompressed text", encoding, at);
}

int encoding_hint(struct str sample, bool anew, struct error *err)
{
    const struct encoding_guess guess = sample.size > 0 ? encoding_guess(sample) : (struct encoding_guess){0};
    const char *fresh = anew ? " --fresh" : "";
    if (!guess.encoding || strcmp(guess.encoding, "utf-8") == 0)
        return hint(
            err,
            "say which encoding it is: the same command with --encoding NAME%s; --encoding utf-8-lossy%s reads it "
            "as UTF-8 with U+FFFD in the place of such bytes",
            fresh, fresh);
    if (strcmp(guess.encoding, "utf-8-lossy") == 0)
        return hint(
            err,
            "most of it is UTF-8: the same command with --encoding utf-8-lossy%s reads it with U+FFFD in the place "
            "of such bytes",
            fresh);
    return hint(err, "it looks like %s%s%s%s: the same command with --encoding %s%s", guess.encoding,
                guess.group ? " (" : "", guess.group ? guess.group : "", guess.group ? ")" : "", guess.encoding, fresh);
}

/* True if UTF-16 and UTF-32 by these names read the same bytes alike. */
static bool is_alike(const struct encoding *named, const struct encoding *seen, struct str start)
{
    const unsigned char *bytes = (const unsigned char *)start.data;
    const bool marked = start.size >= 2 && ((bytes[0] == 0xFF && bytes[1] == 0xFE) ||
                                            (bytes[0] == 0xFE && bytes[1] == 0xFF) || (bytes[0] == 0 && bytes[1] == 0));
    const enum byte_order order = named->order == ORDER_BY_MARK && !marked ? ORDER_LITTLE : named->order;
    return named->method == seen->method && (order == ORDER_BY_MARK || order == seen->order);
}

#define PAIRS_MIN 8 /* as many characters of two bytes may be UTF-8 by accident */

int encoding_check(const char *name, const struct encoding *named, struct str start, struct error *err)
{
    const char *guess = guess_unicode(start);
    const bool wide = named->method == ENCODING_UTF16 || named->method == ENCODING_UTF32;
    struct encoding seen;
    size_t good, bad;
    if (!guess || !encoding_find(guess, &seen))
        return 0;
    count_utf8(start, &good, &bad);
    const bool is_utf8 = !memchr(start.data, 0, start.size) && bad == 0 &&
                         (wide || good >= (named->method == ENCODING_ICONV ? PAIRS_MIN : 1));
    const bool is_wide =
        (seen.method == ENCODING_UTF16 || seen.method == ENCODING_UTF32) && !is_alike(named, &seen, start);
    if (!is_utf8 && !is_wide)
        return 0;
    fail_at(err, ERR_UNSAFE, name, ERROR_NO_OFFSET, "is text in %s, not in %s", is_utf8 ? "UTF-8" : seen.name,
            named->name);
    if (is_utf8)
        return hint(err, "leave out --encoding for it; files in several encodings: convert some with iconv");
    return hint(err, "the same command with --encoding %s", seen.name);
}
