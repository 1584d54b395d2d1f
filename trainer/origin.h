/* What a model begins with where --init names it: the files of a Hugging Face directory, a run or a checkpoint. */
#ifndef TRAINER_ORIGIN_H
#define TRAINER_ORIGIN_H

#include "base/error.h"
#include "base/str.h"
#include "trainer/keep/checkpoint.h"
#include "trainer/settings.h"

struct origin {
    char *files;   /* their directory; NULL: no --init, weights are drawn by seed */
    char *weights; /* path of model.safetensors */
    enum model_source source;
};

/* Finds the files and checks those of our own against their hashes. `name` becomes the hashes of the weights (and
 * moments, with --init-moments), which stand for them in the run's identity; it is left alone without --init.
 * ERR_USAGE: missing, or options that contradict; ERR_UNSAFE: another format, with the line that converts it;
 * ERR_VERIFY: damaged. */
int origin_find(struct origin *origin, const struct settings *settings, char *name, size_t name_size,
                struct error *err);
void origin_release(struct origin *origin);

/* Where a vocab.txt lies beside the weights it must be `ours` piece by piece, else ERR_MISMATCH: the same number means
 * the same word. */
int origin_check_vocabulary(const struct origin *origin, struct str ours, struct error *err);

#endif
