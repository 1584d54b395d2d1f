/* A training in progress: everything that is open, and how far it is.
 *
 *     training_open (start.c) → the loop (train.c) → training_close */
#ifndef TRAINER_TRAIN_H
#define TRAINER_TRAIN_H

#include "base/error.h"
#include "shards/dataset.h"
#include "trainer/data/loader.h"
#include "trainer/evaluate.h"
#include "trainer/keep/checkpoint.h"
#include "trainer/keep/metrics.h"
#include "trainer/keep/tokenizer.h"
#include "trainer/model/model.h"
#include "trainer/ops.h"
#include "trainer/recipe.h"
#include "trainer/run.h"
#include "trainer/screen.h"
#include "trainer/settings.h"

struct training {
    const struct settings *settings;
    struct recipe recipe; /* the mathematics */
    struct dataset data, valid;
    struct tokenizer_files tokenizer;
    json_t *identity;
    struct run run;

    struct ops *ops;
    struct model *model;
    float *first, *second; /* Adam's moments, flat */
    double *squares;       /* [chunk_count] working memory of the norm */
    unsigned threads;
    uint32_t micro_batch;
    struct pack_limits limits;

    struct checkpoint_state state;
    double seconds;    /* training time of the whole run, without evaluation and saving */
    uint64_t begun_at; /* step at which this invocation began */
    uint64_t saved_step;
    double saved_clock;          /* clock_now of the last save, or of the start */
    bool evaluated;              /* after state.step */
    struct evaluation valid_now; /* the last evaluation */
    struct metrics metrics;
    struct loader *loader;
    struct screen screen;
};

/* Opens dataset, model, run; draws, reads or resumes the weights. A run that is finished (run.kind) opens no model. On
 * error too the caller calls training_close. */
int training_open(struct training *training, const struct settings *settings, struct error *err);
void training_close(struct training *training);

#endif
