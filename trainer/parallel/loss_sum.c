#include "trainer/parallel/loss_sum.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"

void loss_sum_open(struct loss_sum *losses, struct comm *comm, struct rendezvous *rendezvous, uint64_t parts,
                   const uint64_t *borders)
{
    const uint32_t size = comm_size(comm);
    *losses = (struct loss_sum){.comm = comm, .rendezvous = rendezvous, .parts = parts};
    if (parts == 0)
        return;
    losses->borders = mem_array(size + 1, sizeof *losses->borders);
    losses->counts = mem_array(size, sizeof *losses->counts);
    losses->of_parts = mem_clear((size_t)parts, sizeof *losses->of_parts);
    loss_sum_redivide(losses, borders);
}

void loss_sum_close(struct loss_sum *losses)
{
    mem_free(losses->borders);
    mem_free(losses->counts);
    mem_free(losses->of_parts);
    *losses = (struct loss_sum){0};
}

void loss_sum_redivide(struct loss_sum *losses, const uint64_t *borders)
{
    const uint32_t size = losses->parts > 0 ? comm_size(losses->comm) : 0;
    if (size == 0)
        return;
    assert(borders[0] == 0 && borders[size] == losses->parts);
    memcpy(losses->borders, borders, (size + 1) * sizeof *borders);
    for (uint32_t r = 0; r < size; r++) {
        assert(borders[r] <= borders[r + 1]);
        losses->counts[r] = (size_t)(borders[r + 1] - borders[r]) * STEP_SUMS;
    }
}

void loss_sum_begin(struct loss_sum *losses, uint64_t number)
{
    losses->number = number;
    memset(losses->sums, 0, sizeof losses->sums);
    if (losses->parts > 0)
        losses->part = losses->borders[comm_rank(losses->comm)];
}

void loss_sum_pass(struct loss_sum *losses, const double sums[STEP_SUMS])
{
    if (losses->parts == 0) {
        for (int i = 0; i < STEP_SUMS; i++)
            losses->sums[i] += sums[i];
        return;
    }
    assert(losses->part < losses->borders[comm_rank(losses->comm) + 1]); /* one pass for each part */
    memcpy(losses->of_parts[losses->part++], sums, sizeof *losses->of_parts);
}

static int add_parts(struct loss_sum *losses, int64_t refused, struct error *err)
{
    /* Otherwise losses of an earlier step would count. */
    assert(losses->part == losses->borders[comm_rank(losses->comm) + 1]);
    TRY(comm_run(losses->comm, COMM_SUM_OF(COMM_INT64, &refused, 1), err));
    TRY(comm_run(
        losses->comm,
        (struct comm_work){
            .operation = COMM_ALL_GATHER, .type = COMM_DOUBLE, .out = losses->of_parts, .out_counts = losses->counts},
        err));
    for (uint64_t part = 0; part < losses->parts; part++)
        for (int i = 0; i < STEP_SUMS; i++)
            losses->sums[i] += losses->of_parts[part][i];
    if (refused > 0)
        losses->sums[0] = (double)NAN;
    return 0;
}

int loss_sum_finish(struct loss_sum *losses, int64_t refused, double sums[STEP_SUMS], struct error *err)
{
    rendezvous_progress(losses->rendezvous, losses->number, "sums of losses");
    if (losses->parts > 0)
        TRY(add_parts(losses, refused, err));
    else
        TRY(comm_run(losses->comm, COMM_SUM_OF(COMM_DOUBLE, losses->sums, STEP_SUMS), err));
    memcpy(sums, losses->sums, sizeof losses->sums);
    return 0;
}
