/* Updates: kernels over flat memory, and between them kernels over the numbers per tensor. All of it is the device's
 * memory; nothing waits. */
#include "trainer/cuda/device.h"

void squares(struct device *device, const struct update_work *work, const void *values)
{
    kernel_squares(device->stream, work, values);
    CHECK(cudaGetLastError());
}

void factors(struct device *device, const struct update_work *work, const struct update_step *step, const double *sums)
{
    kernel_factors(device->stream, work, step, sums);
    CHECK(cudaGetLastError());
}

void adam(struct device *device, const struct update_memory *memory, const struct update_work *work,
          const struct update_step *step)
{
    kernel_adam(device->stream, memory, work, step);
    CHECK(cudaGetLastError());
}

void moments(struct device *device, const struct update_memory *memory, const struct update_work *work,
             const struct update_step *step)
{
    kernel_moments(device->stream, memory, work, step);
    CHECK(cudaGetLastError());
}

void shares(struct device *device, const struct update_work *work, const struct update_step *step)
{
    kernel_shares(device->stream, work, step);
    CHECK(cudaGetLastError());
}

void apply(struct device *device, const struct update_memory *memory, const struct update_work *work,
           const struct update_step *step)
{
    kernel_apply(device->stream, memory, work, step);
    CHECK(cudaGetLastError());
}
