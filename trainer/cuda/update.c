/* Updates: kernels over flat memory, and between them kernels over the numbers per tensor. All of it is the device's
 * memory; nothing waits. */
#include "trainer/cuda/device.h"

void squares(struct device *device, const struct update_work *work, const void *values)
{
    LAUNCH(squares, work, values);
}

void factors(struct device *device, const struct update_work *work, const struct update_step *step, const double *sums)
{
    LAUNCH(factors, work, step, sums);
}

void adam(struct device *device, const struct update_memory *memory, const struct update_work *work,
          const struct update_step *step)
{
    LAUNCH(adam, memory, work, step);
}

void moments(struct device *device, const struct update_memory *memory, const struct update_work *work,
             const struct update_step *step)
{
    LAUNCH(moments, memory, work, step);
}

void shares(struct device *device, const struct update_work *work, const struct update_step *step)
{
    LAUNCH(shares, work, step);
}

void apply(struct device *device, const struct update_memory *memory, const struct update_work *work,
           const struct update_step *step)
{
    LAUNCH(apply, memory, work, step);
}
