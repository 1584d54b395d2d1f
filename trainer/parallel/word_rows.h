/* Allows most of the word table's gradient to be summed early. In the last pass of a step, once the heads are done,
 * only the rows of the pass's input ids still change; all other rows of the table, which is also the decoder's, are
 * final early in the backward pass, and the table is half of a small model's bytes. Every process marks the rows of its
 * own last pass. Rows that any process has marked are moved to the end of the table, and those before them can be
 * summed while the backward pass goes on:
 *
 *     word_rows_tell → all-gather of the marks → word_rows_move → word_rows_batch → … sums … → word_rows_back
 *
 *     │ 0  1  2  3  4  5  6  7 │   2 and 7 are marked   │ 0  1  6  3  4  5 │ 2  7 │
 *
 * All processes move the same rows to the same places. One thread calls. */
#pragma once

#include "trainer/comm/comm.h"
#include "trainer/model/params.h"

struct word_rows;

/* `gradients` are flat floats in host memory; NULL: no row will be moved. Needs a bit per row and process, and 8
 * bytes per row. */
struct word_rows *word_rows_open(const struct params *params, float *gradients, uint32_t rank, uint32_t size);
void word_rows_close(struct word_rows *rows); /* NULL is fine */

/* Marks the rows of this process's last batch (NULL: it has none) and returns the exchange of all marks, which is
 * collective. */
struct comm_work word_rows_tell(struct word_rows *rows, const struct batch *batch);
/* After the exchange: moves the marked rows. Returns the number of elements, from the start of flat memory, in rows
 * that no process has marked. */
size_t word_rows_move(struct word_rows *rows);
/* The batch with ids changed to where its rows are now; valid until the next call. */
const struct batch *word_rows_batch(struct word_rows *rows, const struct batch *batch);
/* Moves all rows back to their places; may be called at any time. */
void word_rows_back(struct word_rows *rows);

/* Instead of word_rows_move, for a table whose marked rows are kept apart, packed: after word_rows_tell,
 * word_rows_batch gives ids among the rows that this process has marked. Returns their number. */
size_t word_rows_pack(struct word_rows *rows);
/* The place of a row among those, or -1 if this process has not marked it. */
int32_t word_rows_packed(const struct word_rows *rows, size_t row);
/* After the exchange: whether any process has marked the row. */
bool word_rows_marked(const struct word_rows *rows, size_t row);
