/* Whether the weights that dsdata demo trained are the published ones, which every CPU and compiler must give
 * (docs/ARITHMETIC.md). */
#pragma once

#include "base/error.h"

#define DEMO_SAVE_EVERY "400" /* steps between the checkpoints whose hashes are published */

extern const char demo_published[]; /* data/demo.json: provenance.json of an export of the demo's run */

/* Compares the checkpoints in the demo's folder with the published ones, by the dstrain beside this program, and says
 * what came out. ERR_VERIFY: they differ; the folder then has difference.json, which says where, by which processor and
 * which compiler. */
int demo_weights(const char *folder, struct error *err);
