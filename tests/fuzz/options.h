/* In: the arguments of a program, separated by zero bytes. An argument that begins with byte 1 or 2 begins with the
 * name of the option or verb that the next byte numbers. Held: the command line is refused with a message, or the
 * options, typed again as the record of the run has them, give the same settings and the same record. */
#include "tests/fuzz/fuzz.h"

#include "base/opts.h"
#include "base/opts_rows.h"

#include <jansson.h>

#define WORDS_MAX 64

struct words {
    char *items[2 * WORDS_MAX + 400]; /* the first is the program's name, the last NULL */
    int count;
};

static void words_add(struct words *words, struct buf *text)
{
    assert((size_t)words->count + 1 < sizeof words->items / sizeof *words->items);
    words->items[words->count++] = mem_copy_text(buf_text(text));
    buf_release(text);
}

static void words_release(struct words *words)
{
    for (int i = 0; i < words->count; i++)
        mem_free(words->items[i]);
}

/* The words of the input. */
static void words_take(struct words *words, const struct opt_program *program, const uint8_t *data, size_t size)
{
    size_t rows = 0, verbs = 0;
    struct buf name = {0};
    for (; program->rows[rows].name;)
        rows++;
    for (; program->verbs[verbs].name;)
        verbs++;
    buf_add_text(&name, program->name);
    words_add(words, &name);
    while (size && words->count < WORDS_MAX) {
        struct str text = take_until(0, &data, &size);
        struct buf word = {0};
        if (text.size >= 2 && (text.data[0] == 1 || text.data[0] == 2)) {
            const uint8_t number = (uint8_t)text.data[1];
            if (text.data[0] == 1)
                buf_addf(&word, "--%s", program->rows[number % rows].name);
            else
                buf_add_text(&word, program->verbs[number % verbs].name);
            text = (struct str){text.data + 2, text.size - 2};
        }
        buf_add_str(&word, text);
        words_add(words, &word);
    }
}

static bool is_flag(const struct opt_program *program, const char *name)
{
    for (const struct opt_row *row = program->rows; row->name; row++)
        if (strcmp(row->name, name) == 0)
            return row->type == OPT_FLAG;
    return false;
}

static void type_option(struct words *words, const struct opt_program *program, const char *name, const char *value)
{
    struct buf word = {0};
    buf_addf(&word, "--%s", name);
    if (is_flag(program, name) && strcmp(value, "false") == 0) {
        buf_release(&word);
        return;
    }
    if (!is_flag(program, name)) {
        buf_add_text(&word, "=");
        buf_add_text(&word, value);
    }
    words_add(words, &word);
}

/* The command line that the record stands for. */
static void words_of_record(struct words *words, const struct opt_program *program, const struct opt_result *result,
                            const json_t *record)
{
    const char *name;
    json_t *value, *item;
    struct buf word = {0};
    buf_add_text(&word, program->name);
    words_add(words, &word);
    buf_add_text(&word, result->verb->name);
    words_add(words, &word);
    json_object_foreach((json_t *)record, name, value)
    {
        size_t i;
        if (!opts_given(program, result, name)) /* what was not given may have a value that cannot be: 0 threads */
            continue;
        json_array_foreach(value, i, item) type_option(words, program, name, json_string_value(item));
        if (json_is_string(value))
            type_option(words, program, name, json_string_value(value));
    }
    buf_add_text(&word, "--");
    words_add(words, &word);
    for (size_t i = 0; i < result->bare.count; i++) {
        buf_add_text(&word, result->bare.items[i]);
        words_add(words, &word);
    }
}

/* Of texts and paths the record is compared: ill-formed UTF-8 in them is not kept. */
static void check_field(const struct opt_row *row, const void *settings, const void *other)
{
    static const size_t sizes[] = {[OPT_FLAG] = sizeof(bool),
                                   [OPT_COUNT] = sizeof(uint64_t),
                                   [OPT_SIZE] = sizeof(uint64_t),
                                   [OPT_DURATION] = sizeof(uint64_t),
                                   [OPT_MILLIONTHS] = sizeof(uint32_t),
                                   [OPT_REAL] = sizeof(double),
                                   [OPT_CHOICE] = sizeof(int),
                                   [OPT_SET] = sizeof(uint32_t),
                                   [OPT_COUNT_OR_TIME] = 2 * sizeof(uint64_t),
                                   [OPT_TEXT] = 0,
                                   [OPT_PATHS] = 0,
                                   [OPT_NUMBERS] = 0};
    const struct opt_numbers *numbers = opt_field(row, settings);
    size_t size = sizes[row->type] * (row->ramp ? 2 : 1);
    if (row->type == OPT_NUMBERS) {
        assert(numbers->count == ((const struct opt_numbers *)opt_field(row, other))->count);
        size = numbers->count * sizeof *numbers->values;
    }
    assert(memcmp(opt_field(row, settings), opt_field(row, other), size) == 0);
}

static void check_parsed(const struct opt_program *program, const struct opt_result *result, void *settings,
                         void *other)
{
    struct error err = {0};
    struct words words = {0};
    struct opt_result again;
    size_t at = 0;
    for (const char *name; (name = opts_repeated(program, result, &at));)
        assert(opts_given(program, result, name));
    json_auto_t *record = opts_json(program, result->verb, settings);
    words_of_record(&words, program, result, record);
    const int code = opts_parse(program, words.count, words.items, other, &again, &err);
    if (code < 0)
        error_print(&err, program->name, false);
    assert(code == 0 && again.verb == result->verb && again.bare.count == result->bare.count);
    for (size_t i = 0; i < again.bare.count; i++)
        assert(strcmp(again.bare.items[i], result->bare.items[i]) == 0);
    for (const struct opt_row *row = program->rows; row->name; row++)
        if (opt_row_is_for(row, result->verb))
            check_field(row, settings, other);
    json_auto_t *second = opts_json(program, again.verb, other);
    assert(json_equal(record, second));
    opts_release(program, other, &again);
    words_release(&words);
}

/* `settings` and `other` are zeroed structs of the program's settings. */
static void check_options(const struct opt_program *program, void *settings, void *other, const uint8_t *data,
                          size_t size)
{
    struct words words = {0};
    struct opt_result result;
    struct error err = {0};
    words_take(&words, program, data, size);
    if (opts_parse(program, words.count, words.items, settings, &result, &err) < 0)
        assert(err.kind == ERR_USAGE && err.text[0]);
    else if (result.verb)
        check_parsed(program, &result, settings, other);
    opts_release(program, settings, &result);
    words_release(&words);
}
