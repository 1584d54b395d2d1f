/* A line that holds one JSON object → the members asked for, in one pass without a tree. What Python's json.loads takes
 * with strict=False is taken: RFC 8259, numbers of any size, NaN and Infinity, control characters in strings, halves of
 * surrogate pairs, the last of several values of a key. Beyond that, bytes that are not UTF-8 (U+FFFD for each maximal
 * subpart), byte order marks before the object, NUL bytes between tokens, and any depth. What RFC 8259 does not allow
 * is reported as a repair. Compared with jansson by tests/fuzz/fuzz_json_line.c, and with Python by
 * tests/flow/json_lines_like_python.py. */
#pragma once

#include "base/arena.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum member_kind {
    MEMBER_MISSING,
    MEMBER_TEXT,    /* a string */
    MEMBER_INTEGER, /* of 64 bits */
    MEMBER_DIGITS,  /* a larger integer */
    MEMBER_REAL,    /* any other number, NaN and Infinity too */
    MEMBER_TRUE,
    MEMBER_FALSE,
    MEMBER_NULL,
    MEMBER_ARRAY,
    MEMBER_OBJECT,
};

struct json_member {
    const char *name; /* the member to find, at the top level */
    enum member_kind kind;
    struct str text; /* TEXT: decoded; it may contain NUL. All others: as in the line. Valid as long as the line, the
                      * scratch until its next call, and the arena. */
    int64_t integer;
};

/* Scratch of one thread; a zeroed one is ready to use. */
struct json_line {
    struct buf open; /* the containers that are open, outer ones first: '{' or '[' each */
    struct buf mended;
};
void json_line_release(struct json_line *scratch);

/* Fills in the members, and adds bits of enum repair; false if the line is not such an object. */
bool json_line_read(struct json_line *scratch, struct str line, struct json_member *members, size_t member_count,
                    struct arena *arena, uint32_t *repairs);

/* The same for all members of the top level, in the order of the line; member->name is the decoded key, in the arena.
 * What they hold is valid during the call. */
typedef void json_member_fn(void *context, const struct json_member *member);
bool json_line_each(struct json_line *scratch, struct str line, json_member_fn *each, void *context,
                    struct arena *arena);
