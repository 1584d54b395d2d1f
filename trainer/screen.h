/* What a person sees of a training, on stderr; and with --json the closing facts as one object on stdout. */
#ifndef TRAINER_SCREEN_H
#define TRAINER_SCREEN_H

#include "base/progress.h"
#include "trainer/evaluate.h"
#include "trainer/spikes.h"
#include "trainer/step.h"

#include <jansson.h>

#include <stdint.h>

struct training;

/* The talk's own memory. */
struct screen {
    struct progress progress;
    uint64_t steps; /* seen */
    struct step_facts first, last;
    double rate;         /* sequences per second, a moving mean over about 20 steps */
    double waited, busy; /* seconds: for data, in all */
    struct spikes spikes;
};

/* One line of loss and accuracy; and the same as an object, which the caller json_decref's. */
void screen_means(const struct evaluation *means, const char *split);
json_t *screen_means_json(double loss, double mlm, double nsp, double mlm_accuracy, double nsp_accuracy);

void screen_init(const char *directory, const char *drawn, const char *unused); /* lists of names, or "" */
void screen_opening(struct training *training);
void screen_step(struct training *training, const struct step_facts *facts);
void screen_evaluation(struct training *training);
void screen_end_steps(struct training *training); /* clears the progress line */
void screen_closing(const struct training *training);

#endif
