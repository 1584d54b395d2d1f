/* A number or a switch of an optimizer or a schedule, under its name in JSON and in a run's identity. Tables of fields
 * end with a NULL key; their order is the identity's. */
#pragma once

#include <stddef.h>

enum json_field_type {
    FIELD_REAL,   /* double */
    FIELD_FLAG,   /* bool */
    FIELD_CURVE,  /* bool, as one of two words: "log", "linear" */
    FIELD_ADJUST, /* the same: "original", "match_rms_adamw" */
    FIELD_SCALE,  /* the same: "chunk", "group" */
    FIELD_COUNT,  /* double: a whole number, or 0 for "auto" */
    /* Keys of the originals that have no field here: */
    FIELD_NOTE, /* changes no result */
    FIELD_OFF,  /* must be false */
};

struct json_field {
    const char *key;
    enum json_field_type type;
    size_t field;    /* offset in its struct */
    double min, max; /* of what a user may give */
    double value;    /* a schedule's default; NAN: it must be given; SCHEDULE_STEPS: the run's steps */
};

/* The two words of a type that is a choice, for false and for true; NULL for other types. */
const char *const *json_field_words(enum json_field_type type);
/* The field of that name; NULL: there is none. */
const struct json_field *json_field_named(const struct json_field *fields, const char *key);
