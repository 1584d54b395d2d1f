/* A card for a dataset, as model and data hubs show it: Markdown after a head of YAML with language, licence and size;
 * the sources with their hashes, what was dropped and why, all settings that decide the bytes, and the command. It has
 * no time, host or folder: equal datasets that were built by equal commands give equal cards. */
#pragma once

#include "base/str.h"
#include "base/target.h"

extern const struct target_form dataset_card_form; /* a card, of whatever dataset */

/* Adds the card of the dataset to `card`; its name is the directory's. Errors: as manifest_read. */
int dataset_card_make(struct buf *card, const char *directory, struct error *err);
