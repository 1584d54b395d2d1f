/* One fine-tuning on a task of GLUE: what train_run trains on (setup.h), and what it leaves in its directory,
 *
 *     predictions/TASK.tsv    of the test file, where there is one, else of the dev file
 *     eval_results.txt        key = value
 *     scores.json             the same and how they came about; written last
 *
 *     struct glue glue = {.task = task, .data = folder};
 *     settings.tuning = &(const struct tuning)GLUE_TUNING(&glue); train_run(&settings, err);
 *     glue_release(&glue);
 */
#ifndef TRAINER_TUNE_GLUE_H
#define TRAINER_TUNE_GLUE_H

#include "trainer/run/setup.h"
#include "trainer/tune/glue_tasks.h"
#include "trainer/recipe/text.h"

struct glue {
    const struct glue_task *task;
    const char *data; /* the folder of all tasks */
    bool answers;     /* nothing is trained on: only the dev files are read */
    const char *dev;  /* a file to score instead of the task's dev files, or NULL; needs no `data` */

    struct text text;
    uint32_t length;
    uint64_t seed;
    struct glue_set train, devs[GLUE_DEVS_MAX], tests[GLUE_DEVS_MAX]; /* tests: empty where there is no file */
    struct samples_reading run, split_train, split_valid;
};

/* Checks that the task's folder in `data` has the dev files, and train.tsv if it `trains`. */
int glue_check_folder(const struct glue_task *task, const char *data, bool trains, struct error *err);
int glue_open(void *glue, const struct settings *settings, const struct origin *origin, struct model_config *config,
              struct material *material, struct error *err);
const struct text *glue_text(void *glue);
struct task glue_task_of(void *glue, const struct recipe *recipe);
#define GLUE_TUNING(glue)                                                                                              \
    {                                                                                                                  \
        (glue), glue_open, glue_text, glue_task_of, true                                                               \
    }
/* Scores the model on the dev files, and writes nothing. *scores becomes an object with the keys of scores.json that do
 * not belong to a training; the caller json_decref's it. Collective, as predict is. */
int glue_evaluate(struct glue *glue, const struct evaluation_work *work, json_t **scores, struct error *err);
void glue_release(struct glue *glue); /* what glue_open took, also where it failed */

#endif
