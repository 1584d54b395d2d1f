/* Options and JSON: the options in force, each with a text that reads back as the same value; and the value of a
 * configuration's key. */
#include "base/mem.h"
#include "base/opts_rows.h"

#include "base/output.h"

#include <assert.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void add_millionths(uint32_t value, struct buf *out)
{
    buf_addf(out, "%u.%06u", value / OPT_MILLION, value % OPT_MILLION);
    while (out->data[out->size - 1] == '0')
        out->size--;
    if (out->data[out->size - 1] == '.')
        out->size--;
}

/* The shortest decimal that reads back as the same number. */
static void add_real(double value, struct buf *out)
{
    char text[40];
    for (int digits = 1; digits <= DBL_DECIMAL_DIG; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, value);
        const double back = strtod(text, NULL);
        if (!(back < value) && !(back > value))
            break;
    }
    buf_add_text(out, text);
}

static void add_set(const struct opt_row *row, uint32_t bits, struct buf *out)
{
    const char *comma = "";
    for (size_t i = 0; i < 32; i++)
        if (bits >> i & 1) {
            buf_add_text(out, comma);
            buf_add_str(out, opt_choice_name(row, i));
            comma = ",";
        }
    if (!bits)
        buf_add_text(out, "none");
}

static void add_numbers(const struct opt_numbers *numbers, struct buf *out)
{
    for (size_t i = 0; i < numbers->count; i++)
        buf_addf(out, "%s%" PRIu32, i ? "," : "", numbers->values[i]);
}

static void add_choice(const struct opt_row *row, int value, struct buf *out)
{
    size_t i = 0;
    while (opt_choice_name(row, i).data && opt_choice_value(row, i) != value)
        i++;
    buf_add_str(out, opt_choice_name(row, i));
}

static void add_value(const struct opt_row *row, const void *field, struct buf *out)
{
    const struct opt_count_or_time *either = field;
    switch (row->type) {
    case OPT_FLAG:
        buf_add_text(out, *(const bool *)field ? "true" : "false");
        break;
    case OPT_COUNT:
    case OPT_SIZE:
        if (row->automatic && *(const uint64_t *)field == 0)
            buf_add_text(out, "auto");
        else
            buf_addf(out, "%" PRIu64, *(const uint64_t *)field);
        break;
    case OPT_DURATION:
        buf_addf(out, "%" PRIu64 "s", *(const uint64_t *)field);
        break;
    case OPT_MILLIONTHS:
        add_millionths(*(const uint32_t *)field, out);
        break;
    case OPT_REAL:
        add_real(*(const double *)field, out);
        break;
    case OPT_CHOICE:
        add_choice(row, *(const int *)field, out);
        break;
    case OPT_SET:
        add_set(row, *(const uint32_t *)field, out);
        break;
    case OPT_NUMBERS:
        add_numbers(field, out);
        break;
    case OPT_COUNT_OR_TIME:
        buf_addf(out, either->seconds ? "%" PRIu64 "s" : "%" PRIu64, either->seconds ? either->seconds : either->count);
        break;
    case OPT_TEXT:
    case OPT_PATHS: /* opts_json */
        break;
    }
}

/* Both numbers where they differ. */
static void add_ramp(const struct opt_row *row, const void *fields, struct buf *out)
{
    const uint64_t *counts = fields;
    const uint32_t *millionths = fields;
    const bool is_count = row->type == OPT_COUNT;
    add_value(row, fields, out);
    if (is_count ? counts[0] == counts[1] : millionths[0] == millionths[1])
        return;
    buf_addf(out, ":");
    add_value(row, is_count ? (const void *)&counts[1] : (const void *)&millionths[1], out);
}

void opt_value_text(const struct opt_row *row, const void *field, struct buf *out)
{
    if (row->ramp)
        add_ramp(row, field, out);
    else
        add_value(row, field, out);
}

static json_t *value_of(const struct opt_row *row, const void *field)
{
    SCOPED(buf_release) struct buf text = {0};
    opt_value_text(row, field, &text);
    json_t *value = json_string(buf_text(&text));
    return value;
}

static json_t *names_of(const struct opt_paths *paths)
{
    json_t *names = json_array();
    for (size_t i = 0; i < paths->count; i++)
        json_array_append_new(names, json_name(paths->items[i]));
    return names;
}

json_t *opts_json(const struct opt_program *program, const struct opt_verb *verb, const void *settings)
{
    json_t *options = json_object();
    for (const struct opt_row *row = program->rows; row->name; row++) {
        const void *field = opt_field(row, settings);
        const char *const *text = field;
        const struct opt_paths *paths = field;
        if (!opt_row_is_for(row, verb))
            continue;
        if (row->type == OPT_TEXT && *text)
            json_object_set_new(options, row->name, json_name(*text));
        else if (row->type == OPT_PATHS && paths->count > 0)
            json_object_set_new(options, row->name, names_of(paths));
        else if (row->type != OPT_TEXT && row->type != OPT_PATHS)
            json_object_set_new(options, row->name, value_of(row, field));
    }
    return options;
}

/* ---- the value of a key ---- */

static bool set_number(const json_t *value, double min, double max, bool whole, double *number, char *wanted)
{
    *number = json_number_value(value);
    snprintf(wanted, OPT_WANTED_BYTES, "not a %s from %g to %g", whole ? "count" : "number", min, max);
    return json_is_number(value) && *number >= min && *number <= max && (!whole || floor(*number) >= *number);
}

static bool set_count(const struct opt_row *row, const json_t *value, uint64_t *field, char *wanted)
{
    double number;
    const double most = row->max > 0 ? (double)row->max : 1e15;
    assert(!row->ramp);
    if (!set_number(value, (double)row->min, most, true, &number, wanted))
        return false;
    *field = (uint64_t)number;
    return true;
}

static bool set_millionths(const struct opt_row *row, const json_t *value, uint32_t *fields, char *wanted)
{
    const bool two = row->ramp && json_array_size(value) == 2;
    snprintf(wanted, OPT_WANTED_BYTES, "%s",
             row->ramp ? "neither a number above 0 and at most 1, nor two, as [0.3, 0.15]"
                       : "not a number above 0 and at most 1");
    for (size_t i = 0; i < (row->ramp ? 2 : 1); i++) {
        const json_t *one = two ? json_array_get(value, i) : value;
        const double number = json_number_value(one);
        if (!json_is_number(one) || !(number >= 1e-6 && number <= 1))
            return false;
        fields[i] = (uint32_t)lround(number * OPT_MILLION);
    }
    return true;
}

static bool set_choice(const struct opt_row *row, const json_t *value, int *field, char *wanted)
{
    const struct str name = str_of(json_is_string(value) ? json_string_value(value) : "");
    SCOPED(buf_release) struct buf names = {0};
    size_t count = 0;
    if (opt_choice_find(row, name, field))
        return true;
    while (opt_choice_name(row, count).data)
        count++;
    for (size_t i = 0; i < count; i++)
        buf_addf(&names, "%s\"%.*s\"",
                 i == 0       ? ""
                 : count == 2 ? " nor "
                              : ", ",
                 (int)opt_choice_name(row, i).size, opt_choice_name(row, i).data);
    snprintf(wanted, OPT_WANTED_BYTES, "%s %s", count == 2 ? "neither" : "none of", buf_text(&names));
    return false;
}

bool opts_set_json(const struct opt_row *row, const json_t *value, void *settings, char wanted[OPT_WANTED_BYTES])
{
    void *field = opt_field(row, settings);
    switch (row->type) {
    case OPT_FLAG:
        snprintf(wanted, OPT_WANTED_BYTES, "neither true nor false");
        *(bool *)field = json_is_true(value);
        return json_is_boolean(value);
    case OPT_COUNT:
        return set_count(row, value, field, wanted);
    case OPT_REAL:
        return set_number(value, row->real_min, row->real_max, false, field, wanted);
    case OPT_MILLIONTHS:
        return set_millionths(row, value, field, wanted);
    case OPT_CHOICE:
        return set_choice(row, value, field, wanted);
    case OPT_TEXT:
        snprintf(wanted, OPT_WANTED_BYTES, "not a text");
        *(const char **)field = json_string_value(value);
        return json_is_string(value);
    case OPT_SIZE:
    case OPT_DURATION:
    case OPT_SET:
    case OPT_NUMBERS:
    case OPT_PATHS:
    case OPT_COUNT_OR_TIME:
        break;
    }
    assert(false); /* opts.h excludes these types */
    return false;
}
