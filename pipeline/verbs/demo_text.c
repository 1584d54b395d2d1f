#include "pipeline/verbs/demo_text.h"

#include "base/random.h"

#include <ctype.h>

static const struct str forms = STR(" | ");

/* Part k of a text whose parts are separated by `mark`. *count: how many there are, of those up to k. */
static struct str part_at(struct str text, struct str mark, size_t k, size_t *count)
{
    size_t end = str_find(text, mark);
    *count = 1;
    for (; end != SIZE_MAX && *count <= k; ++*count) {
        text = (struct str){text.data + end + mark.size, text.size - end - mark.size};
        end = str_find(text, mark);
    }
    return *count <= k ? STR("") : (struct str){text.data, end == SIZE_MAX ? text.size : end};
}

static size_t parts_of(struct str text)
{
    size_t count;
    part_at(text, forms, SIZE_MAX - 1, &count);
    return count;
}

/* A number below `below` for this use of this story. */
static uint32_t draw(uint32_t story, size_t use, size_t below)
{
    const struct random_stream stream = random_stream(0, RANDOM_DEMO, 0, 0, 0, 0, 0);
    return random_below(random_at(&stream, story, (uint32_t)use), (uint32_t)below);
}

/* The line of a set, whose rows are then in *rows; SIZE_MAX: there is none of this name. */
static size_t set_find(struct str name, struct str *rows)
{
    for (size_t i = 0; i < demo_lines.count; i++) {
        const struct str line = str_of(demo_lines.items[i]);
        *rows = (struct str){line.data + name.size, line.size - name.size};
        if (str_starts(line, name) && str_starts(*rows, STR(" = "))) {
            *rows = (struct str){rows->data + 3, rows->size - 3};
            return i;
        }
    }
    return SIZE_MAX;
}

/* {name3.1}: the second word of the third of the rows that this story takes from the set. */
static bool add_slot(struct buf *out, struct str slot, uint32_t story)
{
    size_t name = 0, count;
    struct str rows;
    while (name < slot.size && islower((unsigned char)slot.data[name]))
        name++;
    const char *dot = memchr(slot.data, '.', slot.size);
    const size_t which = name < slot.size && slot.data[name] != '.' ? (size_t)(slot.data[name] - '1') : 0;
    const size_t set = set_find((struct str){slot.data, name}, &rows);
    if (set == SIZE_MAX)
        return false;
    const size_t among = parts_of(rows), step = 1 + draw(story, 2 * set + 1, (among - 1) / 2);
    const struct str row = part_at(rows, forms, (draw(story, 2 * set, among) + which * step) % among, &count);
    const struct str word = part_at(row, STR("/"), dot ? (size_t)(dot[1] - '0') : 0, &count);
    buf_add_str(out, word);
    return word.size > 0;
}

/* A sentence, with a capital at its start. */
static bool add_form(struct buf *out, struct str form, uint32_t story)
{
    const size_t start = out->size + (form.data[0] == '"');
    for (size_t i = 0; i < form.size; i++) {
        if (form.data[i] != '{') {
            buf_add_byte(out, form.data[i]);
            continue;
        }
        const struct str rest = {form.data + i + 1, form.size - i - 1};
        const size_t end = str_find(rest, STR("}"));
        if (end == SIZE_MAX || !add_slot(out, (struct str){rest.data, end}, story))
            return false;
        i += end + 1;
    }
    out->data[start] = (char)toupper((unsigned char)out->data[start]);
    return true;
}

static bool is_start(size_t line)
{
    return strcmp(demo_lines.items[line], "story") == 0;
}

/* The first line of a story of this number. */
static size_t choose(uint32_t number)
{
    size_t starts = 0, line = 0;
    for (size_t i = 0; i < demo_lines.count; i++)
        starts += is_start(i);
    for (size_t left = 1 + draw(number, 2 * demo_lines.count, starts); left > 0; line++)
        left -= is_start(line);
    return line;
}

bool demo_story(struct buf *out, uint32_t number)
{
    size_t count;
    bool good = true;
    for (size_t line = choose(number); good && line < demo_lines.count && !is_start(line); line++) {
        const struct str text = str_of(demo_lines.items[line]);
        if (out->size > 0 && out->data[out->size - 1] != '\n')
            buf_add_byte(out, ' ');
        const size_t form = draw(number, 2 * demo_lines.count + 1 + line, parts_of(text));
        good = add_form(out, part_at(text, forms, form, &count), number);
    }
    buf_add_byte(out, '\n');
    return good;
}
