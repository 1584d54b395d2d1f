/* One table of options per program. Each row provides parsing, default, range check, --help, man page, shell completion
 * and the record of settings in force. Options are long, never abbreviated; `--name value` and `--name=value` are the
 * same. A row lists the verbs that take the option. Settings are one struct per program; a row holds the offset of its
 * field. */
#pragma once

#include "base/error.h"
#include "base/str.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each with the type of its field in the settings. */
enum opt_type {
    OPT_FLAG,          /* bool: no value, sets true */
    OPT_COUNT,         /* uint64_t, decimal, no suffix, within [min, max] */
    OPT_SIZE,          /* uint64_t bytes: digits with optional K, M, G (1024) */
    OPT_DURATION,      /* uint64_t seconds: 90s, 30m, 8h, 2d */
    OPT_MILLIONTHS,    /* uint32_t: a decimal in [0, 1] as whole millionths, without floating point, half to even */
    OPT_REAL,          /* double, locale independent, finite, within [real_min, real_max] */
    OPT_TEXT,          /* const char *: the argument itself */
    OPT_CHOICE,        /* int: index in `choices` ("token|whole-word"), or what `choice` says */
    OPT_SET,           /* uint32_t: bit i set for the i-th of `choices`; a comma list; "" and "none" are empty */
    OPT_NUMBERS,       /* struct opt_numbers: a comma list of counts, each within [min, max] */
    OPT_PATHS,         /* struct opt_paths: its value and the bare arguments that follow; repeating adds */
    OPT_COUNT_OR_TIME, /* struct opt_count_or_time: a count, or a duration with a suffix */
};

#define OPT_NUMBERS_MAX 16

struct opt_numbers {
    uint32_t values[OPT_NUMBERS_MAX];
    size_t count;
};

struct opt_paths {
    const char **items; /* pointers into argv; the array is owned by the settings (opts_release) */
    size_t count;
};

struct opt_count_or_time {
    uint64_t count;   /* 0 where a duration was given */
    uint64_t seconds; /* 0 where a count was given */
};

/* What the value of an option belongs to. It follows whether processes that work together must be given the same. */
enum opt_scope {
    SCOPE_UNDECIDED, /* opts_parse refuses such a row */
    SCOPE_IDENTITY,  /* the identity of a run or a dataset, because it changes the result; the same in all processes */
    SCOPE_CONTENT,   /* names files whose contents are in the identity; each process may have them elsewhere */
    SCOPE_RUN,       /* all processes, but not the identity */
    SCOPE_SAME_BITS, /* as SCOPE_IDENTITY with --same-bits, else as SCOPE_PROCESS */
    SCOPE_PROCESS,   /* one process: its machine and its files, or what one process does alone */
};

/* One value of an option whose values come from another table. */
struct opt_choice {
    const char *name; /* NULL: the end of the table */
    const char *help; /* a few words for --help, or NULL */
    int value;        /* what the field gets */
};

/* Defines a function for the choices of an option: the names of an enum, by number. */
#define OPT_CHOICES(function, names, count)                                                                            \
    static struct opt_choice function(size_t i)                                                                        \
    {                                                                                                                  \
        return i < (size_t)(count) ? (struct opt_choice){(names)[i], NULL, (int)i} : (struct opt_choice){0};           \
    }

struct opt_row {
    const char *name; /* without dashes */
    char letter;      /* one-letter form, or 0 */
    enum opt_type type;
    enum opt_scope scope;
    const char *key;           /* path of the key that says the same in a configuration file, "a.b"; or NULL */
    size_t field;              /* offsetof(struct settings, ...) */
    const char *value;         /* name of the value in the help ("FILE"), NULL for a flag */
    const char *default_text;  /* parsed like a value; NULL: the field stays zero */
    const char *default_help;  /* the default in --help, if default_text is not clear enough; or NULL */
    bool automatic;            /* for counts: "auto" is taken, too, as 0 */
    uint64_t min, max;         /* for counts, sizes, numbers; max 0 = no upper bound */
    double real_min, real_max; /* for OPT_REAL; both 0 = any finite */
    bool ramp;                 /* for counts and millionths: "X" or "X:Y"; the field is an array of two, equal for X */
    const char *choices;       /* for OPT_CHOICE and OPT_SET: "a|b|c" */
    struct opt_choice (*choice)(size_t i); /* for OPT_CHOICE in place of `choices`: the i-th, from 0 */
    bool each;                             /* for OPT_PATHS: one path per option; bare arguments are not taken */
    const char *verbs; /* " build vocab ": verbs or groups of them that take it, each between blanks; NULL: all */
    const char *help;  /* one sentence */
};

/* A verb of the program. */
struct opt_verb {
    const char *name;
    const char *arguments; /* "DIR", "FILE...", or "" where it takes none */
    const char *help;      /* one sentence */
    const char *example;   /* a command line, or NULL */
    int (*run)(void *settings, struct opt_paths bare, struct error *err); /* bare: arguments that belong to no option */
    size_t bare_min, bare_max; /* how many bare arguments; bare_max SIZE_MAX = any */
    const char *group;         /* a name that rows may list in place of the verbs of a group; NULL: it is in none */
};

/* Whether a verb takes the option of a row. */
bool opt_row_is_for(const struct opt_row *row, const struct opt_verb *verb);

/* A name that users of other tools type, and our name for it. `from` has no dashes. */
struct opt_foreign {
    const char *from;
    const char *ours; /* "--steps" */
};

/* A file or an environment variable, for the man page. */
struct opt_note {
    const char *name;
    const char *text; /* one sentence */
};

struct opt_program {
    const char *name;                        /* "dsdata" */
    const char *summary;                     /* one sentence */
    const struct opt_verb *verbs;            /* ends with a row whose name is NULL */
    const struct opt_row *rows;              /* ends with a row whose name is NULL */
    const struct opt_foreign *foreign;       /* ends with NULL; may be NULL, as the next */
    const struct opt_foreign *foreign_verbs; /* the same for verbs */
    const char *default_verb;                /* verb when the first argument is an option; NULL: a verb is required */
    const char *version;                     /* the lines that --version prints */
    void (*print_more)(void);                /* the part of --version that takes time to find; NULL: nothing */
    const struct opt_note *files;            /* ends with a row whose name is NULL; may be NULL, as the next */
    const struct opt_note *environment;      /* besides NO_COLOR, which every program obeys */
    const char *see_also;                    /* "dstrain(1)", or NULL */
};

/* Whether the program has the verb, and it takes the option. */
bool opt_verb_takes(const struct opt_program *program, const char *verb, const char *option);

/* The result of parsing a command line. */
struct opt_result {
    const struct opt_verb *verb; /* NULL: --help or --version was asked for and printed (on stdout); exit 0 */
    struct opt_paths bare;       /* owned: opts_release */
    uint64_t given[4];           /* bit i: row i was given on the command line (at most 256 rows) */
    uint64_t repeated[4];        /* bit i: more than once, with one place for its value */
};

/* Parses into settings (which it sets to defaults first). ERR_USAGE: an unknown verb or option (with the nearest
 * spelling, or our name for a foreign one), an option of another verb, a missing, bad or out-of-range value.
 * `--help`, `VERB --help`, `help VERB` and `--version` print and leave result->verb NULL; a bare program
 * name prints a short help on stderr and is ERR_USAGE. `--` ends the options. "-" and negative numbers are values. Of a
 * repeated option the last one counts. One name may be in several rows, for different verbs; the rows of the verb in
 * force set their defaults last. On error, and if verb is NULL, nothing is held. ERR_BUG: a row has no scope, or is for
 * a verb that does not exist. */
int opts_parse(const struct opt_program *program, int argc, char **argv, void *settings, struct opt_result *result,
               struct error *err);
void opts_release(const struct opt_program *program, void *settings, struct opt_result *result);

/* A decimal fraction from 0 to 1 as whole millionths; digits after the sixth place are rounded, half to even. False: it
 * is none. */
bool opts_millionths(struct str text, uint32_t *value);

/* Iterates, from *at = 0, over the options that were given more than once although only the last value counts; NULL: no
 * more. */
const char *opts_repeated(const struct opt_program *program, const struct opt_result *result, size_t *at);

/* Whether the option was given on the command line, rather than set by its default. The name must exist. */
bool opts_given(const struct opt_program *program, const struct opt_result *result, const char *name);

/* Whether "--name" is on the command line, before any "--". For --json, which must be known even if opts_parse
 * fails. */
bool opts_typed(int argc, char **argv, const char *name);

/* The verb's options in force, for the record of a run: an object of strings, each as one would type it; an option that
 * takes paths is an array of strings. Texts and paths that are not set are omitted. Ill-formed UTF-8 in a text becomes
 * '?' (json_name). The caller json_decref's it. */
json_t *opts_json(const struct opt_program *program, const struct opt_verb *verb, const void *settings);

/* Sets the row's field from the value of its key: true or false for a flag, a number, a choice's name, [a, b] for a
 * ramp. False: it is none of these, and `wanted` says what it is not ("not a number from 0 to 0.99"); the field is
 * undefined. A text is the value's own and lives as long. The row is not of a size, a duration or a list. */
#define OPT_WANTED_BYTES 160
bool opts_set_json(const struct opt_row *row, const json_t *value, void *settings, char wanted[OPT_WANTED_BYTES]);

/* A command line to type after this one: `verb`, unless it may be left out, with the inputs of this command (bare
 * arguments), and with those of the given options that `verb` has too and `leave` does not list (" out limit "). -q,
 * -v, --json and --force are never repeated. What it gives is quoted and works whatever the names hold (more than 24 of
 * them become FILE...); command_option and others of output.h add more to *out. */
void opts_command(const struct opt_program *program, const struct opt_result *result, const void *settings,
                  const char *verb, const char *leave, struct buf *out);

/* Generated documents: a roff man page, and completion scripts for bash, zsh and fish. opts_parse prints them for the
 * hidden arguments `--man`, `--completion`, `--completion-zsh` and `--completion-fish`, each alone on the command line;
 * the build uses them at install time. */
void opts_man_page(const struct opt_program *program, struct buf *out);
void opts_completion(const struct opt_program *program, struct buf *out);
void opts_completion_zsh(const struct opt_program *program, struct buf *out);
void opts_completion_fish(const struct opt_program *program, struct buf *out);
