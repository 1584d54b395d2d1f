/* Frames over a non-blocking socket: {kind u32, size u32} and `size` bytes, little-endian. Input is untrusted: a frame
 * of more than `size_max` bytes breaks the line. Not thread-safe: the caller holds the lock of its meeting. */
#ifndef TRAINER_COMM_LINE_H
#define TRAINER_COMM_LINE_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct line {
    int fd; /* -1: closed */
    uint32_t size_max;
    struct buf in, out;
    size_t taken, sent; /* bytes taken from `in`, sent from `out` */
};

struct frame {
    uint32_t kind;
    struct str bytes; /* valid until the next line_fill or line_close */
};

#define LINE_CLOSED ((struct line){.fd = -1})

/* Takes over the socket. */
void line_open(struct line *line, int fd, uint32_t size_max);
void line_close(struct line *line); /* no effect on a closed line */

/* Appends a frame; line_flush sends as much as the socket accepts. */
void line_put(struct line *line, uint32_t kind, const void *bytes, size_t size);
bool line_is_empty(const struct line *line); /* everything was sent */
int line_flush(struct line *line);           /* < 0: the line is broken */

/* Reads what has arrived, up to a limit. < 0: the other side closed, or the line is broken; frames that came before
 * that can still be taken. */
int line_fill(struct line *line);
/* 1: *frame is the next one; 0: there is none yet; < 0: it is longer than size_max. */
int line_take(struct line *line, struct frame *frame);

#endif
