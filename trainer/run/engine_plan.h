/* How many sequences a micro-batch has, and how much memory that takes. Counted from the model and the device, never
 * measured, so that the same command computes the same. For engine.c; engine.h has what others may ask. */
#pragma once

#include "trainer/run/engine.h"

struct exchange_options plan_exchange(const struct engine *engine, const struct params *params,
                                      const struct pack_limits *limits);
uint32_t plan_micro_batch(const struct engine *engine);
/* ERR_RESOURCE: engine_bytes are more than the machine, or the device, has left; the hint says what fits. */
int plan_check_fit(const struct engine *engine, enum engine_memory kind, struct error *err);
