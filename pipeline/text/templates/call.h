/* Internal to the rendering of templates: one call {{name|argument|key=argument}} and what it shows. A renderer asks
 * for arguments by name, and shows texts and arguments in turn, from left to right.
 *
 * An argument is shown by its place in the page, so that the walk reads its markup. One that precedes what was shown
 * already (or is shown again) is shown as plain text. Values that a renderer computes with are plain text too; of a
 * template inside, what it shows, if that is text of at most VALUE_GROWTH_MAX times its size. At most
 * VALUE_TEMPLATES_MAX templates are rendered for the values of a call and of the calls in them, and none of them for
 * another call that the walk comes to. So no byte is read more often than a rendering has parts, times a constant. */
#pragma once

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
const struct argument *call_numbered(const struct call *call, unsigned number);
/* Its plain text, without markup, entities decoded; "" if it is missing. Valid until the rendering ends. */
struct str call_value(struct call *call, const char *name);
struct str call_value_of(struct call *call, const struct argument *argument);
bool call_says(struct call *call, const char *name, const char *value);
/* The value is a whole number (commas allowed). */
bool call_number(struct call *call, const char *name, long *number);

/* A number as typed on the page's wiki, in the form that number_read takes. Valid until the rendering ends. */
struct str call_plain_number(struct call *call, struct str typed);

bool call_english(const struct call *call); /* the page is in English, as the words and numbers that we make are */

void renders_push(struct renders *renders, struct part part);
void show(struct call *call, struct str text);
void show_text(struct call *call, const char *text);
void show_plain_number(struct call *call, struct str plain);            /* as the page's language writes it */
void show_argument(struct call *call, const struct argument *argument); /* NULL: a gap */
/* The argument between two texts; nothing if it is NULL. */
void show_if(struct call *call, const char *before, const struct argument *argument, const char *after);
/* A part of the revision's time: Y, m, n (month), d, j (day), H, F (name of the month, in English). */
bool call_revision_time(const struct call *call, char part, char out[16]);
/* What {{#time: format | text | code }} shows; without a text, the revision's time; without a code, in the language of
 * the wiki. */
bool call_format_time(struct call *call, struct str format, struct str text, struct str code, struct buf *out);
/* The bytes of a title before the colon of its namespace; 0: it has none. */
size_t title_namespace_size(const struct siteinfo *siteinfo, struct str title);
/* Compares like the parser functions: numbers by value. */
bool values_equal(struct str left, struct str right);
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
};
/* The rows that hold on the wikis of a language, sorted bytewise by name. "en" is simple too. */
struct row_list {
    const char *code; /* "all" for those that hold everywhere */
    const struct row *rows;
    size_t count;
};
extern const struct row_list row_lists[]; /* data/templates, made by cmake/tables.cmake */
extern const size_t row_list_count;
/* The row of a template that applies on the page's wiki, or NULL. */
const struct row *call_row(const struct call *call, struct str name);
extern const struct row_list parser_functions; /* data/functions.txt: MediaWiki's functions and variables */

/* The renderers that data/templates may name, as "@name". Those given may also stand in the files of users. */
// clang-format off
#define RENDERERS_GIVEN(X)                                                                                             \
    X(chem) X(convert) X(coord) X(cvt) X(date) X(fraction) X(join) X(langx) X(number) X(unit) X(val)
#define RENDERERS_OURS(X)                                                                                              \
    X(age) X(as_of) X(chinese) X(cited) X(currency) X(day) X(death) X(density) X(flag) X(gauge) X(gone) X(height)      \
    X(interlanguage) X(ipa) X(junction) X(life) X(money) X(music) X(nothing) X(ordinal) X(plural) X(power)             \
    X(pronunciation) X(quoted) X(ship) X(title) X(words) X(year)
#define RENDERERS_FUNCTIONS(X) /* data/functions.txt may name these too */                                             \
    X(absolute) X(anchor) X(case) X(content_language) X(encoded_title) X(expr) X(format_date) X(if) X(if_exists)       \
    X(ifeq) X(iferror) X(ifexpr) X(language) X(namespace) X(now) X(pad) X(site) X(string) X(switch) X(tag) X(time)     \
    X(title_part) X(title_parts) X(url)
// clang-format on
#define DECLARE_RENDERER(name) render render_##name;
RENDERERS_GIVEN(DECLARE_RENDERER)
RENDERERS_OURS(DECLARE_RENDERER)
RENDERERS_FUNCTIONS(DECLARE_RENDERER)
/* For a name that nothing knows: what the form of its arguments tells (shapes.c). */
bool render_shape(struct call *call, uint32_t index);
bool call_is_measure(struct call *call); /* numbers, and a unit that {{convert}} knows */
bool name_says_note(struct str name);    /* a folded name: note, source, box or banner in any language */
/* {{lang-fr|mot}} and its 600 sisters; {{USA}}: for names that have no row. */
bool render_lang_of(struct call *call, struct str code);
/* The name of a country in the language of a wiki; NULL where there is none. */
const char *country_of(struct str alpha3, struct str language);
/* True if a country has that name in a language other than English. */
bool is_country(struct str name, struct str language);
