/* Internal to the expansion of templates: expand.c inserts bodies (expand_body.h), expand_call.c reads a call and
 * decides what it is, expand_functions.c computes the functions that choose between texts. */
#pragma once

#include "base/arena.h"
#include "pipeline/text/templates/expand.h"
#include "pipeline/text/templates/expand_body.h"
#include "pipeline/text/templates/renderings.h"

#define CALL_WORK 64u /* the least that a call counts, in bytes */

/* A text in which calls are expanded: the page, or a template's body in the frame of one call. */
struct expand_source {
    struct str text;
    const struct spans *spans;
    const struct body *body;  /* NULL: the page */
    struct call_frame *frame; /* NULL: of the page */
    unsigned depth;           /* templates open around it */
    bool is_page;
};

/* An argument of a call, expanded when it is first asked for. */
struct frame_value {
    struct str name;
    const struct expand_source *source; /* where its text stands */
    uint32_t from, to, child;
    bool is_named; /* then blanks around it do not count */
    bool is_expanded, is_incomplete;
    struct str text;
};

struct call_frame {
    struct call_frame *caller;
    const struct rendering_row *row; /* the template */
    struct frame_value *values;
    size_t count;
};

/* The name and the arguments of a call. */
struct call_parts {
    const struct call_piece *items;
    size_t count;
};

/* What a call without arguments inserted: on every page the same, if the page was not asked for anything. */
struct expand_memo {
    const struct rendering_row *row; /* NULL: a free place */
    struct buf text;
    uint64_t work;
    bool is_incomplete;
};
#define MEMOS           128u
#define MEMO_BYTES_MAX  (32u << 10)
#define MEMO_WORK_BYTES (256u << 10) /* the most work that is remembered, less than any page's bounds */

struct expander {
    const struct templates *templates;
    struct templates *modules;
    const struct namespaces *namespaces;
    const struct magic *magic;
    struct body_scratch scratch;
    struct spans settling;
    struct renders renders;
    struct expand_memo memos[MEMOS]; /* by the number of the row */

    /* Of the page being expanded. */
    const struct template_page *page;
    struct arena arena; /* of one call of the page, */
    size_t held;        /* and its bytes */
    struct buf out;
    struct buf values; /* a stack of values that are being expanded */
    struct expand_copy *copies;
    size_t copy_count, copy_capacity;
    uint64_t work, bytes_max; /* bytes read; bound of each text */
    unsigned nesting;
    bool is_incomplete; /* something that is shown could not be computed, since the flag was cleared */
    bool uses_page;     /* its title or time was asked for, since the flag was cleared */
    bool is_exhausted;  /* a bound was reached: what is left stays as it is */
};

/* Counts work, and notes when a bound is reached. */
void spend(struct expander *e, uint64_t bytes);
/* Memory until the page's next call; a copy in it. */
void *hold(struct expander *e, size_t count, size_t bytes);
struct str keep(struct expander *e, struct str text);

struct call_parts call_parts(struct expander *e, const struct expand_source *source, uint32_t index);
/* Appends what the call spans->items[index] of the source inserts. */
void expand_template(struct expander *e, const struct expand_source *source, uint32_t index, struct buf *out);
/* Appends the body of the template `row` with the call's arguments. */
void expand_body(struct expander *e, const struct expand_source *source, uint32_t index,
                 const struct rendering_row *row, struct call_parts parts, struct buf *out);
/* True if the wiki has a page of that title; also where the file of renderings does not name all pages. */
bool page_exists(struct expander *e, struct str title);
/* Appends what a function of a module shows (modules.h). `parts`: its name and its arguments. */
void expand_module(struct expander *e, const struct expand_source *source, const struct rendering_row *row,
                   struct call_parts parts, struct buf *out);
/* Appends source->text[from, to) with its calls expanded; `child`: its first span, or one before it. */
void expand_range(struct expander *e, const struct expand_source *source, uint32_t from, uint32_t to, uint32_t child,
                  struct buf *out);
/* The same as a text to compute with: functions that were left to the walk are computed too. False if that is not
 * possible. Lives until the page's next call. */
bool expand_value(struct expander *e, const struct expand_source *source, uint32_t from, uint32_t to, uint32_t child,
                  struct str *value);
struct str expand_trimmed(struct expander *e, const struct expand_source *source, const struct call_piece *piece);
/* Replaces the calls that are left in text from that byte on by what the tables render of them; false if one cannot
 * be rendered. */
bool settle_calls(struct expander *e, struct buf *text, size_t from);
/* Appends the call as it stands, for the walk, with its arguments expanded; `name` in place of its own, unless "". */
void emit_call(struct expander *e, const struct expand_source *source, uint32_t index, struct str name,
               struct buf *out);
bool call_has_row(struct expander *e, struct str name);

/* Text of the source as it stands. */
void copy_text(struct expander *e, const struct expand_source *source, uint32_t from, uint32_t to, struct buf *out);
/* Puts what was inserted at out[from] on a line of its own if it begins a list or a table, as MediaWiki does. `start`:
 * of the call in its source. */
void begin_line(struct expander *e, const struct expand_source *source, uint32_t start, size_t from, struct buf *out);

/* Reads the arguments of a call into its frame, which is zeroed. */
void frame_read(struct expander *e, const struct expand_source *source, struct call_parts parts,
                struct call_frame *frame);
/* The argument of the frame by its name; false if the call does not give it. */
bool frame_argument(struct expander *e, struct call_frame *frame, struct str name, struct str *value);

/* 1 + the number of the function of that name (folded, with its colon), if it is one of those that choose; else 0. */
unsigned choice_find(struct str name);
/* Expands it; `value` is the text after the colon, known if is_known. */
void expand_function(struct expander *e, const struct expand_source *source, unsigned function, struct str value,
                     bool is_known, struct call_parts parts, struct buf *out);
