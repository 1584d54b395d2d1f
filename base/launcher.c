#include "base/launcher.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

unsigned long launcher_processes(const char **variable)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "WORLD_SIZE",
                                        "SLURM_NTASKS"};
    const char *slurm_step = getenv("SLURM_STEP_ID");
    const bool in_step = slurm_step && isdigit((unsigned char)slurm_step[0]);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const char *value = getenv(names[i]);
        if (!value || strtol(value, NULL, 10) <= 1 || (strcmp(names[i], "SLURM_NTASKS") == 0 && !in_step))
            continue;
        *variable = names[i];
        return strtoul(value, NULL, 10);
    }
    *variable = NULL;
    return 1;
}

int launcher_refuse(const char *program, struct error *err)
{
    const char *variable;
    const unsigned long processes = launcher_processes(&variable);
    if (processes == 1)
        return 0;
    fail(err, ERR_USAGE, "a launcher started %lu processes (%s), but this is done by one", processes, variable);
    return hint(err, "start %s once; --threads uses all cores of this machine", program);
}
