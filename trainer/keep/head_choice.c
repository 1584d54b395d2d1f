/* In: a choice, and weights as they were read. Out: the weights that the model starts with. */
#include "trainer/keep/head_choice.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"

static const char *const head_tensors[] = {"classifier.weight", "classifier.bias", "qa_outputs.weight",
                                           "qa_outputs.bias"};
#define HEAD_TENSORS (sizeof head_tensors / sizeof *head_tensors)

static void move_rows(const struct param *param, const uint8_t rows[LABELS_MAX], float *flat)
{
    const size_t count = (size_t)param->shape[0], columns = param->count / count;
    float *before = mem_array(param->count, sizeof *before), *at = flat + param->offset;
    memcpy(before, at, param->count * sizeof *at);
    for (size_t i = 0; i < count; i++)
        memcpy(at + i * columns, before + rows[i] * columns, columns * sizeof *at);
    mem_free(before);
}

void head_choice_apply(const struct head_choice *choice, const struct params *params, uint64_t seed, float *flat)
{
    for (size_t i = 0; i < HEAD_TENSORS; i++) {
        const struct param *param = params_find(params, head_tensors[i]);
        if (param && choice->drawn)
            params_draw(params, param, seed, flat);
        else if (param && choice->moved)
            move_rows(param, choice->rows, flat);
    }
}

/* Whether a list of names (names_report) has a tensor of a task's head. */
static bool lists_head(struct buf *list)
{
    return list->size > 0 && (strstr(buf_text(list), "classifier.") || strstr(buf_text(list), "qa_outputs."));
}

void head_choice_say(const struct head_choice *choice, struct names_report *report)
{
    const bool was_there = !lists_head(&report->drawn) || lists_head(&report->unused);
    if (choice->drawn && was_there)
        log_say("note       that model's head is not used, a new one is drawn by seed: %s", choice->why);
    else if (choice->moved && was_there)
        log_say("note       that model's head is used, %s", choice->why);
}
