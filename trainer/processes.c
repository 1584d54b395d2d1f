/* In: options, environment. Out: a rank, or why there is none. */
#include "trainer/processes.h"

#include "base/cores.h"
#include "trainer/comm/spawn.h"

#include <math.h>
#include <stdlib.h>

/* None as yet: train and eval, and verify with --replay, as soon as the engine computes shares. */
bool processes_supported(const char *verb)
{
    (void)verb;
    return false;
}

int processes_weight(const char *share, double *weight, struct error *err)
{
    char *end;
    *weight = 1;
    if (str_equal(str_of(share), STR("equal")))
        return 0;
    if (str_equal(str_of(share), STR("auto")))
        return fail(err, ERR_USAGE, "--share auto is not built yet");
    *weight = strtod(share, &end);
    if (end != share && *end == '\0' && isfinite(*weight) && *weight > 0)
        return 0;
    return fail(err, ERR_USAGE, "--share is %.40s, but should be equal or a number above 0", share);
}

static int refuse(const char *verb, const struct launch *launch, struct error *err)
{
    TRY(launcher_refuse("dstrain", err)); /* names the launcher's variable */
    fail(err, ERR_USAGE, "%s by %u processes is not built yet", verb, launch->size);
    return hint(err, "--threads uses all cores of this machine");
}

int processes_find(struct settings *settings, const char *verb, struct launch *launch, struct error *err)
{
    const uint64_t processes = settings->processes ? settings->processes : settings->gpus;
    const struct launch_flags flags = {.rank_given = settings_given(settings, "rank"),
                                       .rank = settings->rank,
                                       .world_size = settings->world_size,
                                       .processes = processes,
                                       .rendezvous = settings->rendezvous};
    double weight;
    if (settings->processes && settings->gpus)
        return fail(err, ERR_USAGE, "--gpus is one process a GPU: --processes cannot be given too");
    if (settings->share)
        TRY(processes_weight(settings->share, &weight, err));
    TRY(launch_find(launch, &flags, (struct environment){0}, err));
    spawn_child_open(launch);
    if (launch->size > 1 && !processes_supported(verb))
        return refuse(verb, launch, err);
    if (launch->local_size > 1)
        settings->threads = launch_threads(launch, settings->threads ? settings->threads : cores_allowed());
    settings->quiet |= launch->rank > 0 && !launch->children;
    return 0;
}
