/* Facts on standard output: lines for people, or one JSON object under --json. They may contain text from outside, so
 * whatever could harm a terminal is replaced or escaped here and in log.h, and nowhere else. Whether standard output
 * took everything is checked once, at the end (process_close). One thread. */
#pragma once

#include "base/error.h"
#include "base/str.h"

#include <jansson.h>
#include <stdbool.h>

/* True if standard output is a terminal that shows colours: NO_COLOR is unset or empty, TERM is not dumb. */
bool output_colours(void);

/* For a write to standard output that failed: fills *err from errno (0: not known) and returns -1. ERR_PIPE if the
 * reader has left, as `head` does; ERR_RESOURCE otherwise. */
int output_failed(struct error *err);

/* Writes bytes to standard output, at once. */
int output_write(struct str bytes, struct error *err);

/* A line; the newline is added. Harmful characters become '?' (log_safe). */
__attribute__((format(printf, 1, 2))) void output_line(const char *format, ...);

/* `facts` as JSON and a newline; flags as json_dumps takes them. Harmful characters that JSON would leave as they are
 * (C1, DEL, bidirectional overrides) are written as \uXXXX: another spelling of the same value. Takes over `facts`. */
void output_json(json_t *facts, size_t flags);

/* A name of any bytes as a JSON string: ill-formed UTF-8, which JSON cannot hold, becomes '?'. */
json_t *json_name(const char *name);

/* Command lines to type. Every name and value in them is quoted for a POSIX shell if necessary, control characters as
 * $'\xNN'. command_add adds one more word to a command. */
void command_add(struct buf *command, const char *word);
/* The same for the name of a file or folder: one that begins with '-' becomes ./-… and is no option then. */
void command_path(struct buf *command, const char *path);
/* Adds "--name" and its value, if it has one: "--name=value" where the value begins with '-'. */
void command_option(struct buf *command, const char *name, const char *value);
/* Text with commands in it, each %s of which becomes a word as by command_path. The caller frees it with mem_free. */
__attribute__((format(printf, 1, 2))) char *command_text(const char *format, ...);
/* hint() with such a text. Names that leave no room are replaced by FILE, so that no command is cut off. Names go into
 * a hint that tells what to type in no other way. */
__attribute__((format(printf, 2, 3))) int hint_command(struct error *err, const char *format, ...);
/* Prints the line "next  COMMAND" that every verb ends with, on stderr. Frees the command. */
void say_next(char *command);
/* One more line under it: another command that may come next. Frees the command. */
void say_next_too(char *command);
