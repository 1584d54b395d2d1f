/* What a person sees of a training while it runs, on stderr. Facts come in; it knows nothing of where they are from. */
#ifndef TRAINER_SCREEN_H
#define TRAINER_SCREEN_H

#include "base/progress.h"
#include "trainer/datasets.h"
#include "trainer/estimate.h"
#include "trainer/interval.h"
#include "trainer/metric.h"
#include "trainer/spikes.h"
#include "trainer/step.h"

#include <jansson.h>

#include <stdbool.h>
#include <stdint.h>

/* What is known before the first step; borrowed during the call. */
struct screen_opening {
    const char *directory;
    const char *similar; /* an unfinished run beside it (run_similar), or "" */
    uint64_t step;       /* where the run goes on */
    const struct recipe *recipe;
    const struct metric_table *metrics; /* outlives the screen */
    enum precision precision;
    const char *device; /* ops->name */
    uint32_t micro_batch;
    uint32_t processes;
    uint64_t parameters;                     /* count */
    uint64_t memory_bytes, checkpoint_bytes; /* of the device; of one checkpoint */
    uint64_t keep_last;                      /* checkpoints; 0: all */
    uint64_t samples;                        /* of the dataset, or of all that are mixed, */
    const char *mixture;                     /* as this says; "" where there is one */
    double epochs;                           /* of what the run reads most often */
    bool evaluates;                          /* there are validation samples */
    struct estimate estimate;                /* zeroed where no step is left */
};

/* What the lines need from one to the next. */
struct screen {
    struct progress progress;
    const struct metric_table *metrics;
    struct estimate estimate;
    uint64_t run_steps; /* of the whole run */
    struct batch_plan batches;
    uint64_t steps; /* seen */
    struct step_facts first, last;
    struct interval shown; /* steps since the progress line was written */
    double rate;           /* sequences per second, a moving mean over about 20 steps */
    double waited, busy;   /* seconds: for data, in all */
    struct spikes spikes;
};

void screen_init(const char *directory, const char *drawn, const char *unused); /* lists of names, or "" */
void screen_open(struct screen *screen, const struct screen_opening *opening);
void screen_step(struct screen *screen, const struct step_facts *facts);
void screen_evaluation(const struct screen *screen, const struct evaluation *means, uint64_t step);
void screen_close(struct screen *screen); /* clears the progress line */

/* One line of loss and accuracy; and the same as an object, which the caller json_decref's. */
void screen_means(const struct metric_table *metrics, const struct evaluation *means, const char *split);
json_t *screen_means_json(const struct metric_table *metrics, const struct evaluation *means);
/* The same of each of the first `count` datasets: a line each; [{"dataset": directory, "root_hash": …, "samples": …,
 * "loss": …}]. */
void screen_datasets(const struct metric_table *metrics, const struct evaluation *each, uint32_t count,
                     const struct datasets *datasets);
json_t *screen_datasets_json(const struct metric_table *metrics, const struct evaluation *each, uint32_t count,
                             const struct datasets *datasets);

/* What the lines are made of. */
/* "12.3 epochs"; many of them as a whole number. */
char *epochs_text(double epochs, char out[40]);
/* The line of datasets_add_text, if it says anything. */
void screen_mixture(const char *text);
/* Warns where a run reads its samples more often than BERT's authors did. */
void screen_epochs(double epochs);
#define LOSS_TEXT_SIZE 160
/* "loss 2.314 (one 2.251, other 0.063)"; a single part is not told apart. */
char *loss_text(const struct metric_table *metrics, const struct evaluation *means, char out[LOSS_TEXT_SIZE]);
char *rate_text(double rate, char out[32]);               /* "0.52", "12.3" or "5,230" */
double screen_share_of_peak(const struct screen *screen); /* of the products' measured rate, in percent */

#endif
