/* What decides whether a document is held out: a hash of its id, so that it stays on its side from one dump to the
 * next, or of its text. By id, all documents of an id are on one side; so where ids say little (a label, a constant,
 * numbers that begin anew in every file) whole groups would be, and the text decides. */
#pragma once

#include "pipeline/dump/dump.h"

/* --valid-by; AUTO: split_by_text says which, for each input. */
enum valid_by { VALID_AUTO, VALID_BY_ID, VALID_BY_TEXT };

/* Ids at the beginning of an input: at most SPLIT_IDS, as hashes. A zeroed one is empty. */
#define SPLIT_IDS 256u
struct split_ids {
    uint64_t *ids;
    size_t count;
};

/* Reads them from dump_head; id_key: of JSON lines. */
void split_ids_read(struct split_ids *ids, const struct dump *dump, const char *id_key);
void split_ids_add(struct split_ids *ids, struct str id); /* count must be less than SPLIT_IDS */
void split_ids_release(struct split_ids *ids);

/* True (by text) if there is no id, or if fewer than three in four of the documents have an id of their own: at the
 * beginning of an input, or at those of all inputs of a kind whose ids are shared (`ids` of [count] inputs). A document
 * without an id goes by its text in any case. The answer depends on the beginnings alone, so it is known before the
 * first document, and the same for all threads, processes and starts. */
bool split_by_text(const struct split_ids *const *ids, size_t count);
