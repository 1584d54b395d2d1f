/* Lines of text files as Google's create_pretraining_data.py reads them. */
#pragma once

#include "base/str.h"

/* Removes white space at both ends as Python's str.strip() does (U+0085 and U+3000 are white space, U+200B and U+FEFF
 * are not). `text` is well-formed UTF-8. A line that becomes empty ends a document. */
struct str python_strip(struct str text);
