#include "trainer/parallel/word_rows.h"

#include <assert.h>

#include "base/mem.h"
#include "base/parallel.h"

struct word_rows {
    float *table; /* [count, hidden] */
    size_t count, hidden;
    uint32_t rank, size;

    size_t bytes;   /* of one process's marks: a bit per row */
    uint8_t *marks; /* [size, bytes]; after word_rows_move the first row is the union of all */
    size_t *counts; /* [size] `bytes` for each process */

    int32_t *places; /* [count] where each row is */
    int32_t *moved;  /* [moves] rows that were swapped with the row at places[row] */
    size_t moves;

    struct batch batch; /* returned by word_rows_batch */
    size_t room;        /* for its ids */
};

struct word_rows *word_rows_open(const struct params *params, float *gradients, uint32_t rank, uint32_t size)
{
    const struct param *word = params_embedding(params, PARAM_WORD);
    struct word_rows *rows = mem_clear(1, sizeof *rows);
    assert(word == params->items && word->offset == 0 && params->count > 1);
    rows->table = gradients;
    rows->hidden = (size_t)word->shape[1];
    rows->count = word[1].offset / rows->hidden; /* including rows that pad the vocabulary */
    rows->rank = rank;
    rows->size = size;
    rows->bytes = blocks_of(rows->count, 8);
    rows->marks = mem_clear(size, rows->bytes);
    rows->counts = mem_array(size, sizeof *rows->counts);
    for (uint32_t r = 0; r < size; r++)
        rows->counts[r] = rows->bytes;
    rows->places = mem_array(rows->count, sizeof *rows->places);
    for (size_t i = 0; i < rows->count; i++)
        rows->places[i] = (int32_t)i;
    rows->moved = mem_array(rows->count, sizeof *rows->moved);
    return rows;
}

void word_rows_close(struct word_rows *rows)
{
    if (!rows)
        return;
    mem_free(rows->marks);
    mem_free(rows->counts);
    mem_free(rows->places);
    mem_free(rows->moved);
    mem_free(rows->batch.ids);
    mem_free(rows);
}

struct comm_work word_rows_tell(struct word_rows *rows, const struct batch *batch)
{
    uint8_t *own = rows->marks + rows->rank * rows->bytes;
    memset(own, 0, rows->bytes);
    for (int32_t i = 0; batch && i < batch->tokens; i++)
        own[batch->ids[i] / 8] |= (uint8_t)(1 << batch->ids[i] % 8);
    return COMM_GATHER_OF(COMM_BYTE, rows->marks, rows->counts);
}

static bool is_marked_by(const struct word_rows *rows, uint32_t rank, size_t row)
{
    return rows->marks[rank * rows->bytes + row / 8] >> row % 8 & 1;
}

static bool is_marked(const struct word_rows *rows, size_t row)
{
    return is_marked_by(rows, 0, row);
}

static void swap(float *a, float *b, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const float kept = a[i];
        a[i] = b[i];
        b[i] = kept;
    }
}

/* Marked rows move to the end of the table: each marked row before `end` is swapped with an unmarked row from `end` on;
 * there are as many of one as of the other. */
size_t word_rows_move(struct word_rows *rows)
{
    size_t marked = 0;
    for (uint32_t r = 1; r < rows->size; r++)
        for (size_t i = 0; i < rows->bytes; i++)
            rows->marks[i] |= rows->marks[r * rows->bytes + i];
    for (size_t row = 0; row < rows->count; row++)
        marked += is_marked(rows, row);
    const size_t end = rows->count - marked;
    assert(rows->moves == 0);
    for (size_t row = 0, to = end; row < end; row++) {
        if (!is_marked(rows, row))
            continue;
        while (is_marked(rows, to))
            to++;
        swap(rows->table + row * rows->hidden, rows->table + to * rows->hidden, rows->hidden);
        rows->moved[rows->moves++] = (int32_t)row;
        rows->places[row] = (int32_t)to++;
    }
    return end * rows->hidden;
}

const struct batch *word_rows_batch(struct word_rows *rows, const struct batch *batch)
{
    const size_t room = (size_t)batch->token_rows;
    int32_t *ids = rows->batch.ids;
    if (room > rows->room) {
        ids = mem_grow(ids, room, sizeof *ids);
        rows->room = room;
    }
    for (size_t i = 0; i < room; i++) {
        assert(batch->ids[i] < (int32_t)rows->count);
        ids[i] = batch->ids[i] < 0 ? batch->ids[i] : rows->places[batch->ids[i]];
    }
    rows->batch = *batch;
    rows->batch.ids = ids;
    return &rows->batch;
}

void word_rows_back(struct word_rows *rows)
{
    while (rows->moves > 0) {
        const size_t row = (size_t)rows->moved[--rows->moves], at = (size_t)rows->places[row];
        swap(rows->table + row * rows->hidden, rows->table + at * rows->hidden, rows->hidden);
        rows->places[row] = (int32_t)row;
    }
}

size_t word_rows_pack(struct word_rows *rows)
{
    size_t count = 0;
    for (size_t row = 0; row < rows->count; row++)
        rows->places[row] = is_marked_by(rows, rows->rank, row) ? (int32_t)count++ : -1;
    return count;
}

int32_t word_rows_packed(const struct word_rows *rows, size_t row)
{
    return rows->places[row];
}

bool word_rows_marked(const struct word_rows *rows, size_t row)
{
    for (uint32_t r = 0; r < rows->size; r++)
        if (is_marked_by(rows, r, row))
            return true;
    return false;
}
