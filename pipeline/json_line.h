/* A line that holds one JSON object → those of its members that are asked for. No tree is built: what a line costs is 8
 * bytes per key of the objects that are open (their names must differ), and the decoded texts that were asked for. A
 * line is taken or refused exactly as jansson does with JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL (RFC 8259; integers in
 * 64 bits, reals that do not overflow, at most 2048 values deep), but for two things that jansson takes: an array as
 * the line, and a NUL byte after a number or a word. tests/fuzz/fuzz_json_line.c compares the two. */
#ifndef PIPELINE_JSON_LINE_H
#define PIPELINE_JSON_LINE_H

#include "base/arena.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum member_kind { MEMBER_OTHER, MEMBER_TEXT, MEMBER_INTEGER }; /* OTHER: of any other kind, or not there */

struct json_member {
    const char *name; /* to look for, at the top of the object */
    enum member_kind kind;
    struct str text; /* in the line, or where it has escapes in the arena; may hold NUL */
    int64_t integer;
};

/* Scratch of one thread; a zeroed one is ready to use. */
struct json_line {
    struct json_key *keys; /* of the open objects, outer ones first */
    size_t count, capacity;
};
void json_line_release(struct json_line *scratch);

/* Fills in the members; false where the line is no such object. The line is well-formed UTF-8 and below 4 GB. */
bool json_line_read(struct json_line *scratch, struct str line, struct json_member *members, size_t member_count,
                    struct arena *arena);

#endif
