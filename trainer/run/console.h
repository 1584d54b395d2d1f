/* The output of a training while it runs, on stderr. */
#pragma once

#include "base/progress.h"
#include "trainer/run/estimate.h"
#include "trainer/run/interval.h"
#include "trainer/run/setup.h"
#include "trainer/keep/spikes.h"

/* State that is kept from line to line. */
struct console {
    struct progress progress;
    const struct metric_table *metrics;
    struct estimate estimate;
    uint64_t run_steps; /* of the whole run */
    struct batch_plan batches;
    uint64_t steps; /* seen */
    struct step_facts first, last;
    struct interval shown; /* steps since the last progress line */
    double rate;           /* sequences per second, a moving average over about 20 steps */
    double waited, busy;   /* seconds waited for data, and in total */
    struct spikes spikes;
};

void console_init(const char *directory, const char *drawn, const char *unused); /* lists of names, or "" */
/* Says what is known before the first step of this start, which resumes from `step`; 0: the run is new. `setup`
 * outlives the console. */
void console_open(struct console *console, const struct setup *setup, const struct engine *engine,
                  const char *directory, uint64_t step, const struct estimate *estimate);
void console_step(struct console *console, const struct step_facts *facts);
void console_evaluation(const struct console *console, const struct evaluation *means, uint64_t step);
void console_close(struct console *console); /* clears the progress line */

/* Where a line goes: log_say where it is one of many, output_line where it is what a verb was asked for. */
typedef void (*console_line)(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints a line with losses and accuracies, and `where` at its end; or makes an object of them, which the caller
 * json_decref's. */
void console_means(console_line line, const struct metric_table *metrics, const struct evaluation *means,
                   const char *split, const char *where);
json_t *console_means_json(const struct metric_table *metrics, const struct evaluation *means);
/* The same for each of the first `count` datasets: a line each, or [{"dataset": directory, "root_hash": …,
 * "samples": …, "loss": …}]. */
void console_datasets(console_line line, const struct metric_table *metrics, const struct evaluation *each,
                      uint32_t count, const struct datasets *datasets);
json_t *console_datasets_json(const struct metric_table *metrics, const struct evaluation *each, uint32_t count,
                              const struct datasets *datasets);

/* Logs how the run mixes its datasets, if there are several. */
void console_mixture(const struct setup *setup);
/* Warns of samples that are read more often than BERT's authors read theirs, of a warm-up or a decay so long that the
 * rate never reaches its peak, of second moments that are frozen early. Never advises what is set. */
void console_recipe(const struct setup *setup);
#define LOSS_TEXT_SIZE 160
/* "loss 2.314 (one 2.251, other 0.063)"; just "loss 2.314" if there is a single part. */
char *loss_text(const struct metric_table *metrics, const struct evaluation *means, char out[LOSS_TEXT_SIZE]);
char *rate_text(double rate, char out[32]);                    /* "0.52", "12.3" or "5,230" */
double console_percent_of_peak(const struct console *console); /* in % of the measured rate of products */
