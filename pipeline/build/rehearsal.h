/* What a build would give, for --dry-run: the build's own steps on part of the inputs, scaled to all of their text.
 *
 *     inputs of at most about REHEARSAL_BYTES    all of them, in order: exact, and damage is found
 *     --limit                                    their beginning, up to the limit or REHEARSAL_BYTES
 *     others                                     some windows, by a fixed key; of gzip, Zstandard, xz, which can only
 *                                                be read from there, the beginnings
 *
 * Nothing is written. */
#pragma once

#include "pipeline/build/dataset_recipe.h"
#include "pipeline/input/inputs.h"
#include "pipeline/build/resource_plan.h"
#include "tokenizer/vocab.h"

#define REHEARSAL_BYTES (32u << 20) /* of text */

/* Sets xml_bytes, samples, dataset_bytes and disk_bytes of the plan. `vocab`: of --vocab, NULL: one is learned from
 * the windows. Leaves the plan as it is where nothing can be tried: with a pipe among the inputs, and for --compat
 * google. Errors: those of reading; and ERR_INPUT of inputs_gave_nothing if no document is kept. */
int rehearse(const struct inputs *inputs, const struct dataset_recipe *recipe, const struct vocab *vocab,
             struct resource_plan *plan, struct error *err);
