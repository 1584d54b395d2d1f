/* {{…}} in a template's body: functions, variables, modules, other templates. */
#include "pipeline/text/markup/tags.h"
#include "pipeline/text/templates/body_compiler.h"

/* Modules that our renderers implement, and modules that make no running text. */
static const struct {
    const char *module, *bound;
    enum body_kind kind;
} modules[] = {
    {"convert", "convert", BODY_BOUND},
    {"val", "val", BODY_BOUND},
    {"gapnum", "number", BODY_BOUND},
    {"formatnum", "number", BODY_BOUND},
    {"format num", "number", BODY_BOUND},
    {"unité", "unit", BODY_BOUND},
    {"coordinates", "coord", BODY_BOUND},
    {"coordonnées", "coord", BODY_BOUND},
    {"date", "date", BODY_BOUND},
    {"list", "join", BODY_BOUND},
    {"citation", "", BODY_NOTE},
    {"footnotes", "", BODY_NOTE},
    {"unsubst", "", BODY_NOTE},
    {"catlang", "", BODY_NOTE},
    {"check for", "", BODY_NOTE},
    {"anchor", "", BODY_NOTE},
    {"infobox", "", BODY_BOX},
    {"navbox", "", BODY_BOX},
    {"message box", "", BODY_BOX},
    {"hatnote", "", BODY_BOX},
    {"sidebar", "", BODY_BOX},
    {"side box", "", BODY_BOX},
    {"labelled list", "", BODY_BOX},
    {"main", "", BODY_BOX},
    {"authority control", "", BODY_BOX},
    {"color contrast", "", BODY_NOTE},
};

static void compile_invoke(struct compiler *c, struct str module)
{
    char folded[NAME_BYTES_MAX];
    const struct str name = name_fold(module, folded);
    if (str_equal(name, STR("lang"))) { /* {{lang|fr|mot}}; its other functions say more */
        c->bound = STR("lang");
        return;
    }
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        if (!str_starts(name, str_of(modules[i].module)))
            continue;
        if (modules[i].kind == BODY_BOUND)
            c->bound = str_of(modules[i].bound);
        else
            body_stop(c, modules[i].kind);
        return;
    }
    body_stop(c, BODY_OTHER);
}

/* {{#tag:name|content|…}} shows what the tag would show. */
static void compile_tag_function(struct compiler *c, uint32_t colon, const struct body_piece *pieces, size_t count,
                                 unsigned depth)
{
    const struct tag *tag = tag_find(str_trim(str_range(c->text.data + colon, c->text.data + pieces[0].to)));
    if (!tag || tag->kind == TAG_POEM || tag->kind == TAG_PRE || tag->kind == TAG_TABLE || tag->fate == FATE_MATH) {
        body_stop(c, BODY_OTHER);
        return;
    }
    if (tag->kind >= TAG_DROP && tag->kind != TAG_LITERAL)
        return;
    if (tag->kind == TAG_BLOCK)
        markup_begin_block(c, false);
    if (tag->kind == TAG_BREAK)
        body_add_literal(c, STR(" "));
    if (tag->kind == TAG_QUOTE)
        body_add_literal(c, STR("\""));
    if (count > 1)
        body_compile_piece(c, pieces[1].from, pieces[1].to, pieces[1].child, depth);
    if (tag->kind == TAG_QUOTE)
        body_add_literal(c, STR("\""));
}

/* A condition, or the key of a case: nobody sees it, so markup may be left in it. */
static void compile_hidden(struct compiler *c, uint32_t from, uint32_t to, uint32_t child, unsigned depth)
{
    const size_t typed = c->typed->size;
    const bool shows = c->shows;
    body_compile_piece(c, from, to, child, depth);
    c->typed->size = typed;
    c->shows = shows;
}

/* {{#if: a | b | c}}: `colon` after the function's name. */
static void compile_function(struct compiler *c, struct str name, uint32_t colon, const struct body_piece *pieces,
                             size_t count, unsigned depth)
{
    enum { ALL = BODY_PIECES_MAX, CASES };
    static const struct {
        const char *name, *short_name;
        size_t branches; /* the first piece that is one: ALL, of functions of a text; CASES, what follows an '=' */
    } functions[] = {{"#if", "if", 1},         {"#ifeq", "ifeq", 2},        {"#ifexist", "if", 1},
                     {"#ifexpr", "ifexpr", 1}, {"#expr", "expr", ALL},      {"#switch", "switch", CASES},
                     {"#time", "time", ALL},   {"formatnum", "num", ALL},   {"lc", "lc", ALL},
                     {"uc", "uc", ALL},        {"lcfirst", "lcfirst", ALL}, {"ucfirst", "ucfirst", ALL}};
    const bool outer = c->in_function;
    if (str_starts(name, STR("#invoke")) || str_equal(name, STR("#invoque"))) {
        compile_invoke(c, str_range(c->text.data + colon, c->text.data + pieces[0].to));
        return;
    }
    if (str_equal(name, STR("displaytitle")) || str_equal(name, STR("defaultsort")))
        return;
    if (str_equal(name, STR("#tag"))) {
        compile_tag_function(c, colon, pieces, count, depth);
        return;
    }
    if (str_equal(name, STR("#iferror"))) { /* nothing here errs */
        const struct body_piece *shown = count > 2 ? &pieces[2] : &pieces[0];
        body_compile_branch(c, count > 2 ? shown->from : colon, shown->to, shown->child, depth);
        return;
    }
    size_t index = 0;
    while (index < sizeof functions / sizeof *functions && !str_equal(name, str_of(functions[index].name)))
        index++;
    if (index == sizeof functions / sizeof *functions) {
        body_stop(c, BODY_OTHER);
        return;
    }
    const bool before = c->shows;
    bool shows = before || functions[index].branches == ALL;
    c->in_function = true;
    buf_addf(c->out, "{#%s ", functions[index].short_name);
    const bool is_switch = functions[index].branches == CASES;
    const size_t hidden = is_switch ? count - 1 : functions[index].branches == ALL ? 0 : functions[index].branches;
    for (size_t i = 0; i < count; i++) {
        uint32_t from = i == 0 ? colon : pieces[i].from, to = pieces[i].to;
        bool is_branch = functions[index].branches != ALL && i > 0 && i >= hidden;
        if (i > 0)
            buf_add_byte(c->out, '|');
        if (is_switch && i > 0 && pieces[i].equals < to) {
            compile_hidden(c, from, pieces[i].equals, pieces[i].child, depth);
            buf_add_byte(c->out, '=');
            from = pieces[i].equals + 1;
            is_branch = true;
        }
        if (is_branch)
            body_compile_branch(c, from, to, pieces[i].child, depth);
        else
            (i < hidden ? compile_hidden : body_compile_piece)(c, from, to, pieces[i].child, depth);
        shows |= c->shows;
        c->shows = before; /* another branch is another text */
    }
    buf_add_byte(c->out, '}');
    c->in_function = outer;
    c->shows = shows;
}

/* {{PAGENAME}}, {{NAMESPACE}}, {{CURRENTYEAR}} and the like, for an article; false if the name is not one of them. */
static bool compile_variable(struct compiler *c, struct str name)
{
    static const char *const titles[] = {"PAGENAME",     "FULLPAGENAME", "SUBPAGENAME",    "BASEPAGENAME",
                                         "ROOTPAGENAME", "SEITENNAME",   "NOMPAGE",        "PAGINANAAM",
                                         "NAZWASTRONY",  "NOMEDAPAGINA", "NOMBREDEPAGINA", "НАЗВАНИЕСТРАНИЦЫ"};
    static const char *const spaces[] = {"NAMESPACE",  "NAMESPACEE",       "SUBJECTSPACE",  "ARTICLESPACE",
                                         "NAMENSRAUM", "NAZWAPRZESTRZENI", "ESPACENOMMAGE", "ПРОСТРАНСТВОИМЁН"};
    static const char *const moments[] = {"CURRENT", "LOCAL", "REVISION"};
    static const char *const parts[][2] = {{"YEAR", "Y"},      {"MONTH", "m"}, {"MONTH1", "n"}, {"MONTH2", "m"},
                                           {"MONTHNAME", "F"}, {"DAY", "j"},   {"DAY2", "d"},   {"HOUR", "H"}};
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        if (str_equal(name, str_of(titles[i]))) {
            buf_add_text(c->out, "{#title }");
            return true;
        }
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        if (str_equal(name, str_of(spaces[i])))
            return true;
    if (str_equal(name, STR("NAMESPACENUMBER"))) {
        body_add_literal(c, STR("0"));
        return true;
    }
    for (size_t i = 0; i < sizeof moments / sizeof *moments; i++) {
        if (!str_starts(name, str_of(moments[i])))
            continue;
        const size_t size = strlen(moments[i]);
        for (size_t part = 0; part < sizeof parts / sizeof *parts; part++)
            if (str_equal((struct str){name.data + size, name.size - size}, str_of(parts[part][0]))) {
                buf_addf(c->out, "{#now %s}", parts[part][1]);
                return true;
            }
    }
    return false;
}

/* True if the argument at the beginning of a name is one that only a substitution gives: {{{|safesubst:}}},
 * {{{subst|}}}. */
static bool is_subst_argument(const struct compiler *c, const struct span *span)
{
    const struct str inner = str_range(c->text.data + span->inner_start, c->text.data + span->inner_end);
    const char *bar = memchr(inner.data, '|', inner.size);
    return bar && (bar == inner.data || str_find(inner, STR("subst")) != SIZE_MAX);
}

/* Where the name begins: after "subst:" and "safesubst:", also as {{{|safesubst:}}}, which a stored page never has. */
static uint32_t skip_subst(const struct compiler *c, uint32_t index, uint32_t from, uint32_t to)
{
    static const char *const words[] = {"safesubst:", "subst:"};
    const struct spans *spans = c->spans;
    const char *text = c->text.data;
    uint32_t child = index + 1;
    for (bool more = true; more;) {
        more = false;
        while (from < to && body_is_blank(text[from]))
            from++;
        if (child < spans->count && spans->items[child].start == from && spans->items[child].end <= to &&
            spans->items[child].kind == SPAN_ARGUMENT && is_subst_argument(c, &spans->items[child])) {
            from = spans->items[child].end;
            child = spans->items[child].next;
            more = true;
        }
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            const size_t size = strlen(words[i]);
            if (to - from > size && str_equal_ascii_nocase((struct str){text + from, size}, str_of(words[i]))) {
                from += (uint32_t)size;
                more = true;
            }
        }
    }
    return from;
}

/* True if this name before a colon is a function's. Otherwise it is a namespace. */
static bool is_function(struct str name)
{
    static const char *const names[] = {"formatnum", "lc", "uc", "displaytitle", "defaultsort"};
    if (str_starts(name, STR("#")) || str_ends(name, STR("first")))
        return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_equal(name, str_of(names[i])))
            return true;
    return false;
}

/* A call of a template, whose name is text[start, end); if that is not all of the first piece, span `child` follows,
 * and the name is computed. */
static void compile_call(struct compiler *c, uint32_t start, uint32_t end, uint32_t child,
                         const struct body_piece *pieces, size_t count, unsigned depth)
{
    const char *text = c->text.data;
    char canonical[NAME_BYTES_MAX];
    const struct str name = name_canonical(str_trim(str_range(text + start, text + end)), canonical);
    const bool is_computed = end < pieces[0].to, outer = c->in_function;
    if (!is_computed && name.size == 0) {
        body_stop(c, BODY_OTHER);
        return;
    }
    c->in_function = true;
    buf_add_byte(c->out, BODY_CALL);
    if (is_computed) {
        buf_add_byte(c->out, BODY_COMPUTED);
        body_compile_piece(c, start, pieces[0].to, child, depth);
    } else {
        buf_add_str(c->out, name);
    }
    unsigned position = 0;
    for (size_t i = 1; i < count; i++) {
        uint32_t from = pieces[i].from;
        buf_add_byte(c->out, BODY_KEY);
        if (pieces[i].equals < pieces[i].to) {
            buf_add_str(c->out, str_trim(str_range(text + from, text + pieces[i].equals)));
            from = pieces[i].equals + 1;
        } else {
            buf_addf(c->out, "%u", ++position);
        }
        buf_add_byte(c->out, BODY_VALUE);
        body_compile_piece(c, from, pieces[i].to, pieces[i].child, depth);
    }
    buf_add_byte(c->out, BODY_END);
    c->in_function = outer;
}

void body_compile_template(struct compiler *c, uint32_t index, unsigned depth)
{
    struct body_piece pieces[BODY_PIECES_MAX];
    const size_t count = body_pieces(c, index, pieces);
    const char *text = c->text.data;
    char folded[NAME_BYTES_MAX];
    uint32_t start = skip_subst(c, index, pieces[0].from, pieces[0].to), child = index + 1;
    uint32_t end = pieces[0].to; /* of what stands before any inner span */
    while (child < c->spans->count && c->spans->items[child].start < start)
        child++;
    if (child < c->spans->count && c->spans->items[child].start < end)
        end = c->spans->items[child].start;
    const struct str typed = str_trim(str_range(text + start, text + end));
    if (count == BODY_PIECES_MAX) {
        body_stop(c, BODY_OTHER);
        return;
    }
    if (str_equal(typed, STR("!")) || str_equal(typed, STR("="))) {
        body_add_literal(c, str_equal(typed, STR("!")) ? STR("|") : STR("="));
        return;
    }
    if (end == pieces[0].to && count == 1 && compile_variable(c, typed)) {
        c->shows = true;
        return;
    }
    const char *colon = memchr(text + start, ':', end - start);
    if (colon) {
        const struct str name = name_fold(str_range(text + start, colon), folded);
        const uint32_t after = (uint32_t)(colon - text) + 1;
        if (is_function(name)) {
            compile_function(c, name, after, pieces, count, depth);
            return;
        }
        if (str_equal(name, STR("template")))
            start = after;
    }
    compile_call(c, start, end, child, pieces, count, depth);
    c->shows = true;
}
