/* Converts the text of a value into a field of the settings, checked. Numbers are read digit by digit, so no locale,
 * sign, blank or hexadecimal form is accepted, as strtoul would. */
#include "base/opts_rows.h"

#include "base/error.h"
#include "base/mem.h"

#include <assert.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct opt_paths *opt_paths_of(const struct opt_row *row, void *settings)
{
    assert(row->type == OPT_PATHS);
    return opt_field(row, settings);
}

void opt_paths_add(struct opt_paths *paths, const char *item)
{
    paths->items = mem_grow(paths->items, paths->count + 1, sizeof(*paths->items));
    paths->items[paths->count++] = item;
}

struct str opt_choice_name(const struct opt_row *row, size_t i)
{
    if (row->choice) {
        const char *name = row->choice(i).name;
        return name ? str_of(name) : (struct str){0};
    }
    for (const char *choices = row->choices; choices; i--) {
        const char *bar = strchr(choices, '|');
        if (i == 0)
            return bar ? str_range(choices, bar) : str_of(choices);
        choices = bar ? bar + 1 : NULL;
    }
    return (struct str){0};
}

int opt_choice_value(const struct opt_row *row, size_t i)
{
    return row->choice ? row->choice(i).value : (int)i;
}

/* ------------------------------------------------------------------------------------------------ numbers */

/* Reads all digits at the start of the text; false if there are none or the number does not fit. */
static bool read_digits(struct str *text, uint64_t *value)
{
    const char *at = text->data, *end = text->data + text->size;
    *value = 0;
    for (; at < end && *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(*value, 10, value) || __builtin_add_overflow(*value, (uint64_t)(*at - '0'), value))
            return false;
    const bool any = at > text->data;
    *text = str_range(at, end);
    return any;
}

static int out_of_range(const struct opt_row *row, struct str text, const char *what, uint64_t limit, struct error *err)
{
    static const char *const units[] = {"", "K", "M", "G"};
    size_t unit = 0;
    for (; row->type == OPT_SIZE && unit < 3 && limit > 0 && limit % 1024 == 0; unit++)
        limit /= 1024;
    return fail(err, ERR_USAGE, "--%s: %.*s is %s is %" PRIu64 "%s", row->name, (int)text.size, text.data, what, limit,
                units[unit]);
}

static int check_range(const struct opt_row *row, struct str text, uint64_t value, struct error *err)
{
    if (value < row->min)
        return out_of_range(row, text, "too small, the least", row->min, err);
    if (row->max && value > row->max)
        return out_of_range(row, text, "too large, the most", row->max, err);
    return 0;
}

/* A number of digits only that does not fit into 64 bits. */
static bool is_huge(struct str text)
{
    uint64_t value;
    struct str rest = text;
    size_t at = 0;
    while (at < text.size && text.data[at] >= '0' && text.data[at] <= '9')
        at++;
    return at > 0 && at == text.size && !read_digits(&rest, &value);
}

static int not_understood(const struct opt_row *row, struct str text, const char *wanted, struct error *err)
{
    return fail(err, ERR_USAGE, "--%s: \"%.*s\" is not %s", row->name, (int)text.size, text.data, wanted);
}

static int read_count(const struct opt_row *row, struct str text, uint64_t *value, struct error *err)
{
    struct str rest = text;
    if (row->automatic && str_equal(text, STR("auto"))) {
        *value = 0;
        return 0;
    }
    if (is_huge(text))
        return out_of_range(row, text, "too large, the most", row->max ? row->max : UINT64_MAX, err);
    if (!read_digits(&rest, value) || rest.size)
        return not_understood(row, text, row->automatic ? "a whole number or auto" : "a whole number", err);
    return check_range(row, text, *value, err);
}

/* Digits and at most one letter of `units`, whose factors are `worth`. */
static bool read_with_unit(struct str text, const char *units, const uint64_t *worth, uint64_t *value)
{
    if (!read_digits(&text, value) || text.size != 1 || !text.data[0])
        return false;
    const char *unit = strchr(units, text.data[0]);
    return unit && !__builtin_mul_overflow(*value, worth[unit - units], value);
}

static int read_size(const struct opt_row *row, struct str text, uint64_t *value, struct error *err)
{
    static const uint64_t worth[] = {1 << 10, 1 << 20, 1 << 30, 1 << 10, 1 << 20, 1 << 30};
    struct str rest = text;
    const bool plain = read_digits(&rest, value) && !rest.size;
    if (!plain && !read_with_unit(text, "KMGkmg", worth, value))
        return not_understood(row, text, "a size such as 4096, 64K, 256M or 1G", err);
    return check_range(row, text, *value, err);
}

static int read_duration(const struct opt_row *row, struct str text, uint64_t *value, struct error *err)
{
    static const uint64_t worth[] = {1, 60, 3600, 86400};
    if (!read_with_unit(text, "smhd", worth, value))
        return not_understood(row, text, "a duration such as 90s, 30m, 8h or 2d", err);
    return check_range(row, text, *value, err);
}

static int read_count_or_time(const struct opt_row *row, struct str text, struct opt_count_or_time *value,
                              struct error *err)
{
    uint64_t number;
    struct str rest = text;
    const bool is_count = read_digits(&rest, &number) && !rest.size;
    if (is_count)
        TRY(check_range(row, text, number, err));
    else if (read_duration(row, text, &number, err) < 0)
        return not_understood(row, text, "a count or a duration such as 500, 90s, 30m or 8h", err);
    *value = is_count ? (struct opt_count_or_time){.count = number} : (struct opt_count_or_time){.seconds = number};
    return 0;
}

bool opts_millionths(struct str text, uint32_t *value)
{
    uint32_t whole = 0, millionths = 0;
    size_t at = 0, digits = 0, places = 0;
    int below = 0; /* the rest compared with half a millionth: digit 7 decides, later ones break the tie */
    bool tail = false;
    for (; at < text.size && text.data[at] >= '0' && text.data[at] <= '9'; at++, digits++)
        whole = whole > 1 ? 2 : whole * 10 + (uint32_t)(text.data[at] - '0');
    if (at < text.size && text.data[at] == '.')
        for (at++; at < text.size && text.data[at] >= '0' && text.data[at] <= '9'; at++, digits++, places++) {
            const int digit = text.data[at] - '0';
            if (places < 6)
                millionths = millionths * 10 + (uint32_t)digit;
            else if (places == 6)
                below = digit;
            else
                tail |= digit > 0;
        }
    for (; places < 6; places++)
        millionths *= 10;
    const bool above_one = whole > 1 || (whole == 1 && (millionths || below || tail));
    if (!digits || at < text.size || above_one)
        return false;
    if (below > 5 || (below == 5 && (tail || millionths & 1)))
        millionths++;
    *value = whole * OPT_MILLION + millionths;
    return true;
}

static int read_millionths(const struct opt_row *row, struct str text, uint32_t *value, struct error *err)
{
    return opts_millionths(text, value) ? 0 : not_understood(row, text, "a decimal number from 0 to 1", err);
}

static int read_real(const struct opt_row *row, const char *text, double *value, struct error *err)
{
    char *end = NULL;
    /* Without this, strtod would take blanks, "inf", "nan" and hexadecimal numbers. */
    const bool plain = text[0] && !text[strspn(text, "0123456789+-.eE")];
    locale_t c = plain ? newlocale(LC_ALL_MASK, "C", (locale_t)0) : (locale_t)0;
    if (c) {
        *value = strtod_l(text, &end, c);
        freelocale(c);
    }
    if (!end || end == text || *end || !isfinite(*value))
        return not_understood(row, str_of(text), "a number", err);
    const bool bounded = row->real_min < 0 || row->real_min > 0 || row->real_max < 0 || row->real_max > 0;
    if (bounded && (*value < row->real_min || *value > row->real_max))
        return fail(err, ERR_USAGE, "--%s: %s is not within %g to %g", row->name, text, row->real_min, row->real_max);
    return 0;
}

/* ------------------------------------------------------------------------------------------------ words and lists */

bool opt_choice_find(const struct opt_row *row, struct str name, int *field)
{
    for (size_t i = 0; opt_choice_name(row, i).data; i++)
        if (str_equal(opt_choice_name(row, i), name)) {
            *field = opt_choice_value(row, i);
            return true;
        }
    return false;
}

void opt_add_choices(const struct opt_row *row, const char *between, struct buf *out)
{
    for (size_t i = 0; opt_choice_name(row, i).data; i++) {
        buf_add_text(out, i ? between : "");
        buf_add_str(out, opt_choice_name(row, i));
    }
}

static int read_choice(const struct opt_row *row, struct str text, int *value, struct error *err)
{
    SCOPED(buf_release) struct buf list = {0};
    if (opt_choice_find(row, text, value))
        return 0;
    opt_add_choices(row, ", ", &list);
    return fail(err, ERR_USAGE, "--%s: \"%.*s\" is none of %.255s", row->name, (int)text.size, text.data,
                buf_text(&list));
}

/* Takes the next item of a comma list; false at the end. An empty item counts as an item: "1,,2" is a mistake. */
static bool next_item(const char **list, struct str *item)
{
    if (!*list)
        return false;
    const char *comma = strchr(*list, ',');
    *item = comma ? str_range(*list, comma) : str_of(*list);
    *list = comma ? comma + 1 : NULL;
    return true;
}

static int read_set(const struct opt_row *row, const char *text, uint32_t *value, struct error *err)
{
    struct str item;
    uint32_t bits = 0;
    const char *list = !text[0] || strcmp(text, "none") == 0 ? NULL : text;
    while (next_item(&list, &item)) {
        int i = 0;
        TRY(read_choice(row, item, &i, err));
        assert(i < 32);
        bits |= (uint32_t)1 << i;
    }
    *value = bits;
    return 0;
}

static int read_numbers(const struct opt_row *row, const char *text, struct opt_numbers *value, struct error *err)
{
    struct opt_numbers numbers = {0};
    struct str item;
    for (const char *list = text; next_item(&list, &item);) {
        uint64_t number;
        TRY(read_count(row, item, &number, err));
        if (number > UINT32_MAX)
            return not_understood(row, item, "below 2^32", err);
        if (numbers.count == OPT_NUMBERS_MAX)
            return fail(err, ERR_USAGE, "--%s takes at most %d numbers", row->name, OPT_NUMBERS_MAX);
        numbers.values[numbers.count++] = (uint32_t)number;
    }
    *value = numbers;
    return 0;
}

static int read_one(const struct opt_row *row, const char *text, void *field, struct error *err)
{
    switch (row->type) {
    case OPT_FLAG:
        *(bool *)field = true;
        return 0;
    case OPT_COUNT:
        return read_count(row, str_of(text), field, err);
    case OPT_SIZE:
        return read_size(row, str_of(text), field, err);
    case OPT_DURATION:
        return read_duration(row, str_of(text), field, err);
    case OPT_MILLIONTHS:
        return read_millionths(row, str_of(text), field, err);
    case OPT_REAL:
        return read_real(row, text, field, err);
    case OPT_CHOICE:
        return read_choice(row, str_of(text), field, err);
    case OPT_SET:
        return read_set(row, text, field, err);
    case OPT_NUMBERS:
        return read_numbers(row, text, field, err);
    case OPT_COUNT_OR_TIME:
        return read_count_or_time(row, str_of(text), field, err);
    case OPT_TEXT:
    case OPT_PATHS:
        break;
    }
    if (!text[0]) /* most likely an unset variable of a shell script */
        return fail(err, ERR_USAGE, "--%s: the value is empty", row->name);
    if (row->type == OPT_TEXT)
        *(const char **)field = text;
    else
        opt_paths_add(field, text);
    return 0;
}

static size_t field_size(enum opt_type type)
{
    static const size_t sizes[] = {
        [OPT_FLAG] = sizeof(bool),
        [OPT_COUNT] = sizeof(uint64_t),
        [OPT_SIZE] = sizeof(uint64_t),
        [OPT_DURATION] = sizeof(uint64_t),
        [OPT_MILLIONTHS] = sizeof(uint32_t),
        [OPT_REAL] = sizeof(double),
        [OPT_TEXT] = sizeof(const char *),
        [OPT_CHOICE] = sizeof(int),
        [OPT_SET] = sizeof(uint32_t),
        [OPT_NUMBERS] = sizeof(struct opt_numbers),
        [OPT_PATHS] = sizeof(struct opt_paths),
        [OPT_COUNT_OR_TIME] = sizeof(struct opt_count_or_time),
    };
    return sizes[type];
}

/* Reads both numbers of a ramp. */
static int read_ramp(const struct opt_row *row, const char *text, char *fields, struct error *err)
{
    char first[40];
    const char *colon = strchr(text, ':'), *second = colon ? colon + 1 : text;
    const size_t size = colon ? (size_t)(colon - text) : strlen(text);
    if (size >= sizeof first)
        return not_understood(row, str_of(text), "a number, or two as in 2:5", err);
    memcpy(first, text, size);
    first[size] = '\0';
    TRY(read_one(row, first, fields, err));
    return read_one(row, second, fields + field_size(row->type), err);
}

int opt_value_read(const struct opt_row *row, const char *text, void *settings, struct error *err)
{
    void *field = opt_field(row, settings);
    return row->ramp ? read_ramp(row, text, field, err) : read_one(row, text, field, err);
}

void opt_value_default(const struct opt_row *row, void *settings)
{
    struct error err;
    memset(opt_field(row, settings), 0, field_size(row->type) * (row->ramp ? 2 : 1));
    if (!row->default_text)
        return;
    assert(row->type != OPT_PATHS && row->type != OPT_FLAG);
    const int result = opt_value_read(row, row->default_text, settings, &err);
    assert(result == 0); /* a default that its own row refuses is a bug in the table */
}
