/* Text of the user, line by line: a file, plain or compressed; "-" is standard input, and pipes are read to their end.
 * bzip2 is decompressed here, files of the others by their own programs, gzip, zstd and xz, in a pipe. Memory is
 * bounded by the longest line and one block of bzip2, however long the text is.
 *
 *     input_open → input_next … → input_close
 */
#pragma once

#include "base/bz/stream.h"
#include "base/child.h"
#include "base/error.h"
#include "base/file.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INPUT_LINE_BYTES_MAX (1u << 20)

struct input {
    const char *path; /* borrowed */
    uint64_t number;  /* of the line that input_next gave, from 1 */
    uint64_t offset;  /* its byte in the unpacked text */
    struct file file;
    struct bzip2_stream *packed; /* bzip2; else NULL */
    struct child_output child;   /* a program that decompresses the file */
    const char *tool;            /* its name */
    struct buf text;             /* read, and from `at` on not given yet */
    size_t at;
    uint64_t next; /* the byte of text[at] in the unpacked text */
    bool begun, ended;
    bool cr;          /* the line that input_next gave ended in CR LF */
    uint64_t dropped; /* bytes that are not UTF-8 */
};

/* The caller calls input_close, on error too. */
int input_open(struct input *input, const char *path, struct error *err);
/* Returns 1 with the next line, without its end (LF or CR LF), a UTF-8 mark and bytes that are not UTF-8, valid until
 * the next call; 0 after the last. ERR_UNSAFE: a line of more than INPUT_LINE_BYTES_MAX, a compressed pipe, UTF-16, or
 * the program for the compression is missing; ERR_INPUT: damaged. */
int input_next(struct input *input, struct str *line, struct error *err);
/* The same without lines: 1 with the next bytes as they are, valid until the next call; 0 at the end. */
int input_bytes(struct input *input, struct str *bytes, struct error *err);
/* Warns if bytes were left out. Safe on a zeroed struct. */
void input_close(struct input *input);

/* Appends all lines, each with a LF, to `out`. ERR_UNSAFE: more than bytes_max. */
int input_read(const char *path, size_t bytes_max, struct buf *out, struct error *err);

/* Takes bytes that are not UTF-8 out of the text from there on, with a warning that gives their number and `name`. */
void input_repair(const char *name, struct buf *text, size_t from);

/* The next line of a text in memory, without its end, LF or CR LF; false after the last. */
bool input_line(struct str *rest, struct str *line);
