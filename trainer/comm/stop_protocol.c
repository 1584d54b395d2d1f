/* A stop that comes while a step is computed: either all processes finish the step or all discard it.
 *
 * A process that has begun the sums of a step cannot discard it, because others may wait for its gradients. So a value
 * per step, "step/N", says what becomes of it:
 *
 *     "go on"      set by a process that has begun the step's sums, when it learns of the stop or begins after it
 *     "discard"    set by rank 0, when all processes have set "halted/N/RANK", and so have promised not to begin
 *
 * The first value that is set is final. Both cannot be set, because a process either begins or halts. All wait for the
 * value, so all do the same. */
#include "base/mem.h"
#include "trainer/comm/rendezvous_parts.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define DISCARD STR("discard")
#define GO_ON   STR("go on")

static struct str step_key(uint64_t step, char key[40])
{
    snprintf(key, 40, "step/%" PRIu64, step);
    return str_of(key);
}

static struct str halted_key(uint64_t step, uint32_t rank, char key[40])
{
    snprintf(key, 40, "halted/%" PRIu64 "/%" PRIu32, step, rank);
    return str_of(key);
}

static void go_on(struct rendezvous *rendezvous, uint64_t step)
{
    char key[40];
    value_put(rendezvous, step_key(step, key), GO_ON);
}

void rendezvous_stopped(struct rendezvous *rendezvous)
{
    if (atomic_exchange(&rendezvous->stop, true))
        return;
    if (rendezvous->leader)
        leader_put_all(rendezvous, FRAME_STOP, NULL, 0);
    if (rendezvous->begun_step > 0)
        go_on(rendezvous, rendezvous->begun_step);
}

void rendezvous_request_stop(struct rendezvous *rendezvous)
{
    if (!rendezvous)
        return;
    pthread_mutex_lock(&rendezvous->lock);
    if (!rendezvous->stop && !rendezvous->leader)
        line_put(&rendezvous->line, FRAME_STOP, NULL, 0);
    rendezvous_stopped(rendezvous);
    rendezvous_wake(rendezvous);
    pthread_mutex_unlock(&rendezvous->lock);
}

bool rendezvous_stop_asked(const struct rendezvous *rendezvous)
{
    return rendezvous && atomic_load_explicit(&rendezvous->stop, memory_order_relaxed);
}

void rendezvous_begin(struct rendezvous *rendezvous, uint64_t step)
{
    if (!rendezvous)
        return;
    pthread_mutex_lock(&rendezvous->lock);
    assert(step >= rendezvous->begun_step); /* a step that was begun is finished before the next one */
    if (rendezvous->stop && rendezvous->begun_step != step)
        go_on(rendezvous, step);
    rendezvous->begun_step = step;
    pthread_mutex_unlock(&rendezvous->lock);
}

bool rendezvous_has_begun(struct rendezvous *rendezvous, uint64_t step)
{
    pthread_mutex_lock(&rendezvous->lock);
    const bool begun = rendezvous->begun_step == step;
    pthread_mutex_unlock(&rendezvous->lock);
    return begun;
}

/* On rank 0: waits until all have halted, or one has begun. */
static int count_halted(struct rendezvous *rendezvous, uint64_t step, struct error *err)
{
    char key[40];
    int result = 0;
    pthread_mutex_lock(&rendezvous->lock);
    rendezvous->waits++;
    while (result == 0 && !rendezvous_find_value(rendezvous, step_key(step, key))) {
        uint32_t halted = 0;
        while (halted < rendezvous->options.size && rendezvous_find_value(rendezvous, halted_key(step, halted, key)))
            halted++;
        if (halted == rendezvous->options.size)
            value_put(rendezvous, step_key(step, key), DISCARD);
        else if ((result = rendezvous_check_line(rendezvous, err)) == 0)
            rendezvous_await(rendezvous);
    }
    rendezvous->waits--;
    rendezvous->report.moves++;
    pthread_mutex_unlock(&rendezvous->lock);
    return result;
}

int rendezvous_halt(struct rendezvous *rendezvous, uint64_t step, bool *discard, struct error *err)
{
    char key[40];
    SCOPED(buf_release) struct buf value = {0};
    assert(!rendezvous_has_begun(rendezvous, step)); /* else both values could be set */
    halted_key(step, rendezvous->options.rank, key);
    TRY(rendezvous_set(rendezvous, key, STR(""), err));
    if (rendezvous->leader)
        TRY(count_halted(rendezvous, step, err));
    step_key(step, key);
    const int result = rendezvous_get(rendezvous, key, HUGE_VAL, &value, err);
    *discard = result == 0 && str_equal(buf_str(&value), DISCARD);
    return result;
}
