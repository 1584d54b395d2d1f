/* The engine: a backend, a model on it, and the memory for updates. It knows the recipe, the task and the machine, but
 * no dataset, no run directory and no clock.
 *
 *     engine_choose → engine_divide → engine_open → engine_load → engine_join
 *       → { engine_begin → engine_pass … → engine_finish → engine_update → engine_receive } … → engine_close
 *
 * engine_open is enough for code that only counts and measures (dstrain plan). A zeroed engine may be closed. One
 * thread calls. Only engine_map, engine_receive and a dump of gradients wait for the device. */
#pragma once

#include "trainer/device/backend.h"
#include "trainer/parallel/gradient_exchange.h"
#include "trainer/task/task.h"

struct engine {
    /* All three are borrowed and outlive the engine. */
    const struct settings *settings; /* used for the machine: device, threads, processor level, --tune, --timings */
    const struct recipe *recipe;
    const struct task *task;

    enum device_kind device;
    unsigned threads;
    struct ops *ops; /* ops->precision is the precision in use */
    uint32_t micro_batch;
    struct pack_limits limits; /* of a micro-batch */

    struct model *model;
    void *first, *second; /* moments, flat, in the device's memory; NULL if they are divided */
    struct update_work work;
    const struct process_group *processes; /* from engine_join, or NULL */
    uint64_t number;                       /* of the current step */
    uint32_t rank, size;                   /* from engine_divide; size 0: one process */
    struct partition partition;            /* the same; size 0: nothing is divided */
    struct gradient_exchange *exchange;    /* for a training */

    bool products_given; /* the run had or was given a table of product algorithms */
    struct buf products; /* the table made by engine_load; empty: it made none */
};

/* The run's table of product algorithms: a copy of that given with --tune, or the one made at its first start on
 * CUDA. */
#define TUNE_NAME "products.txt"

#define STEPS_QUEUED 2 /* maximum of steps whose records are not received yet; each has its own slot (ops.h) */

/* Chooses the device and checks that it can compute the model, before anything is opened. */
int engine_choose(struct engine *engine, const struct settings *settings, const struct recipe *recipe,
                  const struct task *task, struct error *err);
/* Divides moments and master copies among `size` processes, as the recipe's `zero` says. If it is not called, or with
 * stage 0 or one process, nothing is divided. ERR_USAGE: the optimizer or an option needs them undivided. */
int engine_divide(struct engine *engine, uint32_t rank, uint32_t size, struct error *err);
/* Sets the slices of `size` processes, as the recipe's `zero` says. With divided gradients buckets are smaller than
 * otherwise, because their memory counts: a part of a layer, at most the recipe's number of elements or else
 * ZERO2_BUCKET (10 MiB). */
#define ZERO2_BUCKET ((uint64_t)10 << 18)
void engine_partition(const struct engine *engine, const struct params *params, uint32_t size,
                      struct partition *partition);
/* Whether moments are divided: this process has those of its own slices only. */
static inline bool engine_divides(const struct engine *engine)
{
    return engine->partition.size > 0;
}
/* Whether this process keeps only the gradients of its own slices. */
static inline bool engine_divides_gradients(const struct engine *engine)
{
    return engine_divides(engine) && engine->recipe->zero > 1;
}
/* The precision of the command; else the one recorded by an earlier start of the run, unless NULL; else the default of
 * the machine. */
enum precision engine_precision(const struct engine *engine, const char *recorded);
/* Opens the backend and sets the micro-batch. `tune` is the path of the run's own table of product algorithms, which
 * need not exist, or NULL. */
int engine_open(struct engine *engine, enum precision precision, const char *tune, struct error *err);

/* Computes the bytes of the device's memory that are needed, for the model alone or for a training. */
enum engine_memory { ENGINE_MODEL, ENGINE_TRAINING };
uint64_t engine_bytes(const struct engine *engine, enum engine_memory kind);
/* Bytes of the exchange alone (gradient_exchange.h). */
struct exchange_bytes engine_exchange_bytes(const struct engine *engine, const struct pack_limits *limits);
/* The limits of a micro-batch, and which activations the model keeps. */
struct model_budget engine_budget(const struct engine *engine, enum engine_memory kind);

/* Opens the model (cleared), and for ENGINE_TRAINING moments and --timings; times product algorithms if CUDA was given
 * no table of them. ERR_RESOURCE: the device does not have enough memory left; the hint names the micro-batch that
 * fits, and the engine can only be closed. */
int engine_load(struct engine *engine, enum engine_memory kind, struct error *err);
void engine_close(struct engine *engine);

/* Reads the weights of a model.safetensors into the model, with the head that the recipe says; errors and report are
 * those of names_read. */
int engine_read_weights(struct engine *engine, const char *path, struct names_report *report, struct error *err);

/* From now on a step's gradients are summed over `processes`, which outlive the engine. With
 * --same-bits, for a single process too, they are summed by parts, of which process r has [borders[r], borders[r + 1]).
 * `on_hosts`: every process has its gradients in host memory. Without this call a process uses its own gradients. */
void engine_join(struct engine *engine, const struct process_group *processes, const uint64_t *borders, bool on_hosts);

/* Begins step `number` (from 1): clears the gradients. `counts` are the labels of each head in the whole batch, over
 * all processes. */
void engine_begin(struct engine *engine, uint64_t number, const int64_t counts[HEAD_KINDS], double loss_scale);
/* Computes one micro-batch of the step, forward and backward, and adds up gradients. */
void engine_pass(struct engine *engine, const struct micro_batch *micro);
/* After the last micro-batch, if this process had any: makes the gradients those of the whole batch. On error (of comm)
 * they are undefined, and the engine can only be closed. */
int engine_finish(struct engine *engine, struct error *err);
/* Queues the update at the end of step `number`, which is number `update` of the applied ones, and sends the step's
 * record to its slot; *rate becomes its learning rate. With ZeRO it waits for the parameters of all processes and
 * returns errors of comm. */
int engine_update(struct engine *engine, uint64_t number, uint64_t update, double loss_scale, double *rate,
                  struct error *err);
/* Waits for the record of step `number`. */
void engine_receive(struct engine *engine, uint64_t number, struct step_record *record);

/* Writes the sums of gradients, without their loss scale, to a safetensors file. */
int engine_dump_gradients(struct engine *engine, double loss_scale, const char *path, struct error *err);

/* Hash of all parameters that this process has: those that the model reads, and master copies if they are separate. */
uint64_t engine_hash(struct engine *engine);

/* Maps parameters and moments, flat [params->size], for the host (ops.h); only one mapping at a time. Not if moments
 * are divided. */
struct flat_state {
    float *params, *first, *second;
};
struct flat_state engine_map(struct engine *engine, enum map_mode mode);
void engine_unmap(struct engine *engine, const struct flat_state *flat, enum map_mode mode);
