#include "pipeline/parts/changed_command.h"

#include "base/output.h"

#include <string.h>

char *changed_command(const struct dsdata_settings *settings, const struct option_change *changes, size_t count,
                      bool fresh)
{
    const char *verb = settings->result->verb->name;
    struct buf leave = {0};
    buf_add_text(&leave, " fresh ");
    for (size_t i = 0; i < count; i++)
        buf_addf(&leave, "%s ", changes[i].name);
    struct buf command = settings_command(settings, verb, buf_text(&leave));
    for (size_t i = 0; i < count; i++)
        command_option(&command, changes[i].name, changes[i].value);
    if ((fresh || settings->fresh) && strcmp(verb, "build") == 0)
        command_option(&command, "fresh", NULL);
    buf_release(&leave);
    buf_text(&command);
    return command.data;
}
