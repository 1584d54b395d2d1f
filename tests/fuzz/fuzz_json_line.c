// room: pipeline
// bytes: 65536
/* In: a line. Held: it is taken where jansson takes it as an object, with duplicate keys refused and \u0000 allowed,
 * and its members say the same. */
#include "tests/fuzz/fuzz.h"

#include "base/mem.h"
#include "pipeline/json_line.h"

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
        assert(member->kind == MEMBER_OTHER);
    }
}

int fuzz_input(const uint8_t *data, size_t size)
{
    static struct json_line scratch; /* kept: what it read before must not matter */
    struct arena arena = {0};
    struct json_member members[] = {{.name = "text"}, {.name = "id"}, {.name = "a"}};
    const size_t count = sizeof members / sizeof *members;
    char *line = mem_alloc(size);
    if (size)
        memcpy(line, data, size);
    size = utf8_repair(line, size, NULL); /* as it is when it comes there */
    json_t *object = json_loadb(line, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    const bool taken = json_line_read(&scratch, (struct str){line, size}, members, count, &arena);
    if (size && memchr(line, 0, size))
        assert(!taken); /* jansson passes over a NUL after a number or a word */
    else
        assert(taken == json_is_object(object));
    for (size_t i = 0; taken && i < count; i++)
        check_member(object, &members[i]);
    json_decref(object);
    arena_release(&arena);
    mem_free(line);
    return 0;
}
