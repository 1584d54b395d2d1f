/* Fills struct error with what went wrong, and at the end of the program prints one message and returns the exit code.
 * Texts are cleaned only when they are printed, because file names may hold any byte. */
#include "base/error.h"

#include "base/log.h"
#include "base/output.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Sets every byte, also those after the texts, because trainer/comm and ranks.c send the raw struct. */
static void set_text(struct error *err, enum error_kind kind, const char *file, uint64_t offset, const char *format,
                     va_list args)
{
    struct error made;
    memset(&made, 0, sizeof(made));
    made.kind = kind;
    made.offset = offset;
    snprintf(made.file, sizeof(made.file), "%s", file);
    vsnprintf(made.text, sizeof(made.text), format, args);
    memcpy(err, &made, sizeof(made));
}

int fail(struct error *err, enum error_kind kind, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_text(err, kind, "", ERROR_NO_OFFSET, format, args);
    va_end(args);
    return -1;
}

int fail_at(struct error *err, enum error_kind kind, const char *file, uint64_t offset, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_text(err, kind, file, offset, format, args);
    va_end(args);
    return -1;
}

static enum error_kind kind_of_errno(int number)
{
    static const int usage[] = {ENOENT, EACCES, EPERM, ENOTDIR, EISDIR, EROFS, ELOOP, ENAMETOOLONG};
    for (size_t i = 0; i < sizeof usage / sizeof *usage; i++)
        if (number == usage[i])
            return ERR_USAGE;
    return ERR_RESOURCE;
}

int fail_errno(struct error *err, const char *file, const char *format, ...)
{
    const int number = errno;
    va_list args;
    va_start(args, format);
    set_text(err, kind_of_errno(number), file, ERROR_NO_OFFSET, format, args);
    va_end(args);
    const size_t used = strlen(err->text);
    /* Thread-safe: in glibc and musl, strerror returns constant strings for known numbers. musl's strerror_r returns an
     * int. */
    snprintf(err->text + used, sizeof(err->text) - used, ": %s", strerror(number));
    errno = number;
    return -1;
}

int hint(struct error *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(err->hint, sizeof(err->hint), format, args);
    va_end(args);
    return -1;
}

/* The error with its texts as they may be printed. */
static struct error cleaned(const struct error *err)
{
    struct error clean = *err;
    log_safe(err->text, clean.text, sizeof clean.text);
    log_safe(err->file, clean.file, sizeof clean.file);
    log_safe(err->hint, clean.hint, sizeof clean.hint);
    return clean;
}

json_t *error_json(const struct error *err)
{
    const struct error clean = cleaned(err);
    json_t *object = json_object();
    json_object_set_new(object, "error", json_string(clean.text));
    json_object_set_new(object, "file", clean.file[0] ? json_string(clean.file) : json_null());
    json_object_set_new(object, "offset",
                        err->offset == ERROR_NO_OFFSET ? json_null() : json_integer((json_int_t)err->offset));
    json_object_set_new(object, "hint", clean.hint[0] ? json_string(clean.hint) : json_null());
    json_object_set_new(object, "exit", json_integer(err->kind));
    return object;
}

/* Prints one object on stdout; false if that failed. */
static bool print_json(const struct error *err)
{
    output_json(error_json(err), JSON_COMPACT);
    return !ferror(stdout);
}

static int report_fd = -1; /* set before there are threads */
static uint32_t report_who;

void error_report_to(int fd, uint32_t who)
{
    report_fd = fd;
    report_who = who;
}

/* Writes to the parent's pipe; a write this small is atomic (pipe(7)). false: there is no pipe or no reader. */
static bool report(const struct error *err)
{
    struct error_report report;
    memset(&report, 0, sizeof(report)); /* also the bytes between its fields */
    report.who = report_who;
    memcpy(&report.error, err, sizeof(*err));
    _Static_assert(sizeof report <= PIPE_BUF, "a report is written at once");
    return report_fd >= 0 && write(report_fd, &report, sizeof report) == sizeof report;
}

int error_print(const struct error *err, const char *program, int json)
{
    if (report(err))
        return (int)err->kind;
    log_status(NULL, "");
    if (err->kind == ERR_PIPE)
        return (int)err->kind;
    if (json && print_json(err))
        return (int)err->kind;
    const struct error clean = cleaned(err);
    fprintf(stderr, "%s: ", program);
    if (clean.file[0])
        fprintf(stderr, "%s: ", clean.file);
    if (err->offset != ERROR_NO_OFFSET)
        fprintf(stderr, "byte %" PRIu64 ": ", err->offset);
    fprintf(stderr, "%s\n", clean.text);
    if (clean.hint[0])
        fprintf(stderr, "  %s\n", clean.hint);
    return (int)err->kind;
}

void die(enum error_kind kind, const char *format, ...)
{
    struct error err;
    va_list args;
    va_start(args, format);
    set_text(&err, kind, "", ERROR_NO_OFFSET, format, args);
    va_end(args);
    error_leave(&err);
}

void error_leave(const struct error *err)
{
    const int code = error_print(err, program_invocation_short_name, log_is_json());
    /* Other threads may still be running: skip exit handlers, which would free what they use. */
    fflush(stdout);
    _exit(code);
}
