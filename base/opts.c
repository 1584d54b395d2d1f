/* Parses argv by a table of options into a verb, its settings and its bare arguments, or an error that says what to
 * type. getopt_long is not used: here names are never abbreviated, bare arguments after an option for paths belong to
 * that option, and an error for a wrong name suggests the right one. */
#include "base/opts.h"

#include "base/mem.h"
#include "base/opts_rows.h"

#include <assert.h>
#include <stdio.h>

#define ROWS_MAX 256

struct parser {
    const struct opt_program *program;
    const struct opt_verb *verb;
    int argc, at;
    char **argv;
    void *settings;
    struct opt_result *result;
    const struct opt_row *paths; /* the option that takes the following bare arguments, or NULL */
    bool printed;                /* --help or --version: nothing more to do */
};

bool opt_listed(const char *list, struct str word)
{
    if (!list || !word.size)
        return false;
    for (const char *at = list; (at = strchr(at, ' ')); at++)
        if (strncmp(at + 1, word.data, word.size) == 0 && at[1 + word.size] == ' ')
            return true;
    return false;
}

bool opt_row_is_for(const struct opt_row *row, const struct opt_verb *verb)
{
    return !row->verbs || opt_listed(row->verbs, str_of(verb->name)) ||
           (verb->group && opt_listed(row->verbs, str_of(verb->group)));
}

static const struct opt_verb *verb_named(const struct opt_program *program, const char *name)
{
    for (const struct opt_verb *verb = program->verbs; verb->name; verb++)
        if (strcmp(verb->name, name) == 0)
            return verb;
    return NULL;
}

bool opt_verb_takes(const struct opt_program *program, const char *verb, const char *option)
{
    const struct opt_verb *named = verb_named(program, verb);
    for (const struct opt_row *row = program->rows; named && row->name; row++)
        if (strcmp(row->name, option) == 0 && opt_row_is_for(row, named))
            return true;
    return false;
}

/* ------------------------------------------------------------------------------------------------ wrong names */

/* Names of 64 bytes and more are not typing errors. */
static unsigned distance(struct str a, struct str b)
{
    return a.size < 64 && b.size < 64 ? str_distance(a, b) : UINT32_MAX;
}

/* How much `name` differs from what was typed: 0 if only in case and '_', 1 if `name` begins with it, more with the
 * distance. */
static unsigned unlikeness(struct str typed, const char *name)
{
    char folded[64];
    const struct str ours = str_of(name);
    if (!typed.size || typed.size >= sizeof(folded))
        return UINT32_MAX;
    for (size_t i = 0; i < typed.size; i++)
        folded[i] = typed.data[i] == '_' ? '-' : typed.data[i];
    const struct str text = {folded, typed.size};
    if (str_equal_ascii_nocase(text, ours))
        return 0;
    if (typed.size >= 3 && str_starts(ours, text))
        return 1;
    const unsigned far = distance(text, ours);
    return far <= 1 + typed.size / 4 ? 1 + far : UINT32_MAX;
}

static int unknown_verb(const struct opt_program *program, const char *typed, struct error *err)
{
    const struct opt_verb *best = NULL;
    unsigned least = UINT32_MAX;
    for (const struct opt_foreign *foreign = program->foreign_verbs; foreign && foreign->from; foreign++)
        if (strcmp(typed, foreign->from) == 0)
            return fail(err, ERR_USAGE, "unknown verb %s; ours is %s", typed, foreign->ours);
    for (const struct opt_verb *verb = program->verbs; verb->name; verb++) {
        const unsigned far = unlikeness(str_of(typed), verb->name);
        if (far < least) {
            least = far;
            best = verb;
        }
    }
    fail(err, ERR_USAGE, "unknown verb %s", typed);
    if (best)
        return hint(err, "did you mean %s?", best->name);
    return hint(err, "%s --help lists the verbs", program->name);
}

static bool names_match(struct str typed, const char *name)
{
    return unlikeness(typed, name) == 0 || str_equal(typed, str_of(name));
}

static const char *foreign_name(const struct opt_program *program, struct str typed)
{
    for (const struct opt_foreign *foreign = program->foreign; foreign && foreign->from; foreign++) {
        char from[64];
        const size_t size = strlen(foreign->from);
        assert(size < sizeof(from));
        for (size_t i = 0; i <= size; i++)
            from[i] = foreign->from[i] == '_' ? '-' : foreign->from[i];
        if (names_match(typed, from))
            return foreign->ours;
    }
    return NULL;
}

static void suggest_row(const struct parser *parser, struct str typed, struct error *err)
{
    const struct opt_row *best = NULL;
    unsigned least = UINT32_MAX;
    for (const struct opt_row *row = parser->program->rows; row->name; row++) {
        const unsigned far = unlikeness(typed, row->name);
        if (far < least && opt_row_is_for(row, parser->verb)) {
            least = far;
            best = row;
        }
    }
    if (best)
        hint(err, "did you mean --%s?", best->name);
    else
        hint(err, "%s %s --help lists the options", parser->program->name, parser->verb->name);
}

static const struct opt_row *row_named(const struct opt_program *program, const struct opt_verb *verb, struct str name)
{
    for (const struct opt_row *row = program->rows; row->name; row++)
        if (str_equal(str_of(row->name), name) && opt_row_is_for(row, verb))
            return row;
    return NULL;
}

/* Names the verbs that have this option, which may be in several rows. */
static int hint_owners(const struct opt_program *program, const char *name, struct error *err)
{
    SCOPED(buf_release) struct buf verbs = {0};
    for (const struct opt_verb *verb = program->verbs; verb->name; verb++)
        if (row_named(program, verb, str_of(name)))
            buf_addf(&verbs, "%s%s", verbs.size ? ", " : "", verb->name);
    hint(err, "it belongs to: %s", buf_text(&verbs));
    return -1;
}

/* `typed` is the name without dashes and value; `dashes` is what preceded it. */
static int unknown_option(const struct parser *parser, const char *dashes, struct str typed, struct error *err)
{
    const struct opt_program *program = parser->program;
    char name[80];
    snprintf(name, sizeof(name), "%s%.*s", dashes, (int)(typed.size < 64 ? typed.size : 64), typed.data);
    const char *ours = foreign_name(program, typed); /* also where another verb has an option of that name */
    for (const struct opt_row *row = program->rows; row->name; row++)
        if (strcmp(dashes, "--") == 0 && str_equal(typed, str_of(row->name)) && !ours) {
            fail(err, ERR_USAGE, "%s has no option %s", parser->verb->name, name);
            return hint_owners(program, row->name, err);
        }
    if (ours)
        return fail(err, ERR_USAGE, "unknown option %s; ours is %s", name, ours);
    fail(err, ERR_USAGE, "unknown option %s", name);
    suggest_row(parser, typed, err);
    return -1;
}

/* ------------------------------------------------------------------------------------------------ walking */

static void print_help(struct parser *parser, const struct opt_verb *verb)
{
    SCOPED(buf_release) struct buf text = {0};
    if (verb)
        opt_help_verb(parser->program, verb, &text);
    else
        opt_help_program(parser->program, false, &text);
    fwrite(text.data, 1, text.size, stdout);
    parser->printed = true;
}

static void print_version(struct parser *parser)
{
    const struct opt_program *program = parser->program;
    const size_t size = strlen(program->version);
    printf("%s%s", program->version, size && program->version[size - 1] == '\n' ? "" : "\n");
    if (program->print_more)
        program->print_more();
    parser->printed = true;
}

/* Prints what --help or --version asks for, about the verb if there is one; false: it is neither. */
static bool print_asked(struct parser *parser, const char *text)
{
    const bool is_help = strcmp(text, "--help") == 0 || strcmp(text, "-h") == 0;
    if (is_help)
        print_help(parser, parser->verb);
    else if (strcmp(text, "--version") == 0 || strcmp(text, "-V") == 0)
        print_version(parser);
    return parser->printed;
}

/* "-" is a name for standard input, and "-1" a number. */
static bool is_option(const char *text)
{
    if (text[0] != '-' || !text[1])
        return false;
    const char *digits = text + 1 + (text[1] == '.');
    return !(digits[0] >= '0' && digits[0] <= '9');
}

static const struct opt_row *row_lettered(const struct parser *parser, char letter)
{
    for (const struct opt_row *row = parser->program->rows; row->name; row++)
        if (row->letter == letter && opt_row_is_for(row, parser->verb))
            return row;
    return NULL;
}

static void mark_given(struct parser *parser, const struct opt_row *row)
{
    const size_t i = (size_t)(row - parser->program->rows);
    const uint64_t bit = (uint64_t)1 << i % 64;
    assert(i < ROWS_MAX);
    const bool again = (parser->result->given[i / 64] & bit) && row->type != OPT_PATHS && row->type != OPT_FLAG;
    parser->result->given[i / 64] |= bit;
    if (again)
        parser->result->repeated[i / 64] |= bit;
}

static int no_value(const struct opt_row *row, struct error *err)
{
    SCOPED(buf_release) struct buf wanted = {0};
    opt_value_name(row, &wanted);
    fail(err, ERR_USAGE, "--%s needs a value:%s", row->name, buf_text(&wanted));
    return -1;
}

/* `value` is the text after '=', or NULL. */
static int take_row(struct parser *parser, const struct opt_row *row, const char *value, struct error *err)
{
    parser->paths = row->type == OPT_PATHS && !row->each ? row : NULL;
    mark_given(parser, row);
    if (row->type == OPT_FLAG) {
        if (value)
            return fail(err, ERR_USAGE, "--%s takes no value", row->name);
        return opt_value_read(row, "", parser->settings, err);
    }
    if (!value) {
        if (parser->at + 1 == parser->argc || is_option(parser->argv[parser->at + 1]))
            return no_value(row, err);
        value = parser->argv[++parser->at];
    }
    return opt_value_read(row, value, parser->settings, err);
}

static int take_option(struct parser *parser, const char *text, struct error *err)
{
    const bool is_long = text[1] == '-';
    if (print_asked(parser, text))
        return 0;
    if (!is_long) { /* -j 4, -j4; but -out is a mistyped --out, not -o ut */
        const struct opt_row *row = row_lettered(parser, text[1]);
        const bool attached = row && row->type == OPT_COUNT && text[2] >= '0' && text[2] <= '9';
        return row && (!text[2] || attached) ? take_row(parser, row, attached ? text + 2 : NULL, err)
                                             : unknown_option(parser, "-", str_of(text + 1), err);
    }
    const char *equals = strchr(text, '=');
    const struct str name = equals ? str_range(text + 2, equals) : str_of(text + 2);
    const struct opt_row *row = row_named(parser->program, parser->verb, name);
    if (!row)
        return unknown_option(parser, "--", name, err);
    return take_row(parser, row, equals ? equals + 1 : NULL, err);
}

static int take_bare(struct parser *parser, const char *text, struct error *err)
{
    if (parser->paths)
        return opt_value_read(parser->paths, text, parser->settings, err);
    if (!text[0]) /* an unset variable of the shell */
        return fail(err, ERR_USAGE, "an argument is empty; %s takes %s", parser->verb->name,
                    parser->verb->bare_max > 0 ? parser->verb->arguments : "options only");
    opt_paths_add(&parser->result->bare, text);
    return 0;
}

static int walk(struct parser *parser, struct error *err)
{
    bool options = true;
    for (; parser->at < parser->argc && !parser->printed; parser->at++) {
        const char *text = parser->argv[parser->at];
        if (options && strcmp(text, "--") == 0) {
            options = false;
            parser->paths = NULL;
        } else if (options && is_option(text)) {
            TRY(take_option(parser, text, err));
        } else {
            TRY(take_bare(parser, text, err));
        }
    }
    return 0;
}

static int check_bare(const struct parser *parser, struct error *err)
{
    const struct opt_verb *verb = parser->verb;
    const struct opt_paths *bare = &parser->result->bare;
    assert(verb);
    if (bare->count < verb->bare_min)
        return fail(err, ERR_USAGE, "%s needs %s", verb->name, verb->arguments);
    if (bare->count <= verb->bare_max)
        return 0;
    const char *odd = bare->items[verb->bare_max];
    if (verb->bare_max == 0)
        return fail(err, ERR_USAGE, "unexpected argument \"%s\": %s takes options only", odd, verb->name);
    return fail(err, ERR_USAGE, "one argument too many: \"%s\"; %s takes %s", odd, verb->name, verb->arguments);
}

/* ------------------------------------------------------------------------------------------------ the whole */

static bool is_verb_or_group(const struct opt_program *program, struct str word)
{
    const struct opt_verb *verb = program->verbs;
    while (verb->name && !str_equal(str_of(verb->name), word) && !(verb->group && str_equal(str_of(verb->group), word)))
        verb++;
    return verb->name;
}

/* Refuses a table with mistakes that nothing else would report: an option of a verb that does not exist would be
 * missing from all verbs, and processes would not compare an option without a scope. */
static int check_rows(const struct opt_program *program, struct error *err)
{
    for (const struct opt_row *row = program->rows; row->name; row++) {
        const char *blank = row->verbs;
        if (row->scope == SCOPE_UNDECIDED)
            return fail(err, ERR_BUG, "--%s: its row has no .scope", row->name);
        while (blank && blank[0] && blank[1]) {
            const struct str word = {blank + 1, strcspn(blank + 1, " ")};
            const char *next = word.data + word.size;
            if (*blank != ' ' || *next != ' ' || !is_verb_or_group(program, word))
                return fail(err, ERR_BUG, "--%s: one of \"%s\" is no verb of %s, or lacks its blanks", row->name,
                            row->verbs, program->name);
            blank = next;
        }
    }
    return 0;
}

static void set_defaults(const struct parser *parser)
{
    for (int of_verb = 0; of_verb < 2; of_verb++)
        for (const struct opt_row *row = parser->program->rows; row->name; row++)
            if (opt_row_is_for(row, parser->verb) == (of_verb == 1))
                opt_value_default(row, parser->settings);
}

static int short_help(const struct opt_program *program, struct error *err)
{
    SCOPED(buf_release) struct buf text = {0};
    opt_help_program(program, true, &text);
    fwrite(text.data, 1, text.size, stderr);
    return fail(err, ERR_USAGE, "nothing to do: no verb given");
}

/* Finds the verb and where its arguments start. Prints what `help` asks for. */
static int find_verb(struct parser *parser, struct error *err)
{
    const struct opt_program *program = parser->program;
    const char *first = parser->argv[1], *name = first;
    const bool is_help = strcmp(first, "help") == 0;
    parser->at = 2;
    if (print_asked(parser, is_help && parser->argc == 2 ? "--help" : first))
        return 0;
    if (is_help)
        name = parser->argv[2];
    if (first[0] == '-' && program->default_verb) {
        name = program->default_verb;
        parser->at = 1;
    } else if (first[0] == '-') {
        static const char *const alone[] = {"version", "help"};
        fail(err, ERR_USAGE, "a verb must come before %s", first);
        for (size_t i = 0; i < sizeof alone / sizeof *alone; i++)
            if (first[1] == '-' && unlikeness(str_of(first + 2), alone[i]) <= 3)
                return hint(err, "did you mean --%s?", alone[i]);
        return hint(err, "%s --help lists the verbs", program->name);
    }
    parser->verb = verb_named(program, name);
    if (!parser->verb)
        return unknown_verb(program, name, err);
    if (is_help)
        print_help(parser, parser->verb);
    return 0;
}

static bool print_document(const struct opt_program *program, const char *argument)
{
    static const struct {
        const char *argument;
        void (*make)(const struct opt_program *program, struct buf *out);
    } documents[] = {
        {"--man", opts_man_page},
        {"--completion", opts_completion},
        {"--completion-zsh", opts_completion_zsh},
        {"--completion-fish", opts_completion_fish},
    };
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++) {
        struct buf text = {0};
        if (strcmp(argument, documents[i].argument) != 0)
            continue;
        documents[i].make(program, &text);
        fputs(buf_text(&text), stdout);
        buf_release(&text);
        return true;
    }
    return false;
}

int opts_parse(const struct opt_program *program, int argc, char **argv, void *settings, struct opt_result *result,
               struct error *err)
{
    struct parser parser = {.program = program, .argc = argc, .argv = argv, .settings = settings, .result = result};
    *result = (struct opt_result){0};
    TRY(check_rows(program, err));
    if (argc < 2)
        return short_help(program, err);
    if (argc == 2 && print_document(program, argv[1]))
        return 0;
    TRY(find_verb(&parser, err));
    if (parser.printed)
        return 0;
    set_defaults(&parser);
    int code = walk(&parser, err);
    if (code == 0 && !parser.printed)
        code = check_bare(&parser, err);
    if (code < 0 || parser.printed)
        opts_release(program, settings, result);
    else
        result->verb = parser.verb;
    return code;
}

void opts_release(const struct opt_program *program, void *settings, struct opt_result *result)
{
    for (const struct opt_row *row = program->rows; row->name; row++) {
        if (row->type != OPT_PATHS)
            continue;
        struct opt_paths *paths = opt_paths_of(row, settings);
        mem_free(paths->items);
        *paths = (struct opt_paths){0};
    }
    mem_free(result->bare.items);
    *result = (struct opt_result){0};
}

const char *opts_repeated(const struct opt_program *program, const struct opt_result *result, size_t *at)
{
    while (program->rows[*at].name) {
        const size_t i = (*at)++;
        if (result->repeated[i / 64] >> i % 64 & 1)
            return program->rows[i].name;
    }
    return NULL;
}

bool opts_given(const struct opt_program *program, const struct opt_result *result, const char *name)
{
    const struct opt_row *row = row_named(program, result->verb, str_of(name));
    if (!row) /* the verb does not take it, so it was not given; assert that it exists at all */
        for (row = program->rows; row->name && strcmp(row->name, name) != 0; row++)
            ;
    assert(row->name);
    const size_t i = (size_t)(row - program->rows);
    return result->given[i / 64] >> i % 64 & 1;
}

bool opts_typed(int argc, char **argv, const char *name)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (argv[i][0] == '-' && argv[i][1] == '-' && strcmp(argv[i] + 2, name) == 0)
            return true;
    return false;
}
