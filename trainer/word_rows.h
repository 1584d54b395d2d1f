/* The rows of the word table's gradient that the last pass of a step still changes when its heads are done: those that
 * its input names. The table is the decoder's too, so all its other rows are final by then, early in the backward pass,
 * and it has half of a small model's bytes. Every process marks the rows of its own last pass; what anybody marked is
 * moved to the end of the table, and what stands before it can be summed while the backward pass goes on:
 *
 *     word_rows_tell → all-gather of the marks → word_rows_move → word_rows_batch → … sums … → word_rows_back
 *
 *     │ 0  1  2  3  4  5  6  7 │   2 and 7 are marked   │ 0  1  6  3  4  5 │ 2  7 │
 *
 * All processes move the same rows to the same places. One thread calls. */
#ifndef TRAINER_WORD_ROWS_H
#define TRAINER_WORD_ROWS_H

#include "trainer/comm.h"
#include "trainer/data/batch.h"
#include "trainer/model/params.h"

#include <stddef.h>

struct word_rows;

/* `gradients`: flat floats, the host's. Takes a bit a row and process, and 12 bytes a row. */
struct word_rows *word_rows_open(const struct params *params, float *gradients, uint32_t rank, uint32_t size);
void word_rows_close(struct word_rows *rows); /* NULL is fine */

/* Marks the rows of this process's last batch, NULL if it has none, and returns the exchange, of all. */
struct comm_work word_rows_tell(struct word_rows *rows, const struct batch *batch);
/* After the exchange. Returns how many elements, from the start of flat memory, hold rows that nobody marked. */
size_t word_rows_move(struct word_rows *rows);
/* The batch with ids that say where its rows stand now; valid until the next call. */
const struct batch *word_rows_batch(struct word_rows *rows, const struct batch *batch);
/* Moves all rows back to their places; at any time. */
void word_rows_back(struct word_rows *rows);

#endif
