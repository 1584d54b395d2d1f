/* Which backend computes: the CPU's, part of this program, or CUDA's, a module beside it that is loaded when it is
 * wanted, so that the program starts where no CUDA library is. */
#ifndef TRAINER_BACKEND_H
#define TRAINER_BACKEND_H

#include "base/error.h"
#include "trainer/cpu/cpu_backend.h"
#include "trainer/cuda/cuda.h"
#include "trainer/data/pack.h"
#include "trainer/model/params.h"
#include "trainer/ops.h"

enum device_kind { DEVICE_CPU, DEVICE_CUDA };
#define DEVICE_NAMES "cpu|cuda"

const char *backend_text(void); /* "cuda built in", for --version */

/* Can it be opened? ERR_USAGE: CUDA is not built in. ERR_RESOURCE: the module, the driver or the GPU is missing; *facts
 * (may be NULL) say what was seen. */
int backend_look(enum device_kind device, struct cuda_facts *facts, struct error *err);

/* How many NVIDIA cards may this process see, whether or not they can be used? One that backend_look refuses is
 * something to mend. CUDA is not asked. */
unsigned backend_cards(void);

/* CUDA where it is built in and answers, else the CPU; says why where it is built in and does not answer. */
enum device_kind backend_default(void);
enum precision backend_default_precision(enum device_kind device, enum cpu_level level);

/* Opens it; ops->close ends it. CUDA looks at no level and no threads, the CPU at no `tune`: a table of product
 * algorithms, or NULL. */
struct ops *backend_open(enum device_kind device, const struct cpu_options *options, const char *tune,
                         struct error *err);

/* Times how the products of a model can be done in micro-batches of these limits, takes the fastest ways from now on,
 * and adds such a table of them to `table`. `ops` is CUDA's own; `all` as in cuda.h. */
int backend_tune(struct ops *ops, const struct model_config *config, const struct pack_limits *limits, bool all,
                 struct buf *table, struct error *err);

#endif
