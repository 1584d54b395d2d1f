/* A signature must hold for nearly all of many lines, because a novel, a poem, a play, a list of words or a letter must
 * never be refused. */
#include "pipeline/dump/structured.h"

#include "base/text_lines.h"

#define LINES_MAX 2000u

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Without a CR at its end. */
static bool next_line(struct str *rest, struct str *line)
{
    if (!str_line(rest, line))
        return false;
    if (line->size > 0 && line->data[line->size - 1] == '\r')
        line->size--;
    return true;
}

static bool holds(struct str text, const char *part)
{
    return str_find(text, str_of(part)) != SIZE_MAX;
}

typedef bool line_test(struct str line);

/* How many of the first lines that are not blank pass; *all of them are counted. */
static size_t passing(struct str text, line_test *test, size_t *all)
{
    struct str line;
    size_t count = 0;
    for (*all = 0; *all < LINES_MAX && next_line(&text, &line);)
        if (str_trim(line).size > 0) {
            ++*all;
            count += test(line);
        }
    return count;
}

/* True if at least `least` of the first lines pass, and at least `percent` of all that are examined. */
static bool most(struct str text, line_test *test, size_t least, size_t percent)
{
    size_t all;
    const size_t count = passing(text, test, &all);
    return count >= least && count * 100 >= all * percent;
}

/* ------------------------------------------------------------------------------------------------------ columns */

static size_t columns_of(struct str line)
{
    size_t count = 1;
    while (line.size > 0 && line.data[0] == '\t') /* an indent */
        line = (struct str){line.data + 1, line.size - 1};
    for (size_t i = 0; i < line.size; i++)
        count += line.data[i] == '\t';
    return count;
}

/* Digits, as in "12" or "12-13" or "12.1", up to a tab. */
static bool begins_with_number(struct str line)
{
    size_t at = 0;
    while (at < line.size && (is_digit(line.data[at]) || (at > 0 && strchr("-.", line.data[at]))))
        at++;
    return at > 0 && at < line.size && line.data[at] == '\t';
}

static bool is_numbered_sentence(struct str line)
{
    return begins_with_number(line) && columns_of(line) == 2;
}

bool structured_is_leipzig(struct str text)
{
    return most(text, is_numbered_sentence, 5, 97);
}

static bool is_conllu_line(struct str line)
{
    return line.data[0] == '#' || (begins_with_number(line) && columns_of(line) >= 4);
}

static bool is_comment(struct str line)
{
    return line.data[0] == '#';
}

static bool is_conllu(struct str text)
{
    size_t all;
    return most(text, is_conllu_line, 5, 97) && passing(text, is_comment, &all) * 2 < all;
}

/* "Paris NNP B-LOC": two to six columns, the last a tag of a named entity. */
static bool is_tagged_token(struct str line)
{
    size_t fields = 1, last = 0;
    for (size_t i = 0; i < line.size; i++)
        if (line.data[i] == ' ' || line.data[i] == '\t') {
            fields++;
            last = i + 1;
        }
    const struct str tag = {line.data + last, line.size - last};
    return fields >= 2 && fields <= 6 &&
           (str_equal(tag, STR("O")) ||
            (tag.size > 2 && strchr("BIESLU", tag.data[0]) && tag.data[1] == '-' && tag.data[2] >= 'A'));
}

/* "Paris/NNP is/VBZ": every word has a tag in capitals, or marks that are their own tag. */
static bool is_tagged_line(struct str line)
{
    size_t words = 0;
    for (struct str rest = str_trim(line); rest.size > 0; words++) {
        const char *end = rest.data + rest.size, *blank = memchr(rest.data, ' ', rest.size);
        const struct str word = str_range(rest.data, blank ? blank : end);
        const char *slash = memrchr(word.data, '/', word.size);
        if (!slash || slash == word.data || slash + 1 == word.data + word.size || (slash[1] >= 'a' && slash[1] <= 'z'))
            return false;
        rest = str_trim(str_range(word.data + word.size, end));
    }
    return words >= 2;
}

/* "river 0.12 -0.4 …": a word and at least ten numbers. */
static bool is_vector(struct str line)
{
    size_t numbers = 0;
    const char *at = memchr(line.data, ' ', line.size), *end = line.data + line.size;
    while (at && at < end) {
        at++;
        const char *blank = at < end ? memchr(at, ' ', (size_t)(end - at)) : NULL;
        for (const char *byte = at; byte < (blank ? blank : end); byte++)
            if (!is_digit(*byte) && !strchr("+-.eE", *byte))
                return false;
        numbers += at < (blank ? blank : end);
        at = blank;
    }
    return numbers >= 10;
}

static bool is_table(struct str text)
{
    struct str line;
    size_t columns = 0, lines = 0, other = 0;
    while (lines < LINES_MAX && next_line(&text, &line)) {
        if (str_trim(line).size == 0)
            continue;
        if (lines++ == 0)
            columns = columns_of(line);
        other += columns_of(line) != columns;
    }
    return columns >= 2 && lines >= 8 && other * 50 <= lines;
}

static bool is_labelled(struct str line)
{
    return str_starts(line, STR("__label__"));
}

/* ---------------------------------------------------------------------------------------------- subtitles, mail */

/* "00:01:02,500 --> 00:01:04,000", of VTT also without hours and with a full stop. */
static bool is_cue_time(struct str line)
{
    const size_t arrow = str_find(line, STR(" --> "));
    if (arrow == SIZE_MAX || arrow < 9)
        return false;
    for (size_t i = 0; i < arrow; i++)
        if (!is_digit(line.data[i]) && !strchr(":,. ", line.data[i]))
            return false;
    return line.data[2] == ':' && arrow + 6 < line.size && is_digit(line.data[arrow + 5]);
}

static bool is_vtt(struct str text)
{
    return str_starts(text, STR("WEBVTT")) && most(text, is_cue_time, 1, 0);
}

/* "[00:12.34]Text" of LRC, "{120}{180}Text" of MicroDVD. "[10:15] Anna:" is of a chat. */
static bool is_timed_line(struct str line)
{
    const char close = line.data[0] == '[' ? ']' : line.data[0] == '{' ? '}' : '\0';
    size_t at = 1, stops = 0;
    while (at < line.size && (is_digit(line.data[at]) || strchr(":.", line.data[at])))
        stops += line.data[at++] == '.';
    if (!close || at == 1 || at >= line.size || line.data[at] != close)
        return false;
    return close == ']' ? stops == 1 && line.data[2] != '.' && memchr(line.data, ':', at)
                        : at + 2 < line.size && line.data[at + 1] == '{' && is_digit(line.data[at + 2]);
}

static bool is_ass(struct str text)
{
    return str_starts(text, STR("[Script Info]"));
}

/* "Name: value", the name of letters and hyphens. */
static bool is_header(struct str line)
{
    size_t at = 0;
    while (at < line.size && ((line.data[at] | 0x20) >= 'a' || line.data[at] == '-') && (line.data[at] | 0x20) <= 'z')
        at++;
    return at > 1 && at + 1 < line.size && line.data[at] == ':' && line.data[at + 1] == ' ';
}

/* At least three headers up to the first empty line, nothing else, and two that programs write. */
static bool is_mail(struct str text)
{
    static const char *const technical[] = {"message-id",
                                            "received",
                                            "mime-version",
                                            "content-type",
                                            "return-path",
                                            "date",
                                            "content-transfer-encoding",
                                            "delivered-to",
                                            "dkim-signature"};
    struct str line;
    size_t headers = 0, known = 0;
    while (next_line(&text, &line) && line.size > 0) {
        if (headers > 0 && (line.data[0] == ' ' || line.data[0] == '\t'))
            continue; /* of the header before */
        if (!is_header(line))
            return false;
        headers++;
        const struct str name = {line.data, (size_t)((const char *)memchr(line.data, ':', line.size) - line.data)};
        for (size_t i = 0; i < sizeof technical / sizeof *technical; i++)
            known += str_equal_ascii_nocase(name, str_of(technical[i]));
    }
    return headers >= 3 && known >= 2;
}

static bool is_mbox(struct str text)
{
    struct str line;
    return str_starts(text, STR("From ")) && next_line(&text, &line) && line.size > 9 &&
           is_digit(line.data[line.size - 1]) && holds(line, ":") && text.size > 0 && is_header(text);
}

/* ------------------------------------------------------------------------------------------------ archives, markup */

static bool is_warc(struct str text)
{
    return str_starts(text, STR("WARC/1.")) &&
           holds((struct str){text.data, text.size < 2000 ? text.size : 2000}, "WARC-");
}

bool structured_is_wet(struct str text)
{
    return is_warc(text) && holds(text, "WARC-Type: conversion");
}

static bool is_rtf(struct str text)
{
    return str_starts(text, STR("{\\rtf"));
}

static bool is_document_class(struct str line)
{
    return str_starts(line, STR("\\documentclass")) || str_starts(line, STR("\\documentstyle")) ||
           str_starts(line, STR("\\begin{document}"));
}

static bool is_calendar(struct str text)
{
    return str_starts(text, STR("BEGIN:VCALENDAR")) || str_starts(text, STR("BEGIN:VCARD"));
}

/* "@article{smith90," */
static bool is_bibtex_entry(struct str line)
{
    size_t at = 1;
    while (at < line.size && (line.data[at] | 0x20) >= 'a' && (line.data[at] | 0x20) <= 'z')
        at++;
    return line.data[0] == '@' && at > 3 && at < line.size && line.data[at] == '{';
}

static bool is_bibtex(struct str text)
{
    return (text.data[0] == '@' || text.data[0] == '%') && most(text, is_bibtex_entry, 2, 0);
}

static bool is_message(struct str line)
{
    return str_starts(line, STR("msgid \"")) || str_starts(line, STR("msgstr \"")) || str_starts(line, STR("msgstr["));
}

/* "[section]", "key = value", a comment, as in INI and TOML. */
static bool is_setting(struct str line)
{
    size_t at = 0;
    if (line.data[0] == '[')
        return str_trim(line).data[str_trim(line).size - 1] == ']';
    if (line.data[0] == '#' || line.data[0] == ';')
        return true;
    while (at < line.size && line.data[at] > ' ' && line.data[at] != '=')
        at++;
    const size_t name = at;
    while (at < line.size && line.data[at] == ' ')
        at++;
    return name > 0 && at < line.size && line.data[at] == '=';
}

static bool is_section(struct str line)
{
    return line.data[0] == '[';
}

static bool is_settings(struct str text)
{
    size_t all;
    const size_t sections = passing(text, is_section, &all);
    return sections > 0 && sections * 2 < all && most(text, is_setting, 5, 97);
}

/* --------------------------------------------------------------------------------------------------------- JSON */

/* A JSON string and nothing else; *escapes tells of a backslash in it. */
static bool is_string(struct str line, bool *escapes)
{
    line = str_trim(line);
    if (line.size < 2 || line.data[0] != '"' || line.data[line.size - 1] != '"')
        return false;
    for (size_t i = 1; i + 1 < line.size; i++) {
        if (line.data[i] == '"')
            return false;
        if (line.data[i] == '\\') {
            *escapes = true;
            i++;
        }
    }
    return true;
}

/* Lines of speech may be in quotation marks too, but have no escapes. */
bool structured_is_strings(struct str text)
{
    struct str line;
    bool escapes = false;
    size_t lines = 0;
    while (lines < LINES_MAX && next_line(&text, &line)) {
        if (str_trim(line).size == 0)
            continue;
        if (text.size > 0 && !is_string(line, &escapes)) /* the last line may be cut off */
            return false;
        lines++;
    }
    return lines >= 2 && escapes;
}

static bool begins_object(struct str line)
{
    const struct str trimmed = str_trim(line);
    if (trimmed.size < 2 || trimmed.data[0] != '{')
        return false;
    const struct str rest = str_trim((struct str){trimmed.data + 1, trimmed.size - 1});
    return rest.size > 0 && (rest.data[0] == '"' || rest.data[0] == '}');
}

static bool is_commented(struct str text)
{
    struct str line;
    size_t comments = 0;
    while (next_line(&text, &line)) {
        if (str_trim(line).size == 0)
            continue;
        if (line.data[0] != '#' && !str_starts(line, STR("//")))
            break;
        comments++;
    }
    return comments > 0 && begins_object(line) && (text.size == 0 || most(text, begins_object, 1, 50));
}

static bool is_sequence(struct str text)
{
    return text.size > 2 && text.data[0] == '\x1e' && begins_object((struct str){text.data + 1, text.size - 1});
}

static bool is_array_line(struct str line)
{
    const struct str trimmed = str_trim(line);
    return trimmed.size > 2 && trimmed.data[0] == '[' && trimmed.data[trimmed.size - 1] == ']' &&
           strchr("\"[{0123456789", trimmed.data[1]);
}

/* "[1]" may be the number of a note; an array of strings is none. */
bool structured_is_arrays(struct str text)
{
    return most(text, is_array_line, 2, 99) && holds(text, "\"");
}

/* -------------------------------------------------------------------------------------------------------- table */

#define PLAIN(from) "pandoc -f " from " -t plain --wrap=none"

/* A form is recognised by `is`, or by its lines as most() says. */
static const struct row {
    struct structured form;
    bool (*is)(struct str text);
    line_test *line;
    size_t least, percent;
} rows[] = {
    {{"a WARC file (web pages as they were sent)", "python3 -m dsshards jsonl", true, true}, .is = is_warc},
    {{"a CoNLL-U file (a word on each line)", "awk -F'\\t' '/^[0-9]+\\t/ {printf \"%s \", $2} /^\\r?$/ {print \"\"}'",
      false, false},
     .is = is_conllu},
    {{"a CoNLL file (a word with its tags on each line)", "awk '{if (NF) printf \"%s \", $1; else print \"\"}'", false,
      false},
     .line = is_tagged_token,
     .least = 8,
     .percent = 97},
    {{"a file of subtitles (WebVTT)", "grep -vE '^(WEBVTT|NOTE|[0-9]*\\s*$)|-->'", false, false}, .is = is_vtt},
    {{"a file of subtitles (SubRip)", "grep -vE '^[0-9]*\\s*$|-->'", false, false},
     .line = is_cue_time,
     .least = 3,
     .percent = 12},
    {{"a file of subtitles (ASS)", "sed -n 's/^Dialogue: \\([^,]*,\\)\\{9\\}//p'", false, false}, .is = is_ass},
    {{"a file of subtitles or of lyrics with times", "sed -nE 's/^([[{][0-9:.]+[]}])+//p'", false, false},
     .line = is_timed_line,
     .least = 3,
     .percent = 75 /* LRC begins with [ar:…] and [ti:…] */},
    {{"a text with a tag at each word", "sed -E 's#/[^ /]+( |$)#\\1#g'", false, false},
     .line = is_tagged_line,
     .least = 5,
     .percent = 97},
    {{"a table of word vectors", NULL, false, false}, .line = is_vector, .least = 5, .percent = 97},
    {{"a file of settings (INI, TOML)", NULL, false, false}, .is = is_settings},
    {{"a mailbox (mbox)",
      "python3 -c 'import mailbox, sys; [print((p.get_payload(decode=True) or b\"\").decode(\"utf-8\", \"replace\")) "
      "for m in mailbox.mbox(sys.argv[1]) for p in m.walk() if p.get_content_type() == \"text/plain\"]'",
      true, false},
     .is = is_mbox},
    {{"an e-mail",
      "python3 -c 'import email, sys; [print((p.get_payload(decode=True) or b\"\").decode(\"utf-8\", \"replace\")) for "
      "p in email.message_from_binary_file(sys.stdin.buffer).walk() if p.get_content_type() == \"text/plain\"]'",
      false, false},
     .is = is_mail},
    {{"an RTF file", PLAIN("rtf"), false, false}, .is = is_rtf},
    {{"a TeX file", PLAIN("latex"), false, false}, .line = is_document_class, .least = 1},
    {{"a calendar or address book", NULL, false, false}, .is = is_calendar},
    {{"a BibTeX file", NULL, false, false}, .is = is_bibtex},
    {{"a file of translated messages (PO)", "sed -n 's/^msgstr \"\\(..*\\)\"$/\\1/p'", false, false},
     .line = is_message,
     .least = 6,
     .percent = 25},
    {{"a file of fastText labels and texts", "sed -E 's/^(__label__[^ ]* *)+//'", false, false},
     .line = is_labelled,
     .least = 3,
     .percent = 97},
    {{"a list of JSON arrays, one on each line", "jq -c '" LONGEST_STRING "'", false, true},
     .is = structured_is_arrays},
    {{"a JSON text sequence (RFC 7464)", "tr -d '\\036'", false, true}, .is = is_sequence},
    {{"a file of JSON lines with comments", "grep '^ *{'", false, true}, .is = is_commented},
};

#define TABLE(column)                                                                                                  \
    {                                                                                                                  \
        "a table, with a tab between columns", "cut -f" column, false, false                                           \
    }

static const struct structured tables[] = {TABLE("1"), TABLE("2"), TABLE("3"), TABLE("4"), TABLE("5"), TABLE("6")};
#define COLUMNS_MAX (sizeof tables / sizeof *tables)

/* The column of a table with most text in it, of the first six. */
static size_t longest_column(struct str text)
{
    struct str line;
    size_t bytes[COLUMNS_MAX] = {0}, best = 0;
    for (size_t lines = 0; lines < LINES_MAX && next_line(&text, &line); lines++)
        for (size_t i = 0, column = 0; i < line.size && column < COLUMNS_MAX; i++) {
            bytes[column]++;
            column += line.data[i] == '\t';
        }
    for (size_t column = 1; column < COLUMNS_MAX; column++)
        best = bytes[column] > bytes[best] ? column : best;
    return best;
}

const struct structured *structured_find(struct str text)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (text.size > 0 && (rows[i].is ? rows[i].is(text) : most(text, rows[i].line, rows[i].least, rows[i].percent)))
            return &rows[i].form;
    return text.size > 0 && is_table(text) ? &tables[longest_column(text)] : NULL;
}

/* ----------------------------------------------------------------------------------------------------------- zip */

#define PANDOC(format) "pandoc --from " format " --to plain --wrap=none FILE | dsdata build --out D --text -"
#define OFFICE                                                                                                         \
    "libreoffice --headless --convert-to pdf FILE; then, of the PDF file: pdftotext NAME.pdf - | dsdata build --out "  \
    "D --text -"

/* By the beginning of a member's name; or by the type that EPUB and OpenDocument begin with. */
static const struct {
    const char *type;
    const char *members[2];
    struct structured form;
} documents[] = {
    {NULL, {"word/document"}, {"a Word document (docx)", PANDOC("docx"), true, false}},
    {NULL,
     {"xl/workbook", "xl/sharedStrings"},
     {"a workbook (xlsx)", "libreoffice --headless --convert-to csv FILE; the CSV file is read", true, false}},
    {NULL, {"ppt/presentation", "ppt/slides/"}, {"a presentation (pptx)", OFFICE, true, false}},
    {"application/epub+zip", {"META-INF/container.xml"}, {"an e-book (EPUB)", PANDOC("epub"), true, false}},
    {"application/vnd.oasis.opendocument.text", {NULL}, {"an OpenDocument text (odt)", PANDOC("odt"), true, false}},
    {"application/vnd.oasis.opendocument",
     {"META-INF/manifest.xml"},
     {"an OpenDocument file (odt or the like)", PANDOC("odt"), true, false}},
    {NULL, {"[Content_Types].xml", "_rels/.rels"}, {"a Word document (docx) or the like", PANDOC("docx"), true, false}},
};
#define DOCUMENTS (sizeof documents / sizeof *documents)

const struct structured *structured_zip_member(struct str name)
{
    for (size_t i = 0; i < DOCUMENTS; i++)
        for (size_t k = 0; k < 2; k++)
            if (documents[i].members[k] && str_starts(name, str_of(documents[i].members[k])))
                return &documents[i].form;
    return NULL;
}

static size_t number_at(struct str bytes, size_t at, size_t count)
{
    size_t number = 0;
    while (count-- > 0)
        number = number << 8 | (unsigned char)bytes.data[at + count];
    return number;
}

/* The member whose header (APPNOTE.TXT, 4.3.7) is at *at; *at becomes the place after it. False: there is none, or its
 * size is stated only after it. */
static bool next_member(struct str bytes, size_t *at, struct str *name, struct str *content)
{
    if (*at > bytes.size || !str_starts((struct str){bytes.data + *at, bytes.size - *at}, STR("PK\x03\x04")) ||
        bytes.size - *at < 30)
        return false;
    const size_t name_bytes = number_at(bytes, *at + 26, 2), extra = number_at(bytes, *at + 28, 2);
    const size_t left = bytes.size - *at - 30, before = name_bytes + extra;
    const size_t size = number_at(bytes, *at + 18, 4);
    *name = (struct str){bytes.data + *at + 30, name_bytes < left ? name_bytes : left};
    *content = before < left ? (struct str){bytes.data + *at + 30 + before, left - before} : STR("");
    *at += 30 + before + size;
    return true;
}

/* The last row is the least certain: a later member may say more. */
const struct structured *structured_zip(struct str bytes)
{
    struct str name, content;
    const struct structured *found = NULL;
    for (size_t at = 0; next_member(bytes, &at, &name, &content);) {
        for (size_t i = 0; i < DOCUMENTS; i++)
            if (documents[i].type && str_equal(name, STR("mimetype")) && str_starts(content, str_of(documents[i].type)))
                return &documents[i].form;
        found = structured_zip_member(name) ? structured_zip_member(name) : found;
        if (found && found != &documents[DOCUMENTS - 1].form)
            return found;
    }
    return found;
}
