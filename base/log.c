#include "base/log.h"

#include "base/mem.h"
#include "base/str.h"

#include <jansson.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LINE_BYTES_MAX 4096 /* of a line; longer ones, which hold an overlong name, are cut */

/* Set once by log_open, before there are threads. */
static const char *program_name = "";
static enum log_level level_now = LOG_NORMAL;
static bool json_lines;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool status_stands; /* under lock */

void log_open(const char *program, enum log_level level, bool json)
{
    program_name = program;
    level_now = level;
    json_lines = json;
}

bool log_is_json(void)
{
    return json_lines;
}

enum log_level log_level_now(void)
{
    return level_now;
}

bool log_terminal(void)
{
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) && !(term && strcmp(term, "dumb") == 0);
}

bool log_colours(void)
{
    const char *refused = getenv("NO_COLOR");
    return log_terminal() && !(refused && refused[0]);
}

static void clear_status(void)
{
    if (status_stands)
        fputs("\r\033[K", stderr);
    status_stands = false;
}

/* The bytes of text that fit into `columns`, counting one column per character. */
static size_t fitting_bytes(const char *text, size_t columns)
{
    size_t at = 0;
    while (text[at] && columns--)
        do
            at++;
        while (((unsigned char)text[at] & 0xC0) == 0x80);
    return at;
}

size_t log_columns_of(const char *text)
{
    size_t count = 0;
    for (; *text; text++)
        count += ((unsigned char)*text & 0xC0) != 0x80;
    return count;
}

size_t log_columns(void)
{
    struct winsize window = {0};
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 1)
        return (size_t)window.ws_col - 1; /* a full last column would wrap on some terminals */
    return 79;
}

#define SEPARATOR " │ "

/* The bytes of text that are shown in `columns`: as many whole fields as fit. Of a first field that is too long, what
 * fits of it, without the beginning of a number. */
static size_t shown_bytes(const char *text, size_t columns)
{
    size_t cut = fitting_bytes(text, columns), fields = 0;
    if (text[cut] == '\0')
        return cut;
    for (const char *at = text; (at = strstr(at, SEPARATOR)) && (size_t)(at - text) <= cut; at += strlen(SEPARATOR))
        fields = (size_t)(at - text);
    if (fields > 0)
        return fields;
    size_t word = cut;
    while (word > 0 && text[word - 1] != ' ')
        word--;
    return strcspn(text + word, "0123456789") < strcspn(text + word, " ") ? word : cut;
}

void log_status(const char *text, const char *end)
{
    char safe[LINE_BYTES_MAX];
    const size_t columns = text ? log_columns() : 0;
    pthread_mutex_lock(&lock);
    clear_status();
    if (text) {
        text = log_safe(text, safe, sizeof(safe));
        const size_t end_columns = log_columns_of(end);
        const size_t cut = shown_bytes(text, columns > end_columns ? columns - end_columns : 0);
        fprintf(stderr, "%.*s%.*s", (int)cut, text, (int)shown_bytes(end, columns), end);
        status_stands = true;
    }
    fflush(stderr);
    pthread_mutex_unlock(&lock);
}

void log_status_left(void)
{
    pthread_mutex_lock(&lock);
    status_stands |= log_terminal();
    pthread_mutex_unlock(&lock);
}

static json_t *json_line(const char *level, const char *safe)
{
    json_t *object = json_object();
    json_object_set_new(object, "level", json_string(level));
    json_object_set_new(object, "text", json_string(safe));
    return object;
}

/* Memory is allocated before the lock is taken: where there is none, the message about that takes it. */
static void print_json(json_t *object)
{
    char *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(6));
    json_decref(object);
    pthread_mutex_lock(&lock);
    clear_status();
    fprintf(stderr, "%s\n", text);
    pthread_mutex_unlock(&lock);
    mem_free(text);
}

static void print(const char *level, const char *prefix, const char *format, va_list args)
{
    char *line = NULL;
    const int size = vasprintf(&line, format, args);
    if (size < 0)
        return;
    char safe[LINE_BYTES_MAX];
    log_safe(line, safe, sizeof(safe));
    free(line);
    if (json_lines) {
        print_json(json_line(level, safe));
        return;
    }
    pthread_mutex_lock(&lock);
    clear_status();
    fprintf(stderr, "%s%s\n", prefix, safe);
    pthread_mutex_unlock(&lock);
}

void log_progress_json(const char *text, double share, double left)
{
    char safe[LINE_BYTES_MAX];
    log_safe(text, safe, sizeof(safe));
    json_t *object = json_line("progress", safe);
    if (share >= 0)
        json_object_set_new(object, "share", json_real(share));
    if (left >= 0)
        json_object_set_new(object, "seconds_left", json_real(left));
    print_json(object);
}

void log_say(const char *format, ...)
{
    if (level_now < LOG_NORMAL)
        return;
    va_list args;
    va_start(args, format);
    print("info", "", format, args);
    va_end(args);
}

void log_detail(const char *format, ...)
{
    if (level_now < LOG_VERBOSE)
        return;
    va_list args;
    va_start(args, format);
    print("detail", "", format, args);
    va_end(args);
}

void log_warn(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print("warning", log_colours() ? "\033[33mwarning:\033[0m " : "warning: ", format, args);
    va_end(args);
}

/* C0, DEL, C1, and the characters that change the direction of the text (Unicode annex 9, "Trojan Source"). */
bool log_is_harmful(uint32_t c)
{
    return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x061C || c == 0x200E || c == 0x200F ||
           (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

char *log_safe(const char *text, char *out, unsigned long out_size)
{
    const size_t size = strlen(text);
    size_t at = 0, used = 0;
    while (at < size) {
        uint32_t code_point = 0;
        unsigned skip;
        const unsigned length = utf8_decode(text + at, size - at, &code_point, &skip);
        const bool good = length && !log_is_harmful(code_point);
        const unsigned bytes = good ? length : 1;
        if (used + bytes + 1 > out_size)
            break;
        memcpy(out + used, good ? text + at : "?", bytes);
        used += bytes;
        at += length ? length : skip;
    }
    if (out_size)
        out[used] = 0;
    return out;
}
