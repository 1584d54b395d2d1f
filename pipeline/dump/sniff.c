/* Recognises what users have downloaded instead of a dump: recompressed dumps, archives, a mirror's error page. Each is
 * named, with what to type instead. */
#include "pipeline/dump/sniff.h"

#include "base/mem.h"
#include "base/output.h"
#include "pipeline/dump/codecs.h"
#include "pipeline/dump/guess_encoding.h"
#include "pipeline/dump/plain_text.h"
#include "pipeline/dump/record_format.h"
#include "pipeline/dump/structured.h"
#include "pipeline/dump/window.h"

#include <stdarg.h>
#include <stdio.h>

#define NUL_BYTES ((size_t)4096) /* of text, examined for NUL bytes */

static const struct foreign {
    const char *name;    /* with its article */
    struct str magic;    /* at its beginning */
    const char *command; /* reads FILE, and ends with what reads its content */
} others[] = {
    {"a compress", {"\x1f\x9d", 2}, "gzip -dc FILE | dsdata build --out D -"},
    {"a lzip", {"LZIP", 4}, "lzip -dc FILE | dsdata build --out D -"},
    {"an LZ4", {"\x04\x22\x4d\x18", 4}, "lz4 -dc FILE | dsdata build --out D -"},
    {"a 7-Zip", {"7z\xbc\xaf\x27\x1c", 6}, "7z x -so FILE | dsdata build --out D -"},
    {"a Parquet", {"PAR1", 4}, DSSHARDS_JSONL},
    {"an Arrow", {"ARROW1", 6}, DSSHARDS_JSONL},
    {"an Arrow stream", {"\xff\xff\xff\xff", 4}, DSSHARDS_JSONL},
    {"a PDF", {"%PDF-", 5}, "pdftotext FILE - | dsdata build --out D --text -"},
};

int sniff_hint(const char *name, struct error *err, const char *format, ...)
{
    char text[sizeof err->hint];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *file = strstr(text, "FILE");
    SCOPED(mem_free_at) char *typed = command_text("%s", name);
    if (!file || strcmp(name, "standard input") == 0 || strlen(text) - strlen("FILE") + strlen(typed) >= sizeof text)
        hint(err, "%s", text);
    else
        hint(err, "%.*s%s%s", (int)(file - text), text, typed, file + strlen("FILE"));
    return -1;
}

const char *sniff_pipe(const char *program, enum container container, char out[PIPE_BYTES])
{
    if (container == CONTAINER_NONE)
        snprintf(out, PIPE_BYTES, "%s FILE", program);
    else
        snprintf(out, PIPE_BYTES, "%s -dc FILE | %s", codec_of(container)->tool, program);
    return out;
}

/* POSIX.1-2017, pax, "ustar Interchange Format". Older tar files have no magic number, but the checksum: the octal
 * number at 148 is the sum of the bytes of the header, in which its own 8 count as blanks. */
static bool is_tar(struct str bytes)
{
    unsigned sum = 0, stated = 0;
    size_t at = 148;
    if (bytes.size < TAR_BLOCK_BYTES || bytes.data[0] == '\0')
        return false;
    for (size_t i = 0; i < TAR_BLOCK_BYTES; i++)
        sum += i >= 148 && i < 156 ? ' ' : (unsigned char)bytes.data[i];
    while (at < 156 && bytes.data[at] == ' ')
        at++;
    for (; at < 156 && bytes.data[at] >= '0' && bytes.data[at] <= '7'; at++)
        stated = 8 * stated + (unsigned)(bytes.data[at] - '0');
    return sum == stated || memcmp(bytes.data + 257, "ustar", 5) == 0;
}

enum sniffed_archive sniff_archive(struct str bytes)
{
    if (str_starts(bytes, STR("PK\x03\x04")))
        return structured_zip(bytes) ? SNIFFED_NO_ARCHIVE : SNIFFED_ZIP;
    return is_tar(bytes) ? SNIFFED_TAR : SNIFFED_NO_ARCHIVE;
}

int sniff_refuse_document(const char *name, const struct structured *document, struct error *err)
{
    fail_at(err, ERR_UNSAFE, name, ERROR_NO_OFFSET, "is %s, which is not read directly", document->name);
    sniff_hint(name, err, "%s", document->program);
    return SNIFF_OTHER;
}

static int refuse_archive(const char *name, enum sniffed_archive archive, struct error *err)
{
    fail_at(err, ERR_UNSAFE, name, ERROR_NO_OFFSET, "is a %s file, which is not read directly%s",
            archive == SNIFFED_ZIP ? "zip" : "tar", strcmp(name, "standard input") == 0 ? " from a pipe" : "");
    sniff_hint(name, err, "%s && dsdata build TEXTS --out D",
               archive == SNIFFED_ZIP ? "unzip -q FILE -d TEXTS" : "mkdir TEXTS && tar -xf FILE -C TEXTS");
    return SNIFF_OTHER;
}

int sniff_container(const char *name, struct str bytes, enum container *container, struct error *err)
{
    const uint8_t *data = (const uint8_t *)bytes.data;
    *container = stream_level(data, bytes.size) > 0 ? CONTAINER_BZIP2 : CONTAINER_NONE;
    for (enum container packed = CONTAINER_GZIP; packed < CONTAINERS; packed++)
        if (bytes.size >= MAGIC_BYTES_MAX && codec_of(packed)->begins(data, bytes.size))
            *container = packed;
    if (*container != CONTAINER_NONE)
        return 0;
    const struct structured *document = structured_zip(bytes);
    const enum sniffed_archive archive = sniff_archive(bytes);
    if (document)
        return sniff_refuse_document(name, document, err);
    if (archive != SNIFFED_NO_ARCHIVE)
        return refuse_archive(name, archive, err);
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        const struct foreign *foreign = &others[i];
        if (!str_starts(bytes, foreign->magic))
            continue;
        fail_at(err, ERR_UNSAFE, name, ERROR_NO_OFFSET, "is %s file, which is not read directly", foreign->name);
        sniff_hint(name, err, "%s", foreign->command);
        return SNIFF_OTHER;
    }
    return 0;
}

bool has_byte_order_mark(struct str text)
{
    return str_starts(text, STR("\xef\xbb\xbf"));
}

struct str text_begin(struct str head)
{
    if (has_byte_order_mark(head))
        head = (struct str){head.data + 3, head.size - 3};
    return str_trim(head);
}

static bool starts_nocase(struct str text, struct str prefix)
{
    return text.size >= prefix.size && str_equal_ascii_nocase((struct str){text.data, prefix.size}, prefix);
}

static bool is_html(struct str text)
{
    return starts_nocase(text, STR("<!doctype html")) || starts_nocase(text, STR("<html"));
}

static int refuse_html(const char *name, enum container container, struct error *err)
{
    char command[PIPE_BYTES];
    fail_at(err, ERR_INPUT, name, ERROR_NO_OFFSET, "is an HTML page, not a dump");
    sniff_hint(name, err,
               "a mirror's error page? then download the dump again; for its text: %s | dsdata build --out D --text -",
               sniff_pipe(container ? "trafilatura" : "trafilatura <", container, command));
    return SNIFF_OTHER;
}

int sniff_refuse(const char *name, const char *what, const char *advice, struct error *err)
{
    fail_at(err, ERR_INPUT, name, ERROR_NO_OFFSET, "%s", what);
    return hint(err, "%s", advice);
}

int sniff_refuse_encoding(const char *name, struct str declared, struct error *err)
{
    struct encoding encoding;
    char text[64];
    snprintf(text, sizeof text, "%.*s", (int)(declared.size < sizeof text ? declared.size : 0), declared.data);
    if (!encoding_find(text, &encoding)) {
        fail_at(err, ERR_UNSAFE, name, ERROR_NO_OFFSET, "declares an unknown encoding");
        return hint(err, "find out how it is encoded, and give it with --encoding NAME, or convert it with iconv");
    }
    fail_at(err, ERR_UNSAFE, name, ERROR_NO_OFFSET, "is encoded in %s, not in UTF-8", encoding.name);
    return hint(err, "the same command with --encoding %s", encoding.name);
}

static bool head_has_nul(struct str head)
{
    return memchr(head.data, 0, head.size < NUL_BYTES ? head.size : NUL_BYTES) != NULL;
}

/* ----------------------------------------------------------------------------------------------------- kinds */

/* Refuses a file, with the list of what can be read. */
static int refuse_with_list(const char *name, const char *what, const struct record_format *const *formats,
                            struct error *err)
{
    SCOPED(buf_release) struct buf list = {0};
    for (size_t kind = 1; kind < SOURCE_KINDS; kind++)
        buf_addf(&list, "%s%s", kind == 1 ? "" : kind + 1 < SOURCE_KINDS ? ", " : " and ", formats[kind]->readable);
    buf_add_text(&list, " can be read");
    sniff_refuse(name, what, buf_text(&list), err);
    return SNIFF_OTHER;
}

/* Tolerates some NUL bytes if the user says that it is text. UTF-16 and UTF-32 have them in most characters. */
static int recognise_with_nul(const struct sniffed *sniffed, const struct record_format *const *formats,
                              enum source_kind *kind, struct error *err)
{
    const struct str head = sniffed->head;
    const char *encoding = encoding_guess(head).encoding, *what = "is neither a dump nor text: it has NUL bytes";
    const bool few = encoding && strcmp(encoding, "utf-8") == 0;
    if (encoding && !few) {
        const char *nul = memchr(head.data, 0, head.size);
        encoding_refuse(sniffed->name, "UTF-8", sniffed->container != CONTAINER_NONE, (uint64_t)(nul - head.data), err);
        return encoding_hint(head, false, err);
    }
    *kind = sniffed->asked;
    if (*kind != SOURCE_UNKNOWN && formats[*kind]->plain)
        return 0;
    return few ? sniff_refuse(sniffed->name, what, "if it is text all the same, give it as --text FILE", err)
               : refuse_with_list(sniffed->name, what, formats, err);
}

/* The kind of the text, SOURCE_UNKNOWN if that is unclear; an error if it is no input, whatever kind was requested. */
static int recognise(const struct sniffed *sniffed, const struct record_format *const *formats, enum source_kind *kind,
                     struct error *err)
{
    const struct str head = sniffed->head, text = text_begin(head);
    *kind = SOURCE_UNKNOWN;
    if (str_starts(head, STR("\xff\xfe\0\0")) || str_starts(head, STR("\0\0\xfe\xff")))
        return sniff_refuse_encoding(sniffed->name, STR("UTF-32"), err);
    if (str_starts(head, STR("\xff\xfe")) || str_starts(head, STR("\xfe\xff")))
        return sniff_refuse_encoding(sniffed->name, STR("UTF-16"), err);
    if (str_is_blank(text))
        return sniff_refuse(sniffed->name, "holds nothing but blanks", "give a Wikipedia dump, text or JSONL", err);
    if (head_has_nul(head))
        return recognise_with_nul(sniffed, formats, kind, err);
    if (is_html(text))
        return refuse_html(sniffed->name, sniffed->container, err);
    for (size_t row = SOURCE_KINDS - 1; row > SOURCE_UNKNOWN && *kind == SOURCE_UNKNOWN; row--)
        if (formats[row]->recognise(text))
            *kind = (enum source_kind)row;
    return 0;
}

static int refuse_unclear(const struct sniffed *sniffed, const struct record_format *const *formats, struct error *err)
{
    const char *name = sniffed->name, *encoding = encoding_guess(sniffed->head).encoding;
    const struct str text = text_begin(sniffed->head);
    if (str_starts(text, STR("<doc id="))) {
        sniff_refuse(name, "looks like the output of WikiExtractor",
                     "make it with WikiExtractor --json and give that, or give the dump itself; to take this as "
                     "text: --text FILE",
                     err);
        return SNIFF_OTHER;
    }
    if (text.data[0] == '<') {
        sniff_refuse(name, "begins with markup, but is not a MediaWiki dump (<mediawiki> is missing)",
                     "if it is to be taken as text, give it as --text FILE", err);
        return SNIFF_OTHER;
    }
    if (encoding && strcmp(encoding, "utf-8-lossy") != 0)
        TRY(plain_text_check_encoding(sniffed, err));
    return refuse_with_list(name, "is neither a dump nor text", formats, err);
}

/* The file was named as `asked`, and is of the kind `found` (SOURCE_UNKNOWN: unclear). */
static int refuse_other_kind(const struct sniffed *sniffed, enum source_kind found,
                             const struct record_format *const *formats, struct error *err)
{
    const struct record_format *asked = formats[sniffed->asked], *is = formats[found];
    if (asked->plain && is && !is->not_text)
        return 0;
    /* That a damaged file of a kind which may be plain text, too, looks like plain text says nothing. */
    if (!is || (is->plain && !asked->not_text))
        return refuse_with_list(sniffed->name, asked->refused, formats, err);
    fail_at(err, ERR_INPUT, sniffed->name, ERROR_NO_OFFSET, "%s", asked->plain ? is->not_text : asked->refused);
    if (asked->plain)
        hint(err, "--%s FILE", source_kinds[found]);
    else
        hint(err, "it looks like %s: --%s FILE", is->called, source_kinds[found]);
    return SNIFF_OTHER;
}

int sniff_kind(const struct sniffed *sniffed, const struct record_format *const *formats, enum source_kind *kind,
               struct error *err)
{
    struct sniffed checked = *sniffed;
    enum source_kind found, plain = SOURCE_UNKNOWN + 1;
    int result = recognise(sniffed, formats, &found, err);
    if (result < 0)
        return result;
    while (!formats[plain]->plain)
        plain++;
    /* Plain text that only the user can see: he named it so, or says with --encoding utf-8-lossy that it is text. */
    if (found == SOURCE_UNKNOWN &&
        (sniffed->asked == plain ||
         (sniffed->asked == SOURCE_UNKNOWN && sniffed->encoding->lossy && encoding_guess(sniffed->head).encoding))) {
        found = plain;
        checked.has_form = true;
    }
    if (found != SOURCE_UNKNOWN && formats[found]->check)
        result = formats[found]->check(&checked, err);
    if (result < 0)
        return result;
    *kind = sniffed->asked == SOURCE_UNKNOWN ? found : sniffed->asked;
    if (*kind == SOURCE_UNKNOWN)
        return refuse_unclear(sniffed, formats, err);
    return *kind == found ? 0 : refuse_other_kind(sniffed, found, formats, err);
}
