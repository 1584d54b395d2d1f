#include "pipeline/text/templates/time_format.h"

#include <stdio.h>
#include <stdlib.h>

const char *const month_names[12] = {"January", "February", "March",     "April",   "May",      "June",
                                     "July",    "August",   "September", "October", "November", "December"};

static const struct time_names *names_of(struct str code)
{
    const size_t row = row_find(&time_names->code, time_names_count, sizeof *time_names, code);
    return row < time_names_count ? &time_names[row] : NULL;
}

const struct time_names *time_names_find(const struct magic *magic)
{
    for (size_t i = 0; i < magic->count; i++) {
        const struct time_names *names = names_of(str_of(magic->of[i]->code));
        if (names)
            return names;
    }
    return names_of(STR("en"));
}

static bool is_leap(int year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int days_in(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && is_leap(year));
}

/* Days since 1 January 1970. */
static long day_number(int year, int month, int day)
{
    const long y = month > 2 ? year : year - 1, era = (y >= 0 ? y : y - 399) / 400;
    const long of_era = y - era * 400, of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static int day_of_year(const struct moment *m)
{
    return (int)(day_number(m->year, m->month, m->day) - day_number(m->year, 1, 1));
}

static int day_of_week(const struct moment *m)
{
    return (int)(((day_number(m->year, m->month, m->day) + 4) % 7 + 7) % 7); /* 1970 began on a Thursday */
}

/* The week by ISO 8601: the first one has the year's first Thursday. */
static int week_of_year(const struct moment *m)
{
    const int week = (day_of_year(m) + 1 - (day_of_week(m) + 6) % 7 + 9) / 7;
    const struct moment last = {.year = m->year - 1, .month = 12, .day = 31};
    if (week == 0)
        return week_of_year(&last);
    const int rest = 364 + is_leap(m->year) - day_of_year(m);
    return week == 53 && rest < 4 - (day_of_week(m) + 6) % 7 - 1 ? 1 : week;
}

/* Reading. */

static bool take_number(struct str *text, unsigned digits_max, int *number)
{
    size_t at = 0;
    *number = 0;
    while (at < text->size && at < digits_max && ascii_is_digit(text->data[at]))
        *number = *number * 10 + (text->data[at++] - '0');
    *text = str_from(*text, at);
    return at > 0 && (text->size == 0 || !ascii_is_digit(text->data[0]));
}

static bool take(struct str *text, const char *any)
{
    if (text->size == 0 || !strchr(any, text->data[0]))
        return false;
    *text = str_from(*text, 1);
    return true;
}

/* "feb", "February" */
static bool take_month(struct str *text, int *month)
{
    size_t size = 0;
    while (size < text->size && ascii_is_letter(text->data[size]))
        size++;
    const struct str word = {text->data, size};
    for (int i = 0; i < 12; i++) {
        const struct str name = str_of(month_names[i]);
        if (!str_equal_ascii_nocase(word, name) &&
            !(size == 3 && str_equal_ascii_nocase(word, (struct str){name.data, 3})))
            continue;
        *month = i + 1;
        *text = str_from(*text, size);
        return true;
    }
    return false;
}

static void take_blanks(struct str *text)
{
    while (take(text, " ,.\t\n"))
        continue;
}

/* " 04:05:06Z" after a day; nothing is midnight. */
static bool read_clock(struct str text, struct moment *m)
{
    take(&text, "T");
    take_blanks(&text);
    if (text.size > 0 && (!take_number(&text, 2, &m->hour) || !take(&text, ":") || !take_number(&text, 2, &m->minute)))
        return false;
    if (take(&text, ":") && !take_number(&text, 2, &m->second))
        return false;
    take(&text, "Z");
    return text.size == 0;
}

/* 20260203, 20260203040506 */
static bool take_stamp(struct str *text, struct moment *m)
{
    int parts[6] = {0};
    size_t size = 0;
    while (size < text->size && ascii_is_digit(text->data[size]))
        size++;
    if (size != 8 && size != 14)
        return false;
    for (size_t i = 0; i < size; i++) {
        const size_t part = i < 4 ? 0 : (i - 2) / 2;
        parts[part] = parts[part] * 10 + (text->data[i] - '0');
    }
    *m = (struct moment){parts[0], parts[1], parts[2], parts[3], parts[4], parts[5]};
    *text = str_from(*text, size);
    return true;
}

/* A day that its month lacks is one of the next month, as in PHP. */
static void normalise(struct moment *m, long days, long seconds)
{
    static const int month_days[] = {0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const int months = m->year * 12 + m->month - 1;
    m->year = months / 12;
    m->month = months % 12 + 1;
    seconds += (m->hour * 60L + m->minute) * 60 + m->second;
    const long extra = (seconds % 86400 < 0 ? seconds - 86400 : seconds) / 86400;
    seconds -= extra * 86400;
    long day = day_number(m->year, m->month, 1) + m->day - 1 + days + extra;
    m->hour = (int)(seconds / 3600);
    m->minute = (int)(seconds / 60 % 60);
    m->second = (int)(seconds % 60);
    m->year = (int)((double)day / 365.2425 + 1970);
    m->year -= day_number(m->year, 1, 1) > day;
    m->year += day_number(m->year + 1, 1, 1) <= day;
    day -= day_number(m->year, 1, 1);
    m->month = 1;
    for (; m->month < 12 && day >= month_days[m->month] + (m->month == 2 && is_leap(m->year)); m->month++)
        day -= month_days[m->month] + (m->month == 2 && is_leap(m->year));
    m->day = (int)day + 1;
}

/* True if it is a time. A 30 February is one in March. */
static bool is_moment(struct moment *m)
{
    const bool is_one = m->year >= 1 && m->year <= 9999 && m->month >= 1 && m->month <= 12 && m->day >= 1 &&
                        m->day <= 31 && m->hour < 24 && m->minute < 60 && m->second < 60;
    if (is_one && m->day > days_in(m->year, m->month))
        normalise(m, 0, 0);
    return is_one;
}

/* A year; of two digits, one from 1970 to 2069. */
static bool take_year(struct str *text, int *year)
{
    const size_t before = text->size;
    if (!take_number(text, 4, year))
        return false;
    if (before - text->size == 2)
        *year += *year < 70 ? 2000 : 1900;
    return true;
}

static bool takes_word(struct str *text, const char *word)
{
    const size_t size = strlen(word);
    if (text->size < size || !str_equal_ascii_nocase((struct str){text->data, size}, str_of(word)))
        return false;
    *text = str_from(*text, size);
    return true;
}

/* Takes "+3 days" or "next week" from the start of a text and adds it to the moment. */
static bool take_step(struct str *text, struct moment *m)
{
    static const struct {
        const char *unit;
        int months;
        long days, seconds;
    } units[] = {{"sec", 0, 0, 1},  {"min", 0, 0, 60},       {"hour", 0, 0, 3600}, {"day", 0, 1, 0},
                 {"week", 0, 7, 0}, {"fortnight", 0, 14, 0}, {"month", 1, 0, 0},   {"year", 12, 0, 0}};
    const bool is_next = takes_word(text, "next "), is_minus = take(text, "-") || takes_word(text, "last ");
    int number = 1;
    if (!is_minus && !is_next && !take(text, "+"))
        return false;
    take_blanks(text);
    if (text->size > 0 && ascii_is_digit(text->data[0]) && !take_number(text, 5, &number))
        return false;
    take_blanks(text);
    number = is_minus ? -number : number;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (!takes_word(text, units[i].unit))
            continue;
        while (text->size > 0 && ascii_is_letter(text->data[0]))
            take(text, (char[]){text->data[0], 0});
        take_blanks(text);
        m->month += number * units[i].months;
        if (m->year * 12 + m->month < 13)
            return false;
        normalise(m, number * units[i].days, number * units[i].seconds);
        return true;
    }
    return false;
}

/* Where "+3 days" or "next week" begins in a date: at a sign with blanks or digits after it, and a letter. */
static size_t find_step(struct str text)
{
    for (size_t at = 0; at < text.size; at++) {
        size_t end = at + 1;
        struct str rest = str_from(text, at);
        if ((at == 0 || text.data[at - 1] == ' ') && (takes_word(&rest, "next ") || takes_word(&rest, "last ")))
            return at;
        if ((text.data[at] != '+' && text.data[at] != '-') || (at > 0 && text.data[at - 1] != ' '))
            continue;
        while (end < text.size && (text.data[end] == ' ' || ascii_is_digit(text.data[end])))
            end++;
        if (end < text.size && ascii_is_letter(text.data[end]))
            return at;
    }
    return text.size;
}

bool moment_read(struct str text, const struct moment *now, struct moment *moment)
{
    text = str_trim(text);
    const size_t step = find_step(text);
    if (step < text.size) {
        struct str rest = str_from(text, step);
        bool known = moment_read((struct str){text.data, step}, now, moment);
        while (known && rest.size > 0)
            known = take_step(&rest, moment);
        return known && is_moment(moment);
    }
    *moment = *now;
    if (text.size == 0 || str_equal_ascii_nocase(text, STR("now")))
        return true;
    *moment = (struct moment){.month = 1, .day = 1};
    if (take(&text, "@")) { /* seconds since 1970 */
        int seconds;
        *moment = (struct moment){.year = 1970, .month = 1, .day = 1};
        if (!take_number(&text, 9, &seconds) || text.size > 0)
            return false;
        normalise(moment, 0, seconds);
        return true;
    }
    const bool is_yesterday = str_equal_ascii_nocase(text, STR("yesterday")),
               is_tomorrow = str_equal_ascii_nocase(text, STR("tomorrow"));
    if (is_yesterday || is_tomorrow || str_equal_ascii_nocase(text, STR("today"))) {
        *moment = (struct moment){.year = now->year, .month = now->month, .day = now->day};
        normalise(moment, is_tomorrow - is_yesterday, 0);
        return true;
    }
    if (take_month(&text, &moment->month)) { /* February 3, 2026 */
        int first = 0;
        take_blanks(&text);
        moment->year = now->year;
        if (text.size > 0 && !take_number(&text, 4, &first))
            return false;
        take_blanks(&text);
        if (first == 0)
            moment->day = now->day;
        else if (first > 31)
            moment->year = first;
        else if (moment->day = first, text.size > 0 && !take_number(&text, 4, &moment->year))
            return false;
        return read_clock(text, moment) && is_moment(moment);
    }
    const struct str whole = text;
    if (take_stamp(&text, moment))
        return read_clock(text, moment) && is_moment(moment);
    if (!take_number(&text, 4, &moment->year))
        return false;
    if (text.size == 0) { /* the day is that of now, as in MediaWiki */
        moment->month = now->month;
        moment->day = now->day;
        return is_moment(moment);
    }
    if (text.data[0] == ':') { /* 4:05 */
        *moment = (struct moment){.year = now->year, .month = now->month, .day = now->day};
        return read_clock(whole, moment) && is_moment(moment);
    }
    if (take(&text, "/")) { /* 2026/02/03, 2/3/2026 */
        const bool year_first = moment->year > 31;
        int *const parts[] = {year_first ? &moment->month : &moment->day, year_first ? &moment->day : &moment->year};
        if (!year_first)
            moment->month = moment->year;
        return take_number(&text, 2, parts[0]) && take(&text, "/") && take_number(&text, 4, parts[1]) &&
               read_clock(text, moment) && is_moment(moment);
    }
    if (text.size > 2 && text.data[0] == '.' && ascii_is_digit(text.data[1])) { /* 3.2.2026 */
        moment->day = moment->year;
        return take(&text, ".") && take_number(&text, 2, &moment->month) && take(&text, ".") &&
               take_number(&text, 4, &moment->year) && read_clock(text, moment) && is_moment(moment);
    }
    if (take(&text, "-")) { /* 2026-02-03 */
        const bool read = take_number(&text, 2, &moment->month);
        return read && (!take(&text, "-") || take_number(&text, 2, &moment->day)) && read_clock(text, moment) &&
               is_moment(moment);
    }
    moment->day = moment->year; /* 3 February 2026 */
    take_blanks(&text);
    if (!take_month(&text, &moment->month))
        return false;
    take_blanks(&text);
    if (text.size == 0) {
        moment->year = now->year;
        return is_moment(moment);
    }
    return take_year(&text, &moment->year) && read_clock(text, moment) && is_moment(moment);
}

/* Writing. */

static void add_roman(int number, struct buf *out)
{
    static const struct {
        int value;
        const char *signs;
    } steps[] = {{1000, "M"}, {900, "CM"}, {500, "D"}, {400, "CD"}, {100, "C"}, {90, "XC"}, {50, "L"},
                 {40, "XL"},  {10, "X"},   {9, "IX"},  {5, "V"},    {4, "IV"},  {1, "I"}};
    for (size_t i = 0; number > 0; i += number < steps[i].value)
        if (number >= steps[i].value) {
            buf_add_text(out, steps[i].signs);
            number -= steps[i].value;
        }
}

static void add_name(const char *names, int number, struct buf *out)
{
    for (; number > 0; number--)
        names = strchr(names, '|') + 1;
    buf_add(out, names, strcspn(names, "|"));
}

/* Adds the number of a letter, with zeros in front up to its width; false if the letter stands for none. */
static bool format_number(const struct moment *m, char letter, struct buf *out)
{
    const int twelve = m->hour % 12 == 0 ? 12 : m->hour % 12, weekday = day_of_week(m), week = week_of_year(m);
    const struct {
        char letter;
        int width;
        long number;
    } numbers[] = {
        {'Y', 4, m->year},
        {'y', 2, m->year % 100},
        {'n', 1, m->month},
        {'m', 2, m->month},
        {'j', 1, m->day},
        {'d', 2, m->day},
        {'z', 1, day_of_year(m)},
        {'W', 2, week},
        {'N', 1, weekday == 0 ? 7 : weekday},
        {'w', 1, weekday},
        {'g', 1, twelve},
        {'h', 2, twelve},
        {'G', 1, m->hour},
        {'H', 2, m->hour},
        {'i', 2, m->minute},
        {'s', 2, m->second},
        {'L', 1, is_leap(m->year)},
        {'t', 1, days_in(m->year, m->month)},
        {'U', 1, ((day_number(m->year, m->month, m->day) * 24 + m->hour) * 60 + m->minute) * 60 + m->second},
        /* the year that the week belongs to */
        {'o', 4, m->year + (m->month == 12 && week == 1) - (m->month == 1 && week > 50)},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i].letter == letter) {
            buf_addf(out, "%0*ld", numbers[i].width, numbers[i].number);
            return true;
        }
    return false;
}

static void format_letter(const struct moment *m, char letter, const struct time_names *names, struct buf *out)
{
    static const struct {
        char letter;
        const char *text;
    } zone[] = {{'e', "UTC"}, {'T', "UTC"}, {'O', "+0000"}, {'P', "+00:00"}, {'Z', "0"}, {'I', "0"}};
    switch (letter) {
    case 'M':
        add_name(names->short_months, m->month - 1, out);
        return;
    case 'F':
        add_name(names->months, m->month - 1, out);
        return;
    case 'D':
        add_name(names->short_days, day_of_week(m), out);
        return;
    case 'l':
        add_name(names->days, day_of_week(m), out);
        return;
    case 'a':
    case 'A':
        buf_add_byte(out, m->hour < 12 ? letter : letter + ('p' - 'a'));
        buf_add_byte(out, letter == 'a' ? 'm' : 'M');
        return;
    case 'c':
        buf_addf(out, "%04d-%02d-%02dT%02d:%02d:%02d+00:00", m->year, m->month, m->day, m->hour, m->minute, m->second);
        return;
    case 'r':
        for (const char *part = "D, d M Y H:i:s +0000"; *part; part++)
            if (!format_number(m, *part, out))
                format_letter(m, *part, names_of(STR("en")), out);
        return;
    }
    for (size_t i = 0; i < sizeof zone / sizeof *zone; i++)
        if (zone[i].letter == letter) {
            buf_add_text(out, zone[i].text);
            return;
        }
    buf_add_byte(out, letter);
}

/* Writes the digits from `from` on as the language does. */
static void localise_digits(struct buf *out, size_t from, uint32_t zero)
{
    char plain[64], digit[4];
    const size_t size = out->size - from;
    if (zero == '0' || size > sizeof plain)
        return;
    memcpy(plain, out->data + from, size);
    out->size = from;
    for (size_t i = 0; i < size; i++)
        if (ascii_is_digit(plain[i]))
            buf_add(out, digit, utf8_write(zero + (uint32_t)(plain[i] - '0'), digit));
        else
            buf_add_byte(out, plain[i]);
}

bool moment_format(const struct moment *moment, struct str format, const struct time_names *names, uint32_t zero,
                   struct buf *out)
{
    bool is_raw = false, is_roman = false; /* the next number has European digits, or is Roman */
    for (size_t at = 0; at < format.size; at++) {
        const char letter = format.data[at];
        const struct str rest = str_from(format, at);
        const char *quote = letter == '"' ? memchr(format.data + at + 1, '"', format.size - at - 1) : NULL;
        const size_t from = out->size;
        if (quote) {
            buf_add(out, format.data + at + 1, (size_t)(quote - format.data) - at - 1);
            at = (size_t)(quote - format.data);
        } else if (letter == '\\' && at + 1 < format.size) {
            buf_add_byte(out, format.data[++at]);
        } else if (str_starts(rest, STR("xn")) || str_starts(rest, STR("xN"))) {
            is_raw = true;
            at++;
        } else if (str_starts(rest, STR("xg"))) {
            add_name(names->genitives, moment->month - 1, out);
            at++;
        } else if (str_starts(rest, STR("xr"))) {
            is_roman = true;
            at++;
        } else if (str_starts(rest, STR("xkY")) || str_starts(rest, STR("xoY"))) { /* of Thailand, of Taiwan */
            buf_addf(out, "%d", moment->year + (rest.data[1] == 'k' ? 543 : -1911));
            localise_digits(out, from, zero);
            at += 2;
        } else if (letter == 'x' && rest.size > 1 && strchr("hijmot", rest.data[1])) { /* other calendars, numbers */
            return false;
        } else if (!format_number(moment, letter, out)) {
            format_letter(moment, letter, names, out);
        } else {
            if (is_roman) {
                const int number = atoi(buf_text(out) + from);
                out->size = from;
                add_roman(number, out);
            } else if (!is_raw) {
                localise_digits(out, from, zero);
            }
            is_raw = is_roman = false;
        }
    }
    return true;
}
