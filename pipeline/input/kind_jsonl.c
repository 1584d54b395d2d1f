/* JSON lines: a record is a line with an object, whose members --text-key and --id-key name. */
#include "pipeline/input/article_reader.h"
#include "base/text_lines.h"
#include "base/mem.h"
#include "pipeline/input/input_kind.h"

#include <stdio.h>
#include <string.h>

/* '{' followed by a key or nothing, unlike the {{templates}} and {| tables of a wiki. */
static bool recognise(struct str text)
{
    if (text.size < 2 || text.data[0] != '{')
        return false;
    struct str rest = str_trim((struct str){text.data + 1, text.size - 1});
    return rest.size > 0 && (rest.data[0] == '"' || rest.data[0] == '}');
}

/* The number that the text is, as it would be written; -1: it is none, or has more than 18 digits. */
static int64_t number_of(struct str text)
{
    int64_t number = 0;
    if (text.size == 0 || text.size > 18 || (text.size > 1 && text.data[0] == '0'))
        return -1;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return -1;
        number = 10 * number + (text.data[i] - '0');
    }
    return number;
}

static enum page_fate read(struct article_reader *reader, const struct article_options *options, struct str line,
                           struct article *article)
{
    /* If two members have the same key, the later one gets the value. */
    enum { REVISION, URL, TIMESTAMP, LANG, SOURCE, TITLE, ID, TEXT, MEMBERS };
    struct json_member members[MEMBERS] = {[REVISION].name = "revid",
                                           [URL].name = "url",
                                           [TIMESTAMP].name = "timestamp",
                                           [LANG].name = "lang",
                                           [SOURCE].name = "source",
                                           [TITLE].name = "title",
                                           [ID].name = options->id_key ? options->id_key : ID_KEY,
                                           [TEXT].name = options->text_key ? options->text_key : TEXT_KEY};
    const struct json_member *id = &members[ID], *revision = &members[REVISION];
    if (!json_line_read(&reader->json, line, members, MEMBERS, &reader->arena, &article->repairs))
        return PAGE_MALFORMED;
    if (members[TEXT].kind != MEMBER_TEXT)
        return PAGE_KEYLESS;
    const int64_t number = id->kind == MEMBER_INTEGER                    ? id->integer
                           : options->untyped && id->kind == MEMBER_TEXT ? number_of(id->text)
                                                                         : -1;
    if (number >= 0 && number < (1ll << ID_BITS)) {
        article->has_id = true;
        article->id = (uint64_t)number;
    } else if (id->kind == MEMBER_TEXT || id->kind == MEMBER_INTEGER || id->kind == MEMBER_DIGITS) {
        article_set_text_id(article, id->text);
    }
    if (revision->kind == MEMBER_INTEGER && revision->integer >= 0)
        article->revision_id = (uint64_t)revision->integer;
    const struct {
        const struct json_member *member;
        struct str *into;
    } texts[] = {{&members[TITLE], &article->title},
                 {&members[URL], &article->url},
                 {&members[TIMESTAMP], &article->timestamp},
                 {&members[LANG], &article->language},
                 {&members[SOURCE], &article->source}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].member->kind == MEMBER_TEXT)
            *texts[i].into = texts[i].member->text;
    return article_read_lines(reader, members[TEXT].text, false, article);
}

/* --------------------------------------------------------------------------------------------- the beginning */

/* Adds the texts of JSON lines, each of which may be several lines. Returns how many are not blank. */
static uint64_t add_texts(struct str lines, const char *text_key, struct buf *out)
{
    SCOPED(json_line_release) struct json_line scratch = {0};
    SCOPED(arena_release) struct arena arena = {0};
    uint64_t count = 0;
    for (struct str line; str_line(&lines, &line);) {
        struct json_member member = {.name = text_key};
        uint32_t repairs = 0;
        if (json_line_read(&scratch, line, &member, 1, &arena, &repairs) && member.kind == MEMBER_TEXT) {
            buf_add_str(out, member.text);
            buf_add_byte(out, '\n');
            count += !str_is_blank(member.text);
        }
        arena_reset(&arena);
    }
    return count;
}

/* Describes one line, for a user whose key of the text is another one. */
struct description {
    struct probe *probe;
    const char *text_key;
    size_t size; /* of probe->keys */
};

/* Adds a key to the list, as far as it fits. */
static void name_key(struct description *d, const char *key)
{
    const size_t room = sizeof d->probe->keys, more = strlen(key) + (d->size > 0 ? 2 : 0);
    char *end = d->probe->keys + d->size;
    if (d->size == room)
        return;
    if (d->size + more + sizeof ", …" > room) {
        strcpy(end, ", …");
        d->size = room;
    } else {
        d->size += (size_t)snprintf(end, room - d->size, "%s%s", d->size > 0 ? ", " : "", key);
    }
}

static void describe_member(void *context, const struct json_member *member)
{
    static const char *const kinds[] = {
        [MEMBER_INTEGER] = "a number", [MEMBER_DIGITS] = "a number",  [MEMBER_REAL] = "a number",
        [MEMBER_TRUE] = "true",        [MEMBER_FALSE] = "false",      [MEMBER_NULL] = "null",
        [MEMBER_ARRAY] = "an array",   [MEMBER_OBJECT] = "an object", [MEMBER_TEXT] = NULL};
    struct description *d = context;
    struct json_member inner = {.name = d->text_key};
    SCOPED(json_line_release) struct json_line scratch = {0};
    SCOPED(arena_release) struct arena arena = {0};
    uint32_t repairs = 0;
    name_key(d, member->name);
    if (strcmp(member->name, d->text_key) == 0)
        d->probe->text_is =
            member->kind == MEMBER_TEXT && str_trim(member->text).size == 0 ? "an empty string" : kinds[member->kind];
    if (member->kind == MEMBER_OBJECT && !d->probe->nested[0] && strlen(member->name) < sizeof d->probe->nested &&
        json_line_read(&scratch, member->text, &inner, 1, &arena, &repairs) && inner.kind == MEMBER_TEXT)
        strcpy(d->probe->nested, member->name);
}

/* Describes the first line that is not blank; `whole`: the lines are all that there are. */
static void describe_first(struct str lines, bool whole, const char *text_key, struct probe *probe)
{
    SCOPED(json_line_release) struct json_line scratch = {0};
    SCOPED(arena_release) struct arena arena = {0};
    struct description description = {.probe = probe, .text_key = text_key};
    lines = str_trim(lines);
    const char *stop = memchr(lines.data, '\n', lines.size);
    const struct str line = stop ? str_range(lines.data, stop) : lines;
    probe->object = json_line_each(&scratch, line, describe_member, &description, &arena) || (!stop && !whole);
}

static void add_prose(struct str lines, const char *text_key, struct buf *out)
{
    add_texts(lines, text_key, out);
}

static void probe(struct str lines, bool whole, const struct language *language, const char *text_key,
                  struct probe *probe)
{
    SCOPED(buf_release) struct buf texts = {0};
    SCOPED(sentences_release) struct sentences sentences = {0};
    probe->documents = add_texts(lines, text_key, &texts);
    describe_first(lines, whole, text_key, probe);
    sentences_split(language, buf_str(&texts), &sentences);
    probe->sentences = sentences.count;
}

static void add_ids(struct split_ids *ids, struct str head, bool whole, const char *id_key)
{
    SCOPED(json_line_release) struct json_line scratch = {0};
    SCOPED(arena_release) struct arena arena = {0};
    for (struct str line; ids->count < SPLIT_IDS && str_line(&head, &line);) {
        struct json_member id = {.name = id_key};
        uint32_t repairs = 0;
        if (line.data + line.size == head.data && !whole) /* without its line end */
            break;
        if (json_line_read(&scratch, line, &id, 1, &arena, &repairs) &&
            (id.kind == MEMBER_TEXT || id.kind == MEMBER_INTEGER || id.kind == MEMBER_DIGITS) && id.text.size > 0)
            split_ids_add(ids, id.text);
        arena_reset(&arena);
    }
}

const struct input_kind jsonl_kind = {.records = {.called = "JSONL",
                                                  .readable = "JSONL",
                                                  .refused = "is not JSONL: its first line is not a JSON object",
                                                  .recognise = recognise,
                                                  .cut = &cut_lines},
                                      .name = "JSON lines",
                                      .one = "JSON lines",
                                      .extensions =
                                          (const char *const[]){".jsonl", ".json", ".csv", ".tsv", ".warc.wet", NULL},
                                      .options = (const char *const[]){"text-key", "id-key", NULL},
                                      .bytes_per_piece = 4,
                                      .of_keys = true,
                                      .ids_are_shared = true,
                                      .read = read,
                                      .add_prose = add_prose,
                                      .probe = probe,
                                      .add_ids = add_ids};
