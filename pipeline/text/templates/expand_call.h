/* Internal to the expansion of templates: expand.c inserts bodies, expand_call.c reads a call and decides what it is,
 * expand_functions.c computes the functions that choose between texts. */
#ifndef PIPELINE_TEXT_TEMPLATES_EXPAND_CALL_H
#define PIPELINE_TEXT_TEMPLATES_EXPAND_CALL_H

#include "base/arena.h"
#include "pipeline/text/templates/expand.h"
#include "pipeline/text/templates/renderings.h"

#define PIECES_MAX 512u /* of a call; the last one has the rest */

/* A text in which calls are expanded: the page, or a template's body in the frame of one call. */
struct expand_source {
    struct str text;
    const struct spans *spans;
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

/* name or argument: source.text[from, to) */
struct call_piece {
    uint32_t from, to;
    uint32_t equals; /* the first '=' outside spans; `to` if there is none */
    uint32_t child;  /* the first span in it, or after it */
};

struct expander {
    const struct templates *templates;
    const struct namespaces *namespaces;
    const struct magic *magic;
    struct body **bodies; /* [templates_count]; NULL: not used yet */
    size_t cached;        /* bytes of them */
    struct spans scratch, settling;
    struct renders renders;

    /* Of the page being expanded. */
    const struct template_page *page;
    struct arena arena;
    struct buf out;
    struct expand_copy *copies;
    size_t copy_count, copy_capacity;
    uint64_t work, bytes_max; /* bytes read; bound of `out` */
    unsigned nesting;
    bool is_incomplete; /* something that is shown could not be computed, since the flag was cleared */
    bool is_exhausted;  /* a bound was reached: what is left stays as it is */
};

size_t call_pieces(const struct expand_source *source, uint32_t index, struct call_piece pieces[PIECES_MAX]);
/* Appends what the call spans->items[index] of the source inserts. */
void expand_template(struct expander *e, const struct expand_source *source, uint32_t index, struct buf *out);
/* Appends the body of the template `row` with the call's arguments. */
void expand_body(struct expander *e, const struct expand_source *source, uint32_t index,
                 const struct rendering_row *row, const struct call_piece *pieces, size_t count, struct buf *out);
/* Appends source->text[from, to) with its calls expanded; `child`: its first span, or one before it. */
void expand_range(struct expander *e, const struct expand_source *source, uint32_t from, uint32_t to, uint32_t child,
                  struct buf *out);
/* The same as a text to compute with: functions that were left to the walk are computed too. False if that is not
 * possible. Lives as long as the page. */
bool expand_value(struct expander *e, const struct expand_source *source, uint32_t from, uint32_t to, uint32_t child,
                  struct str *value);
struct str expand_trimmed(struct expander *e, const struct expand_source *source, const struct call_piece *piece);
/* Replaces the calls that are left in the text by what the tables render of them; false if one cannot be rendered. */
bool settle_calls(struct expander *e, struct buf *text);
/* Appends the call as it stands, for the walk, with its arguments expanded; `name` in place of its own, unless "". */
void emit_call(struct expander *e, const struct expand_source *source, uint32_t index, struct str name,
               struct buf *out);
bool call_has_row(const struct expander *e, struct str name);

/* Text of the source as it stands. */
void copy_text(struct expander *e, const struct expand_source *source, uint32_t from, uint32_t to, struct buf *out);
/* Puts what was inserted at out[from] on a line of its own if it begins a list or a table, as MediaWiki does. `start`:
 * of the call in its source. */
void begin_line(struct expander *e, const struct expand_source *source, uint32_t start, size_t from, struct buf *out);

/* The argument of the frame by its name; false if the call does not give it. */
bool frame_argument(struct expander *e, struct call_frame *frame, struct str name, struct str *value);

/* Expands the function `name` (folded, with its colon), if it is one of those that choose; `value` is the text after
 * the colon, known if is_known. */
bool expand_function(struct expander *e, const struct expand_source *source, struct str name, struct str value,
                     bool is_known, const struct call_piece *pieces, size_t count, struct buf *out);

#endif
