/* Internal to the second pass (wikitext.c): the state of the walk over a page, shared by its parts.
 *
 *     spans        where the constructs end (spans.h); `span` is the first one at or after `at`
 *     frames       the open constructs, of which some bytes show: a link's label, a template's
 *                  argument, a heading, a caption. The walk jumps to a frame's end when it comes to its inner end.
 *     paragraphs   what has been written
 *
 * The parts: walk_lines.c handles the beginnings of lines, constructs.c (with tables.c, walk_links.c, variants.c)
 * what the first pass found, inlines.c single bytes in running text. Each continues from `at`; none goes back or
 * reads past the frame's inner end. */
#pragma once

#include "pipeline/text/leaks.h"
#include "pipeline/text/markup/spans.h"
#include "pipeline/text/paragraphs.h"
#include "pipeline/text/tidy.h"
#include "pipeline/text/templates/expand.h"
#include "pipeline/text/templates/templates.h"
#include "pipeline/text/trace.h"
#include "pipeline/text/wikitext.h"
#include "pipeline/text/words/links.h"

enum walk_frame_kind {
    FRAME_LINES,    /* a template's argument: its lines are separate lines */
    FRAME_BLOCK,    /* the same, as paragraphs of its own */
    FRAME_TABLE,    /* the text of a table outside its cells */
    FRAME_INLINE,   /* a line end inside is a blank */
    FRAME_TITLE,    /* the title of a link without a label: its apostrophes are literal */
    FRAME_LABEL,    /* of a link; its apostrophes are separate from its line's, as are a caption's */
    FRAME_EXTERNAL, /* the label of an external link; cannot contain another */
    FRAME_HEADING,
    FRAME_TERM, /* the term of "; term : meaning" */
    FRAME_CAPTION,
};

struct walk_frame {
    enum walk_frame_kind kind;
    uint32_t inner_end, end;                     /* the shown part ends at inner_end, the construct at end */
    enum fate fate;                              /* of the bytes between them */
    uint32_t start, traced;                      /* where it was pushed; bytes of the page traced then */
    size_t out_start;                            /* FRAME_CAPTION: size of the text when it began */
    uint64_t kept_start;                         /* FRAME_CAPTION: kept bytes of the paragraph then */
    size_t leaks_start;                          /* FRAME_CAPTION: number of leaks then */
    uint32_t quotes_line_end, quotes_apostrophe; /* FRAME_LABEL, FRAME_CAPTION: of the line that continues after it */
    /* FRAME_LINES, FRAME_BLOCK: what the template shows after this argument. */
    struct rendering rendering;
    size_t next_part;
    uint32_t template_span, template_end;
};

/* A template without a rendering. */
struct unknown {
    uint32_t span;
    enum unknown_kind kind; /* UNKNOWN_HOLE is known when its paragraph or caption has ended */
    size_t out;             /* size of the text where it stood */
};

struct wikitext {
    struct wikitext_options options;
    struct str code;                     /* of the wiki's language */
    struct magic magic;                  /* the wiki's switches and words for #REDIRECT */
    const struct variant_wiki *variants; /* the wiki's spellings, or NULL */
    const char *variant;                 /* the spelling wanted, or "" */
    const struct number_style *style;
    struct namespaces namespaces;
    struct sign_set stops; /* bytes that may need handling */
    struct signs signs;    /* their positions in the page */
    struct spans spans;
    struct paragraphs paragraphs;
    struct walk_frame *frames;
    size_t depth, depth_capacity;
    struct expander *expander; /* or NULL: calls are not expanded */
    struct renders renders;    /* of the templates among the frames */
    struct unknown *unknown;   /* [facts->unknown] from left to right */
    uint32_t *open;            /* [open_count] of these, those in the open paragraph and captions, as a stack */
    size_t unknown_capacity;
    struct leaks leaks;
    char tag[512]; /* scratch: a tag without what stands in its attributes */

    /* From here on the state of the current page, zeroed when it begins. */
    struct wikitext_facts *facts;
    struct str title, timestamp, text;
    const struct expand_copy *copies; /* the ranges of `text` that are the page's own; NULL: all of it */
    size_t copy_count, copy;          /* copy: the first that does not end before `at` */
    uint32_t page_size, traced;       /* bytes of the page; of these, those that the trace has */
    uint32_t at, size, span;
    uint32_t inline_depth;    /* number of frames in which a line end is a blank */
    uint32_t quotes_line_end; /* quotes_apostrophe is valid up to here */
    uint32_t quotes_apostrophe;
    uint32_t bracket_from, bracket; /* cache: from the first position on, the first ']' of the line is at the second
                                     * (the line's end: none) */
    uint32_t poem_end;              /* no <poem> closes before this */
    unsigned dropped_section;       /* level of the heading whose section is left out, or 0 */
    size_t line_out;                /* size of the text where the line began */
    size_t break_out;               /* size of the text after the last <br> */
    size_t open_count;
    size_t paragraph_leaks;   /* number of leaks when the open paragraph began */
    uint64_t paragraph_bytes; /* kept bytes of the open paragraph */
    bool line_start;          /* the next byte begins a line */
    bool after_hidden;        /* the line before had only hidden content */
    bool in_stray_table;      /* rows of a table that a template opened */
    bool stray_table_breaks;  /* and a blank line followed the last row */
    bool line_hides_block;    /* the line has a hidden template or picture */
    bool is_poem;             /* inside <poem> */
    unsigned poems;           /* open {{#tag:poem}} */
    unsigned open_boxes;      /* boxes that nothing closes */
    unsigned tabs;            /* open <tabber> */
    uint32_t tabs_end;        /* no <tabber> closes before this */
    bool in_tvar;             /* inside <tvar|name>, which </> closes */
    bool section_has_prose;   /* the open section has a paragraph of prose */
};

/* Every byte of the page passes through one of the first three. */
void walk_skip(struct wikitext *w, uint32_t end, enum fate fate);   /* up to `end`; shows nothing */
void walk_show(struct wikitext *w, uint32_t end, struct str shown); /* shows `shown` instead */
void walk_keep(struct wikitext *w, uint32_t end);                   /* shows them as they are */

void walk_open_paragraph(struct wikitext *w); /* of prose, if none is open */
void walk_begin_paragraph(struct wikitext *w, enum paragraph_kind kind);
void walk_end_paragraph(struct wikitext *w);
void walk_break_paragraph(struct wikitext *w); /* ends it; in an inline frame, where none can end, adds a blank */
void walk_gap(struct wikitext *w, char gap);   /* something was left out here; gap: tidy.h */

void walk_push(struct wikitext *w, enum walk_frame_kind kind, uint32_t inner_end, uint32_t end, enum fate fate);
void walk_pop(struct wikitext *w);
static inline bool walk_keeps_lines(const struct wikitext *w) /* as in a poem */
{
    return w->is_poem || w->poems > 0;
}
static inline uint32_t walk_inner_end(const struct wikitext *w)
{
    return w->depth > 0 ? w->frames[w->depth - 1].inner_end : w->size;
}

struct template_page walk_template_page(const struct wikitext *w); /* at the walk's position */
/* Shows the rendering of the template `span`, which ends at `end`, from `part` on. */
void construct_show_parts(struct wikitext *w, const struct rendering *rendering, size_t part, uint32_t span,
                          uint32_t end);
void construct_read(struct wikitext *w); /* reads spans.items[span], which begins at `at` */
void construct_read_link(struct wikitext *w, const struct span *span);
void construct_read_variant(struct wikitext *w, const struct span *span);
/* Continues the table spans.items[index] at `from`, outside its cells. */
void table_read(struct wikitext *w, uint32_t index, uint32_t from);
bool construct_skip_comment(struct wikitext *w);    /* moves past the comment that begins at `at`, if there is one */
bool tabs_close(struct wikitext *w, uint32_t from); /* true if the <tabber> whose content begins at `from` is closed */
void tabs_open(struct wikitext *w);                 /* after <tabber> */
void tabs_end(struct wikitext *w);                  /* after </tabber> */
bool tabs_read_separator(struct wikitext *w);       /* |-| with the label after it, if one begins at `at` */
void tab_begin(struct wikitext *w);                 /* after a label: a list may begin in the middle of a line */
void tab_open(struct wikitext *w, struct str attributes, uint32_t end); /* <tab name="…">, which ends at `end` */
void inline_read(struct wikitext *w); /* reads a byte of `stops` that begins no span and ends no line */
void line_begin(struct wikitext *w);  /* reads the first bytes of a line */
void line_end(struct wikitext *w);    /* reads the '\n' at `at` */
