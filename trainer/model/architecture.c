#include "trainer/model/architecture.h"

#include <stdio.h>
#include <string.h>

#define ROW(number, row) [number] = &row,
const struct architecture *const architectures[] = {ARCHITECTURES(ROW)};
#undef ROW

#define ROW(row) &row,
const struct layout *const layouts[] = {LAYOUTS(ROW) NULL};
#undef ROW

bool name_replace(char *name, size_t size, const char *from, const char *to, bool ends)
{
    char *at = strstr(name, from);
    while (at && ends && at[strlen(from)] != '\0')
        at = strstr(at + 1, from);
    if (!at)
        return false;
    char rest[256];
    snprintf(rest, sizeof rest, "%s", at + strlen(from));
    snprintf(at, size - (size_t)(at - name), "%s%s", to, rest);
    return true;
}

int32_t layout_name(const struct layout *layout, uint32_t heads, const char *ours, char *out, size_t size)
{
    int32_t parts = 1;
    snprintf(out, size, "%s", ours);
    for (const struct name_rule *rule = layout->names; rule && rule->ours; rule++)
        if ((rule->heads == 0 || rule->heads & heads) && name_replace(out, size, rule->ours, rule->theirs, false) &&
            rule->parts > 0)
            parts = rule->parts;
    return parts;
}

int32_t layout_ours(const struct layout *layout, const char *theirs, char *out, size_t size)
{
    const char *const *start = layout->starts;
    int32_t parts = 1;
    while (start && *start && strncmp(theirs, *start, strlen(*start)) != 0)
        start++;
    if (!start || !*start)
        return 0;
    snprintf(out, size, "%s", theirs);
    for (const struct name_rule *rule = layout->names; rule && rule->ours; rule++)
        if (name_replace(out, size, rule->theirs, rule->ours, false) && rule->parts > 0)
            parts = rule->parts;
    return parts;
}
