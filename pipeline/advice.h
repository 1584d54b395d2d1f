/* Warnings of builds whose samples teach little, with the command to type. They decide nothing. */
#ifndef PIPELINE_ADVICE_H
#define PIPELINE_ADVICE_H

#include "pipeline/dataset_recipe.h"
#include "pipeline/inputs.h"
#include "shards/manifest.h"

/* Before anything is read, by the beginnings of the inputs: pairs of documents that are one sentence each. */
void advice_before(const struct dsdata_settings *settings, const struct inputs *inputs,
                   const struct dataset_recipe *recipe);
/* Of a finished build: pairs that are nearly all random, or never; else samples that are mostly padding. */
void advice_after(const struct dsdata_settings *settings, const struct dataset_recipe *recipe,
                  const struct counts *counts, const struct manifest *manifest);

#endif
