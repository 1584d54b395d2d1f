#include "trainer/parallel/processes.h"

#include "base/cores.h"
#include "trainer/device/backend.h"
#include "trainer/comm/spawn.h"
#include "trainer/parallel/run_key.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

bool processes_supported(const char *verb, const struct settings *settings)
{
    return opt_verb_takes(settings->program, verb, "world-size") && (settings->replay || strcmp(verb, "verify") != 0);
}

int processes_weight(const char *share, double *weight, struct error *err)
{
    char *end;
    *weight = 1;
    if (str_equal(str_of(share), STR("equal")))
        return 0;
    if (str_equal(str_of(share), STR("auto"))) {
        *weight = 0;
        return 0;
    }
    *weight = strtod(share, &end);
    if (end != share && *end == '\0' && isfinite(*weight) && *weight > 0)
        return 0;
    return fail(err, ERR_USAGE, "--share is %.40s, but should be equal, auto or a number above 0", share);
}

static int refuse(const char *verb, const struct launch *launch, struct error *err)
{
    TRY(launcher_refuse("dstrain", err)); /* names the launcher's variable */
    fail(err, ERR_USAGE, "%s runs in one process, but there are %u", verb, launch->size);
    return hint(err, "--threads uses all cores of this machine");
}

/* The number of GPUs that this process may see. CUDA is not asked, because that would fix which GPUs it shows, before
 * take_gpu can choose one. */
static uint32_t gpus_visible(void)
{
    const char *at = getenv("CUDA_VISIBLE_DEVICES");
    uint32_t count = at && *at;
    if (!at)
        return backend_cards();
    for (; (at = strchr(at, ',')); at++)
        count++;
    return count;
}

/* Restricts this process to one GPU, the n-th of those that CUDA may use. */
static void take_gpu(uint32_t n)
{
    const char *at = getenv("CUDA_VISIBLE_DEVICES");
    char one[80];
    snprintf(one, sizeof one, "%" PRIu32, n);
    for (uint32_t i = 0; at && i < n; i++)
        at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL;
    if (at)
        snprintf(one, sizeof one, "%.*s", (int)strcspn(at, ","), at);
    setenv("CUDA_VISIBLE_DEVICES", one, 1);
}

/* For the command that starts --gpus processes: checks that there are that many GPUs. */
static int check_gpus(const struct settings *settings, struct error *err)
{
    struct cuda_facts facts;
    if (settings_given(settings, "device") && settings->device == DEVICE_CPU)
        return fail(err, ERR_USAGE, "--gpus starts one process per GPU, but this is --device cpu: use --processes");
    TRY(backend_probe(DEVICE_CUDA, &facts, err));
    if (settings->gpus <= (uint64_t)facts.count)
        return 0;
    fail(err, ERR_RESOURCE, "--gpus %" PRIu64 ", and CUDA shows %d here: %s", settings->gpus, facts.count, facts.name);
    return hint(err, "dstrain doctor says what is there; CUDA_VISIBLE_DEVICES says which GPUs a program sees");
}

/* Assigns the machine's GPUs to its processes in turn, before anything calls CUDA. */
static void share_gpus(const struct settings *settings, const struct launch *launch)
{
    const bool cpu = settings_given(settings, "device") && settings->device == DEVICE_CPU;
    const uint32_t visible = settings->gpus ? (uint32_t)settings->gpus : gpus_visible();
    if (!cpu && (settings->gpus || (launch->size > 1 && visible > 1)))
        take_gpu(launch->local_rank % visible);
}

/* Every start reads the inputs from their beginning. */
static int check_restarts(const struct settings *settings, struct error *err)
{
    const char *const inputs[] = {settings->train, settings->dev};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        if (inputs[i] && strcmp(inputs[i], "-") == 0) {
            fail(err, ERR_USAGE, "--restarts reads the inputs again, and standard input can be read only once");
            return hint(err, "save it to a file first");
        }
    return 0;
}

int processes_find(struct settings *settings, const char *verb, struct launch *launch, struct error *err)
{
    const bool plans = strcmp(verb, "plan") == 0 || settings->dry_run; /* it starts nothing */
    const uint64_t processes = plans ? 0 : settings->processes ? settings->processes : settings->gpus;
    const struct launch_flags flags = {.rank_given = settings_given(settings, "rank"),
                                       .rank = settings->rank,
                                       .world_size = settings->world_size,
                                       .processes = processes,
                                       .restarts = plans ? 0 : settings->restarts,
                                       .rendezvous = settings->rendezvous};
    double weight;
    if (settings->processes && settings->gpus)
        return fail(err, ERR_USAGE, "--gpus starts one process per GPU: --processes cannot be given too");
    if (settings->restarts > 0)
        TRY(check_restarts(settings, err));
    if (settings->share)
        TRY(processes_weight(settings->share, &weight, err));
    TRY(launch_find(launch, &flags, (struct environment){0}, err));
    TRY(spawn_child_open(launch, err));
    if (launch->size > 1 && !processes_supported(verb, settings))
        return refuse(verb, launch, err);
    TRY(run_key_find(settings, launch, err));
    if (launch->local_size > 1)
        settings->threads = launch_threads(launch, settings->threads ? settings->threads : cores_allowed());
    if (!launch->children)
        share_gpus(settings, launch);
    else if (settings->gpus)
        TRY(check_gpus(settings, err));
    settings->quiet |= launch->rank > 0 && !launch->children;
    return 0;
}
