#include "trainer/task/task.h"

#include "base/mem.h"
#include "trainer/model/head.h"

#include <inttypes.h>

/* How often each label of each head occurs in the samples. */
struct tally {
    int64_t *counts[HEAD_KINDS]; /* [labels] or NULL: no metric of this head has a baseline */
    size_t labels[HEAD_KINDS];
};

static struct tally tally_make(const struct task *task, const struct model_config *config)
{
    struct tally tally = {0};
    for (size_t i = 0; i < task->metrics.count; i++) {
        const struct metric *metric = &task->metrics.rows[i];
        if (!metric->baseline || !(task->heads >> metric->head & 1) || tally.counts[metric->head])
            continue;
        tally.labels[metric->head] = (size_t)head_labels(metric->head, config);
        tally.counts[metric->head] = mem_clear(tally.labels[metric->head], sizeof *tally.counts[0]);
    }
    return tally;
}

static void tally_release(struct tally *tally)
{
    for (int h = 0; h < HEAD_KINDS; h++)
        mem_free(tally->counts[h]);
}

static void tally_add_batch(struct tally *tally, const struct batch *batch)
{
    for (int h = 0; h < HEAD_KINDS; h++)
        for (int32_t i = 0; tally->counts[h] && i < batch->heads[h].live; i++) {
            const int32_t label = batch->heads[h].labels[i];
            if (label >= 0 && (size_t)label < tally->labels[h])
                tally->counts[h][label]++;
        }
}

/* Adds `part` to `all` and clears it. */
static void tally_move(struct tally *all, struct tally *part)
{
    for (int h = 0; h < HEAD_KINDS; h++) {
        for (size_t i = 0; i < part->labels[h]; i++)
            all->counts[h][i] += part->counts[h][i];
        if (part->counts[h])
            memset(part->counts[h], 0, part->labels[h] * sizeof *part->counts[h]);
    }
}

/* The share of the commonest label; 0 if there are none. */
static double commonest_of(const struct tally *tally, enum head_kind head)
{
    int64_t most = 0, all = 0;
    for (size_t i = 0; i < tally->labels[head]; i++) {
        all += tally->counts[head][i];
        most = tally->counts[head][i] > most ? tally->counts[head][i] : most;
    }
    return all > 0 ? (double)most / (double)all : 0;
}

static void set_baselines(const struct task *task, const struct tally *tally, struct evaluation *evaluation)
{
    for (size_t i = 0; i < task->metrics.count; i++)
        if (task->metrics.rows[i].baseline)
            evaluation->baselines[i] = commonest_of(tally, task->metrics.rows[i].head);
}

static double mean_of(const struct metric *metric, const struct head_metrics *sums, int64_t sequences)
{
    if (sequences == 0)
        return (double)NAN;
    const double count = sums->count > 0 ? (double)sums->count : 1;
    const double all[HEAD_SUMS] = {sums->loss, sums->hits};
    return all[metric_forms[metric->kind].sum] / count;
}

struct evaluation evaluation_of(const struct task *task, const struct model_metrics *sums)
{
    struct evaluation means = {.samples = (uint64_t)sums->sequences, .tokens = (uint64_t)sums->tokens};
    means.loss = sums->sequences > 0 ? 0 : (double)NAN;
    for (size_t i = 0; i < task->metrics.count; i++) {
        const struct metric *metric = &task->metrics.rows[i];
        const bool there = task->heads >> metric->head & 1;
        means.values[i] = there ? mean_of(metric, &sums->heads[metric->head], sums->sequences) : (double)NAN;
        if (there && metric->kind == METRIC_LOSS)
            means.loss += means.values[i];
    }
    return means;
}

/* Adds the sums of samples [from, to) of the source. */
static int add_samples(const struct evaluation_work *work, uint64_t from, uint64_t to, struct model_metrics *sums,
                       struct tally *tally, struct error *err)
{
    const struct micro_batch *micro;
    uint64_t done = 0;
    struct loader *loader = loader_open(&(struct loader_options){
        .source = work->source,
        .first = from,
        .count = to - from,
        .batch = (uint32_t)work->limits->sequences,
        .limits = *work->limits,
    });
    int result;
    while ((result = loader_next(loader, &micro, err)) > 0) {
        if (work->halt->asked(work->halt->context)) {
            result = fail(err, ERR_STOPPED, "stopped while evaluating");
            break;
        }
        if (work->processes)
            rendezvous_progress(work->processes->rendezvous, work->step, "evaluating");
        model_evaluate(work->model, &micro->batch, sums);
        tally_add_batch(tally, &micro->batch);
        if (work->weights && !model_metrics_finite(sums)) {
            result = fail_at(err, ERR_NUMERIC, work->weights, ERROR_NO_OFFSET,
                             "gives numbers that are not finite, for a sample from number %" PRIu64 " to %" PRIu64,
                             from + done, from + done + (uint64_t)micro->batch.sequences - 1);
            break;
        }
        done += (uint64_t)micro->batch.sequences;
    }
    loader_close(loader);
    return result;
}

static int add_processes(struct process_group *processes, struct model_metrics *sums, struct tally *tally,
                         struct error *err)
{
    double losses[STEP_SUMS];
    int64_t counts[HEAD_KINDS + 2] = {sums->sequences, sums->tokens};
    model_metrics_sums(sums, losses);
    for (int h = 0; h < HEAD_KINDS; h++)
        counts[2 + h] = sums->heads[h].count;
    TRY(process_group_all_reduce(processes, losses, STEP_SUMS, err));
    TRY(process_group_all_reduce_counts(processes, counts, HEAD_KINDS + 2, err));
    *sums = (struct model_metrics){.sequences = counts[0], .tokens = counts[1]};
    model_metrics_add(sums, losses);
    for (int h = 0; h < HEAD_KINDS; h++)
        sums->heads[h].count = counts[2 + h];
    for (int h = 0; h < HEAD_KINDS; h++)
        if (tally->counts[h])
            TRY(process_group_all_reduce_counts(processes, tally->counts[h], tally->labels[h], err));
    return 0;
}

/* Evaluates samples [from, to) of the source, divided among the processes. Adds their sums to `all`; *evaluation gets
 * their means, `tally`, which is clear, their labels. */
static int add_divided(const struct evaluation_work *work, uint64_t from, uint64_t to, struct model_metrics *all,
                       struct tally *tally, struct evaluation *evaluation, struct error *err)
{
    struct model_metrics sums = {0};
    double losses[STEP_SUMS];
    const uint64_t rank = work->processes ? work->processes->rank : 0,
                   size = work->processes ? work->processes->size : 1;
    const uint64_t begin = from + (to - from) * rank / size, end = from + (to - from) * (rank + 1) / size;
    int result = begin < end ? add_samples(work, begin, end, &sums, tally, err) : 0;
    if (size > 1 && work->weights) /* one process alone may have met numbers that are not finite */
        result = process_group_barrier(work->processes, result, err);
    if (result == 0 && size > 1)
        result = add_processes(work->processes, &sums, tally, err);
    *evaluation = evaluation_of(work->task, &sums);
    set_baselines(work->task, tally, evaluation);
    model_metrics_sums(&sums, losses);
    model_metrics_add(all, losses);
    all->sequences += sums.sequences;
    all->tokens += sums.tokens;
    for (int h = 0; h < HEAD_KINDS; h++)
        all->heads[h].count += sums.heads[h].count;
    return result;
}

int evaluate_means(const struct evaluation_work *work, struct evaluation *evaluation, struct error *err)
{
    struct model_metrics sums = {0};
    struct evaluation one;
    const struct source *source = work->source;
    const uint64_t samples = work->samples < source->samples ? work->samples : source->samples;
    const uint64_t whole[] = {0, samples}, *borders = source->parts > 0 ? source->borders : whole;
    struct tally all = tally_make(work->task, model_config(work->model)),
                 part = tally_make(work->task, model_config(work->model));
    int result = 0;
    for (uint32_t p = 0; p < (source->parts > 0 ? source->parts : 1) && result == 0; p++) {
        const uint64_t to = borders[p + 1] < samples ? borders[p + 1] : samples;
        result = add_divided(work, borders[p] < to ? borders[p] : to, to, &sums, &part, &one, err);
        tally_move(&all, &part);
        if (work->each)
            work->each[p] = one;
    }
    *evaluation = evaluation_of(work->task, &sums);
    set_baselines(work->task, &all, evaluation);
    tally_release(&all);
    tally_release(&part);
    return result;
}
