/* What computes: a backend, a model on it, and the memory of its updates. It knows the recipe, the task and the
 * machine, but no dataset, no run directory and no clock.
 *
 *     engine_choose → engine_divide → engine_open → engine_load → engine_join
 *       → { engine_begin → engine_pass … → engine_finish → engine_update → engine_receive } … → engine_close
 *
 * engine_open alone serves what only counts and measures (dstrain plan). A zeroed engine may be closed. One thread
 * calls. Nothing waits for the device but engine_map, engine_receive and a dump of gradients. */
#ifndef TRAINER_ENGINE_H
#define TRAINER_ENGINE_H

#include "base/error.h"
#include "trainer/backend.h"
#include "trainer/gradient_pieces.h"
#include "trainer/keep/names.h"
#include "trainer/model/model.h"
#include "trainer/onebit_exchange.h"
#include "trainer/optim/freeze.h"
#include "trainer/optim/optimizer.h"
#include "trainer/recipe.h"
#include "trainer/settings.h"
#include "trainer/task.h"
#include "trainer/team.h"
#include "trainer/zero.h"

struct engine {
    const struct settings *settings; /* of this machine: device, threads, processor level, --tune, --timings */
    const struct recipe *recipe;     /* borrowed, as all three are: they outlive the engine */
    const struct task *task;

    enum device_kind device;
    unsigned threads;
    struct ops *ops; /* ops->precision is the one in force */
    uint32_t micro_batch;
    struct pack_limits limits; /* of a micro-batch */

    struct model *model;
    void *first, *second; /* moments, flat: the device's; NULL where there is a struct zero */
    struct update_work work;
    const struct team *team;    /* that engine_join was given, or NULL */
    uint64_t number;            /* of the step under way */
    struct gradient_sum *sum;   /* over processes, or of parts; NULL: gradients are added where they are made */
    double *sums;               /* [STEP_SUMS] the device's: of losses, where there is a gradient_sum */
    uint32_t rank;              /* of engine_divide, as are */
    struct pieces pieces;       /* of size 0: nothing is divided */
    struct freeze_state freeze; /* of an optimizer that compresses */
    struct onebit *onebit;      /* once its v is frozen; else NULL */
    struct zero *zero;          /* who holds the own pieces, and updates them; NULL: all is whole */

    bool products_given; /* product algorithms, by a table that the run had or was given */
    struct buf products; /* the table that engine_load made; empty: none was */
};

/* The run's table of product algorithms: a copy of what --tune gave, or what was chosen at its first start on CUDA. */
#define TUNE_NAME "products.txt"

#define STEPS_QUEUED 2 /* steps at most whose records are not received yet; each has a slot of its own (ops.h) */

/* Which device computes, and whether it can compute the model: before anything is opened. */
int engine_choose(struct engine *engine, const struct settings *settings, const struct recipe *recipe,
                  const struct task *task, struct error *err);
/* Moments and master copies are divided among `size` processes, as the recipe's `zero` says. Not called, or with 0 or
 * of one process: they are not. ERR_USAGE: the optimizer updates whole matrices. */
int engine_divide(struct engine *engine, uint32_t rank, uint32_t size, struct error *err);
/* Gradients of the own pieces alone are kept. */
static inline bool engine_divides_gradients(const struct engine *engine)
{
    return engine->pieces.size > 0 && engine->recipe->zero > 1;
}
/* What the command asked for, else what an earlier start of the run has recorded (or NULL), else the machine's. */
enum precision engine_precision(const struct engine *engine, const char *recorded);
/* Opens the backend and sets the micro-batch. `tune` is the path of the run's own table of product algorithms, which
 * need not be there, or NULL. */
int engine_open(struct engine *engine, enum precision precision, const char *tune, struct error *err);

/* Bytes of the device's memory by arithmetic: of the model alone, or with the moments of a training. */
enum engine_memory { ENGINE_MODEL, ENGINE_TRAINING };
uint64_t engine_bytes(const struct engine *engine, enum engine_memory kind);
/* What a micro-batch may bring, and how much of it the model keeps. */
struct model_budget engine_budget(const struct engine *engine);

/* Opens the model (cleared), and for ENGINE_TRAINING moments and --timings; times product algorithms where CUDA was
 * given no table of them. ERR_RESOURCE: the device has less memory left; the hint names the micro-batch that fits,
 * and the engine can only be closed. */
int engine_load(struct engine *engine, enum engine_memory kind, struct error *err);
void engine_close(struct engine *engine);

/* Weights of a model.safetensors into the model; errors and report as names_read has them. */
int engine_read_weights(struct engine *engine, const char *path, struct names_report *report, struct error *err);

/* From now on a step's gradients are summed over the processes of `team`, which outlives the engine;
 * with the recipe's same_bits, which wants it of a single process too, by parts, of which process r has [borders[r],
 * borders[r + 1]). `on_hosts`: every process has its gradients in the host's memory. Not called, one process adds its
 * own. */
void engine_join(struct engine *engine, const struct team *team, const uint64_t *borders, bool on_hosts);

/* After engine_join, in all processes: second moments are those of a run that is at `freeze`, after `updates` of them.
 * Opens what compresses where they are frozen. */
void engine_freeze(struct engine *engine, const struct freeze_state *freeze, uint64_t updates);

/* Begins step `number` (from 1): gradients are cleared. `counts` are labels of each head in the whole batch, of all
 * processes. */
void engine_begin(struct engine *engine, uint64_t number, const int64_t counts[HEAD_KINDS], double loss_scale);
/* One micro-batch of it, forward and backward: gradients are added up. */
void engine_pass(struct engine *engine, const struct micro_batch *micro);
/* After the last one, which a process without a share does not have: the gradients are those of the whole batch. On
 * error (of comm) they are not defined, and the engine can only be closed. */
int engine_finish(struct engine *engine, struct error *err);
/* The listener of a pass of its model between steps whose gradients nobody adds; `look` (or NULL) is given them where
 * they are divided, else NULL is returned and the model has them. */
const struct gradient_listener *engine_pass_alone(struct engine *engine, const struct gradient_look *look);
/* Seconds that the passes of this step waited for other processes. */
double engine_waited(const struct engine *engine);
/* From the next step on process r has parts [borders[r], borders[r + 1]) (same_bits). */
void engine_recut(struct engine *engine, const uint64_t *borders);
/* Bytes that this process sends for gradients and parameters of the last step. */
uint64_t engine_wire_bytes(const struct engine *engine);
/* Queues the update that step `number` ends with, number `update` of those that apply, and sends the step's record to
 * its slot; *rate becomes its learning rate. Divided, it waits for the parameters of all, and fails where comm does. */
int engine_update(struct engine *engine, uint64_t number, uint64_t update, double loss_scale, double *rate,
                  struct error *err);
/* Waits for the record of step `number`. */
void engine_receive(struct engine *engine, uint64_t number, struct step_record *record);

/* The sums of gradients without their loss scale, as a safetensors file. */
int engine_dump_gradients(struct engine *engine, double loss_scale, const char *path, struct error *err);

/* While rank 0 writes a checkpoint, the others give what they alone have, until rank 0 ends it. */
int engine_serve(struct engine *engine, struct error *err);
int engine_end_serving(struct engine *engine, struct error *err);

/* Of all parameters that this process has: what the model reads, and master copies that are not that. */
uint64_t engine_hash(struct engine *engine);

/* Parameters and moments, flat [params->size], where the host can follow them (ops.h); one at a time. Not of an engine
 * with a struct zero. */
struct flat_state {
    float *params, *first, *second;
};
struct flat_state engine_map(struct engine *engine, enum map_mode mode);
void engine_unmap(struct engine *engine, const struct flat_state *flat, enum map_mode mode);

#endif
