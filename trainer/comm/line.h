/* Frames over a non-blocking socket: {kind u32, size u32} and `size` bytes, little-endian. Once line_seal has given the
 * line its keys, the last 32 of these bytes are a seal:
 *
 *     seal = HMAC-SHA-256(key of this direction, kind | size | bytes before the seal | number of the frame u64)
 *
 * HMAC is RFC 2104, SHA-256 FIPS 180-4. Frames of a direction are numbered from 0, and the number is not sent, so a
 * frame that was altered, cut, left out, repeated, reordered or sent back to its sender does not have the right seal.
 * Nothing is encrypted.
 *
 * Input is untrusted. A line breaks for good at a frame of more than `size_max` bytes, at a wrong seal, and when more
 * than `out_max` bytes wait to be sent. Not thread-safe: the caller holds the lock of its rendezvous. */
#pragma once

#include "base/sha256.h"

#define SEAL_BYTES HMAC_BYTES
#define MALFORMED  "it sent a message that does not belong there" /* a fault that callers find */

struct seal {
    bool on;
    unsigned char key[HMAC_BYTES];
    uint64_t count; /* of frames so far */
};

struct line {
    int fd; /* -1: closed */
    uint32_t size_max;
    size_t out_max;
    struct buf in, out;
    size_t taken, sent; /* bytes taken from `in`, sent from `out` */
    struct seal seal_in, seal_out;
    uint32_t unsealed; /* a kind of frame that may come as it is in place of the first sealed one; 0: none */
    const char *fault; /* why it is broken: "it sent …"; NULL: it is not, or the other side closed it */
};

struct frame {
    uint32_t kind;
    struct str bytes; /* without the seal; valid until the next line_fill or line_close */
};

#define LINE_CLOSED ((struct line){.fd = -1})

/* Takes over the socket. */
void line_open(struct line *line, int fd, uint32_t size_max, size_t out_max);
void line_close(struct line *line); /* no effect on a closed line */
/* Begins to seal what is put, or to check what is taken, from the next frame on. */
void line_seal(struct seal *seal, const unsigned char key[HMAC_BYTES]);

/* Appends a frame; line_flush sends as much as the socket accepts. */
void line_put(struct line *line, uint32_t kind, const void *bytes, size_t size);
bool line_is_empty(const struct line *line); /* everything was sent */
int line_flush(struct line *line);           /* < 0: the line is broken */

/* Reads what has arrived, up to a limit. < 0: the other side closed, or the line is broken; frames that came before
 * that can still be taken. */
int line_fill(struct line *line);
/* 1: *frame is the next one; 0: there is none yet; < 0: the line is broken. */
int line_take(struct line *line, struct frame *frame);
