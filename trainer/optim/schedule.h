/* The learning rate of an update. With q = update / steps (updates count from 1), P the warm-up's share and
 * r = (1 - q) / (1 - P): X q / P while q < P; after that linear X r, constant X, cosine X (1 + cos pi (1 - r)) / 2,
 * poly X sqrt(r). */
#ifndef TRAINER_OPTIM_SCHEDULE_H
#define TRAINER_OPTIM_SCHEDULE_H

#include <stdint.h>

enum schedule_kind { SCHEDULE_LINEAR, SCHEDULE_CONSTANT, SCHEDULE_COSINE, SCHEDULE_POLY };
#define SCHEDULE_NAMES "linear|constant|cosine|poly"

struct schedule {
    enum schedule_kind kind;
    double rate;    /* X, the peak */
    double warmup;  /* below 1 a share of the steps, else steps */
    uint64_t steps; /* updates of the whole run, >= 1 */
};

double schedule_rate(const struct schedule *schedule, uint64_t update);

#endif
