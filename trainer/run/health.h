/* Whether a run is healthy, judged by its metrics.jsonl and run.json alone, so that the summary, show and report
 * say the same, at any time and on any machine. It is silent about healthy runs, short ones too: every finding needs a
 * margin that noise does not reach (the constants in health.c). */
#pragma once

#include "trainer/keep/history.h"

#define HEALTH_TEXT_BYTES 320

struct health {
    /* [{"kind": …, "text": …}] in the order of these kinds, empty for a healthy run:
     *
     *     diverged           the training loss ends above what guessing every label alike gives, or above its beginning
     *     worse-than-chance  the held-out accuracy is not above that of always guessing the commonest label, and the
     *                        training loss no longer falls, or was far above chance
     *     worse-than-best    the loss ends above its least: the held-out one, or with less than two evaluations that of
     *                        training
     *     clipped            nearly all gradients are clipped, to a small part of themselves
     *     overfits           the held-out loss only rises while the training loss falls */
    json_t *findings;
    /* A command that changes what is probably wrong, made from that of the run's last start. NULL: the run is healthy,
     * or going on from its best checkpoint is better. */
    char *command;
};

/* `record` is run.json. The caller calls health_release. */
struct health health_of(const struct history *history, const json_t *record);
/* The same for a run's directory; without findings if its metrics cannot be read. */
struct health health_read(const char *directory, const json_t *record);
void health_release(struct health *health); /* safe on a zeroed one */
