/* The table of precisions, the names of ops, and the name of a backend, for the user and for a run's record. */
#include "trainer/backend/ops.h"

#include "base/str.h"
#include "trainer/backend/bf16.h"
#include "trainer/backend/fp16.h"

#include <stdio.h>

const struct precision_facts precision_kinds[] = {
    [PRECISION_FP32] = {"fp32", 4, 4, .offered = true},
    [PRECISION_BF16] = {"bf16", 2, 4, .offered = true},
    [PRECISION_FP16] = {"fp16", 2, 4, .offered = true},
    [PRECISION_FP64] = {"fp64", 8, 8, .offered = false},
};
_Static_assert(sizeof precision_kinds / sizeof *precision_kinds == PRECISION_KINDS, "a row for every precision");

const char *precision_name(enum precision precision)
{
    return precision_kinds[precision].name;
}

enum precision precision_named(const char *name)
{
    enum precision precision = PRECISION_KINDS - 1;
    while (precision > PRECISION_FP32 && strcmp(precision_kinds[precision].name, name) != 0)
        precision--;
    return precision;
}

float precision_load(enum precision precision, const void *stored, size_t i)
{
    switch (precision) {
    case PRECISION_BF16:
        return bf16_to_float(((const uint16_t *)stored)[i]);
    case PRECISION_FP16:
        return fp16_to_float(((const uint16_t *)stored)[i]);
    case PRECISION_FP64:
        return (float)((const double *)stored)[i];
    case PRECISION_FP32:
    case PRECISION_KINDS:
        break;
    }
    return ((const float *)stored)[i];
}

#define OP_NAME(op) [OP_##op] = #op,
const char *const op_names[] = {OPS_COMPUTING(OP_NAME)};

char *ops_device(const struct ops *ops, char out[OPS_NAME_SIZE])
{
    const struct ops_facts *facts = &ops->facts;
    snprintf(out, OPS_NAME_SIZE, "%s %s (%s, %s)", facts->kind, precision_name(ops->precision), facts->processor,
             facts->library);
    return out;
}

bool ops_same_everywhere(const char *device)
{
    return strncmp(device, "cpu fp32 (", strlen("cpu fp32 (")) == 0;
}

void ops_describe(struct ops *ops)
{
    const size_t size = strlen(ops_device(ops, ops->name));
    char units[56];
    snprintf(ops->name + size, sizeof ops->name - size, ", %s",
             format_counted((uint64_t)ops->facts.units, ops->facts.unit, units));
}
