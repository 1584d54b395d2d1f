/* Updates: kernels over flat memory, and between them kernels over the numbers per tensor. All of it is the device's
 * memory; nothing waits. */
#include "trainer/cuda/device.h"

void squares(struct device *device, const struct squares_args *args)
{
    QUEUE(squares, args->work);
}

void factors(struct device *device, const struct factors_args *args)
{
    QUEUE(factors, args->work);
}

void adam(struct device *device, const struct adam_args *args)
{
    QUEUE(adam, args->work);
}

void moments(struct device *device, const struct moments_args *args)
{
    QUEUE(moments, args->work);
}

void shares(struct device *device, const struct shares_args *args)
{
    QUEUE(shares, args->work);
}

void apply(struct device *device, const struct apply_args *args)
{
    QUEUE(apply, args->work);
}
