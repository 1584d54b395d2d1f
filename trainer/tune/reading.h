/* A trained model opened for reading: forward passes only, over text that its own tokenizer cuts. No dataset, no run,
 * no moments.
 *
 *     reading_find → make the samples → reading_open → { reading_pass … } → reading_close
 * */
#pragma once

#include "trainer/run/engine.h"
#include "trainer/recipe/text.h"

struct reading {
    struct settings settings; /* the command line, with the model as --init */
    struct origin origin;
    enum head_kind tuned; /* the head that the model was fine-tuned with; HEAD_KINDS: none */
    struct recipe recipe; /* the model's shape; fp32 unless --precision says otherwise */
    struct text text;
    struct task task; /* its samples: the caller's source */
    struct engine engine;
};

/* Finds the model's files and opens its tokenizer: what is needed to make samples. `heads`: bits of the heads that run;
 * 0: none, all rows of the last layer are there (model_hidden).
 * The caller calls reading_close after errors too. ERR_UNSAFE, ERR_MISMATCH, ERR_VERIFY: as for --init. */
int reading_find(struct reading *reading, const struct settings *settings, const char *model, uint32_t heads,
                 struct error *err);
/* Opens a device and the model on it, for samples of `source`, whose context outlives the reading. ERR_MISMATCH: the
 * weights lack a head. */
int reading_open(struct reading *reading, const struct source *source, struct error *err);
void reading_close(struct reading *reading);

/* Passes all samples in order, packed. `each` is called after every micro-batch, when its model_logits and
 * model_results are there. ERR_STOPPED: the user asked to stop; ERR_NUMERIC: the model's results are not finite. */
int reading_pass(struct reading *reading, void (*each)(void *context, const struct batch *batch), void *context,
                 struct error *err);
