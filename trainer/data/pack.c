#include "trainer/data/pack.h"

#include <assert.h>

#include "base/mem.h"

static int32_t rounded(int32_t rows)
{
    return (rows + BATCH_ROW_MULTIPLE - 1) / BATCH_ROW_MULTIPLE * BATCH_ROW_MULTIPLE;
}

/* The maximum number of live rows that heads read; 0: they read all, and no `read` batch is made. */
static int32_t read_limit(const struct pack_limits *limits)
{
    int64_t marks = 0;
    for (int h = 0; h < HEAD_KINDS; h++)
        marks += limits->marks[h];
    return limits->reads_all ? 0 : marks < limits->tokens ? (int32_t)marks : limits->tokens;
}

static void read_init(struct batch *batch, const struct pack_limits *limits)
{
    const size_t rows = (size_t)rounded(read_limit(limits)), sequences = (size_t)limits->sequences;
    struct batch *read = mem_clear(1, sizeof *read);
    read->positions = mem_array(rows, sizeof *read->positions);
    read->sequence_of = mem_array(rows, sizeof *read->sequence_of);
    read->starts = mem_array(sequences + 1, sizeof *read->starts);
    read->numbers = batch->numbers;
    batch->read = read;
    batch->read_index = mem_array(rows, sizeof *batch->read_index);
}

void pack_init(struct batch *batch, const struct pack_limits *limits)
{
    assert(limits->tokens >= 1 && limits->tokens <= INT32_MAX - BATCH_ROW_MULTIPLE);
    const size_t tokens = (size_t)rounded(limits->tokens), sequences = (size_t)limits->sequences;
    *batch = (struct batch){
        .ids = mem_array(tokens, sizeof *batch->ids),
        .segments = mem_array(tokens, sizeof *batch->segments),
        .positions = mem_array(tokens, sizeof *batch->positions),
        .sequence_of = mem_array(tokens, sizeof *batch->sequence_of),
        .starts = mem_array(sequences + 1, sizeof *batch->starts),
        .numbers = mem_array(sequences, sizeof *batch->numbers),
    };
    for (int h = 0; h < HEAD_KINDS; h++) {
        assert(limits->marks[h] >= 0 && limits->marks[h] <= INT32_MAX - BATCH_ROW_MULTIPLE);
        const size_t marks = (size_t)rounded(limits->marks[h]);
        batch->heads[h].index = mem_array(marks, sizeof *batch->heads[h].index);
        batch->heads[h].labels = mem_array(marks, sizeof *batch->heads[h].labels);
    }
    if (read_limit(limits) > 0)
        read_init(batch, limits);
}

void pack_release(struct batch *batch)
{
    mem_free(batch->ids);
    mem_free(batch->segments);
    mem_free(batch->positions);
    mem_free(batch->sequence_of);
    mem_free(batch->starts);
    mem_free(batch->numbers);
    for (int h = 0; h < HEAD_KINDS; h++) {
        mem_free(batch->heads[h].index);
        mem_free(batch->heads[h].labels);
    }
    if (batch->read) {
        mem_free(batch->read->positions);
        mem_free(batch->read->sequence_of);
        mem_free(batch->read->starts);
    }
    mem_free(batch->read);
    mem_free(batch->read_index);
    *batch = (struct batch){0};
}

void pack_clear(struct batch *batch)
{
    batch->sequences = batch->tokens = batch->token_rows = 0;
    for (int h = 0; h < HEAD_KINDS; h++)
        batch->heads[h].live = batch->heads[h].total = 0;
    if (batch->read)
        batch->read->sequences = batch->read->tokens = batch->read->token_rows = 0;
}

static bool fits(const struct batch *batch, const struct pack_limits *limits, const struct sequence *sequence)
{
    bool fits = sequence->length <= (uint32_t)(limits->tokens - batch->tokens) && batch->sequences < limits->sequences;
    for (int h = 0; h < HEAD_KINDS; h++)
        fits = fits && sequence->marks[h].count <= (uint32_t)(limits->marks[h] - batch->heads[h].live);
    return fits;
}

static void add_marks(struct head_batch *head, const struct marks *marks, int32_t first)
{
    for (uint32_t i = 0; i < marks->count; i++, head->live++) {
        head->index[head->live] = first + (int32_t)marks->tokens[i];
        head->labels[head->live] = (int32_t)marks->labels[i];
    }
}

bool pack_add(struct batch *batch, const struct pack_limits *limits, const struct sequence *sequence, uint32_t number)
{
    const int32_t first = batch->tokens, place = batch->sequences;
    if (!fits(batch, limits, sequence))
        return false;
    for (int32_t i = 0; i < (int32_t)sequence->length; i++) {
        batch->ids[first + i] = (int32_t)sequence->ids[i];
        batch->segments[first + i] = (uint32_t)i >= sequence->a_length;
        batch->positions[first + i] = i;
        batch->sequence_of[first + i] = place;
    }
    for (int h = 0; h < HEAD_KINDS; h++)
        add_marks(&batch->heads[h], &sequence->marks[h], first);
    batch->starts[place] = first;
    batch->numbers[place] = number;
    batch->tokens += (int32_t)sequence->length;
    batch->sequences++;
    assert(batch->tokens <= limits->tokens && batch->sequences <= limits->sequences);
    return true;
}

/* Rounds up to the next permitted row count, at most the limit rounded up. */
static int32_t shape_of(int32_t rows, int32_t limit, int32_t shapes)
{
    if (limit == 0)
        return 0; /* a head without labels */
    const int32_t most = rounded(limit), step = shapes > 0 ? rounded((most + shapes - 1) / shapes) : BATCH_ROW_MULTIPLE;
    const int32_t up = (rows + step - 1) / step * step;
    assert(rows <= limit);
    return up < most ? up : most;
}

/* Makes the batch of the rows that heads read, the union of all heads' rows, and changes the heads' indices from token
 * rows to rows of it. */
static void pack_read(struct batch *batch, const struct pack_limits *limits)
{
    struct batch *read = batch->read;
    int32_t done[HEAD_KINDS] = {0}, live = 0;
    for (int32_t row = 0; row < batch->tokens; row++) {
        bool reads = false;
        if (batch->positions[row] == 0)
            read->starts[batch->sequence_of[row]] = live;
        for (int h = 0; h < HEAD_KINDS; h++) {
            struct head_batch *head = &batch->heads[h];
            assert(done[h] == head->live || head->index[done[h]] >= row); /* indices are ascending and distinct */
            if (done[h] == head->live || head->index[done[h]] != row)
                continue;
            head->index[done[h]++] = live;
            reads = true;
        }
        if (!reads)
            continue;
        batch->read_index[live] = row;
        read->positions[live] = batch->positions[row];
        read->sequence_of[live++] = batch->sequence_of[row];
    }
    for (int h = 0; h < HEAD_KINDS; h++)
        assert(done[h] == batch->heads[h].live); /* every label has its row */
    read->sequences = batch->sequences;
    read->starts[read->sequences] = read->tokens = live;
    read->token_rows = shape_of(live, read_limit(limits), limits->shapes);
    for (int32_t i = live; i < read->token_rows; i++) {
        batch->read_index[i] = read->sequence_of[i] = -1;
        read->positions[i] = 0;
    }
}

void pack_finish(struct batch *batch, const struct pack_limits *limits)
{
    batch->token_rows = shape_of(batch->tokens, limits->tokens, limits->shapes);
    batch->starts[batch->sequences] = batch->tokens;
    for (int32_t i = batch->tokens; i < batch->token_rows; i++) {
        batch->ids[i] = batch->sequence_of[i] = -1;
        batch->segments[i] = batch->positions[i] = 0;
    }
    for (int h = 0; h < HEAD_KINDS; h++) {
        struct head_batch *head = &batch->heads[h];
        head->total = shape_of(head->live, limits->marks[h], limits->shapes);
        for (int32_t i = head->live; i < head->total; i++)
            head->index[i] = head->labels[i] = -1;
    }
    if (batch->read)
        pack_read(batch, limits);
}
