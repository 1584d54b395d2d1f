#include "trainer/keep/spikes.h"

#include <math.h>

bool spikes_add(struct spikes *spikes, uint64_t step, double loss, double *mean, double *deviations)
{
    *mean = *deviations = (double)NAN;
    if (!isfinite(loss))
        return false;
    const uint64_t count = spikes->seen < SPIKES_WINDOW ? spikes->seen : SPIKES_WINDOW;
    if (count >= SPIKES_LEAST) {
        double sum = 0, squares = 0;
        for (uint64_t i = 0; i < count; i++)
            sum += spikes->losses[i];
        *mean = sum / (double)count;
        for (uint64_t i = 0; i < count; i++)
            squares += (spikes->losses[i] - *mean) * (spikes->losses[i] - *mean);
        *deviations = (loss - *mean) / sqrt(squares / (double)(count - 1));
    }
    spikes->losses[spikes->seen++ % SPIKES_WINDOW] = loss;
    if (!(*deviations > SPIKES_DEVIATIONS))
        return false;
    spikes->count++;
    if (*deviations > spikes->largest) {
        spikes->largest = *deviations;
        spikes->largest_step = step;
    }
    return true;
}
