/* The SHA-256 that a file must have, computed while its windows are read in order. */
#pragma once

#include "base/sha256.h"
#include "pipeline/dump/byte_source.h"
#include "pipeline/parts/page_parts.h"

struct file_sum {
    char wanted[SHA256_DIGITS + 1]; /* "": the file is not checked */
    struct sha256 is;               /* of its bytes so far */
};

/* Adds the file's bytes from where the sum is up to `end`, reading them for this purpose: the whole file if windows are
 * not its own bytes (gzip), or the beginning that an earlier start has read without a sum. ERR_INPUT: the file became
 * shorter; ERR_STOPPED: stopped on request. */
int file_sum_to(struct file_sum *sum, const struct byte_source *source, uint64_t end, struct error *err);
/* At the end of the file: checks the sum and counts the result in *group. A wrong sum is ERR_INPUT, with `salvage` a
 * warning. */
int file_sum_check(struct file_sum *sum, const struct byte_source *source, bool salvage, struct group *group,
                   struct error *err);
