/* Updates that exchange bits (optim/onebit.h): floats whatever the storage. */
#pragma once

#include "trainer/cpu/real.h"
#include "trainer/optim/onebit.h"

static void compress(struct device *device, const struct compress_args *a)
{
    (void)device;
    onebit_compress(a->pass.layout, a->pass.update, a->errors, a->bits, a->alphas);
}

static void serve(struct device *device, const struct serve_args *a)
{
    (void)device;
    onebit_serve(a->pass.layout, a->pass.update, a->rank, a->bits_of_all, a->alphas_of_all, a->served, a->bits,
                 a->sigmas);
}

static void decompress(struct device *device, const struct decompress_args *a)
{
    (void)device;
    onebit_apply(a->pass.layout, a->pass.update, a->bits, a->sigmas);
}
