/* Messages for people, on stderr; data goes to stdout and never through here. Any thread. Functions that only compute
 * do not log. With `json`, every line is one JSON object {"level":…,"text":…}. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_level { LOG_QUIET, LOG_NORMAL, LOG_VERBOSE };

void log_open(const char *program, enum log_level level, bool json);
bool log_is_json(void);
enum log_level log_level_now(void);
bool log_colours(void); /* stderr is a terminal, TERM is not dumb, NO_COLOR is unset or empty */

/* Every line is cleaned (log_safe) and cut at 4 KiB, so callers may insert names from outside unchanged. */

/* log_say prints from LOG_NORMAL on, log_detail at LOG_VERBOSE, log_warn always, also with -q, after "warning: ". The
 * format has no newline at its end. They first clear a visible progress line. */
__attribute__((format(printf, 1, 2))) void log_say(const char *format, ...);
__attribute__((format(printf, 1, 2))) void log_detail(const char *format, ...);
__attribute__((format(printf, 1, 2))) void log_warn(const char *format, ...);

/* A line of progress under --json: with `share` (done, 0 to 1) and `left` (seconds), each omitted if negative. */
void log_progress_json(const char *text, double share, double left);

/* The line that stays at the bottom of a terminal until the next output: NULL clears it, text and its end replace it
 * (the text is cut so that both fit the terminal's width: after one of its fields, which " │ " separates, and never
 * inside a number). Only if log_terminal(). progress.h makes the text. */
bool log_terminal(void);
size_t log_columns(void);                /* the terminal's width; 79 if it is not known */
size_t log_columns_of(const char *text); /* one per character */
void log_status(const char *text, const char *end);
/* After a child that shared the terminal has died: the next output clears a status line that it may have left. */
void log_status_left(void);

/* Copies text, replacing control characters (C0, C1, DEL), bidirectional overrides and ill-formed UTF-8 by '?'. Writes
 * at most out_size - 1 bytes, cut at a character: for titles and names printed to a terminal. Returns out. */
char *log_safe(const char *text, char *out, unsigned long out_size);
bool log_is_harmful(uint32_t code_point); /* log_safe replaces it */
