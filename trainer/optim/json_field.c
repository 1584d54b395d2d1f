#include "trainer/optim/json_field.h"

#include <string.h>

const struct json_field *json_field_named(const struct json_field *fields, const char *key)
{
    while (fields->key && strcmp(fields->key, key) != 0)
        fields++;
    return fields->key ? fields : NULL;
}

const char *const *json_field_words(enum json_field_type type)
{
    static const char *const words[][2] = {[FIELD_CURVE] = {"log", "linear"},
                                           [FIELD_ADJUST] = {"original", "match_rms_adamw"},
                                           [FIELD_SCALE] = {"chunk", "group"}};
    return (size_t)type < sizeof words / sizeof *words && words[type][0] ? words[type] : NULL;
}
