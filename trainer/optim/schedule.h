/* The learning rate of an update: our own schedules, and those of others under their names. Each counts as its original
 * does; u is the number of the update, from 1.
 *
 *   ours: q = u / steps, P the warm-up's share, r = (1 - q) / (1 - P). X q / P while q < P; then
 *     linear      X r                        constant   X
 *     cosine      X (1 + cos pi (1 - r)) / 2   poly     X sqrt(r)
 *     wsd         X min(1, d), d = (1 - q) / D, D the decay's share: warm-up, stable, decay (Hu et al., MiniCPM, 2024);
 *                 with decay_root X (1 - sqrt(1 - d)) where d < 1 (Hägele et al. 2024), as ModernBERT
 *   bing_bert (optimization.py): x = (u - 1) / total, w the warm-up's share; all are X + offset where w is 0
 *     warmup_linear              x < w: X x / w;        else X (1 - x), which jumps at x = w
 *     warmup_linear_decay_exp    x < w: X x / w;        else X decay_rate ^ ((u - 1 - w total) / decay_step)
 *     warmup_exp_decay_exp       x < w: X (x / w)^2;    else the same
 *     warmup_exp_poly            x < w: X (x / w)^1.5;  else X (1 - x)^2
 *     plus offset, always
 *   NVIDIA and Habana (schedulers.py): q = u / total; q < w: X q / w; then
 *     LinearWarmUp  X max((q - 1) / (w - 1), 0)         ConstantWarmUp  X
 *     PolyWarmUp    X (1 - q)^degree, which jumps at q = w (NVIDIA); with `constant` c (Habana) X while q < w + c,
 *                   then X ((1 - q) / (1 - w - c))^degree
 *   DeepSpeed (runtime/lr_schedules.py): index i = u - 2, so -1 at the first update, which takes the minimum
 *     WarmupLR        W = max(2, warmup_num_steps); G = ln(i + 1) / ln W, or i / W; min + (max - min) G; max from W on
 *     WarmupDecayLR   from W on G = max(0, (total - i) / max(1, total - W))
 *     WarmupCosineLR  X times: from min to 1 by G; from W on c + (1 - c) (1 + cos(pi (i - W + 1) / (total - W))) / 2
 *     OneCycle        j = i + 1: up from min to max over `first` updates, down over `second`; then min / (1 + rate k),
 *                     k = (i + 1 - first - second) / decay_step_size; momentum the other way round
 *     LRRangeTest     min (1 + step_rate j / step_size), the quotient rounded down with staircase
 *   HetSeq (lr_scheduler.py): n = u - 1
 *     polynomial      n <= W: X n / W, but X / W at the first update; n >= total: end;
 *                     else (X - end) (1 - (n - W) / (total - W))^power + end
 * After its end every schedule stays where it ended. */
#pragma once

#include "trainer/optim/json_field.h"

#include <stdbool.h>
#include <stdint.h>

enum schedule_kind {
    SCHEDULE_LINEAR,
    SCHEDULE_CONSTANT,
    SCHEDULE_COSINE,
    SCHEDULE_POLY,
    SCHEDULE_WSD,
    SCHEDULE_BING_LINEAR,
    SCHEDULE_BING_LINEAR_EXP,
    SCHEDULE_BING_EXP_EXP,
    SCHEDULE_BING_EXP_POLY,
    SCHEDULE_LINEAR_WARM_UP,
    SCHEDULE_POLY_WARM_UP,
    SCHEDULE_CONSTANT_WARM_UP,
    SCHEDULE_WARMUP,
    SCHEDULE_WARMUP_DECAY,
    SCHEDULE_WARMUP_COSINE,
    SCHEDULE_ONE_CYCLE,
    SCHEDULE_RANGE_TEST,
    SCHEDULE_POLYNOMIAL,
    SCHEDULE_KINDS,
};

struct schedule {
    enum schedule_kind kind;
    double rate;   /* X, the peak */
    double warmup; /* ours: below 1 a share of the steps, else steps; NVIDIA, bing_bert: a share; the others: updates */
    double decay;  /* wsd: below 1 a share of the steps, else steps */
    bool decay_root; /* wsd: the decay is 1 - sqrt, else linear */
    double total;    /* length of schedules that have their own, in updates */
    double minimum;  /* min, end */
    double power;    /* degree, power */
    double constant; /* Habana's c; below 0: NVIDIA's PolyWarmUp */
    double decay_rate, decay_step;
    double offset;        /* added to every rate */
    double first, second; /* OneCycle's halves; LRRangeTest's step_size is first */
    double momentum_min, momentum_max, momentum_decay;
    bool linear_warmup; /* DeepSpeed's warmup_type, else log */
    bool staircase;     /* LRRangeTest */
    bool momentum;      /* OneCycle cycles it */
    uint64_t begins;    /* updates of the run before the schedule begins: rewarmup */
    uint64_t steps;     /* updates of the whole run, >= 1 */
};

#define SCHEDULE_STEPS      (-3.0) /* default of a parameter: the run's steps */
#define SCHEDULE_PARAMS_MAX 12

/* A kind of schedule. */
struct schedule_type {
    const char *name; /* JSON's scheduler.type, or a choice of --schedule; and the identity's */
    bool ours;        /* a choice of --schedule, and no type of JSON's; options set its params */
    bool own_rate;    /* has its own peak: optimizer.params.lr and --lr are ignored */
    struct json_field params[SCHEDULE_PARAMS_MAX]; /* of struct schedule; ends with a NULL key */
};
extern const struct schedule_type schedule_types[];          /* [SCHEDULE_KINDS], by kind */
const struct schedule_type *schedule_type(const char *name); /* NULL: unknown */

/* Sets the kind and its parameters' defaults; rate and steps must be set. */
void schedule_defaults(struct schedule *schedule, enum schedule_kind kind);

double schedule_rate(const struct schedule *schedule, uint64_t update);
/* OneCycle's beta1 and beta2 of that update; false: the schedule does not set them. */
bool schedule_momentum(const struct schedule *schedule, uint64_t update, double *beta1, double *beta2);
