/* The command of a run's last start, as run.json records it, as it is or with other options. */
#pragma once

#include <jansson.h>

struct rerun_option {
    const char *name, *value; /* value NULL: a flag; name NULL: the end */
};
#define RERUN_OPTIONS_MAX 4

/* These options replace those of their names (--steps also --epochs). Options of one start only (--skip-damaged,
 * --stop-after) are left out, and --fresh moves the run away. NULL: the record has no command. The caller frees it with
 * mem_free. */
char *rerun_command(const json_t *record, const struct rerun_option options[RERUN_OPTIONS_MAX]);
/* The command that continues the run: without the options of one start only. NULL and memory as above. */
char *rerun_continue(const json_t *record);
