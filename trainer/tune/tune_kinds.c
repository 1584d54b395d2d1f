#include "trainer/tune/tune_kinds.h"

#include <string.h>

#include "base/str.h"

#define PLACED(kind) &kind,
const struct tune_kind *const tune_kinds[] = {TUNE_KINDS(PLACED) NULL};

struct tune_task tune_task_named(const char *name)
{
    for (size_t i = 0; tune_kinds[i]; i++)
        if (tune_kinds[i]->find(name))
            return (struct tune_task){tune_kinds[i], tune_kinds[i]->find(name)};
    return (struct tune_task){NULL, name};
}

struct tune_task tune_task_recorded(const char *recorded)
{
    for (size_t i = 0; recorded && tune_kinds[i]; i++) {
        const size_t size = strlen(tune_kinds[i]->verb);
        if (strncmp(recorded, tune_kinds[i]->verb, size) != 0 || (recorded[size] != ' ' && recorded[size] != '\0'))
            continue;
        const char *rest = recorded[size] == ' ' ? recorded + size + 1 : recorded, *name = tune_kinds[i]->find(rest);
        return (struct tune_task){name ? tune_kinds[i] : NULL, name ? name : rest};
    }
    return (struct tune_task){NULL, recorded};
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
