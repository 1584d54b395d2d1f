/* A look at the beginning of text or JSON lines, before anything of it is read: what only its content can tell, and what
 * is said of it on the screen. It depends on the first DUMP_HEAD_BYTES of the input alone. */
#ifndef PIPELINE_LOOK_H
#define PIPELINE_LOOK_H

#include "pipeline/dump/dump.h"

/* The language of an input that is no wiki, or NULL where none is clear. */
const char *look_language(const struct dump *dump);

#endif
