#include "trainer/tune/tagged.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"

#define JSON_LINE_MAX INPUT_LINE_BYTES_MAX

static const char *const names[] = {"ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC"};
#define NAMES (sizeof names / sizeof *names)

static int choose_column(struct tagged *t, const char *column, struct error *err)
{
    char *end;
    t->place = SIZE_MAX;
    if (!column)
        return 0;
    for (size_t i = 0; i < NAMES; i++)
        if (str_equal_ascii_nocase(str_of(column), str_of(names[i]))) {
            t->place = i;
            t->conllu = true;
            return 0;
        }
    const unsigned long number = strtoul(column, &end, 10);
    if (column[0] < '1' || column[0] > '9' || *end || number > 1000) {
        fail(err, ERR_USAGE, "--column %.60s is neither a number from 1 nor a column of CoNLL-U", column);
        return hint(err, "those are ID, FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS and MISC");
    }
    t->place = number - 1;
    return 0;
}

/* Takes the next column of a line; false: there is none. */
static bool next_column(struct str *rest, bool tabs, struct str *column)
{
    const char *at = rest->data, *end = at + rest->size;
    while (!tabs && at < end && *at == ' ')
        at++;
    if (at == end)
        return false;
    const char *stop = memchr(at, tabs ? '\t' : ' ', (size_t)(end - at));
    *column = str_range(at, stop ? stop : end);
    *rest = str_range(stop ? stop + 1 : end, end);
    return true;
}

/* Column `place` of a line, the last for SIZE_MAX; *count becomes the number of columns. An empty text: none. */
static struct str column_of(struct str line, size_t place, size_t *count)
{
    const bool tabs = line.size > 0 && memchr(line.data, '\t', line.size);
    struct str column, found = {line.data, 0};
    for (*count = 0; next_column(&line, tabs, &column); ++*count)
        if (*count == place || place == SIZE_MAX)
            found = column;
    return found;
}

static bool is_number(struct str text)
{
    size_t i = 0;
    while (i < text.size && text.data[i] >= '0' && text.data[i] <= '9')
        i++;
    return text.size > 0 && i == text.size;
}

/* Whether a line has the ten columns of CoNLL-U; `word`: and stands for a word. */
static bool is_conllu(struct str line, bool word)
{
    size_t count;
    const struct str id = column_of(line, 0, &count);
    const bool number = id.size > 0 && id.data[0] >= '0' && id.data[0] <= '9';
    return count == NAMES && number && memchr(line.data, '\t', line.size) && (!word || is_number(id));
}

static void add_word(struct tagged *t, struct str word, struct str tag)
{
    t->words = mem_room(t->words, t->word_count + 1, &t->word_room, sizeof *t->words);
    t->words[t->word_count++] = (struct tagged_word){word, tag};
}

static void add_line(struct tagged *t, size_t from, size_t size)
{
    t->lines = mem_room(t->lines, t->line_count + 1, &t->line_room, sizeof *t->lines);
    t->lines[t->line_count++].text = (struct str){(const char *)from, size}; /* an offset until the sentence is whole */
}

static int bad_line(const struct tagged *t, uint64_t line, size_t count, struct error *err)
{
    char columns[56];
    if (t->place != SIZE_MAX && !t->placed) {
        fail_at(err, ERR_USAGE, t->path, ERROR_NO_OFFSET, "line %" PRIu64 " has %s, and no column %zu (--column)", line,
                format_counted(count, "column", columns), t->place + 1);
        return t->conllu ? hint(err, "%s is column %zu of the ten of CoNLL-U", names[t->place], t->place + 1) : -1;
    }
    fail_at(err, ERR_INPUT, t->path, ERROR_NO_OFFSET, "line %" PRIu64 " has %s: there is no tag", line,
            format_counted(count, "column", columns));
    return hint(err, "a line is a word and its tag, with blanks or a tab between them; --column names another column");
}

static int take_line(struct tagged *t, struct tagged_line *line, uint64_t number, struct error *err)
{
    static const struct str start = {"-DOCSTART-", 10};
    size_t count;
    const bool ten = is_conllu(line->text, false);
    t->conllu |= ten;
    if (str_is_blank(line->text) || str_starts(line->text, start) ||
        (t->conllu && (ten ? !is_conllu(line->text, true) : line->text.data[0] == '#')))
        return 0;
    if (t->wanted && t->place == SIZE_MAX && ten) {
        fail_at(err, ERR_USAGE, t->path, ERROR_NO_OFFSET, "is CoNLL-U, which has several columns of tags");
        return hint(err, "--column UPOS (or XPOS, DEPREL) says which");
    }
    const struct str tag = column_of(line->text, t->place, &count), word = column_of(line->text, t->conllu, &count);
    const bool there = tag.size > 0 && (count > 1 || t->place == 0);
    if (!there && t->wanted)
        return bad_line(t, number, count, err);
    t->placed |= there;
    if (t->word_count == TAGGED_WORDS_MAX)
        return fail_at(err, ERR_INPUT, t->path, ERROR_NO_OFFSET,
                       "line %" PRIu64 ": the sentence has more than %u words; a blank line ends one", number,
                       TAGGED_WORDS_MAX);
    line->word = true;
    add_word(t, word, there ? tag : (struct str){word.data, 0});
    return 0;
}

static int take_json(struct tagged *t, struct error *err)
{
    json_error_t why;
    const struct str text = t->lines[0].text;
    json_t *json = json_parse(text, JSON_LINE_MAX, &why), *tokens = json_object_get(json, "tokens"),
           *tags = json_object_get(json, "tags");
    const size_t count = json_array_size(tokens);
    bool good = json_is_array(tokens) && (tags ? json_array_size(tags) == count : !t->wanted);
    buf_reset(&t->bytes);
    buf_add_str(&t->bytes, text); /* texts of words follow it */
    for (int pass = 0; pass < 2 && good; pass++) {
        size_t at = text.size;
        for (size_t i = 0; i < 2 * count && good; i++) {
            const json_t *value = json_array_get(i % 2 ? tags : tokens, i / 2);
            const char *string = json_string_value(value);
            good = string || (i % 2 && !t->wanted);
            const size_t size = string ? strlen(string) : 0;
            if (pass == 0 && good)
                buf_add(&t->bytes, string ? string : "", size);
            else if (i % 2)
                t->words[t->word_count - 1].tag = (struct str){t->bytes.data + at, size};
            else
                add_word(t, (struct str){t->bytes.data + at, size}, (struct str){t->bytes.data, 0});
            at += size;
        }
    }
    t->lines[0].text.data = t->bytes.data;
    json_decref(json);
    return good ? 0
                : fail_at(err, ERR_INPUT, t->path, ERROR_NO_OFFSET,
                          "line %" PRIu64 " is not {\"tokens\": [...], \"tags\": [...]} with as many tags as tokens",
                          t->line);
}

static int take_lines(struct tagged *t, struct error *err)
{
    for (size_t i = 0; i < t->line_count; i++) {
        t->lines[i].text.data = t->bytes.data + (size_t)t->lines[i].text.data;
        t->lines[i].word = false;
    }
    if (t->json)
        return take_json(t, err);
    for (size_t i = 0; i < t->line_count; i++)
        TRY(take_line(t, &t->lines[i], t->line + i, err));
    return 0;
}

int tagged_next(struct tagged *t, struct error *err)
{
    struct str line;
    int more = 1;
    buf_reset(&t->bytes);
    t->word_count = t->line_count = 0;
    for (bool ended = false; !ended && (more = input_next(&t->in, &line, err)) > 0;) {
        if (!t->begun) {
            t->json = str_starts(line, STR("{"));
            t->end = t->in.cr ? "\r\n" : "\n";
        }
        t->begun = true;
        if (t->line_count == 0)
            t->line = t->in.number;
        add_line(t, t->bytes.size, line.size);
        buf_add_str(&t->bytes, line);
        ended = t->json ? !str_is_blank(line) : str_is_blank(line);
        if (t->json && !ended)
            t->line_count = 0;
    }
    TRY(more);
    if (t->line_count == 0)
        return 0;
    buf_text(&t->bytes);
    TRY(take_lines(t, err));
    return 1;
}

int tagged_open(struct tagged *t, const char *path, const char *column, bool wanted, struct error *err)
{
    *t = (struct tagged){.path = path, .wanted = wanted, .end = "\n"};
    TRY(choose_column(t, column, err));
    return input_open(&t->in, path, err);
}

void tagged_close(struct tagged *t)
{
    input_close(&t->in);
    buf_release(&t->bytes);
    mem_free(t->words);
    mem_free(t->lines);
    *t = (struct tagged){0};
}
