/* What countries are called in languages other than English (countries_local.c). */
#pragma once

#include <stddef.h>

#define COUNTRIES 108

struct country_code {
    const char *code; /* three capitals, sorted bytewise */
    unsigned number;  /* of the country in `names` */
};
struct country_names {
    const char *language; /* sorted bytewise */
    const char *names[COUNTRIES];
};

extern const struct country_code country_codes[];
extern const struct country_names country_names[];
extern const size_t country_code_count, country_names_count;
