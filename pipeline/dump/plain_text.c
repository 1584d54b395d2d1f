/* Plain text, and what is text but not prose: tables, arrays, indexes, and the formats of structured.c. */
#include "pipeline/dump/plain_text.h"

#include "base/text_lines.h"
#include "pipeline/dump/converters.h"
#include "pipeline/dump/guess_encoding.h"
#include "pipeline/dump/structured.h"

#include <stdio.h>

#define LOOK_BYTES ((size_t)4096) /* enough to decide whether it is text at all */

/* Nearly every byte is either UTF-8 or a common control character. */
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

/* "[Name": what follows the first bracket of a link of a wiki, or of a [[table]] of TOML, but of no array of arrays. */
static bool is_bracketed_name(struct str text)
{
    const struct str rest = text.size > 1 ? str_trim((struct str){text.data + 1, text.size - 1}) : STR("");
    const char first = rest.size > 0 ? rest.data[0] : '\0';
    return text.data[0] == '[' && !strchr("{[\"]-0123456789", first) && !str_starts(rest, STR("null")) &&
           !str_starts(rest, STR("true")) && !str_starts(rest, STR("false"));
}

/* A JSON array of objects, arrays or strings; "[1] Smith, 1990" is not one. */
bool is_json_array(struct str text)
{
    const struct str rest = text.size > 1 ? str_trim((struct str){text.data + 1, text.size - 1}) : STR("");
    return text.size > 1 && text.data[0] == '[' && rest.size > 0 && strchr("{[\"]", rest.data[0]) &&
           !is_bracketed_name(rest);
}

bool is_wikidata(struct str text)
{
    return str_find(text, STR("\"type\":\"item\"")) != SIZE_MAX && str_find(text, STR("\"labels\"")) != SIZE_MAX;
}

static int refuse_array(const char *name, struct str text, enum container container, struct error *err)
{
    char command[PIPE_BYTES];
    if (is_wikidata(text)) {
        fail_at(err, ERR_INPUT, name, ERROR_NO_OFFSET, "is a dump of Wikidata, which has items but no running text");
        return hint(err, "%s", "a Wikipedia's text is in its pages-articles dump");
    }
    fail_at(err, ERR_UNSAFE, name, ERROR_NO_OFFSET, "is a JSON array of arrays; those of objects and strings are read");
    return sniff_hint(name, err, "%s | dsdata build --out D --jsonl -",
                      sniff_pipe("jq -c '.[] | " LONGEST_STRING "'", container, command));
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

/* True if the first lines, at least three, are those of such an index. */
static bool is_index(struct str text)
{
    struct str line;
    for (int lines = 0; lines < 3; lines++)
        if (!str_line(&text, &line) || !is_index_line(line))
            return false;
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

/* ISO-2022-JP is ASCII but for its escapes. */
int plain_text_check_encoding(const struct sniffed *sniffed, struct error *err)
{
    const struct str head = sniffed->head;
    const size_t escape = str_find(head, STR("\x1b$B"));
    const size_t bad = escape != SIZE_MAX ? escape : first_ill_formed(head);
    if (bad == SIZE_MAX)
        return 0;
    encoding_refuse(sniffed->name, "UTF-8", sniffed->container != CONTAINER_NONE, bad, err);
    if (escape != SIZE_MAX)
        return hint(err, "it looks like iso-2022-jp (Japanese): the same command with --encoding iso-2022-jp");
    return encoding_hint(head, false, err);
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
        return sniff_hint(name, err, "unpack it, then: %s FILE | dsdata build --out D %s -", form->program,
                          form->jsonl ? "--jsonl" : "--text");
    return sniff_hint(name, err,
                      "%s | dsdata build --out D %s -; to take its lines as text all the same: --text-form lines",
                      sniff_pipe(program, container, command), form->jsonl ? "--jsonl" : "--text");
}

/* A table without a header gets one from the command, because only a header tells what is the text. */
static int refuse_headless(const char *name, const struct table_head *table, enum container container,
                           struct error *err)
{
    char program[400] = "sed '1i c1", command[PIPE_BYTES];
    size_t size = strlen(program);
    for (size_t column = 2; column <= table->columns && size < sizeof program - 16; column++)
        size += (size_t)snprintf(program + size, sizeof program - size, "%cc%zu", table->separator, column);
    snprintf(program + size, sizeof program - size, "'");
    fail_at(err, ERR_UNSAFE, name, ERROR_NO_OFFSET, "is a table without a header");
    return sniff_hint(name, err,
                      "give it names: %s | dsdata build --out D --jsonl - --text-key c%zu; to take its lines as text "
                      "all the same: --text-form lines",
                      sniff_pipe(program, container, command), table->longest + 1);
}

/* Refuses what is text, but not text to learn from, unless the user says which form it has. */
static int refuse_other_text(const char *name, struct str text, enum container container, struct error *err)
{
    const struct converter *converter = conversion_find(text).converter;
    if (converter) { /* and the user says that it is text */
        fail_at(err, ERR_UNSAFE, name, ERROR_NO_OFFSET, "is %s, not text", converter->name);
        return hint(err, "name it with --jsonl%s; to take its lines as text all the same: --text-form lines",
                    converter->key);
    }
    const struct structured *form = structured_find(text);
    if (form)
        return refuse_structured(name, form, container, err);
    const struct table_head table = table_head(text);
    if (!table.header && table.columns > 0)
        return refuse_headless(name, &table, container, err);
    if (is_json_array(text))
        return refuse_array(name, text, container, err);
    if (is_index(text))
        return sniff_refuse(name, "is the index of a multistream dump, which has titles only",
                            "the text is in the file whose name ends in -multistream.xml.bz2", err);
    if (is_sql(text))
        return sniff_refuse(name, "is an SQL dump of tables, which hold no text of pages",
                            "the text is in the pages-articles dump (.xml.bz2)", err);
    return 0;
}

static int refuse_cr(const char *name, enum container container, struct error *err)
{
    char command[PIPE_BYTES];
    fail_at(err, ERR_UNSAFE, name, ERROR_NO_OFFSET, "ends its lines in CR alone; LF or CR LF is read");
    return sniff_hint(name, err, "%s | dsdata build --out D --text -",
                      sniff_pipe(container ? "tr '\\r' '\\n'" : "tr '\\r' '\\n' <", container, command));
}

bool plain_text_recognise(struct str text)
{
    return text.data[0] != '<' && is_text(text);
}

int plain_text_check(const struct sniffed *sniffed, struct error *err)
{
    if (!sniffed->has_form && refuse_other_text(sniffed->name, text_begin(sniffed->head), sniffed->container, err) < 0)
        return SNIFF_OTHER;
    if (!sniffed->encoding->lossy && !encoding_converts(sniffed->encoding) &&
        plain_text_check_encoding(sniffed, err) < 0)
        return encoding_guess(sniffed->head).encoding ? -1 : SNIFF_OTHER; /* bytes that no encoding explains */
    return ends_lines_in_cr(sniffed->head) ? refuse_cr(sniffed->name, sniffed->container, err) : 0;
}
