/* Patterns: "$1 ($2)". */
#include "pipeline/text/call.h"

/* The argument that the '$' at pattern[*at] asks for; goes behind it. */
static const struct argument *pattern_argument(const struct call *call, struct str pattern, size_t *at)
{
    const struct argument *found = NULL;
    size_t i = *at + 1;
    if (i < pattern.size && pattern.data[i] == '{') {
        while (i < pattern.size && pattern.data[i] != '}') {
            const size_t from = ++i;
            while (i < pattern.size && pattern.data[i] != '}' && pattern.data[i] != '|')
                i++;
            char name[NAME_BYTES_MAX];
            const size_t size = i - from < sizeof name ? i - from : sizeof name - 1;
            memcpy(name, pattern.data + from, size);
            name[size] = 0;
            if (!found)
                found = call_argument(call, name);
        }
        i++;
    } else {
        unsigned number = 0;
        while (i < pattern.size && pattern.data[i] >= '0' && pattern.data[i] <= '9' && number < 10)
            number = number * 10 + (unsigned)(pattern.data[i++] - '0');
        found = call_numbered(call, number);
    }
    *at = i;
    return found;
}

/* Behind the '}' that ends the group at pattern[at]; *wanted: one of its arguments is there. */
static size_t pattern_group(const struct call *call, struct str pattern, size_t at, bool *wanted)
{
    *wanted = false;
    for (at++; at < pattern.size && pattern.data[at] != '}';) {
        if (pattern.data[at] == '$')
            *wanted |= pattern_argument(call, pattern, &at) != NULL;
        else
            at += pattern.data[at] == '\\' ? 2 : 1;
    }
    return at + 1;
}

bool show_pattern(struct call *call, struct str pattern)
{
    bool asked = false, found = false;
    call->is_block = str_starts(pattern, STR("¶"));
    call->steps += pattern.size;
    for (size_t at = call->is_block ? strlen("¶") : 0; at < pattern.size;) {
        const char byte = pattern.data[at];
        if (byte == '$') {
            const struct argument *argument = pattern_argument(call, pattern, &at);
            asked = true;
            found |= argument != NULL;
            show_argument(call, argument);
        } else if (byte == '{') {
            bool wanted;
            const size_t behind = pattern_group(call, pattern, at, &wanted);
            asked = true;
            at = wanted ? at + 1 : behind;
        } else if (byte == '}') {
            at++;
        } else {
            size_t end = byte == '\\' && at + 1 < pattern.size ? ++at + 1 : at;
            while (end < pattern.size && !strchr("${}\\", pattern.data[end]))
                end++;
            end += end == at;
            show(call, (struct str){pattern.data + at, end - at});
            at = end;
        }
    }
    return pattern.size > 0 && (found || !asked);
}
