/* Completion scripts for bash, zsh and fish. */
#include "base/opts_rows.h"

#include <string.h>

/* ---- bash ---- */

static void complete_names(const struct opt_program *program, const struct opt_verb *verb, struct buf *out)
{
    buf_addf(out, "    %s) names='", verb->name);
    for (const struct opt_row *row = program->rows; row->name; row++)
        if (opt_row_is_for(row, verb))
            buf_addf(out, "--%s ", row->name);
    buf_add_text(out, "--help' ;;\n");
}

static void complete_choices(const struct opt_program *program, const struct opt_verb *verb, struct buf *out)
{
    for (const struct opt_row *row = program->rows; row->name; row++) {
        if ((row->type != OPT_CHOICE && row->type != OPT_SET) || !opt_row_is_for(row, verb))
            continue;
        buf_addf(out, "    %s:--%s) words='", verb->name, row->name);
        opt_add_choices(row, " ", out);
        buf_add_text(out, "' ;;\n");
    }
}

void opts_completion(const struct opt_program *program, struct buf *out)
{
    const char *name = program->name;
    buf_addf(out, "# bash completion of %s\n_%s() {\n", name, name);
    buf_add_text(out, "    local verb=${COMP_WORDS[1]} word=$2 before=$3 names='' words=''\n");
    if (program->default_verb)
        buf_addf(out, "    [[ $verb == -* ]] && verb=%s\n", program->default_verb);
    buf_add_text(out, "    case $verb in\n");
    for (const struct opt_verb *verb = program->verbs; verb->name; verb++)
        complete_names(program, verb, out);
    buf_add_text(out, "    esac\n    case $verb:$before in\n");
    for (const struct opt_verb *verb = program->verbs; verb->name; verb++)
        complete_choices(program, verb, out);
    buf_add_text(out, "    esac\n    if [[ $words ]]; then\n"
                      "        COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
                      "    elif [[ $word == -* ]]; then\n"
                      "        COMPREPLY=($(compgen -W \"$names --version\" -- \"$word\"))\n"
                      "    elif ((COMP_CWORD == 1)); then\n"
                      "        COMPREPLY=($(compgen -W '");
    for (const struct opt_verb *verb = program->verbs; verb->name; verb++)
        buf_addf(out, "%s ", verb->name);
    buf_addf(out,
             "help' -- \"$word\"))\n"
             "    fi\n}\ncomplete -o default -F _%s %s\n",
             name, name);
}

/* ---- zsh ---- */

/* Adds text for use between quotes '…': every character of `special` gets a backslash. */
static void add_quoted(struct buf *out, const char *text, const char *special)
{
    for (; *text; text++) {
        if (*text == '\'') {
            buf_add_text(out, "'\\''");
            continue;
        }
        if (strchr(special, *text))
            buf_add_byte(out, '\\');
        buf_add_byte(out, *text);
    }
}

/* The names that an option accepts, as "a b c"; adds nothing if they are not a list. */
static bool add_choice_words(const struct opt_row *row, struct buf *out)
{
    if (row->type != OPT_CHOICE && row->type != OPT_SET)
        return false;
    opt_add_choices(row, " ", out);
    return true;
}

/* Options whose values may be a path. */
static bool takes_files(const struct opt_row *row)
{
    return row->type == OPT_TEXT || row->type == OPT_PATHS;
}

static void zsh_row(const struct opt_row *row, struct buf *out)
{
    struct buf choices = {0};
    buf_addf(out, " \\\n            '*--%s%s[", row->name, row->type == OPT_FLAG ? "" : "=");
    add_quoted(out, row->help, "[]:\\");
    buf_add_text(out, "]");
    if (row->type != OPT_FLAG)
        buf_add_text(out, add_choice_words(row, &choices) ? ":value:("
                          : takes_files(row)              ? ":value:_files"
                                                          : ":value:");
    if (choices.size > 0)
        buf_addf(out, "%s)", buf_text(&choices));
    buf_add_text(out, "'");
    buf_release(&choices);
}

void opts_completion_zsh(const struct opt_program *program, struct buf *out)
{
    buf_addf(out, "#compdef %s\nlocal verb=${words[2]}\n", program->name);
    if (program->default_verb)
        buf_addf(out, "[[ $verb == -* ]] && verb=%s\n", program->default_verb);
    buf_add_text(out, "if (( CURRENT == 2 )) && [[ ${words[2]} != -* ]]; then\n    local -a verbs=(");
    for (const struct opt_verb *verb = program->verbs; verb->name; verb++) {
        buf_addf(out, "\n        '%s:", verb->name);
        add_quoted(out, verb->help, ":\\");
        buf_add_text(out, "'");
    }
    buf_add_text(out, ")\n    _describe verb verbs\nelse\n    case $verb in\n");
    for (const struct opt_verb *verb = program->verbs; verb->name; verb++) {
        buf_addf(out, "        %s) _arguments", verb->name);
        for (const struct opt_row *row = program->rows; row->name; row++)
            if (opt_row_is_for(row, verb))
                zsh_row(row, out);
        buf_add_text(out, " \\\n            '--help[The options of this verb.]' '*:file:_files' ;;\n");
    }
    buf_add_text(out, "    esac\nfi\n");
}

/* ---- fish ---- */

/* Adds the rest of a quoted text and the end of the line. */
static void add_fish_text(const char *text, struct buf *out)
{
    for (; *text; text++) {
        buf_add_text(out, *text == '\'' || *text == '\\' ? "\\" : "");
        buf_add_byte(out, *text);
    }
    buf_add_text(out, "'\n");
}

static void fish_row(const struct opt_program *program, const struct opt_verb *verb, const struct opt_row *row,
                     struct buf *out)
{
    struct buf choices = {0};
    buf_addf(out, "complete -c %s -n '__%s_verb %s' -l %s", program->name, program->name, verb->name, row->name);
    if (row->letter)
        buf_addf(out, " -s %c", row->letter);
    if (add_choice_words(row, &choices))
        buf_addf(out, " -x -a '%s'", buf_text(&choices));
    else if (row->type != OPT_FLAG)
        buf_add_text(out, takes_files(row) ? " -r" : " -x");
    buf_add_text(out, " -d '");
    add_fish_text(row->help, out);
    buf_release(&choices);
}

void opts_completion_fish(const struct opt_program *program, struct buf *out)
{
    const char *name = program->name;
    buf_addf(out, "# fish completion of %s\nfunction __%s_verb\n    set -l words (commandline -opc)\n", name, name);
    if (program->default_verb)
        buf_addf(out,
                 "    if string match -q -- '-*' \"$words[2]\"; or test (count $words) = 1\n"
                 "        test $argv[1] = %s\n        return\n    end\n",
                 program->default_verb);
    buf_add_text(out, "    test \"$words[2]\" = $argv[1]\nend\n");
    for (const struct opt_verb *verb = program->verbs; verb->name; verb++) {
        buf_addf(out, "complete -c %s -n __fish_use_subcommand -f -a %s -d '", name, verb->name);
        add_fish_text(verb->help, out);
        for (const struct opt_row *row = program->rows; row->name; row++)
            if (opt_row_is_for(row, verb))
                fish_row(program, verb, row, out);
    }
}
