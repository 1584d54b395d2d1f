#include "trainer/tune/reading.h"

#include "base/log.h"
#include "base/output.h"
#include "base/progress.h"
#include "trainer/model/head.h"

/* A micro-batch has room for one label per this many tokens, however short its sequences are. */
#define TOKENS_PER_LABEL 8

/* samples that are loaded before they are cut into micro-batches; the last micro-batch of them is not full */
#define SAMPLES_AHEAD 4096

int reading_find(struct reading *r, const struct settings *settings, const char *model, uint32_t heads,
                 struct error *err)
{
    *r = (struct reading){.settings = *settings};
    r->settings.init = model;
    r->recipe.precision_given = true;
    r->recipe.precision = settings_given(settings, "precision") ? (enum precision)settings->precision : PRECISION_FP32;
    TRY(origin_find(&r->origin, &r->settings, err));
    TRY(origin_config(&r->origin, &r->recipe.config, err));
    r->tuned = model_tuned_head(&r->recipe.config);
    r->recipe.config.task_heads = heads;
    TRY(text_open(&r->text, r->origin.files, &r->recipe.config, err));
    text_take_specials(&r->text, settings, &r->origin);
    text_say_spare(&r->recipe.config);
    return 0;
}

static int read_weights(struct reading *r, struct error *err)
{
    SCOPED(names_report_release) struct names_report report;
    TRY(engine_read_weights(&r->engine, r->origin.weights, &report, err));
    if (report.drawn.size > 0) {
        fail_at(err, ERR_MISMATCH, r->origin.weights, ERROR_NO_OFFSET, "has no trained head for this: no %.200s",
                buf_text(&report.drawn));
        if (r->recipe.config.task_heads >> HEAD_MASKED & 1)
            hint_command(
                err,
                "it fits models with a trained head for masked words; dstrain --shards DATASET --init %s trains one",
                r->origin.name);
        return -1;
    }
    if (report.body.size > 0)
        log_say("note       of that model, not used: %s", buf_text(&report.body));
    return 0;
}

int reading_open(struct reading *r, const struct source *source, struct error *err)
{
    struct engine *engine = &r->engine;
    r->task = (struct task){.heads = r->recipe.config.task_heads, .samples = *source};
    r->recipe.seq = source->room.length;
    r->recipe.batch = source->samples < SAMPLES_AHEAD ? (uint32_t)source->samples : SAMPLES_AHEAD;
    TRY(engine_choose(engine, &r->settings, &r->recipe, &r->task, err));
    TRY(engine_open(engine, engine_precision(engine, NULL), NULL, err));
    for (int h = 0; h < HEAD_KINDS; h++)
        if (source->room.marks[h] > 0 && engine->limits.marks[h] < engine->limits.tokens / TOKENS_PER_LABEL)
            engine->limits.marks[h] = engine->limits.tokens / TOKENS_PER_LABEL;
    TRY(engine_load(engine, ENGINE_MODEL, err));
    return read_weights(r, err);
}

void reading_close(struct reading *r)
{
    engine_close(&r->engine);
    text_close(&r->text);
    origin_release(&r->origin);
    *r = (struct reading){0};
}

static void show(struct progress *progress, uint64_t done, uint64_t all)
{
    char count[32], counts[32];
    if (progress_due(progress))
        progress_show(progress, (double)done / (double)all, "%s of %s sequences", format_count(done, count),
                      format_count(all, counts));
}

int reading_pass(struct reading *r, void (*each)(void *context, const struct batch *batch), void *context,
                 struct error *err)
{
    const struct micro_batch *micro;
    struct progress progress;
    uint64_t done = 0;
    struct loader *loader = loader_open(&(struct loader_options){
        .source = &r->task.samples,
        .count = r->task.samples.samples,
        .batch = r->recipe.batch,
        .limits = r->engine.limits,
    });
    int result;
    progress_open(&progress);
    while ((result = loader_next(loader, &micro, err)) > 0) {
        struct model_metrics sums = {0};
        if (stop_requested()) {
            result = fail(err, ERR_STOPPED, "stopped; nothing was written");
            break;
        }
        model_evaluate(r->engine.model, &micro->batch, &sums);
        if (!model_metrics_finite(&sums)) {
            result = fail_at(err, ERR_NUMERIC, r->origin.weights, ERROR_NO_OFFSET, "gives numbers that are not finite");
            break;
        }
        each(context, &micro->batch);
        done += (uint64_t)micro->batch.sequences;
        show(&progress, done, r->task.samples.samples);
    }
    progress_close(&progress);
    loader_close(loader);
    return result;
}
