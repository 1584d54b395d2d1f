/* Text by lines. */
#pragma once

#include "base/str.h"

/* Takes the first line of *rest, without its LF; the last one may have none. False: *rest is empty. */
static inline bool str_line(struct str *rest, struct str *line)
{
    if (rest->size == 0)
        return false;
    const char *end = rest->data + rest->size, *stop = (const char *)memchr(rest->data, '\n', rest->size);
    *line = str_range(rest->data, stop ? stop : end);
    *rest = str_range(stop ? stop + 1 : end, end);
    return true;
}
