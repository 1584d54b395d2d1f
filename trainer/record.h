/* What a training leaves in its run directory beside checkpoints. */
#ifndef TRAINER_RECORD_H
#define TRAINER_RECORD_H

#include "trainer/train.h"

/* Takes the directory that --out or the identity names (run_open). */
int record_take(struct training *training, struct error *err);
/* Records this start, writes the tokenizer's files, opens the metrics behind the step in state. */
int record_begin(struct training *training, struct error *err);

#endif
