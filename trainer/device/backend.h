/* Chooses and opens the backend: the CPU's, which is part of this program, or CUDA's, a module that is loaded on
 * demand, so that the program also starts on machines without CUDA libraries. */
#pragma once

#include "trainer/cpu/cpu_backend.h"
#include "trainer/cuda/cuda.h"
#include "trainer/data/pack.h"
#include "trainer/model/params.h"

enum device_kind { DEVICE_CPU, DEVICE_CUDA };
#define DEVICE_NAMES "cpu|cuda"

const char *backend_text(void); /* "cuda built in", for --version */

/* Whether a backend can be opened. ERR_USAGE: CUDA is not built in. ERR_RESOURCE: the module, the driver or the GPU is
 * missing; *facts (may be NULL) say what was found. */
int backend_probe(enum device_kind device, struct cuda_facts *facts, struct error *err);

/* The number of NVIDIA cards that this process can see, usable or not, without asking CUDA. If there is one and
 * backend_probe fails, the machine's setup needs fixing. */
unsigned backend_cards(void);

/* CUDA if it is built in and works, else the CPU. If it is built in and does not work, logs why. */
enum device_kind backend_default(void);
enum precision backend_default_precision(enum device_kind device, enum cpu_level level);

/* Whether it computes such models. ERR_USAGE: no. Says so in a line if no card has computed one yet. */
int backend_fits(enum device_kind device, const struct model_config *config, struct error *err);

/* Opens a backend; ops->close closes it. CUDA uses only the precision of `options`; only CUDA uses `tune`, the path of
 * a table of product algorithms, or NULL. */
struct ops *backend_open(enum device_kind device, const struct cpu_options *options, const char *tune,
                         struct error *err);

/* Times the algorithms for a model's products in micro-batches of these limits, uses the fastest from now on and
 * appends them to `table`, in the form that `tune` takes. `ops` must be CUDA's own; `all` as in cuda.h. */
int backend_tune(struct ops *ops, const struct model_config *config, const struct pack_limits *limits, bool all,
                 struct buf *table, struct error *err);

/* How to get what --device cuda and doctor --gpu need. */
#define CUDA_HINT                                                                                                      \
    "pip install 'dsdata[cuda]' adds it to the wheel (scripts/wheel.sh --cuda makes both); from the sources: "         \
    "cmake --preset cuda, with NVIDIA's toolkit (cuda-toolkit)"
