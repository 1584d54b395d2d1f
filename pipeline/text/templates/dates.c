/* Dates and ages: in English, and in the languages of dates_local.c. The current date is never used: an age that still
 * grows is left out, and "now" is when the page was saved. */
#include "base/mem.h"
#include "pipeline/text/templates/call.h"
#include "pipeline/text/templates/local_dates.h"
#include "pipeline/text/templates/number_style.h"
#include "pipeline/text/templates/time_format.h"

#include <stdio.h>

struct date {
    long year, month, day; /* 0: not given */
};

static const struct local_date *local_date_of(const struct call *call)
{
    for (size_t i = 0; i < local_date_count; i++)
        if (str_equal(str_of(local_dates[i].language), call->page->code))
            return &local_dates[i];
    return NULL;
}

/* The month by number or by its name, in the wiki's language or in English. */
static bool read_month(struct call *call, const char *name, long *month)
{
    if (call_number(call, name, month))
        return *month >= 1 && *month <= 12;
    const struct str value = call_value(call, name);
    const struct local_date *local = local_date_of(call);
    char folded[NAME_BYTES_MAX], other[NAME_BYTES_MAX];
    const struct str wanted = name_fold(value, folded);
    for (long i = 0; local && i < 12 && wanted.size > 0; i++) {
        *month = i + 1;
        if (str_equal(wanted, name_fold(str_of(local->months[i]), other)))
            return true;
    }
    for (long i = 0; i < 12 && value.size >= 3; i++) {
        *month = i + 1;
        if (str_equal_ascii_nocase(value, (struct str){month_names[i], value.size < strlen(month_names[i])
                                                                           ? value.size
                                                                           : strlen(month_names[i])}))
            return true;
    }
    *month = 0;
    return false;
}

/* Reads year|month|day from argument `first` on; false if there is no such date. */
static bool read_date(struct call *call, unsigned first, struct date *date)
{
    char name[3][4];
    for (unsigned i = 0; i < 3; i++)
        snprintf(name[i], sizeof name[i], "%u", first + i);
    *date = (struct date){0};
    if (!call_number(call, name[0], &date->year) || date->year > 9999)
        return false;
    if (!call_argument(call, name[1]) || !read_month(call, name[1], &date->month)) {
        date->month = 0;
        return !call_argument(call, name[1]);
    }
    if (!call_number(call, name[2], &date->day))
        date->day = 0;
    return date->day <= 31; /* {{date|20|juillet|1969}} has another order */
}

static bool wants_day_first(struct call *call)
{
    const struct argument *df = call_argument(call, "df");
    return df && !call_says(call, "df", "no") && !call_says(call, "df", "n") && !call_says(call, "df", "US");
}

/* False where a month stands without a day, because its form may be another one then, and in other languages. */
static bool show_local_date(struct call *call, const struct date *date)
{
    const struct local_date *found = local_date_of(call);
    char text[16];
    if (!found || (date->month > 0 && date->day == 0))
        return false;
    for (const char *at = date->month > 0 ? found->pattern : "$y"; *at; at++) {
        if (*at != '$') {
            show(call, (struct str){at, 1});
        } else if (*++at == 'm') {
            show_text(call, found->months[date->month - 1]);
        } else {
            snprintf(text, sizeof text, "%ld", *at == 'd' ? date->day : *at == 'n' ? date->month : date->year);
            show_text(call, text);
        }
    }
    return true;
}

static bool show_date(struct call *call, const struct date *date, bool day_first)
{
    char text[64];
    if (!call_english(call))
        return show_local_date(call, date);
    if (date->month == 0)
        snprintf(text, sizeof text, "%ld", date->year);
    else if (date->day == 0)
        snprintf(text, sizeof text, "%s %ld", month_names[date->month - 1], date->year);
    else if (day_first)
        snprintf(text, sizeof text, "%ld %s %ld", date->day, month_names[date->month - 1], date->year);
    else
        snprintf(text, sizeof text, "%s %ld, %ld", month_names[date->month - 1], date->day, date->year);
    show_text(call, text);
    return true;
}

static long years_between(const struct date *from, const struct date *to)
{
    const bool before = to->month < from->month || (to->month == from->month && to->day < from->day);
    return to->year - from->year - before;
}

/* The day of the revision, from its timestamp; false if the dump does not have it. */
static bool read_revision_day(const struct call *call, struct date *day)
{
    const struct str time = call->page->timestamp;
    char text[11] = {0};
    *day = (struct date){0};
    if (time.size < strlen("2026-11-01"))
        return false;
    memcpy(text, time.data, sizeof text - 1);
    return sscanf(text, "%ld-%ld-%ld", &day->year, &day->month, &day->day) == 3;
}

/* " (age 43)", between years alone " (age 43–44)". */
static void show_age(struct call *call, const char *word, const struct date *from, const struct date *to)
{
    char text[48];
    const long years = years_between(from, to);
    if (!call_english(call) || to->year < from->year || !*word)
        return;
    if (from->day && to->day)
        snprintf(text, sizeof text, " (%s %ld)", word, years);
    else
        snprintf(text, sizeof text, " (%s %ld–%ld)", word, to->year - from->year - 1, to->year - from->year);
    show_text(call, text);
}

/* True if the second argument is a word. */
static bool has_month_name(struct call *call)
{
    const struct str month = call_value(call, "2");
    return !call_english(call) && month.size > 2 && !ascii_is_digit(month.data[0]);
}

/* {{start date|1969|7|20}}, {{birth date and age|1942|3|8|df=y}}: with the age if there is a parameter. A date that is
 * typed out ({{start date|20 July 1969}}, {{date|20|juillet|1969}}) is shown as it is. */
bool render_date(struct call *call)
{
    struct date date;
    if (read_date(call, 1, &date)) {
        struct date now;
        const bool is_shown = show_date(call, &date, wants_day_first(call));
        if (is_shown && date.day && call->parameter.size > 0 && read_revision_day(call, &now))
            show_age(call, "age", &date, &now);
        return is_shown;
    }
    const struct argument *first = call_argument(call, "1"), *second = call_argument(call, "2");
    const struct str text = call_value(call, "1");
    if (!first || call->is_opaque || (second ? !has_month_name(call) : text.size < 6))
        return false;
    show_argument(call, first);
    for (unsigned i = 2; second && i <= 3 && call_numbered(call, i); i++) {
        show_text(call, " ");
        show_argument(call, call_numbered(call, i));
    }
    return true;
}

/* {{death date and age|1998|10|2|1907|9|29}} → October 2, 1998 (aged 91) */
bool render_death(struct call *call)
{
    struct date death, birth;
    if (!read_date(call, 1, &death))
        return render_date(call);
    if (!show_date(call, &death, wants_day_first(call)))
        return false;
    if (call_english(call) && read_date(call, 4, &birth) && death.day && birth.day)
        show_age(call, "aged", &birth, &death);
    return true;
}

/* {{birth year and age|1950}} → 1950 (age 75–76), {{death year and age|2001|1950}} → 2001 (aged 50–51): the parameter
 * is the word. */
bool render_year(struct call *call)
{
    struct date date = {0}, other = {0};
    if (!call_english(call) || !call_number(call, "1", &date.year))
        return false;
    const bool is_death = str_equal(call->parameter, STR("aged"));
    if (is_death && call_number(call, "2", &other.year)) {
        show_date(call, &date, false);
        show_age(call, "aged", &other, &date);
        return true;
    }
    if (call_argument(call, "2") && !read_month(call, "2", &date.month))
        date.month = 0;
    show_date(call, &date, false);
    if (str_equal(call->parameter, STR("age")) && read_revision_day(call, &other) && !date.month)
        show_age(call, "age", &date, &other);
    return true;
}

/* {{dni|8|3|1942}} → 8 de março de 1942; the parameter has the order of the arguments, "dmy". */
static bool read_ordered(struct call *call, unsigned first, const char *order, struct date *date)
{
    *date = (struct date){0};
    for (unsigned i = 0; i < 3; i++) {
        char name[4];
        snprintf(name, sizeof name, "%u", first + i);
        long *const part = order[i] == 'd' ? &date->day : order[i] == 'm' ? &date->month : &date->year;
        if (!call_argument(call, name))
            continue;
        if (order[i] == 'm' ? !read_month(call, name, part) : !call_number(call, name, part))
            return false;
    }
    return date->year > 0 && date->year <= 9999 && date->day <= 31;
}

bool render_day(struct call *call)
{
    struct date date;
    return read_ordered(call, 1, call->parameter.data, &date) && show_date(call, &date, true);
}

/* {{lahirmati|Surakarta|21|6|1961|Solo|1|2|2003}} → Surakarta, 21 Juni 1961 – Solo, 1 Februari 2003 */
bool render_life(struct call *call)
{
    bool any = false;
    for (unsigned first = 1; first <= 5; first += 4) {
        struct date date;
        const struct argument *place = call_numbered(call, first);
        const bool has_date = read_ordered(call, first + 1, "dmy", &date);
        if (!place && !has_date)
            continue;
        show_text(call, any ? " – " : "");
        show_if(call, "", place, "");
        show_text(call, place && has_date ? ", " : "");
        if (has_date && !show_date(call, &date, true))
            return false;
        any = true;
    }
    return any;
}

/* {{as of|2014|3|5|lc=y}} → as of 5 March 2014 */
bool render_as_of(struct call *call)
{
    struct date date;
    if (call_argument(call, "alt")) {
        show_argument(call, call_argument(call, "alt"));
        return true;
    }
    if (!read_date(call, 1, &date))
        return false;
    const bool lower = call_argument(call, "lc"), since = call_argument(call, "since");
    const char *const words[2][2] = {{"As of ", "Since "}, {"as of ", "since "}};
    if (!call_argument(call, "bare"))
        show_text(call, words[lower][since]);
    show_date(call, &date, !call_says(call, "df", "US"));
    show_if(call, "", call_argument(call, "post"), "");
    return true;
}

/* {{age|1907|9|29|1998|10|2}} → 91: between two days; without the second, on the day of the revision. */
bool render_age(struct call *call)
{
    struct date from, to;
    char text[32];
    const bool has_end = call_argument(call, "4") ? read_date(call, 4, &to) : read_revision_day(call, &to);
    if (!has_end || !read_date(call, 1, &from) || !from.day || !to.day || to.year < from.year)
        return false;
    snprintf(text, sizeof text, "%ld", years_between(&from, &to));
    show_text(call, text);
    return true;
}

bool call_revision_time(const struct call *call, char part, char out[16])
{
    const struct str time = call->page->timestamp;
    if (time.size < strlen("2026-11-01T12:34:56Z") || (part == 'F' && !call_english(call)))
        return false;
    const size_t at = part == 'Y' ? 0 : part == 'H' ? 11 : part == 'd' || part == 'j' ? 8 : 5;
    const struct str digits = {time.data + at, part == 'Y' ? 4 : 2};
    const bool leads = digits.data[0] == '0' && (part == 'n' || part == 'j');
    const int month = (digits.data[0] - '0') * 10 + digits.data[1] - '0';
    if (part != 'F')
        snprintf(out, 16, "%.*s", (int)digits.size - leads, digits.data + leads);
    else if (month >= 1 && month <= 12)
        snprintf(out, 16, "%s", month_names[month - 1]);
    return part != 'F' || (month >= 1 && month <= 12);
}

bool call_format_time(struct call *call, struct str format, struct str text, struct str code, struct buf *out)
{
    const struct magic magic = code.size > 0 ? magic_find(language_find(code), code) : *call->page->magic;
    const struct time_names *names = time_names_find(&magic);
    const uint32_t zero = (code.size > 0 ? number_style_find(code) : call->page->style)->zero;
    const struct moment none = {.year = 1, .month = 1, .day = 1};
    struct moment now, moment;
    const bool has_now = call->page->timestamp.size > 0 && moment_read(call->page->timestamp, &none, &now);
    const bool is_now = text.size == 0 || strchr("+-tynl", text.data[0]) || str_equal(text, STR("now"));
    call->steps += format.size + text.size;
    return format.size > 0 && (has_now || !is_now) && moment_read(text, has_now ? &now : &none, &moment) &&
           moment_format(&moment, format, names, zero, out);
}

/* The next word of a date, without the blanks and commas before it. */
static struct str date_word(struct str *rest)
{
    size_t from = 0;
    while (from < rest->size && strchr(" ,\t_", rest->data[from]))
        from++;
    size_t to = from;
    while (to < rest->size && !strchr(" ,\t_", rest->data[to]))
        to++;
    const struct str word = {rest->data + from, to - from};
    *rest = str_from(*rest, to);
    return word;
}

/* "25 dec 2009", "dec 25,2009", "2009 dec 25", "2009-12-25", "4 April", "April 4". */
static bool read_typed_date(struct str typed, struct date *date)
{
    struct str rest = typed;
    char copy[16] = {0};
    int at = 0;
    *date = (struct date){0};
    if (typed.size == strlen("2009-12-25")) {
        memcpy(copy, typed.data, typed.size);
        if (sscanf(copy, "%4ld-%2ld-%2ld%n", &date->year, &date->month, &date->day, &at) == 3 && at == 10)
            return date->month >= 1 && date->month <= 12 && date->day >= 1 && date->day <= 31;
        *date = (struct date){0};
    }
    for (unsigned i = 0; i < 3; i++) {
        const struct str word = date_word(&rest);
        long number = 0, month = 0;
        size_t digits = 0;
        while (digits < word.size && digits < 4 && ascii_is_digit(word.data[digits]))
            number = number * 10 + (word.data[digits++] - '0');
        for (long j = 0; j < 12 && digits == 0; j++)
            if (str_equal_ascii_nocase(word, str_of(month_names[j])) ||
                (word.size == 3 && str_equal_ascii_nocase(word, (struct str){month_names[j], 3})))
                month = j + 1;
        if (word.size == 0 && i == 2)
            break;
        if (month > 0 && date->month == 0)
            date->month = month;
        else if (digits > 0 && digits == word.size && digits <= 2 && number >= 1 && number <= 31 && date->day == 0)
            date->day = number;
        else if (digits > 2 && digits == word.size && date->year == 0)
            date->year = number;
        else
            return false;
    }
    return date_word(&rest).size == 0 && date->month > 0 && date->day > 0;
}

/* {{#formatdate: 25 dec 2009 | mdy }}: as the reader without an account sees it. What is no date, or has no format, is
 * shown as typed. */
bool render_format_date(struct call *call)
{
    struct date date;
    char year[24] = "", text[80] = "";
    const struct str format = call_value(call, "1");
    const bool has_date = call_english(call) && read_typed_date(call_value(call, "0"), &date);
    if (has_date && date.year > 0)
        snprintf(year, sizeof year, "%ld", date.year);
    const char *const month = has_date ? month_names[date.month - 1] : "";
    if (has_date && str_equal(format, STR("dmy")))
        snprintf(text, sizeof text, "%ld %s%s%s", date.day, month, year[0] ? " " : "", year);
    else if (has_date && str_equal(format, STR("mdy")))
        snprintf(text, sizeof text, "%s %ld%s%s", month, date.day, year[0] ? ", " : "", year);
    else if (has_date && str_equal(format, STR("ymd")))
        snprintf(text, sizeof text, "%s%s%s %ld", year, year[0] ? " " : "", month, date.day);
    else if (has_date && date.year > 0 && str_equal(format, STR("ISO 8601")))
        snprintf(text, sizeof text, "%04ld-%02ld-%02ld", date.year, date.month, date.day);
    if (text[0])
        show_text(call, text);
    else
        show_argument(call, call_argument(call, "0"));
    return true;
}

/* {{CURRENTYEAR}}; the parameter is a format of {{#time:}}. */
bool render_now(struct call *call)
{
    SCOPED(buf_release) struct buf shown = {0};
    const bool written = call_format_time(call, call->parameter, STR(""), STR(""), &shown);
    if (written)
        show(call, buf_str(&shown));
    return written;
}

/* {{#time: j F Y | 2001-02-03 | de }}; without a date, that of the revision; in the language that is named. */
bool render_time(struct call *call)
{
    const struct str format = call_value(call, "0"), text = call_value(call, "1");
    SCOPED(buf_release) struct buf shown = {0};
    const struct str code = call_value(call, "2");
    if (call->is_opaque)
        return false;
    const bool written = call_format_time(call, format, text, code, &shown) &&
                         shown.size <= 3 * (size_t)(call->span->end - call->span->start); /* text must not grow */
    if (written)
        show(call, buf_str(&shown));
    return written;
}
