/* What this machine has, as a plan and doctor need it. */
#ifndef TRAINER_MACHINE_H
#define TRAINER_MACHINE_H

#include "trainer/ops.h"

#include <stdint.h>

/* Memory that this process may have at most: the machine's, or the limit of its control group. */
uint64_t machine_memory_bytes(void);

/* Floating-point operations a second of ops' products of rows x in by in x out, measured for about `seconds`, or a
 * thousand of them. */
double machine_product_rate(const struct ops *ops, int32_t rows, int32_t out, int32_t in, double seconds);

#endif
