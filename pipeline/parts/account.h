/* The account of a run: what was kept, dropped, repaired, left out as leaks and lost to damage. build and extract print
 * the same lines and the same keys. docs/GLOSSARY.md defines the words. */
#pragma once

#include "pipeline/parts/counts.h"
#include "pipeline/parts/missing.h"

#include <jansson.h>

/* Logs a line for each that there is something to say about:
 *
 *     documents  16 of 20 kept; dropped 4 malformed
 *     example    malformed: a.jsonl: byte 1,204: {"id": 5, "text": "x
 *     repaired   5: 3 with bytes that are not UTF-8, 2 with a key twice
 *     leaks      12; worst: {{TA}} 8, Danube 4
 *     damage     1 place, 1.2 kB of the file skipped */
void account_say(const struct counts *counts, const struct missing *missing, bool of_pages);

/* [{"name", "count"}, … most first]: at most ACCOUNT_NAMES_MAX rows of a table; with `bytes` also "bytes". */
#define ACCOUNT_NAMES_MAX 50u
json_t *account_names(const struct name_counts *table, bool bytes);

/* Adds the keys "dropped", "repaired", "repaired_documents" and "leaks", as `show --json` has them, and "examples": for
 * each reason the first document that was dropped. */
void account_json(const struct counts *counts, const struct missing *missing, json_t *object);
