/* The kinds of inputs. A kind is a line X(TEXT, text) of SOURCE_KIND_LIST (shards/manifest.h), an option of that name
 * in pipeline/dsdata_options.c, and the row text_kind in a file of its own. Everything else asks the row: no other code
 * names a kind, except that --compat google reads text, manifest_of_pages (shards/manifest.h) knows wikis, and what
 * pipeline/dump converts becomes JSON lines. */
#pragma once

#include "pipeline/dump/record_format.h"
#include "pipeline/input/article.h"
#include "pipeline/input/folder.h"
#include "pipeline/input/probe.h"
#include "pipeline/input/split.h"

struct input_kind {
    struct record_format records; /* bytes → records */

    /* What a user types and reads. */
    const char *name;              /* "text": of an input, in the line about it */
    const char *one;               /* "plain text": no input is … */
    const char *const *extensions; /* of files, with the dot; NULL after the last */
    const char *const *options;    /* that have no effect on other kinds, without "--"; NULL after the last */
    unsigned bytes_per_piece;      /* of English, for the plan: bytes of an input for a WordPiece of its text */

    /* A wiki's: documents are pages, with templates and with markup that can be explained; the head states the
     * language; and a blank file is an error, because it is a download that failed. */
    bool of_pages;
    bool of_keys;        /* the text of a document stands under --text-key */
    bool ids_are_shared; /* the ids of all inputs of this kind are counted together (split.h) */
    /* The files of a folder, as folder_read. NULL: a folder is no input of this kind. A folder that was not named as
     * any kind is of the first that has this. */
    int (*read_folder)(struct folder *folder, const char *path, bool salvage, struct error *err);

    /* Record → document: fills *article, and reader->text with what is its text if that is PAGE_KEPT. Pure. */
    enum page_fate (*read)(struct article_reader *reader, const struct article_options *options, struct str record,
                           struct article *article);

    /* What the beginning shows. `lines`: its complete lines, repaired; `whole`: they are all of the text. */

    /* Adds the text in `lines` whose language can be guessed. NULL: that is all of it. */
    void (*add_prose)(struct str lines, const char *text_key, struct buf *out);
    /* Fills what struct probe has for this kind, beside form, bytes and encoding. NULL: nothing. */
    void (*probe)(struct str lines, bool whole, const struct language *language, const char *text_key,
                  struct probe *probe);
    /* Adds the ids at the beginning, of dump_head as it is. NULL: documents have none. */
    void (*add_ids)(struct split_ids *ids, struct str head, bool whole, const char *id_key);
};

#define DECLARE_KIND(NAME, name) extern const struct input_kind name##_kind;
SOURCE_KIND_LIST(DECLARE_KIND)
#undef DECLARE_KIND

extern const struct input_kind *const input_kinds[SOURCE_KINDS];      /* by enum source_kind; the first is NULL */
extern const struct record_format *const input_formats[SOURCE_KINDS]; /* their first parts, for dump_options */

static inline const struct input_kind *input_kind_of(const struct dump *dump)
{
    return input_kinds[dump_kind(dump)];
}
