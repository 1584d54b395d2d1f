/* Lines of text files as Google's create_pretraining_data.py reads them. */
#ifndef PIPELINE_GOOGLE_GOOGLE_LINES_H
#define PIPELINE_GOOGLE_GOOGLE_LINES_H

#include "base/str.h"

/* Without white space at both ends as Python's str.strip() means it (U+0085, U+3000 and others among it; U+200B and
 * U+FEFF are none). `text` is well-formed UTF-8. An empty result of a line ends a document. */
struct str python_strip(struct str text);

#endif
