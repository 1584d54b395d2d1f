/* The single-byte encodings: scripts/encoding_tables.py writes them from Python's codecs. They are in the tree, because
 * the bytes of a dataset must not depend on a C library. */
#pragma once

#include <stdint.h>

struct encoding_table {
    const char *name;
    uint16_t characters[128]; /* of the bytes 80 to FF; 0: there is none. Bytes below are ASCII. */
};
extern const struct encoding_table encoding_tables[]; /* ends with a name NULL */
