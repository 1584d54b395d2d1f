/* External errors (files, input, options) are returned as values; our own bugs are asserts.
 *
 *     int page_next(..., struct error *err)
 *     {
 *         TRY(step(..., err));                              nothing held: pass it on
 *         if (bad)
 *             return fail_at(err, ERR_INPUT, path, byte, "block CRC does not match");
 *     }
 *
 * Callees print nothing; `main` prints once (error_print) and exits with the kind, which is the exit code. Never
 * overwrite an error that already says what happened. */
#pragma once

#include <jansson.h>
#include <stdint.h>

/* The value of a kind is the exit code a user sees (docs/DESIGN.md, section 6). */
enum error_kind {
    ERR_NONE = 0,
    ERR_BUG = 1,
    ERR_USAGE = 2,    /* usage or configuration; a named path missing, unreadable, unwritable */
    ERR_INPUT = 3,    /* input damaged, unrecognised or empty; vocabulary without its specials */
    ERR_VERIFY = 4,   /* a damaged or truncated shard or checkpoint */
    ERR_MISMATCH = 5, /* vocabulary, shards, model, other command line, newer version */
    ERR_UNSAFE = 6,   /* unsafe or unsupported file */
    ERR_RESOURCE = 7, /* disk, memory, I/O failure */
    ERR_NUMERIC = 8,  /* NaN or Inf in training */
    ERR_PEER = 9,     /* lost a peer process */
    ERR_LOCKED = 10,  /* another process holds the directory */
    ERR_STOPPED = 75, /* stopped on request; resumable; run the same command again */
    ERR_PIPE = 141,   /* whoever read standard output has left: the program ends by SIGPIPE (process_close) */
};

#define ERROR_NO_OFFSET UINT64_MAX

/* On the caller's stack; the callee fills it. Plain data, no ownership. */
struct error {
    enum error_kind kind;
    char text[512];  /* what happened, without file and byte */
    char file[512];  /* the file it happened in, or "" */
    uint64_t offset; /* byte in that file, or ERROR_NO_OFFSET */
    char hint[512];  /* what to do next, or "" */
};

/* Fill *err and return -1, so that callers write `return fail(...)`. The text says what happened in the user's terms,
 * starts in lower case, has no final full stop and no newline. (In parentheses, because cmocka has a macro of this
 * name: a test that calls it writes them too.) */
__attribute__((format(printf, 3, 4))) int(fail)(struct error *err, enum error_kind kind, const char *format, ...);

/* As fail(), naming the file and the byte (ERROR_NO_OFFSET: the whole file). */
__attribute__((format(printf, 5, 6))) int fail_at(struct error *err, enum error_kind kind, const char *file,
                                                  uint64_t offset, const char *format, ...);

/* As fail_at(), for a system call that set errno: appends ": strerror". Picks the kind from errno: ENOENT,
 * EACCES, EPERM, ENOTDIR, EISDIR, EROFS, ELOOP, ENAMETOOLONG are ERR_USAGE, all others ERR_RESOURCE. */
__attribute__((format(printf, 3, 4))) int fail_errno(struct error *err, const char *file, const char *format, ...);

/* Add what the user can do about it. Returns -1, so that it can end a return statement. */
__attribute__((format(printf, 2, 3))) int hint(struct error *err, const char *format, ...);

/* "prog: FILE: byte N: TEXT\n  HINT\n" on stderr; with `json`, one object on stdout with the keys error, file,
 * offset, hint, exit (file, offset and hint are null where there is none). Returns the exit code. Control characters
 * in names from outside are replaced. Prints nothing for ERR_PIPE. */
int error_print(const struct error *err, const char *program, int json);

/* The object that error_print prints with `json`, for a verb that prints it together with facts. The caller
 * json_decref's it. */
json_t *error_json(const struct error *err);

/* For one of several processes started by a parent: from now on error_print (and die, error_leave) writes the error to
 * this pipe, so that the parent can print one error for all. `who` is returned in it. */
struct error_report {
    uint32_t who;
    struct error error;
};
void error_report_to(int fd, uint32_t who);

/* For fatal conditions (out of memory, a broken GPU): prints why on stderr and exits with `kind`. */
__attribute__((format(printf, 2, 3), noreturn)) void die(enum error_kind kind, const char *format, ...);
__attribute__((noreturn)) void error_leave(const struct error *err); /* the same, with a filled error */

/* For callers that hold no resources: passes a failure on. */
#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        if ((call) < 0)                                                                                                \
            return -1;                                                                                                 \
    } while (0)
