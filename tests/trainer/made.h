/* Synthetic batches and models for the trainer's tests and benchmark. */
#pragma once

#include "base/mem.h"
#include "base/random.h"
#include "trainer/cpu/cpu_backend.h"
#include "trainer/data/batch.h"
#include "trainer/model/head.h"
#include "trainer/model/model.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MADE_LABELS 3 /* of heads whose labels a task names */

struct made_source {
    uint64_t seed;
    int32_t vocabulary;
    int32_t masked_every; /* every masked_every-th token is masked; 0: none */
};

static inline int32_t made_rounded(int32_t rows)
{
    return (rows + BATCH_ROW_MULTIPLE - 1) / BATCH_ROW_MULTIPLE * BATCH_ROW_MULTIPLE;
}

/* How many labels a head that has some in each sequence chooses from. */
static inline uint32_t made_labels(enum head_kind head, const struct made_source *source)
{
    const int32_t columns = head_kinds[head]->buffers[head_kinds[head]->logits].columns;
    return columns > 0 ? (uint32_t)columns : columns == OF_VOCABULARY ? (uint32_t)source->vocabulary : MADE_LABELS;
}

/* Appends the label of a sequence that begins at `row`, for a head that has one for each sequence. */
static inline void made_label(struct head_batch *to, enum head_kind head, const struct random_stream *stream,
                              uint32_t number, int32_t row, uint32_t length)
{
    if (head_kinds[head]->reads == READS_FIRST) {
        to->index[to->live] = row;
        to->labels[to->live++] = (int32_t)(head == HEAD_NEXT ? random_at(stream, number, 9999999) & 1
                                                             : random_at(stream, number, 9999998) % MADE_LABELS);
    } else if (head_kinds[head]->reads == READS_ALL) { /* a span: where it begins and ends */
        const uint32_t end = random_at(stream, number, 9999997) % length;
        to->index[to->live] = row + (int32_t)(random_at(stream, number, 9999996) % (end + 1));
        to->labels[to->live++] = (int32_t)end;
    }
}

/* A batch of sequences first … first + count - 1 of an endless synthetic text; sequence n is the same in every batch.
 * lengths[i] is the length of sequence first + i. Freed by made_batch_release. */
static inline struct batch made_batch(const struct made_source *source, const int32_t *lengths, int32_t first,
                                      int32_t count)
{
    const struct random_stream stream = random_stream(source->seed, RANDOM_FRESH, 77, 0, 0, 0, 0);
    struct batch batch = {.sequences = count};
    for (int32_t i = 0; i < count; i++)
        batch.tokens += lengths[i];
    batch.token_rows = made_rounded(batch.tokens);
    int32_t **columns[4 + 2 * HEAD_KINDS] = {&batch.ids, &batch.segments, &batch.positions, &batch.sequence_of};
    for (int h = 0; h < HEAD_KINDS; h++) {
        columns[4 + 2 * h] = &batch.heads[h].index;
        columns[5 + 2 * h] = &batch.heads[h].labels;
    }
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        *columns[i] = mem_array((size_t)batch.token_rows, sizeof **columns[i]);
        memset(*columns[i], 0xff, (size_t)batch.token_rows * sizeof **columns[i]);
    }
    batch.starts = mem_array((size_t)count + 1, sizeof *batch.starts);
    batch.numbers = mem_array((size_t)count, sizeof *batch.numbers);
    int32_t row = 0;
    for (int32_t i = 0; i < count; i++) {
        batch.starts[i] = row;
        batch.numbers[i] = (uint32_t)(first + i);
        for (enum head_kind h = 0; h < HEAD_KINDS; h++)
            made_label(&batch.heads[h], h, &stream, batch.numbers[i], row, (uint32_t)lengths[i]);
        for (int32_t j = 0; j < lengths[i]; j++, row++) {
            const uint32_t draw = random_at(&stream, batch.numbers[i], (uint32_t)j);
            batch.ids[row] = (int32_t)(draw % (uint32_t)source->vocabulary);
            batch.segments[row] = j >= lengths[i] / 2;
            batch.positions[row] = j;
            batch.sequence_of[row] = i;
            const bool marked = source->masked_every && j > 0 && (j + first + i) % source->masked_every == 0;
            for (enum head_kind h = 0; marked && h < HEAD_KINDS; h++)
                if (head_kinds[h]->reads == READS_MARKED) {
                    const uint32_t labels = made_labels(h, source);
                    batch.heads[h].index[batch.heads[h].live] = row;
                    batch.heads[h].labels[batch.heads[h].live++] = (int32_t)(draw / 7 % labels);
                }
        }
    }
    batch.starts[count] = row;
    for (int h = 0; h < HEAD_KINDS; h++)
        batch.heads[h].total = made_rounded(batch.heads[h].live);
    return batch;
}

/* Fills batch->read, the rows that heads read, as pack_finish does. */
static inline void made_read(struct batch *batch)
{
    struct batch *read = mem_clear(1, sizeof *read);
    const size_t rows = (size_t)batch->token_rows;
    read->sequences = batch->sequences;
    read->numbers = batch->numbers;
    read->positions = mem_clear(rows, sizeof *read->positions);
    read->sequence_of = mem_array(rows, sizeof *read->sequence_of);
    read->starts = mem_array((size_t)batch->sequences + 1, sizeof *read->starts);
    batch->read_index = mem_array(rows, sizeof *batch->read_index);
    memset(read->sequence_of, 0xff, rows * sizeof *read->sequence_of);
    memset(batch->read_index, 0xff, rows * sizeof *batch->read_index);
    for (int32_t row = 0; row < batch->tokens; row++) {
        bool reads = false;
        if (batch->positions[row] == 0)
            read->starts[batch->sequence_of[row]] = read->tokens;
        for (int h = 0; h < HEAD_KINDS; h++)
            for (int32_t i = 0; i < batch->heads[h].live; i++)
                if (batch->heads[h].index[i] == row && i >= read->heads[h].live) {
                    batch->heads[h].index[i] = read->tokens;
                    read->heads[h].live = i + 1; /* renumbered */
                    reads = true;
                }
        if (!reads)
            continue;
        batch->read_index[read->tokens] = row;
        read->positions[read->tokens] = batch->positions[row];
        read->sequence_of[read->tokens++] = batch->sequence_of[row];
    }
    read->starts[read->sequences] = read->tokens;
    read->token_rows = made_rounded(read->tokens);
    memset(read->heads, 0, sizeof read->heads);
    batch->read = read;
}

static inline void made_batch_release(struct batch *batch)
{
    if (batch->read) {
        mem_free(batch->read->positions);
        mem_free(batch->read->sequence_of);
        mem_free(batch->read->starts);
        mem_free(batch->read);
        mem_free(batch->read_index);
    }
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
}

/* A budget for exactly this batch. */
static inline struct model_budget made_budget(const struct batch *batch)
{
    int32_t longest = 1;
    for (int32_t i = 0; i < batch->sequences; i++)
        if (batch->starts[i + 1] - batch->starts[i] > longest)
            longest = batch->starts[i + 1] - batch->starts[i];
    struct model_budget budget = {
        .token_rows_max = batch->token_rows, .sequences_max = batch->sequences, .length_max = longest};
    for (int h = 0; h < HEAD_KINDS; h++)
        budget.head_rows_max[h] = batch->heads[h].total;
    return budget;
}

/* Settings of a step with dropout that has `times` such batches. */
static inline struct step_settings made_step(uint32_t seed, uint32_t step, const struct batch *batch, int times)
{
    struct step_settings settings = {.seed = seed, .step = step, .loss_scale = 1};
    for (int h = 0; h < HEAD_KINDS; h++)
        settings.counts[h] = batch->heads[h].live > 0 ? times * batch->heads[h].live : 1;
    return settings;
}

/* A head's mean loss. */
static inline double made_mean(const struct model_metrics *metrics, enum head_kind head)
{
    return metrics->heads[head].loss / (double)metrics->heads[head].count;
}

static inline struct ops *made_backend(const struct cpu_options *options)
{
    struct error err;
    struct ops *ops = cpu_open(options, &err);
    if (!ops) {
        error_print(&err, "test", 0);
        abort();
    }
    return ops;
}

static inline struct ops *made_ops(enum precision precision, enum cpu_level level, unsigned threads)
{
    return made_backend(&(struct cpu_options){.precision = precision, .level = level, .threads = threads});
}

/* For SCOPED: the model is declared after its ops, so that it is closed first. */
static inline void model_close_at(struct model **model)
{
    if (*model)
        model_close(*model);
}

static inline void ops_close_at(struct ops **ops)
{
    if (*ops)
        (*ops)->close(*ops);
}
