/* Internal to the rendering of templates: one call {{name|argument|key=argument}} and what it shows. A renderer asks
 * for arguments by name, and shows texts and arguments in turn, from left to right.
 *
 * An argument is shown by its place in the page, so that the walk reads its markup. One that precedes what was shown
 * already (or is shown again) is shown as plain text. Values that a renderer computes with are plain text too; of a
 * template inside, what it shows, if that is text of at most VALUE_GROWTH_MAX times its size. At most
 * VALUE_TEMPLATES_MAX templates are rendered for the values of a call and of the calls in them, and none of them for
 * another call that the walk comes to. So no byte is read more often than a rendering has parts, times a constant. */
#ifndef PIPELINE_TEXT_TEMPLATES_CALL_H
#define PIPELINE_TEXT_TEMPLATES_CALL_H

#include "pipeline/text/templates/templates.h"

#define ARGUMENTS_MAX       48u  /* of a call; further ones show nothing */
#define VALUE_BYTES_MAX     256u /* a longer argument is not a value */
#define VALUE_GROWTH_MAX    4u
#define VALUE_TEMPLATES_MAX 8u

struct argument {
    struct str name;   /* as typed; "" if it has none */
    unsigned number;   /* its position, or its name as a number; 0: neither */
    uint32_t from, to; /* its place, trimmed */
    uint32_t child;    /* the first span in it, or after it */
};

struct call {
    const struct template_page *page;
    const struct span *span;
    struct renders *out;
    struct str name;      /* in the form of name_canonical */
    struct str parameter; /* of the row that was found: its pattern, or what its renderer takes */
    size_t first_part;
    uint32_t shown; /* the page has been shown up to here */
    bool is_block, is_poem;
    bool is_opaque;   /* opaque: a value asked for contains a template, or is too long */
    bool is_added;    /* the rendering is none of our tables' */
    bool has_pattern; /* a pattern, rather than a renderer, says what is shown */
    size_t count;
    struct argument arguments[ARGUMENTS_MAX];
    uint64_t steps;
};

/* Reads the arguments of the page's span `index`. `colon`: the position after the colon of a parser function, or 0. */
void call_read(struct call *call, uint32_t index, uint32_t colon);
void argument_trim(struct str page, struct argument *argument);

/* The argument of that name ("1" is the first unnamed one); the last one counts. NULL if it is missing or empty. The
 * argument after the colon of a parser function is "0". */
const struct argument *call_argument(const struct call *call, const char *name);
bool call_has(const struct call *call, const char *name); /* it is given, perhaps empty */
const struct argument *call_numbered(const struct call *call, unsigned number);
/* Its plain text, without markup, entities decoded; "" if it is missing. Valid until the rendering ends. */
struct str call_value(struct call *call, const char *name);
struct str call_value_of(struct call *call, const struct argument *argument);
bool call_says(struct call *call, const char *name, const char *value);
/* The value is a whole number (commas allowed). */
bool call_number(struct call *call, const char *name, long *number);

/* A number as typed on the page's wiki, in the form that number_read takes. Valid until the rendering ends. */
struct str call_plain_number(struct call *call, struct str typed);

bool call_english(const struct call *call); /* is the page in English? The words and numbers that we make are */

void renders_push(struct renders *renders, struct part part);
void show(struct call *call, struct str text);
void show_text(struct call *call, const char *text);
void show_plain_number(struct call *call, struct str plain);            /* as the page's language writes it */
void show_argument(struct call *call, const struct argument *argument); /* NULL: a gap */
/* A part of the revision's time: Y, m, n (month), d, j (day), H, F (name of the month, in English). */
bool call_revision_time(const struct call *call, char part, char out[16]);
/* What {{#time: format | text }} shows; without a text, the revision's time. */
bool call_format_time(struct call *call, struct str format, struct str text, struct buf *out);
/* lc, uc, lcfirst, ucfirst */
void case_add(struct str name, struct str text, struct buf *out);
/* "$1 ($2)": see templates.h */
bool show_pattern(struct call *call, struct str pattern);

/* Appends what the template spans->items[index] in a value of `call` shows, as plain text; false: that is not known. */
bool call_add_template(struct call *call, uint32_t index, struct buf *out);

/* Renderers: false where nothing can be shown; the template is dropped then. */
typedef bool render(struct call *call);

struct row {
    const char *name;    /* as name_canonical has it; of a parser function with its colon, in small letters */
    const char *pattern; /* or the parameter of: */
    render *render;      /* NULL: the pattern is all */
    const char *wikis; /* codes of the languages where it holds, commas between; NULL: everywhere. "en" is simple too */
};
extern const struct row template_rows[], local_rows[]; /* sorted bytewise; names of the second stand several times */
extern const size_t template_row_count, local_row_count;

render render_nothing, render_gone, render_title, render_join, render_site, render_content_language; /* templates.c */
render render_if, render_ifeq, render_switch, render_case, render_pad;                               /* functions.c */
render render_iferror;                                                                               /* functions.c */
render render_expr, render_ifexpr, render_ordinal;                                                   /* functions.c */
render render_title_part, render_title_parts, render_url, render_anchor, render_if_exists,
    render_namespace;                               /* functions_pages.c */
render render_plural;                               /* plural.c */
render render_tag;                                  /* tag_function.c */
render render_language;                             /* language_names.c */
render render_unit, render_words, render_currency;  /* numbers.c */
render render_coord, render_music;                  /* numbers.c */
render render_convert;                              /* convert.c */
render render_gauge, render_height, render_density; /* measures.c */
render render_date, render_death, render_year, render_as_of, render_age, render_now, render_time;  /* dates.c */
render render_day, render_life, render_format_date;                                                /* dates.c */
render render_format_number, render_fraction, render_val, render_power, render_money, render_chem; /* numbers.c */
render render_quoted, render_langx, render_ship, render_flag, render_chinese;   /* renderers_names.c */
render render_cited;                                                            /* renderers_names.c */
render render_interlanguage, render_ipa, render_pronunciation, render_junction; /* renderers_names.c */
/* For a name that nothing knows: what the form of its arguments tells (shapes.c). */
bool render_shape(struct call *call, uint32_t index);
bool call_is_measure(struct call *call); /* numbers, and a unit that {{convert}} knows */
bool name_says_note(struct str name);    /* a folded name: note, source, box or banner in any language */
/* {{lang-fr|mot}} and its 600 sisters; {{USA}}: for names that have no row. */
bool render_lang_of(struct call *call, struct str code);
/* The name of a country in the language of a wiki; NULL where there is none. */
const char *country_of(struct str alpha3, struct str language);
/* Shows what stands before a word of that language on the page's wiki, "англ. ", if anything does. */
void show_language_label(struct call *call, struct str code);
/* Does a country have that name in a language other than English? */
bool is_country(struct str name, struct str language);

#endif
