// room: pipeline
// bytes: 65536
/* In: a line. Held: what jansson takes as an object (with \u0000 allowed) is taken without a repair, except where a key
 * that is read comes twice, and its members say the same; what is taken without a repair, jansson takes too, or refuses
 * for a limit of its own: the size of a number, the depth, a NUL in a key. */
#include "tests/fuzz/fuzz.h"

#include "pipeline/input/json_line.h"
#include "pipeline/parts/page_parts.h"

#include <jansson.h>

static void check_member(const json_t *object, const struct json_member *member)
{
    const json_t *value = json_object_get(object, member->name);
    if (json_is_string(value)) {
        const struct str text = {json_string_value(value), json_string_length(value)};
        assert(member->kind == MEMBER_TEXT && str_equal(member->text, text));
    } else if (json_is_integer(value)) {
        assert(member->kind == MEMBER_INTEGER && member->integer == json_integer_value(value));
    } else {
        static const enum member_kind kinds[] = {
            [JSON_OBJECT] = MEMBER_OBJECT, [JSON_ARRAY] = MEMBER_ARRAY, [JSON_REAL] = MEMBER_REAL,
            [JSON_TRUE] = MEMBER_TRUE,     [JSON_FALSE] = MEMBER_FALSE, [JSON_NULL] = MEMBER_NULL};
        assert(member->kind == (value ? kinds[json_typeof(value)] : MEMBER_MISSING));
    }
}

static bool is_limit(const json_error_t *error)
{
    const enum json_error_code code = json_error_code(error);
    return code == json_error_numeric_overflow || code == json_error_stack_overflow ||
           code == json_error_null_byte_in_key;
}

int fuzz_input(const uint8_t *data, size_t size)
{
    static struct json_line scratch; /* kept: what it read before must not matter */
    struct arena arena = {0};
    struct json_member members[] = {{.name = "text"}, {.name = "id"}, {.name = "a"}};
    const size_t count = sizeof members / sizeof *members;
    uint32_t repairs = 0;
    json_error_t error;
    SCOPED(mem_free_at) char *line = mem_alloc(size); /* of its own: what is read beyond it is found */
    if (size)
        memcpy(line, data, size);
    json_auto_t *object = json_loadb(line, size, JSON_ALLOW_NUL, &error);
    const bool taken = json_line_read(&scratch, (struct str){line, size}, members, count, &arena, &repairs);
    assert(repairs >> REPAIRS == 0);
    if (!size || !memchr(line, 0, size)) { /* jansson passes over a NUL after a number or a word */
        assert(!json_is_object(object) || (taken && (repairs & ~(1u << REPAIR_KEY)) == 0));
        assert(!taken || repairs != 0 || json_is_object(object) || is_limit(&error));
    }
    for (size_t i = 0; taken && json_is_object(object) && i < count; i++)
        check_member(object, &members[i]);
    arena_release(&arena);
    return 0;
}
