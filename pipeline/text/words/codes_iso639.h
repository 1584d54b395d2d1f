/* The codes of ISO 639 as tables; written by scripts/make_codes.py. */
#pragma once

#include <stddef.h>

/* A language that has two letters, or a Wikipedia. */
struct iso_language {
    const char *code;  /* of two letters, else of three */
    const char *three; /* the three letters of one that has two, or "" */
    const char *older; /* its other three letters (ISO 639-2/B), or "" */
    const char *name;  /* in English */
};
extern const struct iso_language iso_languages[]; /* by code */
extern const size_t iso_language_count;

/* Every code of three letters of ISO 639-2, 639-3 and 639-5, end to end, in order. */
extern const char iso_triples[];
extern const size_t iso_triple_count;
