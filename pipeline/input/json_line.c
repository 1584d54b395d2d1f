/* Scans the line with a stack of open containers instead of recursion. */
#include "pipeline/input/json_line.h"

#include "pipeline/parts/page_parts.h"

#define SCRATCH_KEPT_MAX (1u << 20)
#define REPLACEMENT      0xFFFDu
#define MARK             "\xef\xbb\xbf"

struct scan {
    const char *at, *end;
    struct buf *open;
    struct arena *arena;
    uint32_t repairs;
    /* Of the member of the top level whose value is next or was just taken: */
    bool in_member;
    struct str key; /* as in the line */
    struct json_member value;
    /* Where it goes: one of the two. */
    struct json_member *members;
    size_t member_count;
    json_member_fn *each;
    void *context;
};

static void repair(struct scan *s, enum repair reason)
{
    s->repairs |= 1u << reason;
}

/* NUL bytes, which crashed writers leave at the ends of lines, count as blanks. */
static void skip_blanks(struct scan *s)
{
    for (; s->at < s->end; s->at++)
        if (*s->at == '\0')
            repair(s, REPAIR_NUL);
        else if (*s->at != ' ' && *s->at != '\t' && *s->at != '\n' && *s->at != '\r')
            return;
}

void json_line_release(struct json_line *scratch)
{
    buf_release(&scratch->open);
    buf_release(&scratch->mended);
    *scratch = (struct json_line){0};
}

/* ---------------------------------------------------------------------------------------------------- strings */

/* The 16 bits of a \uXXXX at `at`, or -1 if there is none before `end`. */
static int32_t escaped_unit(const char *at, const char *end)
{
    int32_t value = 0;
    if (end - at < 6 || at[0] != '\\' || at[1] != 'u')
        return -1;
    for (int i = 2; i < 6; i++) {
        const int digit = hex_digit(at[i]);
        if (digit < 0)
            return -1;
        value = value << 4 | digit;
    }
    return value;
}

/* The length of the escape at `at`, and its character, half a surrogate pair as it is; 0 if it is invalid. */
static unsigned escape_read(const char *at, const char *end, uint32_t *character)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (end - at < 2)
        return 0;
    const char *plain = at[1] ? strchr(from, at[1]) : NULL;
    if (plain) {
        *character = (uint32_t)to[plain - from];
        return 2;
    }
    const int32_t unit = escaped_unit(at, end);
    if (unit < 0)
        return 0;
    *character = (uint32_t)unit;
    if (unit < 0xD800 || unit > 0xDBFF)
        return 6;
    const int32_t low = escaped_unit(at + 6, end);
    if (low < 0xDC00 || low > 0xDFFF)
        return 6;
    *character = 0x10000 + ((uint32_t)(unit - 0xD800) << 10) + (uint32_t)(low - 0xDC00);
    return 12;
}

static bool is_surrogate(uint32_t character)
{
    return character >= 0xD800 && character <= 0xDFFF;
}

/* Takes a string after its opening quotation mark: *inside is the text up to the closing one. */
static bool take_string(struct scan *s, struct str *inside, bool *escaped)
{
    const char *from = s->at;
    *escaped = false;
    while (s->at < s->end && *s->at != '"') {
        if ((unsigned char)*s->at < ' ')
            repair(s, *s->at == '\0' ? REPAIR_NUL : REPAIR_CHARACTER);
        if (*s->at != '\\') {
            s->at++;
            continue;
        }
        uint32_t character;
        const unsigned size = escape_read(s->at, s->end, &character);
        if (size == 0)
            return false;
        if (is_surrogate(character))
            repair(s, REPAIR_SURROGATE);
        s->at += size;
        *escaped = true;
    }
    *inside = str_range(from, s->at);
    return s->at++ < s->end;
}

/* Decodes the next character of a string that was taken; advances *at. */
static unsigned string_step(const char **at, const char *end, char out[4])
{
    uint32_t character;
    if (**at != '\\') {
        out[0] = *(*at)++;
        return 1;
    }
    *at += escape_read(*at, end, &character);
    return utf8_write(is_surrogate(character) ? REPLACEMENT : character, out);
}

static struct str decode(struct arena *arena, struct str inside)
{
    char *out = arena_alloc(arena, inside.size);
    size_t size = 0;
    for (const char *at = inside.data, *end = at + inside.size; at < end;) {
        char bytes[4];
        const unsigned count = string_step(&at, end, bytes);
        memcpy(out + size, bytes, count);
        size += count;
    }
    return (struct str){out, size};
}

static bool key_says(struct str key, const char *name)
{
    for (const char *at = key.data, *end = at + key.size; at < end;) {
        char bytes[4];
        const unsigned count = string_step(&at, end, bytes);
        if (bytes[0] == '\0' || strncmp(name, bytes, count) != 0)
            return false;
        name += count;
    }
    return *name == '\0';
}

/* ----------------------------------------------------------------------------------------------------- values */

static bool take_digits(struct scan *s)
{
    const char *from = s->at;
    while (s->at < s->end && *s->at >= '0' && *s->at <= '9')
        s->at++;
    return s->at > from;
}

static bool integer_read(struct str digits, int64_t *out)
{
    const bool negative = digits.data[0] == '-';
    int64_t value = 0;
    for (size_t i = negative; i < digits.size; i++) {
        const int digit = digits.data[i] - '0';
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, negative ? -digit : digit, &value))
            return false;
    }
    *out = value;
    return true;
}

static bool take_word(struct scan *s, struct str word)
{
    if (!str_starts(str_range(s->at, s->end), word))
        return false;
    s->at += word.size;
    return true;
}

static bool take_number(struct scan *s)
{
    const char *from = s->at;
    s->value.kind = MEMBER_REAL;
    s->at += *s->at == '-';
    if (take_word(s, STR("Infinity"))) {
        repair(s, REPAIR_NUMBER);
        return true;
    }
    const char *digits = s->at;
    if (!take_digits(s) || (*digits == '0' && s->at > digits + 1))
        return false;
    bool real = false;
    if (s->at < s->end && *s->at == '.') {
        real = true;
        s->at++;
        if (!take_digits(s))
            return false;
    }
    if (s->at < s->end && (*s->at | 0x20) == 'e') {
        real = true;
        s->at++;
        s->at += s->at < s->end && (*s->at == '+' || *s->at == '-');
        if (!take_digits(s))
            return false;
    }
    if (!real)
        s->value.kind = integer_read(str_range(from, s->at), &s->value.integer) ? MEMBER_INTEGER : MEMBER_DIGITS;
    return true;
}

/* Takes a value other than an object or array into s->value. */
static bool take_scalar(struct scan *s)
{
    static const struct {
        struct str word;
        enum member_kind kind;
    } words[] = {{{"true", 4}, MEMBER_TRUE}, {{"false", 5}, MEMBER_FALSE}, {{"null", 4}, MEMBER_NULL}};
    const char *from = s->at;
    bool escaped;
    if (*s->at == '"') {
        s->at++;
        s->value.kind = MEMBER_TEXT;
        if (!take_string(s, &s->value.text, &escaped))
            return false;
        if (escaped && s->in_member && s->open->size == 1)
            s->value.text = decode(s->arena, s->value.text);
        return true;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (take_word(s, words[i].word)) {
            s->value.kind = words[i].kind;
            s->value.text = str_range(from, s->at);
            return true;
        }
    if (take_word(s, STR("NaN"))) {
        repair(s, REPAIR_NUMBER);
        s->value.kind = MEMBER_REAL;
    } else if ((*s->at != '-' && *s->at != 'I' && (*s->at < '0' || *s->at > '9')) || !take_number(s)) {
        return false;
    }
    s->value.text = str_range(from, s->at);
    return true;
}

/* ------------------------------------------------------------------------------------------------------- flow */

static bool wanted(const struct scan *s)
{
    for (size_t i = 0; i < s->member_count; i++)
        if (key_says(s->key, s->members[i].name))
            return true;
    return s->each != NULL;
}

/* Takes a key and its colon. A key of the top level is kept if its value is wanted. */
static bool take_key(struct scan *s)
{
    struct str key;
    bool escaped;
    if (s->at == s->end || *s->at++ != '"' || !take_string(s, &key, &escaped))
        return false;
    if (s->open->size == 1) {
        s->key = key;
        s->in_member = wanted(s);
    }
    skip_blanks(s);
    return s->at < s->end && *s->at++ == ':';
}

/* The value of a member of the top level has ended, and is in s->value. */
static void give(struct scan *s)
{
    s->in_member = false;
    if (s->each) {
        const struct str key = decode(s->arena, s->key);
        char *name = arena_alloc(s->arena, key.size + 1);
        memcpy(name, key.data, key.size);
        name[key.size] = '\0';
        s->value.name = name;
        s->each(s->context, &s->value);
    }
    for (size_t i = 0; i < s->member_count; i++) {
        struct json_member *member = &s->members[i];
        if (!key_says(s->key, member->name))
            continue;
        if (member->kind != MEMBER_MISSING)
            repair(s, REPAIR_KEY);
        const char *name = member->name;
        *member = s->value;
        member->name = name;
    }
}

/* Takes one value with everything it contains; nothing may follow it. */
static bool scan(struct scan *s)
{
    const char *from = s->at; /* of the member of the top level that is being taken */
    for (;;) {
        skip_blanks(s);
        if (s->at == s->end)
            return false;
        if (s->open->size == 1)
            from = s->at;
        bool begins = *s->at == '{' || *s->at == '['; /* a container was opened, and nothing in it was taken yet */
        if (begins)
            buf_add_byte(s->open, *s->at++);
        else if (!take_scalar(s))
            return false;
        for (;; begins = false) { /* close the containers that end here, up to a comma or a first value */
            if (!begins && s->in_member && s->open->size == 1)
                give(s);
            skip_blanks(s);
            if (s->open->size == 0 || s->at == s->end)
                return s->open->size == 0 && s->at == s->end;
            const bool object = s->open->data[s->open->size - 1] == '{';
            if (*s->at == (object ? '}' : ']')) {
                s->at++;
                s->open->size--;
                s->value.kind = object ? MEMBER_OBJECT : MEMBER_ARRAY;
                s->value.text = str_range(from, s->at);
                continue;
            }
            if (!begins && *s->at++ != ',')
                return false;
            skip_blanks(s);
            if (object && !take_key(s))
                return false;
            break;
        }
    }
}

static bool read_line(struct json_line *scratch, struct str line, struct scan *s)
{
    if (!utf8_valid(line)) {
        buf_reset(&scratch->mended);
        utf8_replace(line, &scratch->mended);
        line = buf_str(&scratch->mended);
        repair(s, REPAIR_ENCODING);
    }
    buf_reset(&scratch->open);
    s->open = &scratch->open;
    s->at = line.data;
    s->end = line.data + line.size;
    for (skip_blanks(s); take_word(s, STR(MARK)); skip_blanks(s))
        repair(s, REPAIR_MARK);
    const bool taken = s->at < s->end && *s->at == '{' && scan(s);
    if (scratch->open.capacity > SCRATCH_KEPT_MAX)
        buf_release(&scratch->open);
    return taken;
}

bool json_line_read(struct json_line *scratch, struct str line, struct json_member *members, size_t member_count,
                    struct arena *arena, uint32_t *repairs)
{
    struct scan s = {.arena = arena, .members = members, .member_count = member_count};
    for (size_t i = 0; i < member_count; i++)
        members[i].kind = MEMBER_MISSING;
    const bool taken = read_line(scratch, line, &s);
    *repairs |= s.repairs;
    return taken;
}

bool json_line_each(struct json_line *scratch, struct str line, json_member_fn *each, void *context,
                    struct arena *arena)
{
    struct scan s = {.arena = arena, .each = each, .context = context};
    return read_line(scratch, line, &s);
}
