/* A line that holds one JSON object → the members asked for. No tree is built: a line needs 8 bytes per key of the
 * objects that are open (their names must differ), and the decoded texts asked for. A line is accepted or refused
 * exactly as jansson does with JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL (RFC 8259; integers of 64 bits, finite reals, at
 * most 2048 levels), with two exceptions, which jansson accepts: an array as the line, and a NUL byte after a number or
 * a word. tests/fuzz/fuzz_json_line.c compares the two. */
#ifndef PIPELINE_JSON_LINE_H
#define PIPELINE_JSON_LINE_H

#include "base/arena.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum member_kind { MEMBER_OTHER, MEMBER_TEXT, MEMBER_INTEGER }; /* OTHER: of any other kind, or missing */

struct json_member {
    const char *name; /* the member to find, at the top level */
    enum member_kind kind;
    struct str text; /* a view of the line or, if it has escapes, in the arena; may contain NUL */
    int64_t integer;
};

/* Scratch of one thread; a zeroed one is ready to use. */
struct json_line {
    struct json_key *keys; /* of the open objects, outer ones first */
    size_t count, capacity;
};
void json_line_release(struct json_line *scratch);

/* Fills in the members; false if the line is not such an object. The line must be well-formed UTF-8 below 4 GB. */
bool json_line_read(struct json_line *scratch, struct str line, struct json_member *members, size_t member_count,
                    struct arena *arena);

#endif
