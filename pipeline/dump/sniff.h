/* Recognises bytes by content, never by name. Pure. */
#ifndef PIPELINE_DUMP_SNIFF_H
#define PIPELINE_DUMP_SNIFF_H

#include "base/error.h"
#include "base/str.h"
#include "pipeline/dump/encodings.h"
#include "pipeline/parts/page_parts.h"
#include "shards/manifest.h"

#include <stdbool.h>

#define SNIFF_BYTES    4096       /* of a file, enough to recognise its container */
#define HEAD_BYTES_MAX (1u << 20) /* of text; the first record must begin within */

/* ERR_UNSAFE: a container that we do not read, with the pipe to type. `name` is the input's, for messages. */
int sniff_container(const char *name, struct str bytes, enum container *container, struct error *err);

/* The kind of the text in *kind, or ERR_INPUT; ERR_UNSAFE if it is none to learn from, or, with no encoding named, its
 * encoding is not UTF-8, or is declared as another; with what to type. `head` is its beginning, converted: up to and
 * including the first <page>, or HEAD_BYTES_MAX, or all of it. `has_form`: the user has said what its lines are. */
int sniff_kind(const char *name, struct str head, enum container container, const struct encoding *encoding,
               bool has_form, enum source_kind asked, enum source_kind *kind, struct error *err);

bool has_byte_order_mark(struct str text); /* of UTF-8 */
/* Without a byte order mark, and without blanks at both ends. */
struct str text_begin(struct str head);

#endif
