/* --mask-phases and --mask-split: what they say of fresh masks. */
#pragma once

#include "base/error.h"
#include "trainer/data/shard_source.h"

/* Reads "0.3@0,0.15@0.7": phases whose `from` is in millionths of the run's steps. Shares of tokens are above 0; the
 * first phase begins at 0, each later one after the one before it and below 1. ERR_USAGE names the part that is
 * wrong. */
int mask_phases_read(const char *text, struct mask_phase phases[MASK_PHASES_MAX], size_t *count, struct error *err);
/* Reads "80:10:10": per cent of the chosen tokens that become [MASK], that become any piece, and that stay. */
int mask_split_read(const char *text, struct mask_split *split, struct error *err);
