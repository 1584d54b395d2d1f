#include "trainer/data/pack.h"

#include <assert.h>

#include "base/mem.h"

static int32_t rounded(int32_t rows)
{
    return (rows + BATCH_ROW_MULTIPLE - 1) / BATCH_ROW_MULTIPLE * BATCH_ROW_MULTIPLE;
}

void pack_init(struct batch *batch, const struct pack_limits *limits)
{
    assert(limits->tokens >= 1 && limits->tokens <= INT32_MAX - BATCH_ROW_MULTIPLE);
    assert(limits->masked >= 0 && limits->masked <= INT32_MAX - BATCH_ROW_MULTIPLE);
    const size_t tokens = (size_t)rounded(limits->tokens), masked = (size_t)rounded(limits->masked);
    const size_t sequences = (size_t)limits->sequences;
    *batch = (struct batch){
        .ids = mem_array(tokens, sizeof *batch->ids),
        .segments = mem_array(tokens, sizeof *batch->segments),
        .positions = mem_array(tokens, sizeof *batch->positions),
        .sequence_of = mem_array(tokens, sizeof *batch->sequence_of),
        .starts = mem_array(sequences + 1, sizeof *batch->starts),
        .masked_index = mem_array(masked, sizeof *batch->masked_index),
        .labels = mem_array(masked, sizeof *batch->labels),
        .next_labels = mem_array(sequences, sizeof *batch->next_labels),
        .numbers = mem_array(sequences, sizeof *batch->numbers),
    };
}

void pack_release(struct batch *batch)
{
    mem_free(batch->ids);
    mem_free(batch->segments);
    mem_free(batch->positions);
    mem_free(batch->sequence_of);
    mem_free(batch->starts);
    mem_free(batch->masked_index);
    mem_free(batch->labels);
    mem_free(batch->next_labels);
    mem_free(batch->numbers);
    *batch = (struct batch){0};
}

void pack_clear(struct batch *batch)
{
    batch->sequences = batch->tokens = batch->token_rows = batch->masked = batch->masked_rows = 0;
}

bool pack_add(struct batch *batch, const struct pack_limits *limits, const struct sequence *sequence, uint32_t number)
{
    const int32_t first = batch->tokens, place = batch->sequences;
    const struct marks *masked = &sequence->marks[HEAD_MASKED], *next = &sequence->marks[HEAD_NEXT];
    if (sequence->length > (uint32_t)(limits->tokens - first) ||
        masked->count > (uint32_t)(limits->masked - batch->masked) || place == limits->sequences)
        return false;
    for (int32_t i = 0; i < (int32_t)sequence->length; i++) {
        batch->ids[first + i] = (int32_t)sequence->ids[i];
        batch->segments[first + i] = (uint32_t)i >= sequence->a_length;
        batch->positions[first + i] = i;
        batch->sequence_of[first + i] = place;
    }
    for (uint32_t i = 0; i < masked->count; i++) {
        batch->masked_index[batch->masked] = first + (int32_t)masked->tokens[i];
        batch->labels[batch->masked++] = (int32_t)masked->labels[i];
    }
    batch->starts[place] = first;
    batch->next_labels[place] = next->count > 0 ? (int32_t)next->labels[0] : 0;
    batch->numbers[place] = number;
    batch->tokens += (int32_t)sequence->length;
    batch->sequences++;
    return true;
}

/* The next of the row counts that batches may have, none of them above the limit's own. */
static int32_t shape_of(int32_t rows, int32_t limit, int32_t shapes)
{
    const int32_t most = rounded(limit), step = shapes > 0 ? rounded((most + shapes - 1) / shapes) : BATCH_ROW_MULTIPLE;
    const int32_t up = (rows + step - 1) / step * step;
    return up < most ? up : most;
}

void pack_finish(struct batch *batch, const struct pack_limits *limits)
{
    batch->token_rows = shape_of(batch->tokens, limits->tokens, limits->shapes);
    batch->masked_rows = shape_of(batch->masked, limits->masked, limits->shapes);
    batch->starts[batch->sequences] = batch->tokens;
    for (int32_t i = batch->tokens; i < batch->token_rows; i++) {
        batch->ids[i] = batch->sequence_of[i] = -1;
        batch->segments[i] = batch->positions[i] = 0;
    }
    for (int32_t i = batch->masked; i < batch->masked_rows; i++)
        batch->masked_index[i] = batch->labels[i] = -1;
}
