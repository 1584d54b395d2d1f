#include "trainer/tune/tune_kinds.h"

#include "base/mem.h"
#include "base/output.h"

#define PLACED(kind) &kind,
const struct tune_kind *const tune_kinds[] = {TUNE_KINDS(PLACED) NULL};

static const char *find(const struct tune_kind *kind, const char *name)
{
    return kind->find ? kind->find(name) : strcmp(name, kind->verb) == 0 ? kind->verb : NULL;
}

struct tune_task tune_task_named(const char *name)
{
    for (size_t i = 0; tune_kinds[i]; i++)
        if (find(tune_kinds[i], name))
            return (struct tune_task){tune_kinds[i], find(tune_kinds[i], name)};
    return (struct tune_task){NULL, name};
}

struct tune_task tune_task_recorded(const char *recorded)
{
    for (size_t i = 0; recorded && tune_kinds[i]; i++) {
        const size_t size = strlen(tune_kinds[i]->verb);
        if (strncmp(recorded, tune_kinds[i]->verb, size) != 0 || (recorded[size] != ' ' && recorded[size] != '\0'))
            continue;
        const char *rest = recorded[size] == ' ' ? recorded + size + 1 : recorded, *name = find(tune_kinds[i], rest);
        return (struct tune_task){name ? tune_kinds[i] : NULL, name ? name : rest};
    }
    return (struct tune_task){NULL, recorded};
}

size_t tune_fits(const struct tune_kind *kind, const json_t *config, const char *data, const char **names)
{
    if (kind->fits)
        return kind->fits(config, data, names);
    names[0] = kind->verb;
    return 1;
}

static bool in_folder(const struct tune_kind *kind)
{
    return strcmp(kind->data, "data") == 0;
}

bool tune_trains(const struct tune_kind *kind, const struct settings *settings)
{
    return in_folder(kind) ? settings->glue : settings->train;
}

bool tune_scores(const struct tune_kind *kind, const struct settings *settings)
{
    return kind->holds_out || (in_folder(kind) ? settings->glue : settings->dev);
}

char *tune_command(const struct tune_task *task, const char *model)
{
    const char *verb = task->kind->verb;
    char *begin = strcmp(verb, task->name) == 0 ? command_text("dstrain %s --init %s", verb, model)
                                                : command_text("dstrain %s %s --init %s", verb, task->name, model);
    SCOPED(buf_release) struct buf text = {0};
    buf_addf(&text, "%s %s", begin, task->kind->asks);
    mem_free(begin);
    char *command = mem_copy_text(buf_text(&text));
    return command;
}

static bool takes(const struct tune_kind *kind, const char *option)
{
    for (const char *const *own = kind ? kind->options : NULL; own && *own; own++)
        if (strcmp(*own, option) == 0)
            return true;
    return false;
}

int tune_refuse_options(const struct tune_kind *kind, const struct settings *settings, struct error *err)
{
    for (size_t i = 0; tune_kinds[i]; i++)
        for (const char *const *option = tune_kinds[i]->options; *option; option++)
            if (settings_given(settings, *option) && !takes(kind, *option))
                return fail(err, ERR_USAGE, "--%s is for %s alone", *option, tune_kinds[i]->verb);
    return 0;
}
