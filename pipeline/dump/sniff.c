/* Recognises what users have downloaded instead of a dump: recompressed dumps, archives, a mirror's error page. Each is
 * named, with what to type instead. */
#include "pipeline/dump/sniff.h"

#include "base/mem.h"
#include "base/output.h"
#include "pipeline/dump/codecs.h"
#include "pipeline/dump/guess_encoding.h"
#include "pipeline/dump/structured.h"
#include "pipeline/dump/window.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LOOK_BYTES ((size_t)4096) /* of text, to decide whether it is text at all */
#define PIPE_BYTES 500u           /* of a command in a hint */

static const struct foreign {
    const char *name; /* with its article */
    size_t at;
    struct str magic;
    const char *command; /* writes the content of FILE to its output */
} others[] = {
    {"a compress", 0, {"\x1f\x9d", 2}, "gzip -dc"},    {"a lzip", 0, {"LZIP", 4}, "lzip -dc"},
    {"an LZ4", 0, {"\x04\x22\x4d\x18", 4}, "lz4 -dc"}, {"a 7-Zip", 0, {"7z\xbc\xaf\x27\x1c", 6}, "7z x -so"},
    {"a zip", 0, {"PK\x03\x04", 4}, "unzip -p"},       {"a tar", 257, {"ustar", 5}, "tar -xOf"},
};

/* By container: the command that writes its text to standard output. */
static const char *const unpacking[] = {
    [CONTAINER_NONE] = "",          [CONTAINER_BZIP2] = "bzip2 -dc ", [CONTAINER_GZIP] = "gzip -dc ",
    [CONTAINER_ZSTD] = "zstd -dc ", [CONTAINER_XZ] = "xz -dc ",
};
_Static_assert(sizeof unpacking / sizeof *unpacking == CONTAINERS, "a command for every container");

/* A hint with a command, in which FILE becomes the file's name as typed in a shell; not that of standard input, nor one
 * for which there is no room. */
__attribute__((format(printf, 3, 4))) static int hint_of_file(const char *name, struct error *err, const char *format,
                                                              ...)
{
    char text[sizeof err->hint];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *file = strstr(text, "FILE");
    char *typed = command_text("%s", name);
    if (!file || strcmp(name, "standard input") == 0 || strlen(text) - strlen("FILE") + strlen(typed) >= sizeof text)
        hint(err, "%s", text);
    else
        hint(err, "%.*s%s%s", (int)(file - text), text, typed, file + strlen("FILE"));
    mem_free(typed);
    return -1;
}

/* "PROGRAM FILE", or "bzip2 -dc FILE | PROGRAM" where the file is compressed. Returns out. */
static const char *piped(const char *program, enum container container, char out[PIPE_BYTES])
{
    if (container == CONTAINER_NONE)
        snprintf(out, PIPE_BYTES, "%s FILE", program);
    else
        snprintf(out, PIPE_BYTES, "%sFILE | %s", unpacking[container], program);
    return out;
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
    if (document) {
        fail_at(err, ERR_UNSAFE, name, ERROR_NO_OFFSET, "is %s, which is not read directly", document->name);
        return hint_of_file(name, err, "unzip -p FILE %s | dsdata build --out D --text -", document->program);
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        const struct foreign *foreign = &others[i];
        struct str magic = foreign->magic;
        if (bytes.size < foreign->at + magic.size || memcmp(bytes.data + foreign->at, magic.data, magic.size) != 0)
            continue;
        fail_at(err, ERR_UNSAFE, name, ERROR_NO_OFFSET, "is %s file, which is not read directly", foreign->name);
        return hint_of_file(name, err, "%s FILE | dsdata build --out D -", foreign->command);
    }
    if (str_starts(bytes, STR("%PDF-"))) {
        fail_at(err, ERR_UNSAFE, name, ERROR_NO_OFFSET, "is a PDF file, which is not read directly");
        return hint_of_file(name, err, "pdftotext FILE - | dsdata build --out D --text -");
    }
    if (str_starts(bytes, STR("PAR1"))) {
        fail_at(err, ERR_UNSAFE, name, ERROR_NO_OFFSET, "is a Parquet file, which is not read directly");
        return hint_of_file(name, err,
                            "python3 -c 'import pandas, sys; pandas.read_parquet(sys.argv[1]).to_json(sys.stdout, "
                            "orient=\"records\", lines=True)' FILE | dsdata build --out D --jsonl -");
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

/* '{' followed by a key or nothing, unlike the {{templates}} and {| tables of a wiki. */
static bool is_json(struct str text)
{
    if (text.size < 2 || text.data[0] != '{')
        return false;
    struct str rest = str_trim((struct str){text.data + 1, text.size - 1});
    return rest.size > 0 && (rest.data[0] == '"' || rest.data[0] == '}');
}

/* "[Name": what follows the first bracket of a link of a wiki, or of a [[table]] of TOML, but of no array of arrays. */
static bool is_bracketed_name(struct str text)
{
    const struct str rest = text.size > 1 ? str_trim((struct str){text.data + 1, text.size - 1}) : STR("");
    const char first = rest.size > 0 ? rest.data[0] : '\0';
    return text.data[0] == '[' && !strchr("{[\"]-0123456789", first) && !str_starts(rest, STR("null")) &&
           !str_starts(rest, STR("true")) && !str_starts(rest, STR("false"));
}

/* A JSON array of objects, arrays or strings; "[1] Smith, 1990" is not one. */
static bool is_json_array(struct str text)
{
    const struct str rest = text.size > 1 ? str_trim((struct str){text.data + 1, text.size - 1}) : STR("");
    return text.size > 1 && text.data[0] == '[' && rest.size > 0 && strchr("{[\"]", rest.data[0]) &&
           !is_bracketed_name(rest);
}

/* The number of fields of the first row of `text`, split by separators outside quotes; at least one. A row ends with
 * its line, unless that is inside quotes. */
static size_t count_fields(struct str text, char separator)
{
    size_t count = 1;
    bool quoted = false;
    for (size_t i = 0; i < text.size && (quoted || text.data[i] != '\n'); i++) {
        quoted ^= text.data[i] == '"';
        count += !quoted && text.data[i] == separator;
    }
    return count;
}

/* Are the fields of a line names without blanks, as in the head of a table? */
static bool are_names(struct str line, char separator)
{
    bool begins = true; /* of a field */
    for (size_t i = 0; i < line.size; i++) {
        const unsigned char c = (unsigned char)line.data[i];
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80;
        if (c == '"')
            continue;
        if ((char)c == separator ? begins : !letter && (begins || !((c >= '0' && c <= '9') || strchr("-_.:", c))))
            return false;
        begins = (char)c == separator;
    }
    return !begins;
}

/* The separator of a table with a head (CSV): a line of names, then a row with as many fields. 0: not a table. */
static char table_separator(struct str text)
{
    const char *stop = memchr(text.data, '\n', text.size);
    if (!stop)
        return 0;
    const struct str head = str_trim(str_range(text.data, stop)), next = str_range(stop + 1, text.data + text.size);
    for (const char *separator = ",\t;"; *separator; separator++) {
        const size_t fields = count_fields(head, *separator);
        if (fields >= 2 && are_names(head, *separator) && count_fields(next, *separator) == fields)
            return *separator;
    }
    return 0;
}

static int refuse_table(const char *name, enum container container, char separator, struct error *err)
{
    static const char script[] =
        "python3 -c 'import csv, json, sys; [print(json.dumps(row)) for row in csv.DictReader(sys.stdin%s)]'%s";
    char python[160], command[PIPE_BYTES];
    snprintf(python, sizeof python, script,
             separator == '\t'  ? ", delimiter=\"\\t\""
             : separator == ';' ? ", delimiter=\";\""
                                : "",
             container ? "" : " <");
    fail_at(err, ERR_UNSAFE, name, ERROR_NO_OFFSET, "is a table (CSV), which is not read directly");
    return hint_of_file(name, err,
                        "%s | dsdata build --out D --jsonl - --text-key COLUMN; to take it as text: --text-form lines",
                        piped(python, container, command));
}

static int refuse_html(const char *name, enum container container, struct error *err)
{
    char command[PIPE_BYTES];
    fail_at(err, ERR_INPUT, name, ERROR_NO_OFFSET, "is an HTML page, not a dump");
    return hint_of_file(
        name, err,
        "a mirror's error page? then download the dump again; for its text: %s | dsdata build --out D --text -",
        piped("pandoc -f html -t plain --wrap=none", container, command));
}

static int refuse_array(const char *name, struct str text, enum container container, struct error *err)
{
    char command[PIPE_BYTES];
    if (str_find(text, STR("\"type\":\"item\"")) != SIZE_MAX && str_find(text, STR("\"labels\"")) != SIZE_MAX) {
        fail_at(err, ERR_INPUT, name, ERROR_NO_OFFSET, "is a dump of Wikidata, which has items but no running text");
        return hint(err, "%s", "a Wikipedia's text is in its pages-articles dump");
    }
    fail_at(err, ERR_UNSAFE, name, ERROR_NO_OFFSET, "is a JSON array; only JSON lines are read, one object per line");
    const struct str first = str_trim((struct str){text.data + 1, text.size - 1});
    const char *program = first.size == 0 || first.data[0] == '{' ? "jq -c '.[]'"
                          : first.data[0] == '['                  ? "jq -c '.[] | " LONGEST_STRING "'"
                                                                  : "jq -c '.[] | {text: .}'";
    return hint_of_file(name, err, "%s | dsdata build --out D --jsonl -", piped(program, container, command));
}

/* A line "OFFSET:ID:TITLE" of the index that belongs to a multistream dump. */
static bool is_index_line(struct str line)
{
    size_t at = 0;
    for (int field = 0; field < 2; field++) {
        const size_t from = at;
        while (at < line.size && line.data[at] >= '0' && line.data[at] <= '9')
            at++;
        if (at == from || at == line.size || line.data[at++] != ':')
            return false;
    }
    return at < line.size;
}

/* Are the first lines, at least three, those of such an index? */
static bool is_index(struct str text)
{
    const char *at = text.data, *end = text.data + text.size;
    for (int lines = 0; lines < 3; lines++) {
        const char *stop = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
        if (at >= end || !is_index_line(str_range(at, stop ? stop : end)))
            return false;
        at = stop ? stop + 1 : end;
    }
    return true;
}

/* Tables of a wiki as SQL: WIKI-DATE-page.sql.gz and others. */
static bool is_sql(struct str text)
{
    return (str_starts(text, STR("-- ")) || str_starts(text, STR("/*"))) &&
           str_find(text, STR("CREATE TABLE")) != SIZE_MAX;
}

/* More than one line, each of which ends in a carriage return alone. */
static bool ends_lines_in_cr(struct str text)
{
    const char *first = memchr(text.data, '\r', text.size);
    return first && !memchr(text.data, '\n', text.size) &&
           memchr(first + 1, '\r', (size_t)(text.data + text.size - first - 1));
}

/* Is nearly every byte either UTF-8 or a common control character? */
static bool is_text(struct str text)
{
    size_t strange = 0, size = text.size < LOOK_BYTES ? text.size : LOOK_BYTES;
    for (size_t at = 0; at < size;) {
        uint32_t code_point = 0;
        unsigned skip = 0, length = utf8_decode(text.data + at, text.size - at, &code_point, &skip);
        strange += length == 0 || (code_point < ' ' && !(code_point >= '\t' && code_point <= '\r'));
        at += length ? length : skip;
    }
    return strange * 10 <= size;
}

/* The first byte that is not UTF-8; SIZE_MAX: there is none, except that the head may end inside a character. */
static size_t first_ill_formed(struct str text)
{
    unsigned skip;
    const size_t good = utf8_good(text, &skip);
    return good + skip < text.size || (skip > 0 && text.size < HEAD_BYTES_MAX) ? good : SIZE_MAX;
}

static const char readable[] = "a Wikipedia dump (.xml or .xml.bz2), plain text and JSONL can be read";

static int unrecognised(const char *name, const char *what, const char *advice, struct error *err)
{
    fail_at(err, ERR_INPUT, name, ERROR_NO_OFFSET, "%s", what);
    return hint(err, "%s", advice);
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

/* For a dump that declares an encoding; with --encoding the declaration is not heeded. */
static int refuse_encoding(const char *name, struct str declared, struct error *err)
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
    return memchr(head.data, 0, head.size < LOOK_BYTES ? head.size : LOOK_BYTES) != NULL;
}

/* Tolerates some NUL bytes if the user says that it is text. UTF-16 and UTF-32 have them in most characters. */
static int recognise_with_nul(const char *name, struct str head, enum container container, enum source_kind asked,
                              enum source_kind *kind, struct error *err)
{
    const char *encoding = encoding_guess(head).encoding;
    const bool few = encoding && strcmp(encoding, "utf-8") == 0;
    if (encoding && !few) {
        const char *nul = memchr(head.data, 0, head.size);
        encoding_refuse(name, "UTF-8", container != CONTAINER_NONE, (uint64_t)(nul - head.data), err);
        return encoding_hint(head, false, err);
    }
    if (asked != SOURCE_TEXT)
        return unrecognised(name, "is neither a dump nor text: it has NUL bytes",
                            few ? "if it is text all the same, give it as --text FILE" : readable, err);
    *kind = SOURCE_TEXT;
    return 0;
}

/* Text that is not well-formed UTF-8, of a kind that is not repaired. ISO-2022-JP is ASCII but for its escapes. */
static int check_encoding(const char *name, struct str head, enum container container, struct error *err)
{
    const size_t escape = str_find(head, STR("\x1b$B"));
    const size_t bad = escape != SIZE_MAX ? escape : first_ill_formed(head);
    if (bad == SIZE_MAX)
        return 0;
    encoding_refuse(name, "UTF-8", container != CONTAINER_NONE, bad, err);
    if (escape != SIZE_MAX)
        return hint(err, "it looks like iso-2022-jp (Japanese): the same command with --encoding iso-2022-jp");
    return encoding_hint(head, false, err);
}

/* The kind of the text, SOURCE_UNKNOWN if that is unclear; an error if it is no input, whatever kind was requested. */
static int recognise(const char *name, struct str head, enum container container, const struct encoding *encoding,
                     enum source_kind asked, enum source_kind *kind, struct error *err)
{
    struct str text = text_begin(head);
    *kind = SOURCE_UNKNOWN;
    if (str_starts(head, STR("\xff\xfe\0\0")) || str_starts(head, STR("\0\0\xfe\xff")))
        return refuse_encoding(name, STR("UTF-32"), err);
    if (str_starts(head, STR("\xff\xfe")) || str_starts(head, STR("\xfe\xff")))
        return refuse_encoding(name, STR("UTF-16"), err);
    if (str_is_blank(text))
        return unrecognised(name, "holds nothing but blanks", "give a Wikipedia dump, text or JSONL", err);
    if (head_has_nul(head))
        return recognise_with_nul(name, head, container, asked, kind, err);
    if (is_html(text))
        return refuse_html(name, container, err);
    if (text.data[0] == '<' && str_find(text, STR("<mediawiki")) != SIZE_MAX) {
        *kind = SOURCE_WIKI;
        const struct str declared = declared_encoding(text);
        if (declared.size > 0 && !encoding->name && !is_utf8_name(declared))
            return refuse_encoding(name, declared, err);
        if (str_find(text, STR("<page>")) == SIZE_MAX)
            return unrecognised(name, "is a dump without pages",
                                "pages-articles dumps have pages; dumps of logs do not", err);
    } else if (is_json(text)) {
        *kind = SOURCE_JSONL;
    } else if (is_text(text) && text.data[0] != '<') {
        *kind = SOURCE_TEXT;
    }
    return 0;
}

/* Its text is made by a filter, or by a program that must be given the file's name. */
static int refuse_structured(const char *name, const struct structured *form, enum container container,
                             struct error *err)
{
    char program[400], command[PIPE_BYTES];
    fail_at(err, ERR_UNSAFE, name, ERROR_NO_OFFSET, "is %s, which is not read directly", form->name);
    if (!form->program)
        return hint(err, "%s", "it has no running text; to take its lines as text all the same: --text-form lines");
    snprintf(program, sizeof program, "%s%s", form->program, form->by_name || container ? "" : " <");
    if (form->by_name && container)
        return hint_of_file(name, err, "unpack it, then: %s FILE | dsdata build --out D --text -", form->program);
    return hint_of_file(name, err,
                        "%s | dsdata build --out D %s -; to take its lines as text all the same: --text-form lines",
                        piped(program, container, command), form->jsonl ? "--jsonl" : "--text");
}

/* Refuses what is text, but not text to learn from, unless the user says which form it has. */
static int refuse_other_text(const char *name, struct str text, enum container container, struct error *err)
{
    const char separator = table_separator(text);
    const struct structured *form = structured_find(text);
    if (form && !separator)
        return refuse_structured(name, form, container, err);
    if (is_json_array(text))
        return refuse_array(name, text, container, err);
    if (separator)
        return refuse_table(name, container, separator, err);
    if (is_index(text))
        return unrecognised(name, "is the index of a multistream dump, which has titles only",
                            "the text is in the file whose name ends in -multistream.xml.bz2", err);
    if (is_sql(text))
        return unrecognised(name, "is an SQL dump of tables, which hold no text of pages",
                            "the text is in the pages-articles dump (.xml.bz2)", err);
    return 0;
}

static int refuse_unclear(const char *name, struct str head, enum container container, struct error *err)
{
    const struct str text = text_begin(head);
    if (str_starts(text, STR("<doc id=")))
        return unrecognised(name, "looks like the output of WikiExtractor",
                            "make it with WikiExtractor --json and give that, or give the dump itself; to take this as "
                            "text: --text FILE",
                            err);
    if (text.data[0] == '<')
        return unrecognised(name, "begins with markup, but is not a MediaWiki dump (<mediawiki> is missing)",
                            "if it is to be taken as text, give it as --text FILE", err);
    const char *encoding = encoding_guess(head).encoding;
    if (encoding && strcmp(encoding, "utf-8-lossy") != 0)
        TRY(check_encoding(name, head, container, err));
    return unrecognised(name, "is neither a dump nor text", readable, err);
}

int sniff_kind(const char *name, struct str head, enum container container, const struct encoding *encoding,
               bool has_form, enum source_kind asked, enum source_kind *kind, struct error *err)
{
    TRY(recognise(name, head, container, encoding, asked, kind, err));
    if (*kind == SOURCE_TEXT && !has_form)
        TRY(refuse_other_text(name, text_begin(head), container, err));
    if (asked == SOURCE_UNKNOWN && *kind == SOURCE_UNKNOWN && encoding->lossy && encoding_guess(head).encoding)
        *kind = SOURCE_TEXT; /* which --encoding utf-8-lossy says, too */
    const bool as_text = *kind == SOURCE_TEXT || (*kind == SOURCE_UNKNOWN && asked == SOURCE_TEXT);
    if (as_text && !encoding->lossy && !encoding_converts(encoding))
        TRY(check_encoding(name, head, container, err));
    if (*kind == SOURCE_TEXT && ends_lines_in_cr(head)) {
        char command[PIPE_BYTES];
        fail_at(err, ERR_UNSAFE, name, ERROR_NO_OFFSET, "ends its lines in CR alone; LF or CR LF is read");
        return hint_of_file(name, err, "%s | dsdata build --out D --text -",
                            piped(container ? "tr '\\r' '\\n'" : "tr '\\r' '\\n' <", container, command));
    }
    if (asked == SOURCE_UNKNOWN && *kind == SOURCE_UNKNOWN)
        return refuse_unclear(name, head, container, err);
    if (asked == SOURCE_WIKI && *kind != SOURCE_WIKI)
        return unrecognised(name, "is not a MediaWiki dump: it does not begin with <mediawiki>",
                            *kind == SOURCE_TEXT    ? "it looks like text: --text FILE"
                            : *kind == SOURCE_JSONL ? "it looks like JSONL: --jsonl FILE"
                                                    : readable,
                            err);
    if (asked == SOURCE_JSONL && *kind != SOURCE_JSONL)
        return unrecognised(name, "is not JSONL: its first line is not a JSON object",
                            *kind == SOURCE_WIKI ? "it looks like a dump: --wiki FILE" : readable, err);
    if (asked == SOURCE_TEXT && *kind == SOURCE_WIKI)
        return unrecognised(name, "is a MediaWiki dump, not text", "--wiki FILE", err);
    if (asked != SOURCE_UNKNOWN)
        *kind = asked;
    return 0;
}
