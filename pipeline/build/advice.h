/* Warnings about builds whose samples would teach little, with the command to type instead. Nothing else depends on
 * them. */
#pragma once

#include "pipeline/build/dataset_recipe.h"
#include "pipeline/input/inputs.h"
#include "shards/manifest.h"

/* Before reading, by the beginnings of the inputs: warns about pairs if documents are one sentence each. */
void advice_before(const struct dsdata_settings *settings, const struct inputs *inputs,
                   const struct dataset_recipe *recipe);
/* For a finished build: warns about a vocabulary that gives many [UNK]; about pairs that are nearly all random, or
 * never; else about samples that are mostly padding. */
void advice_after(const struct dsdata_settings *settings, const struct dataset_recipe *recipe,
                  const struct counts *counts, const struct manifest *manifest);

/* For a finished build: warns about a split that is empty, or far from --valid, further than chance explains; or about
 * too few held-out samples. */
void advice_split(const struct dsdata_settings *settings, const struct dataset_recipe *recipe,
                  const struct counts *counts, const struct manifest *manifest);
