#include "trainer/screen.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/output.h"
#include "trainer/config.h"
#include "trainer/keep/json.h"
#include "trainer/train.h"

#define WAITED_SHARE 0.05 /* of the time, for data, from which on it is told */

/* ---- opening ---- */

/* "110.1 M", or all digits below a million. */
static char *millions_text(double count, char out[32])
{
    if (count < 1e6)
        return format_count((uint64_t)count, out);
    snprintf(out, 32, "%.1f M", count / 1e6);
    return out;
}

void screen_init(const char *directory, const char *drawn, const char *unused)
{
    log_say("init       weights from %s", directory);
    if (drawn[0])
        log_say("note       not in that model, drawn by seed: %s", drawn);
    if (unused[0])
        log_say("note       of that model, not used: %s", unused);
}

static void say_run(const struct training *t)
{
    char step[32];
    struct buf similar = {0};
    if (t->position.state.step > 0) {
        log_say("run        %s  (goes on at step %s)", t->run.directory, format_count(t->position.state.step, step));
        return;
    }
    log_say("run        %s  (new)", t->run.directory);
    if (!t->setup.settings->out)
        run_similar(t->run.directory, t->setup.identity, &similar);
    if (similar.size > 0)
        log_say("note       %s", buf_text(&similar));
    buf_release(&similar);
}

static void say_disk(const struct training *t)
{
    struct error ignored = {0};
    char one[32], all[32], have[32];
    const uint64_t keep = t->setup.settings->keep_last, bytes = checkpoint_bytes(model_table(t->engine.model));
    const int64_t left = path_free_bytes(t->run.directory, &ignored);
    format_bytes(bytes, one);
    if (left < 0)
        return;
    format_bytes((uint64_t)left, have);
    if (keep == 0)
        log_say("disk       every checkpoint is kept, %s each; %s free", one, have);
    else
        log_say("disk       at most %" PRIu64 " checkpoints × %s = %s; %s free", keep + 1, one,
                format_bytes((keep + 1) * bytes, all), have);
    if ((uint64_t)left < 2 * bytes)
        log_warn("the disk has room for less than two checkpoints");
}

/* ", about 3:05", or nothing where no steps are left. */
static char *time_text(const struct training *t, char out[64])
{
    char time[32];
    const double seconds = (double)(t->setup.recipe.schedule.steps - t->position.state.step) * t->estimate.step;
    out[0] = '\0';
    if (seconds > 0)
        snprintf(out, 64, ", about %s%s", format_seconds(seconds, time),
                 t->position.state.step > 0 ? " from here" : "");
    return out;
}

void screen_opening(struct training *t)
{
    char name[32], size[32], memory[32], steps[32], count[32], time[64], text[160];
    const struct recipe *recipe = &t->setup.recipe;
    const double samples = (double)recipe->schedule.steps * recipe->batch;
    say_run(t);
    log_say("model      %s %s, %s · %s", config_name(&recipe->config, name),
            millions_text((double)model_table(t->engine.model)->total, size), precision_name(t->engine.ops->precision),
            recipe_text(recipe, text));
    log_say("device     %s · batch %" PRIu32 " = %" PRIu32 " × %" PRIu32 " · memory %s", t->engine.ops->name,
            recipe->batch, t->engine.micro_batch, (recipe->batch + t->engine.micro_batch - 1) / t->engine.micro_batch,
            format_bytes(engine_bytes(&t->engine, ENGINE_TRAINING), memory));
    say_disk(t);
    log_say("work       %s steps = %s samples = %.3g epochs%s", format_count(recipe->schedule.steps, steps),
            millions_text(samples, count), samples / (double)t->setup.data.samples, time_text(t, time));
    if (t->setup.valid.samples == 0)
        log_say("note       the dataset holds no validation samples of this length: there will be no evaluation");
    progress_open(&t->screen.progress);
}

/* ---- on the way ---- */

/* "loss 2.314 (mlm 2.251, nsp 0.063)" */
static char *loss_text(double loss, double mlm, double nsp, char out[80])
{
    if (isnan(nsp))
        snprintf(out, 80, "loss %.3f", loss);
    else
        snprintf(out, 80, "loss %.3f (mlm %.3f, nsp %.3f)", loss, mlm, nsp);
    return out;
}

static void watch_loss(struct training *t, double loss)
{
    double mean, deviations;
    char step[32];
    if (spikes_add(&t->screen.spikes, t->position.state.step, loss, &mean, &deviations))
        log_warn("step %s: the loss %.3f lies %.1f deviations above that of the steps before it (mean %.3f)",
                 format_count(t->position.state.step, step), loss, deviations, mean);
}

/* "0.52", "12.3" or "5,230". */
static char *rate_text(double rate, char out[32])
{
    if (rate >= 100)
        return format_count((uint64_t)llround(rate), out);
    snprintf(out, 32, rate < 10 ? "%.2f" : "%.1f", rate);
    return out;
}

/* What share of the products' measured rate the steps reach, in percent. */
static double share_of_peak(const struct training *t)
{
    return 100 * t->screen.rate * t->estimate.flops / t->estimate.products;
}

void screen_step(struct training *t, const struct step_facts *facts)
{
    struct screen *screen = &t->screen;
    watch_loss(t, facts->loss);
    const double rate = (double)t->setup.recipe.batch / facts->seconds;
    if (screen->steps++ == 0) {
        screen->first = *facts;
        screen->rate = rate;
    }
    screen->last = *facts;
    screen->rate += 0.05 * (rate - screen->rate);
    screen->waited += facts->waited;
    screen->busy += facts->seconds;
    if (!progress_due(&screen->progress))
        return;
    char step[32], steps[32], loss[80], speed[32], tokens[32];
    progress_show(
        &screen->progress, (double)t->position.state.step / (double)t->setup.recipe.schedule.steps,
        "step %s/%s │ %s │ acc %.1f %% │ lr %.2g │ |g| %.2f │ %s seq/s │ %s tok/s │ MFU %.0f %% │ data %.1f %%",
        format_count(t->position.state.step, step), format_count(t->setup.recipe.schedule.steps, steps),
        loss_text(facts->loss, facts->mlm_loss, facts->nsp_loss, loss), 100 * facts->mlm_accuracy, facts->rate,
        facts->norm, rate_text(screen->rate, speed), rate_text(screen->rate * t->estimate.mean_length, tokens),
        share_of_peak(t), 100 * screen->waited / screen->busy);
}

static void say_evaluation(const char *split, const struct evaluation *valid, const char *where)
{
    char loss[80], samples[32], nsp[32] = "";
    if (!isnan(valid->nsp_accuracy))
        snprintf(nsp, sizeof nsp, ", nsp %.1f %%", 100 * valid->nsp_accuracy);
    log_say("%-10s %s   accuracy mlm %.1f %%%s   %s samples%s", split,
            loss_text(valid->loss, valid->mlm_loss, valid->nsp_loss, loss), 100 * valid->mlm_accuracy, nsp,
            format_count(valid->samples, samples), where);
}

void screen_evaluation(struct training *t)
{
    char step[32], where[48];
    if (t->position.state.step == t->setup.recipe.schedule.steps)
        return; /* the closing screen tells it */
    snprintf(where, sizeof where, ", step %s", format_count(t->position.state.step, step));
    say_evaluation("valid", &t->valid_now, where);
}

void screen_means(const struct evaluation *means, const char *split)
{
    say_evaluation(split, means, "");
}

void screen_end_steps(struct training *t)
{
    progress_close(&t->screen.progress);
}

/* ---- closing ---- */

static void append_command(json_t *commands, char *command)
{
    json_array_append_new(commands, json_string(command));
    mem_free(command);
}

/* The commands that a user would want now: a longer length, if the dataset has one, and the model for others. */
static json_t *next_commands(const struct training *t)
{
    json_t *next = json_array();
    char name[32], model[40], seq[16], steps[24];
    const struct manifest *manifest = &t->setup.data.manifest;
    uint32_t longer = 0;
    for (size_t i = 0; i < manifest->length_count; i++) {
        const struct manifest_length *length = &manifest->lengths[i];
        if (length->split == SPLIT_TRAIN && length->samples > 0 && length->seq > t->setup.recipe.seq &&
            length->seq <= (uint32_t)t->setup.recipe.config.positions && (longer == 0 || length->seq < longer))
            longer = length->seq;
    }
    if (longer > 0) {
        snprintf(seq, sizeof seq, "%" PRIu32, longer);
        snprintf(steps, sizeof steps, "%" PRIu64, t->setup.recipe.schedule.steps / 10 + 1);
        append_command(next, command_of("dstrain", "--shards", t->setup.settings->shards, "--seq", seq, "--init",
                                        t->run.directory, "--steps", steps, NULL));
    }
    snprintf(model, sizeof model, "bert-%s", config_name(&t->setup.recipe.config, name));
    append_command(next, command_of("dstrain", "export", t->run.directory, "--out", model, NULL));
    return next;
}

static json_t *real_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *screen_means_json(double loss, double mlm, double nsp, double mlm_accuracy, double nsp_accuracy)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "loss", real_or_null(loss), "mlm_loss", real_or_null(mlm), "nsp_loss",
                     real_or_null(nsp), "mlm_accuracy", real_or_null(mlm_accuracy), "nsp_accuracy",
                     real_or_null(nsp_accuracy));
}

/* The facts, as one object on stdout. Takes over `next`. */
static void print_json(const struct training *t, json_t *next)
{
    const struct step_facts *last = &t->screen.last;
    json_t *facts = json_pack("{s:o, s:b, s:I, s:I, s:i}", "run", json_name(t->run.directory), "finished", 1, "steps",
                              (json_int_t)t->setup.recipe.schedule.steps, "parameters",
                              t->engine.model ? (json_int_t)model_table(t->engine.model)->total : (json_int_t)0,
                              "starts", (int)run_starts(&t->run));
    if (!t->engine.model) {
        json_object_del(facts, "parameters");
    } else {
        json_t *more = json_pack(
            "{s:I, s:I, s:f, s:f, s:I, s:f, s:I}", "samples", (json_int_t)t->position.state.samples, "tokens",
            (json_int_t)t->position.state.tokens, "epochs",
            (double)t->position.state.samples / (double)t->setup.data.samples, "seconds", t->position.seconds,
            "skipped", (json_int_t)(t->position.state.step - t->position.state.updates), "largest_grad_norm",
            t->position.state.norm_max, "largest_grad_norm_step", (json_int_t)t->position.state.norm_max_step);
        json_object_update(facts, more);
        json_decref(more);
    }
    if (t->screen.steps > 0) {
        json_object_set_new(
            facts, "train",
            screen_means_json(last->loss, last->mlm_loss, last->nsp_loss, last->mlm_accuracy, last->nsp_accuracy));
        json_object_set_new(facts, "share_of_peak", json_real(share_of_peak(t) / 100));
        json_object_set_new(facts, "loss_spikes", json_integer((json_int_t)t->screen.spikes.count));
    }
    if (t->evaluated && t->valid_now.samples > 0) {
        const struct evaluation *valid = &t->valid_now;
        json_t *means =
            screen_means_json(valid->loss, valid->mlm_loss, valid->nsp_loss, valid->mlm_accuracy, valid->nsp_accuracy);
        json_object_set_new(means, "samples", json_integer((json_int_t)valid->samples));
        json_object_set_new(facts, "valid", means);
    }
    json_object_set_new(facts, "next", next);
    output_json(facts, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
}

static char *spikes_text(const struct spikes *spikes, char out[96])
{
    char step[32];
    if (spikes->count == 0)
        snprintf(out, 96, "no loss spikes");
    else
        snprintf(out, 96, "%" PRIu64 " loss spike%s, the largest of %.1f deviations at step %s", spikes->count,
                 spikes->count == 1 ? "" : "s", spikes->largest, format_count(spikes->largest_step, step));
    return out;
}

static void say_closing(const struct training *t)
{
    char steps[32], time[32], loss[80], first[80], step[32], spikes[96], speed[32];
    const struct screen *screen = &t->screen;
    log_say("done       %s steps, %.3g epochs, %s in %zu start%s", format_count(t->position.state.step, steps),
            (double)t->position.state.samples / (double)t->setup.data.samples,
            format_seconds(t->position.seconds, time), run_starts(&t->run), run_starts(&t->run) == 1 ? "" : "s");
    if (screen->steps > 0)
        log_say("train      %s; at step %s: %s",
                loss_text(screen->last.loss, screen->last.mlm_loss, screen->last.nsp_loss, loss),
                format_count(t->position.begun_at + 1, step),
                loss_text(screen->first.loss, screen->first.mlm_loss, screen->first.nsp_loss, first));
    if (t->evaluated && t->valid_now.samples > 0)
        say_evaluation("valid", &t->valid_now, "");
    if (screen->steps > 0)
        log_say("speed      %s sequences/s, %.0f %% of the %.4g GFLOP/s that products alone reach here",
                rate_text(screen->rate, speed), share_of_peak(t), t->estimate.products * 1e-9);
    if (screen->waited > WAITED_SHARE * screen->busy)
        log_warn("%.0f %% of the time was spent waiting for data: a slow disk, or too few threads for the loader",
                 100 * screen->waited / screen->busy);
    log_say("health     %" PRIu64 " steps skipped; %s; largest |g| %.3g at step %s",
            t->position.state.step - t->position.state.updates, spikes_text(&screen->spikes, spikes),
            t->position.state.norm_max, format_count(t->position.state.norm_max_step, step));
}

void screen_closing(const struct training *t)
{
    json_t *next = next_commands(t), *command;
    size_t i;
    char steps[32];
    if (t->run.kind == RUN_FINISHED)
        log_say("run        %s is finished: %s steps; nothing was changed (--fresh starts anew)", t->run.directory,
                format_count(t->setup.recipe.schedule.steps, steps));
    else
        say_closing(t);
    json_array_foreach(next, i, command) log_say("%-10s %s", i == 0 ? "next" : "", json_string_value(command));
    if (t->setup.settings->json)
        print_json(t, next);
    else
        json_decref(next);
}
