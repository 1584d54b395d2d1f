#include "pipeline/text/templates/body.h"

#include "pipeline/text/markup/entities.h"
#include "pipeline/text/markup/tags.h"
#include "pipeline/text/templates/pattern.h"
#include "pipeline/text/templates/transclusion.h"
#include "pipeline/text/words/links.h"

#define DEPTH_MAX 12u

struct compiler {
    struct str text;
    const struct spans *spans;
    struct buf *out;
    size_t start;        /* start of the rendering in *out */
    enum body_kind kind; /* what was found that is not a pattern; BODY_PATTERN: nothing so far */
    bool has_note;       /* a reference, a category, a picture: it shows no words */
    bool in_function;    /* bars and equals signs are escaped */
    struct str bound;    /* the module that the whole template calls */
};

static void compile(struct compiler *c, uint32_t from, uint32_t to, uint32_t child, unsigned depth);

static void stop(struct compiler *c, enum body_kind kind)
{
    if (c->kind == BODY_PATTERN)
        c->kind = kind;
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n';
}

static void trim(const struct compiler *c, uint32_t *from, uint32_t *to)
{
    while (*from < *to && is_blank(c->text.data[*from]))
        ++*from;
    while (*from < *to && is_blank(c->text.data[*to - 1]))
        --*to;
}

static void add_literal(struct compiler *c, struct str text)
{
    for (size_t at = 0; at < text.size; at++) {
        const char byte = text.data[at];
        if ((unsigned char)byte < ' ' && byte != '\t')
            continue;
        const bool first = c->out->size == c->start;
        if (strchr("${}\\", byte) || (c->in_function && (byte == '|' || byte == '=')) ||
            (first && (byte == '@' || byte == ' ' || byte == '>')))
            buf_add_byte(c->out, '\\');
        buf_add_byte(c->out, byte);
    }
}

/* Recognises boxes, hatnotes and remarks by the classes in a tag's attributes. */
static enum body_kind kind_of_tag(struct str attributes)
{
    static const char *const boxes[] = {"infobox", "navbox",     "ambox",    "mbox",      "hatnote",
                                        "dablink", "sidebar",    "metadata", "wikitable", "toccolours",
                                        "thumb",   "sistersite", "bandeau",  "homonymie", "rellink"};
    static const char *const notes[] = {"noprint", "Inline-Template", "need_ref_tag", "display:none", "display: none"};
    for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++)
        if (str_find(attributes, str_of(boxes[i])) != SIZE_MAX)
            return BODY_BOX;
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        if (str_find(attributes, str_of(notes[i])) != SIZE_MAX)
            return BODY_NOTE;
    return BODY_PATTERN;
}

static uint32_t compile_tag(struct compiler *c, uint32_t at, uint32_t end)
{
    struct tag_found found;
    size_t looked;
    if (!tag_read(str_range(c->text.data + at, c->text.data + end), &found, &looked)) {
        add_literal(c, STR("<"));
        return at + 1;
    }
    const struct tag *tag = &tags[found.index];
    const enum body_kind kind = kind_of_tag(found.attributes);
    if (kind != BODY_PATTERN)
        stop(c, kind);
    if (tag->kind == TAG_BREAK)
        add_literal(c, STR(" "));
    else if (tag->kind == TAG_QUOTE)
        add_literal(c, STR("\""));
    else if (tag->kind == TAG_TABLE)
        stop(c, BODY_TABLE);
    else if (tag->kind == TAG_BLOCK && !found.closing && c->out->size == c->start && !c->in_function)
        buf_add_text(c->out, "¶");
    else if (tag->kind == TAG_BLOCK && !found.closing)
        stop(c, BODY_BOX);
    return at + (uint32_t)found.size;
}

/* Compiles wikitext outside spans. */
static void compile_text(struct compiler *c, uint32_t from, uint32_t to)
{
    const char *text = c->text.data;
    for (uint32_t at = from; at < to;) {
        const struct str rest = str_range(text + at, text + to);
        uint32_t code_point;
        size_t size = 0;
        if (text[at] == '\n') {
            const char next = at + 1 < to ? text[at + 1] : ' ';
            if (next == '\n' || strchr("*#:;=", next))
                stop(c, BODY_BOX);
            else if (next == '|' || next == '!')
                stop(c, BODY_TABLE);
            else if (c->out->size > c->start)
                add_literal(c, STR(" "));
            at++;
        } else if (str_starts(rest, STR("''"))) {
            while (at < to && text[at] == '\'')
                at++;
        } else if (text[at] == '&' && (size = entity_decode(rest, &code_point)) > 0) {
            char encoded[4];
            add_literal(c, (struct str){encoded, utf8_write(code_point < ' ' ? ' ' : code_point, encoded)});
            at += (uint32_t)size;
        } else if (text[at] == '<') {
            at = compile_tag(c, at, to);
        } else if (text[at] == '[' && (str_starts(rest, STR("[http")) || str_starts(rest, STR("[//")))) {
            while (at < to && text[at] != ' ' && text[at] != ']')
                at++;
            at += at < to;
            const char *close = memchr(text + at, ']', to - at);
            if (close) {
                compile_text(c, at, (uint32_t)(close - text));
                at = (uint32_t)(close - text) + 1;
            }
        } else {
            add_literal(c, (struct str){text + at, 1});
            at++;
        }
    }
}

struct piece {
    uint32_t from, to, equals, child; /* equals: of the first '=', or `to` */
};

#define PIECES_MAX 64u

/* Cuts a span into the pieces between its bars; returns how many. */
static size_t cut_pieces(const struct compiler *c, uint32_t index, struct piece *pieces)
{
    struct span_walk walk = span_walk(c->text, c->spans, index);
    size_t count = 0;
    for (bool more = true; more && count < PIECES_MAX;) {
        struct piece piece = {.from = walk.at, .child = walk.child};
        uint32_t equals;
        more = span_walk_to_bar(&walk, &equals);
        piece.to = walk.at;
        piece.equals = equals < walk.at ? equals : walk.at;
        pieces[count++] = piece;
        walk.at += more;
    }
    return count;
}

static void compile_piece(struct compiler *c, uint32_t from, uint32_t to, uint32_t child, unsigned depth)
{
    trim(c, &from, &to);
    compile(c, from, to, child, depth + 1);
}

/* {{{name|default}}}. A default that is plain text goes in braces; any other is selected by {#if}. */
static void compile_argument(struct compiler *c, uint32_t index, unsigned depth)
{
    struct piece pieces[PIECES_MAX];
    const size_t count = cut_pieces(c, index, pieces);
    const struct str name = str_trim(str_range(c->text.data + pieces[0].from, c->text.data + pieces[0].to));
    bool plain = name.size > 0 && name.size < 64;
    for (size_t i = 0; i < name.size; i++)
        plain &= !strchr("{}|=$<[", name.data[i]) && (unsigned char)name.data[i] >= ' ';
    if (!plain) {
        stop(c, BODY_OTHER);
        return;
    }
    uint32_t from = count > 1 ? pieces[1].from : 0, to = count > 1 ? pieces[1].to : 0;
    trim(c, &from, &to);
    if (from == to) {
        buf_addf(c->out, "${%.*s}", (int)name.size, name.data);
        return;
    }
    const bool outer = c->in_function;
    c->in_function = true;
    buf_addf(c->out, "{#if ${%.*s}|${%.*s}|", (int)name.size, name.data, (int)name.size, name.data);
    compile(c, from, to, pieces[1].child, depth + 1);
    c->in_function = outer;
    buf_add_byte(c->out, '}');
}

static void compile_link(struct compiler *c, uint32_t index, unsigned depth)
{
    struct piece pieces[PIECES_MAX];
    const size_t count = cut_pieces(c, index, pieces);
    struct str target = str_trim(str_range(c->text.data + pieces[0].from, c->text.data + pieces[0].to));
    const char *colon = memchr(target.data, ':', target.size);
    char folded[NAME_BYTES_MAX];
    if (colon && colon > target.data) {
        const struct str prefix = name_fold(str_range(target.data, colon), folded);
        if (words_have(file_namespaces, prefix) || words_have(category_namespaces, prefix) ||
            str_equal(prefix, STR("file")) || str_equal(prefix, STR("image")) || str_equal(prefix, STR("category"))) {
            c->has_note = true;
            return;
        }
    }
    if (count > 1) {
        compile(c, pieces[count - 1].from, pieces[count - 1].to, pieces[count - 1].child, depth + 1);
        return;
    }
    pieces[0].from += colon && colon == target.data;
    compile(c, pieces[0].from, pieces[0].to, pieces[0].child, depth + 1);
}

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
            stop(c, modules[i].kind);
        return;
    }
    stop(c, BODY_OTHER);
}

/* {{#if: a | b | c}}: `colon` after the function's name. */
static void compile_function(struct compiler *c, struct str name, uint32_t colon, const struct piece *pieces,
                             size_t count, unsigned depth)
{
    static const char *const functions[][2] = {{"#if", "if"},         {"#ifeq", "ifeq"},      {"#ifexist", "if"},
                                               {"#ifexpr", "ifexpr"}, {"#expr", "expr"},      {"#switch", "switch"},
                                               {"#time", "time"},     {"formatnum", "num"},   {"lc", "lc"},
                                               {"uc", "uc"},          {"lcfirst", "lcfirst"}, {"ucfirst", "ucfirst"}};
    const bool outer = c->in_function;
    if (str_starts(name, STR("#invoke")) || str_equal(name, STR("#invoque"))) {
        compile_invoke(c, str_range(c->text.data + colon, c->text.data + pieces[0].to));
        return;
    }
    if (str_equal(name, STR("#tag")) || str_equal(name, STR("displaytitle")) || str_equal(name, STR("defaultsort"))) {
        c->has_note = true;
        return;
    }
    if (str_equal(name, STR("#iferror"))) { /* nothing here errs */
        const struct piece *shown = count > 2 ? &pieces[2] : &pieces[0];
        compile_piece(c, count > 2 ? shown->from : colon, shown->to, shown->child, depth);
        return;
    }
    const char *short_name = NULL;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (str_equal(name, str_of(functions[i][0])))
            short_name = functions[i][1];
    if (!short_name) {
        stop(c, BODY_OTHER);
        return;
    }
    c->in_function = true;
    buf_addf(c->out, "{#%s ", short_name);
    const bool is_switch = strcmp(short_name, "switch") == 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t from = i == 0 ? colon : pieces[i].from, to = pieces[i].to;
        if (i > 0)
            buf_add_byte(c->out, '|');
        if (is_switch && i > 0 && pieces[i].equals < to) {
            compile_piece(c, from, pieces[i].equals, pieces[i].child, depth);
            buf_add_byte(c->out, '=');
            from = pieces[i].equals + 1;
        }
        compile_piece(c, from, to, pieces[i].child, depth);
    }
    buf_add_byte(c->out, '}');
    c->in_function = outer;
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
        add_literal(c, STR("0"));
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

/* Where the name begins: after "subst:" and "safesubst:", also as {{{|safesubst:}}}, which a stored page never has. */
static uint32_t skip_subst(const struct compiler *c, uint32_t index, uint32_t from, uint32_t to)
{
    static const char *const words[] = {"safesubst:", "subst:"};
    const struct spans *spans = c->spans;
    const char *text = c->text.data;
    uint32_t child = index + 1;
    for (bool more = true; more;) {
        more = false;
        while (from < to && is_blank(text[from]))
            from++;
        if (child < spans->count && spans->items[child].start == from && spans->items[child].end <= to &&
            spans->items[child].kind == SPAN_ARGUMENT && text[spans->items[child].inner_start] == '|') {
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

/* Is this name before a colon a function's? Otherwise it is a namespace. */
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
static void compile_call(struct compiler *c, uint32_t start, uint32_t end, uint32_t child, const struct piece *pieces,
                         size_t count, unsigned depth)
{
    const char *text = c->text.data;
    char canonical[NAME_BYTES_MAX];
    const struct str name = name_canonical(str_trim(str_range(text + start, text + end)), canonical);
    const bool is_computed = end < pieces[0].to, outer = c->in_function;
    if (!is_computed && name.size == 0) {
        stop(c, BODY_OTHER);
        return;
    }
    c->in_function = true;
    buf_add_byte(c->out, BODY_CALL);
    if (is_computed) {
        buf_add_byte(c->out, BODY_COMPUTED);
        compile_piece(c, start, pieces[0].to, child, depth);
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
        compile_piece(c, from, pieces[i].to, pieces[i].child, depth);
    }
    buf_add_byte(c->out, BODY_END);
    c->in_function = outer;
}

static void compile_template(struct compiler *c, uint32_t index, unsigned depth)
{
    struct piece pieces[PIECES_MAX];
    const size_t count = cut_pieces(c, index, pieces);
    const char *text = c->text.data;
    char folded[NAME_BYTES_MAX];
    uint32_t start = skip_subst(c, index, pieces[0].from, pieces[0].to), child = index + 1;
    uint32_t end = pieces[0].to; /* of what stands before any inner span */
    while (child < c->spans->count && c->spans->items[child].start < start)
        child++;
    if (child < c->spans->count && c->spans->items[child].start < end)
        end = c->spans->items[child].start;
    const struct str typed = str_trim(str_range(text + start, text + end));
    if (count == PIECES_MAX) {
        stop(c, BODY_OTHER);
        return;
    }
    if (str_equal(typed, STR("!")) || str_equal(typed, STR("="))) {
        add_literal(c, str_equal(typed, STR("!")) ? STR("|") : STR("="));
        return;
    }
    if (end == pieces[0].to && count == 1 && compile_variable(c, typed))
        return;
    const char *colon = memchr(text + start, ':', end - start);
    if (colon) {
        const struct str name = name_fold(str_range(text + start, colon), folded);
        start = (uint32_t)(colon - text) + 1;
        if (is_function(name)) {
            compile_function(c, name, start, pieces, count, depth);
            return;
        }
    }
    compile_call(c, start, end, child, pieces, count, depth);
}

static void compile_span(struct compiler *c, uint32_t index, unsigned depth)
{
    const struct span *span = &c->spans->items[index];
    const struct tag *tag = &tags[span->tag];
    switch ((enum span_kind)span->kind) {
    case SPAN_TEMPLATE:
        compile_template(c, index, depth);
        break;
    case SPAN_ARGUMENT:
        compile_argument(c, index, depth);
        break;
    case SPAN_LINK:
        compile_link(c, index, depth);
        break;
    case SPAN_TABLE:
        stop(c, BODY_TABLE);
        break;
    case SPAN_TAG:
        if (tag->kind == TAG_LITERAL)
            add_literal(c, str_range(c->text.data + span->inner_start, c->text.data + span->inner_end));
        else if (tag->fate == FATE_REFERENCE || tag->fate == FATE_EXTENSION || tag->fate == FATE_GALLERY)
            c->has_note = true;
        else
            stop(c, BODY_OTHER);
        break;
    case SPAN_VARIANT:
        stop(c, BODY_OTHER);
        break;
    case SPAN_COMMENT:
    case SPAN_MAGIC:
    case SPAN_NONE:
        break;
    }
}

/* Appends the rendering of text[from, to); `child` is the first span at or after `from`, or before it. */
static void compile(struct compiler *c, uint32_t from, uint32_t to, uint32_t child, unsigned depth)
{
    const struct spans *spans = c->spans;
    if (depth > DEPTH_MAX || c->out->size - c->start > 4 * PATTERN_BYTES_MAX)
        stop(c, BODY_OTHER);
    if (c->kind != BODY_PATTERN)
        return;
    while (child < spans->count && spans->items[child].start < from)
        child++;
    while (from < to && c->kind == BODY_PATTERN) {
        const bool inside = child < spans->count && spans->items[child].start < to;
        const uint32_t end = inside ? spans->items[child].start : to;
        compile_text(c, from, end);
        if (!inside)
            break;
        compile_span(c, child, depth);
        from = spans->items[child].end;
        child = spans->items[child].next;
    }
}

/* The title of the first link, without its namespace. */
static bool add_target(struct str text, struct buf *out)
{
    const size_t open = str_find(text, STR("[["));
    if (open == SIZE_MAX)
        return false;
    struct str target = {text.data + open + 2, text.size - open - 2};
    size_t size = 0;
    while (size < target.size && !strchr("]|#\n", target.data[size]))
        size++;
    target.size = size;
    const char *colon = memchr(target.data, ':', target.size);
    char canonical[NAME_BYTES_MAX];
    const struct str name =
        name_canonical(colon ? str_range(colon + 1, target.data + target.size) : STR(""), canonical);
    buf_add_str(out, name);
    return name.size > 0;
}

enum body_kind body_read(struct body_reader *reader, const struct language *language, struct str wikitext,
                         bool is_redirect, struct buf *out)
{
    if (is_redirect || link_is_redirect(wikitext, language))
        return add_target(wikitext, out) ? BODY_ALIAS : BODY_OTHER;
    if (wikitext.size > BODY_BYTES_MAX)
        return BODY_OTHER;
    transclusion_take(wikitext, &reader->text);
    struct str text = buf_str(&reader->text);
    const bool blank_after = text.size > 1 && text.data[text.size - 1] == ' ';
    if (str_starts(text, STR(":")) || str_starts(text, STR("|")) || str_starts(text, STR("\n|")))
        return text.data[0] == ':' ? BODY_BOX : BODY_TABLE;
    for (size_t at = 0; at + 2 < text.size; at++)
        if (text.data[at] == '-' && text.data[at + 1] == '{' && text.data[at + 2] != '{')
            return BODY_OTHER; /* a choice of spellings */
    spans_find(&reader->spans, language, false, text);
    struct compiler c = {.text = text, .spans = &reader->spans, .out = out, .start = out->size};
    uint32_t from = 0, to = (uint32_t)text.size;
    while (from < to && text.data[from] == '\n')
        from++;
    while (from < to && (text.data[to - 1] == '\n' || text.data[to - 1] == ' '))
        to--;
    compile(&c, from, to, 0, 0);
    const size_t size = out->size - c.start;
    if (c.kind != BODY_PATTERN || c.bound.size > 0 || size > 2 * PATTERN_BYTES_MAX)
        out->size = c.start;
    if (c.kind != BODY_PATTERN)
        return c.kind;
    if (c.bound.size > 0) {
        buf_add_str(out, c.bound);
        return size == 0 ? BODY_BOUND : BODY_OTHER;
    }
    if (size > 2 * PATTERN_BYTES_MAX)
        return BODY_OTHER;
    if (size == 0)
        return BODY_NOTE;
    if (blank_after)
        buf_add_text(out, " {#if |}");
    return BODY_PATTERN;
}

void body_reader_release(struct body_reader *reader)
{
    spans_release(&reader->spans);
    buf_release(&reader->text);
}
