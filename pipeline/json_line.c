/* Checks that a line is a JSON object and extracts the members asked for, in one pass with a stack of open containers
 * instead of recursion. An object's keys are compared when it closes: heapsorted by hash, in place, so that neither
 * many keys nor many equal hashes take more than n log n steps, and no memory besides the list is needed. */
#include "pipeline/json_line.h"

#include "base/mem.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define DEPTH_MAX      2048 /* as jansson */
#define KEYS_KEPT_MAX  (64u << 10)
#define REAL_TENS_SAFE 308 /* 10^308 is still a double */
#define IS_ARRAY       UINT32_MAX

struct json_key {
    uint32_t hash, at; /* hash of the decoded key; offset of its first byte in the line */
};

struct scan {
    const char *line, *at, *end;
    struct json_line *scratch;
    struct arena *arena;
    struct json_member *members, *wanted; /* wanted: the member whose value is next, or NULL */
    size_t member_count;
};

static void skip_blanks(struct scan *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r'))
        s->at++;
}

void json_line_release(struct json_line *scratch)
{
    mem_free(scratch->keys);
    *scratch = (struct json_line){0};
}

/* ---------------------------------------------------------------------------------------------------- strings */

static int hex_digit(char byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    const char lower = (char)(byte | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

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

/* The length of the escape at `at`, and its character; 0 if it is invalid. */
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
    if (unit < 0 || (unit >= 0xDC00 && unit <= 0xDFFF))
        return 0;
    *character = (uint32_t)unit;
    if (unit < 0xD800 || unit > 0xDFFF)
        return 6;
    const int32_t low = escaped_unit(at + 6, end);
    if (low < 0xDC00 || low > 0xDFFF)
        return 0;
    *character = 0x10000 + ((uint32_t)(unit - 0xD800) << 10) + (uint32_t)(low - 0xDC00);
    return 12;
}

/* Takes a string after its opening quotation mark: *inside is the text up to the closing one. */
static bool take_string(struct scan *s, struct str *inside, bool *escaped)
{
    const char *from = s->at;
    uint32_t character;
    *escaped = false;
    while (s->at < s->end && *s->at != '"') {
        if ((unsigned char)*s->at < ' ')
            return false;
        if (*s->at != '\\') {
            s->at++;
            continue;
        }
        const unsigned size = escape_read(s->at, s->end, &character);
        if (size == 0)
            return false;
        s->at += size;
        *escaped = true;
    }
    *inside = str_range(from, s->at);
    return s->at++ < s->end;
}

/* Decodes the next character of a string; advances *at. */
static unsigned string_step(const char **at, const char *end, char out[4])
{
    uint32_t character;
    if (**at != '\\') {
        out[0] = *(*at)++;
        return 1;
    }
    *at += escape_read(*at, end, &character);
    return utf8_write(character, out);
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

/* ------------------------------------------------------------------------------------------------------- keys */

/* Compares two decoded keys like memcmp. Both were read before, so they end with a quotation mark. */
static int compare_text(const char *a, const char *b, const char *end)
{
    char left[4], right[4];
    unsigned left_size = 0, right_size = 0, i = 0, j = 0;
    for (;;) {
        if (i == left_size) {
            left_size = *a == '"' ? 0 : string_step(&a, end, left);
            i = 0;
        }
        if (j == right_size) {
            right_size = *b == '"' ? 0 : string_step(&b, end, right);
            j = 0;
        }
        if (left_size == 0 || right_size == 0)
            return (left_size > 0) - (right_size > 0);
        if (left[i] != right[j])
            return (unsigned char)left[i] < (unsigned char)right[j] ? -1 : 1;
        i++, j++;
    }
}

static int compare_keys(const struct scan *s, struct json_key a, struct json_key b)
{
    if (a.hash != b.hash)
        return a.hash < b.hash ? -1 : 1;
    return compare_text(s->line + a.at, s->line + b.at, s->end);
}

/* Sifts keys[at] down the heap keys[0, count). */
static void sift(const struct scan *s, struct json_key *keys, size_t at, size_t count)
{
    const struct json_key key = keys[at];
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && compare_keys(s, keys[child], keys[child + 1]) < 0)
            child++;
        if (compare_keys(s, key, keys[child]) >= 0)
            break;
        keys[at] = keys[child];
    }
    keys[at] = key;
}

/* Closes an object whose keys begin at `first`: false if two of them are equal. Heapsort, because it needs no
 * memory. */
static bool close_object(struct scan *s, uint32_t first)
{
    struct json_key *keys = s->scratch->keys + first;
    const size_t count = s->scratch->count - first;
    s->scratch->count = first;
    for (size_t i = count / 2; i-- > 0;)
        sift(s, keys, i, count);
    for (size_t rest = count; rest-- > 1;) {
        const struct json_key largest = keys[0];
        keys[0] = keys[rest];
        sift(s, keys, 0, rest);
        keys[rest] = largest;
    }
    for (size_t i = 1; i < count; i++)
        if (compare_keys(s, keys[i - 1], keys[i]) == 0)
            return false;
    return true;
}

static bool key_says(struct str key, const char *name)
{
    for (const char *at = key.data, *end = at + key.size; at < end;) {
        char bytes[4];
        const unsigned count = string_step(&at, end, bytes);
        if (strncmp(name, bytes, count) != 0)
            return false;
        name += count;
    }
    return *name == '\0';
}

/* Takes a key and its colon. Keys of the outer object are compared with the names asked for. */
static bool take_key(struct scan *s, bool outer)
{
    struct json_line *scratch = s->scratch;
    struct str key;
    bool escaped;
    if (s->at == s->end || *s->at++ != '"' || !take_string(s, &key, &escaped))
        return false;
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (const char *at = key.data, *end = at + key.size; at < end;) {
        char bytes[4];
        const unsigned count = string_step(&at, end, bytes);
        if (bytes[0] == '\0')
            return false;
        for (unsigned i = 0; i < count; i++)
            hash = (hash ^ (unsigned char)bytes[i]) * 16777619u;
    }
    if (scratch->count == scratch->capacity) {
        scratch->capacity = scratch->capacity ? 2 * scratch->capacity : 64;
        scratch->keys = mem_grow(scratch->keys, scratch->capacity, sizeof *scratch->keys);
    }
    scratch->keys[scratch->count++] = (struct json_key){hash, (uint32_t)(key.data - s->line)};
    for (size_t i = 0; outer && i < s->member_count; i++)
        if (key_says(key, s->members[i].name))
            s->wanted = &s->members[i];
    skip_blanks(s);
    return s->at < s->end && *s->at++ == ':';
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

/* Is it a finite double? Numbers with few digits and a small exponent need no parsing. */
static bool real_fits(struct str number, size_t whole_digits, struct str exponent)
{
    int64_t tens = 0;
    if (exponent.size == 0 || exponent.data[0] == '-' ||
        integer_read(exponent.data[0] == '+' ? str_range(exponent.data + 1, exponent.data + exponent.size) : exponent,
                     &tens))
        if (whole_digits <= REAL_TENS_SAFE && (tens <= 0 || (uint64_t)tens <= REAL_TENS_SAFE - whole_digits))
            return true;
    char *text = mem_alloc(number.size + 1);
    memcpy(text, number.data, number.size);
    text[number.size] = '\0';
    const bool fits = isfinite(strtod(text, NULL));
    mem_free(text);
    return fits;
}

static bool take_number(struct scan *s, struct json_member *member)
{
    const char *from = s->at;
    struct str exponent = {0};
    s->at += *s->at == '-';
    const char *digits = s->at;
    if (!take_digits(s) || (*digits == '0' && s->at > digits + 1))
        return false;
    const size_t whole_digits = (size_t)(s->at - digits);
    bool real = false;
    if (s->at < s->end && *s->at == '.') {
        real = true;
        s->at++;
        if (!take_digits(s))
            return false;
    }
    if (s->at < s->end && (*s->at | 0x20) == 'e') {
        real = true;
        exponent.data = ++s->at;
        s->at += s->at < s->end && (*s->at == '+' || *s->at == '-');
        if (!take_digits(s))
            return false;
        exponent = str_range(exponent.data, s->at);
    }
    if (real)
        return real_fits(str_range(from, s->at), whole_digits, exponent);
    int64_t value;
    if (!integer_read(str_range(from, s->at), &value))
        return false;
    if (member) {
        member->kind = MEMBER_INTEGER;
        member->integer = value;
    }
    return true;
}

static bool take_word(struct scan *s, struct str word)
{
    if (!str_starts(str_range(s->at, s->end), word))
        return false;
    s->at += word.size;
    return true;
}

/* Takes a value other than an object or array. */
static bool take_scalar(struct scan *s, struct json_member *member)
{
    struct str inside;
    bool escaped;
    if (*s->at != '"')
        return *s->at == '-' || (*s->at >= '0' && *s->at <= '9')
                   ? take_number(s, member)
                   : take_word(s, STR("true")) || take_word(s, STR("false")) || take_word(s, STR("null"));
    s->at++;
    if (!take_string(s, &inside, &escaped))
        return false;
    if (member) {
        member->kind = MEMBER_TEXT;
        member->text = escaped ? decode(s->arena, inside) : inside;
    }
    return true;
}

/* ------------------------------------------------------------------------------------------------------- flow */

/* Takes one value with everything it contains; nothing may follow it. */
static bool scan(struct scan *s)
{
    uint32_t open[DEPTH_MAX]; /* containers: the first key of an object, or IS_ARRAY */
    size_t depth = 0;
    for (;;) {
        struct json_member *member = depth == 1 ? s->wanted : NULL;
        s->wanted = NULL;
        skip_blanks(s);
        if (s->at == s->end || depth == DEPTH_MAX)
            return false;
        bool begins = *s->at == '{' || *s->at == '['; /* a container was opened, and nothing in it was taken yet */
        if (begins)
            open[depth++] = *s->at++ == '{' ? (uint32_t)s->scratch->count : IS_ARRAY;
        else if (!take_scalar(s, member))
            return false;
        for (;; begins = false) { /* close the containers that end here, up to a comma or a first value */
            skip_blanks(s);
            if (depth == 0 || s->at == s->end)
                return depth == 0 && s->at == s->end;
            const bool object = open[depth - 1] != IS_ARRAY;
            if (*s->at == (object ? '}' : ']')) {
                s->at++;
                if (object && !close_object(s, open[depth - 1]))
                    return false;
                depth--;
                continue;
            }
            if (!begins && *s->at++ != ',')
                return false;
            skip_blanks(s);
            if (object && !take_key(s, depth == 1))
                return false;
            break;
        }
    }
}

bool json_line_read(struct json_line *scratch, struct str line, struct json_member *members, size_t member_count,
                    struct arena *arena)
{
    struct scan s = {.line = line.data,
                     .at = line.data,
                     .end = line.data + line.size,
                     .scratch = scratch,
                     .arena = arena,
                     .members = members,
                     .member_count = member_count};
    assert(line.size < IS_ARRAY);
    for (size_t i = 0; i < member_count; i++)
        members[i].kind = MEMBER_OTHER;
    scratch->count = 0;
    skip_blanks(&s);
    const bool taken = s.at < s.end && *s.at == '{' && scan(&s);
    if (scratch->capacity > KEYS_KEPT_MAX)
        json_line_release(scratch);
    return taken;
}
