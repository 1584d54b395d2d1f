#include "trainer/run/console.h"

#include <inttypes.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/output.h"
#include "trainer/model/config.h"
#include "trainer/run/run.h"

/* "110.1 M"; all digits below a million. */
static char *millions_text(double count, char out[32])
{
    if (count < 1e6)
        return format_count((uint64_t)count, out);
    snprintf(out, 32, "%.1f M", count / 1e6);
    return out;
}

void console_init(const char *directory, const char *drawn, const char *unused)
{
    log_say("init       weights from %s", directory);
    if (drawn[0])
        log_say("note       not in that model, drawn by seed: %s", drawn);
    if (unused[0])
        log_say("note       of that model, not used: %s", unused);
}

static void say_run(const struct setup *setup, const char *directory, uint64_t step)
{
    const struct settings *settings = setup->settings;
    SCOPED(buf_release) struct buf similar = {0}, plan = {0};
    char number[32];
    if (step > 0) {
        log_say("run        %s  (continues at step %s)", directory, format_count(step, number));
        return;
    }
    log_say("run        %s  (new)", directory);
    if (!settings->out)
        run_similar(directory, setup->identity, &similar);
    if (similar.size > 0)
        log_say("note       %s", buf_text(&similar));
    if (settings->model || settings->tuning || settings->init || settings->resume)
        return;
    buf_add_text(&plan, "dstrain plan");
    shards_command(&settings->shards, &plan);
    log_say("note       no --model is given: %s; for one that fits these data and this machine: %s", MODEL_DEFAULT,
            buf_text(&plan));
}

static void say_disk(const struct settings *settings, const char *directory, uint64_t bytes)
{
    struct error ignored = {0};
    char one[32], all[32], have[32];
    const uint64_t most = settings->keep_last + settings->keep_best + 1;
    const int64_t left = path_free_bytes(directory, &ignored);
    format_bytes(bytes, one);
    if (left < 0)
        return;
    format_bytes((uint64_t)left, have);
    if (settings->keep_last == 0)
        log_say("disk       every checkpoint is kept, %s each; %s free", one, have);
    else
        log_say("disk       at most %" PRIu64 " checkpoints × %s = %s; %s free", most, one,
                format_bytes(most * bytes, all), have);
    if ((uint64_t)left < 2 * bytes)
        log_warn("the disk has room for less than two checkpoints");
}

/* ", about 3:05", or nothing if no steps are left. */
static char *time_text(const struct recipe *recipe, uint64_t step, const struct estimate *estimate, char out[64])
{
    char time[32];
    const uint64_t samples = recipe_samples(recipe, recipe->schedule.steps) - recipe_samples(recipe, step);
    const double seconds = (double)samples / recipe->batch * estimate->step;
    out[0] = '\0';
    if (seconds > 0)
        snprintf(out, 64, ", about %s%s", format_seconds(seconds, time), step > 0 ? " from here" : "");
    return out;
}

#define EPOCHS_MANY 40 /* the epochs of Devlin et al. 2019, appendix A.2 */

void console_mixture(const struct setup *setup)
{
    SCOPED(buf_release) struct buf text = {0};
    datasets_add_text(&setup->datasets, recipe_samples(&setup->recipe, setup->recipe.schedule.steps), &text);
    if (text.size > 0)
        log_say("mixture    %s", buf_text(&text));
}

static void warn_epochs(const struct recipe *recipe, double epochs)
{
    const bool same = recipe->masks == MASKS_STORED || (recipe->masks == MASKS_AUTO && !recipe->shuffled);
    char text[40];
    if (epochs > EPOCHS_MANY)
        log_warn("%s: the model may memorise the samples; BERT's authors read theirs about %d times. More text%s help; "
                 "the held-out loss shows it",
                 epochs_text(epochs, text), EPOCHS_MANY, same ? ", fewer steps, or --masks fresh" : " or fewer steps");
}

static void warn_schedule(const struct schedule *schedule)
{
    double peak = 0;
    char steps[32];
    if (!schedule_types[schedule->kind].ours || (schedule->warmup < 1 && schedule->decay < 1))
        return; /* shares of the steps */
    for (uint64_t update = 1; update <= schedule->steps && peak < 0.9 * schedule->rate; update++)
        peak = fmax(peak, schedule_rate(schedule, update));
    if (peak < 0.9 * schedule->rate)
        log_warn("the learning rate rises to %.3g only, not to --lr %g: %s is too long for %s steps", peak,
                 schedule->rate, schedule->kind == SCHEDULE_WSD ? "--warmup or --decay" : "--warmup",
                 format_count(schedule->steps, steps));
}

/* Second moments are means over 1 / (1 - beta2) updates, and grow until then (1-bit Adam has no bias correction). */
static void warn_freeze(const struct recipe *recipe)
{
    const struct optimizer *optimizer = &recipe->optimizer;
    const double settled = 1 / (1 - optimizer->beta2);
    char frozen[32], needed[32];
    if (optimizer_kinds[optimizer->kind].compresses && optimizer->freeze_step > 0 && optimizer->freeze_step < settled &&
        optimizer->freeze_step < (double)recipe->schedule.steps)
        log_warn(
            "freeze_step %s: second moments settle after about %s updates, 1 / (1 - beta2); frozen before that, "
            "such runs learned a tenth of what Adam learns. --set optimizer.params.freeze_step=auto waits for them",
            format_count((uint64_t)optimizer->freeze_step, frozen), format_count((uint64_t)llround(settled), needed));
}

void console_recipe(const struct setup *setup)
{
    warn_epochs(&setup->recipe, setup_epochs(setup));
    warn_schedule(&setup->recipe.schedule);
    warn_freeze(&setup->recipe);
}

/* What --same-bits promises on this device. */
static void say_bits(const char *device)
{
    bool software = false;
#ifdef __x86_64__
    software = strstr(device, "(base,") != NULL;
#endif
    if (!ops_same_everywhere(device))
        log_say("bits       the same for any processes on devices like this one; on every CPU with --precision fp32");
    else
        log_say("bits       the same on every CPU%s",
                software ? "; fused multiply-adds are computed in software here, which takes ten times as long" : "");
}

void console_open(struct console *console, const struct setup *setup, const struct engine *engine,
                  const char *directory, uint64_t step, const struct estimate *estimate)
{
    char name[32], size[32], memory[32], steps[56], count[32], time[64], text[160], epochs[40];
    const struct recipe *recipe = &setup->recipe;
    const struct params *params = model_table(engine->model);
    const uint32_t micro = engine->micro_batch, processes = engine->processes ? engine->processes->size : 1;
    const double samples = (double)recipe_samples(recipe, recipe->schedule.steps);
    *console = (struct console){
        .metrics = &setup->task.metrics,
        .estimate = *estimate,
        .run_steps = recipe->schedule.steps,
        .batches = recipe->batches,
    };
    say_run(setup, directory, step);
    log_say("model      %s %s, %s · %s", config_name(&recipe->config, name), millions_text((double)params->total, size),
            precision_name(engine->ops->precision), recipe_text(recipe, text));
    log_say("device     %s · batch %" PRIu32 " = %" PRIu32 " × %" PRIu32 " · memory %s", engine->ops->name,
            recipe->batch, micro, (recipe->batch + micro - 1) / micro,
            format_bytes(engine_bytes(engine, ENGINE_TRAINING), memory));
    if (recipe->part > 0)
        say_bits(engine->ops->name);
    if (recipe->batches.steps > 0)
        log_say("batches    grow from %" PRIu32 " to %" PRIu32 " samples over the first %s steps",
                recipe->batches.first, recipe->batch, format_count(recipe->batches.steps, steps));
    if (processes > 1)
        log_say("processes  %" PRIu32 ", which send gradients as %s", processes,
                recipe->part > 0    ? "integers"
                : recipe->wire_bf16 ? "bf16"
                                    : "fp32");
    if (recipe->config.layer_drop.theta > 0)
        log_say("layers     dropped at random: the deepest one's share of steps falls to %g, gamma %g%s",
                recipe->config.layer_drop.theta, recipe->config.layer_drop.gamma,
                recipe->config.layer_drop.compat ? ", as DeepSpeed scales and counts" : "");
    say_disk(setup->settings, directory, checkpoint_bytes(params));
    log_say("work       %s = %s samples = %s%s", format_counted(recipe->schedule.steps, "step", steps),
            millions_text(samples, count), epochs_text(samples / (double)setup->task.samples.samples, epochs),
            time_text(recipe, step, estimate, time));
    console_mixture(setup);
    if (step == 0) /* a run that goes on was warned at its first start */
        console_recipe(setup);
    if (setup->task.splits[SPLIT_VALID].samples == 0 && (!setup->task.finish || setup->settings->eval_every > 0))
        log_say("note       no held-out samples of this length: there will be no evaluation");
    progress_open(&console->progress);
}

/* "one 2.251, other 0.063": the model's metrics of one kind; returns their number. */
static size_t list_metrics(const struct metric_table *metrics, const struct evaluation *means, enum metric_kind kind,
                           char out[LOSS_TEXT_SIZE])
{
    size_t used = 0, count = 0;
    out[0] = '\0';
    for (size_t i = 0; i < metrics->count; i++) {
        if (metrics->rows[i].kind != kind || isnan(means->values[i]) || used >= LOSS_TEXT_SIZE)
            continue;
        if (count++ > 0)
            used += (size_t)snprintf(out + used, LOSS_TEXT_SIZE - used, ", ");
        if (used < LOSS_TEXT_SIZE)
            used += (size_t)snprintf(out + used, LOSS_TEXT_SIZE - used, metric_forms[kind].shown,
                                     metrics->rows[i].column, metric_forms[kind].factor * means->values[i]);
        if (means->baselines[i] > 0 && used < LOSS_TEXT_SIZE)
            used += (size_t)snprintf(out + used, LOSS_TEXT_SIZE - used, " (%s %.1f %%)", metrics->rows[i].baseline,
                                     100 * means->baselines[i]);
    }
    return count;
}

char *loss_text(const struct metric_table *metrics, const struct evaluation *means, char out[LOSS_TEXT_SIZE])
{
    char parts[LOSS_TEXT_SIZE];
    if (!isfinite(means->loss))
        snprintf(out, LOSS_TEXT_SIZE, "loss not finite");
    else if (list_metrics(metrics, means, METRIC_LOSS, parts) < 2)
        snprintf(out, LOSS_TEXT_SIZE, "loss %.3f", means->loss);
    else
        snprintf(out, LOSS_TEXT_SIZE, "loss %.3f (%.120s)", means->loss, parts);
    return out;
}

/* " │ acc 41.2 %": the first accuracy of the table; nothing if the task has none. */
static char *accuracy_text(const struct metric_table *metrics, const struct evaluation *means, char out[32])
{
    size_t i = 0;
    while (i < metrics->count && metrics->rows[i].kind != METRIC_ACCURACY)
        i++;
    out[0] = '\0';
    if (i < metrics->count)
        snprintf(out, 32, " │ acc %.1f %%", 100 * means->values[i]);
    return out;
}

static void watch_loss(struct console *console, uint64_t number, double loss)
{
    double mean, deviations;
    char step[32];
    if (spikes_add(&console->spikes, number, loss, &mean, &deviations))
        log_warn("step %s: the loss %.3f lies %.1f deviations above that of the steps before it (mean %.3f)",
                 format_count(number, step), loss, deviations, mean);
}

char *rate_text(double rate, char out[32])
{
    if (rate >= 100)
        return format_count((uint64_t)llround(rate), out);
    snprintf(out, 32, rate < 10 ? "%.2f" : "%.1f", rate);
    return out;
}

double console_percent_of_peak(const struct console *console)
{
    return 100 * console->rate * console->estimate.flops / console->estimate.products;
}

/* The fields of the progress line, in their order there; the least useful have the highest rank. */
static void show_line(struct console *console, const struct step_facts *facts, const struct evaluation *means)
{
    enum { STEP, LOSS, PARTS, THIS, ACCURACY, RATE, NORM, SPEED, TOKENS, SHARE, DATA, FIELDS };
    static const int ranks[FIELDS] = {[LOSS] = 1, [ACCURACY] = 2, [SPEED] = 3, [RATE] = 4,   [PARTS] = 5,
                                      [NORM] = 6, [THIS] = 7,     [SHARE] = 8, [TOKENS] = 9, [DATA] = 10};
    struct progress_field fields[FIELDS];
    char texts[FIELDS][LOSS_TEXT_SIZE + 8], step[32], steps[32], parts[LOSS_TEXT_SIZE], number[32];
    const size_t size = sizeof texts[0];
    const bool several = list_metrics(console->metrics, means, METRIC_LOSS, parts) > 1;
    snprintf(texts[STEP], size, "step %s/%s", format_count(facts->number, step),
             format_count(console->run_steps, steps));
    snprintf(texts[LOSS], size, " │ loss %.3f", means->loss);
    texts[PARTS][0] = '\0';
    if (several)
        snprintf(texts[PARTS], size, " (%s)", parts);
    snprintf(texts[THIS], size, ", this step %.3f", facts->means.loss);
    snprintf(texts[ACCURACY], size, "%s", accuracy_text(console->metrics, means, number));
    snprintf(texts[RATE], size, " │ lr %.2g", facts->rate);
    snprintf(texts[NORM], size, " │ |g| %.2f", facts->norm);
    snprintf(texts[SPEED], size, " │ %s seq/s", rate_text(console->rate, number));
    snprintf(texts[TOKENS], size, " │ %s tok/s", rate_text(console->rate * console->estimate.mean_length, number));
    snprintf(texts[SHARE], size, " │ MFU %.0f %%", console_percent_of_peak(console));
    snprintf(texts[DATA], size, " │ data %.1f %%", 100 * console->waited / console->busy);
    for (int i = 0; i < FIELDS; i++)
        fields[i] = (struct progress_field){texts[i], ranks[i]};
    progress_show_fields(&console->progress, (double)facts->number / (double)console->run_steps, fields, FIELDS);
}

void console_step(struct console *console, const struct step_facts *facts)
{
    watch_loss(console, facts->number, facts->means.loss);
    const double rate = batch_plan_size(&console->batches, facts->number - 1) / facts->seconds;
    if (console->steps++ == 0) {
        console->first = *facts;
        console->rate = rate;
    }
    console->last = *facts;
    interval_add(&console->shown, console->metrics, facts);
    console->rate += 0.05 * (rate - console->rate);
    console->waited += facts->waited;
    console->busy += facts->seconds;
    if (!progress_due(&console->progress))
        return;
    const struct evaluation means = interval_means(&console->shown, console->metrics);
    console->shown = (struct interval){0};
    show_line(console, facts, &means);
}

void console_means(console_line line, const struct metric_table *metrics, const struct evaluation *means,
                   const char *split, const char *where)
{
    char loss[LOSS_TEXT_SIZE], accuracies[LOSS_TEXT_SIZE], samples[56];
    const bool any = list_metrics(metrics, means, METRIC_ACCURACY, accuracies) > 0;
    line("%-10s %s%s%s   %s%s", split, loss_text(metrics, means, loss), any ? "   accuracy " : "", accuracies,
         format_counted(means->samples, "sample", samples), where);
}

void console_evaluation(const struct console *console, const struct evaluation *means, uint64_t step)
{
    char count[32], where[48];
    snprintf(where, sizeof where, ", step %s", format_count(step, count));
    console_means(log_say, console->metrics, means, "valid", where);
}

static json_t *real_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *console_means_json(const struct metric_table *metrics, const struct evaluation *means)
{
    char key[METRIC_KEY_BYTES];
    json_t *facts = json_pack("{s:o}", "loss", real_or_null(means->loss));
    for (size_t i = 0; i < metrics->count; i++)
        json_object_set_new(facts, metrics->rows[i].key, real_or_null(means->values[i]));
    for (size_t i = 0; i < metrics->count; i++)
        if (means->baselines[i] > 0)
            json_object_set_new(facts, metric_baseline_key(&metrics->rows[i], key), json_real(means->baselines[i]));
    return facts;
}

void console_datasets(console_line line, const struct metric_table *metrics, const struct evaluation *each,
                      uint32_t count, const struct datasets *datasets)
{
    for (uint32_t d = 0; d < count; d++) {
        char where[200];
        snprintf(where, sizeof where, ", %.190s", datasets->train[d].directory);
        if (each[d].samples > 0)
            console_means(line, metrics, &each[d], "", where);
        else
            line("%-10s no samples%s", "", where);
    }
}

json_t *console_datasets_json(const struct metric_table *metrics, const struct evaluation *each, uint32_t count,
                              const struct datasets *datasets)
{
    json_t *list = json_array();
    for (uint32_t d = 0; d < count; d++) {
        char hash[17];
        const struct dataset *dataset = &datasets->train[d];
        json_t *one = json_pack("{s:o, s:s, s:I}", "dataset", json_name(dataset->directory), "root_hash",
                                hash_text(dataset->manifest.root_hash, hash), "samples", (json_int_t)each[d].samples);
        json_t *means = console_means_json(metrics, &each[d]);
        json_object_update(one, means);
        json_decref(means);
        json_array_append_new(list, one);
    }
    return list;
}

void console_close(struct console *console)
{
    progress_close(&console->progress);
}
