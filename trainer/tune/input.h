/* A text file that the user names, read whole, plain or packed by bzip2: "-" is standard input, and pipes are read to
 * their end. */
#ifndef TRAINER_TUNE_INPUT_H
#define TRAINER_TUNE_INPUT_H

#include "base/error.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

/* Appends the text to `out`, without bytes that are not UTF-8. ERR_UNSAFE: more than bytes_max, or another compression;
 * ERR_INPUT: damaged. */
int input_read(const char *path, size_t bytes_max, struct buf *out, struct error *err);

/* Takes bytes that are not UTF-8 out of the text from there on, with a warning that gives their number and `name`. */
void input_repair(const char *name, struct buf *text, size_t from);

/* The next line without its end, LF or CR LF; false after the last. */
bool input_line(struct str *rest, struct str *line);

#endif
