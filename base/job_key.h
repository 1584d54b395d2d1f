/* The key of a job: a secret by which its processes authenticate each other (trainer/comm/rendezvous.h). It never
 * appears in an error, a log or a file that others may read. */
#pragma once

#include "base/error.h"
#include "base/str.h"

#include <stdbool.h>

#define JOB_KEY_BYTES      32
#define JOB_KEY_DIGITS_MIN 32  /* of a typed key: 128 bits */
#define JOB_KEY_DIGITS_MAX 128 /* 512 bits */

/* All zeros: a job without a key. The zero bytes are used in the same way, but prove nothing. */
struct job_key {
    unsigned char bytes[JOB_KEY_BYTES];
    bool given;
};

void job_key_random(struct job_key *key);

/* Parses a typed key: hexadecimal digits, with or without blanks around them. `bytes` becomes the SHA-256 of a label
 * and the decoded digits, so keys of any length become equally long. ERR_USAGE, without quoting the text: too short or
 * too long, an odd number of digits, or other characters. */
int job_key_parse(struct str digits, struct job_key *key, struct error *err);

/* The same from a file that only its owner, the user of this process, may read or write. ERR_MISMATCH: others may, or
 * it holds no key; ERR_USAGE, ERR_UNSAFE: those of file_open_read. */
int job_key_read(const char *path, struct job_key *key, struct error *err);
