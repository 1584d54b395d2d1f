/* What bytes are, by content and never by name. Pure. */
#ifndef PIPELINE_DUMP_SNIFF_H
#define PIPELINE_DUMP_SNIFF_H

#include "base/error.h"
#include "base/str.h"
#include "pipeline/page_parts.h"

#include <stdbool.h>

#define SNIFF_BYTES    512        /* of a file that tell its container */
#define HEAD_BYTES_MAX (1u << 20) /* of text in which the first record must begin */

/* ERR_UNSAFE: a container that is not read here, with the pipe to type. `name` is the input's, for messages. */
int sniff_container(const char *name, struct str bytes, enum container *container, struct error *err);

/* What the text is: *kind, or ERR_INPUT; ERR_UNSAFE where it is encoded otherwise than in UTF-8, or declares to be,
 * with the pipe to type. `head` is its beginning: up to and with the first <page>, to HEAD_BYTES_MAX, or all of it. */
int sniff_kind(const char *name, struct str head, enum container container, enum input_kind asked,
               enum input_kind *kind, struct error *err);

bool has_byte_order_mark(struct str text); /* of UTF-8 */
/* Without byte order mark, and without blanks at both ends. */
struct str text_begin(struct str head);

#endif
