/* In: gradients and moments in flat memory. Out: parameters after one update. The arithmetic is the backend's. */
#include "trainer/optim/adam.h"

#include <assert.h>
#include <math.h>

struct adam adam_defaults(void)
{
    return (struct adam){
        .beta1 = 0.9,
        .beta2 = 0.999,
        .epsilon = 1e-8,
        .weight_decay = 0.01,
        .bias_correction = true,
        .decoupled = true,
    };
}

void adam_update(const struct adam *adam, const struct ops *ops, const struct params *params,
                 const struct adam_memory *memory, double rate, uint64_t update, double factor)
{
    assert(update >= 1);
    const struct adam_step step = {
        .rate = rate,
        .beta1 = adam->beta1,
        .beta2 = adam->beta2,
        .epsilon = adam->epsilon,
        .weight_decay = adam->weight_decay,
        .correction1 = adam->bias_correction ? 1 - pow(adam->beta1, (double)update) : 1,
        .correction2 = adam->bias_correction ? 1 - pow(adam->beta2, (double)update) : 1,
        .factor = factor,
        .decoupled = adam->decoupled,
    };
    ops->adam(ops->device, memory->params, memory->first, memory->second, memory->gradients, params->chunks,
              params->chunk_count, &step);
}
