#include "trainer/parallel/comm_backend.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/launcher.h"
#include "base/mem.h"
#include "trainer/device/backend.h"

static int probe_gpu(struct comm_backend *backend, const struct settings *settings, struct error *err)
{
    struct cuda_facts facts;
    if (settings_given(settings, "device") && settings->device == DEVICE_CPU)
        return 0;
    TRY(backend_probe(DEVICE_CUDA, &facts, err));
    backend->cuda = true;
    memcpy(backend->gpu, facts.uuid, sizeof backend->gpu);
    return 0;
}

static int refuse_device(const struct settings *settings, struct error *err)
{
    const bool said = settings_given(settings, "device");
    fail(err, ERR_USAGE, "--comm nccl is for --device cuda%s", said ? ", this is --device cpu" : "");
    return hint(err, "--comm gloo works with the CPU");
}

/* MPI if nothing else tells the processes where to meet. Otherwise, for example in a step of srun --mpi=pmi2, gloo: an
 * MPI that was built without srun's PMI would end the process. */
static enum comm_kind choose(const struct launch *launch)
{
    struct error why;
    const bool named = launch->rendezvous[0] && comm_kind_check(COMM_GLOO, &why) == 0;
    return launch_is_mpi(launch->kind) && !named ? COMM_MPI : COMM_GLOO;
}

int comm_backend_find(struct comm_backend *backend, const struct settings *settings, struct error *err)
{
    struct error why;
    const bool nccl = settings->comm == COMM_NCCL;
    *backend = (struct comm_backend){.chosen = settings->comm != COMM_AUTO};
    backend->kind = backend->chosen ? (enum comm_kind)settings->comm : choose(settings->launch);
    if (nccl && !comm_kind_version(COMM_NCCL, err))
        return -1;
    if (probe_gpu(backend, settings, &why) < 0 && nccl && settings_given(settings, "device")) {
        *err = why;
        return -1;
    }
    if (nccl && !backend->cuda)
        return refuse_device(settings, err);
    if (!backend->cuda)
        return 0;
    backend->able = comm_kind_version(COMM_NCCL, &why);
    backend->shares = backend->able && comm_kind_shares_gpu(COMM_NCCL);
    if (!backend->able)
        comm_kind_text(COMM_NCCL, backend->why);
    return 0;
}

/* What a process tells all others about itself and its GPU. */
struct card {
    bool able, shares;
    unsigned char gpu[CUDA_UUID_BYTES];
};

/* Finds two processes with the same GPU; false: there are none. */
static bool find_sharing(const struct card *cards, uint32_t size, uint32_t *first, uint32_t *second)
{
    for (uint32_t b = 1; b < size; b++)
        for (uint32_t a = 0; a < b; a++)
            if (memcmp(cards[a].gpu, cards[b].gpu, CUDA_UUID_BYTES) == 0) {
                *first = a;
                *second = b;
                return true;
            }
    return false;
}

/* Decides from the cards of all processes, so all come to the same result. */
static int decide(struct comm_backend *backend, const struct card *cards, uint32_t size, struct error *err)
{
    bool able = true, share = true;
    uint32_t a, b;
    for (uint32_t r = 0; r < size; r++) {
        able &= cards[r].able;
        share &= cards[r].shares;
    }
    const bool too_many = able && !share && find_sharing(cards, size, &a, &b);
    if (backend->kind == COMM_NCCL && too_many) {
        const char *version = comm_kind_version(COMM_NCCL, err);
        fail(err, ERR_USAGE,
             "--comm nccl: ranks %" PRIu32 " and %" PRIu32 " have the same GPU, and %s wants one for each", a, b,
             version ? version : "NCCL");
        return hint(err,
                    "--gpus N starts one process per GPU; NCCL 2.30 shares one where NCCL_MULTI_RANK_GPU_ENABLE=1; "
                    "--comm gloo needs neither");
    }
    if (backend->chosen)
        return 0;
    if (able && !too_many)
        backend->kind = COMM_NCCL;
    else if (too_many)
        snprintf(backend->why, sizeof backend->why, "ranks %" PRIu32 " and %" PRIu32 " have the same GPU", a, b);
    else if (backend->able)
        snprintf(backend->why, sizeof backend->why, "not every process has a GPU and NCCL");
    return 0;
}

int comm_backend_agree(struct comm_backend *backend, struct rendezvous *rendezvous, uint32_t size, struct error *err)
{
    struct card card = {.able = backend->able, .shares = backend->shares};
    SCOPED(mem_free_at) struct card *cards = mem_array(size, sizeof *cards);
    memcpy(card.gpu, backend->gpu, sizeof card.gpu);
    TRY(rendezvous_all_gather_equal(rendezvous, &card, sizeof card, cards, err));
    TRY(decide(backend, cards, size, err));
    if (backend->kind != COMM_NCCL)
        return 0;
    const char *version = comm_kind_version(COMM_NCCL, err);
    return version ? rendezvous_compare(
                         rendezvous, &(struct rendezvous_fact){.name = "the version of NCCL", .value = version}, 1, err)
                   : -1;
}

void comm_backend_describe(const struct comm_backend *backend, char *out, size_t size)
{
    struct error err;
    const bool staged = backend->cuda && backend->kind != COMM_NCCL, says = staged && backend->why[0];
    const char *version = comm_kind_version(backend->kind, &err);
    snprintf(out, size, "over %s%s%s%s", version ? version : comm_kind_name(backend->kind),
             staged ? ", through the host's memory" : "", says ? ": " : "", says ? backend->why : "");
}
