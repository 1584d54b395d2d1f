/* Internal to body.h: the state of reading a template's body, shared by its parts. Constructs are read over the whole
 * body, or over the piece of a span that is being read: the spans inside them are opaque, so the end of a tag or of an
 * external link is found although parameters, functions and templates stand in it. Each byte of a piece is passed once;
 * what a construct hides is not read again.
 *
 *     body.c         spans: arguments, elements that are not read; the result
 *     body_markup.c  what is no span: apostrophes, entities, beginnings of lines; what is left of markup
 *     body_links.c   links, internal and external
 *     body_tags.c    tags, and elements that are left out
 *     body_calls.c   {{…}}: functions, variables, modules, other templates */
#ifndef PIPELINE_TEXT_TEMPLATES_BODY_COMPILER_H
#define PIPELINE_TEXT_TEMPLATES_BODY_COMPILER_H

#include "pipeline/text/templates/body.h"

struct compiler {
    struct str text;
    const struct spans *spans;
    struct buf *out;
    struct buf *typed;     /* what was taken as text, for markup_remains; MARKUP_GAP for everything else */
    struct buf *scratch;   /* attributes of a tag */
    size_t start;          /* start of the rendering in *out */
    enum body_kind kind;   /* what was found that is not a pattern; BODY_PATTERN: nothing so far */
    enum body_kind hidden; /* BODY_BOX: an element that is a box was left out; else BODY_NOTE */
    bool shows;            /* something was shown so far */
    unsigned quotations;   /* open <blockquote>s */
    bool in_function;      /* bars and equals signs are escaped */
    struct str bound;      /* the module that the whole template calls */
    uint32_t bracket_from, bracket_stop,
        bracket_to; /* the last search for a ']': from where, to where, in what piece */
};

/* A place in a piece text[at, to); `child` is the first span at or after `at`. */
struct cursor {
    uint32_t at, to, child;
};

static inline void cursor_settle(const struct compiler *c, struct cursor *cursor)
{
    const struct spans *spans = c->spans;
    while (cursor->child < spans->count && spans->items[cursor->child].start < cursor->at)
        cursor->child++;
}

/* The span that begins at the (settled) cursor, or NULL. */
static inline const struct span *cursor_span(const struct compiler *c, const struct cursor *cursor)
{
    const struct span *span = cursor->child < c->spans->count ? &c->spans->items[cursor->child] : NULL;
    return span && span->start == cursor->at && cursor->at < cursor->to ? span : NULL;
}

/* Moves past a byte, or past the span that begins there. */
static inline void cursor_step(const struct compiler *c, struct cursor *cursor)
{
    const struct span *span = cursor_span(c, cursor);
    cursor->at = !span ? cursor->at + 1 : span->end < cursor->to ? span->end : cursor->to;
    if (span)
        cursor->child = span->next;
    cursor_settle(c, cursor);
}

static inline bool body_is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n';
}

static inline bool body_is_letter(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

/* Of the name of a tag or a class. */
static inline bool body_is_name_byte(char byte)
{
    return body_is_letter(byte) || (byte >= '0' && byte <= '9') || byte == '-';
}

/* The rendering is not a pattern; of several reasons the first counts. */
static inline void body_stop(struct compiler *c, enum body_kind kind)
{
    if (c->kind == BODY_PATTERN)
        c->kind = kind;
}

static inline void body_trim(const struct compiler *c, uint32_t *from, uint32_t *to)
{
    while (*from < *to && body_is_blank(c->text.data[*from]))
        ++*from;
    while (*from < *to && body_is_blank(c->text.data[*to - 1]))
        --*to;
}

/* Appends the rendering of text[from, to); `child` is the first span at or after `from`, or before it. */
void body_compile(struct compiler *c, uint32_t from, uint32_t to, uint32_t child, unsigned depth);
/* The same, trimmed. In the branch of a function, which MediaWiki puts on a line of its own if it begins as a list. */
void body_compile_piece(struct compiler *c, uint32_t from, uint32_t to, uint32_t child, unsigned depth);
void body_compile_branch(struct compiler *c, uint32_t from, uint32_t to, uint32_t child, unsigned depth);

struct body_piece {
    uint32_t from, to, equals, child; /* equals: of the first '=', or `to` */
};
#define BODY_PIECES_MAX 64u
/* Cuts a span into the pieces between its bars; returns how many. */
size_t body_pieces(const struct compiler *c, uint32_t index, struct body_piece *pieces);

/* A SPAN_LINK. */
void links_compile(struct compiler *c, uint32_t index, unsigned depth);
/* [https://example.org label]; false if there is none at the cursor. */
bool links_compile_bracket(struct compiler *c, struct cursor *cursor, unsigned depth);

/* {{…}} */
void body_compile_template(struct compiler *c, uint32_t index, unsigned depth);

/* Appends text that is shown as it is, escaped for a pattern. */
void body_add_literal(struct compiler *c, struct str text);
/* Reads what begins at the cursor, which is no span, and moves past it. */
void markup_compile(struct compiler *c, struct cursor *cursor, unsigned depth);
/* The same for a tag; false: what begins with '<' is none. */
bool markup_compile_tag(struct compiler *c, struct cursor *cursor);
/* What the line of text that begins at `at` is instead of prose; BODY_PATTERN: prose. */
enum body_kind markup_kind_of_line(const struct compiler *c, uint32_t at, uint32_t to);
/* A block begins. After something was shown, a paragraph of a quotation; any other makes a box of it all. */
void markup_begin_block(struct compiler *c, bool is_quotation);

#define MARKUP_GAP '\x01'
/* True if text that was taken as such holds markup: tags, braces and brackets in pairs, the beginning of an external
 * link, a closing bracket without an opening one. */
bool markup_remains(struct str typed);

#endif
