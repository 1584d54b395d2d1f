/* Recognises bytes by content, never by name. Pure. */
#pragma once

#include "base/error.h"
#include "base/str.h"
#include "pipeline/dump/encodings.h"
#include "pipeline/parts/page_parts.h"
#include "shards/manifest.h"

#include <stdbool.h>

struct record_format;

#define SNIFF_BYTES    4096       /* of a file, enough to recognise its container */
#define HEAD_BYTES_MAX (1u << 20) /* of text; the first record must begin within */

/* Instead of -1, with the error all the same: a file of another kind, not an input that is damaged or in another
 * encoding. */
#define SNIFF_OTHER (-2)

/* A zip file, and not a document that is one (structured_zip); a tar file, by the checksum of its first header. */
enum sniffed_archive { SNIFFED_NO_ARCHIVE, SNIFFED_ZIP, SNIFFED_TAR };
#define TAR_BLOCK_BYTES 512u
enum sniffed_archive sniff_archive(struct str bytes);

/* SNIFF_OTHER, ERR_UNSAFE: a container that we do not read, with the pipe to type. `name` is the input's, for
 * messages. */
int sniff_container(const char *name, struct str bytes, enum container *container, struct error *err);

/* SNIFF_OTHER, ERR_UNSAFE: the file is such a document (structured.h). */
struct structured;
int sniff_refuse_document(const char *name, const struct structured *document, struct error *err);

/* The beginning of a text that is to be recognised. */
struct sniffed {
    const char *name;         /* of the input, for messages */
    struct str head;          /* converted: up to and including the first <page>, or HEAD_BYTES_MAX, or all of it */
    enum container container; /* that it was in */
    const struct encoding *encoding; /* that was named */
    bool has_form;                   /* the user has said what its lines are */
    enum source_kind asked;          /* what it was named as; SOURCE_UNKNOWN: nothing */
};

/* The kind of the text in *kind, by the formats [SOURCE_KINDS], or ERR_INPUT; ERR_UNSAFE if it is none to learn from,
 * or, with no encoding named, its encoding is not UTF-8, or is declared as another; with what to type. SNIFF_OTHER. */
int sniff_kind(const struct sniffed *sniffed, const struct record_format *const *formats, enum source_kind *kind,
               struct error *err);

/* For the errors of a kind. ERR_INPUT: `what` is wrong with the file; `advice`, what to do. */
int sniff_refuse(const char *name, const char *what, const char *advice, struct error *err);
/* ERR_UNSAFE: the text declares an encoding that was not named. */
int sniff_refuse_encoding(const char *name, struct str declared, struct error *err);
/* A hint with a command, in which FILE becomes the file's name as typed in a shell; not that of standard input, nor one
 * for which there is no room. -1. */
__attribute__((format(printf, 3, 4))) int sniff_hint(const char *name, struct error *err, const char *format, ...);
/* "PROGRAM FILE", or "bzip2 -dc FILE | PROGRAM" where the file is compressed. Returns out. */
#define PIPE_BYTES 500u /* of a command in a hint */
const char *sniff_pipe(const char *program, enum container container, char out[PIPE_BYTES]);

bool has_byte_order_mark(struct str text); /* of UTF-8 */
/* Without a byte order mark, and without blanks at both ends. */
struct str text_begin(struct str head);
