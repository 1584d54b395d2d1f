#include "base/output.h"

#include "base/log.h"
#include "base/mem.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

bool output_colours(void)
{
    const char *refused = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && !(refused && refused[0]) && !(term && strcmp(term, "dumb") == 0);
}

int output_failed(struct error *err)
{
    if (errno)
        fail_errno(err, "standard output", "cannot be written");
    else
        fail_at(err, ERR_RESOURCE, "standard output", ERROR_NO_OFFSET, "cannot be written");
    struct pollfd out = {.fd = STDOUT_FILENO}; /* errno may be that of a later call, or of none */
    const bool has_no_reader = poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP));
    err->kind = has_no_reader ? ERR_PIPE : ERR_RESOURCE;
    return -1;
}

int output_write(struct str bytes, struct error *err)
{
    if ((bytes.size > 0 && fwrite(bytes.data, 1, bytes.size, stdout) != bytes.size) || fflush(stdout) != 0)
        return output_failed(err);
    return 0;
}

void output_line(const char *format, ...)
{
    char *line = NULL;
    va_list args;
    va_start(args, format);
    const int size = vasprintf(&line, format, args);
    va_end(args);
    if (size < 0)
        return;
    SCOPED(mem_free_at) char *safe = mem_alloc((size_t)size + 1);
    puts(log_safe(line, safe, (size_t)size + 1));
    free(line);
}

/* In JSON text only strings hold non-ASCII or control characters, so every harmful character is inside a string. */
static void put_escaped(struct str text)
{
    size_t from = 0;
    for (size_t at = 0; at < text.size;) {
        uint32_t code_point;
        unsigned skip;
        const unsigned length = utf8_decode(text.data + at, text.size - at, &code_point, &skip);
        if (length > 0 && text.data[at] != '\n' && log_is_harmful(code_point)) {
            fwrite(text.data + from, 1, at - from, stdout);
            printf("\\u%04x", code_point); /* they are all at most 0xFFFF */
            from = at + length;
        }
        at += length ? length : skip;
    }
    fwrite(text.data + from, 1, text.size - from, stdout);
}

static int add_part(const char *part, size_t size, void *out)
{
    buf_add(out, part, size);
    return 0;
}

void output_json(json_t *facts, size_t flags)
{
    SCOPED(buf_release) struct buf text = {0};
    json_dump_callback(facts, add_part, &text, flags);
    put_escaped(buf_str(&text));
    putchar('\n');
    fflush(stdout);
    json_decref(facts);
}

json_t *json_name(const char *name)
{
    const size_t size = strlen(name);
    if (utf8_valid((struct str){name, size}))
        return json_string(name);
    SCOPED(mem_free_at) char *safe = mem_alloc(size + 1);
    return json_string(log_safe(name, safe, size + 1));
}

/* ------------------------------------------------------------------------------------------------ commands */

static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/+,:@%=-";

/* Quoting with $'…' and escapes: bash, zsh and POSIX 2024. */
static void add_escaped(struct buf *command, const char *word)
{
    buf_add_text(command, "$'");
    for (const char *at = word; *at; at++) {
        const unsigned char byte = (unsigned char)*at;
        if (byte < 0x20 || byte >= 0x7F)
            buf_addf(command, "\\x%02x", byte);
        else
            buf_addf(command, "%s%c", byte == '\'' || byte == '\\' ? "\\" : "", byte);
    }
    buf_add_byte(command, '\'');
}

void command_add(struct buf *command, const char *word)
{
    const size_t size = strlen(word);
    char *safe = mem_alloc(size + 1);
    const bool is_safe = strcmp(log_safe(word, safe, size + 1), word) == 0;
    mem_free(safe);
    if (command->size > 0)
        buf_add_byte(command, ' ');
    if (size > 0 && word[strspn(word, plain)] == '\0') {
        buf_add_text(command, word);
    } else if (!is_safe) {
        add_escaped(command, word);
    } else {
        buf_add_byte(command, '\'');
        for (const char *at = word; *at; at++)
            buf_addf(command, *at == '\'' ? "'\\''" : "%c", *at);
        buf_add_byte(command, '\'');
    }
    buf_text(command); /* what holds a command can be printed at any time */
}

/* "-" alone is standard input, not a file. */
void command_path(struct buf *command, const char *path)
{
    SCOPED(buf_release) struct buf word = {0};
    if (path[0] == '-' && path[1])
        buf_add_text(&word, "./");
    buf_add_text(&word, path);
    command_add(command, buf_text(&word));
}

void command_option(struct buf *command, const char *name, const char *value)
{
    SCOPED(buf_release) struct buf word = {0};
    const bool joined = value && value[0] == '-' && value[1];
    buf_addf(&word, "--%s", name);
    if (joined)
        buf_addf(&word, "=%s", value);
    command_add(command, buf_text(&word));
    if (value && !joined)
        command_add(command, value);
}

/* The format has no other conversions than %s. */
static void add_text(struct buf *out, const char *format, bool named, va_list names)
{
    for (const char *at = format; *at; at++) {
        if (*at != '%') {
            buf_add_byte(out, *at);
            continue;
        }
        at++;
        assert(*at == 's');
        struct buf word = {0};
        command_path(&word, named ? va_arg(names, const char *) : "FILE");
        buf_add_str(out, buf_str(&word));
        buf_release(&word);
    }
}

char *command_text(const char *format, ...)
{
    struct buf text = {0};
    va_list names;
    va_start(names, format);
    add_text(&text, format, true, names);
    va_end(names);
    buf_text(&text);
    return text.data;
}

int hint_command(struct error *err, const char *format, ...)
{
    SCOPED(buf_release) struct buf text = {0};
    va_list names;
    va_start(names, format);
    add_text(&text, format, true, names);
    if (text.size >= sizeof err->hint) {
        buf_reset(&text);
        add_text(&text, format, false, names);
    }
    va_end(names);
    hint(err, "%s", buf_text(&text));
    return -1;
}

void say_next(char *command)
{
    fflush(stdout); /* what was printed before comes first, even if both go to one pipe */
    log_say("next       %s", command);
    mem_free(command);
}

void say_next_too(char *command)
{
    log_say("           %s", command);
    mem_free(command);
}
