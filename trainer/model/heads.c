/* The table of heads, and what follows from its rows. */

#include "trainer/model/parts.h"

#define DECLARED(number, row) extern const struct head row;
#define PLACED(number, row)   [number] = &row,
HEADS(DECLARED)
const struct head *const head_kinds[HEAD_KINDS] = {HEADS(PLACED)};

struct head_rows head_rows(enum head_kind head, const struct batch *batch)
{
    const struct head_batch *read = &batch->heads[head];
    if (head_kinds[head]->reads == READS_ALL)
        return (struct head_rows){token_rows(batch), NULL};
    return (struct head_rows){{read->live, read->total}, read->index};
}

bool head_reads_all(enum head_kind head, const struct model_config *config)
{
    const enum head_reads reads = head_kinds[head]->reads;
    return reads == READS_ALL || (reads == READS_FIRST && config->pools_mean);
}

int32_t read_rows_max(const struct model *model)
{
    int64_t rows = 0;
    for (enum head_kind h = 0; h < HEAD_KINDS; h++)
        if (model_has(&model->config, h) && head_reads_all(h, &model->config))
            return 0;
        else
            rows += model->budget.head_rows_max[h];
    return rows < model->budget.token_rows_max ? (int32_t)rows : model->budget.token_rows_max;
}

int32_t head_labels(enum head_kind head, const struct model_config *config)
{
    const int32_t columns = head_kinds[head]->buffers[head_kinds[head]->logits].columns;
    return columns == OF_VOCABULARY ? model_pieces(config) : size_of(config, columns);
}

bool model_names_labels(const struct model_config *config)
{
    for (enum head_kind h = 0; h < HEAD_KINDS; h++)
        if (model_has(config, h) && head_kinds[h]->buffers[head_kinds[h]->logits].columns == OF_LABELS)
            return true;
    return false;
}

enum head_kind model_tuned_head(const struct model_config *config)
{
    enum head_kind head = 0;
    while (head < HEAD_KINDS && !(model_has(config, head) && head_kinds[head]->tuned))
        head++;
    return head;
}

const char *model_class_end(const struct model_config *config)
{
    const enum head_kind tuned = model_tuned_head(config);
    if (tuned < HEAD_KINDS)
        return head_kinds[tuned]->class_end;
    return model_has(config, HEAD_NEXT) ? "ForPreTraining" : head_kinds[HEAD_MASKED]->class_end;
}
