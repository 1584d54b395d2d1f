#include "trainer/tune/squad_read.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/json.h"
#include "base/mem.h"
#include "trainer/data/input.h"

static bool is_space(uint32_t p)
{
    return (p >= 9 && p <= 13) || (p >= 28 && p <= 32) || p == 0x85 || p == 0xa0 || p == 0x1680 ||
           (p >= 0x2000 && p <= 0x200a) || p == 0x2028 || p == 0x2029 || p == 0x202f || p == 0x205f || p == 0x3000;
}

struct str squad_trim(struct str text)
{
    const char *from = text.data, *to = text.data, *const end = text.data + text.size;
    for (const char *at = from; at < end;) {
        uint32_t point;
        unsigned skip;
        const unsigned size = utf8_decode(at, (size_t)(end - at), &point, &skip);
        at += size;
        if (!is_space(point))
            to = at;
        else if (to == from)
            from = to = at;
    }
    return str_range(from, to);
}

bool squad_next_word(struct str *rest, struct str *word)
{
    uint32_t point;
    unsigned skip, size;
    size_t at = 0, begin;
    *word = *rest;
    if (rest->size == 0) /* which may have no address to count from: an empty answer */
        return false;
    while (at < rest->size && (size = utf8_decode(rest->data + at, rest->size - at, &point, &skip)) > 0 &&
           is_space(point))
        at += size;
    for (begin = at; at < rest->size && (size = utf8_decode(rest->data + at, rest->size - at, &point, &skip)) > 0 &&
                     !is_space(point);)
        at += size;
    *word = (struct str){rest->data + begin, at - begin};
    *rest = (struct str){rest->data + at, rest->size - at};
    return word->size > 0;
}

void squad_add_words(struct str text, struct buf *out)
{
    struct str word;
    for (bool first = true; squad_next_word(&text, &word); first = false) {
        if (!first)
            buf_add_byte(out, ' ');
        buf_add_str(out, word);
    }
}

static bool ends_word(uint32_t point)
{
    return point == ' ' || point == '\t' || point == '\r' || point == '\n' || point == 0x202f;
}

static void cut_words(struct squad_file *file, struct squad_context *context)
{
    const char *at = context->text.data, *end = at + context->text.size;
    context->word_at = arena_array(&file->arena, context->text.size + 1, sizeof *context->word_at);
    context->words = arena_array(&file->arena, context->text.size / 2 + 1, sizeof *context->words);
    bool inside = false;
    while (at < end) {
        uint32_t point;
        unsigned skip;
        const unsigned size = utf8_decode(at, (size_t)(end - at), &point, &skip);
        const bool blank = ends_word(point);
        if (!blank && !inside)
            context->words[context->word_count++] = (struct str){at, 0};
        if (!blank)
            context->words[context->word_count - 1].size += size;
        context->word_at[context->length++] = context->word_count - 1; /* UINT32_MAX before the first */
        inside = !blank;
        at += size;
    }
}

static uint32_t points_of(struct str text)
{
    uint32_t count = 0;
    for (size_t i = 0; i < text.size; i++)
        count += ((unsigned char)text.data[i] & 0xc0) != 0x80;
    return count;
}

static struct str text_of(const json_t *value)
{
    return (struct str){json_string_value(value), json_string_length(value)};
}

/* Names the question in a message. */
static int bad(const char *path, struct str id, const char *what, struct error *err)
{
    return fail_at(err, ERR_INPUT, path, ERROR_NO_OFFSET, "question %.*s %s", (int)(id.size < 80 ? id.size : 80),
                   id.data, what);
}

static int take_answers(struct squad_file *file, const char *path, const json_t *qa, struct squad_question *question,
                        struct error *err)
{
    const json_t *answers = json_object_get(qa, "answers");
    /* {"text": [...], "answer_start": [...]}, as the lines of Hugging Face's datasets have them */
    const json_t *texts = json_object_get(answers, "text"), *starts = json_object_get(answers, "answer_start");
    const size_t count = json_array_size(texts ? texts : answers);
    question->answers = arena_array(&file->arena, count + 1, sizeof *question->answers);
    for (size_t i = 0; i < count; i++) {
        const json_t *answer = json_array_get(answers, i);
        const json_t *text = texts ? json_array_get(texts, i) : json_object_get(answer, "text");
        const json_t *start = starts ? json_array_get(starts, i) : json_object_get(answer, "answer_start");
        if (question->impossible && json_is_string(text) && json_string_length(text) == 0)
            continue; /* some files say "no answer" so; the official evaluation leaves it out too */
        if (!json_is_string(text) || json_string_length(text) == 0 || !json_is_integer(start))
            return bad(path, question->id, "has an answer without text or answer_start", err);
        struct squad_answer *out = &question->answers[question->answer_count++];
        *out = (struct squad_answer){.text = text_of(text), .length = points_of(text_of(text))};
        if (json_integer_value(start) < 0 || json_integer_value(start) >= (json_int_t)question->context->length)
            return bad(path, question->id, "has an answer that begins outside its context", err);
        out->start = (uint32_t)json_integer_value(start);
    }
    return 0;
}

/* The id as text: a string, or the digits of a whole number, as which Python writes it where it is a key. */
static int take_id(struct squad_file *file, const char *path, const json_t *id, json_t *seen, struct str *text,
                   struct error *err)
{
    char digits[24];
    const json_int_t number = id ? json_integer_value(id) : (json_int_t)file->count + 1;
    if (json_is_string(id)) {
        *text = text_of(id);
    } else if (json_is_integer(id) || (!id && file->lines)) {
        snprintf(digits, sizeof digits, "%" JSON_INTEGER_FORMAT, number);
        *text = arena_copy(&file->arena, str_of(digits));
    } else {
        return fail_at(err, ERR_INPUT, path, ERROR_NO_OFFSET,
                       "question number %zu has %s: an id is a string or a whole number", file->count + 1,
                       !id                  ? "no \"id\""
                       : json_is_null(id)   ? "the id null"
                       : json_is_number(id) ? "an id with a fraction or an exponent"
                                            : "an id of another type");
    }
    if (json_object_get(seen, text->data))
        return bad(path, *text, "occurs twice", err);
    json_object_set_new(seen, text->data, json_true());
    return 0;
}

static int take_question(struct squad_file *file, const char *path, json_t *qa, const struct squad_context *context,
                         json_t *seen, struct error *err)
{
    const json_t *text = json_object_get(qa, "question"), *impossible = json_object_get(qa, "is_impossible");
    struct str id;
    TRY(take_id(file, path, json_object_get(qa, "id"), seen, &id, err));
    if (!json_is_string(text))
        return bad(path, id, "has no \"question\"", err);
    if (impossible && !json_is_boolean(impossible))
        return bad(path, id, "has an is_impossible that is neither true nor false", err);
    struct squad_question *question = &file->questions[file->count++];
    *question = (struct squad_question){
        .id = id, .text = text_of(text), .context = context, .impossible = json_is_true(impossible), .json = qa};
    file->version_2 |= impossible != NULL;
    return take_answers(file, path, qa, question, err);
}

/* `article` and `number`: its place in the file, from 0. */
static int take_paragraph(struct squad_file *file, const char *path, const json_t *paragraph, size_t article,
                          size_t number, json_t *seen, struct error *err)
{
    const json_t *text = json_object_get(paragraph, "context"), *qas = json_object_get(paragraph, "qas");
    json_t *qa;
    size_t i;
    if (!json_is_string(text) || !json_is_array(qas))
        return fail_at(err, ERR_INPUT, path, ERROR_NO_OFFSET,
                       "data[%zu].paragraphs[%zu] has no \"context\" or no \"qas\"", article, number);
    struct squad_context *context = arena_alloc(&file->arena, sizeof *context);
    *context = (struct squad_context){.text = text_of(text)};
    cut_words(file, context);
    json_array_foreach(qas, i, qa) TRY(take_question(file, path, qa, context, seen, err));
    return 0;
}

static size_t questions_in(const json_t *data)
{
    size_t i, j, count = 0;
    const json_t *article, *paragraph;
    json_array_foreach(data, i, article) json_array_foreach(json_object_get(article, "paragraphs"), j, paragraph)
        count += json_array_size(json_object_get(paragraph, "qas"));
    return count;
}

static int take_all(struct squad_file *file, const char *path, struct error *err)
{
    const json_t *data = json_object_get(file->json, "data"), *article, *paragraph;
    size_t i, j;
    int result = 0;
    if (!json_is_array(data))
        return fail_at(err, ERR_INPUT, path, ERROR_NO_OFFSET,
                       "has no \"data\": not a file of questions in SQuAD's form");
    json_t *seen = json_object();
    file->questions = mem_array(questions_in(data) + 1, sizeof *file->questions);
    json_array_foreach(data, i, article) json_array_foreach(json_object_get(article, "paragraphs"), j, paragraph)
    {
        if (result == 0)
            result = take_paragraph(file, path, paragraph, i, j, seen, err);
    }
    json_decref(seen);
    if (result == 0 && file->count == 0)
        return fail_at(err, ERR_INPUT, path, ERROR_NO_OFFSET, "holds no questions");
    return result;
}

/* Adds a line's question, as a paragraph of its own whose only question is the line's object. */
static int take_line(json_t *data, const char *path, struct str line, uint64_t number, struct error *err)
{
    json_error_t why;
    json_t *qa = json_parse(line, SQUAD_BYTES_MAX, &why), *context = json_object_get(qa, "context");
    if (json_is_string(context) && json_object_get(qa, "question")) {
        json_array_append_new(data, json_pack("{s:[{s:O, s:[o]}]}", "paragraphs", "context", context, "qas", qa));
        return 0;
    }
    fail_at(err, ERR_INPUT, path, ERROR_NO_OFFSET, "line %" PRIu64 " %s%.200s", number,
            qa ? "has no \"context\" or no \"question\"" : "is not JSON: ", qa ? "" : why.text);
    json_decref(qa);
    return -1;
}

static int take_lines(struct squad_file *file, const char *path, struct str text, struct error *err)
{
    struct str line;
    json_t *data = json_array();
    file->lines = true;
    file->json = json_pack("{s:o}", "data", data);
    for (uint64_t number = 1; input_line(&text, &line); number++)
        if (!str_is_blank(line))
            TRY(take_line(data, path, line, number, err));
    return take_all(file, path, err);
}

/* Whether the text is a line for each question: the first one is an object without "data". */
static bool is_lines(struct str text)
{
    struct str line;
    json_error_t why;
    if (!input_line(&text, &line) || !str_starts(str_trim(line), STR("{")))
        return false;
    json_auto_t *first = json_parse(line, SQUAD_BYTES_MAX, &why);
    return first && !json_object_get(first, "data") && json_object_get(first, "question");
}

static int read_text(const char *path, struct buf *text, struct error *err)
{
    struct input input;
    struct str bytes;
    int more = input_open(&input, path, err) < 0 ? -1 : 1;
    while (more > 0) {
        more = input_bytes(&input, &bytes, err);
        if (more > 0)
            buf_add_str(text, bytes);
        if (text->size > SQUAD_BYTES_MAX)
            more = fail_at(err, ERR_UNSAFE, path, ERROR_NO_OFFSET, "has more than %u MiB", SQUAD_BYTES_MAX >> 20);
    }
    input_close(&input);
    return more;
}

static int take_text(struct squad_file *file, const char *path, struct str text, uint64_t before, struct error *err)
{
    json_error_t why;
    if (is_lines(text))
        return take_lines(file, path, text, err);
    file->json = json_parse(text, SQUAD_BYTES_MAX, &why);
    if (file->json)
        return take_all(file, path, err);
    fail_at(err, ERR_INPUT, path, json_error_place(&why) + before, "is not JSON: line %d: %.200s", why.line, why.text);
    return hint(err, "questions are in SQuAD's form, or JSON lines with \"question\" and \"context\"");
}

bool squad_has_answers(const struct squad_file *file)
{
    for (size_t i = 0; i < file->count; i++)
        if (file->questions[i].answer_count > 0 || file->questions[i].impossible)
            return true;
    return false;
}

int squad_read(struct squad_file *file, const char *path, struct error *err)
{
    SCOPED(buf_release) struct buf bytes = {0};
    *file = (struct squad_file){0};
    TRY(read_text(path, &bytes, err));
    const struct str text = str_without_mark(buf_str(&bytes));
    return take_text(file, path, text, bytes.size - text.size, err);
}

void squad_release(struct squad_file *file)
{
    json_decref(file->json);
    arena_release(&file->arena);
    mem_free(file->questions);
    *file = (struct squad_file){0};
}
